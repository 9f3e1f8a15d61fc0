//! The cards of a turn: its plan to review, with a list to choose from; a paused batch; a reply in words; the result.

use std::collections::BTreeSet;

use rapport_core::report::Overall;
use rapport_core::review::{Checks, Dependencies, Group, counts, items, unified, warnings};
use rapport_core::{
    ActionPlan, ActionResult, FileBatch, FileTurn, Session, TurnCard, TurnCardKind, UndoState, display_text,
};

use super::{Card, DIVIDER, TITLE, named, picked, short};
use crate::flow::button::{Button, ON_A_PAGE, Tag, page_of};
use crate::flow::turns::{places, plan_of};
use crate::split::{self, Reply};
use crate::text::{Text, units};

/// The maximum number of items to choose from. More items would need too many pages for one row of buttons.
const MOST_ITEMS: usize = 8 * ON_A_PAGE;
/// The maximum length of the list on the card. The plan, which is sent before the card, has all items.
const LONGEST_LIST: usize = 2400;
/// The maximum lengths of an item on a button, and in the text.
const ON_A_BUTTON: usize = 36;
const LONGEST_ITEM: usize = 120;
/// The maximum length of a reason.
const LONGEST_REASON: usize = 300;

/// The list of a plan's items, as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct ItemList<'a> {
    /// The items selected so far.
    pub chosen: &'a BTreeSet<usize>,
    pub page: usize,
}

/// The card of a turn, with the list if it is shown.
pub fn open(session: &Session, tag: &Tag, card: &TurnCard, list: Option<ItemList<'_>>) -> Option<Card> {
    let turn = session.file_turn(&card.folder)?;
    Some(match card.kind {
        TurnCardKind::Review => review(session, turn, tag, list),
        TurnCardKind::Differs => differs(session, turn, tag),
        TurnCardKind::Paused => paused(session, turn, tag),
        TurnCardKind::Reply => reply(session, turn, tag),
        TurnCardKind::Result => result(session, turn, tag),
    })
}

/// Asks what a text is for that came while the agent waits for an answer to its reply in words. `answer` and `new` are
/// the data of the buttons.
pub fn answer_or_new(answer: String, new: String) -> Card {
    let text = Text::new().plain("Answer the agent with these words, or begin something new?");
    let rows = vec![
        vec![("💬 Answer with these words".to_owned(), answer)],
        vec![("🆕 Begin something new".to_owned(), new)],
    ];
    Card { rows, ..Card::plain(text) }
}

/// Asks what a text is for that came while cards about turns are open: to skip one of these plans, each given by its
/// title and the data of its button, or to begin something new. `plans` is empty if every open card can be decided only
/// by its own buttons.
pub fn skip_or_new(plans: &[(String, String)], new: String) -> Card {
    let (question, labels) = match plans {
        [] => {
            ("Please use the buttons above ☝️ to decide about this run. Or begin something new?", Vec::new())
        }
        [_] => (
            "Skip this plan with these words, or begin something new?",
            vec!["⏭ Skip it with these words".to_owned()],
        ),
        plans => (
            "Skip a plan with these words, or begin something new?",
            plans.iter().map(|(title, _)| format!("⏭ Skip: {}", short(title, ON_A_BUTTON))).collect(),
        ),
    };
    let skip = labels.into_iter().zip(plans).map(|(label, (_, data))| vec![(label, data.clone())]);
    let new = vec![("🆕 Begin something new".to_owned(), new)];
    Card { rows: skip.chain([new]).collect(), ..Card::plain(Text::new().plain(question)) }
}

