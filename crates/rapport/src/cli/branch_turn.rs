//! `rapport branch TURN`: another try of a turn, which goes on as its own line.

use rapport_core::{Session, TurnStage};
use serde_json::json;

use super::Common;
use super::choose::{Known, Verb};
use super::files::{self, seals};
use super::output::{say, say_json};
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::turns::{Folder, Turn};
use crate::wiring::Place;

/// Makes a branch of the turn of this name (FILE-38, FILE-39).
pub(super) fn execute(common: &Common, session: Option<&str>, turn: &str) -> Outcome {
    let place = Place::find(common)?;
    let fits = |known: &Known| known.has_turns() && known.session.file_turn(turn).is_some();
    let verb = Verb::new("rapport branch --session SESSION TURN", format!("with a turn {turn}"), &fits);
    let folder = files::find_for(&place, session, &verb)?;
    seals::warn(&seals::broken_in(&place, &folder)?);
    check_ours(&place, &folder)?;
    refuse_at_work(&files::state(&place, &folder)?, &folder, turn)?;
    let origin = folder.turn(turn)?;
    let made = folder.make_branch(&origin, Clock::system().now())?;
    tell(common, &folder, &origin, &made)
}

/// A branch becomes the latest turn, and would hide that this one is being planned or carried out.
fn refuse_at_work(session: &Session, folder: &Folder, turn: &str) -> Outcome {
    let (what, id) = (format!("turn {turn} cannot be branched: it"), &folder.id);
    let (why, hint) = match session.file_turn(turn).map(|turn| turn.stage) {
        Some(TurnStage::Drafting) => ("is being planned", "Go on with it"),
        Some(TurnStage::Running) => ("is being carried out", "Go on with it"),
        Some(TurnStage::Paused) => ("was interrupted, and waits for a decision", "Go on with it, or undo it"),
        Some(TurnStage::Ended) => ("is being reported", "Go on with it"),
        Some(TurnStage::Unplanned { .. } | TurnStage::Planned | TurnStage::Complete) | None => return Ok(()),
    };
    let failure = Failure::new(Code::Refused, format!("{what} {why}"));
    Err(failure.hint(format!("{hint} first: rapport resume {id}")))
}

/// Nothing is built on what somebody else says. One without a log, from an older tool, says nothing yet.
fn check_ours(place: &Place, folder: &Folder) -> Outcome {
    match place.store().counted(&folder.id, u64::MAX) {
        Err(StoreError::NotFound(_)) => Ok(()),
        counted => Ok(counted.map(drop)?),
    }
}

fn tell(common: &Common, folder: &Folder, origin: &Turn, made: &Turn) -> Outcome {
    let path = made.path.display().to_string();
    if common.json {
        return say_json(&json!({
            "session": folder.id, "turn": made.name.to_string(), "branched_from": origin.name.to_string(), "path": path,
        }));
    }
    say(safe::line(&path))?;
    say(format_args!("Plan it anew with: rapport plan --session {} -m MESSAGE", folder.id))?;
    say(format_args!(
        "Compare the two with: rapport diff --session {} {} {}",
        folder.id, origin.name, made.name
    ))
}
