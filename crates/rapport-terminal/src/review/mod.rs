//! Reviewing a plan of actions: a summary with one question, and a checklist with previews to choose from.
//!
//! [`summary()`], [`checklist::Checklist`], [`pager::Pager`] and previews are functions of the plan; `review_session`
//! drives them on a real terminal and always restores it. Only a key or a line typed there approves anything: if the
//! terminal closes, a signal arrives or the input ends, the review is left.

pub mod appearance;
pub mod checklist;
pub mod pager;
pub mod preview;

pub(crate) mod canvas;
mod checklist_session;
mod diff;
mod external_viewer;
mod numbered_lines;
mod review_session;
mod summary;
mod viewer;

use std::io;

use rapport_core::ActionPlan;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::style::{ColourChoice, Theme};
use super::text::{Line, Tone};
pub(crate) use canvas::given_back;
use external_viewer::Signals;
pub use preview::{Fetch, Preview, Previewer};
pub use rapport_core::review::{Group, Note, Pick, Selection};
pub use summary::{PROMPT, summary};

/// How a plan is reviewed.
#[derive(Clone, Debug)]
pub struct Review {
    /// Whether a person can see and type: input and output are terminals.
    pub interactive: bool,
    /// Whether to use colour.
    pub colour: ColourChoice,
    /// How previews are made and shown.
    pub previewer: Previewer,
}

/// A person's decision about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run all of it, without further questions.
    Approve(Selection),
    /// Run the selection, as one batch in the plan's order.
    Run(Selection),
    /// Run nothing; the person sends a message instead.
    Skip,
    /// Run nothing: the person left, or the terminal or the process ended.
    Quit,
}

#[derive(Debug, Error)]
pub enum ReviewError {
    #[error("a plan cannot be reviewed without a terminal")]
    NoTerminal,
    /// The terminal cannot be read or written.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Shows a plan and its problems until a person decides. Runs on its own thread, because it blocks on the terminal and
/// on programs. Output goes to stdout, and the terminal is restored. Dropping the future leaves the review as a signal
/// does.
pub async fn review(plan: &ActionPlan, problems: &[String], config: &Review) -> Result<Verdict, ReviewError> {
    let (plan, problems, config) = (plan.clone(), problems.to_vec(), config.clone());
    let (_stay, gone) = watch::channel(());
    let runtime = Handle::current();
    let task = move || runtime.block_on(decide(&plan, &problems, &config, gone));
    match tokio::task::spawn_blocking(task).await {
        Ok(verdict) => verdict,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The program is ending.
        Err(_) => Ok(Verdict::Quit),
    }
}

async fn decide(
    plan: &ActionPlan,
    problems: &[String],
    config: &Review,
    gone: watch::Receiver<()>,
) -> Result<Verdict, ReviewError> {
    match config.interactive {
        true => review_session::run(plan, problems, config, Signals::new(gone)).await,
        false => Err(ReviewError::NoTerminal),
    }
}

/// A plan that is only shown, without a review: its summary and every action.
pub fn overview(plan: &ActionPlan, problems: &[String], columns: usize) -> Vec<Line> {
    let mut lines = summary::headed("Plan", plan, problems, columns);
    let items = rapport_core::review::items(plan, Group::Actions);
    let line = |label: &str, what: &str| {
        Line::new(Tone::Text, &format!("{label} {what}")).hanging(label.chars().count() + 1)
    };
    lines.extend(items.iter().map(|item| line(&item.label, &item.what)));
    lines
}

/// The same as plain text without control characters, for output without a terminal.
pub fn unasked(plan: &ActionPlan, problems: &[String]) -> String {
    let lines = overview(plan, problems, usize::MAX);
    lines.iter().map(|line| format!("{}\n", Theme::Bare.paint(line).trim_end())).collect()
}
