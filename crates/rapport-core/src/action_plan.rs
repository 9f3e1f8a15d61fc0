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
pub use kinds::{ActionKind, Effect, Shell};
pub(crate) use lines::{Kind, Lines};
pub use markdown::{Fenced, fenced};
pub(crate) use markdown::{changes_as_lines, fact};
pub(crate) use parse::{Subject, change_on_line};

use crate::check::PlanRemark;

/// A plan of actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionPlan {
    /// Its one first-level heading.
    pub title: String,
    /// The list of bold keys below it, in order: Status, Plan Type, Agent, Goal.
    pub metadata: Vec<(String, String)>,
    /// Why this plan, in the agent's words.
    pub rationale: String,
    /// Changes to the files that the next turn is shown; `None` where the plan has no such section.
    pub context: Option<Vec<Change>>,
    /// Changes to the memos.
    pub memos: Vec<Change>,
    /// The actions, in order.
    pub actions: Vec<Action>,
}

/// One line of the Active Context or of the Memos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether it is added or removed.
    pub sign: Sign,
    /// The path, or the fact.
    pub what: String,
    /// A comment, for people.
    pub comment: Option<String>,
    /// Its line in the plan, from 1.
    pub line: usize,
}

/// Whether something is added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It is added: `[+]`.
    Add,
    /// It is removed: `[-]`.
    Remove,
}

/// One action of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub kind: ActionKind,
    /// Its purpose, in the agent's words.
    pub description: Option<String>,
    /// The line of its heading in the plan, from 1.
    pub line: usize,
    /// A note from checking it against the project.
    pub remark: Option<String>,
}

/// Something that an action can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A file, from the project's root.
    File(String),
    /// The address of a page.
    Url(String),
}

/// One FIND with its REPLACE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The text that must occur exactly once.
    pub find: String,
    /// The text that replaces it.
    pub replace: String,
    /// The line of the FIND in the plan, from 1.
    pub line: usize,
}

impl ActionPlan {
    /// The plan with the notes that the check made about its actions.
    pub fn remarked(mut self, remarks: &[PlanRemark]) -> Self {
        for remark in remarks {
            if let Some(action) = self.actions.get_mut(remark.action) {
                let text = action.remark.get_or_insert_default();
                *text =
                    if text.is_empty() { remark.text.clone() } else { format!("{text}; {}", remark.text) };
            }
        }
        self
    }

    /// A placeholder for a plan that could not be parsed: only its title.
    pub fn unread(text: &str) -> Self {
        let title = first_heading(text).unwrap_or("A plan that cannot be read").to_owned();
        Self { title, ..Self::default() }
    }
}

/// The first heading of a text, even if the text is not a plan.
pub fn first_heading(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim)
}
