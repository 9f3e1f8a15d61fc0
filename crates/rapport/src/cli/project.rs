//! `rapport project`: what Rapport knows about projects, and what it keeps in mind for them.

use std::path::PathBuf;

use rapport_core::{Learning, LearningKind, PastSession};
use rapport_door::{ContextUpdate, KnownProject, LoadedProject, ProjectReply, Projects as _};
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use super::workflow::prompts;
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::engine::socket::person_here;
use crate::error::{Code, Failure, Outcome};
use crate::projects::known_projects::KnownProjects;
use crate::wiring::{Workspace, refuse_agents};

/// Show what is known about a project: explore it, and say what to keep in mind there
///
/// Exploring reads the project's own files and its git history, runs none of its programs, and writes what it found
/// to projects/NAME/context.yaml in Rapport's home. You may edit that file: what you change is kept. Leads are told
/// what is in it before they start an agent. What you answered in sessions is proposed to be kept in mind, and holds
/// once you say so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport project explore              look at the project here
  rapport project show shop            what is known about it
  rapport project add shop ~/shop      make it known by a name
  rapport project learn \"Use pnpm\"     keep this in mind
  rapport project learn                decide about what was proposed
  rapport project forget \"Use pnpm\"    no longer

docs/formats/project.md describes the files.")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the known projects
    List,
    /// Show what is known about a project, and whether it still holds
    Show(Which),
    /// Read a project's files and history, and write down what they tell
    Explore(Which),
    /// Keep something in mind for a project; without words, decide about what was proposed
    Learn(Learn),
    /// Forget something that was kept in mind, or decline what was proposed
    Forget(Forget),
    /// Make a directory known by a name, or say where a project moved
    Add {
        /// Its name: letters, digits, hyphens, underscores and dots
        name: String,
        /// Its directory (default: the project around the current directory)
        dir: Option<PathBuf>,
    },
    /// Forget a project with all that is known about it; its directory stays as it is
    Remove {
        /// Its name
        name: String,
        /// Also if there are learnings, which are lost
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The project, by its name or its directory (default: the one around the current directory)
    #[arg(value_name = "PROJECT")]
    named: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Learn {
    /// What to keep in mind, or the id of what was proposed
    #[arg(value_name = "TEXT|ID")]
    words: Vec<String>,
    /// It is how things are done there, and not what you prefer
    #[arg(long)]
    convention: bool,
    #[command(flatten)]
    of: Of,
}

#[derive(Debug, clap::Args)]
struct Forget {
    /// The id of what to forget, or its text
    #[arg(value_name = "ID|TEXT", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    of: Of,
}

#[derive(Debug, clap::Args)]
struct Of {
    /// The project, by its name or its directory (default: the one around the current directory)
    #[arg(long = "of", value_name = "PROJECT")]
    named: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let known = place.projects();
    match args.what {
        What::List => list(common, &known),
        What::Show(which) => {
            let loaded = done(known.load(&named(&place, which.named.as_deref())?))?;
            show(common, &loaded)
        }
        What::Explore(which) => explore(common, &known, &named(&place, which.named.as_deref())?),
        What::Learn(learn) => {
            let project = named(&place, learn.of.named.as_deref())?;
            self::learn(common, &known, &project, &learn)
        }
        What::Forget(forget) => {
            refuse_agents()?;
            let project = named(&place, forget.of.named.as_deref())?;
            let loaded = done(known.forget(&project, &person_here(), &forget.words.join(" ")))?;
            print_loaded(common, &loaded, "It is forgotten, and not proposed again.")
        }
        What::Add { name, dir } => {
            refuse_agents()?;
            let dir = dir.unwrap_or_else(|| place.project.clone());
            let Some(dir) = dir.to_str() else { return Err(super::not_text("this path")) };
            let loaded = done(known.register(&name, dir, &person_here()))?;
            let path = terminal_text::line(&loaded.context.path);
            print_loaded(common, &loaded, &format!("{name} is the project in {path}."))
        }
        What::Remove { name, yes } => remove(common, &known, &name, yes),
    }
}

/// Explores a project, and shows what is known about it then.
pub(super) fn explore(common: &Common, known: &KnownProjects, project: &str) -> Outcome {
    show(common, &done(known.explore(project))?)
}

/// Waits for a reply about projects.
pub(super) fn done<T>(reply: ProjectReply<'_, T>) -> Result<T, Failure> {
    let runtime = runtime::small()?;
    Ok(runtime.block_on(reply)?)
}

/// The project that is meant: a name, or a directory as the person sees it from here.
pub(super) fn named(place: &Workspace, given: Option<&str>) -> Result<String, Failure> {
    let Some(given) = given else {
        let path = place.project.to_str().map(str::to_owned);
        return path.ok_or_else(|| super::not_text("this path"));
    };
    let is_path = given.contains('/') || given == "." || given == "..";
    if !is_path {
        return Ok(given.to_owned());
    }
    let found = std::path::Path::new(given).canonicalize().map_err(|error| {
        Failure::new(Code::NotFound, format!("cannot use {given} as the project: {error}"))
            .hint("See what there is with: rapport project list")
    })?;
    found.to_str().map(str::to_owned).ok_or_else(|| super::not_text("this path"))
}

fn list(common: &Common, known: &KnownProjects) -> Outcome {
    let all = done(known.list())?;
    if common.json {
        return say_json(&all);
    }
    if all.is_empty() {
        return say("No project is known yet. Look at the one here with: rapport project explore");
    }
    all.iter().try_for_each(|one| say(in_a_line(one)))
}

fn in_a_line(one: &KnownProject) -> String {
    let name = terminal_text::line(&one.name);
    if let Some(problem) = &one.problem {
        return format!("{name}  cannot be read: {}", terminal_text::line(problem));
    }
    let kind = one.kind.as_ref().map(|kind| format!("  {}", terminal_text::line(kind))).unwrap_or_default();
    let state = match (one.is_missing, &one.stale) {
        (true, _) => "  (its directory is gone)".to_owned(),
        (false, Some(stale)) => format!("  ({})", terminal_text::line(&stale.to_string())),
        (false, None) => String::new(),
    };
    format!("{name}  {}{kind}{state}", terminal_text::line(&one.path))
}

fn show(common: &Common, loaded: &LoadedProject) -> Outcome {
    if common.json {
        return say_json(loaded);
    }
    let context = &loaded.context;
    for line in context.bullets() {
        say(terminal_text::line(&line))?;
    }
    if let Some((name, text)) = context.instructions() {
        say(format_args!("{name} begins: {}", terminal_text::line(text.lines().next().unwrap_or_default())))?;
    }
    let learned = context.preferences.iter().chain(&context.conventions).filter(|one| one.since.is_some());
    section("Learned, and kept in mind", learned.map(with_origin))?;
    section("Proposed; decide with: rapport project learn", context.proposed.iter().map(with_origin))?;
    section("Latest sessions", loaded.recent_sessions.iter().map(past))?;
    for remark in &loaded.remarks {
        say(format_args!("Note: {}", terminal_text::line(remark)))?;
    }
    let name = &context.name;
    match (&loaded.stale, loaded.is_missing) {
        (_, true) => say(format_args!(
            "Its directory is gone. If it moved, say where it is: rapport project add {name} DIR"
        )),
        (Some(stale), false) => say(format_args!(
            "This may no longer hold: {}. Look again with: rapport project explore {name}",
            terminal_text::line(&stale.to_string())
        )),
        (None, false) => Ok(()),
    }
}

fn section(title: &str, lines: impl Iterator<Item = String>) -> Outcome {
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    say(format_args!("{title}"))?;
    lines.iter().try_for_each(|line| say(format_args!("  {line}")))
}

/// A learning with its id, and where it came from.
fn with_origin(learning: &Learning) -> String {
    let from =
        learning.from.as_ref().map(|from| format!(" from {}", terminal_text::line(from))).unwrap_or_default();
    let by = learning.by.as_ref().map(|by| format!(" by {}", terminal_text::line(by))).unwrap_or_default();
    let origin = format!("{from}{by}");
    let origin = if origin.is_empty() { origin } else { format!(" ({})", origin.trim_start()) };
    format!("{}  {}{origin}", learning.id, terminal_text::line(&learning.text))
}

fn past(past: &PastSession) -> String {
    format!("{}  {}  {}", past.session, past.outcome.word(), terminal_text::line(&past.task))
}

/// Keeps something in mind: the person's own words, or what was proposed.
fn learn(common: &Common, known: &KnownProjects, project: &str, learn: &Learn) -> Outcome {
    if learn.words.is_empty() {
        return decide(common, known, project);
    }
    let words = learn.words.join(" ");
    refuse_agents()?;
    let person = person_here();
    let proposed = done(known.load(project))?.context.proposed;
    let loaded = match proposed.iter().find(|one| one.id == words) {
        Some(proposal) => done(known.learn(project, &person, &proposal.id))?,
        None => {
            let kind = if learn.convention { LearningKind::Convention } else { LearningKind::Preference };
            let update = ContextUpdate { learnings: vec![(kind, words)], from: None };
            done(known.update(project, &person, &update))?
        }
    };
    print_loaded(common, &loaded, "It is kept in mind: agents that a lead starts there are told.")
}

/// Shows the proposals, and asks about each if there is a terminal.
fn decide(common: &Common, known: &KnownProjects, project: &str) -> Outcome {
    let mut proposed = done(known.load(project))?.context.proposed;
    if common.json {
        return say_json(&proposed);
    }
    if proposed.is_empty() {
        return say("Nothing was proposed.");
    }
    if !prompts::is_possible(common) || refuse_agents().is_err() {
        proposed.iter().try_for_each(|one| say(with_origin(one)))?;
        return say("Keep one in mind with: rapport project learn ID");
    }
    let person = person_here();
    for proposal in proposed.drain(..) {
        say(with_origin(&proposal))?;
        match prompts::decision("Keep this in mind?")? {
            Some(true) => drop(done(known.learn(project, &person, &proposal.id))?),
            Some(false) => drop(done(known.forget(project, &person, &proposal.id))?),
            // The rest waits.
            None => return say("There was no answer, so it still waits."),
        }
    }
    Ok(())
}

fn remove(common: &Common, known: &KnownProjects, name: &str, yes: bool) -> Outcome {
    refuse_agents()?;
    // A context that cannot be read can be removed as well.
    let loaded = done(known.load(name)).ok();
    let learned =
        loaded.iter().flat_map(|loaded| loaded.context.preferences.iter().chain(&loaded.context.conventions));
    let learned = learned.filter(|one| one.since.is_some()).count();
    if learned > 0 && !yes {
        let what = format!("{learned} learnings of {name} would be lost");
        return Err(Failure::new(Code::Refused, what)
            .hint(format!("See them with: rapport project show {name}"))
            .hint(format!("If that is what you want: rapport project remove --yes {name}")));
    }
    done(known.unregister(name, &person_here()))?;
    if common.json {
        return say_json(&json!({ "removed": name }));
    }
    say(format_args!("{} is forgotten. Its directory stays as it is.", terminal_text::line(name)))
}

fn print_loaded(common: &Common, loaded: &LoadedProject, words: &str) -> Outcome {
    if common.json { say_json(loaded) } else { say(words) }
}
