//! What `apply`, `discard` and the end of a run share: what becomes of work that was done in a worktree of its own.

use std::path::Path;

use rapport_core::{Act, Session, SessionId, Status, View, WorkplaceState, WorkplaceView};

use super::output::say;
use super::page::Page;
use super::{Common, choose, diff, host, sessions};
use crate::channels::terminal::safe;
use crate::config::{Layer, WorkerName};
use crate::engine::Sessions;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Place;
use crate::workers::WorkerError;
use crate::workers::sandboxes::Sandboxes;
use crate::workers::worktrees::Worktrees;

/// How many lines of a diff are shown at the end of a run.
const SHOWN: usize = 400;

/// Does this with the work of a session, and sees it through.
pub(super) fn carry_out(place: &Place, id: &SessionId, act: &Act) -> Result<WorkplaceView, Failure> {
    see_through(place, id, act, |session| {
        let place = session.view(id).workplace?;
        let is_over = match place.state {
            WorkplaceState::Applied | WorkplaceState::Discarded => place.cleared || place.left.is_some(),
            WorkplaceState::Applying => false,
            WorkplaceState::Open | WorkplaceState::Waiting => true,
        };
        is_over.then_some(place)
    })
}

/// Does this in a session and sees it through, until it has an outcome: in the process that runs the session, or, if none does,
/// in this one.
pub(super) fn see_through<T>(
    place: &Place,
    id: &SessionId,
    act: &Act,
    outcome: impl Fn(&Session) -> Option<T>,
) -> Result<T, Failure> {
    sessions::act(place, id, act)?;
    see_on(place, id, outcome)
}

/// Sees through what a session still wants, until it has an outcome.
fn see_on<T>(place: &Place, id: &SessionId, outcome: impl Fn(&Session) -> Option<T>) -> Result<T, Failure> {
    let settings = place.settings(Layer::default())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        if let Some(ended) = sessions::until(&place.sessions(), id, &outcome).await? {
            return Ok(ended);
        }
        let host = host::start(place, &settings)?;
        let ended = match host.sessions().resume(id).await.map_err(Failure::from) {
            // Another process was faster, and sees it through.
            Err(failure) if failure.code != Code::Busy => Err(failure),
            _ => sessions::until(&*host.sessions(), id, &outcome).await,
        };
        host.stop().await;
        ended?.ok_or_else(|| sessions::gone(id))
    })
}

/// Has the state noted in which a cancelled agent left the files, if that is still to be done.
pub(super) fn settle(place: &Place, id: &SessionId) -> Outcome {
    if choose::known(place, id)?.session.is_left_unnoted() {
        see_on(place, id, |session| (!session.is_left_unnoted()).then_some(()))?;
    }
    Ok(())
}

/// Says what is left of a workplace, if anything is.
pub(super) fn tell_left(id: &SessionId, ended: &WorkplaceView) -> Outcome {
    match &ended.left {
        None => say("Its worktree and its branch are gone."),
        Some(why) => {
            say(format_args!("Something of its worktree is left: {}", safe::line(why)))?;
            say(format_args!("Once that is mended, clear it away with: rapport discard {id}"))
        }
    }
}

/// Refuses a worker that this project or this machine cannot have.
pub(super) fn check_worker(project: &Path, worker: WorkerName) -> Outcome {
    match worker {
        WorkerName::Local => Ok(()),
        WorkerName::Worktree => check_worktrees(project),
        WorkerName::Sandbox => {
            Sandboxes::check().map_err(|none| {
                Failure::new(Code::Refused, format!("cannot make a sandbox: {}", none.why))
                    .hint(none.advice)
                    .hint("Or work without walls: --worker worktree")
            })?;
            check_worktrees(project)
        }
    }
}

/// Refuses a project that can have no worktrees.
fn check_worktrees(project: &Path) -> Outcome {
    Worktrees::check(project).map_err(|error| {
        let failure = Failure::new(Code::Refused, format!("cannot make a worktree: {error}"));
        match error {
            WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => failure
                .hint("Put the project into a repository: git init && git add --all && git commit -m Begin")
                .hint("Or work in the project itself: --worker local"),
            _ => failure,
        }
    })
}

/// Shows at the end of a run what was done apart from the project, and what can be done with it.
pub(super) async fn tell_work(
    common: &Common,
    place: &Place,
    sessions: &dyn Sessions,
    id: &SessionId,
) -> Outcome {
    if !awaits_decision(&sessions.view(id).await?) {
        return Ok(());
    }
    let diff = sessions::diff(sessions, id).await?;
    say("")?;
    let mut page = Page::new(common);
    diff::lines(&diff).take(SHOWN).for_each(|line| page.push(line));
    page.print()?;
    if diff.lines().count() > SHOWN {
        say(format_args!("… all of it: rapport diff {id}"))?;
    }
    say(format_args!("This was done in a worktree; {} is as it was.", place.project.display()))?;
    say(format_args!("  rapport apply {id}    take it over"))?;
    say(format_args!("  rapport discard {id}  throw it away"))
}

/// Whether the work of a session can be applied, or is being applied.
pub(super) fn can_apply(view: &View) -> bool {
    let Some(place) = &view.workplace else { return false };
    match place.state {
        WorkplaceState::Waiting | WorkplaceState::Applying => true,
        WorkplaceState::Open => view.status == Status::Failed,
        WorkplaceState::Applied | WorkplaceState::Discarded => false,
    }
}

/// Whether there is work, or something left of a workplace, that can be thrown away.
pub(super) fn can_discard(view: &View) -> bool {
    let Some(place) = &view.workplace else { return false };
    matches!(place.state, WorkplaceState::Waiting | WorkplaceState::Open) || place.left.is_some()
}

/// Whether somebody has to say what becomes of the work.
pub(super) fn awaits_decision(view: &View) -> bool {
    view.workplace.as_ref().is_some_and(|place| place.state == WorkplaceState::Waiting)
}
