//! A plan of actions: what an agent proposes to do to a project, step by step, as Markdown that a person reviews.
//! `docs/formats/plan.md` describes the format.

mod actions;
#[cfg(test)]
mod effort;
mod error;
mod fence;
mod inline;
mod lines;
mod markdown;
mod parse;
mod values;

use std::collections::BTreeMap;

use jiff::SignedDuration;

pub use error::PlanError;
pub(crate) use fence::skip_block;
pub(crate) use inline::{as_path, one_line, parameter};
pub(crate) use lines::{Kind, Lines};
pub use markdown::{Fenced, fenced};
pub(crate) use markdown::{changes_as_lines, fact};
pub(crate) use parse::{Subject, change_on_line};

/// A plan of actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionPlan {
    /// Its one first-level heading.
    pub title: String,
    /// The list of bold keys below it, in order: Status, Plan Type, Agent, Goal.
    pub metadata: Vec<(String, String)>,
    /// Why.
    pub rationale: String,
    /// What the next turn is to be shown, as changes to what this one was; `None` where the plan says nothing.
    pub context: Option<Vec<Change>>,
    /// What is to be remembered, or no longer.
    pub memos: Vec<Change>,
    /// What is to be done, in order.
    pub actions: Vec<Action>,
}

/// One line of the Active Context or of the Memos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether it comes or goes.
    pub sign: Sign,
    /// The path, or the fact.
    pub what: String,
    /// What was said about it, for people.
    pub comment: Option<String>,
    /// Its line in the plan, from 1.
    pub line: usize,
}

/// Whether something comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `[+]`
    Add,
    /// `[-]`
    Remove,
}

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub kind: ActionKind,
    /// What for.
    pub description: Option<String>,
    /// The line of its heading in the plan, from 1.
    pub line: usize,
}

/// What an action does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// A file comes to be.
    Create {
        /// Where, from the project's root.
        path: String,
        /// What is in it.
        content: String,
        /// Whether one that is there is replaced.
        overwrite: bool,
    },
    /// A file or a page is read, and shown in the report and the next turn.
    Read {
        /// Which.
        resource: Resource,
    },
    /// A file is changed.
    Edit {
        /// Which, from the project's root.
        path: String,
        /// How, in order.
        edits: Vec<Replacement>,
    },
    /// A command is run.
    Execute {
        /// As a shell takes it.
        command: String,
        /// Where, from the project's root; the root where nothing is said.
        cwd: Option<String>,
        /// Variables beside the usual ones.
        env: BTreeMap<String, String>,
        /// What is expected of it, in words.
        expected: Option<String>,
        /// Whether the plan goes on when it fails.
        allow_failure: bool,
        /// How long it may take, where the plan says so.
        timeout: Option<SignedDuration>,
    },
    /// The web is searched.
    Research {
        /// For these.
        queries: Vec<String>,
    },
    /// A person is told or asked something, and their words go into the report.
    ChatWithUser {
        /// What, in Markdown.
        message: String,
    },
    /// Another agent gets a session of its own.
    Invoke {
        /// Which.
        agent: String,
        /// What it is told.
        message: String,
    },
}

/// What can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A file, from the project's root.
    File(String),
    /// A page.
    Url(String),
}

/// One FIND with its REPLACE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// What has to be there exactly once.
    pub find: String,
    /// What is there afterwards.
    pub replace: String,
    /// The line of the FIND in the plan, from 1.
    pub line: usize,
}

impl ActionPlan {
    /// What can be said of a text that is no plan: what it is called.
    pub fn unread(text: &str) -> Self {
        let title = first_heading(text).unwrap_or("A plan that cannot be read").to_owned();
        Self { title, ..Self::default() }
    }
}

/// What a text is called, even one that is no plan.
pub fn first_heading(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim)
}

impl ActionKind {
    /// The action's name, as it is in a plan.
    pub fn name(&self) -> &'static str {
        match self {
            ActionKind::Create { .. } => "CREATE",
            ActionKind::Read { .. } => "READ",
            ActionKind::Edit { .. } => "EDIT",
            ActionKind::Execute { .. } => "EXECUTE",
            ActionKind::Research { .. } => "RESEARCH",
            ActionKind::ChatWithUser { .. } => "CHAT_WITH_USER",
            ActionKind::Invoke { .. } => "INVOKE",
        }
    }

    /// Whether the plan goes on when it fails.
    pub fn may_fail(&self) -> bool {
        match self {
            ActionKind::Execute { allow_failure, .. } => *allow_failure,
            ActionKind::Create { .. }
            | ActionKind::Read { .. }
            | ActionKind::Edit { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. }
            | ActionKind::Invoke { .. } => false,
        }
    }

    /// Whether it does more than Rapport can see, as a command or another session does. It cannot be undone, and one that
    /// was cut off may have run: it is not idempotent.
    pub fn is_irreversible(&self) -> bool {
        match self {
            ActionKind::Execute { .. } | ActionKind::Invoke { .. } => true,
            ActionKind::Create { .. }
            | ActionKind::Edit { .. }
            | ActionKind::Read { .. }
            | ActionKind::Research { .. }
            | ActionKind::ChatWithUser { .. } => false,
        }
    }

    /// The action in a few words, such as `EXECUTE cargo test`.
    pub fn in_brief(&self) -> String {
        let about = match self {
            ActionKind::Create { path, .. } | ActionKind::Edit { path, .. } => path.clone(),
            ActionKind::Read { resource: Resource::File(what) | Resource::Url(what) } => what.clone(),
            ActionKind::Execute { command, .. } => beginning(command),
            ActionKind::Research { queries } => beginning(&queries.join("; ")),
            ActionKind::ChatWithUser { message } => beginning(message),
            ActionKind::Invoke { agent, .. } => agent.clone(),
        };
        format!("{} {about}", self.name())
    }
}

/// How a text begins, and whether there is more of it.
fn beginning(text: &str) -> String {
    const MOST: usize = 60;
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let short: String = first.chars().take(MOST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{more}")
}
