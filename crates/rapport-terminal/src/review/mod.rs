//! Reviewing a plan of actions: a summary with one question, and a checklist with previews for those who want to choose.
//!
//! [`summary()`], [`checklist::Checklist`], [`pager::Pager`] and previews are functions of the plan; `review_session` drives
//! them on a real terminal and always restores it. Only a key or a line typed there approves anything: when the terminal
//! closes, a signal arrives or the input ends, the review is left.

pub mod checklist;
pub mod look;
pub mod pager;
pub mod preview;

mod canvas;
mod checklist_session;
mod diff;
mod external_viewer;
pub(crate) mod line_input;
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
use external_viewer::Signals;
pub use preview::{Fetch, Preview, Previewer};
pub use rapport_core::review::{Group, Note, Pick, Selection};
pub use summary::{PROMPT, summary};

/// How a plan is reviewed.
#[derive(Clone, Debug)]
pub struct Review {
    /// Whether somebody can see and type: input and output are terminals.
    pub interactive: bool,
    /// Whether to use colour.
    pub colour: ColourChoice,
    /// How previews are made and shown.
    pub previewer: Previewer,
}

/// What a person decided about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All of it is to be run, without further questions.
    Approve(Selection),
    /// This much of it is to be run, as one batch in the plan's order.
    Run(Selection),
    /// Nothing of it is to be run; the person has something to say instead.
    Skip,
    /// Nothing of it is to be run, and the person left; or the terminal or the process was told to go.
    Quit,
}

/// Why there was no review.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// Nobody can see and type.
    #[error("nobody can be asked about the plan without a terminal")]
    NoTerminal,
    /// The terminal cannot be read or written.
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Shows a plan, and what is wrong with it, until a person decided; on a thread of its own, because a terminal is written
/// and programs are waited for there. Output goes to stdout, and the terminal is given back as it was. Dropped, the review
/// is left as if by a signal.
pub async fn review(plan: &ActionPlan, problems: &[String], config: &Review) -> Result<Verdict, ReviewError> {
    let (plan, problems, config) = (plan.clone(), problems.to_vec(), config.clone());
    let (_stay, gone) = watch::channel(());
    let runtime = Handle::current();
    let task = move || runtime.block_on(decide(&plan, &problems, &config, gone));
    match tokio::task::spawn_blocking(task).await {
        Ok(verdict) => verdict,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The program is coming to its end.
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

/// What a person would be asked, as plain text for where nobody can be: the summary and every action, without a single
/// control character.
pub fn unasked(plan: &ActionPlan, problems: &[String]) -> String {
    let mut lines = summary(plan, problems, usize::MAX);
    let items = rapport_core::review::items(plan, Group::Actions);
    lines.extend(items.iter().map(|item| Line::new(Tone::Text, &format!("{} {}", item.label, item.what))));
    lines.iter().map(|line| format!("{}\n", Theme::Bare.paint(line).trim_end())).collect()
}
