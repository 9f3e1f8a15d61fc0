//! A small HTTP server for the webhook. It accepts updates only from Telegram, and confirms them only when they are
//! safe.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bot_api::SetWebhookParams;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::value::RawValue;
use subtle::ConstantTimeEq as _;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Now;
use super::api::{ALLOWED_UPDATES, Api};
use super::api_error::ApiError;
use super::intake::Intake;
use super::notice::Notices;
use super::poll::Connection;

/// The header in which Telegram sends the secret.
pub const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The maximum size of an update.
pub const MOST_BYTES: usize = 1 << 20;
/// The time limit for the head of a request, and for an idle connection.
pub const HEADERS_WITHIN: Duration = Duration::from_secs(20);
/// The time limit for the body of a request.
const READING: Duration = Duration::from_secs(30);
/// The time limit for open requests when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// The configuration of the webhook.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// The public URL of the webhook, for Telegram.
    pub url: String,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The secret that only Telegram knows; random if none is set.
    pub secret: Option<SecretString>,
    /// The time limit for the head of a request.
    pub headers_within: Duration,
}

/// Why the webhook failed.
#[derive(Debug, Error)]
pub enum WebhookError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// Telegram refused the webhook.
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("the webhook's server failed: {0}")]
    Broken(std::io::Error),
}

pub struct Webhook {
    listener: TcpListener,
    url: String,
    secret: SecretString,
    headers_within: Duration,
}

impl Webhook {
    /// Binds the address, without accepting connections yet.
    pub async fn bind(config: &WebhookConfig) -> Result<Self, WebhookError> {
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|source| WebhookError::Listen { address: config.listen, source })?;
        let secret = config.secret.clone().unwrap_or_else(made_up);
        Ok(Self { listener, url: config.url.clone(), secret, headers_within: config.headers_within })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Sets the webhook and serves it until it is told to stop. The webhook stays set, so that Telegram keeps updates
    /// until the next start.
    pub async fn run(
        self,
        api: &Api,
        intake: Intake,
        notices: Notices,
        now: Now,
        stop: watch::Receiver<bool>,
    ) -> Result<(), WebhookError> {
        let params = SetWebhookParams {
            url: self.url,
            allowed_updates: ALLOWED_UPDATES.to_vec(),
            secret_token: Some(self.secret.expose_secret().to_owned()),
        };
        let mut told = stop.clone();
        let router = router(self.secret, intake, stop.clone());
        // The server listens before Telegram knows its address.
        let mut serving = tokio::spawn(rapport_http::serve(self.listener, router, self.headers_within, stop));
        let set = tokio::select! {
            set = set_webhook(api, &params, Connection::new(notices, now)) => set,
            _ = told.wait_for(|stop| *stop) => Ok(()),
        };
        if let Err(error) = set {
            serving.abort();
            return Err(error.into());
        }
        tokio::select! {
            served = &mut serving => {
                return served.map_err(|error| WebhookError::Broken(std::io::Error::other(error)));
            }
            _ = told.wait_for(|stop| *stop) => {}
        }
        // The server does not wait for idle connections.
        if timeout(FAREWELL, &mut serving).await.is_err() {
            serving.abort();
        }
        Ok(())
    }
}

/// The routes. Any path works, because the secret identifies Telegram.
pub fn router(secret: SecretString, intake: Intake, stop: watch::Receiver<bool>) -> Router {
    let state = Arc::new(Door { secret, intake, stop });
    Router::new().route("/", post(answer)).route("/{*path}", post(answer)).with_state(state)
}

struct Door {
    secret: SecretString,
    intake: Intake,
    stop: watch::Receiver<bool>,
}

async fn answer(State(door): State<Arc<Door>>, headers: HeaderMap, body: Body) -> StatusCode {
    if !knows_the_secret(&headers, &door.secret) {
        return StatusCode::UNAUTHORIZED;
    }
    let mut stop = door.stop.clone();
    tokio::select! {
        status = take(&door, body) => status,
        // The update is not safe, so Telegram has to deliver it again.
        _ = stop.wait_for(|stop| *stop) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

async fn take(door: &Door, body: Body) -> StatusCode {
    let bytes = match timeout(READING, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE,
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(&bytes) else {
        return StatusCode::BAD_REQUEST;
    };
    match door.intake.take(raw).await {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn knows_the_secret(headers: &HeaderMap, secret: &SecretString) -> bool {
    let said = headers.get(SECRET_HEADER).map(|value| value.as_bytes());
    said.is_some_and(|said| said.ct_eq(secret.expose_secret().as_bytes()).into())
}

async fn set_webhook(
    api: &Api,
    params: &SetWebhookParams,
    mut connection: Connection,
) -> Result<(), ApiError> {
    loop {
        match api.set_webhook(params).await {
            Ok(()) => {
                connection.recovered();
                return Ok(());
            }
            Err(error @ (ApiError::Unreachable(_) | ApiError::Failing(_) | ApiError::TooMany { .. })) => {
                connection.wait_out(error).await
            }
            Err(error) => return Err(error),
        }
    }
}

/// A random secret. It is sent to Telegram at every start, so it need not be stored.
fn made_up() -> SecretString {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    SecretString::from(half() + &half())
}
