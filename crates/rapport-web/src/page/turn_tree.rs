//! The turns of a session and its branches: as a picture, and as a list that says the same in words.

use std::collections::HashMap;

use maud::{Markup, html};
use rapport_core::{
    Aim, Asker, FileTurn, Presenter, QuestionId, SessionId, TurnId, TurnKind, TurnStage, UndoState,
    display_text,
};

use crate::fields::encoded;
use crate::summary::{Summary, shortened};

/// The maximum number of turns in a picture: the latest ones.
const MOST_TURNS: usize = 60;
/// The distance between two columns, and between two rows.
const COLUMN: usize = 132;
const ROW: usize = 58;
/// The space around the picture, and the radius of a turn.
const MARGIN: usize = 22;
const RADIUS: usize = 9;
/// The maximum length of a label below a turn, in characters.
const ON_A_LABEL: usize = 18;

/// A turn, or a branch, in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeNode {
    /// The name of the turn, or the id of the other session.
    name: String,
    /// Its state, in words.
    state: String,
    /// The style of its state.
    class: &'static str,
    /// What it follows, by index.
    parent: Option<usize>,
    /// The session that it is, if it is another one.
    session: Option<SessionId>,
}

/// The tree of a session; `branches` are the sessions that branched off it.
pub(crate) fn tree(presenter: &Presenter, branches: &[std::sync::Arc<Summary>]) -> Vec<TreeNode> {
    let session = presenter.session();
    let mut nodes = Vec::new();
    if let Some(origin) = &session.created().branched_from {
        nodes.push(TreeNode {
            name: origin.session.to_string(),
            state: format!("this session branched off it at {}", origin.question),
            class: "other",
            parent: None,
            session: Some(origin.session.clone()),
        });
    }
    let mut places = HashMap::new();
    match session.created().aim {
        Aim::Files => of_folders(&mut nodes, session.file_turns()),
        Aim::Work | Aim::Progress(_) | Aim::Chat => {
            let all: Vec<_> = session.history().turns().collect();
            for turn in all.iter().skip(all.len().saturating_sub(MOST_TURNS)) {
                let parent = nodes.len().checked_sub(1);
                let (state, class) = if turn.is_over { ("over", "done") } else { ("in progress", "now") };
                places.insert(turn.id, nodes.len());
                let name = format!("{} {}", turn.id, kind(turn.kind));
                nodes.push(TreeNode { name, state: state.to_owned(), class, parent, session: None });
            }
        }
    }
    let last = nodes.len().checked_sub(1);
    for branch in branches {
        let at = branch.branch_of.as_ref().and_then(|origin| asked_in(presenter, &origin.question));
        nodes.push(TreeNode {
            name: branch.id.to_string(),
            state: format!("a branch, {}", branch.status.as_str().replace('_', " ")),
            class: "other",
            parent: at.and_then(|turn| places.get(&turn).copied()).or(last),
            session: Some(branch.id.clone()),
        });
    }
    nodes
}

fn of_folders(nodes: &mut Vec<TreeNode>, turns: &[FileTurn]) {
    let root = nodes.len().checked_sub(1);
    let turns = &turns[turns.len().saturating_sub(MOST_TURNS)..];
    let number = |folder: &str| folder.split('-').next().unwrap_or_default().to_owned();
    let place = |folder: &str| turns.iter().position(|turn| turn.folder == folder);
    for (at, turn) in turns.iter().enumerate() {
        // A turn whose parent has the same number is another attempt of it, and follows what that one follows.
        let named = parent_of(turn).and_then(place).filter(|parent| *parent != at);
        let follows = match named.map(|parent| &turns[parent]) {
            Some(sibling) if number(&sibling.folder) == number(&turn.folder) => {
                parent_of(sibling).and_then(place).filter(|parent| *parent != at)
            }
            _ => named,
        };
        let (state, class) = state(turn);
        let parent = follows.map(|parent| parent + root.map_or(0, |root| root + 1)).or(root);
        nodes.push(TreeNode { name: turn.folder.clone(), state, class, parent, session: None });
    }
}

/// The turn that the log names as the origin of another one.
fn parent_of(turn: &FileTurn) -> Option<&str> {
    turn.origin.as_ref()?.parent.as_deref()
}

/// The turn of the agent in which a question was asked.
fn asked_in(presenter: &Presenter, question: &QuestionId) -> Option<TurnId> {
    let mut rounds = presenter.session().rounds();
    let round = rounds.find(|round| round.items.iter().any(|item| item.question.id == *question))?;
    match round.asker {
        Asker::Agent { turn, .. } => Some(*turn),
        Asker::Rapport | Asker::Planner => None,
    }
}

fn kind(kind: TurnKind) -> &'static str {
    match kind {
        TurnKind::Plan => "plan",
        TurnKind::Work => "work",
        TurnKind::Chat => "reply",
        TurnKind::TurnPlan => "plan of actions",
    }
}

