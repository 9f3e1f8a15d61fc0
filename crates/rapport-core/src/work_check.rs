//! The result of checking finished work with a command that a person chose, such as the project's tests.

use serde::{Deserialize, Serialize};

/// The result of the command that checks finished work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkCheck {
    /// The command, for a shell.
    pub command: String,
    /// Its exit code; `None` if it did not run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Why it did not run to its end, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The last lines of its output. They come from the work itself, and are not yet safe to show.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The number of lines before those.
    #[serde(default)]
    pub left_out: u64,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub millis: u64,
}

impl WorkCheck {
    /// Whether it ran to its end and succeeded.
    pub fn has_passed(&self) -> bool {
        self.exit == Some(0) && self.problem.is_none()
    }

    /// The outcome in one line.
    pub fn words(&self) -> String {
        let took = match self.millis {
            millis @ ..1_000 => format!("{millis} ms"),
            millis => format!("{} s", millis / 1_000),
        };
        let command = self.command.lines().next().unwrap_or_default();
        match (&self.problem, self.exit) {
            (Some(problem), _) => format!("the check {command} did not finish: {problem}"),
            (None, Some(0)) => format!("the check {command} passed in {took}"),
            (None, Some(code)) => format!("the check {command} failed with exit code {code} in {took}"),
            (None, None) => format!("the check {command} did not finish"),
        }
    }

    /// The last lines of the output, at most this many.
    pub fn last_lines(&self, most: usize) -> impl Iterator<Item = &str> {
        let left_out = self.output.lines().count().saturating_sub(most);
        self.output.lines().skip(left_out)
    }
}
