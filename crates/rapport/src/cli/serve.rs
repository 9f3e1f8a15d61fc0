//! `rapport serve`: the daemon. It runs a list of channels over the sessions of one project.

pub(super) mod telegram;

use std::time::Duration;

use rapport_door::{Channel, ChannelNotice, Served};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

use super::agent_flags::AgentFlags;
use super::output::{say, say_json};
use super::screen::StopSignal;
use super::{Common, host};
use crate::channels::terminal::safe;
use crate::config::Settings;
use crate::engine::ChannelLease;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Place;

/// How many files are written at once. More only cost memory: the disk is not faster for it.
const WRITERS: usize = 64;

/// How long what is still to be told here gets when it ends.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// Serve a Telegram bot: plan tasks in a chat, and answer agents from the phone
///
/// Takes the token of the bot from TELEGRAM_BOT_TOKEN (or telegram.token in config.yaml) and the ids of those who may
/// use it from TELEGRAM_USER_ID (or telegram.users). Where nobody may yet, a code is shown here: whoever sends it to the
/// bot may. It can be stopped at any moment, even killed; started again, it goes on with the same buttons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  TELEGRAM_BOT_TOKEN=123:abc rapport serve      pair with the code it shows
  TELEGRAM_BOT_TOKEN=123:abc TELEGRAM_USER_ID=42 rapport serve
  rapport serve --json                          what happens, as lines of JSON
  rapport serve --agent rehearsal               with the scripted agent")]
pub(super) struct Args {
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let mut place = Place::find(common)?;
    let settings = place.settings(args.agent.layer())?;
    if let (None, Some(project)) = (&common.project, &settings.telegram.project) {
        place.project = project.canonicalize().map_err(|error| {
            Failure::new(Code::Usage, format!("cannot use {} as the project: {error}", project.display()))
        })?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WRITERS)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let channels = channels(&place, &settings).await?;
        serve(common, &place, &settings, channels).await
    })
}

/// The channels that the settings ask for. A new one is one line here.
async fn channels(place: &Place, settings: &Settings) -> Result<Vec<Box<dyn Channel>>, Failure> {
    Ok(vec![Box::new(telegram::channel(place, settings).await?)])
}

/// Runs channels until a signal comes or one of them fails, which stops the others.
async fn serve(
    common: &Common,
    place: &Place,
    settings: &Settings,
    channels: Vec<Box<dyn Channel>>,
) -> Outcome {
    let mut signal = StopSignal::listen()?;
    let (stop, stopped) = watch::channel(false);
    let (notices, heard) = mpsc::unbounded_channel();
    let run = place.home.join("run");
    let leases: Vec<_> =
        channels.iter().map(|channel| ChannelLease::take(&run, channel.name())).collect::<Result<_, _>>()?;
    let host = host::start(place, settings)?;
    let telling = tokio::spawn(tell(heard, common.json, place.clone()));
    let served = Served { sessions: host.sessions(), stop: stopped, notices };
    let mut running: JoinSet<_> = channels.into_iter().map(|channel| channel.run(served.clone())).collect();
    drop(served);
    let mut outcome = Ok(());
    while !running.is_empty() {
        tokio::select! {
            () = signal.received() => drop(stop.send(true)),
            Some(ended) = running.join_next() => {
                if let Err(failure) = ended.map_err(broken_down).and_then(|ended| ended.map_err(Failure::from)) {
                    let _ = stop.send(true);
                    outcome = outcome.and(Err(failure));
                }
            }
        }
    }
    host.stop().await;
    let _ = tokio::time::timeout(LAST_NOTICES, telling).await;
    drop(leases);
    outcome
}

fn broken_down(error: JoinError) -> Failure {
    Failure::new(Code::Trouble, format!("a channel broke down: {error}"))
}

/// Tells what happens in channels, line by line.
async fn tell(mut heard: mpsc::UnboundedReceiver<ChannelNotice>, as_json: bool, place: Place) {
    while let Some(notice) = heard.recv().await {
        // Who reads no more has their reasons.
        let _ = match (notice, as_json) {
            (ChannelNotice::Serving { channel, name }, true) => say_json(
                &json!({ "event": "serving", "channel": channel, "name": name, "project": place.project }),
            ),
            (ChannelNotice::Serving { name, .. }, false) => {
                let (name, project) = (safe::line(&name), safe::line(&place.project.display().to_string()));
                say(format_args!("Serving {name} for {project}. Stop with Ctrl-C; nothing is lost."))
            }
            (ChannelNotice::Told { channel, message }, true) => {
                say_json(&json!({ "event": "notice", "channel": channel, "message": message }))
            }
            (ChannelNotice::Told { message, .. }, false) => say(safe::line(&message)),
        };
    }
}
