//! `rapport log --tree`: sessions, their branches and their turns as one tree, the newest first.

use std::collections::{BTreeMap, BTreeSet};

use rapport_core::report::Overall;
use rapport_core::{
    ActionPlan, Aim, BranchedAt, FileTurn, Session, Status, TurnStage, UndoState, first_heading,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::graph::{self, Row};
use super::output::{ago, say, say_json};
use super::page::Page;
use super::session_choice::{self, Known};
use super::workflow::seals;
use super::{Common, status};
use crate::channels::terminal::text::{Line, Tone};
use crate::clock::Clock;
use crate::error::{Failure, Outcome};
use crate::stores::blocking::wait;
use crate::turns::{Folder, PLAN, Turn};
use crate::wiring::Workspace;

/// A turn as it is drawn.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    pub(super) turn: String,
    parent: Option<String>,
    pub(super) status: Status,
    /// Its status with its exact activity.
    #[serde(rename = "detail")]
    pub(super) standing: String,
    pub(super) title: Option<String>,
    cost: f64,
    undone: bool,
}

/// A session or a turn in the picture.
struct Node {
    key: String,
    before: Option<String>,
    tone: Tone,
    /// Its name, which is typed or copied and therefore never broken; empty if the line says it.
    name: Line,
    line: Line,
    /// Its JSON for scripts. A session with turns is represented by its turns.
    json: Option<Value>,
}

/// Draws the named session, or the one around, with its whole family; else all sessions.
pub(super) fn execute(common: &Common, place: &Workspace, named: Option<&str>) -> Outcome {
    let (mut known, damaged) = session_choice::all(place)?;
    // Names begin with a day; which of its sessions came first, they do not say.
    known.sort_by(|a, b| (a.view.created_at, &a.id).cmp(&(b.view.created_at, &b.id)));
    if let Some(id) = session_choice::named_or_around(place, named)? {
        let family: BTreeSet<_> = family(&known, id.as_str()).into_iter().map(str::to_owned).collect();
        known.retain(|known| family.contains(known.id.as_str()));
    }
    let mut nodes = Vec::new();
    // A damaged log must not hide the others.
    for failure in damaged {
        if known.is_empty() {
            return Err(failure);
        }
        failure.print(common.json);
    }
    for known in &known {
        nodes.push(session(known));
        if known.view.aim == Aim::Files {
            let folder = place.folder(&known.id);
            nodes.extend(turns(&known.session, &folder)?);
        }
    }
    connect_to_turns(&mut nodes, &known);
    if common.json {
        return say_json(&nodes.iter().filter_map(|node| node.json.as_ref()).collect::<Vec<_>>());
    }
    if nodes.is_empty() {
        return say(status::NONE_YET);
    }
    let mut page = Page::new(common);
    lines(&nodes, page.columns()).into_iter().for_each(|line| page.push(line));
    if let [only] = known.as_slice()
        && only.has_turns()
        && only.session.file_turns().is_empty()
    {
        let command = format!("rapport plan --session {} -m MESSAGE", only.id);
        page.next_step("no turns yet; plan the first with", &command);
    }
    page.print_paged()?;
    for known in known.iter().filter(|known| known.view.aim == Aim::Files) {
        let folder = place.folder(&known.id);
        match seals::broken_in(place, &folder) {
            Ok(broken) => seals::warn(&broken),
            Err(failure) => failure.print(common.json),
        }
    }
    Ok(())
}

/// The names of all sessions with the same origin.
fn family<'a>(known: &'a [Known], id: &'a str) -> BTreeSet<&'a str> {
    let ids: BTreeSet<_> = known.iter().map(|known| known.id.as_str()).collect();
    let origins: BTreeMap<_, _> = known
        .iter()
        .filter_map(|known| Some((known.id.as_str(), known.view.branched_from.as_ref()?.session.as_str())))
        .filter(|(_, origin)| ids.contains(origin))
        .collect();
    // An untrusted log could name itself as its origin.
    let root = |id| std::iter::successors(Some(id), |id| origins.get(id).copied()).take(known.len()).last();
    let common = root(id);
    ids.into_iter().filter(|id| root(*id) == common).collect()
}

fn session(known: &Known) -> Node {
    let view = &known.view;
    let task = view.task.lines().next().unwrap_or_default();
    let at = view.branched_from.as_ref();
    let undone = view.undone.is_some();
    let branched = at.map(|at| format!("  (branched at {})", at.at)).unwrap_or_default();
    let mark = if undone { ", undone" } else { "" };
    let when = ago(view.updated_at, Clock::system().now());
    let line = Line::new(known.tone(), &format!("  {}{mark}", known.word()))
        .and(Tone::Dim, &format!("  {when}"))
        .and(Tone::Text, &format!("  {task}"))
        .and(Tone::Dim, &branched);
    Node {
        key: known.id.to_string(),
        before: at.map(|at| at.session.to_string()),
        tone: known.tone(),
        name: Line::new(Tone::Strong, known.id.as_str()),
        line,
        json: (view.aim != Aim::Files).then(|| {
            json!({
                "session": known.id, "parent": at.map(|at| &at.session), "at": at.map(|at| at.at.to_string()),
                "status": view.status, "title": task, "undone": undone,
            })
        }),
    }
}

