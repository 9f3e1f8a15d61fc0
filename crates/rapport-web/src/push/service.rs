//! Sends messages to push services (RFC 8030).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use ring::rand::SystemRandom;

use super::encryption::encrypted;
use super::endpoint::PublicAddresses;
use super::{EndpointPolicy, Subscription, VapidKey};

const CONNECT: Duration = Duration::from_secs(10);
/// The time limit for a message.
const CALL: Duration = Duration::from_secs(20);
/// How long a push service keeps a message for a device that is off, in seconds: over a weekend.
const KEPT: &str = "345600";

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The push service took it.
    Taken,
    /// The subscription has ended.
    Gone,
    /// It was not sent; the push service may have said for how long to wait.
    Failed { why: String, wait: Option<Duration> },
}

impl Sent {
    fn failed(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), wait: None }
    }
}

/// What sends messages. Clones share its connections.
#[derive(Clone)]
pub(super) struct PushService {
    client: Client,
    policy: EndpointPolicy,
}

impl PushService {
    pub(super) fn new(policy: EndpointPolicy) -> Result<Self, reqwest::Error> {
        // This fails if the process has already installed a provider, which then stays in use.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .timeout(CALL)
            // A redirect could lead to an address that was not checked.
            .redirect(Policy::none())
            .dns_resolver(Arc::new(PublicAddresses(policy.clone())))
            .user_agent(concat!("rapport/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, policy })
    }

    /// Sends a message to a device.
    pub(super) async fn send(
        &self,
        key: &VapidKey,
        subscription: &Subscription,
        message: &[u8],
        now: Timestamp,
    ) -> Sent {
        let endpoint = match self.policy.read(&subscription.endpoint) {
            Ok(endpoint) => endpoint,
            Err(why) => return Sent::failed(why),
        };
        let body = encrypted(message, &subscription.keys, &SystemRandom::new());
        let (Ok(body), Some(authorization)) = (body, key.authorization(&endpoint.origin(), now)) else {
            return Sent::failed("the message could not be encrypted with the keys of the subscription");
        };
        let request = self
            .client
            .post(endpoint.0)
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_ENCODING, "aes128gcm")
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("ttl", KEPT)
            .header("urgency", "high")
            .body(body);
        match request.send().await {
            Ok(response) if response.status().is_success() => Sent::Taken,
            Ok(response) if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::GONE) => {
                Sent::Gone
            }
            Ok(response) => {
                let seconds = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
                let wait = seconds.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
                Sent::Failed { why: format!("the push service answered {}", response.status()), wait }
            }
            // The address of a subscription is a secret of its device.
            Err(error) => Sent::failed(causes(&error.without_url())),
        }
    }
}

fn causes(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
