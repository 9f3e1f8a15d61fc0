//! The summary before the work begins: the task, the answers, the plan, and the path of its file.

use rapport_core::{OpenQuestion, PLAN_IS_BEHIND, Purpose, View};

use super::super::text::{Line, Tone};
use super::super::words;
use super::{permission, prose};

/// The number of lines of a plan to show. The whole plan is in its file.
const PLAN_LINES: usize = 20;

pub(crate) fn lines(view: &View) -> Vec<Line> {
    let mut lines =
        vec![Line::empty(), Line::new(Tone::Good, "✓ ").and(Tone::Strong, "Plan ready"), Line::empty()];
    lines.push(Line::new(Tone::Dim, "Task  ").and(Tone::Text, &view.task).hanging(6));
    lines.push(Line::empty());
    for (place, given) in view.answers.iter().enumerate() {
        let number = format!("{:>3}. ", place + 1);
        let question = prose::in_tones(&given.text, Tone::Text);
        let line = Line::new(Tone::Dim, &number).then(question).and(Tone::Dim, " → ");
        lines.push(line.and(Tone::Strong, &given.answer).hanging(5));
    }
    if view.answers.is_empty() {
        lines.push(Line::new(Tone::Dim, "No questions were asked."));
    }
    if let Some(plan) = view.plan.as_ref().filter(|plan| !plan.text.trim().is_empty()) {
        lines.push(Line::empty());
        if plan.behind {
            let words = Line::new(Tone::Care, "! ").and(Tone::Care, PLAN_IS_BEHIND).hanging(2);
            lines.extend([
                words,
                Line::new(Tone::Dim, "  To have it made again, tell the agent."),
                Line::empty(),
            ]);
        }
        let tone = if plan.behind { Tone::Dim } else { Tone::Text };
        lines.extend(prose::clipped(&plan.text, tone, PLAN_LINES));
    }
    lines
}

/// Where the plan is saved.
pub(crate) fn saved(path: &str) -> [Line; 2] {
    [Line::empty(), Line::new(Tone::Dim, "Saved to: ").and(Tone::Text, path).hanging(10)]
}

/// What is shown in full before a question: the call to allow, or the plan to leave plan mode with.
pub(crate) fn preface(question: &OpenQuestion) -> Vec<Line> {
    match &question.purpose {
        Purpose::Permission(asked) => {
            let title = format!("The agent wants to use {}", asked.tool);
            let first = Line::new(Tone::Care, "! ").and(Tone::Strong, &title);
            [Line::empty(), first].into_iter().chain(permission::lines(asked)).collect()
        }
        Purpose::LeavePlanMode { plan } => {
            let first = Line::new(Tone::Care, "! ").and(Tone::Strong, "The agent has made a plan of its own");
            let plan = prose::lines(plan, Tone::Text);
            [Line::empty(), first, Line::empty()].into_iter().chain(plan).collect()
        }
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm | Purpose::Budget { .. } | Purpose::Idle => {
            Vec::new()
        }
    }
}

/// The heading of a round of questions.
pub(crate) fn round(count: usize) -> [Line; 2] {
    let what = if count == 1 { "a question".into() } else { words::count(count, "question") };
    [Line::empty(), Line::new(Tone::Dim, &format!("The agent asks {what}"))]
}
