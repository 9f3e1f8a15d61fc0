//! `rapport discard`.

use rapport_core::{Act, SessionId};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Verb, Which};
use super::workflow::prompts;
use super::{Common, handover};
use crate::config;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::wiring::{SessionKind, Workspace};
use crate::workers::worktrees::Worktrees;

/// Discard the work of a session, with its worktree
///
/// The worktree and its branch are removed; the project is unchanged. A session that is not over is cancelled. Its log
/// stays. You are asked first; where nobody can be asked, --yes is needed. A name that an interrupted `rapport branch` left reserved is released, and
/// its worktree is removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth                 see it first
  rapport discard add-auth
  rapport discard add-auth --yes        without being asked")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Discard it without being asked
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    if let Some(id) = args.which.name().map(SessionId::new)
        && is_reserved(&place, &id)?
    {
        Worktrees::new(config::worktrees(&place.project)).remove(&id, &place.project).map_err(|error| {
            let what = format!("cannot remove the worktree that was made for {id}: {error}");
            Failure::new(Code::Trouble, what).hint("Its name stays reserved.")
        })?;
        wait(place.store_in(&SessionKind::Sessions).release(&id))?;
        return match common.json {
            true => say_json(&json!({ "session": id, "state": "released" })),
            false => say(format_args!("Released the name {id}, which no session has.")),
        };
    }
    let verb = Verb::new("rapport discard SESSION", "with work to discard", &|known| {
        handover::can_discard(&known.view)
    });
    let id = session_choice::choose(&place, args.which.name(), &verb)?;
    handover::refuse_in_project(&place, &id, "discard")?;
    let known = session_choice::known(&place, &id)?;
    if handover::can_discard(&known.view) && !args.yes {
        let to_see = format!("See what would be lost: rapport diff {id}");
        prompts::require(common, "discard", Some(to_see), &format!("rapport discard {id}"))?;
        let changed = known.view.changes.iter().flat_map(|changes| &changes.files);
        let changed = changed.map(|file| format!("{:<9} {}", file.status, file.path)).collect();
        let worker = known.view.workplace.as_ref().map_or("", |workplace| workplace.worker.as_str());
        let what = format!("{id} changed in its {}:", place.worker_kinds.workplace(worker));
        prompts::agree(&what, changed, "Discard this work for good?")?;
    }
    let ended = handover::carry_out(&place, &id, &Act::Discard { reason: None, end: None })?;
    if common.json {
        return say_json(&json!({ "session": id, "state": ended.state, "cleared": ended.cleared }));
    }
    say(format_args!("Discarded {id}."))?;
    handover::tell_left(&place, &id, &ended)
}

/// Whether this is a reserved name whose session was never created.
fn is_reserved(place: &Workspace, id: &SessionId) -> Result<bool, Failure> {
    Ok(wait(place.store_in(&SessionKind::Sessions).unfilled())?.contains(id))
}