/// Lets each branch of a turn follow what that turn follows, because it is another attempt at it.
fn connect_to_turns(nodes: &mut [Node], known: &[Known]) {
    let before: BTreeMap<_, _> = nodes.iter().map(|node| (node.key.clone(), node.before.clone())).collect();
    for branch in known {
        let Some(point) = &branch.view.branched_from else { continue };
        let BranchedAt::Turn(turn) = &point.at else { continue };
        let Some(Some(before)) = before.get(&format!("{}/{turn}", point.session)) else { continue };
        let node = nodes.iter_mut().find(|node| node.key == branch.id.as_str());
        node.into_iter().for_each(|node| node.before = Some(before.clone()));
    }
}

fn turns(session: &Session, folder: &Folder) -> Result<Vec<Node>, Failure> {
    let turns = wait(folder.turns())?;
    let key = |turn: &str| format!("{}/{turn}", folder.id);
    let nodes = turns.iter().map(|turn| {
        let drawn = drawn(session, turn)?;
        let before = turn.before(&turns).map(|before| key(&before.name.to_string()));
        let mut json = serde_json::to_value(&drawn).map_err(std::io::Error::from)?;
        json["session"] = json!(folder.id);
        Ok(Node {
            key: key(&drawn.turn),
            before: before.or_else(|| Some(folder.id.to_string())),
            tone: tone(drawn.status),
            name: Line::empty(),
            line: in_tones(&drawn),
            json: Some(json),
        })
    });
    nodes.collect()
}

/// A turn in brief.
pub(super) fn drawn(session: &Session, turn: &Turn) -> Result<Drawn, Failure> {
    let name = turn.name.to_string();
    let known = session.file_turn(&name);
    let undone =
        known.and_then(|known| known.batch()).is_some_and(|batch| matches!(batch.undo, UndoState::Done(_)));
    Ok(Drawn {
        status: known.map_or(Status::Started, |known| status(session, known)),
        standing: known.map_or_else(|| "not planned yet".to_owned(), |known| standing(session, known)),
        turn: name,
        parent: turn.meta.parent_turn_id.clone(),
        title: wait(turn.text(PLAN))?.map(|plan| title(&plan)),
        cost: turn.meta.turn_cost,
        undone,
    })
}

/// The status of a turn, in the words for sessions.
fn status(session: &Session, turn: &FileTurn) -> Status {
    match turn.stage {
        TurnStage::Unplanned { .. } => Status::Started,
        TurnStage::Planning if session.is_failed() => Status::Failed,
        TurnStage::Planning | TurnStage::Planned | TurnStage::Paused if session.is_over() => {
            Status::Cancelled
        }
        TurnStage::Planning | TurnStage::Running | TurnStage::Ended => Status::Running,
        TurnStage::Planned | TurnStage::Paused => Status::NeedsInput,
        TurnStage::Complete if session.reply() == Some(turn) => Status::NeedsInput,
        TurnStage::Complete => match turn.status {
            Some(Overall::Failed | Overall::ValidationFailed) => Status::Failed,
            Some(Overall::Completed | Overall::Partial | Overall::Skipped) | None => Status::Completed,
        },
    }
}

fn tone(status: Status) -> Tone {
    match status {
        Status::NeedsInput => Tone::Care,
        Status::Running => Tone::Here,
        Status::Completed => Tone::Good,
        Status::Failed => Tone::Bad,
        Status::Started | Status::Idle | Status::Cancelled => Tone::Dim,
    }
}

/// The activity of a turn.
fn standing(session: &Session, turn: &FileTurn) -> String {
    match turn.stage {
        TurnStage::Unplanned { .. } => "not planned yet".to_owned(),
        TurnStage::Planning if session.is_failed() => "planning failed".to_owned(),
        TurnStage::Planning if session.is_over() => "planning cancelled".to_owned(),
        TurnStage::Planning => "being planned".to_owned(),
        TurnStage::Planned if session.is_over() => "not carried out".to_owned(),
        TurnStage::Planned => "waits for review".to_owned(),
        TurnStage::Running => "is being carried out".to_owned(),
        TurnStage::Paused if session.is_over() => "was interrupted".to_owned(),
        TurnStage::Paused => "was interrupted, and waits".to_owned(),
        TurnStage::Ended => "is being reported".to_owned(),
        TurnStage::Complete if turn.words.is_some() => "the agent replied in words".to_owned(),
        TurnStage::Complete => turn.status.map_or_else(|| "reported".to_owned(), |status| status.to_string()),
    }
}

