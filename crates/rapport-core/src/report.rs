//! The report on a plan: which actions were approved and how they ended; as Markdown, for people and for the next turn.

mod markdown;
mod read;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::action_plan::{Action, ActionPlan, Change};
pub use read::Applied;

/// A report on a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The plan's title.
    pub title: String,
    /// The overall result.
    pub status: Overall,
    /// The path of the plan, relative to the report.
    pub plan: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// The changes to the Active Context, with their verdicts; `None` if the plan has no such section.
    pub context: Option<Vec<Judged>>,
    /// The memos, with their verdicts.
    pub memos: Vec<Judged>,
    /// The actions, in the plan's order.
    pub entries: Vec<ReportEntry>,
    /// Why the plan was not shown for approval.
    pub problems: Vec<String>,
    /// The person's message, if they sent one instead of approving.
    pub message: Option<String>,
}

/// The overall result of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Everything was approved, and everything worked.
    Completed,
    /// Something was skipped, or failed with permission of the plan.
    Partial,
    /// An action failed without permission of the plan.
    Failed,
    /// Nothing was approved.
    Skipped,
    /// The plan could not be carried out.
    ValidationFailed,
}

/// A change, and the decision about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The change that the plan proposes.
    pub change: Change,
    /// The decision about it.
    pub verdict: Verdict,
}

/// A person's decision about an item of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was approved.
    Approved,
    /// It was rejected.
    Skipped {
        /// The reason that the person gave, if any.
        reason: Option<String>,
    },
}

/// The result of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry {
    /// Its name, as it is in a plan.
    pub action: String,
    /// The decision about it.
    pub verdict: Verdict,
    /// Its execution, if it was run.
    pub execution: Option<Execution>,
    /// Its parameters, in order: File Path, cwd and so on.
    pub parameters: Vec<(String, String)>,
    /// Its output.
    pub details: Vec<Detail>,
}

/// The execution of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Whether it succeeded.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: SignedDuration,
}

/// Whether an action succeeded.
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
    /// Its label, such as `Output`.
    pub label: String,
    /// The language of the text, such as `diff`; may be empty.
    pub language: String,
    /// The text.
    pub text: String,
}

/// The number of actions by verdict and outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All actions.
    pub total: usize,
    /// The approved ones.
    pub approved: usize,
    /// The rejected ones.
    pub skipped: usize,
    /// The ones that succeeded.
    pub succeeded: usize,
    /// The ones that failed.
    pub failed: usize,
}

impl Report {
    /// Counts the actions by verdict and outcome.
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

    /// The overall result of changes and actions. A failure that the plan allows makes it partial, not failed.
    pub fn overall(judged: &[&Verdict], entries: &[ReportEntry], allowed: impl Fn(usize) -> bool) -> Overall {
        let is_approved = |verdict: &Verdict| matches!(verdict, Verdict::Approved);
        let failed = |entry: &ReportEntry| {
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

    /// The report of a plan that a person skipped as a whole.
    pub fn skipped(plan: &ActionPlan, at: &str, now: Timestamp) -> Report {
        Self::nothing_done(plan, at, (Overall::Skipped, "the plan was skipped"), now)
    }

    /// The report of a plan that cannot be carried out, for these reasons.
    pub fn invalid(plan: &ActionPlan, at: &str, problems: &[String], now: Timestamp) -> Report {
        let report = Self::nothing_done(plan, at, (Overall::ValidationFailed, "the plan is not valid"), now);
        Report { problems: problems.to_vec(), ..report }
    }

    fn nothing_done(
        plan: &ActionPlan,
        at: &str,
        (status, reason): (Overall, &str),
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
            entries: plan.actions.iter().map(|action| ReportEntry::not_begun(action, skipped())).collect(),
            problems: Vec::new(),
            message: None,
        }
    }
}

impl ReportEntry {
    /// An action that was not run, or not yet.
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
