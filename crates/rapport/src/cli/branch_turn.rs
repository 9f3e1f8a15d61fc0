//! `rapport branch TURN`: another attempt at a turn, which continues as its own line.

use rapport_core::{LaterChanges, Session, TurnStage, UndoState};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{Known, Verb};
use super::workflow::{self, open_session, prompts, seals};
use super::{Common, branch_worktree, undo};
use crate::channels::terminal::terminal_text;
use crate::clock::Clock;
use crate::config::Layer;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::turns::{Folder, Turn};
use crate::wiring::Workspace;

/// Where another attempt begins if the first one changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// With these changes undone.
    Undo,
    /// In a worktree without these changes.
    Worktree,
    /// With the files as they are.
    Keep,
}

/// Creates a branch of the turn of this name (FILE-38, FILE-39).
pub(super) fn execute(
    common: &Common,
    session: Option<&str>,
    turn: &str,
    beginning: Option<Beginning>,
) -> Outcome {
    let place = Workspace::find(common)?;
    let fits = |known: &Known| known.has_turns() && known.session.file_turn(turn).is_some();
    let verb = Verb::new("rapport branch --session SESSION TURN", format!("with a turn {turn}"), &fits)
        .rather(Known::goes_on);
    let folder = workflow::find_for(&place, session, &verb)?;
    seals::warn(&seals::broken_in(&place, &folder)?);
    let session = workflow::state(&place, &folder)?;
    if beginning != Some(Beginning::Worktree) {
        refuse_ended(&session, &folder, turn)?;
    }
    refuse_at_work(&session, &folder, turn)?;
    let origin = wait(folder.turn(turn))?;
    let standing = standing(&session, turn);
    let beginning = match beginning {
        Some(beginning) => beginning,
        None if standing.is_empty() => Beginning::Keep,
        None => ask(common, &folder, turn, &standing)?,
    };
    let standing = match beginning {
        Beginning::Worktree => return branch_worktree::execute(common, &place, (&folder, &session), &origin),
        Beginning::Undo => {
            undo_all(common, &place, &folder, &standing)?;
            Vec::new()
        }
        Beginning::Keep => standing.iter().map(|batch| format!("{}-{batch}", folder.id)).collect(),
    };
    let made = wait(folder.make_branch(&origin, Clock::system().now()))?;
    tell(common, &folder, (&origin, &made), &standing)
}

/// Asks where the other attempt begins.
fn ask(common: &Common, folder: &Folder, turn: &str, standing: &[String]) -> Result<Beginning, Failure> {
    let what = format!("turn {turn} was run, and its changes to files are still there");
    if !prompts::is_possible(common) {
        let branch = format!("rapport branch --session {} {turn}", folder.id);
        return Err(Failure::new(Code::Usage, format!("{what}; say where another try begins"))
            .hint(format!("Undo them first: {branch} --undo"))
            .hint(format!("Leave them, and try it in a git worktree: {branch} --worktree"))
            .hint(format!("Begin with the files as they are: {branch} --keep")));
    }
    say(format_args!("Batches since turn {turn}, whose changes to files are still there:"))?;
    standing.iter().try_for_each(|batch| say(format_args!("  {}-{batch}", folder.id)))?;
    let offer = "(u)ndo them first / work in a (w)orktree / (k)eep the files as they are / (q)uit ›";
    match prompts::choice(offer, &["undo", "worktree", "keep", "quit"])? {
        Some('u') => Ok(Beginning::Undo),
        Some('w') => Ok(Beginning::Worktree),
        Some('k') => Ok(Beginning::Keep),
        _ => Err(prompts::left()),
    }
}

/// Undoes these batches, the latest first. If one cannot be undone, nothing is branched.
fn undo_all(common: &Common, place: &Workspace, folder: &Folder, batches: &[String]) -> Outcome {
    let settings = place.settings(Layer::default())?;
    open_session::hold(common, place, &settings, folder.clone(), async |held| {
        for name in batches {
            let batch = undo::carry_out(held, name, LaterChanges::Refuse).await?;
            match (&batch.undo, common.json) {
                (UndoState::Done(_), true) => {}
                _ => undo::print_result(common, (&held.kind, &held.folder.id), &batch)?,
            }
        }
        Ok(())
    })
}

/// The batches that changed files since the turn began and were not undone, the latest first.
fn standing(session: &Session, turn: &str) -> Vec<String> {
    let first = session.file_turn(turn).and_then(|turn| turn.batches.first()).map(|batch| batch.approved_at);
    let Some(first) = first else { return Vec::new() };
    let batches = session.file_turns().iter().flat_map(|turn| &turn.batches);
    let mut standing: Vec<_> =
        batches.filter(|batch| batch.has_changes && batch.stands() && batch.approved_at >= first).collect();
    standing.sort_by_key(|batch| std::cmp::Reverse(batch.approved_at));
    standing.into_iter().map(|batch| batch.name.clone()).collect()
}

/// Refuses a branch in a session that has ended, where nothing can be planned any more. A branch in a worktree is a
/// session of its own.
fn refuse_ended(session: &Session, folder: &Folder, turn: &str) -> Outcome {
    if !session.is_over() {
        return Ok(());
    }
    let id = &folder.id;
    Err(Failure::new(Code::Refused, format!("turn {turn} cannot be branched: {id} was cancelled"))
        .hint(format!("Try it in a session of its own: rapport branch --session {id} {turn} --worktree")))
}

/// Refuses while this turn is being planned or run: a branch would become the latest turn and hide that.
fn refuse_at_work(session: &Session, folder: &Folder, turn: &str) -> Outcome {
    let (what, id) = (format!("turn {turn} cannot be branched: it"), &folder.id);
    let (why, hint) = match session.file_turn(turn).map(|turn| turn.stage) {
        Some(TurnStage::Planning) => ("is being planned", "Go on with it"),
        Some(TurnStage::Running) => ("is being carried out", "Go on with it"),
        Some(TurnStage::Paused) => ("was interrupted, and waits for a decision", "Go on with it, or undo it"),
        Some(TurnStage::Ended) => ("is being reported", "Go on with it"),
        Some(TurnStage::Unplanned { .. } | TurnStage::Planned | TurnStage::Complete) | None => return Ok(()),
    };
    let failure = Failure::new(Code::Refused, format!("{what} {why}"));
    Err(failure.hint(format!("{hint} first: rapport resume {id}")))
}

fn tell(common: &Common, folder: &Folder, (origin, made): (&Turn, &Turn), standing: &[String]) -> Outcome {
    let path = folder.place(&made.name.to_string());
    if common.json {
        return say_json(&json!({
            "session": folder.id, "turn": made.name.to_string(), "branched_from": origin.name.to_string(), "path": path,
            "standing": standing,
        }));
    }
    say(terminal_text::line(&path))?;
    if !standing.is_empty() {
        // The next plan would see the changes of the other attempt.
        say(format_args!(
            "The project's files are as they are now, not as before turn {}. To begin there, undo first:",
            origin.name
        ))?;
        standing.iter().try_for_each(|batch| say(format_args!("  rapport undo --batch {batch}")))?;
    }
    say(format_args!("Plan it again with: rapport plan --session {} -m MESSAGE", folder.id))?;
    say(format_args!(
        "Compare the two with: rapport diff --session {} {} {}",
        folder.id, origin.name, made.name
    ))
}
