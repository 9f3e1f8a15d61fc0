//! Planners make the next round of questions without starting an agent, with a model that is called through its API
//! or the CLI.
//!
//! `messages` uses the API, `agent` the CLI; `parse_reply` parses the reply and asks once more if that fails, `retry`
//! says when a failed request is repeated.

pub mod agent;
pub mod messages;
pub mod retry;

mod parse_reply;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{Brief, QuestionRound};
use thiserror::Error;

use crate::agents::Agent;
use agent::AgentPlanner;
use messages::{Credential, Messages, MessagesConfig};

pub trait Planner: Send + Sync {
    /// The next round, or that nothing more has to be known. One call makes a whole round, never a single question.
    fn next(&self, brief: Brief) -> NextRound;
}

pub type NextRound = Pin<Box<dyn Future<Output = Result<QuestionRound, PlannerError>> + Send>>;

/// No planner, for hosts whose sessions need none.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Planner for Nobody {
    fn next(&self, _: Brief) -> NextRound {
        let reason = "no planner is configured here".to_owned();
        Box::pin(std::future::ready(Err(PlannerError::Unreachable(reason))))
    }
}

/// Why there is no next round.
#[derive(Debug, Error)]
pub enum PlannerError {
    /// It cannot be reached, or refuses; transient failures were retried.
    #[error("{0}")]
    Unreachable(String),
    /// Its reply cannot be parsed, not even after asking again.
    #[error("{0}")]
    Senseless(String),
}

/// How the model is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// By its API if there is a key, else through the CLI.
    #[default]
    Auto,
    Api,
    /// Through the CLI of the agent.
    Agent,
}

/// What a model is called with.
#[derive(Clone)]
pub struct ModelAccess {
    pub via: Via,
    /// The credential for the API.
    pub credential: Option<Credential>,
    /// The address of the API, if it is not the usual one.
    pub base_url: Option<String>,
    /// The model; a small one by default.
    pub model: Option<String>,
    /// The time limit of one call.
    pub timeout: Duration,
    /// The agent whose CLI is called.
    pub agent: Arc<dyn Agent>,
    /// The directory it is called in.
    pub directory: PathBuf,
}

/// Creates the planner.
pub fn choose(means: ModelAccess) -> Result<Arc<dyn Planner>, PlannerError> {
    let credential = match (means.via, means.credential) {
        (Via::Auto | Via::Api, Some(credential)) => credential,
        (Via::Api, None) => {
            return Err(PlannerError::Unreachable("there is no key for the model API".into()));
        }
        (Via::Auto, None) | (Via::Agent, _) => {
            let model = means.model.unwrap_or_else(|| agent::DEFAULT_MODEL.into());
            return Ok(Arc::new(AgentPlanner::new(means.agent, means.directory, model, means.timeout)));
        }
    };
    let usual = MessagesConfig::new(credential);
    let config = MessagesConfig {
        base_url: means.base_url.unwrap_or(usual.base_url),
        model: means.model.unwrap_or(usual.model),
        timeout: means.timeout,
        ..usual
    };
    Ok(Arc::new(Messages::new(config)?))
}
