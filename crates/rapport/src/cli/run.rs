//! `rapport run`: the main job, from a task to its report.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser};
use rapport_core::routing::Policy;
use rapport_core::{Act, Aim, Created, SessionId, Status};

use super::agent_flags::AgentFlags;
use super::output::warn;
use super::resume::{self, How};
use super::screen::{self, Answering, StopSignal};
use super::{Common, cancel, detachment, follower, handover, host, text, trust, typed_lines};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::config::{Layer, Settings, WorkerLayer};
use crate::engine::{DoorError, Sessions, socket};
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::wiring::Workspace;
use crate::workers::WorkerKinds;
use crate::workers::local::Directory;

/// Clarify a task with the agent, agree on a plan, let it work, see the report
///
/// The agent asks before it acts; you answer here, or from anywhere with `rapport answer`. Without a terminal it waits
/// for answers from elsewhere. It can be stopped at any moment, even killed, and resumed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport run \"add a greeting to the start page\"
  rapport run --file task.md
  git log -1 --format=%B | rapport run -
  rapport run --worker worktree \"add a greeting\"   until you apply it
  rapport run --worker sandbox \"add a greeting\"    behind walls, too
  rapport run --detach \"add a greeting\"            rapport serve runs it
  rapport run --agent rehearsal \"add a greeting\"   with the scripted agent")]
pub(super) struct Args {
    /// What you want done; "-" reads it from standard input
    #[arg(required_unless_present_any = ["resume", "file"])]
    task: Vec<OsString>,
    /// Read the task from a file
    #[arg(long, short, value_name = "FILE", conflicts_with = "task")]
    file: Option<PathBuf>,
    /// Continue a session: another name for `rapport resume`
    #[arg(long, short, value_name = "SESSION", num_args = 0..=1, conflicts_with_all = ["task", "file"])]
    resume: Option<Option<String>>,
    /// Where the agent works (default: the setting `worker`, or the project itself)
    #[arg(long, value_name = "WORKER", value_parser = worker_parser(), conflicts_with = "resume")]
    worker: Option<String>,
    /// Do not wait for it: `rapport serve` runs it, and you answer from anywhere
    #[arg(long, conflicts_with = "resume")]
    detach: bool,
    #[command(flatten)]
    agent: AgentFlags,
}

/// The kinds of places, each with its help.
fn worker_parser() -> PossibleValuesParser {
    let kinds = WorkerKinds::builtin();
    PossibleValuesParser::new(kinds.iter().map(|kind| PossibleValue::new(kind.name()).help(kind.in_brief())))
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    if let Some(named) = &args.resume {
        return resume::resume(common, named.as_deref(), &How::with(args.agent));
    }
    let place = Workspace::find(common)?;
    trust::ask_once(common, &place)?;
    let worker = WorkerLayer { kind: args.worker.clone(), ..WorkerLayer::default() };
    let settings = place.settings(Layer { worker, ..args.agent.layer() })?;
    handover::check_worker(&place, &settings)?;
    let mut created = place.session(task(&args)?, Aim::Work, &settings)?;
    if settings.lead_policy != Policy::Ask {
        created.lead = place.lead()?;
    }
    tell_of_no_history(&place);
    if args.detach {
        return detachment::begin(common, &place, created);
    }
    host(common, &place, &settings, Start::New(Box::new(created)))
}

/// Warns if the agent's changes could not be told from others afterwards.
fn tell_of_no_history(place: &Workspace) {
    if Directory::at(&place.project).has_history() {
        return;
    }
    warn(format_args!(
        "{} is not in a git repository: what the agent changes can neither be shown nor undone\n  \
         Put the project into a repository first: git init && git add --all && git commit -m Begin",
        terminal_text::line(&place.project.display().to_string())
    ));
}

