//! `rapport diff`: the changes of a session, or two turns side by side: context, plan and results.

use rapport_core::report::Report;
use rapport_core::{ActionKind, ActionPlan, NOT_RECORDED, Session, SessionId, Status};
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::choose::{self, Known, Verb};
use super::output::{say_json, warn};
use super::page::Page;
use super::workflow::{self, seals};
use super::{Common, diff_sessions, sessions, tree};
use crate::channels::terminal::text::{Line, Tone};
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::turns::{PLAN, REPORT, TURN_CONTEXT, Turn, TurnName};
use crate::wiring::Place;

/// Show the changes of a session; or compare two sessions, or two turns
///
/// With a session: its changes as a diff, from its worktree, or since its work began, or, in a session of turns, since
/// the first batch that changed a file.
///
/// With two sessions: the files that either changed, as the one and the other left them. With two turns: context, plan,
/// changes and result.
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

/// A turn, for comparing.
struct Side {
    name: String,
    status: Status,
    /// Its status in words, with its exact activity.
    standing: String,
    title: String,
    /// Its context, one path per line.
    context: String,
    /// Its actions, one per line.
    actions: String,
    /// The result of each action.
    results: String,
    /// Each action's change to a file, in full.
    changes: String,
    /// Its changes to the context and the memos.
    state: String,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let (Some(one), Some(other)) = (&args.one, &args.other) else {
        return of_session(common, &place, args.one.as_deref().or(args.session.as_deref()));
    };
    let (Some(one), Some(other)) = (TurnName::typed(one), TurnName::typed(other)) else {
        return diff_sessions::execute(common, &place, [one, other]);
    };
    let (one, other) = (&one.to_string(), &other.to_string());
    let fits = |known: &Known| [one, other].iter().all(|turn| known.session.file_turn(turn).is_some());
    let verb = Verb::showing(
        "rapport diff --session SESSION TURN TURN",
        format!("with turns {one} and {other}"),
        &fits,
    );
    let folder = workflow::find_for(&place, args.session.as_deref(), &verb)?;
    seals::warn(&seals::broken_in(&place, &folder)?);
    let session = workflow::state(&place, &folder)?;
    let side = |name: &str| {
        let turn = wait(folder.turn(name))?;
        let drawn = tree::drawn(&session, &turn)?;
        side(&turn, drawn)
    };
    let (one, other) = (side(one)?, side(other)?);
    if common.json {
        return say_json(&json!({ "turns": [as_json(&one), as_json(&other)] }));
    }
    let mut page = Page::new(common);
    for (sign, side) in [("---", &one), ("+++", &other)] {
        page.push(Line::new(
            Tone::Strong,
            &format!("{sign} {}  {}  {}", side.name, side.standing, side.title),
        ));
    }
    for (heading, one, other) in [
        ("Context", &one.context, &other.context),
        ("Plan", &one.actions, &other.actions),
        ("Changes", &one.changes, &other.changes),
        ("State", &one.state, &other.state),
        ("Result", &one.results, &other.results),
    ] {
        page.push(Line::empty());
        page.push(Line::new(Tone::Strong, heading));
        compare(&mut page, one, other);
    }
    page.print_paged()
}

