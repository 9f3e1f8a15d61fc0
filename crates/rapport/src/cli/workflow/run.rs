//! The display of a running batch.

use std::cell::Cell;

use futures_util::StreamExt as _;
use rapport_core::{Act, ActionEnd, ActionPlan, ActionResult, Event};

use super::open_session::OpenSession;
use crate::channels::terminal::terminal_text;
use crate::channels::terminal::text::clip;
use crate::cli::output::{begin_row, clear_row, end_row, say};
use crate::cli::screen::StopSignal;
use crate::engine::{Doing, Update};
use crate::error::{Code, Failure, Outcome};

/// The maximum width of an action's name.
const NAME: usize = 72;

/// Submits an act that runs a batch, and shows its progress until nothing continues by itself. Its questions are
/// asked here too.
pub(in crate::cli) async fn run(held: &OpenSession<'_>, plan: &ActionPlan, act: Act) -> Outcome {
    let mut stop = StopSignal::listen()?;
    let after = held.view().await?.seq;
    let mut updates = held.follow(after).await?;
    held.submit(act).await?;
    let screen = Screen::new(held.common.json, plan);
    loop {
        let update = tokio::select! {
            update = updates.next() => update,
            () = stop.received() => return Err(held.interrupted("the batch was interrupted")),
        };
        match update {
            Some(Update::Action(doing)) => screen.show(&doing),
            Some(Update::Progress(_)) => {}
            Some(Update::Entry(entry)) => {
                let asks = entry.facts.iter().any(|fact| matches!(fact, Event::ActionAsked { .. }));
                let view = held.view().await?;
                if asks && !view.questions.is_empty() {
                    screen.end_row();
                    held.show(entry.seq).await?;
                } else if view.is_settled() && view.questions.is_empty() && view.seq == entry.seq {
                    return match view.failure {
                        Some(reason) => Err(Failure::new(Code::Store, reason).hint(crate::error::KEPT)),
                        None => Ok(()),
                    };
                }
            }
            Some(Update::Lost(why)) => return Err(Failure::new(Code::Store, why)),
            // A session that can no longer be stored is no longer followed; asking for it reports why.
            None => {
                held.view().await?;
                return Err(held.interrupted("the batch was interrupted"));
            }
        }
    }
}

/// The display of a running batch.
struct Screen {
    is_quiet: bool,
    names: Vec<String>,
    /// Whether the last row names the action that runs. Its result takes the place of that row, unless it printed
    /// something.
    has_row: Cell<bool>,
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.end_row();
    }
}

impl Screen {
    fn new(is_quiet: bool, plan: &ActionPlan) -> Self {
        // Commands can be long, and were seen when they were approved.
        let names = plan
            .actions
            .iter()
            .map(|action| clip(&terminal_text::line(&action.kind.in_brief()), NAME))
            .collect();
        Self { is_quiet, names, has_row: Cell::new(false) }
    }

    fn show(&self, doing: &Doing) {
        if self.is_quiet {
            return;
        }
        let name = |n: usize| self.names.get(n).map(String::as_str).unwrap_or_default();
        // A closed output must not stop a batch in the middle.
        match doing {
            Doing::Started(n) => {
                self.end_row();
                self.has_row.set(begin_row(&format!("▸ {}", name(*n))));
            }
            Doing::Output(_, line) => {
                self.end_row();
                drop(say(terminal_text::line(&format!("  │ {line}"))));
            }
            Doing::Ended(end) => {
                if self.has_row.take() {
                    clear_row();
                }
                drop(say(terminal_text::line(&ended(name(end.action), end))));
            }
        }
    }

    fn end_row(&self) {
        if self.has_row.take() {
            end_row();
        }
    }
}

fn ended(name: &str, end: &ActionEnd) -> String {
    let why = end.why.as_deref().unwrap_or_default();
    match (end.result, &end.session) {
        (ActionResult::Done, Some(session)) => format!("✓ {name}: session {session}"),
        (ActionResult::Done, None) => match end.left_words() {
            Some(left) => format!("✓ {name}: {left}"),
            None => format!("✓ {name}"),
        },
        (ActionResult::Failed, _) => match end.left_words() {
            Some(left) => format!("✗ {name}: {why}; {left}"),
            None => format!("✗ {name}: {why}"),
        },
        (ActionResult::Skipped, _) => format!("– {name}: {why}"),
    }
}
