//! `rapport diff`: the changes of a session; `diff_sessions` and `diff_turns` compare two.

use rapport_core::{FileDiff, Session, SessionId, Unrecorded, WorkplaceState};
use serde_json::json;

use super::output::{say_json, warn};
use super::page::Page;
use super::session_choice::{self, Verb};
use super::{Common, apply, diff_sessions, diff_turns, handover, sessions};
use crate::channels::terminal::terminal_text;
use crate::channels::terminal::text::{Line, Tone, width};
use crate::cli::runtime;
use crate::engine::diff::unrecorded;
use crate::error::{Code, Failure, Outcome};
use crate::turns::TurnName;
use crate::wiring::Workspace;
use crate::workers::check_states;
use crate::workers::local::Directory;

/// Show the changes of a session; or compare two sessions, or two turns
///
/// With a session: its changes as a diff, from its worktree, or since its work began, or, in a session of turns, since
/// the first batch that changed a file.
///
/// With two sessions: the files that either changed, as the one and the other left them. With two turns: their context,
/// actions and results, and the files that either plan changes, as the one and the other make them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport diff add-auth
  rapport diff add-auth add-auth-branch
  rapport diff 02 02-branch-01
  rapport diff --session add-auth 01 02 --json")]
pub(super) struct Args {
    /// The session (default: the one around the current directory, else the only one that fits); or a turn (02)
    #[arg(value_name = "SESSION|TURN")]
    one: Option<String>,
    /// The session or the turn to compare it with (02-branch-01)
    #[arg(value_name = "SESSION|TURN")]
    other: Option<String>,
    /// The session, as a flag; the one with the turns
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only how many lines of each file were added and removed
    #[arg(long, conflicts_with = "other")]
    stat: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let (Some(one), Some(other)) = (&args.one, &args.other) else {
        return of_session(common, &place, args.one.as_deref().or(args.session.as_deref()), args.stat);
    };
    let (Some(one), Some(other)) = (TurnName::typed(one), TurnName::typed(other)) else {
        return diff_sessions::execute(common, &place, [one, other]);
    };
    diff_turns::execute(common, &place, args.session.as_deref(), [one, other])
}

fn of_session(common: &Common, place: &Workspace, name: Option<&str>, stat: bool) -> Outcome {
    let verb =
        Verb::showing("rapport diff SESSION", "that changed files", &|known| has_changes(&known.session));
    let id = session_choice::choose(place, name, &verb)?;
    refuse_unrecorded(place, &id)?;
    let runtime = runtime::small()?;
    let diff = runtime.block_on(sessions::diff(&place.sessions(), &id))?;
    let known = session_choice::known(place, &id)?;
    let view = &known.view;
    if common.json {
        let stat = FileDiff::all(&diff);
        return say_json(&json!({ "session": id, "diff": diff, "stat": stat, "check": view.check }));
    }
    // Not on standard output, which may be the input of another program.
    if let Some(check) = &view.check {
        warn(terminal_text::line(&check.words()));
    }
    if let Some(why) = view.changes.as_ref().and_then(|changes| changes.unknown.as_deref()) {
        warn(format_args!(
            "when the agent ended, not all of its changes were known: {}",
            terminal_text::line(why)
        ));
    }
    if diff.is_empty() {
        let is_discarded =
            view.workplace.as_ref().is_some_and(|there| there.state == WorkplaceState::Discarded);
        let why = if is_discarded { "was discarded, with its changes" } else { "has changed no file so far" };
        warn(format_args!("{id} {why}"));
    }
    apply::overlaps(&apply::overlapping(place, &id)?).for_each(warn);
    let mut page = Page::new(common);
    match stat {
        true => stat_lines(&diff).into_iter().for_each(|line| page.push(line)),
        false => lines(&diff).for_each(|line| page.push(line)),
    }
    // Not for another program that reads the diff.
    let next = match handover::awaits_decision(view) {
        true => Some(("apply it to the project", "apply")),
        false => (view.undone.is_none() && known.is_free()).then_some(("take it back", "undo")),
    };
    if let Some((why, verb)) = next.filter(|_| page.columns().is_some() && !diff.is_empty()) {
        page.push(Line::empty());
        page.next_step(why, &format!("rapport {verb} {id}"));
    }
    page.print_paged()
}

/// How many lines of each file a diff adds and removes, and of all together.
fn stat_lines(diff: &str) -> Vec<Line> {
    let files = FileDiff::all(diff);
    let longest = files.iter().map(|file| width(&file.path)).max().unwrap_or_default();
    let count = |added: usize, removed: usize, line: Line| {
        line.and(Tone::Good, &format!("  +{added}")).and(Tone::Bad, &format!(" -{removed}"))
    };
    let row = |file: &FileDiff| {
        let gap = " ".repeat(longest - width(&file.path));
        let line = Line::new(Tone::Text, &format!("{}{gap}", terminal_text::line(&file.path)));
        if file.is_binary { line.and(Tone::Dim, "  binary") } else { count(file.added, file.removed, line) }
    };
    let sum = |of: fn(&FileDiff) -> usize| files.iter().map(of).sum::<usize>();
    let all = match files.len() {
        1 => "1 file".to_owned(),
        several => format!("{several} files"),
    };
    let last = count(sum(|file| file.added), sum(|file| file.removed), Line::new(Tone::Dim, &all));
    files.iter().map(row).chain([last]).collect()
}

/// Refuses a session whose work was not recorded, or whose record is gone, because its changes are unknown.
fn refuse_unrecorded(place: &Workspace, id: &SessionId) -> Outcome {
    let known = session_choice::known(place, id)?;
    sessions::restore_states(place, &known)?;
    let session = known.session;
    let project = Directory::of_project(session.created());
    for undo in session.undoable_work() {
        check_states(&project, &[&undo.to, &undo.from]).map_err(|gone| {
            Failure::new(Code::Refused, format!("cannot show what {id} changed: {gone}")).hint(
                "Git removes what nothing in the repository refers to, and the session has no copy of it.",
            )
        })?;
    }
    let Some(why) = unrecorded(&session).filter(|_| !session.created().works_apart()) else { return Ok(()) };
    let failure = Failure::new(Code::Refused, format!("cannot show what {id} changed: {why}"));
    Err(match why {
        Unrecorded::NoRepository => failure
            .hint("For the next one, make it a repository: git init && git add --all && git commit -m Begin"),
        Unrecorded::OlderVersion => {
            failure.hint("What it changes from now on is recorded. All changes: git diff")
        }
    })
}

/// A unified diff in tones.
pub(super) fn lines(diff: &str) -> impl Iterator<Item = Line> {
    diff.lines().map(|line| {
        let tone = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => Tone::Strong,
            [b'd', b'i', b'f', b'f', b' ', ..] | [b'i', b'n', b'd', b'e', b'x', b' ', ..] => Tone::Dim,
            [b'@', b'@', ..] => Tone::Here,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            _ => Tone::Text,
        };
        Line::new(tone, line).whole()
    })
}

pub(super) fn has_changes(session: &Session) -> bool {
    let mut batches = session.file_turns().iter().flat_map(|turn| &turn.batches);
    session.has_worked() || batches.any(|batch| batch.has_changes)
}
