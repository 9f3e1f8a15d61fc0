//! Who makes the next round of questions without an agent being started: a model, asked over its API or through the CLI.

use std::pin::Pin;

use rapport_core::{Batch, Brief};
use thiserror::Error;

/// Makes rounds of questions.
pub trait Planner: Send + Sync {
    /// The next round, or that nothing more has to be known. One call makes a whole round, never a single question.
    fn next(&self, brief: Brief) -> NextBatch;
}

/// A round in the making.
pub type NextBatch = Pin<Box<dyn Future<Output = Result<Batch, PlannerError>> + Send>>;

/// Nobody: where no session has its rounds made by a planner.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Planner for Nobody {
    fn next(&self, _: Brief) -> NextBatch {
        let reason = "nobody here makes rounds of questions".to_owned();
        Box::pin(std::future::ready(Err(PlannerError::Unreachable(reason))))
    }
}

/// Why there is no next round.
#[derive(Debug, Error)]
pub enum PlannerError {
    /// It cannot be reached, or does not want to answer; it was tried more than once.
    #[error("{0}")]
    Unreachable(String),
    /// What it answered makes no sense, not even when asked again.
    #[error("{0}")]
    Senseless(String),
}
