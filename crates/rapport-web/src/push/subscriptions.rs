//! The subscriptions of devices to notifications, and what each device has been told: a file of Rapport's home. Every
//! function here blocks.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{SubscriptionKeys, Wishes};
use crate::shared_file::{SharedFile, Versioned};

/// The subscription of a device. A device has at most one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subscription {
    /// The digest of the device's token.
    pub(crate) device: String,
    /// The address that its browser named. It is checked before every use.
    pub(crate) endpoint: String,
    pub(crate) keys: SubscriptionKeys,
    pub(crate) since: Timestamp,
    pub(crate) wishes: Wishes,
    /// The ids of what waits and what the device has been told about.
    #[serde(default)]
    pub(crate) told: BTreeSet<String>,
    /// The device has been told about the sessions that ended until then.
    pub(crate) ended_until: Timestamp,
}

/// Everything in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SubscriptionList {
    format: u32,
    #[serde(default)]
    subscriptions: Vec<Subscription>,
}

impl Versioned for SubscriptionList {
    const FORMAT: u32 = 1;

    fn empty() -> Self {
        Self { format: Self::FORMAT, subscriptions: Vec::new() }
    }

    fn format(&self) -> u32 {
        self.format
    }
}

/// The subscriptions of a home.
#[derive(Clone, Debug)]
pub(crate) struct Subscriptions {
    file: SharedFile,
}

impl Subscriptions {
    pub(crate) fn of(home: &Path) -> Self {
        Self { file: SharedFile::at(home.join("web").join("push.json")) }
    }

    pub(crate) fn list(&self) -> io::Result<Vec<Subscription>> {
        let read = self.file.read::<SubscriptionList>().map_err(|error| self.broken(error))?;
        Ok(read.map(|list| list.subscriptions).unwrap_or_default())
    }

    /// The subscription of a device.
    pub(crate) fn of_device(&self, device: &str) -> io::Result<Option<Subscription>> {
        Ok(self.list()?.into_iter().find(|one| one.device == device))
    }

    /// Adds a subscription, or replaces the endpoint and the keys of the one that the device has: its wishes, and what it
    /// has been told, stay.
    pub(crate) fn subscribe(&self, new: Subscription) -> io::Result<()> {
        self.change(|all| {
            // Another device of the same browser may have had this endpoint before, and was revoked.
            all.retain(|one| one.device == new.device || one.endpoint != new.endpoint);
            match all.iter_mut().find(|one| one.device == new.device) {
                Some(known) => (known.endpoint, known.keys) = (new.endpoint, new.keys),
                None => all.push(new),
            }
        })
    }

    /// Changes the subscription of a device, if it has one.
    pub(crate) fn update(&self, device: &str, change: impl FnOnce(&mut Subscription)) -> io::Result<()> {
        self.change(|all| {
            if let Some(known) = all.iter_mut().find(|one| one.device == device) {
                change(known);
            }
        })
    }

    /// Removes the subscriptions of these devices.
    pub(crate) fn remove(&self, devices: &[String]) -> io::Result<()> {
        self.change(|all| all.retain(|one| !devices.contains(&one.device)))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Subscription>)) -> io::Result<()> {
        self.file.change(
            |error| self.broken(error),
            |list: &mut SubscriptionList| {
                change(&mut list.subscriptions);
                Ok(())
            },
        )
    }

    fn broken(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot use {}: {error}", self.file.path().display()))
    }
}