fn of_session(common: &Common, place: &Place, name: Option<&str>) -> Outcome {
    let verb =
        Verb::showing("rapport diff SESSION", "that changed files", &|known| has_changes(&known.session));
    let id = choose::choose(place, name, &verb)?;
    refuse_unrecorded(place, &id)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let diff = runtime.block_on(sessions::diff(&place.sessions(), &id))?;
    if common.json {
        return say_json(&json!({ "session": id, "diff": diff }));
    }
    if diff.is_empty() {
        // Not on standard output, which may be the input of another program.
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

/// Compares line by line: lines of the first only, of the second only, and of both.
fn compare(page: &mut Page, one: &str, other: &str) {
    if one.is_empty() && other.is_empty() {
        return page.push(Line::new(Tone::Dim, "  nothing in both"));
    }
    if one == other {
        let same = format!("  the same in both ({} lines)", one.lines().count());
        return page.push(Line::new(Tone::Dim, &same));
    }
    let diff = TextDiff::from_lines(one, other);
    for (place, group) in diff.grouped_ops(2).iter().enumerate() {
        if place > 0 {
            page.push(Line::new(Tone::Dim, "  ⋮"));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, tone) = match change.tag() {
                ChangeTag::Delete => ('-', Tone::Bad),
                ChangeTag::Insert => ('+', Tone::Good),
                ChangeTag::Equal => (' ', Tone::Text),
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            page.push(Line::new(tone, &format!("{sign} {text}")).whole());
        }
    }
}

fn side(turn: &Turn, drawn: tree::Drawn) -> Result<Side, Failure> {
    let plan = wait(turn.text(PLAN))?.and_then(|plan| ActionPlan::parse(&plan).ok());
    let report = wait(turn.text(REPORT))?;
    let applied = report.as_deref().map(Report::applied).unwrap_or_default();
    let state = [("Active Context", &applied.context), ("Memos", &applied.memos)];
    let state = state.into_iter().flat_map(|(where_to, changes)| {
        changes.iter().map(move |change| {
            let sign = match change.sign {
                rapport_core::Sign::Add => "[+]",
                rapport_core::Sign::Remove => "[-]",
            };
            format!("{where_to}: {sign} {}\n", change.what)
        })
    });
    let kinds = || plan.iter().flat_map(|plan| &plan.actions).map(|action| &action.kind);
    Ok(Side {
        name: turn.name.to_string(),
        status: drawn.status,
        standing: drawn.standing,
        title: drawn.title.unwrap_or_default(),
        context: wait(turn.text(TURN_CONTEXT))?.unwrap_or_default(),
        actions: kinds().map(|kind| format!("{}\n", kind.in_brief())).collect(),
        changes: kinds().map(ActionKind::content).collect(),
        state: state.collect(),
        results: report.as_deref().map(results).unwrap_or_default(),
    })
}

/// The results of actions in a report: name, status and outcome, one per line.
fn results(report: &str) -> String {
    let mut lines = Vec::<String>::new();
    let log = report.split_once("\n## Action Log").map(|(_, log)| log).unwrap_or_default();
    let mut in_fence: Option<&str> = None;
    for line in log.lines() {
        let fence = line.split(|c| c != '`').next().filter(|run| run.len() >= 3);
        match (in_fence, fence) {
            (Some(open), Some(run)) if run == open && line == run => in_fence = None,
            (None, Some(run)) => in_fence = Some(run),
            (Some(_), _) => {}
            (None, None) => {
                if let Some(name) = line.strip_prefix("### ") {
                    lines.push(name.trim_matches('`').to_owned());
                }
                let told = ["- **Status:** ", "- **Execution:** ", "- **Reason:** ", "- **Exit Code:** "];
                let value = told.iter().find_map(|key| line.strip_prefix(key));
                if let (Some(last), Some(value)) = (lines.last_mut(), value) {
                    last.push_str(&format!("  {value}"));
                }
            }
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn as_json(side: &Side) -> serde_json::Value {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    json!({
        "turn": side.name, "status": side.status, "detail": side.standing, "title": side.title, "context": lines(&side.context),
        "plan": lines(&side.actions), "changes": lines(&side.changes), "state": lines(&side.state),
        "result": lines(&side.results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_outside_of_fences() {
        let report = "# Execution Report: x\n\n## Action Log\n\n### `EXECUTE`\n\n- **Status:** Approved ✅\n\
            - **Execution:** Failure 🔴\n- **Exit Code:** 1\n\n````text\n### `CREATE`\n```\n- **Status:** no\n````\n\n\
            ### `CREATE`\n\n- **Status:** Skipped 🟡\n- **Reason:** later\n";
        assert_eq!(results(report), "EXECUTE  Approved ✅  Failure 🔴  1\nCREATE  Skipped 🟡  later\n");
    }
}
