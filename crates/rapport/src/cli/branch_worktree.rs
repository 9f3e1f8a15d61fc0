//! `rapport branch TURN --worktree`: another attempt at a turn while the first one stays as it is. It is a session of
//! its own that works in a git worktree, whose files are as they were before the turn.

use rapport_core::{Aim, Created, Entry, Session, SessionId};
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use crate::channels::terminal::terminal_text;
use crate::clock::Clock;
use crate::config::{self, Layer};
use crate::engine::restore_before;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::{BlockingStore, wait};
use crate::turns::preparation::TurnPreparation;
use crate::turns::{Folder, SESSION_CONTEXT, TURN_CONTEXT, Turn};
use crate::wiring::{self, SessionKind, Workspace};
use crate::workers::local::Directory;
use crate::workers::worktrees::{self, WorktreeStart, Worktrees};
use crate::workers::{WorkerError, Workplace as _};

/// Creates the worktree first and the session last, as `rapport branch SESSION --at` does. A failure removes what was
/// created.
pub(super) fn execute(
    common: &Common,
    place: &Workspace,
    (folder, session): (&Folder, &Session),
    origin: &Turn,
) -> Outcome {
    let settings = place.settings(Layer::default())?;
    let name = folder.id.as_str().split_once('-').map_or(folder.id.as_str(), |(_, name)| name);
    let (worker, apart) = (worktrees::NAME.to_owned(), Some(true));
    let begun = Created { worker, apart, ..place.session(name.to_owned(), Aim::Files, &settings)? };
    let now = Clock::system().now();
    let first = Entry { seq: 1, at: now, facts: Session::begin(begun)? };
    let store = BlockingStore::from(wiring::faulty(place.store_in(&SessionKind::Sessions)));
    let reserved = store.reserve(&format!("{name}-{}", origin.name), now)?;
    let id = reserved.id().clone();
    let worktrees = Worktrees::new(config::worktrees(&place.project));
    let made = make(place, &worktrees, &id, (folder, session), origin)
        .and_then(|worktree| Ok(reserved.fill(&[first], &[]).map(|()| worktree)?));
    let worktree = match made {
        Ok(worktree) => worktree,
        Err(failure) => {
            // `rapport doctor` lists what cannot be removed.
            let _ = worktrees.remove(&id, &place.project);
            return Err(failure);
        }
    };
    let made = place.folder(&id);
    wait(carry_context(folder, origin, &made))?;
    wait(TurnPreparation::lay_out(&made, &place.project))?;
    tell(common, (folder, origin), &worktree, &id)
}

/// Makes the worktree, with the files as they were before the turn. Its work begins there.
fn make(
    place: &Workspace,
    worktrees: &Worktrees,
    id: &SessionId,
    (folder, session): (&Folder, &Session),
    origin: &Turn,
) -> Result<String, Failure> {
    let files = place.files_of(&folder.id, session.created())?;
    let state = Directory::at(&files).snapshot().map_err(failed)?;
    let state = state.ok_or_else(|| failed(WorkerError::NoRepository { directory: files }))?;
    let start = WorktreeStart { base: state.clone(), state };
    let worktree = worktrees.make_at(id, &place.project, &start).map_err(failed)?;
    let first = session.file_turn(&origin.name.to_string()).and_then(|turn| turn.batches.first());
    if let Some(first) = first {
        restore_before(&folder.id, session, first.approved_at, worktree.directory())
            .map_err(|why| Failure::new(Code::Trouble, why).hint("Nothing was made."))?;
        worktrees.begin_here(id, &place.project).map_err(failed)?;
    }
    Ok(worktree.directory().display().to_string())
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

fn tell(common: &Common, (folder, origin): (&Folder, &Turn), worktree: &str, made: &SessionId) -> Outcome {
    if common.json {
        return say_json(&json!({
            "session": made, "branched_from": { "session": folder.id, "turn": origin.name.to_string() },
            "worktree": worktree,
        }));
    }
    say(terminal_text::line(worktree))?;
    say(format_args!(
        "The files there are as they were before turn {}; those here stay as they are.",
        origin.name
    ))?;
    say(format_args!("Plan it again there: rapport plan --session {made} -m MESSAGE"))?;
    say(format_args!("Then apply its work: rapport apply {made}"))?;
    say(format_args!("or discard it: rapport discard {made}"))
}
