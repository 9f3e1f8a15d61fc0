//! How actions ended, as plain data: what a report is made of, and what the journal keeps.

use std::ops::Not;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a report says of an action that was cut off.
const MAY_HAVE_RUN: &str = "interrupted: it may have run";

/// How a batch went, action by action in the plan's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// One per action of the plan.
    pub actions: Vec<Settled>,
    /// Whether there is more to be done: it was stopped, or cannot go on before a person decides. [`super::ActionBatch::resume`]
    /// goes on.
    pub unfinished: bool,
}

/// How one action ended, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// How.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How long; nothing for what was not begun.
    #[serde(rename = "took_ms", with = "milliseconds")]
    pub took: Duration,
}

/// How one action ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done {
        /// What came of it.
        details: Details,
    },
    /// It was tried.
    Failed {
        /// Why it failed.
        why: String,
        /// What came of it all the same.
        details: Details,
        /// Whether it was cut off, so that nobody knows whether it ran.
        #[serde(default, skip_serializing_if = "Not::not")]
        may_have_run: bool,
    },
    /// It was not begun.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Details {
    /// Nothing to tell.
    Nothing,
    /// A file was made or changed.
    File {
        /// Which, as the plan has it.
        path: String,
        /// How.
        change: FileChange,
        /// What is different now, as a unified diff, where it was text before and is text now.
        diff: Option<String>,
    },
    /// Something was read.
    Text {
        /// What was there, as far as it is shown.
        text: String,
        /// What is not shown, or what it is instead of text.
        note: Option<String>,
    },
    /// A command ran.
    Command {
        /// Its exit code; 124 where it took too long, and none where it was stopped or never ran.
        exit: Option<i32>,
        /// What it wrote.
        output: Output,
        /// The names of processes it left behind, which were ended.
        left_behind: Vec<String>,
    },
    /// Somebody searched the web.
    Research {
        /// What was found.
        text: String,
    },
    /// A person answered.
    Reply {
        /// Their words.
        text: String,
    },
    /// Another agent has a session.
    Session {
        /// Its name.
        name: String,
    },
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was not there before.
    Made,
    /// It is another now.
    Changed,
    /// It was like this already.
    Unchanged,
    /// It is gone.
    Deleted,
    /// It came from another path.
    Moved,
}

/// What a command wrote, to stdout and stderr alike: the last of it, without colours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The last lines.
    pub text: String,
    /// How many lines there were in all.
    pub lines: u64,
    /// How many bytes there were in all.
    pub bytes: u64,
    /// How many lines of those are left out before the text.
    pub left_out: u64,
}

impl Outcome {
    /// Nothing was begun.
    pub(super) fn skipped(reason: impl Into<String>) -> Self {
        Outcome::Skipped { reason: reason.into() }
    }

    /// It failed, and there is no more to tell.
    pub(super) fn failed(why: impl ToString) -> Self {
        Outcome::failed_with(why, Details::Nothing)
    }

    /// It failed, with this to tell.
    pub(crate) fn failed_with(why: impl ToString, details: Details) -> Self {
        Outcome::Failed { why: why.to_string(), details, may_have_run: false }
    }

    /// It was cut off, and nobody knows whether it ran.
    pub(super) fn unsure() -> Self {
        Outcome::Failed { why: MAY_HAVE_RUN.into(), details: Details::Nothing, may_have_run: true }
    }

    /// Whether it was cut off, and may have run. A batch goes on after that only where a person says so.
    pub fn may_have_run(&self) -> bool {
        match self {
            // Journals of older versions say so in words alone.
            Outcome::Failed { why, details, may_have_run } => {
                *may_have_run || (*details == Details::Nothing && why == MAY_HAVE_RUN)
            }
            Outcome::Done { .. } | Outcome::Skipped { .. } => false,
        }
    }

    /// Done with words, or failed without.
    pub(super) fn from_words(words: Result<String, String>, details: impl FnOnce(String) -> Details) -> Self {
        match words {
            Ok(text) => Outcome::Done { details: details(text) },
            Err(why) => Outcome::failed(why),
        }
    }
}

impl From<Outcome> for Settled {
    /// It took no time.
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
