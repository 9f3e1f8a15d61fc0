//! `rapport log --tree`: sessions, their branches and their turns, as the one tree they are.

use std::collections::{BTreeMap, BTreeSet};

use rapport_core::{ActionPlan, Aim, FileTurn, Session, TurnStage, UndoState, first_heading};
use serde::Serialize;
use serde_json::{Value, json};

use super::choose::{self, Known};
use super::files::{self, seals};
use super::output::{say, say_json};
use super::{Common, status};
use crate::channels::terminal::safe;
use crate::error::{Failure, Outcome};
use crate::turns::{Folder, PLAN, Turn, text};
use crate::wiring::Place;

/// A turn as it is drawn.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    pub(super) turn: String,
    parent: Option<String>,
    pub(super) status: String,
    pub(super) title: Option<String>,
    cost: f64,
    undone: bool,
}

/// A session or a turn in the picture.
struct Node {
    key: String,
    /// What it stands below.
    before: Option<String>,
    words: String,
    /// As scripts get it. A session that goes on turn by turn is told by its turns.
    json: Option<Value>,
}

/// Draws the session that is named, or the one around, with everything that branched off with it; else all sessions.
pub(super) fn execute(common: &Common, place: &Place, named: Option<&str>) -> Outcome {
    let (mut known, damaged) = choose::all(place)?;
    if let Some(id) = choose::named_or_around(place, named)? {
        let family: BTreeSet<_> = family(&known, id.as_str()).into_iter().map(str::to_owned).collect();
        known.retain(|known| family.contains(known.id.as_str()));
    }
    let mut nodes = Vec::new();
    // One damaged log must not hide the others.
    for failure in damaged {
        if known.is_empty() {
            return Err(failure);
        }
        failure.print(common.json);
    }
    for known in &known {
        nodes.push(session(known));
        if known.view.aim == Aim::Files {
            let folder = Folder::new(&files::sessions_of(place), &known.id);
            nodes.extend(turns(&known.session, &folder)?);
        }
    }
    if common.json {
        return say_json(&nodes.iter().filter_map(|node| node.json.as_ref()).collect::<Vec<_>>());
    }
    if nodes.is_empty() {
        return say(status::NONE_YET);
    }
    for (prefix, node) in lines(&nodes) {
        say(format_args!("{prefix}{}", safe::line(&node.words)))?;
    }
    if let [only] = known.as_slice()
        && only.has_turns()
        && only.session.file_turns().is_empty()
    {
        say(format_args!(
            "no turns yet; plan the first with: rapport plan --session {} -m MESSAGE",
            only.id
        ))?;
    }
    for known in known.iter().filter(|known| known.view.aim == Aim::Files) {
        let folder = Folder::new(&files::sessions_of(place), &known.id);
        match seals::broken_in(place, &folder) {
            Ok(broken) => seals::warn(&broken),
            Err(failure) => failure.print(common.json),
        }
    }
    Ok(())
}

/// The names of all sessions that have their origin in common with this one.
fn family<'a>(known: &'a [Known], id: &'a str) -> BTreeSet<&'a str> {
    let ids: BTreeSet<_> = known.iter().map(|known| known.id.as_str()).collect();
    let origins: BTreeMap<_, _> = known
        .iter()
        .filter_map(|known| Some((known.id.as_str(), known.view.branched_from.as_ref()?.session.as_str())))
        .filter(|(_, origin)| ids.contains(origin))
        .collect();
    // A log of somebody else could name itself as its origin.
    let root = |id| std::iter::successors(Some(id), |id| origins.get(id).copied()).take(known.len()).last();
    let common = root(id);
    ids.into_iter().filter(|id| root(*id) == common).collect()
}

fn session(known: &Known) -> Node {
    let view = &known.view;
    let task = view.task.lines().next().unwrap_or_default();
    let at = view.branched_from.as_ref();
    let undone = view.undone.is_some();
    let branched = at.map(|at| format!("at {}  ", at.question)).unwrap_or_default();
    let status = view.status.as_str().replace('_', " ");
    let mark = if undone { ", undone" } else { "" };
    Node {
        key: known.id.to_string(),
        before: at.map(|at| at.session.to_string()),
        words: format!("{branched}{}  {status}{mark}  {task}", known.id),
        json: (view.aim != Aim::Files).then(|| {
            json!({
                "session": known.id, "parent": at.map(|at| &at.session), "at": at.map(|at| &at.question),
                "status": view.status, "title": task, "undone": undone,
            })
        }),
    }
}

