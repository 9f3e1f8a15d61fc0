//! A plan of actions: what an agent proposes to do to a project, step by step, as Markdown that a person reviews.
//! `docs/formats/plan.md` describes the format.

mod actions;
#[cfg(test)]
mod effort;
mod error;
mod fence;
mod inline;
mod kinds;
mod lines;
mod markdown;
mod parse;
mod values;

pub use error::PlanError;
pub(crate) use fence::skip_block;
pub(crate) use inline::{as_path, one_line, parameter};
pub(crate) use kinds::amount;
pub use kinds::{ActionKind, Effect};
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
