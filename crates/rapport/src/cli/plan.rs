//! `rapport plan`: from an idea to a plan in a file, or to the next turn of a session of files (`plan_turn.rs`).

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;
use rapport_core::{Aim, Asking, Existing, PlanMode, ProgressAim};

use super::agent_flags::AgentFlags;
use super::plan_turn::{self, Planning, UnderWay};
use super::run::{self, Start};
use super::workflow::Where;
use super::workflow::plan::Consent;
use super::workflow::seals::Changed;
use super::{Common, text, trust, typed_lines};
use crate::error::{Code, Failure, Outcome};
use crate::projects::stack;
use crate::wiring::Workspace;

/// Make a plan: the next turn of a session, or from an idea, in a file
///
/// With -m, the agent is shown the files that the session's contexts select, and proposes a plan of actions: nothing is
/// done before you approve it with `rapport resume`.
///
/// With --as progress, the agent explores the project and writes a progress file: phases of tasks to tick off, with
/// their tests. It makes assumptions and lists them; with --adaptive it asks for critical missing facts, and you answer
/// here or from anywhere with `rapport answer`. You can stop it at any moment, or even kill it; `rapport resume`
/// resumes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport plan -m \"Add a login page\"               the next turn
  rapport plan -m \"Add a login page\" --dry-run     what it would be shown
  rapport plan -m                                  write the message in $EDITOR
  git log -1 --format=%B | rapport plan -m -       or pipe it in

  rapport plan \"a todo app\" --as progress          it assumes what is not said
  rapport plan idea.md --as progress --adaptive    it may ask first
  rapport plan idea.md --as progress --mode gsd    backwards from the goal
  rapport plan idea.md --as progress --out docs/progress.md
  rapport plan idea.md --as progress --force       replace an existing file
  git log -1 --format=%B | rapport plan - --as progress

docs/files.md tells of turns, docs/formats/progress.md of progress files.")]
pub(super) struct Args {
    /// The idea: a file if one of that name exists, else these words; "-" reads it from standard input
    #[arg(value_name = "IDEA")]
    idea: Vec<OsString>,
    /// The message for the next turn of a session; "-" reads it from standard input, an empty one opens an editor
    #[arg(long, short, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["idea", "kind", "mode", "out", "force"])]
    message: Option<String>,
    /// The form of a plan from an idea
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// Let the agent ask for critical facts that are missing
    #[arg(long)]
    adaptive: bool,
    /// How the agent plans
    #[arg(long, value_enum, default_value = "basic", value_name = "MODE")]
    mode: Mode,
    /// Where the file goes, within the project
    #[arg(long, short, value_name = "FILE", default_value = "progress.md")]
    out: PathBuf,
    /// Replace an existing file; sections that are not part of the format are kept, at the end
    #[arg(long)]
    force: bool,
    /// Show what the agent would be shown, and send nothing
    #[arg(long, requires = "message")]
    dry_run: bool,
    /// Have an invalid plan made again, without asking
    #[arg(long, requires = "message")]
    replan: bool,
    /// Build on finished turns even if their files were changed
    #[arg(long, requires = "message")]
    accept_changes: bool,
    /// Abandon the plan that is being made, and plan this instead
    #[arg(long, requires = "message")]
    instead: bool,
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    agent: AgentFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A progress file: phases of tasks to tick off
    Progress,
}

