//! The aim of a session: to have a task done, to have it planned in a file, to converse, or to go from turn to turn.

use serde::{Deserialize, Serialize};

/// What a session is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// Clarify, plan, confirm, work, report.
    #[default]
    Work,
    /// Clarify, and write a progress file; nothing else is done.
    Progress(ProgressAim),
    /// A conversation: each message is a turn, and between turns the session rests.
    Chat,
    /// Turns in directories: each makes a plan of actions, which a person reviews. Between turns it rests.
    Files,
}

/// The progress file that a session is to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressAim {
    /// Where it goes, from the project's root.
    pub path: String,
    /// Whether the agent may ask.
    #[serde(default)]
    pub asking: Asking,
    /// How it is to plan.
    #[serde(default)]
    pub mode: PlanMode,
    /// What to do about a file that is there already.
    #[serde(default)]
    pub existing: Existing,
    /// What the project is made of, as far as its files tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// Whether an agent that plans may ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// It may not: it assumes, and lists its assumptions.
    #[default]
    Assume,
    /// It may, where a critical fact is missing.
    Adaptive,
}

/// How an agent is to plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// In phases of tasks.
    #[default]
    Basic,
    /// Backwards from what has to be true in the end.
    Gsd,
}

/// What to do about a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Existing {
    /// Refuse: it stays, and nothing is written.
    #[default]
    Refuse,
    /// It is replaced.
    Replace,
    /// It is replaced, but sections that only its owner knows are kept.
    KeepSections,
}

impl Aim {
    pub(crate) fn is_work(&self) -> bool {
        matches!(self, Aim::Work)
    }
}
