//! Why a tool failed. The model reads it, so it says what to do next.

use rapport_core::Refusal;
use rapport_door::{DoorError, StoreError};
use serde_json::{Value, json};

/// A tool's failure, for the model to read.
#[derive(Debug)]
pub(crate) struct ToolError {
    kind: ToolErrorKind,
    message: String,
    /// What is known about the task, if it exists.
    about: Option<Value>,
}

/// What kind of failure it is, for clients that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolErrorKind {
    /// The arguments are wrong.
    Invalid,
    /// There is no such task or diff.
    Unknown,
    /// The task's state does not allow it.
    NotNow,
    /// A person has to decide it.
    NeedsPerson,
    /// Something else failed.
    Failed,
}

impl ToolErrorKind {
    fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
            Self::NotNow => "not_now",
            Self::NeedsPerson => "needs_person",
            Self::Failed => "failed",
        }
    }
}

impl ToolError {
    pub(crate) fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), about: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Invalid, message)
    }

    /// The same, with another sentence appended.
    #[must_use]
    pub(crate) fn and(mut self, sentence: &str) -> Self {
        self.message = format!("{}\n{sentence}", self.message);
        self
    }

    /// The same, with the state of the task.
    #[must_use]
    pub(crate) fn about(mut self, task: Value) -> Self {
        self.about = Some(task);
        self
    }

    pub(crate) fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The failure as data, with the state of the task beside it.
    pub(crate) fn data(&self) -> Value {
        let mut data = match &self.about {
            Some(task) => task.clone(),
            None => json!({}),
        };
        data["success"] = json!(false);
        data["error"] = json!(self.kind.word());
        data["message"] = json!(self.message);
        data
    }
}

impl From<DoorError> for ToolError {
    fn from(error: DoorError) -> Self {
        let kind = match &error {
            DoorError::Refused(Refusal::NeedsPerson { .. }) => ToolErrorKind::NeedsPerson,
            DoorError::Refused(_) => ToolErrorKind::NotNow,
            DoorError::Store(StoreError::NotFound(_)) => ToolErrorKind::Unknown,
            DoorError::Store(_)
            | DoorError::Broken(_)
            | DoorError::Failed(_)
            | DoorError::Forbidden(_)
            | DoorError::Silent { .. }
            | DoorError::Closed => ToolErrorKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
