//! The card of a question: of a planner, of an agent, or whether an agent may do something.

use std::collections::BTreeSet;

use rapport_core::{Answer, Asker, By, Choice, PhaseView, Presenter, Purpose, Question, RoundView, visible};

use super::{Card, DIVIDER, LONGEST_LABEL, Reading, TITLE, cut, named, rows, short};
use crate::CHANNEL;
use crate::api::Document;
use crate::flow::button::{Button, Tag};
use crate::markdown;
use crate::text::{Style, Text, fitting, units};

/// How much of a question is shown; the whole is in the session's file.
const LONGEST_QUESTION: usize = 200;
/// How much of what an agent would do is shown, and how much of a plan of its own.
const LONGEST_DEED: usize = 2600;
/// How many lines of it are shown at once; more are folded until they are tapped.
const SHORT_DEED: usize = 15;
/// How much is shown of what does not fit; the whole is in a file.
const FIRST_OF_DEED: usize = 1500;
/// How much is shown of what options would look like, all together.
const LONGEST_PREVIEWS: usize = 2400;
/// How much of an answer is shown once it is given.
const LONGEST_ANSWER: usize = 600;
/// How many cells the bar has.
const CELLS: usize = 10;

pub(super) fn open(
    presenter: &Presenter,
    round: &RoundView<'_>,
    place: usize,
    tag: &Tag,
    (chosen, reading): (&BTreeSet<usize>, Reading),
) -> Card {
    let item = &round.items[place];
    let question = item.question;
    let mut text = head(presenter, round, place).text(&body(question));
    if let Some(previous) = item.previous {
        text = text.plain("\n\nSo far: ").bold(&short(&question.words(previous), LONGEST_ANSWER));
    }
    let number = number(presenter, round, place).0;
    let unread = reading == Reading::Part && is_long(question);
    let mut buttons = options(question, number, tag, chosen, |option| !unread || is_no(question, option));
    if unread {
        buttons.insert(0, vec![named("📄 Show all", Button::Whole, tag)]);
    }
    if question.multi && !question.options.is_empty() {
        buttons.push(vec![named("✅ Done", Button::Done, tag)]);
    }
    if question.free_text {
        buttons.push(vec![named("✍️ Type your own", Button::Type, tag)]);
    }
    if is_all_recommended(round) {
        buttons.push(vec![named("⭐ All as recommended", Button::Recommended, tag)]);
    }
    buttons.push(steps(presenter, round, place, tag));
    Card { text, rows: buttons.into_iter().filter(|row| !row.is_empty()).collect() }
}

