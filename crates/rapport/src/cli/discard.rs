//! `rapport discard`.

use rapport_core::Act;
use serde_json::json;

use super::output::say;
use super::{Common, handover, sessions};
use crate::error::Outcome;
use crate::wiring::Place;

/// Throw the work of a session away, with the worktree it was done in
///
/// The worktree and its branch are removed; the project stays as it is. A session that is not over is cancelled. Its log stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth                 see it first
  rapport discard add-auth")]
pub(super) struct Args {
    /// The session: its name, or a part of it that no other has
    session: String,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let id = sessions::find(&*place.store(), &args.session)?;
    let ended = handover::carry_out(&place, &id, &Act::Discard)?;
    if common.json {
        return say(json!({ "session": id, "state": ended.state, "cleared": ended.cleared }));
    }
    say(format_args!("Discarded {id}."))?;
    handover::tell_left(&id, &ended)
}
