//! Notifications for locked phones, by Web Push (RFC 8030). The push services of browser vendors relay them, so a
//! message carries no text: only how many items wait, of which kind, and an opaque id by which the page finds the card.
//!
//! Nothing queues messages. What a device has been told is durable (`subscriptions.rs`); what it is to be told follows
//! from that and from what waits now (`alerts.rs`, `schedule.rs`). So a message that could not be sent is made again
//! from what still waits, after a restart, too. `pusher.rs` is the loop, `service.rs` sends; `encryption.rs` and
//! `vapid.rs` are RFC 8291 and RFC 8292, on `ring`, which Rapport has anyway; `endpoint.rs` checks the addresses that
//! browsers name.

mod alerts;
mod encryption;
mod endpoint;
mod pusher;
mod schedule;
mod service;
mod subscriptions;
mod vapid;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::sync::Notify;

pub(crate) use alerts::{Alert, alerts, find};
pub(crate) use encryption::SubscriptionKeys;
pub(crate) use endpoint::EndpointPolicy;
pub(crate) use pusher::Pusher;
pub(crate) use schedule::{Wake, Wishes};
pub(crate) use subscriptions::{Subscription, Subscriptions};
pub(crate) use vapid::VapidKey;

/// What requests and the loop share about notifications.
pub(crate) struct Push {
    pub(crate) subscriptions: Subscriptions,
    pub(crate) policy: EndpointPolicy,
    pub(crate) key: VapidKey,
    /// Told when a subscription was changed, so that the loop looks again.
    pub(crate) changed: Notify,
    /// The device that asked for a test notification, by the digest of its token.
    pub(crate) tests: Mutex<Vec<String>>,
    /// Why the last notification of a device could not be sent, by the digest of its token.
    troubles: Mutex<HashMap<String, String>>,
}

impl Push {
    pub(crate) fn new(home: &Path, policy: EndpointPolicy, key: VapidKey) -> Self {
        Self {
            subscriptions: Subscriptions::of(home),
            policy,
            key,
            changed: Notify::new(),
            tests: Mutex::default(),
            troubles: Mutex::default(),
        }
    }

    /// Requests a notification that says that notifications work.
    pub(crate) fn test(&self, device: &str) {
        let mut tests = self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        if !tests.iter().any(|known| known == device) {
            tests.push(device.to_owned());
        }
        drop(tests);
        self.changed.notify_one();
    }

    /// Why the last notification of a device could not be sent.
    pub(crate) fn trouble(&self, device: &str) -> Option<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).get(device).cloned()
    }

    fn set_trouble(&self, device: &str, trouble: Option<String>) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(why) => drop(troubles.insert(device.to_owned(), why)),
            None => drop(troubles.remove(device)),
        }
    }
}

/// Bytes as base64url without padding, as all of these standards write them.
fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of base64url, with or without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}
