//! `rapport doctor`: checks what is installed, what is missing, and how to get it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rapport_door::{ChannelKind, Diagnosis};
use serde::Serialize;

use super::leftovers::Leftovers;
use super::output::say_json;
use super::page::Page;
use super::workflow::seals;
use super::{Common, report, screen, sessions};
use crate::agents::Diagnosed;
use crate::channels::terminal::text::{Line, Tone};
use crate::cli::runtime;
use crate::config::{Layer, Settings};
use crate::engine::strays::{self, StraysError};
use crate::error::{Code, FIX_SETTINGS, Failure, Outcome};
use crate::wiring::{self, ROUNDS, SessionKind, Workspace};
use crate::workers::local::Directory;
use crate::workers::{StoredWorkplace, WorkerError, WorkerKind, WorkerKinds, WorkerSetup, git_too_old};

/// Check what Rapport needs, and say how to get what is missing
///
/// Ends with exit code 1 if something essential is missing: an agent that can ask, its login, the worker that is set, a
/// writable home, readable settings and sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport doctor
  rapport doctor --json | jq '.[] | select(.state != \"good\")'
  rapport doctor --report report.txt   what a bug report needs, without secrets")]
pub(super) struct Args {
    /// Write what a bug report needs, without secrets and without texts of people or agents, to a file or to standard
    /// output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    report: Option<PathBuf>,
}

/// The advice if no agent is found: how to use another one.
pub(super) const OTHER_AGENTS: &str = "or name another with agent.command in config.yaml,
or try the scripted one: rapport run --agent rehearsal \"add a greeting\"";

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    /// Rapport works without it, except for some features.
    Missing,
    /// Rapport does not work without it.
    Bad,
    /// Something that nothing needs.
    Unused,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    if let Some(file) = args.report {
        return report::write(common, &place, &file);
    }
    let programs = [settings(&place), agent(&place), git(&place)].into_iter();
    let (kinds, setup, chosen) = workers(&place);
    let workers = kinds.iter().filter_map(|kind| match kind.name() == chosen {
        true => chosen_worker(&place, kind, &setup),
        false => other_worker(kind),
    });
    let workers = workers.chain(strays(&place, &kinds, &setup));
    let rest = [home(&place), store(&place)].into_iter().chain(leftovers(&place)).chain([terminal()]);
    let checks: Vec<_> = programs.chain(workers).chain(rest).chain(channels(&place)).collect();
    if common.json {
        say_json(&checks)?;
    } else {
        let mut page = Page::new(common);
        checks.iter().for_each(|check| show(&mut page, check));
        page.print_paged()?;
    }
    let bad: Vec<_> =
        checks.iter().filter(|check| check.state == State::Bad).map(|check| check.name).collect();
    match bad.as_slice() {
        [] => Ok(()),
        bad => Err(Failure::new(Code::Trouble, format!("what needs fixing: {}", bad.join(", ")))),
    }
}

fn show(page: &mut Page, check: &Check) {
    let (mark, tone) = match check.state {
        State::Good => ("ok     ", Tone::Good),
        State::Missing => ("missing", Tone::Care),
        State::Bad => ("bad    ", Tone::Bad),
        State::Unused => ("unused ", Tone::Care),
    };
    let line = Line::new(tone, mark).and(Tone::Dim, &format!("  {:<9}  ", check.name));
    page.push(line.and(Tone::Text, &check.found).hanging(20));
    let advice = check.advice.iter().flat_map(|advice| advice.lines());
    advice.for_each(|line| page.push(Line::new(Tone::Text, line).indented(20)));
}

fn settings(place: &Workspace) -> Check {
    match place.settings(Layer::default()) {
        Ok(settings) => {
            let found = format!(
                "agent {}, hot {:#}, {} rounds",
                command(place, &settings),
                settings.hot,
                settings.max_rounds.unwrap_or(ROUNDS)
            );
            good("settings", found)
        }
        Err(failure) => bad("settings", failure.message, FIX_SETTINGS),
    }
}

