//! With what the engine works on turns: where batches are, what actions need, and who helps.

use std::fmt;
use std::sync::Arc;

use super::batches::Batches;
use crate::actions::{Means, Pending};
use crate::seals::Seals;

/// What it takes to work on turns. Clones share it.
#[derive(Clone)]
pub struct Workshop {
    /// Where the batches are.
    pub batches: Batches,
    /// What a plan is called in reports and problems, where it is not the one in a turn's directory.
    pub plan_name: Option<String>,
    /// Whose seals the journals of batches get, and have to have.
    pub seals: Option<Arc<Seals>>,
    /// What actions need to know beside the plan.
    pub means: Means,
    /// Who does what an action cannot do alone.
    pub helpers: Arc<dyn Helpers>,
}

/// Who does what an action cannot do alone.
pub trait Helpers: Send + Sync {
    /// Searches the web for these, and tells what was found.
    fn research<'a>(&'a self, queries: &'a [String]) -> Pending<'a>;

    /// Gives an agent a session of its own, with its first turn ready to be planned, and tells its name.
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
