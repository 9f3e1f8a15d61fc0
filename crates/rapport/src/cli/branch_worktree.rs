//! `rapport branch TURN --worktree`: another attempt at a turn while the first one stays as it is. It is a session of its
//! own in a git worktree, whose files are as they were before the turn.

use std::path::PathBuf;

use rapport_core::Session;
use serde_json::json;

use super::output::{say, say_json};
use super::screen::word;
use super::{Common, new};
use crate::channels::terminal::safe;
use crate::config;
use crate::engine::restore_before;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::turns::{Folder, SESSION_CONTEXT, TURN_CONTEXT, Turn};
use crate::wiring::Place;
use crate::workers::local::Directory;
use crate::workers::worktree::Worktree;
use crate::workers::{WorkerError, Workplace as _, work_only};

/// The maximum number of attempts at one turn, as with branches.
const MOST: u32 = 99;

/// Creates the worktree and, in it, the session. A failure removes the worktree.
pub(super) fn execute(
    common: &Common,
    place: &Place,
    (folder, session): (&Folder, &Session),
    origin: &Turn,
) -> Outcome {
    let project = &place.project;
    let state = Directory::at(project).snapshot().map_err(failed)?;
    let state = state.ok_or_else(|| failed(WorkerError::NoRepository { directory: project.clone() }))?;
    let worktree = Worktree::add(project, free(place, folder, origin)?, &state).map_err(failed)?;
    let first = session.file_turn(&origin.name.to_string()).and_then(|turn| turn.batches.first());
    if let Some(first) = first {
        restore_before(&folder.id, session, first.approved_at, &worktree.directory)
            .map_err(|why| Failure::new(Code::Trouble, why).hint("Nothing was made."))?;
    }
    let there = Place { project: worktree.directory.clone(), ..place.clone() };
    let name = folder.id.as_str().split_once('-').map_or(folder.id.as_str(), |(_, name)| name);
    let made = wait(new::make(&there, name))?;
    wait(carry_context(folder, origin, &made))?;
    worktree.keep();
    tell(common, (folder, origin), &there.project, &made)
}

/// A directory for the worktree that is not taken yet. Its name is that of no session, so that commands in it are about the worktree.
fn free(place: &Place, folder: &Folder, origin: &Turn) -> Result<PathBuf, Failure> {
    let worktrees = config::worktrees(&place.project);
    let mut roots = (1..=MOST).map(|n| worktrees.join(format!("{}-{}-try-{n}", folder.id, origin.name)));
    let none =
        || Failure::new(Code::Refused, format!("there are {MOST} worktrees of turn {} already", origin.name));
    roots.find(|root| !root.exists()).ok_or_else(none)
}

/// Shows the agent there what it was shown in the turn.
async fn carry_context(from: &Folder, origin: &Turn, to: &Folder) -> Outcome {
    let shared = from.text(SESSION_CONTEXT).await?.unwrap_or_default();
    let own = origin.text(TURN_CONTEXT).await?.unwrap_or_default();
    let context = format!("{}\n{own}", shared.trim_end());
    Ok(to.write(SESSION_CONTEXT, context.into_bytes()).await?)
}

fn failed(error: WorkerError) -> Failure {
    let message = format!("cannot make a worktree for another try: {error}");
    let failure = Failure::new(Code::Refused, message);
    match error {
        WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => failure
            .hint("Put the project into a repository: git init && git add --all && git commit -m Begin"),
        WorkerError::FilesElsewhere { .. } => {
            failure.hint("If you did not set that, remove it: git config --unset core.worktree")
        }
        _ => failure,
    }
}

fn tell(
    common: &Common,
    (folder, origin): (&Folder, &Turn),
    project: &std::path::Path,
    made: &Folder,
) -> Outcome {
    let worktree = project.display().to_string();
    if common.json {
        return say_json(&json!({
            "session": made.id, "branched_from": { "session": folder.id, "turn": origin.name.to_string() },
            "worktree": worktree,
        }));
    }
    let worktree = word(&worktree);
    say(safe::line(&project.display().to_string()))?;
    say(format_args!(
        "The files there are as they were before turn {}; those here stay as they are.",
        origin.name
    ))?;
    say(format_args!("Plan it again there: cd {worktree} && rapport plan -m MESSAGE"))?;
    say("To apply the result to this directory:")?;
    let work = work_only();
    say(format_args!(
        "  git -C {worktree} add -A && git -C {worktree} diff --cached --binary {work} | git apply --3way"
    ))
}
