//! `rapport demo`: the whole story, embedded. It needs no account, key, network, server or terminal.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rapport_core::{Aim, OpenQuestion, Purpose, Reply, View};
use serde_json::json;

use super::output::{say, say_json};
use super::page::Page;
use super::screen::{self, Answering, StopSignal};
use super::{Common, diff, follower, host, sessions};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::config::{AgentLayer, Layer};
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::wiring::Workspace;
use crate::workers::local::Directory;

const TASK: &str = "add a greeting";

/// See the whole story with a scripted agent: no account, no key, no network
///
/// Plays a scenario in a temporary git repository: a task, questions, a plan, a confirmation, an agent that really
/// edits files and asks once more in the middle, and a report. You answer if there is a terminal; else the demo
/// answers itself and says so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport demo                            answer as you like
  rapport demo --auto --keep              watch it, keep the repository
  rapport demo --scenario story.yaml      play a story of your own")]
pub(super) struct Args {
    /// Play this scenario instead (docs/formats/scenario.md)
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Keep the repository afterwards
    #[arg(long)]
    keep: bool,
    /// Let the demo answer, even though there is a terminal
    #[arg(long)]
    auto: bool,
    /// The task to show
    #[arg(default_value = TASK)]
    task: String,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let agent = command(args.scenario.as_deref())?;
    let folder = tempfile::Builder::new().prefix("rapport-demo-").tempdir()?;
    let place = Workspace::new(folder.path().join("home"), folder.path().join("app"));
    repository(&place.project)?;
    let answering = if screen::is_terminal() && !args.auto && !common.json {
        Answering::Person
    } else {
        Answering::Rule { name: "demo", pick }
    };
    if !common.json {
        introduce(&place.project, &answering)?;
    }
    let outcome = play(common, &place, agent, &args.task, answering);
    let is_unread = outcome.as_ref().is_err_and(|failure| failure.code == Code::Quiet);
    if is_unread && !args.keep {
        // The output was closed, so the person would not learn that something was kept.
        return outcome;
    }
    let is_kept = args.keep || outcome.is_err();
    if is_kept {
        let _ = folder.keep();
        // If that fails, `rapport trust` reports it later.
        let _ = hand_over(common, &place.project);
    }
    let project = place.project.display();
    match (common.json, is_kept) {
        (true, false) => {}
        (true, true) => say_json(&json!({ "kept": place.project }))?,
        (false, true) => say(format_args!("\nKept in {project}"))?,
        (false, false) => {
            say("\nAll of this was in a temporary repository and is gone now; --keep keeps it.")?;
        }
    }
    outcome.map_err(|failure| match failure.code {
        // A session of the demo cannot be resumed from here, only shown.
        Code::Agent | Code::Cancelled | Code::Interrupted => Failure {
            hints: vec![format!(
                "Look at it with: rapport status --project {}",
                screen::word(&project.to_string())
            )],
            ..failure
        },
        _ => failure,
    })
}

/// Makes a kept repository the person's own: the demo signed it with its own key.
fn hand_over(common: &Common, project: &Path) -> Outcome {
    let theirs = Workspace::find(&Common { project: Some(project.to_owned()), ..common.clone() })?;
    let store = theirs.store();
    for id in store.list()? {
        store.trust(Arc::new(store.look(&id)?))?;
    }
    Ok(())
}

fn play(common: &Common, place: &Workspace, agent: String, task: &str, answering: Answering) -> Outcome {
    // The person is not in the demo's repository, so hints have to name it.
    let common = &Common { project: Some(place.project.clone()), ..common.clone() };
    let settings = place.settings(Layer {
        agent: AgentLayer { command: Some(agent), ..AgentLayer::default() },
        ..Layer::default()
    })?;
    let runtime = runtime::of_two_threads()?;
    let id = runtime.block_on(async {
        let stop = StopSignal::listen()?;
        let host = host::start(place, &settings).await?;
        let sessions = host.sessions();
        let story = async {
            let id = sessions.create(place.session(task.to_owned(), Aim::Work, &settings)?, None).await?;
            if common.json {
                follower::as_json(common, &sessions, &id, &answering, 0, stop).await?;
            } else {
                screen::show(common, &sessions, &id, answering, stop).await?;
            }
            Ok::<_, Failure>(id)
        };
        let outcome = story.await;
        host.stop().await;
        outcome
    })?;
    if common.json {
        return Ok(());
    }
    let store = place.store();
    conclude(common, &store, place, &sessions::view(&store, &id)?)
}

