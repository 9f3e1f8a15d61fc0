//! Who makes the next round of questions without an agent being started: a model, asked over its API or through the CLI.
//!
//! `messages` asks over the API, `agent` through the CLI; `parse_reply` reads what comes back and asks once more where it
//! makes none, `retry` says when what failed is tried again.

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

/// Makes rounds of questions.
pub trait Planner: Send + Sync {
    /// The next round, or that nothing more has to be known. One call makes a whole round, never a single question.
    fn next(&self, brief: Brief) -> NextRound;
}

/// A round in the making.
pub type NextRound = Pin<Box<dyn Future<Output = Result<QuestionRound, PlannerError>> + Send>>;

/// Nobody: where no session has its rounds made by a planner.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Planner for Nobody {
    fn next(&self, _: Brief) -> NextRound {
        let reason = "nobody here makes rounds of questions".to_owned();
        Box::pin(std::future::ready(Err(PlannerError::Unreachable(reason))))
    }
}

/// Why there is no next round.
#[derive(Debug, Error)]
pub enum PlannerError {
    /// It cannot be reached, or does not want to answer; what may pass was tried more than once.
    #[error("{0}")]
    Unreachable(String),
    /// What it answered makes no sense, not even when asked again.
    #[error("{0}")]
    Senseless(String),
}

/// Which way a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// Over its API where there is a key, else through the CLI.
    #[default]
    Auto,
    /// Over its API.
    Api,
    /// Through the CLI of the agent.
    Agent,
}

/// What there is to ask a model with.
#[derive(Clone)]
pub struct Means {
    /// Which way.
    pub via: Via,
    /// What the API is to be shown.
    pub credential: Option<Credential>,
    /// Where the API is, if not where it usually is.
    pub base_url: Option<String>,
    /// Which model, if not a small one.
    pub model: Option<String>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The agent to ask,
    pub agent: Arc<dyn Agent>,
    /// and where.
    pub directory: PathBuf,
}

/// The planner for these means.
pub fn choose(means: Means) -> Result<Arc<dyn Planner>, PlannerError> {
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
