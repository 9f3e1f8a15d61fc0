//! Claude Code, driven over its live stream-json channel, and other programs that speak this protocol.
//!
//! `command` builds the command line, `process` runs it, `channel` selects the protocol, `wire` parses it, `response`
//! collects the output for one message, `transcript` reads the conversation, `driver` runs the talk. `once` and
//! `structured` are calls outside of any session; `aside` has what the agent does besides running sessions. `brought`
//! finds what the CLI would use of a project, `credentials` what it uses of the person.

pub mod brought;
pub mod channel;
pub mod once;
pub mod response;
pub mod structured;
pub mod transcript;
pub mod wire;

mod aside;
mod command;
mod credentials;
mod driver;
mod process;
mod said;
mod settings;
mod spending;

use std::sync::Arc;

use rapport_core::Order;
use tokio::sync::{OnceCell, mpsc};
use tracing::Instrument as _;

use super::{Abilities, Agent, Controls, Conversations, Diagnosis, OneShot, Parking, Place, Report, RunId};

use channel::Channel;
pub use command::{ClaudeConfig, FromProject, Opening, takes_variable};
pub use driver::answers_message;

/// The agent's name in the facts of a session.
pub const NAME: &str = "claude";

/// Claude Code, or a program that speaks its protocol.
#[derive(Clone, Debug)]
pub struct Claude {
    config: Arc<ClaudeConfig>,
    /// The channel, once it is decided.
    channel: Arc<OnceCell<Channel>>,
}

impl Claude {
    pub fn new(config: ClaudeConfig) -> Self {
        Self { config: Arc::new(config), channel: Arc::default() }
    }
}

impl Agent for Claude {
    fn start(&self, run: RunId, order: Order, place: Place, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, received) = mpsc::unbounded_channel();
        let (config, channel) = (self.config.clone(), self.channel.clone());
        let driven = async move {
            let channel = *channel.get_or_init(|| channel::choose(&config)).await;
            driver::drive(config.clone(), channel, run, order, place, received, reports).await;
        };
        tokio::spawn(driven.in_current_span());
        Controls { commands }
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            parking: Parking::AtTheCall,
            several_questions: true,
            previews: true,
            travels: true,
            permissions: true,
            listens: true,
            stays: true,
            servers: true,
            goes_on_at_eof: true,
        }
    }

    fn one_shot(&self) -> Option<&dyn OneShot> {
        Some(self)
    }

    fn conversations(&self) -> Option<&dyn Conversations> {
        Some(self)
    }

    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        Some(self)
    }
}