/// Begins or resumes a session, and shows it until it ends or the person leaves.
pub(super) fn host(common: &Common, place: &Workspace, settings: &Settings, start: Start) -> Outcome {
    let runtime = runtime::of_two_threads()?;
    runtime.block_on(async {
        let stop = StopSignal::listen()?;
        let host = host::start(place, settings).await?;
        let sessions = host.sessions();
        let outcome = async {
            let id = match start {
                Start::New(created) => sessions.create(*created, None).await?,
                Start::Resume { id, said } => resume_session(&sessions, id, said).await?,
                Start::Join { id, said } => join_session(&sessions, id, said).await?,
            };
            tell_of_others(place, &*sessions, &id).await?;
            if common.json {
                return follower::as_json(common, &sessions, &id, &Answering::Person, 0, stop).await;
            }
            let outcome = screen::show(common, &sessions, &id, Answering::Person, stop).await;
            handover::tell_work(common, place, &*sessions, &id).await?;
            match outcome {
                Err(failure) if failure.code == Code::Cancelled => {
                    let left = cancel::left_behind(place, &*sessions, &id).await?;
                    Err(left.into_iter().fold(failure, Failure::hint))
                }
                outcome => outcome,
            }
        };
        let outcome = outcome.await;
        host.stop().await;
        outcome
    })
}

/// Warns if other sessions work in the same directory, because their changes could not be told apart.
async fn tell_of_others(place: &Workspace, sessions: &dyn Sessions, id: &SessionId) -> Outcome {
    let (what, each) = match sessions.beside(id).await? {
        0 => return Ok(()),
        1 => ("another session is".to_owned(), "Either"),
        several => (format!("{several} other sessions are"), "Each"),
    };
    warn(format_args!(
        "{what} at work in {}\n  {each} will list what the others change as its own. A worktree keeps them apart: \
         rapport run --worker worktree TASK",
        terminal_text::line(&place.project.display().to_string())
    ));
    Ok(())
}

pub(super) enum Start {
    New(Box<Created>),
    Resume {
        id: SessionId,
        /// The message to its agent, if any.
        said: Option<Act>,
    },
    /// The same for a session that another process may run: then it continues there, and is shown here.
    Join {
        id: SessionId,
        /// The message to its agent, if any.
        said: Option<Act>,
    },
}

/// Resumes a session. A failed one is retried, a stopped one continues.
async fn resume_session(
    sessions: &Arc<dyn Sessions>,
    id: SessionId,
    said: Option<Act>,
) -> Result<SessionId, Failure> {
    sessions.resume(&id).await?;
    if let Some(said) = said {
        sessions.act(&id, &socket::person_here(), &said).await?;
    } else if is_to_restart(sessions, &id).await? {
        let restarted = sessions.act(&id, &socket::person_here(), &Act::Restart).await;
        // An answer may have resumed it meanwhile.
        if restarted.is_err() && is_to_restart(sessions, &id).await? {
            restarted?;
        }
    }
    Ok(id)
}

/// Resumes a session, unless another process runs it.
async fn join_session(
    sessions: &Arc<dyn Sessions>,
    id: SessionId,
    said: Option<Act>,
) -> Result<SessionId, Failure> {
    match sessions.resume(&id).await {
        Err(DoorError::Store(StoreError::Busy { .. })) => {
            if let Some(said) = said {
                sessions.act(&id, &socket::person_here(), &said).await?;
            }
            Ok(id)
        }
        Err(error) => Err(error.into()),
        Ok(()) => resume_session(sessions, id, said).await,
    }
}

/// Whether it failed, or its agent was stopped in the middle of a task.
async fn is_to_restart(sessions: &Arc<dyn Sessions>, id: &SessionId) -> Result<bool, Failure> {
    let view = sessions.view(id).await?;
    let is_stopped = view.status == Status::Idle && matches!(view.aim, Aim::Work | Aim::Progress(_));
    Ok(view.has_failed() || is_stopped)
}

fn task(args: &Args) -> Result<String, Failure> {
    if let Some(file) = &args.file {
        let bytes = std::fs::read(file).map_err(|error| {
            Failure::new(Code::Usage, format!("cannot read the task from {}: {error}", file.display()))
        })?;
        return String::from_utf8(bytes)
            .map_err(|_| super::not_text(&format!("the task in {}", file.display())));
    }
    let words = text(&args.task, "this task")?;
    if words == ["-"] {
        return typed_lines::piped("the task from standard input");
    }
    Ok(words.join(" "))
}
