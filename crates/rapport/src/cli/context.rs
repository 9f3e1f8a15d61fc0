//! `rapport context`: selects the files that the agent is shown, in the three context files.

use std::path::{Component, Path, PathBuf};

use rapport_core::check::project_path;
use rapport_core::context::{Level, cascade, is_address, next_turn_context, rules};
use rapport_core::{Change, FileTurn, Sign};
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use super::workflow;
use crate::channels::terminal::terminal_text;
use crate::config::{self, Layer, Settings};
use crate::error::{Code, Failure, Outcome};
use crate::projects::files::{replace, text};
use crate::projects::gathering::gather;
use crate::stores::blocking::wait;
use crate::turns::{Folder, SESSION_CONTEXT, TURN_CONTEXT};
use crate::wiring::Workspace;

/// Select the files that the agent is shown: add, remove, or show them
///
/// A path, a directory, a pattern (src/**/*.rs) or an address. They are for every turn of a session, unless --global or
/// --turn is given; a later level can remove what an earlier one adds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport context add README.md src/auth
  rapport context remove src/auth/old.rs
  rapport context show                 what is shown, and how much that is

docs/formats/context.md describes the files that say so.")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show these too
    Add(Named),
    /// Do not show these
    Remove(Named),
    /// List the files that the next turn is shown
    Show(Whose),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// Files, directories, patterns or addresses
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// In every session of the project
    #[arg(long, conflicts_with_all = ["session", "turn"])]
    global: bool,
    /// Only in the turn that is planned next, if its directory exists (a branch)
    #[arg(long)]
    turn: bool,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, clap::Args)]
struct Whose {
    /// The session (default: the one around the current directory, else the only one that fits)
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    match args.what {
        What::Add(named) => change(common, &place, &named, Sign::Add),
        What::Remove(named) => change(common, &place, &named, Sign::Remove),
        What::Show(whose) => show(common, &place, &folder(&place, &whose)?),
    }
}

fn folder(place: &Workspace, whose: &Whose) -> Result<Folder, Failure> {
    workflow::find(place, whose.session.as_deref(), "rapport context show --session SESSION")
}

fn change(common: &Common, place: &Workspace, named: &Named, sign: Sign) -> Outcome {
    let paths: Vec<_> = named.paths.iter().map(|path| inside(place, path)).collect::<Result<_, _>>()?;
    if sign == Sign::Add {
        paths.iter().try_for_each(|path| check_there(place, path))?;
    }
    let rules = rules_of(place, named)?;
    let before = rules.read()?;
    let changes: Vec<_> =
        paths.iter().map(|path| Change { sign, what: path.clone(), comment: None, line: 0 }).collect();
    let after = next_turn_context(&before, &changes);
    if after != before {
        rules.write(after)?;
    }
    if common.json {
        let key = match sign {
            Sign::Add => "added",
            Sign::Remove => "removed",
        };
        return say_json(&json!({ "file": rules.place(), key: paths }));
    }
    let (mark, then) = match sign {
        Sign::Add => ("+", "From the next turn on they are shown."),
        Sign::Remove => ("-", "From the next turn on they are not shown."),
    };
    paths.iter().try_for_each(|path| say(format_args!("{mark} {}", terminal_text::line(path))))?;
    say(format_args!("{then} It is in {}", terminal_text::line(&rules.place())))
}

/// The paths to show, where they are written.
enum Rules {
    /// In a file of the project.
    Global(PathBuf),
    /// In a document of a session.
    Document(Folder, String),
}

impl Rules {
    fn read(&self) -> Result<String, Failure> {
        let text = match self {
            Self::Global(path) => text(path)?,
            Self::Document(folder, name) => wait(folder.text(name))?,
        };
        Ok(text.unwrap_or_default())
    }

    fn write(&self, text: String) -> Outcome {
        match self {
            Self::Global(path) => Ok(replace(path, text.as_bytes())?),
            Self::Document(folder, name) => Ok(wait(folder.write(name, text.into_bytes()))?),
        }
    }

    /// Where they are, in words for a person.
    fn place(&self) -> String {
        match self {
            Self::Global(path) => path.display().to_string(),
            Self::Document(folder, name) => folder.place(name),
        }
    }
}

/// The rules to change.
fn rules_of(place: &Workspace, named: &Named) -> Result<Rules, Failure> {
    if named.global {
        return Ok(Rules::Global(config::global_context(&place.project)));
    }
    let folder = folder(place, &named.whose)?;
    if !named.turn {
        return Ok(Rules::Document(folder, SESSION_CONTEXT.to_owned()));
    }
    let session = workflow::state(place, &folder)?;
    match session.latest_turn().filter(|turn| turn.is_unplanned()) {
        Some(turn) => Ok(Rules::Document(folder, format!("{}/{TURN_CONTEXT}", turn.folder))),
        None => Err(Failure::new(Code::Refused, "no turn waits to be planned")
            .hint("Without --turn it is for every turn of the session, from the next on.")
            .hint("Another try of a turn has its own: rapport branch TURN")),
    }
}

