//! `rapport apply`.

use rapport_core::{Act, Event, SessionId, WorkplaceState, WorkplaceView};
use serde_json::json;

use super::choose::{self, Verb, Which};
use super::output::{say, say_json};
use super::screen::word;
use super::{Common, handover};
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::wiring::Place;
use crate::workers::work_only;

/// Apply the work of a session to the project, from its worktree
///
/// The work is merged with the current files of the project, committed or not; nothing is committed. Either all of it
/// is applied, or, if both changed the same lines, the conflicting files are listed and nothing is changed. Then the
/// worktree and its branch are removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth                 see it first
  rapport apply add-auth
  rapport apply add-auth --with-conflicts")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Apply it even if there are conflicts, with conflict markers in the files
    #[arg(long)]
    with_conflicts: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let verb =
        Verb::new("rapport apply SESSION", "with work to apply", &|known| handover::can_apply(&known.view));
    let store = place.store();
    let id = choose::choose(&place, args.which.name(), &verb)?;
    refuse_branch(&place, &id)?;
    handover::refuse_in_project(&place, &id, "apply")?;
    let act = Act::Apply { with_conflicts: args.with_conflicts, end: None };
    let ended = handover::carry_out(&place, &id, &act)?;
    if ended.state != WorkplaceState::Applied {
        return Err(not_applied(&id, &ended));
    }
    let files = files(&store, &id)?;
    if common.json {
        return say_json(&json!({
            "session": id, "state": "applied", "files": files, "conflicts": ended.conflicts,
        }));
    }
    for file in &files {
        say(format_args!("  {:<9} {}", file.status, safe::line(&file.path)))?;
    }
    say(match files.len() {
        0 => format!("Nothing had to be changed in {}.", place.project.display()),
        1 => format!("Applied to {}: 1 file.", place.project.display()),
        several => format!("Applied to {}: {several} files.", place.project.display()),
    })?;
    for file in &ended.conflicts {
        say(format_args!("  conflict  {}", safe::line(file)))?;
    }
    if !ended.conflicts.is_empty() {
        say(
            "Both sides changed these. Merge them by hand; the same lines are marked with <<<<<<< and >>>>>>>.",
        )?;
    }
    handover::tell_left(&id, &ended)
}

/// A branch at a question has its own worktree, which git can merge.
fn refuse_branch(place: &Place, id: &SessionId) -> Outcome {
    let view = choose::known(place, id)?.view;
    if view.branched_from.is_none() || view.workplace.is_some() {
        return Ok(());
    }
    let worktree = word(&view.project);
    let what = format!("{id} is a branch with its own git worktree, which git applies");
    let work = work_only();
    Err(Failure::new(Code::Refused, what).hint("To apply its changes to this directory:").hint(format!(
        "git -C {worktree} add -A && git -C {worktree} diff --cached --binary {work} | git apply --3way"
    )))
}

fn not_applied(id: &SessionId, ended: &WorkplaceView) -> Failure {
    if let Some(why) = &ended.failure {
        let failure = Failure::new(Code::Trouble, format!("cannot apply {id}: {why}"));
        return if ended.half_done.is_empty() {
            failure.hint(format!("Nothing was changed. See the changes with: rapport diff {id}"))
        } else {
            failure.hint(format!(
                "The files named last were changed. Apply it again for the rest: rapport apply {id}"
            ))
        };
    }
    let what = format!("cannot apply {id}: the project changed the same lines");
    let failure = ended.conflicts.iter().fold(Failure::new(Code::Refused, what), |failure, file| {
        failure.hint(format!("conflict: {}", safe::line(file)))
    });
    failure
        .hint("Nothing was changed. Change the project so that they agree, and apply it again;")
        .hint(format!("or merge by hand, with marks in the files: rapport apply {id} --with-conflicts"))
}

fn files(store: &BlockingStore, id: &SessionId) -> Result<Vec<rapport_core::FileChange>, Failure> {
    let facts = store.read(id, 0)?.into_iter().rev().flat_map(|entry| entry.facts);
    let mut applied = facts.filter_map(|fact| match fact {
        Event::Applied { files, .. } => Some(files),
        _ => None,
    });
    Ok(applied.next().unwrap_or_default())
}
