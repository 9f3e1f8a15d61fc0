//! Answers, and who gave them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::question::{ALLOW, ALWAYS, CONFIRM, FOR_PROJECT, FOR_SESSION};

/// The maximum length of a text answer, in bytes.
pub const MAX_TEXT: usize = 64 * 1024;

/// What was answered: the values of chosen options, free text, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Values of the chosen options, in the order they were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Answer {
    /// Whether exactly this option was chosen.
    pub fn is(&self, value: &str) -> bool {
        self.text.is_none() && self.values.len() == 1 && self.values[0] == value
    }

    /// Whether it confirms a plan as it is.
    pub fn confirms(&self) -> bool {
        self.is(CONFIRM)
    }

    /// Whether it allows the call, at least this once.
    pub(crate) fn allows(&self) -> bool {
        [ALLOW, FOR_SESSION, FOR_PROJECT, ALWAYS].into_iter().any(|value| self.is(value))
    }
}

/// Who gave an answer. There is no variant for an unknown author: a timer, a default or a closed pipe cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person, and where they were.
    Person {
        /// `terminal`, `telegram`, ...
        channel: String,
        /// Their id in that channel.
        id: String,
    },
    /// The lead agent, which answers for a person.
    Lead {
        /// Its name.
        name: String,
    },
    /// A model that was asked for this one answer.
    Model {
        /// Its name.
        name: String,
    },
    /// A rule that a person wrote down beforehand.
    Rule {
        /// The rule, in words.
        name: String,
        /// What makes it a rule, by which code tells rules apart. Older logs lack it.
        #[serde(default, skip_serializing_if = "RuleSource::is_written")]
        source: RuleSource,
    },
}

/// Where a rule comes from that answers or acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// Somebody wrote it down beforehand, such as the script of the demo.
    #[default]
    Written,
    /// The routing of questions, which asks a lead before people.
    Routing,
    /// A lead may use Rapport's own tools.
    OwnTools,
    /// A permission that a person granted for a session or a project.
    Granted,
    /// The budget of a session or a day.
    Budget,
    /// An answer that a person wants given always in a project.
    Answer,
}

impl RuleSource {
    fn is_written(&self) -> bool {
        *self == Self::Written
    }
}

impl By {
    /// A rule that somebody wrote down beforehand.
    pub fn written_rule(name: impl Into<String>) -> Self {
        Self::rule(RuleSource::Written, name)
    }

    /// The routing of questions, which asks a lead before people.
    pub fn routing() -> Self {
        Self::rule(RuleSource::Routing, "questions go to the lead first")
    }

    pub(crate) fn rule(source: RuleSource, name: impl Into<String>) -> Self {
        Self::Rule { name: name.into(), source }
    }

    /// Whether this is a person at a terminal. Agents assume a person at a terminal if an answer names no author.
    pub fn is_at_terminal(&self) -> bool {
        matches!(self, By::Person { channel, .. } if channel == "terminal")
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Person { channel, id } => write!(f, "{id} ({channel})"),
            By::Lead { name } => write!(f, "the lead {name}"),
            By::Model { name } => write!(f, "the model {name}"),
            By::Rule { name, .. } => write!(f, "the rule {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule of an older log has no source: whatever its words are, it is one that somebody wrote.
    #[test]
    fn rules_of_older_logs_are_read() {
        let older = r#"{"rule":{"name":"questions go to the lead first"}}"#;
        let read: By = serde_json::from_str(older).unwrap();
        assert_eq!(read, By::written_rule("questions go to the lead first"));
        assert_ne!(read, By::routing());
        assert_eq!(serde_json::to_string(&read).unwrap(), older);
        let routing = serde_json::to_string(&By::routing()).unwrap();
        assert_eq!(serde_json::from_str::<By>(&routing).unwrap(), By::routing());
    }
}
