//! Whether a plan can be carried out, and what is done about one that cannot: it is reported, so that nothing waits for it,
//! and planned again where somebody wants that.

use std::path::Path;

use jiff::Timestamp;
use rapport_core::check::validate;
use rapport_core::report::{Overall, Report};
use rapport_core::{ActionPlan, fenced};

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
    /// What it says.
    text: String,
    /// The same, as far as it could be read.
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
            return Ok(Checked::Bad(Faulty { text: text.to_owned(), plan: unread(text), problems }));
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
    Ok(match problems.as_slice() {
        [] => Checked::Good(plan),
        [..] => Checked::Bad(Faulty { text: text.to_owned(), plan, problems }),
    })
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

/// What can be said of a text that is no plan.
fn unread(text: &str) -> ActionPlan {
    let title = first_heading(text).unwrap_or("A plan that cannot be read").to_owned();
    ActionPlan { title, ..ActionPlan::default() }
}

/// What a text is called, even one that is no plan.
pub(in crate::cli) fn first_heading(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim)
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
    pub(in crate::cli) fn message(&self, original: &str) -> String {
        let problems: Vec<_> = self.problems.iter().take(MOST).map(String::as_str).collect();
        format!(
            "The plan below cannot be carried out. Make it again, whole, without these mistakes:\n\n{}\n\
             This is the plan:\n\n{}\nThis is what it is for:\n\n{}",
            fenced(&problems.join("\n"), "text"),
            fenced(self.text.trim_end(), "text"),
            fenced(original.trim_end(), "text")
        )
    }
}
