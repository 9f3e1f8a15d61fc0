//! Checks whether a plan can be carried out in the project's current state, and describes the problems.

use std::path::Path;

use rapport_core::check::{Findings, PlanRemark, validate};
use rapport_core::{ActionPlan, Effect, fenced};

use super::TurnError;
use crate::actions::{OnDisk, has_history};
use crate::projects::files::io_error;

/// The maximum number of problems to report.
pub const MOST: usize = 50;
/// The maximum length of a quoted line.
const LONGEST: usize = 100;

/// The result of checking a plan.
#[derive(Clone, Debug, Default)]
pub struct CheckedPlan {
    /// The problems, each with the plan's name and line. Empty if it can be carried out.
    pub problems: Vec<String>,
    /// Notes about single actions.
    pub remarks: Vec<PlanRemark>,
}

/// Checks a plan against the project as it is now.
pub fn checked(project: &Path, name: &str, text: &str) -> Result<CheckedPlan, TurnError> {
    let plan = match ActionPlan::parse_in(text, &project.to_string_lossy()) {
        Ok(plan) => plan,
        Err(errors) => {
            let problems = errors.iter().map(|error| quoting(text, error.line, error.in_plan(name)));
            return Ok(CheckedPlan { problems: problems.collect(), remarks: Vec::new() });
        }
    };
    let on_disk = OnDisk::new(project).map_err(io_error("look at the project", project))?;
    let Findings { problems, mut remarks } = validate(&plan, &on_disk);
    let described = problems.iter().map(|problem| match problem.detail {
        Some(_) => problem.in_plan(name),
        None => quoting(text, problem.line, problem.in_plan(name)),
    });
    let commands = plan.actions.iter().position(|action| matches!(action.kind.effect(), Effect::Runs(_)));
    if let Some(action) = commands.filter(|_| !has_history(project)) {
        let text = "without Git, undo cannot revert its changes to files".to_owned();
        remarks.push(PlanRemark { action, text });
    }
    Ok(CheckedPlan { problems: described.collect(), remarks })
}

/// A problem, followed by the line of the plan that it concerns.
fn quoting(text: &str, line: usize, what: String) -> String {
    let quoted = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim();
    let shown: String = quoted.chars().take(LONGEST).collect();
    if shown.is_empty() { what } else { format!("{what}\n  {line} | {shown}") }
}

/// The message that makes an agent plan again.
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
