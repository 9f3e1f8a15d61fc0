//! Whether a plan can be carried out, and what is done about one that cannot: it is reported, so that nothing waits for it,
//! and planned again where somebody wants that.

use std::path::Path;

use jiff::Timestamp;
use rapport_core::ActionPlan;
use rapport_core::check::validate;
use rapport_core::report::{Overall, Report};

use super::held::Held;
use super::seals;
use crate::actions::OnDisk;
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{PLAN, REPORT, Turn, replace};

/// More problems than this are not told.
const MOST: usize = 50;
/// More of a line is not quoted.
const LONGEST: usize = 100;

/// What a text turned out to be.
pub(in crate::cli) enum Checked {
    /// A plan that can be carried out.
    Good(ActionPlan),
    /// One that cannot, or none at all.
    Bad(Faulty),
}

/// A plan that cannot be carried out.
pub(in crate::cli) struct Faulty {
    /// As far as it could be read.
    pub(in crate::cli) plan: ActionPlan,
    /// Why, one after another.
    pub(in crate::cli) problems: Vec<String>,
}

/// Looks whether a text is a plan that can be carried out in this project, as it is now. Problems are told with the name
/// that it has.
pub(in crate::cli) fn check(project: &Path, name: &str, text: &str) -> Result<Checked, Failure> {
    let plan = match ActionPlan::parse(text) {
        Ok(plan) => plan,
        Err(errors) => {
            let problems = errors.iter().map(|error| quoting(text, error.line, named(name, error))).collect();
            return Ok(Checked::Bad(Faulty { plan: unread(text), problems }));
        }
    };
    let found = validate(&plan, &OnDisk::new(project)?);
    let problems: Vec<_> = found
        .iter()
        .map(|problem| match problem.detail {
            Some(_) => named(name, problem),
            None => quoting(text, problem.line, named(name, problem)),
        })
        .collect();
    Ok(if problems.is_empty() { Checked::Good(plan) } else { Checked::Bad(Faulty { plan, problems }) })
}

/// What is wrong, and below it the line of the plan that it is about, so that nobody has to count.
fn quoting(text: &str, line: usize, what: String) -> String {
    let quoted = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let shown: String = quoted.chars().take(LONGEST).collect();
    if shown.is_empty() { what } else { format!("{what}\n  {line} | {shown}") }
}

/// A problem with the plan's own name instead of the one that turns have.
fn named(name: &str, problem: &impl ToString) -> String {
    let told = problem.to_string();
    match told.strip_prefix(PLAN) {
        Some(rest) => format!("{name}{rest}"),
        None => told,
    }
}

/// What can be said of a text that is no plan: its first heading.
fn unread(text: &str) -> ActionPlan {
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("A plan that cannot be read");
    ActionPlan { title: title.trim().to_owned(), ..ActionPlan::default() }
}

impl Faulty {
    /// Reports it, so that the turn is over.
    pub(in crate::cli) async fn report(&self, held: &Held<'_>, turn: &Turn, now: Timestamp) -> Outcome {
        let mut report =
            Report::nothing_done(&self.plan, PLAN, Overall::ValidationFailed, "the plan is not valid", now);
        report.problems = self.problems.iter().take(MOST).cloned().collect();
        replace(&turn.file(REPORT), report.to_string().as_bytes())?;
        seals::seal_turn(held, turn).await
    }

    /// How it is told.
    pub(in crate::cli) fn failure(&self, what: &str) -> Failure {
        let failure = Failure::new(Code::Refused, format!("{what} cannot be carried out"));
        let told = self.problems.iter().take(MOST).flat_map(|problem| problem.lines());
        told.map(safe::line).fold(failure, Failure::hint)
    }

    /// What the agent is told to make it again.
    pub(in crate::cli) fn message(&self, text: &str, original: &str) -> String {
        let problems = self.problems.iter().take(MOST).map(|problem| format!("{problem}\n"));
        format!(
            "The plan below cannot be carried out. Make it again, whole, without these mistakes:\n\n{}\n\
             This is the plan:\n\n{}\nThis is what it is for:\n\n{}",
            fenced(&problems.collect::<String>()),
            fenced(text),
            fenced(original)
        )
    }
}

/// A text in a fence that is longer than any run of backticks in it.
fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(3) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}