fn turns(session: &Session, folder: &Folder) -> Result<Vec<Node>, Failure> {
    let turns = folder.turns()?;
    let key = |turn: &str| format!("{}/{turn}", folder.id);
    let nodes = turns.iter().map(|turn| {
        let drawn = drawn(session, turn)?;
        let before = turn.before(&turns).map(|before| key(&before.name.to_string()));
        let mut json = serde_json::to_value(&drawn).map_err(std::io::Error::from)?;
        json["session"] = json!(folder.id);
        Ok(Node {
            key: key(&drawn.turn),
            before: before.or_else(|| Some(folder.id.to_string())),
            words: words(&drawn),
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
        status: known.map_or_else(|| "not planned yet".to_owned(), |known| status(session, known)),
        turn: name,
        parent: turn.meta.parent_turn_id.clone(),
        title: text(&turn.file(PLAN))?.map(|plan| title(&plan)),
        cost: turn.meta.turn_cost,
        undone,
    })
}

fn status(session: &Session, turn: &FileTurn) -> String {
    match turn.stage {
        TurnStage::Unplanned { .. } => "not planned yet".to_owned(),
        TurnStage::Drafting if session.is_failed() => "planning failed".to_owned(),
        TurnStage::Drafting if session.is_over() => "planning cancelled".to_owned(),
        TurnStage::Drafting => "being planned".to_owned(),
        TurnStage::Planned => "waits for review".to_owned(),
        TurnStage::Running => "is being carried out".to_owned(),
        TurnStage::Paused => "was interrupted, and waits".to_owned(),
        TurnStage::Ended => "is being reported".to_owned(),
        TurnStage::Complete => turn.status.map_or_else(|| "reported".to_owned(), |status| status.to_string()),
    }
}

fn title(plan: &str) -> String {
    match ActionPlan::parse(plan) {
        Ok(plan) => plan.title,
        Err(_) => first_heading(plan).unwrap_or("no title").to_owned(),
    }
}

/// A turn in one line.
pub(super) fn words(turn: &Drawn) -> String {
    let title = turn.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
    let cost = if turn.cost > 0.0 { format!("  ${:.4}", turn.cost) } else { String::new() };
    let undone = if turn.undone { ", undone" } else { "" };
    format!("{}  {}{undone}{title}{cost}", turn.turn, turn.status)
}

/// Each node below the one it follows, with the lines of the tree before it.
fn lines(nodes: &[Node]) -> Vec<(String, &Node)> {
    let keys: BTreeSet<_> = nodes.iter().map(|node| node.key.as_str()).collect();
    let above = |node: &Node| node.before.as_deref().and_then(|before| keys.get(before).copied());
    let mut children = BTreeMap::<_, Vec<_>>::new();
    for node in nodes {
        children.entry(above(node)).or_default().push(node);
    }
    let mut lines = Vec::new();
    for root in children.get(&None).into_iter().flatten() {
        lines.push((String::new(), *root));
        below(&children, root, "", &mut lines);
    }
    lines
}

fn below<'a>(
    children: &BTreeMap<Option<&str>, Vec<&'a Node>>,
    above: &Node,
    indent: &str,
    lines: &mut Vec<(String, &'a Node)>,
) {
    let mut nodes = children.get(&Some(above.key.as_str())).into_iter().flatten().peekable();
    while let Some(node) = nodes.next() {
        let (branch, under) = if nodes.peek().is_none() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push((format!("{indent}{branch}"), *node));
        below(children, node, &format!("{indent}{under}"), lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stands_below_what_it_follows() {
        let node = |key: &str, before: Option<&str>| Node {
            key: key.into(),
            before: before.map(str::to_owned),
            words: key.to_owned(),
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
        ];
        let drawn: Vec<_> =
            lines(&nodes).iter().map(|(prefix, node)| format!("{prefix}{}", node.words)).collect();
        assert_eq!(
            drawn,
            [
                "auth",
                "└─ auth/01",
                "   ├─ auth/02",
                "   │  └─ auth/03",
                "   └─ auth/02-branch-01",
                "paint",
                "└─ paint-branch",
                "   └─ paint-branch-2",
                "other-branch",
            ]
        );
    }
}
