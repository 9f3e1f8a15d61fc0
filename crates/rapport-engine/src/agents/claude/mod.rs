//! Claude Code, driven over its live stream-json channel, and whatever else speaks that protocol.
//!
//! `command` says how it is started, `process` runs it, `channel` says which way of talking it knows, `wire` is the
//! language, `response` what came of a message, `transcript` what a conversation knows already, `driver` the talk itself.
//! `structured` is a talk of its own: one message, and JSON back. `brought` is what the CLI would take from a project.

pub mod brought;
pub mod channel;
pub mod once;
pub mod response;
pub mod structured;
pub mod transcript;
pub mod wire;

mod command;
mod driver;
mod process;
mod spending;

use std::sync::Arc;

use rapport_core::Order;
use tokio::sync::{OnceCell, mpsc};

use super::{Agent, Controls, Place, Report, RunId};

use channel::Channel;
pub use command::{ClaudeConfig, Door, Opening};
pub use driver::answers_message;

/// Claude Code, or a program that speaks its protocol.
#[derive(Clone, Debug)]
pub struct Claude {
    config: Arc<ClaudeConfig>,
    /// How it is talked to, once that is known.
    channel: Arc<OnceCell<Channel>>,
}

impl Claude {
    /// An agent that is started like this.
    pub fn new(config: ClaudeConfig) -> Self {
        Self { config: Arc::new(config), channel: Arc::default() }
    }
}

impl Agent for Claude {
    fn start(&self, run: RunId, order: Order, place: Place, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, received) = mpsc::unbounded_channel();
        let (config, channel) = (self.config.clone(), self.channel.clone());
        tokio::spawn(async move {
            let channel = *channel.get_or_init(|| channel::choose(&config)).await;
            driver::drive(config.clone(), channel, run, order, place, received, reports).await;
        });
        Controls { commands }
    }
}
