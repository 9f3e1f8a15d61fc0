//! What the engine needs to work on turns: the directories of batches, the configuration of actions, and helpers.

use std::fmt;
use std::sync::Arc;

use super::batches::Batches;
use crate::actions::{ActionConfig, Pending};
use crate::seals::Seals;

#[derive(Clone)]
pub struct Workshop {
    pub batches: Batches,
    /// The plan's name in reports and problems, if it is not the one in a turn's directory.
    pub plan_name: Option<String>,
    /// The seals that sign the journals of batches and verify them.
    pub seals: Option<Arc<Seals>>,
    /// What actions need besides the plan.
    pub config: ActionConfig,
    /// The agent that plans if a turn names none.
    pub agent: String,
    /// The maximum size of a file that the agent is shown, in bytes.
    pub max_file_bytes: u64,
    /// The maximum number of tokens that the agent is shown, unless a person agrees to more.
    pub max_tokens: u64,
    /// Does what an action cannot do alone.
    pub helpers: Arc<dyn Helpers>,
}

/// Does what an action cannot do alone.
pub trait Helpers: Send + Sync {
    /// Searches the web and returns the findings.
    fn research<'a>(&'a self, queries: &'a [String]) -> Pending<'a>;

    /// Starts a session of an agent, with its first turn ready to be planned, and returns its name.
    fn invoke<'a>(&'a self, agent: &'a str, message: &'a str) -> Pending<'a>;
}

impl Workshop {
    /// What a plan is called.
    pub fn plan_name(&self) -> &str {
        self.plan_name.as_deref().unwrap_or(super::PLAN)
    }
}

impl fmt::Debug for Workshop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workshop").field("batches", &self.batches).finish_non_exhaustive()
    }
}