/// The state of a turn in a directory, in words, and its style.
fn state(turn: &FileTurn) -> (String, &'static str) {
    if turn.batch().is_some_and(|batch| matches!(batch.undo, UndoState::Done(_))) {
        return ("undone".to_owned(), "left");
    }
    let words = |words: &str, class| (words.to_owned(), class);
    match turn.stage {
        TurnStage::Unplanned { .. } => words("not planned yet", "open"),
        TurnStage::Planning => words("being planned", "now"),
        TurnStage::Planned => words("waits for review", "now"),
        TurnStage::Running => words("running", "now"),
        TurnStage::Paused => words("interrupted", "care"),
        TurnStage::Ended | TurnStage::Complete => match turn.status {
            Some(status) => (status.to_string(), "done"),
            None => words("over", "done"),
        },
    }
}

/// The column and row of each node: what follows is to the right, and every further branch has a row of its own.
fn layout(nodes: &[TreeNode]) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(nodes.len());
    let mut has_child = vec![false; nodes.len()];
    let mut rows = 0;
    for node in nodes {
        // A node follows only nodes before it; anything else would be a cycle.
        let parent = node.parent.filter(|parent| *parent < places.len());
        let place = match parent {
            Some(parent) if !has_child[parent] => {
                has_child[parent] = true;
                (places[parent].0 + 1, places[parent].1)
            }
            Some(parent) => {
                rows += 1;
                (places[parent].0 + 1, rows - 1)
            }
            None => {
                rows += 1;
                (0, rows - 1)
            }
        };
        rows = rows.max(place.1 + 1);
        places.push(place);
    }
    places
}

/// The tree as a picture and as a list.
pub(crate) fn drawn(nodes: &[TreeNode]) -> Markup {
    let places = layout(nodes);
    let spot = |(column, row): (usize, usize)| (MARGIN + 40 + column * COLUMN, MARGIN + row * ROW);
    let width = places.iter().map(|place| place.0).max().unwrap_or(0) * COLUMN + 2 * MARGIN + 80;
    let height = places.iter().map(|place| place.1).max().unwrap_or(0) * ROW + 2 * MARGIN + 26;
    let edge = |from: (usize, usize), to: (usize, usize)| {
        let ((x1, y1), (x2, y2)) = (spot(from), spot(to));
        let middle = x1 + COLUMN / 2;
        format!("M{} {y1} C{middle} {y1} {middle} {y2} {} {y2}", x1 + RADIUS, x2 - RADIUS)
    };
    html! {
        @if nodes.is_empty() { p.quiet { "There are no turns yet." } }
        @else {
            div.tree-picture tabindex="0" role="region" aria-label="The turns, as a picture" {
                svg.tree width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(format!("{} turns and branches; the list below says the same", nodes.len())) {
                    @for (at, node) in nodes.iter().enumerate() {
                        @if let Some(parent) = node.parent.filter(|parent| *parent < at) {
                            path.edge d=(edge(places[parent], places[at])) {}
                        }
                    }
                    @for (at, node) in nodes.iter().enumerate() {
                        @let (x, y) = spot(places[at]);
                        circle class=(format!("turn {}", node.class)) cx=(x) cy=(y) r=(RADIUS) {}
                        text x=(x) y=(y + RADIUS + 15) { (shortened(&node.name, ON_A_LABEL)) }
                    }
                }
            }
            ol.turns {
                @for node in nodes {
                    li {
                        @match &node.session {
                            Some(id) => a href=(format!("/s/{}", encoded(id.as_str()))) { (display_text::line(&node.name)) },
                            None => b { (display_text::line(&node.name)) },
                        }
                        ": " span class=(format!("turn-state {}", node.class)) { (display_text::line(&node.state)) }
                        @if let Some(parent) = node.parent.and_then(|parent| nodes.get(parent)) {
                            span.quiet { ", after " (display_text::line(&parent.name)) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, parent: Option<usize>) -> TreeNode {
        TreeNode { name: name.into(), state: "over".into(), class: "done", parent, session: None }
    }

    #[test]
    fn a_branch_has_a_row_of_its_own() {
        let nodes = [
            node("01", None),
            node("02", Some(0)),
            node("02-branch-01", Some(0)),
            node("03", Some(1)),
            node("03-branch-01", Some(2)),
        ];
        assert_eq!(layout(&nodes), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn a_turn_that_names_itself_or_a_later_one_ends_the_drawing_too() {
        let nodes = [node("01", Some(0)), node("02", Some(7)), node("03", Some(1))];
        assert_eq!(layout(&nodes), [(0, 0), (0, 1), (1, 1)]);
        let page = drawn(&nodes).into_string();
        assert!(page.contains("role=\"img\" aria-label=\"3 turns and branches"), "{page}");
    }

    #[test]
    fn names_of_others_stay_text() {
        let page = drawn(&[node("<script>\u{202e}", None)]).into_string();
        assert!(page.contains("&lt;script&gt;&lt;U+202E&gt;") && !page.contains('\u{202e}'), "{page}");
    }
}
