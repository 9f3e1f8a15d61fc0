//! A channel: where people see sessions and answer them. `serve` runs a list of channels side by side; each has its own
//! settings, the door, and a stop signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use rapport_settings::ConfigError;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::{DoorError, Sessions};

/// A channel that is ready to run.
pub trait Channel: Send {
    /// Its name, which identifies the people who answer through it: [`rapport_core::By::Person`].
    fn name(&self) -> &'static str;

    /// Whether leads act through it as well: models that answer for a person.
    fn serves_leads(&self) -> bool {
        false
    }

    /// Serves people until it has to stop. An error stops all other channels too, so transient failures are retried
    /// here.
    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>>;
}

/// What a channel needs to run.
#[derive(Clone)]
pub struct Served {
    /// All sessions of the project, or of all projects that are served.
    pub sessions: Arc<dyn Sessions>,
    /// Becomes true when the channel has to stop.
    pub stop: watch::Receiver<bool>,
    /// Messages for the person who started the program.
    pub notices: Notices,
}

impl Served {
    /// Waits until the channel has to stop.
    pub async fn stopped(&mut self) {
        // An error means that the sender was dropped, which also means stop.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }
}

/// The number of messages that may wait to be read.
const MOST_NOTICES: usize = 256;

/// Sends messages to the person who started the program. Sending never blocks and needs no more memory than the
/// queue: while nothing reads the messages, later ones are dropped, and their number is reported with the next
/// message that is read.
#[derive(Clone, Debug)]
pub struct Notices {
    to: mpsc::Sender<ChannelNotice>,
    dropped: Arc<AtomicU64>,
}

impl Notices {
    /// A sender, and what is read from it.
    pub fn channel() -> (Self, mpsc::Receiver<ChannelNotice>) {
        let (to, read) = mpsc::channel(MOST_NOTICES);
        (Self { to, dropped: Arc::default() }, read)
    }

    /// Sends a message, or counts it as dropped if the queue is full.
    pub fn tell(&self, notice: ChannelNotice) {
        let count = self.dropped.swap(0, Ordering::Relaxed);
        if count > 0 && self.to.try_send(ChannelNotice::Dropped { count }).is_err() {
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
        if self.to.try_send(notice).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A message for the person who started the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelNotice {
    /// People can reach the channel now.
    Serving {
        channel: &'static str,
        /// The name that people reach it by.
        name: String,
    },
    /// A link by which one device can be paired, once.
    Invitation {
        channel: &'static str,
        link: String,
        /// The link as a QR code, line by line.
        picture: Vec<String>,
    },
    /// An event while serving people.
    Message {
        channel: &'static str,
        /// What happened, in words.
        message: String,
    },
    /// The sessions of a served project cannot be used, and are left out.
    LeftOut {
        /// The name of the project.
        project: String,
        /// What failed, and why.
        message: String,
    },
    /// The number of messages before this one that were dropped, because nothing read them.
    Dropped { count: u64 },
}

/// Why a channel cannot run, or ended.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// Its settings are wrong. Retrying does not help.
    #[error("{message}")]
    Settings {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Another process serves it.
    #[error("{0}")]
    Busy(String),
    /// Something that it needs failed.
    #[error("{0}")]
    Broken(String),
    /// The sessions cannot be read or followed.
    #[error(transparent)]
    Door(#[from] DoorError),
}

impl From<ConfigError> for ChannelError {
    fn from(error: ConfigError) -> Self {
        Self::Settings { message: error.to_string(), hint: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: usize) -> ChannelNotice {
        ChannelNotice::Message { channel: "test", message: number.to_string() }
    }

    #[test]
    fn what_nobody_reads_does_not_pile_up_and_its_number_is_told() {
        let (notices, mut read) = Notices::channel();
        (0..MOST_NOTICES + 10).for_each(|number| notices.clone().tell(message(number)));
        let mut all = || std::iter::from_fn(|| read.try_recv().ok()).collect::<Vec<_>>();
        assert_eq!(all(), (0..MOST_NOTICES).map(message).collect::<Vec<_>>());
        notices.tell(message(1));
        notices.tell(message(2));
        assert_eq!(all(), [ChannelNotice::Dropped { count: 10 }, message(1), message(2)]);
    }
}
