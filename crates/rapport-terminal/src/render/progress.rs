//! The line that shows the agent's activity.

use std::time::Duration;

use jiff::SignedDuration;
use rapport_core::{Aim, PhaseView, Status, Usage, View};

use super::super::text::{Line, Tone};
use super::super::words;

/// The duration of one frame of the spinner.
pub(crate) const FRAME: Duration = Duration::from_millis(120);

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The line. `elapsed` is the duration of the activity.
pub(crate) fn line(doing: &str, usage: &Usage, elapsed: Duration) -> Line {
    let frame = (elapsed.as_millis() / FRAME.as_millis()) as usize % SPINNER.len();
    let time = words::clock(SignedDuration::from_secs(elapsed.as_secs() as i64));
    let tail: String = words::usage(usage)
        .into_iter()
        .chain([time, "? help".into()])
        .map(|part| format!(" · {part}"))
        .collect();
    Line::new(Tone::Here, SPINNER[frame])
        .and(Tone::Text, " ")
        .and_giving(Tone::Text, doing)
        .and(Tone::Dim, &tail)
}

/// The activity if nothing more precise is known.
pub(crate) fn doing(view: &View) -> &'static str {
    match (view.status, view.phase) {
        (_, _) if view.agent.is_queued => "Waiting for a free place",
        (Status::Started, _) => "Starting the agent",
        (_, PhaseView::Clarifying) if !view.answers.is_empty() => "Checking for follow-up questions",
        (_, PhaseView::Clarifying) => "The agent is looking at the task",
        (_, PhaseView::Confirming) => "Waiting for the plan to be confirmed",
        (_, PhaseView::Resting | PhaseView::Reviewing) => "Waiting",
        (_, PhaseView::Reporting) if view.aim == Aim::Files => "Checking the plan",
        (_, PhaseView::Working) => "The agent is working",
        (_, PhaseView::Reporting) if matches!(view.aim, Aim::Progress(_)) => "Writing the file",
        (_, PhaseView::Reporting) if view.checking.is_some() => "Checking the work",
        (_, PhaseView::Reporting | PhaseView::Ended) => "Listing the changes",
    }
}