/// The text that replaces a card of a turn that is no longer in front of the person.
pub fn closed(session: &Session, card: &TurnCard) -> Option<Text> {
    let turn = session.file_turn(&card.folder)?;
    let text = head(session, turn, "📋");
    let batch = turn.batch();
    let words = match (&turn.stage, batch, turn.status) {
        (_, Some(batch), _) if batch.undo != UndoState::Not => return Some(undone(text, batch)),
        _ if turn.is_reply_settled => "No longer waiting.".to_owned(),
        (_, _, Some(status)) => status.to_string(),
        (_, Some(batch), None) => {
            let taken = batch.chosen.actions.iter().filter(|left| left.is_none()).count();
            let by = batch.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            format!("✅ {taken} of {} actions approved{by}.", batch.chosen.actions.len())
        }
        (_, None, None) => "No longer waiting.".to_owned(),
    };
    Some(text.plain(&format!("\n{words}")))
}

fn head(session: &Session, turn: &FileTurn, sign: &str) -> Text {
    let title = if turn.plan.is_some() { plan_of(turn).title } else { format!("Turn {}", turn.folder) };
    let task = short(&session.created().task, TITLE);
    Text::new()
        .plain(&format!("{sign} "))
        .bold(&short(&title, TITLE))
        .plain(&format!("\n{task}, turn {}\n{DIVIDER}", turn.folder))
}

