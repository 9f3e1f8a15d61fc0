//! `rapport serve`: the daemon. It runs the configured channels over the sessions of one project, or of several.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use rapport_door::{ChannelNotice, ChannelSetup, JointSessions, Notices, ProjectDoor, Served, Sessions};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::agent_flags::AgentFlags;
use super::output::{say, say_json};
use super::screen::StopSignal;
use super::{Common, detachment, host};
use crate::channels::terminal::terminal_text;
use crate::channels::{self, ChannelKinds};
use crate::config::{Layer, Secret, Settings, Sources};
use crate::engine::{ChannelLease, claims};
use crate::error::{Failure, Outcome};
use crate::wiring::{Host, Workspace};

/// The maximum number of concurrent writes. More would only cost memory, because the disk is the limit.
const WRITERS: usize = 64;

/// The time limit for printing the last notices.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// Serve the sessions of a project in the channels that are configured, such as a page for browsers
///
/// Runs every channel that the settings or the environment configure, side by side; --channel chooses among them.
/// Serves the project it is started in, or those that are named here or in serve.projects. It can be stopped at any
/// moment, even killed; after a restart, the same buttons work.
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub(super) struct Args {
    /// The projects to serve (default: serve.projects, or serve.project, or the one around the current directory)
    #[arg(value_name = "PROJECT", conflicts_with = "project")]
    projects: Vec<PathBuf>,
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
  rapport serve ~/shop ~/blog                   two projects, in one inbox
  rapport serve --json                          what happens, as lines of JSON
  rapport serve --agent rehearsal               with the scripted agent"
    )
}

/// A project that is served.
#[derive(Clone, Debug)]
struct ServedProject {
    /// A unique name among the served projects.
    name: String,
    place: Workspace,
    settings: Settings,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let (place, others) = places(common, &args.projects)?;
    let sources = Arc::new(place.sources()?);
    let settings = place.settings_of(&sources, args.agent.layer())?;
    let kinds = place.channels.chosen(&args.channels, &sources)?;
    let mut names = names_of(std::iter::once(&place).chain(&others)).into_iter();
    let first = ServedProject { name: names.next().unwrap_or_default(), place, settings };
    let mut rest = Vec::new();
    for (place, name) in others.into_iter().zip(names) {
        let settings = place.settings(args.agent.layer())?;
        rest.push(ServedProject { name, place, settings });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WRITERS)
        .enable_all()
        .build()?;
    runtime.block_on(serve(common, &first, &rest, sources, kinds))
}

/// The places of the projects to serve: those that the command line names, else the settings, else the current one.
fn places(common: &Common, named: &[PathBuf]) -> Result<(Workspace, Vec<Workspace>), Failure> {
    let at =
        |project: &PathBuf| Workspace::find(&Common { project: Some(project.clone()), ..common.clone() });
    let several = |projects: &[PathBuf]| {
        let mut places: Vec<Workspace> = Vec::new();
        for project in projects {
            let place = at(project)?;
            if places.iter().all(|known| known.project != place.project) {
                places.push(place);
            }
        }
        Ok::<_, Failure>(places)
    };
    let mut places = several(named)?.into_iter();
    if let Some(first) = places.next() {
        return Ok((first, places.collect()));
    }
    let here = Workspace::find(common)?;
    if common.project.is_some() {
        return Ok((here, Vec::new()));
    }
    let sources = here.sources()?;
    let settings = here.settings_of(&sources, Layer::default())?;
    let mut places = several(&settings.serve_projects)?.into_iter();
    if let Some(first) = places.next() {
        return Ok((first, places.collect()));
    }
    let project = match settings.serve_project {
        Some(project) => Some(project),
        None => here.channels.project(&sources)?,
    };
    Ok((project.map_or(Ok(here), |project| at(&project))?, Vec::new()))
}

/// The names of projects: those of their directories, with as much of the path as makes each unique.
fn names_of<'a>(places: impl Iterator<Item = &'a Workspace>) -> Vec<String> {
    let paths: Vec<Vec<String>> = places
        .map(|place| {
            let parts = place.project.components().rev();
            parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
        })
        .collect();
    let name = |path: &Vec<String>| {
        let ending = |length: usize| path.iter().take(length).rev().cloned().collect::<Vec<_>>().join("/");
        let is_alone = |length: &usize| {
            paths.iter().filter(|other| other.iter().take(*length).eq(path.iter().take(*length))).count() == 1
        };
        ending((1..path.len()).find(is_alone).unwrap_or(path.len()))
    };
    paths.iter().map(name).collect()
}

