//! The results of actions as plain data, for the report and the journal.

use std::ops::Not;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::workers::command::Output;

/// The report's text for an interrupted action.
const MAY_HAVE_RUN: &str = "interrupted: it may have run";

/// The results of a batch, in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOutcome {
    /// One per action of the plan.
    pub actions: Vec<TimedOutcome>,
    /// Whether the batch is incomplete: it was stopped, or a person has to decide how to continue.
    /// [`super::ActionBatch::resume`] continues it.
    pub unfinished: bool,
}

/// The result of one action, and its duration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOutcome {
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The duration; zero for an action that did not begin.
    #[serde(rename = "took_ms", with = "milliseconds")]
    pub took: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done {
        details: Details,
    },
    /// It was begun and failed.
    Failed {
        /// Why it failed.
        why: String,
        /// The result so far.
        details: Details,
        /// Whether it was interrupted, so that it may have run.
        #[serde(default, skip_serializing_if = "Not::not")]
        may_have_run: bool,
    },
    Skipped {
        reason: String,
    },
}

/// The details of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Details {
    Nothing,
    /// A file was created or changed.
    File {
        /// The path, as in the plan.
        path: String,
        change: FileChange,
        /// The change as a unified diff, if the file was text before and after.
        diff: Option<String>,
    },
    /// Something was read.
    Text {
        /// The content, as far as it is shown.
        text: String,
        /// What is not shown, or what it is instead of text.
        note: Option<String>,
    },
    /// A command ran.
    Command {
        /// Its exit code; 124 if it timed out, `None` if it was stopped or never ran.
        exit: Option<i32>,
        output: Output,
        /// The names of leftover processes, which were killed.
        left_behind: Vec<String>,
    },
    /// A web search was made.
    Research {
        text: String,
    },
    Reply {
        text: String,
    },
    /// A session of another agent was started.
    Session {
        name: String,
    },
}

/// The change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was created.
    Made,
    Changed,
    /// It already had this content.
    Unchanged,
    Deleted,
    /// It was moved from another path.
    Moved,
}

impl Outcome {
    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        Outcome::Skipped { reason: reason.into() }
    }

    /// It failed, without details.
    pub(super) fn failed(why: impl ToString) -> Self {
        Outcome::failed_with(why, Details::Nothing)
    }

    /// It failed, with these details.
    pub(crate) fn failed_with(why: impl ToString, details: Details) -> Self {
        Outcome::Failed { why: why.to_string(), details, may_have_run: false }
    }

    /// It was interrupted, and may have run.
    pub(super) fn unsure() -> Self {
        Outcome::Failed { why: MAY_HAVE_RUN.into(), details: Details::Nothing, may_have_run: true }
    }

    /// Whether it was interrupted and may have run. A batch continues after that only if a person says so.
    pub fn may_have_run(&self) -> bool {
        match self {
            // Journals of older versions say so only in words.
            Outcome::Failed { why, details, may_have_run } => {
                *may_have_run || (*details == Details::Nothing && why == MAY_HAVE_RUN)
            }
            Outcome::Done { .. } | Outcome::Skipped { .. } => false,
        }
    }

    /// Success with a reply, or a failure without one.
    pub(super) fn from_words(words: Result<String, String>, details: impl FnOnce(String) -> Details) -> Self {
        match words {
            Ok(text) => Outcome::Done { details: details(text) },
            Err(why) => Outcome::failed(why),
        }
    }
}

impl From<Outcome> for TimedOutcome {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, took: Duration::ZERO }
    }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_run_is_a_field_and_not_its_words() {
        let unsure = serde_json::to_value(Outcome::unsure()).unwrap();
        assert_eq!(unsure["may_have_run"], true);
        let mut reworded = unsure.clone();
        reworded["why"] = "cut off".into();
        assert!(serde_json::from_value::<Outcome>(reworded).unwrap().may_have_run());
        assert!(!Outcome::failed("exit code 1").may_have_run());
        let written = serde_json::to_value(Outcome::failed("exit code 1")).unwrap();
        assert_eq!(written.get("may_have_run"), None);
    }

    #[test]
    fn what_an_older_version_wrote_is_still_known_to_may_have_run() {
        let old = r#"{"outcome":"failed","why":"interrupted: it may have run","details":{"kind":"nothing"}}"#;
        assert!(serde_json::from_str::<Outcome>(old).unwrap().may_have_run());
    }
}
