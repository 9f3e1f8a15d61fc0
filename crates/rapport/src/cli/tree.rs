//! `rapport log --tree`: the turns of a session of files, as the tree they are.

use rapport_core::{ActionPlan, FileTurn, Session, TurnStage, UndoState, first_heading};
use serde::Serialize;

use super::Common;
use super::files::{self, seals};
use super::output::{say, say_json};
use crate::channels::terminal::safe;
use crate::error::{Failure, Outcome};
use crate::turns::{Folder, PLAN, Turn, TurnName, text};
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
    #[serde(skip)]
    name: TurnName,
    #[serde(skip)]
    before: Option<TurnName>,
}

/// Draws the turns of a session.
pub(super) fn execute(common: &Common, session: Option<&str>) -> Outcome {
    let place = Place::find(common)?;
    let folder = files::find(&place, session)?;
    let drawn = all(&place, &folder)?;
    if common.json {
        return say_json(&drawn);
    }
    say(safe::line(folder.id.as_str()))?;
    if drawn.is_empty() {
        say(format_args!(
            "no turns yet; plan the first with: rapport plan --session {} -m MESSAGE",
            folder.id
        ))?;
    }
    for (prefix, turn) in lines(&drawn) {
        say(format_args!("{prefix}{}", safe::line(&words(turn))))?;
    }
    seals::warn(&seals::broken_in(&place, &folder)?);
    Ok(())
}

fn all(place: &Place, folder: &Folder) -> Result<Vec<Drawn>, Failure> {
    let session = files::state(place, folder)?;
    let turns = folder.turns()?;
    let drawn = turns.iter().map(|turn| {
        let mut drawn = drawn(&session, turn)?;
        drawn.before = turn.before(&turns).map(|before| before.name);
        Ok(drawn)
    });
    drawn.collect()
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
        name: turn.name,
        before: None,
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

/// Each turn below the one it follows, with the lines of the tree before it.
fn lines(turns: &[Drawn]) -> Vec<(String, &Drawn)> {
    let known = |name: TurnName| turns.iter().any(|turn| turn.name == name);
    let mut lines = Vec::new();
    let roots = turns.iter().filter(|turn| !turn.before.is_some_and(known)).collect();
    below(turns, roots, "", &mut lines);
    lines
}

fn below<'a>(
    turns: &'a [Drawn],
    children: Vec<&'a Drawn>,
    indent: &str,
    lines: &mut Vec<(String, &'a Drawn)>,
) {
    let last = children.len().saturating_sub(1);
    for (place, turn) in children.into_iter().enumerate() {
        let (branch, under) = if place == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push((format!("{indent}{branch}"), turn));
        let next = turns.iter().filter(|child| child.before == Some(turn.name)).collect();
        below(turns, next, &format!("{indent}{under}"), lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_stand_below_what_they_follow() {
        let turn = |name: &str, before: Option<&str>| Drawn {
            turn: name.into(),
            parent: None,
            status: "Completed 🟢".into(),
            title: Some(format!("Plan {name}")),
            cost: 0.0,
            undone: name == "02",
            name: name.parse().unwrap(),
            before: before.map(|name| name.parse().unwrap()),
        };
        let turns = [
            turn("01", None),
            turn("02", Some("01")),
            turn("03", Some("02")),
            turn("02-branch-01", Some("01")),
            turn("03-branch-01", Some("02-branch-01")),
        ];
        let drawn: Vec<_> =
            lines(&turns).iter().map(|(prefix, turn)| format!("{prefix}{}", words(turn))).collect();
        assert_eq!(
            drawn,
            [
                "└─ 01  Completed 🟢  Plan 01",
                "   ├─ 02  Completed 🟢, undone  Plan 02",
                "   │  └─ 03  Completed 🟢  Plan 03",
                "   └─ 02-branch-01  Completed 🟢  Plan 02-branch-01",
                "      └─ 03-branch-01  Completed 🟢  Plan 03-branch-01",
            ]
        );
    }
}