/// Ends with the diff, the plan, the log, and where they are.
fn conclude(common: &Common, store: &BlockingStore, place: &Workspace, view: &View) -> Outcome {
    let baseline =
        store.read(&view.id, 0)?.into_iter().flat_map(|entry| entry.facts).find_map(|fact| match fact {
            rapport_core::Event::Baselined { baseline, .. } => baseline,
            _ => None,
        });
    let result = view.changes.as_ref().and_then(|changes| changes.result.clone());
    if let (Some(from), Some(to)) = (baseline, result) {
        let diff = Directory::at(&place.project)
            .diff(&from, &to)
            .map_err(|error| Failure::new(Code::Trouble, error.to_string()))?;
        say("\nThe diff it made:\n")?;
        let mut page = Page::new(common);
        diff::lines(&diff).for_each(|line| page.push(line.indented(2)));
        page.print()?;
    }
    if let Some(path) = view.plan.as_ref().and_then(|plan| plan.path.as_ref()) {
        let path = place.project.join(path);
        say(format_args!("\nThe plan, {}:\n", path.display()))?;
        let plan = std::fs::read_to_string(&path)?;
        plan.lines().try_for_each(|line| say(format_args!("  {}", terminal_text::line(line))))?;
    }
    let facts = store.read(&view.id, 0)?;
    say(format_args!("\nThe log, {} entries in {}/log.jsonl", facts.len(), store.whereabouts(&view.id)))
}

fn introduce(project: &Path, answering: &Answering) -> Outcome {
    say("This is Rapport with a scripted agent, in a temporary git repository:")?;
    say(format_args!("  {}", project.display()))?;
    match answering {
        Answering::Person => say("You are asked; answer as you like.\n"),
        Answering::Rule { .. } => {
            say("There is nobody to ask here, so the demo answers itself, and says so.\n")
        }
    }
}

/// The demo's answers: sensible ones, without pretending to be a person.
fn pick(question: &OpenQuestion) -> Reply {
    match (&question.purpose, question.options.len()) {
        (Purpose::Clarify, 0) => Reply::Text("as you think best".into()),
        (Purpose::Clarify, options) if question.multi => Reply::Choices((0..options.min(2)).collect()),
        (
            Purpose::Clarify
            | Purpose::Elicit(_)
            | Purpose::Permission { .. }
            | Purpose::LeavePlanMode { .. }
            | Purpose::Confirm
            | Purpose::Budget { .. }
            | Purpose::Idle,
            _,
        ) => Reply::Choices(vec![0]),
    }
}

fn command(scenario: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = scenario else { return Ok("rehearsal".into()) };
    let path = path.canonicalize().map_err(|error| {
        Failure::new(Code::Usage, format!("cannot read the scenario {}: {error}", path.display()))
    })?;
    match path.to_str() {
        Some(path) if !path.contains('"') => Ok(format!("rehearsal --scenario \"{path}\"")),
        _ => Err(Failure::new(Code::Usage, format!("the path {} cannot be used", path.display()))),
    }
}

/// A small repository with one commit, made without the user's own settings.
fn repository(project: &Path) -> Result<(), Failure> {
    rapport_durable::folder(project)?;
    rapport_durable::replace(&project.join("README.md"), b"# A small app\n\nIt does nothing yet.\n")?;
    rapport_durable::replace(&project.join(".gitignore"), b".rapport/\n")?;
    let identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &["commit", "--quiet", "-m", "An app"],
    ];
    for step in steps {
        let git = Command::new("git").args(identity).args(step).current_dir(project).output();
        let failed = match git {
            Ok(output) if output.status.success() => continue,
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(Failure::new(Code::Trouble, format!("cannot make a git repository: {failed}"))
            .hint("The demo shows what changed with git; install it first."));
    }
    Ok(())
}