pub(super) fn closed(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> Text {
    let item = &round.items[place];
    let text = head(presenter, round, place).text(&body(item.question)).plain("\n\n");
    match (item.given, round.closed) {
        (Some((answer, by)), _) => {
            let words = cut(&item.question.words(answer), LONGEST_ANSWER);
            let mark = if item.question.is_denied_by(answer) { "⛔ " } else { "✅ " };
            text.plain(mark).bold(&words).plain(&elsewhere(by))
        }
        (None, Some(how)) => text.italic(&format!("No longer asked: {how}.")),
        (None, None) if presenter.session().is_over() => text.italic("No longer asked."),
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

fn head(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> Text {
    let session = presenter.session();
    let task = short(&session.created().task, TITLE);
    let (number, of) = number(presenter, round, place);
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
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm => {
            Text::new().plain("💬 ").bold("The agent asks")
        }
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
fn number(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> (usize, usize) {
    match (round.asker, presenter.number(&round.items[place].question.id)) {
        (Asker::Planner, Some(number)) => (number, presenter.clarifying().count()),
        _ => (place, round.items.len()),
    }
}

fn body(question: &Question) -> Text {
    match &question.purpose {
        Purpose::Permission(asked) => {
            let text = op(question, &asked.text());
            explained(&question.options).into_iter().fold(text, |text, line| text.text(&line))
        }
        Purpose::LeavePlanMode { plan } => markdown::text(plan).trimmed(LONGEST_DEED),
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm => {
            let text = Text::new().plain(&cut(question.text.trim(), LONGEST_QUESTION));
            let text = explained(&question.options).into_iter().fold(text, |text, line| text.text(&line));
            previews(&question.options).into_iter().fold(text, |text, preview| text.text(&preview))
        }
    }
}

/// What an agent wants to do: at once where it is short, folded where it fits, else its beginning.
fn op(question: &Question, what: &str) -> Text {
    let lines = what.lines().count();
    match is_long(question) {
        false if lines <= SHORT_DEED => Text::new().pre(None, what.trim_end()),
        false => Text::new().styled(Style::Folded, what.trim_end()),
        true => {
            let first = &what[..fitting(what, FIRST_OF_DEED)];
            let more = lines - first.lines().count() + 1;
            let text = Text::new().styled(Style::Folded, first.trim_end());
            text.plain(&format!("\n📄 {more} more lines. It can be allowed when all of it was shown."))
        }
    }
}

/// Whether what an agent wants to do does not fit a card.
pub fn is_long(question: &Question) -> bool {
    match &question.purpose {
        Purpose::Permission(asked) => units(&asked.text()) > LONGEST_DEED,
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::LeavePlanMode { .. } | Purpose::Confirm => false,
    }
}

/// All of what an agent wants to do, as a file.
pub fn whole(question: &Question, thread: Option<i32>) -> Option<Document> {
    let Purpose::Permission(asked) = &question.purpose else { return None };
    let caption = format!("All of what the agent wants to do with {} ({})", asked.tool, question.id);
    let name = format!("{}.txt", question.id);
    Some(Document { name, bytes: asked.text().into_bytes(), caption, entities: Vec::new(), thread })
}

/// Whether an option says no.
pub fn is_no(question: &Question, option: &Choice) -> bool {
    question.is_denied_by(&Answer { values: vec![option.value.clone()], text: None })
}

/// What options would look like, folded until they are tapped.
fn previews(options: &[Choice]) -> Vec<Text> {
    let shown = options.iter().filter_map(|option| Some((option, option.preview.as_deref()?)));
    let shown: Vec<_> = shown.collect();
    let most = LONGEST_PREVIEWS / shown.len().max(1);
    let preview = |(option, preview): &(&Choice, &str)| {
        let lines = preview.lines().map(visible::line).collect::<Vec<_>>().join("\n");
        let shown = Text::new().plain(&lines).trimmed(most);
        let text = Text::new().plain("\n").bold(&short(&option.label, LONGEST_LABEL)).plain("\n");
        text.within(Style::Folded, &shown)
    };
    shown.iter().map(preview).collect()
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
    is_offered: impl Fn(&Choice) -> bool,
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
    let offered = question.options.iter().enumerate().filter(|(_, option)| is_offered(option));
    rows(offered.map(button).collect())
}

/// Back, cancel, and leaving an answer as it is.
fn steps(presenter: &Presenter, round: &RoundView<'_>, place: usize, tag: &Tag) -> Vec<(String, String)> {
    let changing =
        round.items[place].previous.is_some() && presenter.session().phase() == PhaseView::Confirming;
    let back = (place > 0 && !changing).then(|| named("← Back", Button::Back, tag));
    let keep = changing.then(|| named("↩️ Keep it", Button::EditCancel, tag));
    let cancel = (*round.asker == Asker::Planner).then(|| named("✖ Cancel", Button::Cancel, tag));
    back.into_iter().chain(keep).chain(cancel).collect()
}

/// Whether every open question of a round has exactly one option that is recommended, and there is more than one.
pub(super) fn is_all_recommended(round: &RoundView<'_>) -> bool {
    let mut open = round.items.iter().filter(|item| item.given.is_none()).peekable();
    let clear =
        |question: &Question| question.options.iter().filter(|option| option.recommended).count() == 1;
    open.peek().is_some()
        && open.all(|item| item.question.purpose == Purpose::Clarify && clear(item.question))
}
