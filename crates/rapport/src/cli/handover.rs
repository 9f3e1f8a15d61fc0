//! Common parts of `apply`, `discard` and the end of a run: the handover of work from a worktree.

use rapport_core::{Act, Session, SessionId, View, WorkplaceState, WorkplaceView};

use super::output::say;
use super::page::Page;
use super::screen::word;
use super::{Common, diff, host, session_choice, sessions};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::config::{Layer, Settings};
use crate::engine::Sessions;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;
use crate::workers::work_only;

/// The maximum number of diff lines at the end of a run.
const SHOWN: usize = 400;

/// Submits an act about the work of a session, and waits for its outcome.
pub(super) fn carry_out(place: &Workspace, id: &SessionId, act: &Act) -> Result<WorkplaceView, Failure> {
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

/// Submits an act and waits for its outcome: in the process that runs the session, or, if none does, in this one.
pub(super) fn see_through<T>(
    place: &Workspace,
    id: &SessionId,
    act: &Act,
    outcome: impl Fn(&Session) -> Option<T>,
) -> Result<T, Failure> {
    sessions::act(place, id, act)?;
    see_on(place, id, outcome)
}

/// Runs a session until an outcome is known.
fn see_on<T>(
    place: &Workspace,
    id: &SessionId,
    outcome: impl Fn(&Session) -> Option<T>,
) -> Result<T, Failure> {
    let settings = place.settings(Layer::default())?;
    let runtime = runtime::of_two_threads()?;
    runtime.block_on(async {
        if let Some(ended) = sessions::until(&place.sessions(), id, &outcome).await? {
            return Ok(ended);
        }
        let host = host::start(place, &settings).await?;
        let ended = match host.sessions().resume(id).await.map_err(Failure::from) {
            // Another process holds it, and completes it.
            Err(failure) if failure.code != Code::Busy => Err(failure),
            _ => sessions::until(&*host.sessions(), id, &outcome).await,
        };
        host.stop().await;
        ended?.ok_or_else(|| sessions::gone(id))
    })
}

/// Records the state in which a cancelled agent left the files, if that is not done yet.
pub(super) fn settle(place: &Workspace, id: &SessionId) -> Outcome {
    if session_choice::known(place, id)?.session.is_left_unnoted() {
        see_on(place, id, |session| (!session.is_left_unnoted()).then_some(()))?;
    }
    Ok(())
}

/// Refuses a session that worked in the project itself: its changes are there already.
pub(super) fn refuse_in_project(place: &Workspace, id: &SessionId, verb: &str) -> Outcome {
    let known = session_choice::known(place, id)?;
    if known.view.workplace.is_some() {
        return Ok(());
    }
    if known.view.branched_from.is_some() {
        return Err(older_branch(id, &known.view));
    }
    if !diff::has_changes(&known.session) {
        return Ok(());
    }
    let what =
        format!("there is nothing to {verb}: {id} worked in the project itself, and its changes are there");
    Err(Failure::new(Code::Refused, what)
        .hint(format!("See them with: rapport diff {id}"))
        .hint(format!("Undo them with: rapport undo {id}")))
}

/// The error for a branch of an older version: its project is a worktree that belongs to no session.
fn older_branch(id: &SessionId, view: &View) -> Failure {
    let (worktree, work) = (word(&view.project), work_only());
    let what = format!("{id} is a branch of an older version, whose worktree only git knows");
    Failure::new(Code::Refused, what)
        .hint("To apply its changes to this directory:")
        .hint(format!(
            "git -C {worktree} add -A && git -C {worktree} diff --cached --binary {work} | git apply --3way"
        ))
        .hint("To remove it with its work:")
        .hint(format!("git worktree remove --force {worktree}"))
}

/// Reports what is left of a workplace, if anything.
pub(super) fn tell_left(place: &Workspace, id: &SessionId, ended: &WorkplaceView) -> Outcome {
    let workplace = place.worker_kinds.workplace(&ended.worker);
    match &ended.left {
        None if place.worker_kinds.has_branch(&ended.worker) => {
            say(format_args!("Its {workplace} and its branch are gone."))
        }
        None => say(format_args!("Its {workplace} is gone.")),
        Some(why) => {
            say(format_args!("Something of its {workplace} is left: {}", terminal_text::line(why)))?;
            say(format_args!("Once that is fixed, remove it with: rapport discard {id}"))
        }
    }
}

/// Refuses a worker that this project or this machine does not support.
pub(super) fn check_worker(place: &Workspace, settings: &Settings) -> Outcome {
    let kind = settings.workers.find(&settings.worker).map_err(|why| Failure::new(Code::Usage, why))?;
    kind.check(&place.project, &place.worker_setup_of(settings)?).map_err(|none| {
        let failure = Failure::new(Code::Refused, none.why);
        none.advice.into_iter().fold(failure, Failure::hint)
    })
}

/// Shows the changes in a workplace at the end of a run, and the next commands.
pub(super) async fn tell_work(
    common: &Common,
    place: &Workspace,
    sessions: &dyn Sessions,
    id: &SessionId,
) -> Outcome {
    let view = sessions.view(id).await?;
    if !awaits_decision(&view) {
        return Ok(());
    }
    let worker = view.workplace.map(|workplace| workplace.worker).unwrap_or_default();
    let workplace = place.worker_kinds.workplace(&worker);
    let diff = sessions::diff(sessions, id).await?;
    say("")?;
    let mut page = Page::new(common);
    diff::lines(&diff).take(SHOWN).for_each(|line| page.push(line));
    page.print()?;
    if diff.lines().count() > SHOWN {
        say(format_args!("… all of it: rapport diff {id}"))?;
    }
    say(format_args!("This was done in a {workplace}; {} is as it was.", place.project.display()))?;
    say(format_args!("  rapport apply {id}    apply it"))?;
    say(format_args!("  rapport discard {id}  discard it"))
}

/// Whether the work of a session can be applied, or is being applied.
pub(super) fn can_apply(view: &View) -> bool {
    let Some(place) = &view.workplace else { return false };
    match place.state {
        WorkplaceState::Waiting | WorkplaceState::Applying => true,
        WorkplaceState::Open => view.has_failed(),
        WorkplaceState::Applied | WorkplaceState::Discarded => false,
    }
}

/// Whether there is work, or a leftover workplace, to discard.
pub(super) fn can_discard(view: &View) -> bool {
    let Some(place) = &view.workplace else { return false };
    matches!(place.state, WorkplaceState::Waiting | WorkplaceState::Open) || place.left.is_some()
}

/// Whether the work has to be applied or discarded.
pub(super) fn awaits_decision(view: &View) -> bool {
    view.workplace.as_ref().is_some_and(|place| place.state == WorkplaceState::Waiting)
}
