//! Whether a plan can be carried out in a project as it is now, and what to tell about one that cannot.

use std::path::Path;

use rapport_core::check::{Findings, Remark, validate};
use rapport_core::{ActionPlan, Effect, fenced};

use super::{PLAN, TurnError};
use crate::actions::{OnDisk, has_history};
use crate::projects::files::io_error;

/// More problems than this are not told.
pub const MOST: usize = 50;
/// More of a line is not quoted.
const LONGEST: usize = 100;

/// What is known about a plan once it was checked.
#[derive(Clone, Debug, Default)]
pub struct CheckedPlan {
    /// What is wrong with it, one problem after another, each with the name that the plan has and the line it is about. Empty
    /// where it can be carried out.
    pub problems: Vec<String>,
    /// What to know about single actions.
    pub remarks: Vec<Remark>,
}

/// Checks a plan against the project as it is now.
pub fn checked(project: &Path, name: &str, text: &str) -> Result<CheckedPlan, TurnError> {
    let plan = match ActionPlan::parse_in(text, &project.to_string_lossy()) {
        Ok(plan) => plan,
        Err(errors) => {
            let problems = errors.iter().map(|error| quoting(text, error.line, named(name, error)));
            return Ok(CheckedPlan { problems: problems.collect(), remarks: Vec::new() });
        }
    };
    let on_disk = OnDisk::new(project).map_err(io_error("look at the project", project))?;
    let Findings { problems, mut remarks } = validate(&plan, &on_disk);
    let told = problems.iter().map(|problem| match problem.detail {
        Some(_) => named(name, problem),
        None => quoting(text, problem.line, named(name, problem)),
    });
    let commands = plan.actions.iter().position(|action| action.kind.effect() == Effect::Runs);
    if let Some(action) = commands.filter(|_| !has_history(project)) {
        let text = "without Git, undo cannot take back what it does to files".to_owned();
        remarks.push(Remark { action, text });
    }
    Ok(CheckedPlan { problems: told.collect(), remarks })
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

/// What an agent is told to make a plan again.
pub fn message(plan: &str, problems: &[String], original: &str) -> String {
    let problems: Vec<_> = problems.iter().take(MOST).map(String::as_str).collect();
    format!(
        "The plan below cannot be carried out. Make it again, whole, without these mistakes:\n\n{}\n\
         This is the plan:\n\n{}\nThis is what it is for:\n\n{}",
        fenced(&problems.join("\n"), "text"),
        fenced(plan.trim_end(), "text"),
        fenced(original.trim_end(), "text")
    )
}
