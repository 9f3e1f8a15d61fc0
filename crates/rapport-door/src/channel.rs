//! A channel: where people see sessions and answer them. `serve` runs a list of channels side by side; each has its own
//! settings, the door, and a stop signal.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rapport_settings::ConfigError;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::{DoorError, Sessions};

/// A channel that is ready to run.
pub trait Channel: Send {
    /// Its name, which identifies the people who answer through it: [`rapport_core::By::Person`].
    fn name(&self) -> &'static str;

    /// Serves people until it has to stop. An error stops all other channels too, so transient failures are retried
    /// here.
    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>>;
}

/// What a channel needs to run.
#[derive(Clone)]
pub struct Served {
    /// All sessions of the project.
    pub sessions: Arc<dyn Sessions>,
    /// Becomes true when the channel has to stop.
    pub stop: watch::Receiver<bool>,
    /// Receives messages for whoever started the program. The receiver may be gone.
    pub notices: mpsc::UnboundedSender<ChannelNotice>,
}

impl Served {
    /// Waits until the channel has to stop.
    pub async fn stopped(&mut self) {
        // An error means that the sender is gone, which also means stop.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }
}

/// A message for whoever started the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelNotice {
    /// People can reach the channel now.
    Serving {
        channel: &'static str,
        /// The name that people reach it by.
        name: String,
    },
    /// Something happened while serving people.
    Told {
        channel: &'static str,
        /// What happened, in words.
        message: String,
    },
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
