//! The Anthropic Messages API: one request for each round, with the reply's schema in it (CHAT-42).

mod error;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use rapport_core::Brief;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::sleep;
use uuid::Uuid;

use super::parse_reply::{self, Reply};
use super::{NextRound, Planner, PlannerError, retry};
use error::{Again, ApiProblem};

/// The usual address of the API.
const BASE_URL: &str = "https://api.anthropic.com";
/// The default model: a small one is enough to ask good questions.
pub(crate) const DEFAULT_MODEL: &str = "claude-haiku-4-5";

/// The version of the API.
const API_VERSION: &str = "2023-06-01";

/// The credential for the API.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A key (`ANTHROPIC_API_KEY`).
    Key(SecretString),
    /// A token (`ANTHROPIC_AUTH_TOKEN`), for gateways.
    Token(SecretString),
}

/// The access to the API, from the environment.
#[derive(Clone, Debug, Default)]
pub struct ApiAccess {
    pub credential: Option<Credential>,
    pub base_url: Option<String>,
}

impl ApiAccess {
    /// The variable of the key.
    pub const KEY: &str = "ANTHROPIC_API_KEY";

    /// Looks up these variables, by the names that the API vendor's programs use. Blank ones are ignored.
    pub fn found(variable: impl Fn(&str) -> Option<String>) -> Self {
        let named = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let key = named(Self::KEY).map(|key| Credential::Key(key.into()));
        let token = || named("ANTHROPIC_AUTH_TOKEN").map(|token| Credential::Token(token.into()));
        Self { credential: key.or_else(token), base_url: named("ANTHROPIC_BASE_URL") }
    }
}

/// The configuration of the API.
#[derive(Clone, Debug)]
pub struct MessagesConfig {
    /// Its address, without `/v1/messages`.
    pub base_url: String,
    pub credential: Credential,
    pub model: String,
    /// The maximum number of tokens of a reply.
    pub max_tokens: u32,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The delay before the first retry.
    pub first_pause: Duration,
}

impl MessagesConfig {
    pub fn new(credential: Credential) -> Self {
        Self {
            base_url: BASE_URL.into(),
            credential,
            model: DEFAULT_MODEL.into(),
            max_tokens: 4096,
            timeout: Duration::from_secs(60),
            first_pause: Duration::from_secs(1),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Messages(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: MessagesConfig,
    client: Client,
    url: Url,
}

impl Messages {
    /// Creates the client. Nothing is sent yet.
    pub fn new(config: MessagesConfig) -> Result<Self, PlannerError> {
        let url = endpoint(&config.base_url)?;
        let headers = headers(&config.credential)?;
        // A provider that was installed before stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .default_headers(headers)
            .timeout(config.timeout)
            // A redirect would send the key elsewhere.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("rapport/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                PlannerError::Unreachable(format!("no HTTP client: {}", error::cause(&error)))
            })?;
        Ok(Self(Arc::new(Inner { config, client, url })))
    }
}

impl Planner for Messages {
    fn next(&self, brief: Brief) -> NextRound {
        let inner = self.0.clone();
        let schema = brief.schema();
        Box::pin(async move { parse_reply::round(brief, |prompt| inner.ask(prompt, &schema)).await })
    }
}

impl Inner {
    /// Sends a request, and retries if that may help.
    async fn ask(&self, prompt: String, schema: &Value) -> Result<Reply, PlannerError> {
        let body = wire::request(&self.config, &prompt, schema);
        let mut failures = 0;
        loop {
            let trouble = match self.post(&body).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            failures += 1;
            let pause = match trouble.again {
                Again::Never => return Err(PlannerError::Unreachable(trouble.words)),
                Again::Later(said) => retry::pause(failures, self.config.first_pause, said, chance()),
            };
            let Some(pause) = pause else {
                return Err(PlannerError::Unreachable(trouble.after(failures)));
            };
            sleep(pause).await;
        }
    }

    async fn post(&self, body: &Value) -> Result<Reply, ApiProblem> {
        let lost = |error: reqwest::Error| ApiProblem::lost(&self.url, self.config.timeout, &error);
        let response = self.client.post(self.url.clone()).json(body).send().await.map_err(lost)?;
        let status = response.status();
        let said = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let bytes = response.bytes().await.map_err(lost)?;
        if !status.is_success() {
            return Err(ApiProblem::refused(status, said.map(Duration::from_secs), &bytes, &self.config));
        }
        wire::reply(&bytes, &self.url)
    }
}

fn endpoint(base: &str) -> Result<Url, PlannerError> {
    let wrong =
        |why: String| PlannerError::Unreachable(format!("the address of the model API is wrong: {why}"));
    let url = format!("{}/v1/messages", base.trim().trim_end_matches('/'));
    let url: Url = url.parse().map_err(|error| wrong(format!("{error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it begins with neither https:// nor http://".into()));
    }
    Ok(url)
}

fn headers(credential: &Credential) -> Result<HeaderMap, PlannerError> {
    let (name, value) = match credential {
        Credential::Key(key) => ("x-api-key", key.expose_secret().trim().to_owned()),
        Credential::Token(token) => ("authorization", format!("Bearer {}", token.expose_secret().trim())),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        PlannerError::Unreachable("the key for the model API has characters that no key has".into())
    })?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(name, value);
    headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
    Ok(headers)
}

fn chance() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}
