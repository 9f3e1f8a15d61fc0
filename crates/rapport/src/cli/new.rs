//! `rapport new`: begins a session with turns.

use rapport_core::{Aim, Session, slug};
use serde_json::json;

use super::Common;
use super::output::{say, say_json, warn};
use super::screen::word;
use crate::channels::terminal::terminal_text;
use crate::clock::Clock;
use crate::config::Layer;
use crate::error::{Code, Failure, Outcome};
use crate::projects::gathering::suggested;
use crate::stores::Holder;
use crate::stores::blocking::wait;
use crate::threads::off_thread;
use crate::turns::Folder;
use crate::turns::preparation::TurnPreparation;
use crate::wiring::{SessionKind, Workspace};

/// Begin a session with turns: plan, review, run what you approve, report, turn by turn
///
/// Creates its directory in .rapport/sessions, with a session.context that lists what each of its turns is shown. What
/// all sessions are shown is in .rapport/global.context, their memos are in .rapport/memos.yaml.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport new add-user-auth
  rapport plan -m \"Add a login page\"       then the agent plans the first turn
  rapport resume                           review it, run what you approve

docs/files.md tells how to work this way.")]
pub(super) struct Args {
    /// What it is about, in kebab-case (add-user-auth)
    name: String,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let name = name(&args.name)?;
    if name != args.name && !common.json {
        warn(format_args!("the name becomes {name}"));
    }
    let folder = wait(make(&place, &name))?;
    let path = folder.whereabouts();
    let suggested = suggested(&place.project, &name);
    if common.json {
        return say_json(&json!({ "session": folder.id, "path": path, "suggested": suggested }));
    }
    say(terminal_text::line(&path))?;
    if !suggested.is_empty() {
        // Standard output contains only the path: `cd "$(rapport new NAME)"`.
        let named: Vec<_> = suggested.iter().map(|path| word(path)).collect();
        let command = format!("rapport context add {} --session {}", named.join(" "), folder.id);
        warn(format_args!("no file is shown to the agent yet; to show it some, such as these:\n  {command}"));
    }
    Ok(())
}

/// Creates a session of this name, and the files that all sessions share, if necessary.
pub(super) async fn make(place: &Workspace, name: &str) -> Result<Folder, Failure> {
    let (own, task) = (place.clone(), name.to_owned());
    let created = off_thread(move || {
        let settings = own.settings(Layer::default())?;
        own.session(task, Aim::Files, &settings)
    });
    let facts = Session::begin(created.await??)?;
    let holder = Holder::this_process(None);
    let store = place.store_in(&SessionKind::Sessions);
    let (id, _, log) = store.create(name, Clock::system().now(), facts, &holder).await?;
    let folder = place.folder(&id);
    TurnPreparation::lay_out(&folder, &place.project).await?;
    drop(log);
    Ok(folder)
}

/// A name in kebab-case, or why this cannot be one.
fn name(typed: &str) -> Result<String, Failure> {
    let refused = |why: &str| {
        Err(Failure::new(
            Code::Usage,
            format!("{:?} cannot be the name of a session: {why}", terminal_text::line(typed)),
        )
        .hint("Name it in a few words: rapport new add-user-auth"))
    };
    if !typed.chars().any(char::is_alphanumeric) {
        return refused("it has no letters");
    }
    let name = slug::part(typed);
    if name == format!("{}-1", typed.trim().to_lowercase()) {
        return refused("some systems reserve it");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // FILE-17: names are in kebab-case.
    #[test]
    fn file_17_names_are_made_fit_or_refused() {
        for (typed, fit) in [
            ("add-user-auth", "add-user-auth"),
            ("Add User Auth", "add-user-auth"),
            ("../../etc/passwd", "etc-passwd"),
            ("été", "ete"),
            ("con-1", "con-1"),
        ] {
            assert_eq!(name(typed).unwrap(), fit);
        }
        for typed in ["", " ", "..", "/", "con", "NUL", "🎉", "--"] {
            assert_eq!(name(typed).unwrap_err().code, Code::Usage, "{typed}");
        }
    }
}
