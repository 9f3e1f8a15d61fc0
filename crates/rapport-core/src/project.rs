//! What is known about a project: the findings of its exploration, what people want kept in mind there, and how its
//! earlier sessions ended. It is stored in `context.yaml` in Rapport's home; `docs/formats/project.md` describes that
//! file.

mod learning;
mod past_session;
mod staleness;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::display_text;

pub use learning::{Learning, LearningKind};
pub use past_session::{PastOutcome, PastSession};
pub use staleness::{Observed, STALE_AFTER, Stale, major};

/// The newest format of `context.yaml` that this program knows.
pub const CONTEXT_FORMAT: u32 = 1;

/// The maximum number of characters of the project's own instructions in a prompt.
const TOLD_INSTRUCTIONS: usize = 2000;
/// The maximum number of directories in a prompt.
const TOLD_DIRECTORIES: usize = 30;

/// What is known about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectContext {
    /// Its unique name.
    pub name: String,
    /// Its directory.
    pub path: String,
    /// When it was last explored, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_explored: Option<Timestamp>,
    /// The findings of the exploration, with people's changes.
    #[serde(flatten)]
    pub found: ProjectFindings,
    /// The project's conventions: found, or learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conventions: Vec<Learning>,
    /// The preferences of people for this project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferences: Vec<Learning>,
    /// Learnings that were proposed and wait for a person's consent. Agents are not told of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<Learning>,
    /// The ids of declined proposals, so that they are not proposed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<String>,
}

/// The findings of an exploration, except for conventions, to which people add their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectFindings {
    /// The language of the project: that of the first manifest at its root.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// All its languages, each with its manifest and tools, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// The tool that installs its dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_manager: Option<String>,
    /// The tool that builds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_tool: Option<String>,
    /// The tool that runs its tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_framework: Option<String>,
    /// The version in its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The description in its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The directories of its members, if it is a workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<String>,
    /// Its directories to the second level, each with a text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub structure: BTreeMap<String, String>,
    /// Its latest commits, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// The beginning of its `CLAUDE.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claude_md: Option<String>,
    /// The beginning of its `AGENTS.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_md: Option<String>,
}

impl ProjectContext {
    /// The learning of this id, among those in effect.
    pub fn learning(&self, id: &str) -> Option<&Learning> {
        self.preferences.iter().chain(&self.conventions).find(|learning| learning.id == id)
    }

    /// Whether a learning with this text is in effect, waits for consent, or was declined.
    pub fn knows(&self, learning: &Learning) -> bool {
        let there = self.preferences.iter().chain(&self.conventions).chain(&self.proposed);
        there.map(|known| &known.id).chain(&self.declined).any(|id| *id == learning.id)
    }

    /// What an agent that works there should know, in short lines. Others wrote much of it, so hidden characters are
    /// made visible.
    pub fn bullets(&self) -> Vec<String> {
        let found = &self.found;
        let mut lines = vec![format!("Project: {} ({})", self.name, self.path)];
        let version = found.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        lines.extend(found.kind.as_ref().map(|kind| format!("Type: {kind}{version}")));
        lines.extend(found.description.iter().cloned());
        let tools = [
            ("Package manager", &found.package_manager),
            ("Build tool", &found.build_tool),
            ("Test framework", &found.test_framework),
        ];
        lines
            .extend(tools.into_iter().filter_map(|(what, tool)| Some(format!("{what}: {}", tool.as_ref()?))));
        let directories: Vec<_> = found
            .structure
            .iter()
            .take(TOLD_DIRECTORIES)
            .map(|(path, text)| format!("{path}/: {text}"))
            .collect();
        let more = found.structure.len().saturating_sub(TOLD_DIRECTORIES);
        lines.extend(directories);
        lines.extend((more > 0).then(|| format!("and {more} more directories")));
        lines.extend(self.conventions.iter().map(|one| format!("Convention: {}", one.text)));
        lines.extend(self.preferences.iter().map(|one| format!("Preference: {}", one.text)));
        lines.into_iter().map(|line| display_text::line(&line)).collect()
    }

    /// The beginning of the project's instructions for agents, with hidden characters made visible, and the name of
    /// their file.
    pub fn instructions(&self) -> Option<(&'static str, String)> {
        let own = self.found.claude_md.as_ref().map(|text| ("CLAUDE.md", text));
        let (name, text) = own.or(self.found.agents_md.as_ref().map(|text| ("AGENTS.md", text)))?;
        let told: String = text.chars().take(TOLD_INSTRUCTIONS).collect();
        Some((name, display_text::lines(&told)))
    }
}
