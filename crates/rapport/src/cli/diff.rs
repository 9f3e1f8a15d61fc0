//! `rapport diff`: the changes of a session; `diff_sessions` and `diff_turns` compare two.

use rapport_core::{NOT_RECORDED, Session, SessionId};
use serde_json::json;

use super::choose::{self, Verb};
use super::output::{say_json, warn};
use super::page::Page;
use super::{Common, diff_sessions, diff_turns, sessions};
use crate::channels::terminal::safe;
use crate::channels::terminal::text::{Line, Tone};
use crate::error::{Code, Failure, Outcome};
use crate::turns::TurnName;
use crate::wiring::Place;

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
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let (Some(one), Some(other)) = (&args.one, &args.other) else {
        return of_session(common, &place, args.one.as_deref().or(args.session.as_deref()));
    };
    let (Some(one), Some(other)) = (TurnName::typed(one), TurnName::typed(other)) else {
        return diff_sessions::execute(common, &place, [one, other]);
    };
    diff_turns::execute(common, &place, args.session.as_deref(), [one, other])
}

fn of_session(common: &Common, place: &Place, name: Option<&str>) -> Outcome {
    let verb =
        Verb::showing("rapport diff SESSION", "that changed files", &|known| has_changes(&known.session));
    let id = choose::choose(place, name, &verb)?;
    refuse_unrecorded(place, &id)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let diff = runtime.block_on(sessions::diff(&place.sessions(), &id))?;
    let view = choose::known(place, &id)?.view;
    if common.json {
        return say_json(&json!({ "session": id, "diff": diff, "check": view.check }));
    }
    // Not on standard output, which may be the input of another program.
    if let Some(check) = &view.check {
        warn(safe::line(&check.words()));
    }
    if diff.is_empty() {
        warn(format_args!("{id} has changed no file so far"));
    }
    let mut page = Page::new(common);
    lines(&diff).for_each(|line| page.push(line));
    page.print_paged()
}

/// Refuses a session whose work began outside of git: nobody can tell what it changed.
fn refuse_unrecorded(place: &Place, id: &SessionId) -> Outcome {
    let session = choose::known(place, id)?.session;
    let stretches = session.stretches();
    let is_recorded = stretches.iter().any(|stretch| stretch.from.is_some());
    if stretches.is_empty() || is_recorded || session.created().works_apart() {
        return Ok(());
    }
    Err(Failure::new(Code::Refused, format!("cannot show what {id} changed: {NOT_RECORDED}"))
        .hint("For the next one, make it a repository: git init && git add --all && git commit -m Begin"))
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
