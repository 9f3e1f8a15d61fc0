//! Claude Code, driven over its live stream-json channel, and other programs that speak this protocol.
//!
//! `config` makes an agent from the settings, `command` has its program, arguments and environment, `process` runs
//! it, `channel` chooses between the live channel and one process per message. `wire` is the protocol, `response` the
//! output for one message, `transcript` the stored conversation, and `driver` runs a session's turns. `one_shot` and
//! `structured` are calls outside of any session; `diagnosis` has the agent's abilities besides driving. `prices`
//! estimates what a message costs. `project_setup` finds what the CLI would take from a project, `credentials` what
//! it takes from the person.

pub mod channel;
pub mod one_shot;
pub mod project_setup;
pub mod response;
pub mod structured_call;
pub mod transcript;
pub mod wire;

mod command;
mod config;
mod credentials;
mod diagnosis;
mod driver;
mod message_ids;
mod prices;
mod process;
mod settings;
mod spending;

use std::sync::Arc;

use rapport_core::Order;
use tokio::sync::{OnceCell, mpsc};
use tracing::Instrument as _;

use super::{
    Abilities, Agent, AgentContext, Controls, Conversations, Diagnosis, OneShot, Parking, Report, RunId,
};

use channel::CliChannel;
pub use command::{ClaudeConfig, FromProject, Opening};
pub use config::{ClaudeCode, NAME};
pub use driver::answers_message;

/// Claude Code, or a program that speaks its protocol.
#[derive(Clone, Debug)]
pub struct Claude {
    config: Arc<ClaudeConfig>,
    /// The channel, once it is decided.
    channel: Arc<OnceCell<CliChannel>>,
}

impl Claude {
    pub fn new(config: ClaudeConfig) -> Self {
        Self { config: Arc::new(config), channel: Arc::default() }
    }
}

impl Agent for Claude {
    fn start(
        &self,
        run: RunId,
        order: Order,
        context: AgentContext,
        reports: mpsc::Sender<Report>,
    ) -> Controls {
        let (commands, received) = mpsc::unbounded_channel();
        let (config, channel) = (self.config.clone(), self.channel.clone());
        let driven = async move {
            let channel = *channel.get_or_init(|| channel::choose(&config, &*context.workplace)).await;
            driver::drive(config.clone(), channel, run, order, context, received, reports).await;
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
