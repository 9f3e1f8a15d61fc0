//! `rapport run`: the main job, from a task to its report.

use std::ffi::OsString;
use std::path::PathBuf;

use jiff::SignedDuration;
use rapport_core::{Act, Aim, Created, SessionId, Status};

use super::output::say_json;
use super::screen::{self, Answering};
use super::{Common, sessions, text, typed};
use crate::config::{AgentLayer, Layer, RoundsLayer, Settings};
use crate::engine::{Gateway, Update, socket};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::{Host, Place};

/// Clarify a task with the agent, agree on a plan, let it work, see the report
///
/// The agent asks before it acts; you answer here, or from anywhere with `rapport answer`. Without a terminal it waits
/// for answers from elsewhere. It can be stopped at any moment, even killed, and resumed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport run \"add a greeting to the start page\"
  rapport run --file task.md
  git log -1 --format=%B | rapport run -
  rapport run --resume 20260124-add-a-greeting
  rapport run --agent rehearsal \"add a greeting\"       with the scripted agent, free of charge")]
pub(super) struct Args {
    /// What you want done; "-" reads it from standard input
    #[arg(required_unless_present_any = ["resume", "file"])]
    task: Vec<OsString>,
    /// Read the task from a file
    #[arg(long, short, value_name = "FILE", conflicts_with = "task")]
    file: Option<PathBuf>,
    /// Go on with a session that was stopped, killed, or has failed
    #[arg(long, short, value_name = "SESSION", conflicts_with_all = ["task", "file"])]
    resume: Option<String>,
    /// The agent's command ("claude", "rehearsal --scenario FILE")
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// How long a waiting agent's process is kept before it is parked ("5m")
    #[arg(long, value_name = "TIME")]
    hot: Option<SignedDuration>,
    /// How many rounds of questions the agent may ask before its plan
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let settings = place.settings(Layer {
        agent: AgentLayer { command: args.agent.clone(), hot: args.hot, ..AgentLayer::default() },
        rounds: RoundsLayer { max: args.max_rounds },
        ..Layer::default()
    })?;
    let start = match &args.resume {
        Some(name) => Start::Resume(sessions::find(&*place.store(), name)?),
        None => Start::New(Box::new(place.session(task(&args)?, Aim::Work, &settings)?)),
    };
    host(common, &place, &settings, start)
}

/// Begins a session or goes on with one, and shows it until it ends or the person leaves.
pub(super) fn host(common: &Common, place: &Place, settings: &Settings, start: Start) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let host = Host::start(place, settings)?;
        let gateway = host.engine.gateway();
        let outcome = async {
            let id = match start {
                Start::New(created) => gateway.create(*created).await?,
                Start::Resume(id) => resume(&gateway, id).await?,
            };
            if common.json {
                follow_json(&gateway, &id).await
            } else {
                screen::show(common, &gateway, &id, Answering::Person).await
            }
        };
        let outcome = outcome.await;
        host.stop().await;
        outcome
    })
}

/// What a session starts from.
pub(super) enum Start {
    /// A new one.
    New(Box<Created>),
    /// One that is there.
    Resume(SessionId),
}

/// Takes a session up. One that failed, or whose agent was cut off in the middle of a question, is told to go on.
async fn resume(gateway: &Gateway, id: SessionId) -> Result<SessionId, Failure> {
    gateway.adopt(&id).await?;
    if gateway.view(&id).await?.status == Status::Failed {
        gateway.submit(&id, socket::person_here(), Act::Restart).await?;
    }
    Ok(id)
}

fn task(args: &Args) -> Result<String, Failure> {
    if let Some(file) = &args.file {
        let bytes = std::fs::read(file).map_err(|error| {
            Failure::new(Code::Usage, format!("cannot read the task from {}: {error}", file.display()))
        })?;
        return String::from_utf8(bytes).map_err(|_| super::not_text("task"));
    }
    let words = text(&args.task, "task")?;
    if words == ["-"] {
        return typed::all(std::io::stdin().lock(), "task");
    }
    Ok(words.join(" "))
}

/// Each entry as a line of JSON, and at the end the session as it stands.
async fn follow_json(gateway: &Gateway, id: &SessionId) -> Outcome {
    let mut follower = gateway.follow(id, 0).await?;
    let stop = screen::stop_signal();
    tokio::pin!(stop);
    loop {
        let update = tokio::select! {
            update = follower.next() => update,
            signal = &mut stop => return signal.map_err(Failure::from).and_then(|()| Err(screen::stopped(id))),
        };
        let Some(update) = update else { break };
        let Update::Entry(entry) = update else { continue };
        say_json(&entry)?;
        let view = gateway.view(id).await?;
        if view.seq == entry.seq && screen::is_over(view.status) {
            say_json(&view)?;
            return screen::ended(&view);
        }
    }
    // Nobody is followed any more in a session that cannot be stored; asking for it says why.
    gateway.view(id).await?;
    Err(Failure::new(Code::Interrupted, "stopped"))
}
