//! A channel: where people see sessions and answer them. `serve` runs a list of channels side by side; each knows its own
//! settings, the door, and when to stop.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::{DoorError, Sessions};

/// A channel that is ready to run.
pub trait Channel: Send {
    /// Its name. Whoever answers through the channel is known by it: [`rapport_core::By::Person`].
    fn name(&self) -> &'static str;

    /// Serves people until it is told to stop. An error stops every other channel too, so what may pass is tried again here.
    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>>;
}

/// What a channel is given to run.
#[derive(Clone)]
pub struct Served {
    /// All sessions of the project.
    pub sessions: Arc<dyn Sessions>,
    /// Becomes true when the channel has to stop.
    pub stop: watch::Receiver<bool>,
    /// Takes what whoever started the program should know. Nobody has to listen.
    pub notices: mpsc::UnboundedSender<ChannelNotice>,
}

impl Served {
    /// Waits until the channel has to stop.
    pub async fn stopped(&mut self) {
        // Nobody is left who could say so where it fails.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }
}

/// Something that whoever started the program should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelNotice {
    /// People can reach the channel now.
    Serving {
        channel: &'static str,
        /// The name that people reach it by.
        name: String,
    },
    /// Something happened on the way to people.
    Told {
        channel: &'static str,
        /// What happened, in words.
        message: String,
    },
}

/// Why a channel cannot run, or ended.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// Its settings are wrong. Trying again does not help.
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
    /// Something that it needs broke down.
    #[error("{0}")]
    Broken(String),
    /// The sessions cannot be read or followed.
    #[error(transparent)]
    Door(#[from] DoorError),
}
