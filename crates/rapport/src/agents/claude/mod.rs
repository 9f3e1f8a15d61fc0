//! Claude Code, driven over its live stream-json channel, and whatever else speaks that protocol.
//!
//! `command` starts it, `wire` is the language, `transcript` what a conversation knows already, `driver` the talk itself.

pub mod transcript;
pub mod wire;

mod command;
mod driver;

use std::path::PathBuf;
use std::sync::Arc;

use rapport_core::Order;
use tokio::sync::mpsc;

use super::{Agent, Controls, Report, RunId};

pub use command::{ClaudeConfig, Opening};
pub use driver::answers_message;

/// Claude Code, or a program that speaks its protocol.
#[derive(Clone, Debug)]
pub struct Claude {
    config: Arc<ClaudeConfig>,
}

impl Claude {
    /// An agent that is started like this.
    pub fn new(config: ClaudeConfig) -> Self {
        Self { config: Arc::new(config) }
    }
}

impl Agent for Claude {
    fn start(&self, run: RunId, order: Order, directory: PathBuf, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, received) = mpsc::unbounded_channel();
        tokio::spawn(driver::drive(self.config.clone(), run, order, directory, received, reports));
        Controls { commands }
    }
}
