//! Why a text is not a plan: the line, the problem, and the remedy.

use thiserror::Error;

/// The maximum number of errors to collect; more do not help the author of the plan.
pub(super) const MAX_ERRORS: usize = 50;

/// One error that makes a text an invalid plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", self.in_plan("plan.md"))]
pub struct PlanError {
    /// The line it is about, from 1.
    pub line: usize,
    /// What is wrong, as a fragment.
    pub what: String,
    /// What to do, as a sentence.
    pub hint: String,
}

impl PlanError {
    /// The error in the plan of this name.
    pub fn in_plan(&self, name: &str) -> String {
        let Self { line, what, hint } = self;
        format!("{name}:{line}: {what}. {hint}")
    }

    /// `at` is the index of the line, from 0.
    pub(super) fn new(at: usize, what: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError { line: at + 1, what: what.into(), hint: hint.into() }
    }
}