/// The agent's CLI and git, in words.
pub(super) fn programs(place: &Workspace) -> [(&'static str, String); 2] {
    [agent(place), git(place)].map(|check| (check.name, check.found))
}

fn agent(place: &Workspace) -> Check {
    let Ok(settings) = place.settings(Layer::default()) else {
        return bad("agent", "not checked".into(), "Fix the settings first.");
    };
    let agent = match wiring::agent(place, &settings) {
        Ok(agent) => agent,
        Err(failure) => return bad("agent", failure.message, &failure.hints.join(" ")),
    };
    let Some(diagnosis) = agent.diagnosis() else { return good("agent", command(place, &settings)) };
    let Ok(runtime) = runtime() else { return no_runtime("agent") };
    match runtime.block_on(diagnosis.diagnose(&place.project)) {
        Diagnosed::Usable(found) => good("agent", found),
        Diagnosed::Broken(found) => bad("agent", found, "Look at its own message."),
        Diagnosed::LoggedOut { found, advice } | Diagnosed::CannotAsk { found, advice } => {
            bad("agent", found, &advice)
        }
        Diagnosed::Missing { found, advice } => bad("agent", found, &format!("{advice}\n{OTHER_AGENTS}")),
    }
}

/// The command that agents are run with.
fn command(place: &Workspace, settings: &Settings) -> String {
    place.agents.command(settings).map_or_else(|why| why, |agent| agent.command.join(" "))
}

fn git(place: &Workspace) -> Check {
    let version = Command::new("git").arg("--version").output();
    let Some(version) = version.ok().filter(|output| output.status.success()) else {
        return Check {
            name: "git",
            state: State::Missing,
            found: "no git on the PATH".into(),
            advice: Some("Install it to see what an agent changed.".into()),
        };
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    if let Some(error) = git_too_old(&version) {
        let advice =
            "Update it. Until then work cannot be kept in a worktree, and none can be applied.".into();
        return Check { name: "git", state: State::Missing, found: error.to_string(), advice: Some(advice) };
    }
    if Directory::at(&place.project).has_history() {
        return good("git", format!("{version}, in {}", place.project.display()));
    }
    Check {
        name: "git",
        state: State::Missing,
        found: format!("{version}, but {} is not in a git repository", place.project.display()),
        advice: Some("Make it one with `git init` to see what an agent changed.".into()),
    }
}

/// The kinds of workers, their setup, and the chosen one. Mistakes in the settings are reported elsewhere.
fn workers(place: &Workspace) -> (WorkerKinds, WorkerSetup, String) {
    let Ok(settings) = place.settings(Layer::default()) else {
        return (place.worker_kinds.clone(), WorkerSetup::default(), String::new());
    };
    let setup = place.worker_setup_of(&settings).unwrap_or_default();
    (settings.workers, setup, settings.worker)
}

/// Whether the chosen worker can be used here; nothing if it has no requirements.
fn chosen_worker(place: &Workspace, kind: &dyn WorkerKind, setup: &WorkerSetup) -> Option<Check> {
    let found = kind.diagnose().transpose();
    let checked = found.and_then(|found| kind.check(&place.project, setup).map(|()| found));
    match checked {
        Ok(found) => found.map(|found| good(kind.name(), found)),
        Err(none) => Some(bad(kind.name(), none.why, &none.advice.join("\n"))),
    }
}

/// The requirements of a worker that is not chosen, besides git, if it has any.
fn other_worker(kind: &dyn WorkerKind) -> Option<Check> {
    let name = kind.name();
    Some(match (kind.diagnose()?, kind.without()) {
        (Ok(found), _) => good(name, found),
        (Err(_), Some(said)) => good(name, said.to_owned()),
        (Err(none), None) => {
            let advice = format!("Only a run with the worker {name} needs it. {}", none.advice.join("\n"));
            Check { name, state: State::Missing, found: none.why, advice: Some(advice) }
        }
    })
}

/// Workplaces that no process looks after, if there are any.
fn strays(place: &Workspace, kinds: &WorkerKinds, setup: &WorkerSetup) -> Vec<Check> {
    const NAME: &str = "strays";
    let (workers, store) = (kinds.workers(setup), place.store_in(&SessionKind::Sessions));
    let Ok(runtime) = runtime::small() else { return Vec::new() };
    let found = match runtime.block_on(strays::strays(Arc::new(workers), &*store, &place.project)) {
        Ok(found) => found,
        // A worker that cannot be used is reported above.
        Err(StraysError::Worker(WorkerError::Unavailable { .. })) => return Vec::new(),
        Err(error) => {
            return vec![Check {
                name: NAME,
                state: State::Missing,
                found: format!("cannot look for places without a session: {error}"),
                advice: None,
            }];
        }
    };
    let check = |what: &str, strays: &[StoredWorkplace], advice: String| {
        let named: Vec<_> = strays.iter().map(|one| format!("{} {}", one.worker, one.name)).collect();
        let found = format!("{what}: {}", named.join(", "));
        (!named.is_empty()).then_some(Check {
            name: NAME,
            state: State::Missing,
            found,
            advice: Some(advice),
        })
    };
    let removals: Vec<_> = found.without_session.iter().map(|one| one.removal.as_str()).collect();
    let mut lost = format!("Look at what is in them, then remove them with\n{}", removals.join("\n"));
    let patches = found.without_session.iter().map(|one| strays::stray_patch(&place.home, one));
    for patch in patches.filter(|patch| patch.exists()) {
        lost = format!("{lost}\nWork from there is stored: git apply --3way {}", patch.display());
    }
    let resumed = found.without_host.iter().map(|one| format!("\nrapport resume {}", one.session));
    let left = format!(
        "The next command that runs sessions here stores the work in them and stops them, such as{}",
        resumed.collect::<String>()
    );
    let without_session = check("without a session", &found.without_session, lost);
    let without_host = check("running, and no command runs the session", &found.without_host, left);
    without_session.into_iter().chain(without_host).collect()
}

fn home(place: &Workspace) -> Check {
    match writable(&place.home) {
        Ok(()) => good("home", place.home.display().to_string()),
        Err(error) => {
            bad("home", format!("cannot write to {}: {error}", place.home.display()), "Set RAPPORT_HOME.")
        }
    }
}

fn store(place: &Workspace) -> Check {
    let found = match place.diagnose_store() {
        Diagnosis::Good(found) => found,
        Diagnosis::Bad { found, advice } => return bad("sessions", found, &advice),
    };
    let store = place.store();
    let all = store.list().unwrap_or_default();
    if let Some(failure) = all.iter().find_map(|id| sessions::view(&store, id).err()) {
        return bad("sessions", failure.message, &failure.hints.join(" "));
    }
    let folders = place.folders().unwrap_or_default();
    let broken = folders.iter().find_map(|folder| {
        let what = seals::broken_in(place, folder).ok()?.into_iter().next()?;
        Some((&folder.id, what))
    });
    match broken {
        Some((id, what)) => Check {
            name: "sessions",
            state: State::Missing,
            found: what,
            advice: Some(format!(
                "Restore it from version control, or accept it as it is now: rapport resume {id} --accept-changes"
            )),
        },
        None => good("sessions", found),
    }
}

/// What an interrupted branch left behind, if anything.
fn leftovers(place: &Workspace) -> Option<Check> {
    let left = Leftovers::find(place);
    if left.is_empty() {
        return None;
    }
    let count = |all: usize, one: &str, several: &str| match all {
        0 => None,
        1 => Some(format!("1 {one}")),
        several_of => Some(format!("{several_of} {several}")),
    };
    let worktrees = count(left.worktrees.len(), "worktree", "worktrees");
    let names = count(left.names.len(), "reserved name", "reserved names");
    let what: Vec<_> = worktrees.into_iter().chain(names).collect();
    let found = format!("{} that no session uses", what.join(" and "));
    let advice = format!(
        "A command that was interrupted while it created a branch or a session left that. If none runs now, remove it:\n{}",
        left.removal(place).join("\n")
    );
    Some(Check { name: "branches", state: State::Unused, found, advice: Some(advice) })
}

fn terminal() -> Check {
    let found = match (screen::is_interactive(), screen::is_terminal()) {
        (true, _) => "questions can be answered here",
        (false, true) => "questions can be answered here, line by line",
        (false, false) => "none; questions wait for `rapport answer`",
    };
    good("terminal", found.into())
}

/// The diagnoses of the channels.
fn channels(place: &Workspace) -> Vec<Check> {
    let setup = place.sources().and_then(|sources| {
        let settings = place.settings_of(&sources, Layer::default())?;
        Ok(place.channel_setup(&settings, Arc::new(sources)))
    });
    let check = |kind: &dyn ChannelKind| {
        let Ok(setup) = &setup else {
            return bad(kind.name(), "the settings cannot be read".into(), "Fix the settings first.");
        };
        let Ok(runtime) = runtime() else { return no_runtime(kind.name()) };
        match runtime.block_on(kind.diagnose(setup.clone())) {
            Diagnosis::Good(found) => good(kind.name(), found),
            Diagnosis::Bad { found, advice } => bad(kind.name(), found, &advice),
        }
    };
    place.channels.iter().map(check).collect()
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    runtime::small()
}

fn no_runtime(name: &'static str) -> Check {
    bad(name, "no runtime could be made".into(), "Look at the system's limits.")
}

fn writable(folder: &Path) -> std::io::Result<()> {
    rapport_durable::private_folder(folder)?;
    tempfile::tempfile_in(folder).map(drop)
}

fn good(name: &'static str, found: String) -> Check {
    Check { name, state: State::Good, found, advice: None }
}

fn bad(name: &'static str, found: String, advice: &str) -> Check {
    Check { name, state: State::Bad, found, advice: Some(advice.into()) }
}