fn title(plan: &str) -> String {
    match ActionPlan::parse(plan) {
        Ok(plan) => plan.title,
        Err(_) if ActionPlan::is_words(plan) => {
            let first = plan.lines().find(|line| !line.trim().is_empty());
            first.unwrap_or_default().trim().to_owned()
        }
        Err(_) => first_heading(plan).unwrap_or("no title").to_owned(),
    }
}

/// A turn in one line.
pub(super) fn words(turn: &Drawn) -> String {
    in_tones(turn).text()
}

fn in_tones(turn: &Drawn) -> Line {
    let undone = if turn.undone { ", undone" } else { "" };
    let cost = if turn.cost > 0.0 { format!("  ${:.4}", turn.cost) } else { String::new() };
    Line::new(Tone::Text, &turn.turn)
        .and(tone(turn.status), &format!("  {}{undone}", turn.standing))
        .and(Tone::Text, &turn.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default())
        .and(Tone::Dim, &cost)
}

/// Each node above its parent, with the graph before it; separate trees are apart. A name that does not fit this many
/// columns has a row of its own, which only the terminal wraps.
fn lines(nodes: &[Node], columns: Option<usize>) -> Vec<Line> {
    let order = newest_first(nodes);
    let places: BTreeMap<_, _> =
        order.iter().enumerate().map(|(place, node)| (node.key.as_str(), place)).collect();
    let origin = |node: &&Node| node.before.as_deref().and_then(|before| places.get(before).copied());
    let follows: Vec<_> = order.iter().map(origin).collect();
    let mut lines = Vec::new();
    for row in graph::rows(&follows) {
        match row {
            Row::Joint(joint) => lines.push(Line::new(Tone::Dim, &joint)),
            Row::Node { node, before, after } => {
                let Some(drawn) = order.get(node) else { continue };
                let graph =
                    Line::new(Tone::Dim, &before).and(drawn.tone, "○").and(Tone::Dim, &format!(" {after} "));
                let hang = graph.width();
                let is_too_wide = columns.is_some_and(|columns| hang + drawn.name.width() > columns);
                let named = graph.then(drawn.name.clone());
                if is_too_wide {
                    lines.push(named.whole());
                    // It begins with the two spaces that come after a name.
                    let indent = hang.saturating_sub(2);
                    lines.push(drawn.line.clone().hanging(2).indented(indent));
                } else {
                    lines.push(named.then(drawn.line.clone()).hanging(hang));
                }
                if follows[node].is_none() && node + 1 < order.len() {
                    lines.push(Line::empty());
                }
            }
        }
    }
    lines
}

/// Each node before its parent: the last branch first, its nodes from the latest to the earliest.
fn newest_first(nodes: &[Node]) -> Vec<&Node> {
    let keys: BTreeSet<_> = nodes.iter().map(|node| node.key.as_str()).collect();
    let mut children = BTreeMap::<_, Vec<_>>::new();
    for node in nodes {
        let above = node.before.as_deref().and_then(|before| keys.get(before).copied());
        children.entry(above).or_default().push(node);
    }
    let mut order = Vec::new();
    let mut next: Vec<_> = children.get(&None).into_iter().flatten().copied().rev().collect();
    while let Some(node) = next.pop() {
        order.push(node);
        next.extend(children.get(&Some(node.key.as_str())).into_iter().flatten().copied().rev());
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stands_above_what_it_follows() {
        let node = |key: &str, before: Option<&str>| Node {
            key: key.into(),
            before: before.map(str::to_owned),
            tone: Tone::Text,
            name: Line::empty(),
            line: Line::new(Tone::Text, key),
            json: None,
        };
        let nodes = [
            node("auth", None),
            node("auth/01", Some("auth")),
            node("auth/02", Some("auth/01")),
            node("auth/03", Some("auth/02")),
            node("auth/02-branch-01", Some("auth/01")),
            node("paint", None),
            node("paint-branch", Some("paint")),
            node("paint-branch-2", Some("paint-branch")),
            node("other-branch", Some("one that is gone")),
            node("its-own-origin", Some("its-own-origin")),
        ];
        let drawn: Vec<_> =
            lines(&nodes, None).iter().map(|line| line.text().trim_end().to_owned()).collect();
        assert_eq!(
            drawn,
            [
                "○  other-branch",
                "",
                "○  paint-branch-2",
                "○  paint-branch",
                "○  paint",
                "",
                "○  auth/02-branch-01",
                "│ ○  auth/03",
                "│ ○  auth/02",
                "├─╯",
                "○  auth/01",
                "○  auth",
            ]
        );
    }
}
