//! The card of a question: of a planner, of an agent, or whether an agent may do something.

use std::collections::BTreeSet;

use rapport_core::{Asker, By, Choice, PhaseView, Presenter, Purpose, Question, RoundLook};

use super::{Card, DIVIDER, LONGEST_LABEL, TITLE, cut, named, rows, short};
use crate::CHANNEL;
use crate::flow::button::{Button, Tag};
use crate::markdown;
use crate::text::Text;

/// How much of a question is shown; the whole is in the session's file.
const LONGEST_QUESTION: usize = 200;
/// How much of what an agent would do is shown, and how much of a plan of its own.
const LONGEST_DEED: usize = 3000;
/// How much of an answer is shown once it is given.
const LONGEST_ANSWER: usize = 600;
/// How many cells the bar has.
const CELLS: usize = 10;

pub(super) fn open(
    mirror: &Presenter,
    round: &RoundLook<'_>,
    place: usize,
    tag: &Tag,
    chosen: &BTreeSet<usize>,
) -> Card {
    let item = &round.items[place];
    let question = item.question;
    let mut text = head(mirror, round, place).text(&body(question));
    if let Some(previous) = item.previous {
        text = text.plain("\n\nSo far: ").bold(&short(&question.words(previous), LONGEST_ANSWER));
    }
    let number = number(mirror, round, place).0;
    let mut buttons = options(question, number, tag, chosen);
    if question.multi && !question.options.is_empty() {
        buttons.push(vec![named("✅ Done", Button::Done, tag)]);
    }
    if question.free_text {
        buttons.push(vec![named("✍️ Type your own", Button::Type, tag)]);
    }
    if is_all_recommended(round) {
        buttons.push(vec![named("⭐ All as recommended", Button::Recommended, tag)]);
    }
    buttons.push(steps(mirror, round, place, tag));
    Card { text, rows: buttons.into_iter().filter(|row| !row.is_empty()).collect() }
}

pub(super) fn closed(mirror: &Presenter, round: &RoundLook<'_>, place: usize) -> Text {
    let item = &round.items[place];
    let text = head(mirror, round, place).text(&body(item.question)).plain("\n\n");
    match (item.given, round.closed) {
        (Some((answer, by)), _) => {
            let words = cut(&item.question.words(answer), LONGEST_ANSWER);
            text.plain("✅ ").bold(&words).plain(&elsewhere(by))
        }
        (None, Some(how)) => text.italic(&format!("No longer asked: {how}.")),
        (None, None) if mirror.session().is_over() => text.italic("No longer asked."),
        (None, None) => text.italic("Asked again below."),
    }
}

/// Who answered, where it was not a person here.
pub(super) fn elsewhere(by: &By) -> String {
    match by {
        By::Person { channel, .. } if channel == CHANNEL => String::new(),
        by => format!("\nAnswered by {by}"),
    }
}

fn head(mirror: &Presenter, round: &RoundLook<'_>, place: usize) -> Text {
    let session = mirror.session();
    let task = short(&session.created().task, TITLE);
    let (number, of) = number(mirror, round, place);
    if *round.asker == Asker::Planner {
        let title = Text::new().plain("📋 ").bold(&format!("Planning: {task}"));
        return title.plain(&format!("\n{DIVIDER}\n{}\n\n", progress(number, of)));
    }
    let purpose = &round.items[place].question.purpose;
    let text = match purpose {
        Purpose::Permission(asked) => {
            Text::new().plain("🔐 ").bold(&format!("May the agent use {}?", asked.tool))
        }
        Purpose::LeavePlanMode { .. } => Text::new().plain("🗺 ").bold("The agent has made a plan"),
        Purpose::Clarify | Purpose::Confirm => Text::new().plain("💬 ").bold("The agent asks"),
    };
    let mut text = text.plain("\n").italic(&task);
    if let Some(doing) = session.last_doing() {
        text = text.plain("\n⚙️ ").code(&short(doing, TITLE));
    }
    let count = if of > 1 { format!("\nQ{} of {of}", number + 1) } else { String::new() };
    text.plain(&format!("\n{DIVIDER}{count}\n"))
}