/// An argument as a path from the project's root.
fn inside(place: &Workspace, typed: &str) -> Result<String, Failure> {
    if is_address(typed) {
        return Ok(typed.to_owned());
    }
    let refused = |why: String| {
        Err(Failure::new(Code::Usage, terminal_text::line(&why))
            .hint("Name files of the project, or patterns such as src/**/*.rs"))
    };
    let path = plain(&std::env::current_dir()?.join(typed));
    let root = plain(&place.project);
    let Some(path) = path.strip_prefix(&root).ok().and_then(Path::to_str) else {
        return refused(format!("{typed} is not in the project"));
    };
    if path.starts_with('-') || path.starts_with('#') {
        return Ok(format!("./{path}"));
    }
    match project_path(path) {
        Ok(path) => Ok(path),
        Err(fault) => refused(fault.what(typed)),
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
        plain
    })
}

/// A file that does not exist is probably a typo; a pattern may be for later.
fn check_there(place: &Workspace, path: &str) -> Outcome {
    let is_pattern = is_address(path) || path.contains(['*', '?', '[']);
    if is_pattern || place.project.join(path).exists() {
        return Ok(());
    }
    Err(Failure::new(Code::NotFound, format!("{} does not exist", terminal_text::line(path)))
        .hint("Name existing files, or a pattern such as src/**/*.rs"))
}

/// The rules of the turn that is planned next: those of a turn that waits for that, or what follows from the last one.
async fn of_next_turn(place: &Workspace, settings: &Settings, folder: &Folder) -> Result<String, Failure> {
    let Some(latest) = folder.latest().await? else { return Ok(String::new()) };
    let (session, _) = workflow::read_state(place, folder).await?;
    let preparation = workflow::preparation(place, settings, folder, &session).await?;
    let base = match session.latest_turn().is_some_and(FileTurn::is_unplanned) {
        true => preparation.base_of(&session, &latest).await?,
        false => preparation.base_after(&session, Some(&latest)).await?,
    };
    Ok(base.context)
}

fn show(common: &Common, place: &Workspace, folder: &Folder) -> Outcome {
    let settings = place.settings(Layer::default())?;
    let turn = wait(of_next_turn(place, &settings, folder))?;
    let levels = [
        ("global", Level::Global, text(&config::global_context(&place.project))?.unwrap_or_default()),
        ("session", Level::Session, wait(folder.text(SESSION_CONTEXT))?.unwrap_or_default()),
        ("turn", Level::Turn, turn),
    ];
    let [(_, _, global), (_, _, of_session), (_, _, of_turn)] = &levels;
    let files = place.files_of(&folder.id, workflow::state(place, folder)?.created())?;
    let shown = gather(&files, &cascade(global, of_session, of_turn), settings.max_file_bytes)?.files;
    let tokens: usize = shown.iter().map(|file| file.tokens).sum();
    if common.json {
        let named = |(name, level, text): &(&str, Level, String)| {
            let rules = rules(text, *level).into_iter().map(|rule| match rule.sign {
                Sign::Add => rule.pattern,
                Sign::Remove => format!("-{}", rule.pattern),
            });
            ((*name).to_owned(), json!(rules.collect::<Vec<_>>()))
        };
        let levels: serde_json::Map<_, _> = levels.iter().map(named).collect();
        let files: Vec<_> =
            shown.iter().map(|file| json!({ "path": file.path, "tokens": file.tokens })).collect();
        return say_json(
            &json!({ "session": folder.id, "levels": levels, "files": files, "tokens": tokens }),
        );
    }
    for (name, level, text) in &levels {
        for rule in rules(text, *level) {
            let sign = match rule.sign {
                Sign::Add => '+',
                Sign::Remove => '-',
            };
            say(format_args!("{name:<8} {sign} {}", terminal_text::line(&rule.pattern)))?;
        }
    }
    for file in &shown {
        let why = file.unshown.as_ref().map(|why| format!(" (not shown: {why})")).unwrap_or_default();
        say(format_args!("{:>8}  {}", file.tokens, terminal_text::line(&format!("{}{why}", file.path))))?;
    }
    match shown.is_empty() {
        true => say("No file is shown. Add some with: rapport context add PATH"),
        false => say(format_args!("{tokens:>8}  tokens in all")),
    }
}
