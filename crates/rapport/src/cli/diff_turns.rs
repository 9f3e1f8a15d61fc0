//! `rapport diff TURN TURN`: two turns of a session side by side: context, actions, what they make of files, and
//! results.

use std::collections::BTreeSet;

use rapport_core::report::Report;
use rapport_core::review::unified;
use rapport_core::{
    ActionEnd, ActionPlan, ActionResult, FileBatch, FileEffect, FileTurn, PlanEffects, Session, SessionId,
    Status, display_text,
};
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::output::say_json;
use super::page::Page;
use super::session_choice::{Known, Verb};
use super::workflow::{self, seals};
use super::{Common, diff, tree};
use crate::actions::journal::Journal;
use crate::actions::project;
use crate::channels::terminal::text::{Line, Tone};
use crate::error::{Failure, Outcome};
use crate::stores::blocking::wait;
use crate::turns::{Folder, PLAN, REPORT, TURN_CONTEXT, Turn, TurnName};
use crate::wiring::Workspace;

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
    /// The effects of the actions.
    effects: PlanEffects,
    /// The result of each action.
    results: String,
    /// Its changes to the context and the memos.
    state: String,
}

pub(super) fn execute(
    common: &Common,
    place: &Workspace,
    session: Option<&str>,
    turns: [TurnName; 2],
) -> Outcome {
    let [one, other] = &turns.map(|turn| turn.to_string());
    let fits = |known: &Known| [one, other].iter().all(|turn| known.session.file_turn(turn).is_some());
    let verb = Verb::showing(
        "rapport diff --session SESSION TURN TURN",
        format!("with turns {one} and {other}"),
        &fits,
    );
    let folder = workflow::find_for(place, session, &verb)?;
    seals::warn(&seals::broken_in(place, &folder)?);
    let session = workflow::state(place, &folder)?;
    let lineage = Lineage { place, session: &session, folder: &folder };
    let (one, other) = (lineage.side(one, other)?, lineage.side(other, one)?);
    let changes = Changes { lineage: &lineage, one: &one, other: &other };
    if common.json {
        return say_json(
            &json!({ "turns": [as_json(&one), as_json(&other)], "diff": changes.diffs().concat() }),
        );
    }
    let mut page = Page::new(common);
    for (sign, side) in [("---", &one), ("+++", &other)] {
        page.push(Line::new(
            Tone::Strong,
            &format!("{sign} {}  {}  {}", side.name, side.standing, side.title),
        ));
    }
    section(&mut page, "Context", &one.context, &other.context);
    section(&mut page, "Plan", &one.actions, &other.actions);
    changes.show(&mut page);
    section(&mut page, "State", &one.state, &other.state);
    section(&mut page, "Result", &one.results, &other.results);
    page.print_paged()
}

/// A session's turns: which follows which, and with which files each began.
struct Lineage<'a> {
    place: &'a Workspace,
    session: &'a Session,
    folder: &'a Folder,
}

impl Lineage<'_> {
    /// A turn that is compared with another one.
    fn side(&self, name: &str, beside: &str) -> Result<Side, Failure> {
        let turn = wait(self.folder.turn(name))?;
        let drawn = tree::drawn(self.session, &turn)?;
        let begins = |path: &str| {
            // A turn's own batch recorded the files before it; without one, their current state counts. The other
            // turn may have changed them since.
            let (own, other) = (self.before(name, path), self.before(beside, path));
            let now = own.is_none().then(|| self.now(path));
            own.into_iter().chain(now).chain(other).collect()
        };
        side(&turn, drawn, self.session.file_turn(name).and_then(FileTurn::batch), &begins)
    }

    /// A file before the last batch of a turn; `None` if no batch of it was to change the file.
    fn before(&self, turn: &str, path: &str) -> Option<Option<String>> {
        let batches = &self.session.file_turn(turn)?.batches;
        let id: &SessionId = &self.folder.id;
        batches.iter().rev().find_map(|batch| {
            let directory = self.place.batches().find(id, turn, batch.approved_at).ok()??;
            let before = Journal::before(&directory, path).ok()??;
            Some(before.and_then(|bytes| String::from_utf8(bytes).ok()))
        })
    }

    /// A file of the project as it is now.
    fn now(&self, path: &str) -> Option<String> {
        let files = self.place.files_of(&self.folder.id, self.session.created()).ok()?;
        let found = project::resolve(&files, path).ok()?;
        String::from_utf8(project::content(path, &found).ok()??).ok()
    }

    /// Whether a turn continues with the files that another one left.
    fn follows(&self, later: &str, earlier: &str) -> bool {
        let parent = |name: &str| self.session.file_turn(name)?.origin.as_ref()?.parent.clone();
        let number = |name: &str| TurnName::typed(name).map(|turn| turn.number);
        let mut at = later.to_owned();
        // The numbers never grow, and each name is seen at most once: a damaged log cannot make this run forever.
        let mut seen = BTreeSet::new();
        while seen.insert(at.clone()) {
            let Some(before) = parent(&at) else { return false };
            // A branch is another attempt of its parent, and follows what that followed.
            if before == earlier && number(&before) != number(&at) {
                return true;
            }
            at = before;
        }
        false
    }
}