/// `Q1 of 4 ▓▓░░░░░░░░ 25%`.
fn progress(number: usize, of: usize) -> String {
    let percent = (number + 1) * 100 / of.max(1);
    let full = (percent * CELLS / 100).min(CELLS);
    format!("Q{} of {of} {}{} {percent}%", number + 1, "▓".repeat(full), "░".repeat(CELLS - full))
}

/// A planner's questions are counted through all its rounds, others within their round.
fn number(mirror: &Presenter, round: &RoundLook<'_>, place: usize) -> (usize, usize) {
    match (round.asker, mirror.number(&round.items[place].question.id)) {
        (Asker::Planner, Some(number)) => (number, mirror.clarifying().count()),
        _ => (place, round.items.len()),
    }
}

fn body(question: &Question) -> Text {
    match &question.purpose {
        Purpose::Permission(asked) => {
            let what = asked.text();
            let more = what.chars().count().saturating_sub(LONGEST_DEED);
            let text = Text::new().pre(None, &cut(&what, LONGEST_DEED));
            if more == 0 { text } else { text.plain(&format!("\n({more} more characters)")) }
        }
        Purpose::LeavePlanMode { plan } => markdown::text(plan).trimmed(LONGEST_DEED),
        Purpose::Clarify | Purpose::Confirm => {
            let text = Text::new().plain(&cut(question.text.trim(), LONGEST_QUESTION));
            explained(&question.options).into_iter().fold(text, |text, line| text.text(&line))
        }
    }
}

fn says(option: &Choice) -> Option<&str> {
    option.description.as_deref().filter(|words| !words.trim().is_empty())
}

/// What options mean, where that is said or a label does not fit on its button.
fn explained(options: &[Choice]) -> Vec<Text> {
    let fits = |option: &Choice| option.label.chars().count() <= LONGEST_LABEL;
    if options.iter().all(|option| fits(option) && says(option).is_none()) {
        return Vec::new();
    }
    let line = |option: &Choice| {
        let text = Text::new().plain("\n• ").bold(&cut(&option.label, LONGEST_QUESTION));
        match says(option) {
            Some(words) => text.plain(&format!(": {}", short(words, LONGEST_QUESTION))),
            None => text,
        }
    };
    std::iter::once(Text::new().plain("\n")).chain(options.iter().map(line)).collect()
}

fn options(
    question: &Question,
    number: usize,
    tag: &Tag,
    chosen: &BTreeSet<usize>,
) -> Vec<Vec<(String, String)>> {
    let button = |(place, option): (usize, &Choice)| {
        let star = if option.recommended && !option.label.contains('⭐') { "⭐ " } else { "" };
        let label = short(&option.label, LONGEST_LABEL);
        if question.multi {
            let mark = if chosen.contains(&place) { "☑" } else { "☐" };
            return named(&format!("{mark} {star}{label}"), Button::Toggle(number, place), tag);
        }
        named(&format!("{star}{label}"), Button::Answer(number, place), tag)
    };
    rows(question.options.iter().enumerate().map(button).collect())
}

/// Back, cancel, and leaving an answer as it is.
fn steps(mirror: &Presenter, round: &RoundLook<'_>, place: usize, tag: &Tag) -> Vec<(String, String)> {
    let changing = round.items[place].previous.is_some() && mirror.session().phase() == PhaseView::Confirming;
    let back = (place > 0 && !changing).then(|| named("← Back", Button::Back, tag));
    let keep = changing.then(|| named("↩️ Keep it", Button::EditCancel, tag));
    let cancel = (*round.asker == Asker::Planner).then(|| named("✖ Cancel", Button::Cancel, tag));
    back.into_iter().chain(keep).chain(cancel).collect()
}

/// Whether every open question of a round has exactly one option that is recommended, and there is more than one.
pub(super) fn is_all_recommended(round: &RoundLook<'_>) -> bool {
    let mut open = round.items.iter().filter(|item| item.given.is_none()).peekable();
    let clear =
        |question: &Question| question.options.iter().filter(|option| option.recommended).count() == 1;
    open.peek().is_some()
        && open.all(|item| item.question.purpose == Purpose::Clarify && clear(item.question))
}
