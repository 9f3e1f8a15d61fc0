//! `rapport log --tree`: the turns of a session of files, as the tree they are.

use rapport_core::report::Report;
use rapport_core::{ActionPlan, Status};
use serde::Serialize;

use super::files::batches::{self, Undo};
use super::files::{self, checking, record, seals};
use super::output::{say, say_json};
use super::{Common, sessions};
use crate::channels::terminal::safe;
use crate::error::{Failure, Outcome};
use crate::turns::{Folder, PLAN, REPORT, Standing, Turn, TurnName, text};
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
    let turns = folder.turns()?;
    let under_way = record::drafting(&seals::entries(place, folder)?);
    let drawn = turns.iter().map(|turn| {
        let mut drawn = drawn(place, folder, turn)?;
        if under_way.as_ref().is_some_and(|under_way| under_way.folder == drawn.turn) {
            drawn.status = match sessions::view(&*place.store(), &folder.id)?.status {
                Status::Failed => "planning failed",
                Status::Cancelled => "planning cancelled",
                Status::Started | Status::Running | Status::NeedsInput | Status::Idle | Status::Completed => {
                    "being planned"
                }
            }
            .into();
        }
        drawn.before = turn.before(&turns).map(|before| before.name);
        Ok(drawn)
    });
    drawn.collect()
}

/// A turn in brief.
pub(super) fn drawn(place: &Place, folder: &Folder, turn: &Turn) -> Result<Drawn, Failure> {
    let title = text(&turn.file(PLAN))?.map(|plan| title(&plan));
    let status = match turn.standing() {
        Standing::Unplanned => "not planned yet".to_owned(),
        Standing::Pending => "waits for review".to_owned(),
        Standing::Complete => {
            let report = text(&turn.file(REPORT))?.unwrap_or_default();
            Report::applied(&report).status.map_or_else(|| "reported".to_owned(), |status| status.to_string())
        }
    };
    // One of which a part is undone is for the commands that build on it to tell.
    let undone = batches::batch_of(place, folder, turn)
        .is_ok_and(|batch| batch.is_some_and(|batch| batch.undo() != Undo::Not));
    Ok(Drawn {
        turn: turn.name.to_string(),
        parent: turn.meta.parent_turn_id.clone(),
        status,
        title,
        cost: turn.meta.turn_cost,
        undone,
        name: turn.name,
        before: None,
    })
}

fn title(plan: &str) -> String {
    match ActionPlan::parse(plan) {
        Ok(plan) => plan.title,
        Err(_) => checking::first_heading(plan).unwrap_or("no title").to_owned(),
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
