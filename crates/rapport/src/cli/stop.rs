//! `rapport stop`: ends the agent's turn; the conversation is kept.

use rapport_core::{Act, Status};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb, Which};
use super::{Common, sessions};
use crate::error::Outcome;
use crate::wiring::Workspace;

/// Stop the agent of a session in the middle of its turn; the conversation is kept
///
/// Its current activity is interrupted, its changes stay. Its questions are withdrawn, and nothing continues until you
/// say what to do next (`rapport say`), resume it (`rapport resume`) or end the session (`rapport cancel`).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport stop                          where only one agent is at work
  rapport stop add-auth
  rapport say add-auth \"rather with sessions than with tokens\"")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let verb = Verb::new("rapport stop SESSION", "whose agent is at work or waits", &has_turn);
    let verb = verb.rather(is_at_work).rather(Known::is_held);
    let id = session_choice::choose(&place, args.which.name(), &verb)?;
    sessions::act(&place, &id, &Act::Stop)?;
    if common.json {
        return say_json(&json!({ "session": id, "status": "idle" }));
    }
    say(format_args!("Stopped {id}. The conversation is kept."))?;
    say(format_args!("Say what to do next with: rapport say {id} WORDS"))?;
    say(format_args!("Or let it go on with: rapport resume {id}"))
}

/// Whether its agent can be stopped: it works, or waits for an answer.
fn has_turn(known: &Known) -> bool {
    !known.view.has_failed()
        && matches!(known.view.status, Status::Started | Status::Running | Status::NeedsInput)
}

fn is_at_work(known: &Known) -> bool {
    known.is_held() && matches!(known.view.status, Status::Started | Status::Running)
}