/// Runs channels until a signal comes or one of them fails.
async fn serve(
    common: &Common,
    first: &ServedProject,
    others: &[ServedProject],
    sources: Arc<Sources>,
    kinds: ChannelKinds,
) -> Outcome {
    let mut signal = StopSignal::listen()?;
    let own = first.place.channel_setup(&first.settings, sources);
    let secrets = others.iter().flat_map(|one| one.place.secrets(&one.settings)).map(Secret::into_inner);
    let setup = ChannelSetup {
        secrets: own.secrets.iter().cloned().chain(secrets).collect(),
        project: first.place.project_setup(first.name.clone(), &first.settings),
        others: others.iter().map(|one| one.place.project_setup(one.name.clone(), &one.settings)).collect(),
        ..own
    };
    let channels = kinds.open(&setup).await?;
    let run = first.place.home.join("run");
    let leads = channels.iter().any(|channel| channel.serves_leads()).then_some(claims::LEADS);
    let mut leases = Vec::new();
    for name in channels.iter().map(|channel| channel.name()).chain(leads) {
        let lease = ChannelLease::take(&run, name).await;
        leases.push(lease.map_err(|error| channels::of(name, error.into()))?);
    }
    let (stop, stopped) = watch::channel(false);
    let (notices, heard) = Notices::channel();
    let hosts = Hosts::start(first, others).await?;
    let projects = std::iter::once(first).chain(others).map(|one| one.place.project.clone()).collect();
    let told = tell(heard, common.json, projects)?;
    let served = Served { sessions: hosts.sessions(first, others, &notices), stop: stopped, notices };
    let detached = hosts.resume_detached(first, others);
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
    drop(detached);
    hosts.stop().await;
    let _ = tokio::time::timeout(LAST_NOTICES, told).await;
    drop(leases);
    outcome
}

/// An engine for each project.
struct Hosts {
    first: Host,
    others: Vec<Host>,
}

impl Hosts {
    /// Starts them all, or none.
    async fn start(first: &ServedProject, others: &[ServedProject]) -> Result<Self, Failure> {
        let first = host::start(&first.place, &first.settings).await?;
        let mut hosts = Self { first, others: Vec::new() };
        for other in others {
            match host::start(&other.place, &other.settings).await {
                Ok(host) => hosts.others.push(host),
                Err(failure) => {
                    hosts.stop().await;
                    return Err(failure);
                }
            }
        }
        Ok(hosts)
    }

    /// The door to the sessions of all projects.
    fn sessions(
        &self,
        first: &ServedProject,
        others: &[ServedProject],
        notices: &Notices,
    ) -> Arc<dyn Sessions> {
        if self.others.is_empty() {
            return self.first.sessions();
        }
        let door = |(project, host): (&ServedProject, &Host)| ProjectDoor {
            name: project.name.clone(),
            path: project.place.project.display().to_string(),
            sessions: host.sessions(),
        };
        let doors = others.iter().zip(&self.others).map(door);
        Arc::new(JointSessions::new(door((first, &self.first)), doors, notices.clone()))
    }

    /// Resumes the detached sessions of each project, until the returned set is dropped.
    fn resume_detached(&self, first: &ServedProject, others: &[ServedProject]) -> JoinSet<()> {
        let projects = std::iter::once(first).chain(others);
        let hosts = std::iter::once(&self.first).chain(&self.others);
        let resumed = projects.zip(hosts).map(|(project, host)| {
            detachment::resume_all(host.sessions(), detachment::notes_of(&project.place))
        });
        resumed.collect()
    }

    async fn stop(self) {
        self.first.stop().await;
        for other in self.others {
            other.stop().await;
        }
    }
}

/// Prints the notices of channels, line by line, until all of them have ended. It has a thread of its own, because a
/// reader of the output that stops reading must not block anything else.
fn tell(
    mut heard: mpsc::Receiver<ChannelNotice>,
    as_json: bool,
    projects: Vec<PathBuf>,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, told) = oneshot::channel();
    let print = move || {
        while let Some(notice) = heard.blocking_recv() {
            // The output may have been closed.
            let _ = if as_json {
                say_json(&as_event(notice, &projects))
            } else {
                say(in_words(notice, &projects))
            };
        }
        let _ = done.send(());
    };
    std::thread::Builder::new().name("notices".into()).spawn(print)?;
    Ok(told)
}

fn as_event(notice: ChannelNotice, projects: &[PathBuf]) -> Value {
    match notice {
        ChannelNotice::Serving { channel, name } => {
            let project = projects.first();
            json!({ "event": "serving", "channel": channel, "name": name, "project": project, "projects": projects })
        }
        ChannelNotice::Invitation { channel, link, .. } => {
            json!({ "event": "invitation", "channel": channel, "link": link })
        }
        ChannelNotice::Message { channel, message } => {
            json!({ "event": "notice", "channel": channel, "message": message })
        }
        ChannelNotice::LeftOut { project, message } => {
            json!({ "event": "left_out", "project": project, "message": message })
        }
        ChannelNotice::Dropped { count } => json!({ "event": "dropped", "count": count }),
    }
}

fn in_words(notice: ChannelNotice, projects: &[PathBuf]) -> String {
    match notice {
        ChannelNotice::Serving { name, .. } => {
            let projects = projects.iter().map(|project| terminal_text::line(&project.display().to_string()));
            let (name, projects) = (terminal_text::line(&name), projects.collect::<Vec<_>>().join(" and "));
            format!("Serving {name} for {projects}. Stop with Ctrl-C; nothing is lost.")
        }
        ChannelNotice::Invitation { link, picture, .. } => {
            let picture =
                picture.iter().map(|line| format!("{}\n", terminal_text::line(line))).collect::<String>();
            format!("{picture}Open it within 15 minutes, on one device: {}", terminal_text::line(&link))
        }
        ChannelNotice::Message { message, .. } => terminal_text::line(&message),
        ChannelNotice::LeftOut { project, message } => {
            let (project, message) = (terminal_text::line(&project), terminal_text::line(&message));
            format!(
                "The sessions of {project} are left out: {message}. The others are served; restart this once that is fixed."
            )
        }
        ChannelNotice::Dropped { count } => {
            format!("{count} messages were dropped, because nothing read them.")
        }
    }
}