/// The effects of two turns on files.
struct Changes<'a> {
    lineage: &'a Lineage<'a>,
    one: &'a Side,
    other: &'a Side,
}

impl Changes<'_> {
    fn show(&self, page: &mut Page) {
        page.push(Line::empty());
        page.push(Line::new(Tone::Strong, "Changes"));
        let diffs = self.diffs();
        for side in [self.one, self.other] {
            for why in &side.effects.unclear {
                page.push(Line::new(Tone::Bad, &format!("  {} does not fit the files: {why}", side.name)));
            }
        }
        if self.paths().is_empty() {
            page.push(Line::new(Tone::Dim, "  neither changes a file"));
        } else if diffs.is_empty() {
            let files = match self.paths().len() {
                1 => "1 file".to_owned(),
                several => format!("{several} files"),
            };
            page.push(Line::new(Tone::Dim, &format!("  the same in both ({files})")));
        }
        diffs.iter().flat_map(|diff| diff::lines(diff)).for_each(|line| page.push(line));
        let commands = |side: &Side| {
            let lines = side.effects.commands.iter().flat_map(|command| command.lines());
            lines.map(|line| format!("$ {line}\n")).collect::<String>()
        };
        let (one, other) = (commands(self.one), commands(self.other));
        if one != other {
            compare(page, &one, &other);
        }
    }

    /// The files that either turn changes and that differ afterwards, as a diff from one turn's version to the
    /// other's.
    fn diffs(&self) -> Vec<String> {
        let diff = |path: &&String| {
            let (one, other) =
                (self.after(self.one, self.other, path), self.after(self.other, self.one, path));
            if one == other {
                return None;
            }
            let header = |side: &Side, text: &Option<String>| {
                let there = if text.is_some() { "" } else { " (not there)" };
                format!("{}/{path}{there}", side.name)
            };
            let (from, to) = (header(self.one, &one), header(self.other, &other));
            let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
            Some(TextDiff::from_lines(&one, &other).unified_diff().header(&from, &to).to_string())
        };
        self.paths().iter().filter_map(diff).collect()
    }

    fn paths(&self) -> BTreeSet<&String> {
        self.one.effects.files.keys().chain(self.other.effects.files.keys()).collect()
    }

    /// The content of a file after a turn. If only the other turn changes the file, it is that turn's result if this
    /// turn follows it, and otherwise the content that it started from.
    fn after(&self, side: &Side, beside: &Side, path: &str) -> Option<String> {
        let untouched = FileEffect::default();
        let theirs = beside.effects.files.get(path).unwrap_or(&untouched);
        match side.effects.files.get(path) {
            Some(file) => file.after.clone(),
            None if self.lineage.follows(&side.name, &beside.name) => theirs.after.clone(),
            None => theirs.before.clone(),
        }
    }
}

fn section(page: &mut Page, heading: &str, one: &str, other: &str) {
    page.push(Line::empty());
    page.push(Line::new(Tone::Strong, heading));
    compare(page, one, other);
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

fn side(
    turn: &Turn,
    drawn: tree::Drawn,
    batch: Option<&FileBatch>,
    begins: &dyn Fn(&str) -> Vec<Option<String>>,
) -> Result<Side, Failure> {
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
    let actions = plan.iter().flat_map(|plan| &plan.actions);
    let results = match (batch, &plan) {
        (Some(batch), Some(plan)) => results(plan, batch),
        _ => report.as_deref().map(reported_results).unwrap_or_default(),
    };
    Ok(Side {
        name: turn.name.to_string(),
        status: drawn.status,
        standing: drawn.standing,
        title: drawn.title.unwrap_or_default(),
        context: wait(turn.text(TURN_CONTEXT))?.unwrap_or_default(),
        actions: actions.map(|action| format!("{}\n", action.kind.in_brief())).collect(),
        effects: plan.as_ref().map(|plan| PlanEffects::of(plan, begins)).unwrap_or_default(),
        state: state.collect(),
        results,
    })
}

/// The results of the actions of a batch, one per line.
fn results(plan: &ActionPlan, batch: &FileBatch) -> String {
    let line = |end: &ActionEnd| {
        let action = plan.actions.get(end.action)?;
        let result = match end.result {
            ActionResult::Done => "done",
            ActionResult::Failed => "failed",
            ActionResult::Skipped => "skipped",
        };
        let why = end.why.iter().map(|why| format!(": {}", display_text::line(why)));
        Some(format!("{}  {result}{}\n", action.kind.in_brief(), why.collect::<String>()))
    };
    batch.ended.values().filter_map(line).collect()
}

/// The results in the report of a turn without facts, which an older version ran: name, status and outcome, one per line.
fn reported_results(report: &str) -> String {
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
    let own = side.effects.files.iter().map(|(path, file)| {
        let (before, after) = (file.before.as_deref().unwrap_or(""), file.after.as_deref().unwrap_or(""));
        unified(path, before, after)
    });
    json!({
        "turn": side.name, "status": side.status, "detail": side.standing, "title": side.title, "context": lines(&side.context),
        "plan": lines(&side.actions), "changes": lines(&own.collect::<String>()), "state": lines(&side.state),
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
        assert_eq!(
            reported_results(report),
            "EXECUTE  Approved ✅  Failure 🔴  1\nCREATE  Skipped 🟡  later\n"
        );
    }
}
