//! `rapport serve`: the daemon. It runs the configured channels over the sessions of one project.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use rapport_door::{ChannelNotice, Notices, Served};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use super::agent_flags::AgentFlags;
use super::output::{say, say_json};
use super::screen::StopSignal;
use super::{Common, host};
use crate::channels::terminal::safe;
use crate::channels::{self, ChannelKinds};
use crate::config::{Layer, Settings, Sources};
use crate::engine::{ChannelLease, claims};
use crate::error::{Failure, Outcome};
use crate::wiring::Place;

/// The maximum number of concurrent writes. More only cost memory: the disk is not faster for it.
const WRITERS: usize = 64;

/// The time limit for printing the last notices.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// Serve the sessions of a project in the channels that are configured, such as a Telegram bot
///
/// Runs every channel that the settings or the environment configure, side by side; --channel chooses among them. Serves the
/// project it is started in, or serve.project. It can be stopped at any moment, even killed; after a restart, the same
/// buttons work.
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub(super) struct Args {
    /// Serve only this channel (can be given several times)
    #[arg(long = "channel", value_name = "NAME", value_parser = names())]
    channels: Vec<String>,
    #[command(flatten)]
    agent: AgentFlags,
}

fn names() -> PossibleValuesParser {
    ChannelKinds::builtin().iter().map(|kind| kind.name()).collect::<Vec<_>>().into()
}

fn help() -> String {
    let channels = ChannelKinds::builtin().help();
    format!(
        "{channels}

Examples:
  rapport serve --json                          what happens, as lines of JSON
  rapport serve --agent rehearsal               with the scripted agent"
    )
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = place(common)?;
    let sources = Arc::new(place.sources()?);
    let settings = place.settings_of(&sources, args.agent.layer())?;
    let kinds = place.channels.chosen(&args.channels, &sources)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WRITERS)
        .enable_all()
        .build()?;
    runtime.block_on(serve(common, &place, &settings, sources, kinds))
}

/// The place of the project to serve: the one that the command line names, else the settings, else the current one.
fn place(common: &Common) -> Result<Place, Failure> {
    let here = Place::find(common)?;
    if common.project.is_some() {
        return Ok(here);
    }
    let sources = here.sources()?;
    let project = match Settings::load(&sources, Layer::default())?.serve_project {
        Some(project) => Some(project),
        None => here.channels.project(&sources)?,
    };
    match project {
        Some(project) => Place::find(&Common { project: Some(project), ..common.clone() }),
        None => Ok(here),
    }
}

/// Runs channels until a signal comes or one of them fails.
async fn serve(
    common: &Common,
    place: &Place,
    settings: &Settings,
    sources: Arc<Sources>,
    kinds: ChannelKinds,
) -> Outcome {
    let mut signal = StopSignal::listen()?;
    let channels = kinds.open(&place.channel_setup(settings, sources)).await?;
    let run = place.home.join("run");
    let lease =
        |name: &'static str| ChannelLease::take(&run, name).map_err(|error| channels::of(name, error.into()));
    let leads = channels.iter().any(|channel| channel.serves_leads()).then_some(claims::LEADS);
    let names = channels.iter().map(|channel| channel.name()).chain(leads);
    let leases: Vec<_> = names.map(lease).collect::<Result<_, _>>()?;
    let (stop, stopped) = watch::channel(false);
    let (notices, heard) = Notices::channel();
    let host = host::start(place, settings)?;
    let told = tell(heard, common.json, place.clone())?;
    let served = Served { sessions: host.sessions(), stop: stopped, notices };
    let outcome = {
        let running = channels::run(channels, served, &stop);
        tokio::pin!(running);
        tokio::select! {
            outcome = &mut running => outcome,
            () = signal.received() => {
                let _ = stop.send(true);
                running.await
            }
        }
    };
    host.stop().await;
    let _ = tokio::time::timeout(LAST_NOTICES, told).await;
    drop(leases);
    outcome
}

/// Prints the notices of channels, line by line, until all of them have ended. It has a thread of its own, because whoever reads
/// may stop reading, and nothing else is to wait for that.
fn tell(
    mut heard: mpsc::Receiver<ChannelNotice>,
    as_json: bool,
    place: Place,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, told) = oneshot::channel();
    let print = move || {
        while let Some(notice) = heard.blocking_recv() {
            // The reader may be gone.
            let _ = if as_json { say_json(&as_event(notice, &place)) } else { say(in_words(notice, &place)) };
        }
        let _ = done.send(());
    };
    std::thread::Builder::new().name("notices".into()).spawn(print)?;
    Ok(told)
}

fn as_event(notice: ChannelNotice, place: &Place) -> Value {
    match notice {
        ChannelNotice::Serving { channel, name } => {
            json!({ "event": "serving", "channel": channel, "name": name, "project": place.project })
        }
        ChannelNotice::Told { channel, message } => {
            json!({ "event": "notice", "channel": channel, "message": message })
        }
        ChannelNotice::Dropped { count } => json!({ "event": "dropped", "count": count }),
    }
}

fn in_words(notice: ChannelNotice, place: &Place) -> String {
    match notice {
        ChannelNotice::Serving { name, .. } => {
            let (name, project) = (safe::line(&name), safe::line(&place.project.display().to_string()));
            format!("Serving {name} for {project}. Stop with Ctrl-C; nothing is lost.")
        }
        ChannelNotice::Told { message, .. } => safe::line(&message),
        ChannelNotice::Dropped { count } => {
            format!("{count} messages were dropped, because nobody read them.")
        }
    }
}
