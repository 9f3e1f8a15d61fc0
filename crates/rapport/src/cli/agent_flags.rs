//! The flags about the agent, for all commands that run one.

use jiff::SignedDuration;
use rapport_core::{AgentCommand, Aim, Created, TermsChange};
use rapport_settings::{Dollars, Setting as _};

use crate::config::{self, AgentLayer, Layer, LeadLayer, LeadPolicy, RoundsLayer, Settings};
use crate::wiring::Workspace;

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
    /// What the lead of the session may do with its questions: nothing ("ask"), draft ("assist"), answer what it may
    /// ("auto")
    #[arg(long, value_name = "POLICY", value_parser = LeadPolicy::parse)]
    lead_policy: Option<LeadPolicy>,
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
            lead: LeadLayer { policy: self.lead_policy, ..LeadLayer::default() },
            ..Layer::default()
        }
    }

    /// The changes that the flags make to an existing session's terms; `None` if there are none. `settings` includes
    /// the flags. The turns of a session of files have conversations of their own, so another agent plans all of them
    /// from now on; the conversation of another session belongs to the agent it began with.
    pub(super) fn change(
        &self,
        place: &Workspace,
        created: &Created,
        settings: &Settings,
    ) -> Option<TermsChange> {
        let change = TermsChange {
            hot: self.hot.map(|_| place.hot(created, settings)),
            budget_micros: self.budget.map(|budget| budget.0),
            max_rounds: self.max_rounds,
            questions: self.lead_policy.map(|named| named.0),
            queue: None,
            agent: self.agent.as_ref().filter(|_| created.aim == Aim::Files).and_then(|_| {
                let named = place.agents.command(settings).ok()?;
                let name = created.agent.as_ref().map_or(named.name, |agent| agent.name.clone());
                Some(AgentCommand { name, command: named.command })
            }),
        };
        (change != TermsChange::default()).then_some(change)
    }
}
