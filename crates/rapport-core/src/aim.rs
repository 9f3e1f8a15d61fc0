//! The aim of a session: a finished task, a plan in a file, a conversation, or a series of turns.

use serde::{Deserialize, Serialize};

/// What a session is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// Clarify, plan, confirm, work, report.
    #[default]
    Work,
    /// Clarify, and write a progress file; change nothing else.
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
    /// What to do if the file already exists.
    #[serde(default)]
    pub existing: Existing,
    /// The project's technologies, as far as its files show.
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

/// What to do if the file already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Existing {
    /// Refuse: the file stays, and nothing is written.
    #[default]
    Refuse,
    /// It is replaced.
    Replace,
    /// It is replaced, except for the sections that only its owner maintains.
    KeepSections,
}

impl Aim {
    pub(crate) fn is_work(&self) -> bool {
        matches!(self, Aim::Work)
    }
}
