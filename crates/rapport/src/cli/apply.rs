//! `rapport apply`.

use std::collections::BTreeSet;

use rapport_core::{Act, ApplyTo, Event, SessionId, View, WorkplaceState, WorkplaceView};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Verb, Which};
use super::{Common, handover};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::wiring::Workspace;

/// Apply the work of a session to the project, from its worktree
///
/// The work is merged with the current files of the project, committed or not; nothing is committed, unless you say so.
/// Either all of it is applied, or, if both changed the same lines, the conflicting files are listed and nothing is
/// changed. Then the worktree and its branch are removed. Other sessions whose waiting work changes the same files are
/// named.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth                 see it first
  rapport apply add-auth
  rapport apply add-auth --with-conflicts
  rapport apply add-auth --commit       and commit it on the current branch
  rapport apply add-auth --branch auth  commit it on a new branch instead")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Apply it even if there are conflicts, with conflict markers in the files
    #[arg(long)]
    with_conflicts: bool,
    /// Also commit it, and nothing else, on the current branch, in your name; no hook runs
    #[arg(long, conflicts_with = "with_conflicts")]
    commit: bool,
    /// Commit it on a new branch instead: no file of the project changes
    #[arg(long, value_name = "NAME", conflicts_with_all = ["with_conflicts", "commit"])]
    branch: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let verb =
        Verb::new("rapport apply SESSION", "with work to apply", &|known| handover::can_apply(&known.view));
    let store = place.store();
    let id = session_choice::choose(&place, args.which.name(), &verb)?;
    handover::refuse_in_project(&place, &id, "apply")?;
    let to = match (args.branch, args.commit) {
        (Some(name), _) => ApplyTo::Branch(name),
        (None, true) => ApplyTo::Commit,
        (None, false) => ApplyTo::Files,
    };
    let act = Act::Apply { with_conflicts: args.with_conflicts, end: None, to: to.clone() };
    let others = overlapping(&place, &id)?;
    let ended = handover::carry_out(&place, &id, &act)?;
    if ended.state != WorkplaceState::Applied {
        return Err(not_applied(&id, &ended));
    }
    let files = files(&store, &id)?;
    if common.json {
        return say_json(&json!({
            "session": id, "state": "applied", "files": files, "conflicts": ended.conflicts, "to": to,
            "overlaps": others.iter().map(|(other, files)| json!({ "session": other, "files": files })).collect::<Vec<_>>(),
        }));
    }
    for file in &files {
        say(format_args!("  {:<9} {}", file.status, terminal_text::line(&file.path)))?;
    }
    let done = match &to {
        ApplyTo::Files => format!("Applied to {}", place.project.display()),
        ApplyTo::Commit => format!("Applied to {} and committed", place.project.display()),
        ApplyTo::Branch(name) => format!("Committed on the branch {}", terminal_text::line(name)),
    };
    say(match files.len() {
        0 => format!("Nothing had to be changed in {}.", place.project.display()),
        1 => format!("{done}: 1 file."),
        several => format!("{done}: {several} files."),
    })?;
    overlaps(&others).try_for_each(say)?;
    for file in &ended.conflicts {
        say(format_args!("  conflict  {}", terminal_text::line(file)))?;
    }
    if !ended.conflicts.is_empty() {
        say(
            "Both sides changed these. Merge them by hand; the same lines are marked with <<<<<<< and >>>>>>>.",
        )?;
    }
    handover::tell_left(&place, &id, &ended)
}

/// The other sessions whose waiting work changes files that this one changes too, with those files.
pub(super) fn overlapping(
    place: &Workspace,
    id: &SessionId,
) -> Result<Vec<(SessionId, Vec<String>)>, Failure> {
    let (all, _) = session_choice::all(place)?;
    let changed = |view: &View| -> BTreeSet<String> {
        view.changes.iter().flat_map(|changes| &changes.files).map(|file| file.path.clone()).collect()
    };
    let Some(own) = all.iter().find(|known| known.id == *id).map(|known| changed(&known.view)) else {
        return Ok(Vec::new());
    };
    let others = all.iter().filter(|known| known.id != *id && handover::awaits_decision(&known.view));
    let common = others.map(|known| {
        let both: Vec<_> = changed(&known.view).intersection(&own).cloned().collect();
        (known.id.clone(), both)
    });
    Ok(common.filter(|(_, both)| !both.is_empty()).collect())
}

/// Which other work changes the same files, in words.
pub(super) fn overlaps(others: &[(SessionId, Vec<String>)]) -> impl Iterator<Item = String> {
    others.iter().map(|(other, files)| {
        let files: Vec<_> = files.iter().map(|file| terminal_text::line(file)).collect();
        format!("{other} waits too, and changes the same files: {}", files.join(", "))
    })
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
        failure.hint(format!("conflict: {}", terminal_text::line(file)))
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
