//! The task of an agent that a lead starts: what to do, what is known about the project, and the requirements.

use std::fmt::Write as _;

use crate::display_text;
use crate::project::ProjectContext;

/// What a lead adds to a task before an agent begins it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrichment {
    /// What the lead found out or decided, in short lines.
    pub notes: Vec<String>,
    /// The requirements of the work.
    pub requirements: Vec<String>,
    /// Questions that a person answered beforehand, with the answers.
    pub answers: Vec<(String, String)>,
}

impl Enrichment {
    /// The requirements as they are numbered: first the stated ones, then the person's answers.
    pub fn numbered(&self) -> Vec<String> {
        let said = self.requirements.iter().map(|text| one_line(text));
        let answered = self.answers.iter().map(|(question, answer)| {
            format!("{} The person answered: {}", one_line(question), one_line(answer))
        });
        said.chain(answered).filter(|line| !line.is_empty()).collect()
    }

    /// The lines of context: what is known about the project, then the lead's notes.
    pub fn context(&self, project: Option<&ProjectContext>) -> Vec<String> {
        let known = project.map(ProjectContext::bullets).unwrap_or_default();
        let notes = self.notes.iter().map(|note| one_line(note)).filter(|note| !note.is_empty());
        known.into_iter().chain(notes).collect()
    }

    /// The whole task (LEAD-29): what to do, the context as bullets, the requirements with numbers, and the beginning
    /// of the project's own instructions. What a project says about itself is in a part of its own, which names the
    /// source.
    pub fn prompt(&self, task: &str, project: Option<&ProjectContext>) -> String {
        let mut text = task.trim().to_owned();
        let context = self.context(project);
        if !context.is_empty() {
            let lines: String = context.iter().map(|line| format!("- {line}\n")).collect();
            let _ = write!(text, "\n\n## Context\n\n{}", lines.trim_end());
        }
        let requirements = self.numbered();
        if !requirements.is_empty() {
            let lines = (1..).zip(&requirements).map(|(number, line)| format!("{number}. {line}\n"));
            let _ = write!(text, "\n\n## Requirements\n\n{}", lines.collect::<String>().trim_end());
        }
        if let Some((name, said)) = project.and_then(ProjectContext::instructions) {
            let quoted: String = said.lines().map(|line| format!("> {line}\n")).collect();
            let _ = write!(text, "\n\n## From the project's {name}\n\n{}", quoted.trim_end());
        }
        text
    }
}

fn one_line(text: &str) -> String {
    display_text::line(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
