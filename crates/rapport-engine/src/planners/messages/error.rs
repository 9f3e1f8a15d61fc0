//! Errors of a request, in words for a person, and whether to retry. They never contain the key.

use std::error::Error;
use std::time::Duration;

use reqwest::{StatusCode, Url};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Credential, MessagesConfig};

/// The maximum length of the API's message to show.
const LONG: usize = 300;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct ApiProblem {
    pub(super) words: String,
    pub(super) again: Again,
}

/// Whether to retry a request.
#[derive(Debug)]
pub(super) enum Again {
    Never,
    /// After a delay, which the server may have set.
    Later(Option<Duration>),
}

impl ApiProblem {
    /// No response, or an incomplete one.
    pub(super) fn lost(url: &Url, timeout: Duration, error: &reqwest::Error) -> Self {
        let place = place(url);
        let words = if error.is_timeout() {
            format!("the model API at {place} did not answer within {timeout:?}")
        } else {
            format!("cannot reach the model API at {place}: {}", cause(error))
        };
        Self { words, again: Again::Later(None) }
    }

    pub(super) fn refused(
        status: StatusCode,
        said: Option<Duration>,
        body: &[u8],
        config: &MessagesConfig,
    ) -> Self {
        let code = status.as_u16();
        let why = explained(body, &config.credential);
        let (words, again) = match code {
            401 => (
                "the model API does not accept the key (401); check planner.api_key, ANTHROPIC_API_KEY or \
                 ANTHROPIC_AUTH_TOKEN"
                    .into(),
                Again::Never,
            ),
            403 => (format!("the model API does not allow this with this key (403){why}"), Again::Never),
            404 => (
                format!(
                    "the model API does not know {} (404){why}; check planner.model and planner.base_url",
                    config.model
                ),
                Again::Never,
            ),
            429 => {
                let wait = said.map(|said| format!("; it asks to wait {} seconds", said.as_secs()));
                let words =
                    format!("too many requests to the model API (429){why}{}", wait.unwrap_or_default());
                (words, Again::Later(said))
            }
            529 => ("the model API is overloaded (529)".into(), Again::Later(said)),
            408 | 500..=599 => (format!("the model API has a problem ({code}){why}"), Again::Later(said)),
            _ => (format!("the model API refused the request ({code}){why}"), Again::Never),
        };
        Self { words, again }
    }

    /// The response is not from the Messages API.
    pub(super) fn not_the_api(url: &Url, error: &str) -> Self {
        let words = format!(
            "what answers at {} is not the Messages API ({}); check planner.base_url",
            place(url),
            short(error)
        );
        Self { words, again: Again::Never }
    }

    /// The model refused.
    pub(super) fn declined() -> Self {
        Self { words: "the model declined to ask about this task".into(), again: Again::Never }
    }

    /// The message after this many failures.
    pub(super) fn after(self, failures: u32) -> String {
        if failures == 1 { self.words } else { format!("{}; tried {failures} times", self.words) }
    }
}

/// The innermost cause of an error, which is the informative one.
pub(super) fn cause(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    short(&inner.to_string())
}

/// Host and port only, because an address may contain a name and a password.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The API's own message, after a colon.
fn explained(body: &[u8], credential: &Credential) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(message) = body["error"]["message"].as_str().filter(|message| !message.trim().is_empty()) else {
        return String::new();
    };
    let (Credential::Key(secret) | Credential::Token(secret)) = credential;
    let secret = secret.expose_secret().trim();
    let message = if secret.is_empty() { message.to_owned() } else { message.replace(secret, "***") };
    format!(": {}", short(&message))
}

/// The beginning of a text, safe to show.
fn short(text: &str) -> String {
    text.trim().chars().take(LONG).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