/// How the agent plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Phases of tasks
    Basic,
    /// Backwards from what has to be true in the end, with must-haves and checks
    Gsd,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    if let Some(message) = &args.message {
        let planning = Planning {
            message,
            asking: asking(&args),
            consent: if args.replan { Consent::Given } else { Consent::Ask },
            changed: Changed::from_flag(args.accept_changes),
            under_way: if args.instead { UnderWay::Leave } else { UnderWay::GoOn },
            at: &args.at,
            agent: &args.agent,
        };
        let plan = if args.dry_run { plan_turn::dry_run } else { plan_turn::execute };
        return plan(common, &planning);
    }
    if args.at.session.is_some() || args.at.turn.is_some() {
        return Err(Failure::new(Code::Usage, "--session and --turn are about sessions of files")
            .hint("Say what the next turn is about: rapport plan -m MESSAGE"));
    }
    if args.idea.is_empty() || args.kind.is_none() {
        let what = match args.idea.is_empty() {
            true => "nothing to plan: pass an idea or -m MESSAGE",
            false => "the kind of plan is missing: pass --as progress, or -m MESSAGE for a turn",
        };
        return Err(Failure::new(Code::Usage, what)
            .hint("The next turn of a session of files: rapport plan -m \"add a login page\"")
            .hint("An idea in a file of phases and tasks: rapport plan \"a todo app\" --as progress"));
    }
    let place = Workspace::find(common)?;
    trust::ask_once(common, &place)?;
    let settings = place.settings(args.agent.layer())?;
    let aim = Aim::Progress(aim(&args, &place)?);
    let created = place.session(idea(&args)?, aim, &settings)?;
    run::host(common, &place, &settings, Start::New(Box::new(created)))
}

fn aim(args: &Args, place: &Workspace) -> Result<ProgressAim, Failure> {
    let path = within(&place.project, &std::env::current_dir()?, &args.out)?;
    let existing = if args.force { Existing::KeepSections } else { Existing::Refuse };
    let there = place.project.join(&path);
    if there.is_dir() {
        return Err(Failure::new(Code::Usage, format!("{} is a directory", there.display())));
    }
    if existing == Existing::Refuse && there.symlink_metadata().is_ok() {
        return Err(Failure::new(
            Code::Refused,
            format!("{} already exists and is not changed", there.display()),
        )
        .hint("Replace it (sections that are not part of the format are kept): --force")
        .hint("Or write another file: --out FILE"));
    }
    Ok(ProgressAim {
        path,
        asking: asking(args),
        mode: match args.mode {
            Mode::Basic => PlanMode::Basic,
            Mode::Gsd => PlanMode::Gsd,
        },
        existing,
        stack: stack::detect(&place.project),
    })
}

fn asking(args: &Args) -> Asking {
    if args.adaptive { Asking::Adaptive } else { Asking::Assume }
}

/// Reads an existing file; anything else is the idea itself.
fn idea(args: &Args) -> Result<String, Failure> {
    if let [only] = args.idea.as_slice() {
        if only == "-" {
            return typed_lines::piped("the idea from standard input");
        }
        let path = Path::new(only);
        if path.is_file() {
            let file = std::fs::File::open(path).map_err(|error| {
                Failure::new(Code::Usage, format!("cannot read the idea from {}: {error}", path.display()))
            })?;
            return typed_lines::all(file, &format!("the idea in {}", path.display()));
        }
    }
    Ok(text(&args.idea, "this idea")?.join(" "))
}

/// A path from the project's root; refused if it leads out of the project. The default is at the root, a given path is
/// relative to the current directory.
fn within(project: &Path, here: &Path, out: &Path) -> Result<String, Failure> {
    let outside = || {
        Failure::new(
            Code::Usage,
            format!("{} is not within the project {}", out.display(), project.display()),
        )
        .hint("Name a file of the project, such as: --out docs/progress.md")
    };
    let base = if out == Path::new("progress.md") || !here.starts_with(project) { project } else { here };
    let mut path = PathBuf::new();
    for part in base.join(out).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    let path = path.strip_prefix(project).map_err(|_| outside())?;
    if path.as_os_str().is_empty() {
        return Err(outside());
    }
    path.to_str().map(str::to_owned).ok_or_else(|| super::not_text("this path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stays_within_the_project() {
        let check = |here: &str, out: &str, expected: Option<&str>| {
            let path = within(Path::new("/p"), Path::new(here), Path::new(out));
            assert_eq!(path.ok().as_deref(), expected, "{out} in {here}");
        };
        check("/p", "progress.md", Some("progress.md"));
        check("/p/src", "progress.md", Some("progress.md"));
        check("/p/src", "./plan.md", Some("src/plan.md"));
        check("/p/src", "../docs/x.md", Some("docs/x.md"));
        check("/elsewhere", "docs/x.md", Some("docs/x.md"));
        check("/p", "/p/x.md", Some("x.md"));
        check("/p", "../x.md", None);
        check("/p", "/x.md", None);
        check("/p", ".", None);
    }
}
