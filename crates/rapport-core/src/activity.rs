//! What an agent is doing: which tool it uses on what, or what it says. Agents name their tools in their own ways; the driver of an
//! agent says what each of them does, and nothing else decides by a tool's name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a tool does, as the driver of the agent knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolUse {
    /// It reads a file, whose path is its subject.
    Reads,
    /// It looks for something and changes nothing: it searches, lists, or loads a page.
    Looks,
    /// It writes a file, whose path is its subject.
    Writes,
    /// It runs a command, which is its subject.
    Runs,
    /// It asks a person.
    Asks,
    /// It is one of the tools that Rapport itself gives to a lead. Its name ends with the name that Rapport gave it.
    Own,
    /// Nothing is known about it, as in logs of older versions.
    #[default]
    Other,
}

impl ToolUse {
    /// Whether it may have changed a file.
    pub fn may_write(self) -> bool {
        match self {
            Self::Reads | Self::Looks | Self::Asks => false,
            Self::Writes | Self::Runs | Self::Own | Self::Other => true,
        }
    }

    /// Whether its subject is the path of a file.
    pub fn is_on_file(self) -> bool {
        matches!(self, Self::Reads | Self::Writes)
    }

    pub(crate) fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// The agent's activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Activity {
    /// It uses a tool.
    Tool {
        /// The name of the tool.
        tool: String,
        /// What it is used on.
        what: String,
        /// What the tool does.
        #[serde(default)]
        kind: ToolUse,
    },
    /// It says or waits for something, in words.
    Words(String),
}

impl Activity {
    /// The use of a tool, with the first line of what it is used on.
    pub fn tool(tool: &str, what: &str, kind: ToolUse) -> Self {
        Self::Tool { tool: tool.to_owned(), what: first_line(what).to_owned(), kind }
    }

    /// The first line of a text.
    pub fn words(text: &str) -> Self {
        Self::Words(first_line(text).to_owned())
    }

    /// Whether it is the use of this tool.
    pub fn is_use_of(&self, name: &str) -> bool {
        matches!(self, Self::Tool { tool, .. } if tool == name)
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { tool, what, .. } => write!(f, "{tool} {what}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What older versions report is a text.
    #[test]
    fn activities_are_read() {
        let read = |json: &str| serde_json::from_str::<Activity>(json).unwrap();
        assert_eq!(read(r#""Edit: a.rs""#), Activity::words("Edit: a.rs"));
        let runs = Activity::tool("Shell", "make\nmake install", ToolUse::Runs);
        assert_eq!(read(&serde_json::to_string(&runs).unwrap()), runs);
        assert_eq!(runs.to_string(), "Shell make");
    }
}
