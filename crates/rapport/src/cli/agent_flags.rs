//! The flags about the agent, for all commands that run one.

use jiff::SignedDuration;
use rapport_settings::{Dollars, Setting as _};

use crate::config::{self, AgentLayer, Layer, RoundsLayer};

/// Overrides of the agent's settings.
#[derive(Debug, Default, clap::Args)]
pub(super) struct AgentFlags {
    /// The agent's command ("claude", "rehearsal --scenario FILE")
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// How long a waiting agent's process is kept before it is parked ("5m")
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    hot: Option<SignedDuration>,
    /// What the session may cost, in dollars, before you are asked ("2.50")
    #[arg(long, value_name = "DOLLARS", value_parser = Dollars::parse)]
    budget: Option<Dollars>,
    /// How many rounds of questions the agent may ask before its plan
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,
}

impl AgentFlags {
    /// The flags as the topmost layer of the settings.
    pub(super) fn layer(&self) -> Layer {
        Layer {
            agent: AgentLayer {
                command: self.agent.clone(),
                hot: self.hot,
                budget: self.budget,
                ..AgentLayer::default()
            },
            rounds: RoundsLayer { max: self.max_rounds },
            ..Layer::default()
        }
    }
}
