//! The report on a plan: what was approved, what was done and how it ended; as Markdown, for people and for the next turn.

mod markdown;
mod read;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::action_plan::{Action, ActionPlan, Change};
pub use read::Applied;

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The plan's title.
    pub title: String,
    /// The overall result.
    pub status: Overall,
    /// Where the plan is, as the report's reader finds it.
    pub plan: String,
    /// When it began.
    pub started: Timestamp,
    /// When it was over.
    pub ended: Timestamp,
    /// What became of the changes to the Active Context; `None` where the plan says nothing about it.
    pub context: Option<Vec<Judged>>,
    /// What became of the memos.
    pub memos: Vec<Judged>,
    /// The actions, in the plan's order.
    pub entries: Vec<Entry>,
    /// Why the plan was not even shown for approval, one after another.
    pub problems: Vec<String>,
    /// What the person said, where they did instead of approving.
    pub message: Option<String>,
}

/// The overall result of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Everything was approved, and everything worked.
    Completed,
    /// Something was skipped, or failed and was allowed to.
    Partial,
    /// An action failed that was not allowed to.
    Failed,
    /// Nothing was approved.
    Skipped,
    /// It could not be carried out.
    ValidationFailed,
}

/// A change, and what was decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The change that the plan proposes.
    pub change: Change,
    /// What was decided.
    pub verdict: Verdict,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was approved.
    Approved,
    /// It was rejected.
    Skipped {
        /// Why, where somebody said so, in their words.
        reason: Option<String>,
    },
}

/// What became of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as it is in a plan.
    pub action: String,
    /// What was decided.
    pub verdict: Verdict,
    /// What came of it, where it was done.
    pub execution: Option<Execution>,
    /// What it was done with, in order: File Path, cwd and the like.
    pub parameters: Vec<(String, String)>,
    /// Its output.
    pub details: Vec<Detail>,
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Whether it worked.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: SignedDuration,
}

/// Whether an action worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
}

/// An output of an action: text, a diff, a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// What it is, such as `Output`.
    pub label: String,
    /// What it is written in, such as `diff`; may be empty.
    pub language: String,
    /// The text.
    pub text: String,
}

/// How many actions there were, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many there were.
    pub total: usize,
    /// How many were approved.
    pub approved: usize,
    /// How many were rejected.
    pub skipped: usize,
    /// How many succeeded.
    pub succeeded: usize,
    /// How many failed.
    pub failed: usize,
}

impl Report {
    /// How many actions there were, and what became of them.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { total: self.entries.len(), ..Counts::default() };
        for entry in &self.entries {
            match entry.verdict {
                Verdict::Approved => counts.approved += 1,
                Verdict::Skipped { .. } => counts.skipped += 1,
            }
            match entry.execution.as_ref().map(|execution| execution.outcome) {
                Some(Outcome::Success) => counts.succeeded += 1,
                Some(Outcome::Failure) => counts.failed += 1,
                None => {}
            }
        }
        counts
    }

    /// What the changes and the actions amount to. A failure that the plan allows for is only a part that is missing.
    pub fn overall(judged: &[&Verdict], entries: &[Entry], allowed: impl Fn(usize) -> bool) -> Overall {
        let is_approved = |verdict: &Verdict| matches!(verdict, Verdict::Approved);
        let failed = |entry: &Entry| {
            entry.execution.as_ref().is_some_and(|execution| execution.outcome == Outcome::Failure)
        };
        let mut verdicts = judged.iter().copied().chain(entries.iter().map(|entry| &entry.verdict));
        if entries.iter().enumerate().any(|(index, entry)| failed(entry) && !allowed(index)) {
            return Overall::Failed;
        }
        let whole = !entries.iter().any(failed);
        if verdicts.clone().all(is_approved) && whole {
            Overall::Completed
        } else if verdicts.any(is_approved) {
            Overall::Partial
        } else {
            Overall::Skipped
        }
    }

    /// The report of a plan of which nothing is done: it was skipped as a whole, or could not be carried out.
    pub fn nothing_done(
        plan: &ActionPlan,
        at: &str,
        status: Overall,
        reason: &str,
        now: Timestamp,
    ) -> Report {
        let skipped = || Verdict::Skipped { reason: Some(reason.to_owned()) };
        let judged = |change: &Change| Judged { change: change.clone(), verdict: skipped() };
        Report {
            title: plan.title.clone(),
            status,
            plan: at.to_owned(),
            started: now,
            ended: now,
            context: plan.context.as_ref().map(|changes| changes.iter().map(judged).collect()),
            memos: plan.memos.iter().map(judged).collect(),
            entries: plan.actions.iter().map(|action| Entry::not_begun(action, skipped())).collect(),
            problems: Vec::new(),
            message: None,
        }
    }
}

impl Entry {
    /// An action of which nothing came, or not yet.
    pub fn not_begun(action: &Action, verdict: Verdict) -> Self {
        let mut parameters = action.kind.parameters();
        parameters.extend(action.description.iter().map(|words| ("Description".to_owned(), words.clone())));
        Self {
            action: action.kind.name().to_owned(),
            verdict,
            execution: None,
            parameters,
            details: Vec::new(),
        }
    }
}
