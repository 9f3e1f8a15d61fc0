//! A planner without an API key: it calls the agent's own CLI, once for each round, without tools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::Brief;

use super::parse_reply::{self, Reply};
use super::{NextRound, Planner, PlannerError};
use crate::agents::{Agent, Structured, StructuredCall};

/// The default model: the CLI's name for a small one.
pub(crate) const DEFAULT_MODEL: &str = "haiku";

/// A planner that calls the agent's CLI.
#[derive(Clone)]
pub struct AgentPlanner(Arc<Inner>);

struct Inner {
    agent: Arc<dyn Agent>,
    directory: PathBuf,
    model: String,
    timeout: Duration,
}

impl AgentPlanner {
    /// A planner that calls this agent in this directory.
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
            return Err(PlannerError::Unreachable("this agent cannot be called outside of a session".into()));
        };
        match agent.structured(&self.directory, &call).await {
            Ok(Structured { said, usage }) => Ok(Reply { said, usage }),
            Err(error) => Err(PlannerError::Unreachable(format!("no questions from the agent: {error}"))),
        }
    }
}