fn review(session: &Session, turn: &FileTurn, tag: &Tag, shown: Option<ItemList<'_>>) -> Card {
    let plan = plan_of(turn);
    let mut text = head(session, turn, "📋");
    for counted in counts(&plan.actions) {
        text = text.plain(&format!("\n• {}", counted.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    for warning in warnings(&plan.actions) {
        text = text.plain(&format!("\n⚠️ {}", display_text::line(&warning)));
    }
    text = text.plain("\n").plain(&listed(&plan));
    let choose = is_choosable(&plan).then(|| named("☰ Choose", Button::Choose, tag));
    let rows = match shown.filter(|_| is_choosable(&plan)) {
        None => vec![
            [named("✅ Approve all", Button::Approve, tag)].into_iter().chain(choose).collect(),
            vec![named("⏭ Skip", Button::Skip, tag)],
        ],
        Some(shown) => list(&plan, shown, tag),
    };
    Card { before: Some(document(turn)), text, rows }
}

/// Whether the items of a plan can be selected one by one, which requires that all of them fit on the pages of the
/// list.
pub fn is_choosable(plan: &ActionPlan) -> bool {
    places(plan).len() <= MOST_ITEMS
}

/// The items, one per line, as many as fit.
fn listed(plan: &ActionPlan) -> String {
    let all = places(plan);
    let mut lines = String::new();
    for (number, (group, item)) in all.iter().enumerate() {
        let Some(shown) = items(plan, *group).into_iter().nth(*item) else { continue };
        let words = format!("\n{}. {} {}", number + 1, shown.label.trim(), short(&shown.what, LONGEST_ITEM));
        let remark = shown.remark.map(|remark| format!(" ({})", short(&remark, LONGEST_ITEM)));
        if units(&lines) + units(&words) > LONGEST_LIST {
            let more = all.len() - number;
            return lines + &format!("\nand {more} more, in the plan above ☝️");
        }
        lines.push_str(&words);
        lines.extend(remark);
    }
    lines
}

/// The whole plan, which people read before they approve any of it.
fn document(turn: &FileTurn) -> Reply {
    let text = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
    Reply::File {
        name: "plan.md".into(),
        content: display_text::lines(text) + "\n",
        caption: Text::new().plain(&format!("The whole plan of turn {}", turn.folder)),
    }
}

/// Each item with a check box and a preview, and the buttons for the selection.
fn list(plan: &ActionPlan, shown: ItemList<'_>, tag: &Tag) -> Vec<Vec<(String, String)>> {
    let ItemList { chosen, page } = shown;
    let notes = notes(plan, chosen);
    let (all, mut rows) = (places(plan), Vec::new());
    let on_page = all.iter().copied().enumerate().skip(page * ON_A_PAGE).take(ON_A_PAGE);
    for (place, (group, item)) in on_page {
        let Some(shown) = items(plan, group).into_iter().nth(item) else { continue };
        let care = if notes.get(place).is_some_and(Option::is_some) { " ⚠️" } else { "" };
        let label = format!("{} {}{care}", shown.label.trim(), short(&shown.what, ON_A_BUTTON));
        rows.push(vec![
            picked(chosen.contains(&place), &label, (0, place), tag),
            named("👁", Button::Preview(place), tag),
        ]);
    }
    let pages = all.len().div_ceil(ON_A_PAGE);
    if pages > 1 {
        let others = (0..pages).filter(|other| *other != page);
        rows.push(
            others.map(|other| named(&page_label(other, all.len()), page_of(other, chosen), tag)).collect(),
        );
    }
    let run = format!("▶️ Run {} chosen", chosen.len());
    rows.push(vec![named(&run, Button::Run, tag), named("↩️ Back", Button::Back, tag)]);
    rows
}

/// The numbers of the items on a page, as in the text of the card.
fn page_label(page: usize, all: usize) -> String {
    let last = all.min((page + 1) * ON_A_PAGE);
    format!("{}–{last}", page * ON_A_PAGE + 1)
}

/// For each item, a note if an item that it depends on is not selected.
fn notes(plan: &ActionPlan, chosen: &BTreeSet<usize>) -> Vec<Option<String>> {
    let mut checks = Checks::all(plan);
    for (place, (group, item)) in places(plan).into_iter().enumerate() {
        if !chosen.contains(&place) {
            checks.toggle(group, item);
        }
    }
    let dependencies = Dependencies::of(plan);
    Group::ALL.into_iter().flat_map(|group| dependencies.notes(group, &checks)).collect()
}

fn differs(session: &Session, turn: &FileTurn, tag: &Tag) -> Card {
    let text = head(session, turn, "⚠️").plain(&format!(
        "\n{}/plan.md differs from the plan. The difference takes effect once you accept it.",
        turn.folder
    ));
    let rows = vec![vec![
        named("Use it as it is", Button::Accept, tag),
        named("Restore the plan", Button::Restore, tag),
    ]];
    Card { before: Some(difference(turn)), text, rows }
}

/// The difference between the plan and its file.
fn difference(turn: &FileTurn) -> Reply {
    let planned = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
    let name = format!("{}/plan.md", turn.folder);
    let diff = display_text::lines(&unified(&name, planned, turn.differs.as_deref().unwrap_or_default()));
    let text = Text::new().bold(&format!("What was changed in {name}")).plain("\n").pre(Some("diff"), &diff);
    split::pieces(&text, "plan.diff".into(), &diff)
}

fn paused(session: &Session, turn: &FileTurn, tag: &Tag) -> Card {
    let mut text = head(session, turn, "⏸");
    let batch = turn.batch();
    if let Some(reason) = batch.and_then(|batch| batch.paused.as_deref()) {
        text = text.plain(&format!("\nThe run was interrupted: {}\n", short(reason, LONGEST_REASON)));
    }
    let plan = plan_of(turn);
    text = text.text(&actions(&plan, batch));
    let unsure = batch.and_then(|batch| batch.unsure);
    let mut rows = match unsure {
        Some(_) => vec![vec![
            named("🔁 Again, the interrupted one too", Button::Redo, tag),
            named("▶️ Go on after it", Button::GoOn, tag),
        ]],
        None => vec![vec![named("▶️ Go on", Button::GoOn, tag)]],
    };
    if let Some(batch) = batch {
        text = text.text(&refused(batch));
        rows.push(vec![undo(batch, tag)]);
    }
    Card { rows, ..Card::plain(text) }
}

/// A reply in words, which a text in reply to the card answers.
fn reply(session: &Session, turn: &FileTurn, tag: &Tag) -> Card {
    let words = display_text::lines(turn.words.as_deref().unwrap_or_default());
    let text = head(session, turn, "💬")
        .plain("\nThe agent replied in words instead of a plan ☝️\nReply to this message with your answer.");
    let rows = vec![vec![named("⏭ Leave it unanswered", Button::Skip, tag)]];
    Card { before: Some(split::reply(&words, "reply")), text, rows }
}

fn result(session: &Session, turn: &FileTurn, tag: &Tag) -> Card {
    let sign = match turn.status {
        Some(Overall::Completed) => "🏁",
        Some(Overall::Failed | Overall::ValidationFailed) => "❌",
        Some(Overall::Partial | Overall::Skipped) | None => "🏁",
    };
    let mut text = head(session, turn, sign);
    let Some(batch) = turn.batch() else { return Card::plain(text) };
    if let UndoState::Done(_) = batch.undo {
        return Card::plain(undone(text, batch));
    }
    let of = |result: ActionResult| batch.ended.values().filter(|end| end.result == result).count();
    let status = turn.status.map(|status| status.to_string()).unwrap_or_default();
    text = text.plain(&format!(
        "\n{status}: {} of {} actions done, {} failed, {} skipped.",
        of(ActionResult::Done),
        batch.ended.len(),
        of(ActionResult::Failed),
        of(ActionResult::Skipped)
    ));
    for end in batch.ended.values().filter(|end| end.result == ActionResult::Failed) {
        let why = short(end.why.as_deref().unwrap_or_default(), LONGEST_REASON);
        let action = match batch.failed.get(&end.action) {
            Some(name) => short(name, TITLE),
            None => format!("action {}", end.action + 1),
        };
        text = text.plain(&format!("\n✗ {action}: {why}"));
    }
    text = text.text(&refused(batch));
    let report = named("📄 Report", Button::Report, tag);
    let row = [report].into_iter().chain(batch.has_changes.then(|| undo(batch, tag)));
    Card { rows: vec![row.collect()], ..Card::plain(text) }
}

/// Why a batch was not undone.
fn refused(batch: &FileBatch) -> Text {
    match &batch.undo_refused {
        Some(problem) => {
            Text::new().plain(&format!("\nNot undone: {}", short(&problem.reason, LONGEST_REASON)))
        }
        None => Text::new(),
    }
}

/// The button that undoes a run. After a refused attempt, it leaves out files that were changed after the run.
fn undo(batch: &FileBatch, tag: &Tag) -> (String, String) {
    match &batch.undo_refused {
        Some(problem) if !problem.changed.is_empty() => named("↩️ Undo all but that", Button::UndoRest, tag),
        _ => named("↩️ Undo", Button::Undo, tag),
    }
}

fn actions(plan: &ActionPlan, batch: Option<&FileBatch>) -> Text {
    let mut text = Text::new();
    for (place, action) in plan.actions.iter().enumerate() {
        let end = batch.and_then(|batch| batch.ended.get(&place)).map(|end| end.result);
        let is_unsure = batch.is_some_and(|batch| batch.unsure == Some(place));
        let sign = match end {
            Some(ActionResult::Done) => "✓",
            Some(ActionResult::Failed) => "✗",
            Some(ActionResult::Skipped) => "–",
            None if is_unsure => "❓",
            None => "·",
        };
        text = text.plain(&format!("\n{sign} {}", short(&action.kind.in_brief(), LONGEST_ITEM)));
    }
    text
}

fn undone(text: Text, batch: &FileBatch) -> Text {
    match &batch.undo {
        UndoState::Done(files) => {
            let mut text = text.plain("\n↩️ ").bold("Undone");
            for file in &files.removed {
                text = text.plain("\n• removed ").code(&display_text::line(file));
            }
            for file in &files.restored {
                text = text.plain("\n• restored ").code(&display_text::line(file));
            }
            for file in &files.kept {
                text = text.plain("\n• kept, because it was changed since: ").code(&display_text::line(file));
            }
            for what in &files.remaining {
                text = text.plain(&format!("\n• cannot be undone: {}", short(what, LONGEST_ITEM)));
            }
            text
        }
        UndoState::UnderWay(_) => text.plain("\n↩️ Being undone…"),
        UndoState::Stuck(problem) => {
            text.plain(&format!("\nNot undone: {}", short(&problem.reason, LONGEST_REASON)))
        }
        UndoState::Not => text,
    }
}
