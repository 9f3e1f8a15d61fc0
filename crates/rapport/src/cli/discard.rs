//! `rapport discard`.

use rapport_core::Act;
use serde_json::json;

use super::choose::{self, Verb, Which};
use super::output::{say, say_json};
use super::{Common, handover};
use crate::error::Outcome;
use crate::wiring::Place;

/// Discard the work of a session, with its worktree
///
/// The worktree and its branch are removed; the project is unchanged. A session that is not over is cancelled. Its log
/// stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth                 see it first
  rapport discard add-auth")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let verb = Verb::new("rapport discard SESSION", "with work to discard", &|known| {
        handover::can_discard(&known.view)
    });
    let id = choose::choose(&place, args.which.name(), &verb)?;
    let ended = handover::carry_out(&place, &id, &Act::Discard)?;
    if common.json {
        return say_json(&json!({ "session": id, "state": ended.state, "cleared": ended.cleared }));
    }
    say(format_args!("Discarded {id}."))?;
    handover::tell_left(&id, &ended)
}
