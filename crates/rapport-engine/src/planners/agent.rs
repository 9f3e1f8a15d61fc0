//! A planner for people without a key: the agent's own CLI is asked, once for each round, with nothing but words.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::Brief;

use super::parse_reply::{self, Reply};
use super::{NextRound, Planner, PlannerError};
use crate::agents::{Agent, Structured, StructuredCall};

/// The model that is asked where nothing is said: the CLI's name for a small one.
pub const DEFAULT_MODEL: &str = "haiku";

/// Asks through the CLI.
#[derive(Clone)]
pub struct AgentPlanner(Arc<Inner>);

struct Inner {
    agent: Arc<dyn Agent>,
    directory: PathBuf,
    model: String,
    timeout: Duration,
}

impl AgentPlanner {
    /// Asks this agent in this directory.
    pub fn new(agent: Arc<dyn Agent>, directory: PathBuf, model: String, timeout: Duration) -> Self {
        Self(Arc::new(Inner { agent, directory, model, timeout }))
    }
}

impl Planner for AgentPlanner {
    fn next(&self, brief: Brief) -> NextRound {
        let inner = self.0.clone();
        let schema = brief.schema().to_string();
        Box::pin(async move { parse_reply::round(brief, |prompt| inner.ask(prompt, &schema)).await })
    }
}

impl Inner {
    async fn ask(&self, prompt: String, schema: &str) -> Result<Reply, PlannerError> {
        let call = StructuredCall {
            system: Brief::INSTRUCTIONS.to_owned(),
            prompt,
            schema: schema.to_owned(),
            model: self.model.clone(),
            timeout: self.timeout,
        };
        let Some(agent) = self.agent.one_shot() else {
            return Err(PlannerError::Unreachable("this agent cannot be asked outside of a session".into()));
        };
        match agent.structured(&self.directory, &call).await {
            Ok(Structured { said, usage }) => Ok(Reply { said, usage }),
            Err(error) => Err(PlannerError::Unreachable(format!("no questions from the agent: {error}"))),
        }
    }
}
