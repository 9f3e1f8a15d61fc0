//! The card of a question: a planner's, an agent's, or a permission.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rapport_core::routing::{Hop, Recipient};
use rapport_core::{
    Activity, Answer, Asker, By, Choice, Ending, Permission, PhaseView, Presenter, Purpose, Question,
    QuestionId, RoundView, SessionId, display_text,
};

use super::{Card, DIVIDER, LONGEST_LABEL, TITLE, cut, find, named, picked, rows, short, title};
use crate::CHANNEL;
use crate::flow::button::{Button, Tag};
use crate::markdown;
use crate::split::{self, Reply};
use crate::text::{Style, Text, fitting, units};

/// The maximum length of a planner's question on its card; a button shows the full text.
const LONGEST_QUESTION: usize = 200;
/// The maximum length of an agent's question or permission on the card.
const LONGEST_BODY: usize = 2600;
/// The length of the beginning that is shown if the text does not fit.
const BEGINNING: usize = 1200;
/// The maximum length of a given answer on a card.
const LONGEST_ANSWER: usize = 600;
/// The maximum number of options with buttons. A message has at most a hundred buttons; if there are more options,
/// people type the number of the option.
const MOST_BUTTONS: usize = 90;
/// The number of cells of the progress bar.
const CELLS: usize = 10;
/// The note on a card below the beginning of a text whose full version was sent before the card.
const ABOVE: &str = "\n📄 All of it is above ☝️";

/// The text of a question on its card, and the full text if that does not fit.
struct Body {
    shown: Text,
    whole: Option<Reply>,
}

pub(super) fn open(
    presenter: &Presenter,
    round: &RoundView<'_>,
    place: usize,
    tag: &Tag,
    chosen: &BTreeSet<usize>,
    now: Timestamp,
) -> Card {
    let item = &round.items[place];
    let question = item.question;
    let Body { shown, whole } = body(presenter, round.asker, question);
    let mut text = head(presenter, round, place).text(&shown);
    if let Some(previous) = item.previous {
        text = text.plain("\n\nSo far: ").bold(&short(&question.words(previous), LONGEST_ANSWER));
    }
    let offer = presenter.session().offer(&question.id);
    if let Some(offer) = &offer {
        let answer = short(&offer.answer, LONGEST_ANSWER);
        text = text.plain("\n\n🕘 You were asked this before: ").bold(&answer);
        text = text.plain(&format!(" ({})", short(&format!("{}, {}", offer.session, offer.by), TITLE)));
    }
    text = text.text(&of_lead(presenter, question, now));
    let number = number(presenter, round, place).0;
    let mut buttons = if is_listed(question) { Vec::new() } else { options(question, number, tag, chosen) };
    // A planner's question may be shortened on its card. An agent's question is shown in full before it can be
    // answered.
    let (before, on_demand) = match round.asker {
        Asker::Planner => (None, whole),
        Asker::Agent { .. } | Asker::Rapport => (whole, None),
    };
    if on_demand.is_some() {
        buttons.insert(0, vec![named("📄 Show all", Button::Whole, tag)]);
    }
    if presenter.session().draft(&question.id).is_some() {
        buttons.insert(0, vec![named("📨 Send the draft", Button::SendDraft, tag)]);
    }
    if offer.is_some() {
        buttons.insert(0, vec![named("🕘 As before", Button::TakeOffer, tag)]);
        buttons.insert(1, vec![named("🕘 As before, always", Button::AlwaysOffer, tag)]);
    }
    if is_with_lead(presenter, &question.id) {
        buttons.push(vec![named("✋ Answer it myself", Button::Myself, tag)]);
    }
    if question.multi && !buttons.is_empty() {
        buttons.push(vec![named("✅ Done", Button::Done, tag)]);
    }
    if question.free_text {
        buttons.push(vec![named("✍️ Type your own", Button::Type, tag)]);
    }
    if is_all_recommended(round) {
        buttons.push(vec![named("⭐ All as recommended", Button::Recommended, tag)]);
    }
    buttons.extend(steps(presenter, round, place, tag));
    Card { before, text, rows: buttons.into_iter().filter(|row| !row.is_empty()).collect() }
}

pub(super) fn closed(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> Text {
    let item = &round.items[place];
    let text =
        head(presenter, round, place).text(&body(presenter, round.asker, item.question).shown).plain("\n\n");
    match (item.given, round.closed) {
        (Some((answer, by)), _) => {
            let words = cut(&item.question.words(answer), LONGEST_ANSWER);
            let mark = if item.question.is_denied_by(answer) { "⛔ " } else { "✅ " };
            let text = text.plain(mark).bold(&words).plain(&elsewhere(by));
            item.because.iter().fold(text, |text, because| {
                let quote = short(&because.quote, LONGEST_ANSWER);
                text.plain(&format!("\n📎 {}: ", because.ground)).italic(&quote)
            })
        }
        (None, Some(how)) => text.italic(&unanswered(how)),
        (None, None) if presenter.session().is_over() => text.italic("No longer open."),
        (None, None) => text.italic("Asked again below."),
    }
}

/// The lead's part in a question: it is looking at the question, has drafted an answer, or has passed the question on.
fn of_lead(presenter: &Presenter, question: &Question, now: Timestamp) -> Text {
    if let Some(draft) = presenter.session().draft(&question.id) {
        let text = Text::new().plain("\n\n✏️ The lead drafts: ").bold(&short(&draft.answer, LONGEST_ANSWER));
        return draft.because.iter().fold(text, |text, because| {
            let quote = short(&because.quote, LONGEST_ANSWER);
            text.plain(&format!("\n📎 {}: ", because.ground)).italic(&quote)
        });
    }
    let line = lead_line(presenter, &question.id, now);
    line.map_or_else(Text::new, |line| Text::new().plain(&format!("\n\n{line}")))
}

/// Whether the lead is asked this question now.
fn is_with_lead(presenter: &Presenter, question: &QuestionId) -> bool {
    presenter.session().way(question).is_some_and(|way| way.to == Recipient::Lead)
}

/// What the lead does with a question, or why it is asked no longer (LEAD-18). The time is given in steps, because each
/// step is an edit of the card.
pub fn lead_line(presenter: &Presenter, question: &QuestionId, now: Timestamp) -> Option<String> {
    let way = presenter.session().way(question)?;
    if way.to == Recipient::Lead {
        let left = way.until.map(|until| now.duration_until(until).max(SignedDuration::ZERO));
        let left = left.map(|left| format!(", {}", in_steps(left))).unwrap_or_default();
        return Some(match way.lead_asks {
            true => format!("💬 The lead asks you about this{left}. You can also answer it here."),
            false => format!("👀 The lead is looking{left}. You can answer it at any time."),
        });
    }
    match &way.why {
        Hop::TimeOver | Hop::LimitReached(_) => {
            Some(format!("⤴️ You are asked, because {}.", way.why.in_words()))
        }
        Hop::PassedOn { reason } => {
            Some(format!("⤴️ The lead passed it on: {}", short(reason, LONGEST_ANSWER)))
        }
        Hop::LeadGone { reason } => {
            Some(format!("⤴️ The lead could not be asked: {}", short(reason, LONGEST_ANSWER)))
        }
        Hop::First | Hop::ForPeople | Hop::Drafted => None,
    }
}

/// The reply to somebody who is not asked yet, but in this time.
pub fn withheld(time: SignedDuration) -> String {
    format!(
        "Whoever asked for this task is asked first. You are asked in {}, if it is still open.",
        in_steps(time)
    )
}

/// A time that is left: in steps of ten seconds, or in minutes.
fn in_steps(left: SignedDuration) -> String {
    match left.as_secs() {
        seconds if seconds > 120 => format!("{} min", (seconds + 59) / 60),
        seconds => format!("{} s", (seconds + 9) / 10 * 10),
    }
}

/// The button that opens a question again that a lead answered, if a lead did.
pub fn other_way(id: &SessionId, presenter: &Presenter, question: &QuestionId) -> Vec<Vec<(String, String)>> {
    let is_leads = |(_, by): (&Answer, &By)| matches!(by, By::Lead { .. });
    let given = find(presenter, question).and_then(|(round, place)| round.items[place].given);
    match given.is_some_and(is_leads) {
        true => vec![vec![named("↩️ Try the other way", Button::OtherWay, &Tag::overruled(id, question))]],
        false => Vec::new(),
    }
}

/// How a question ended without an answer.
pub(super) fn unanswered(how: &Ending) -> String {
    match how {
        Ending::Withdrawn(why) => format!("No longer open: {why}."),
        Ending::Superseded(_) => "Asked again below.".to_owned(),
        Ending::Expired => "No longer open: its time ran out.".to_owned(),
    }
}

/// Who answered, unless it was a person in Telegram.
pub(super) fn elsewhere(by: &By) -> String {
    match by {
        By::Person { channel, .. } if channel == CHANNEL => String::new(),
        by => format!("\nAnswered by {by}"),
    }
}

fn head(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> Text {
    let session = presenter.session();
    let task = short(title(session.created()), TITLE);
    let (number, of) = number(presenter, round, place);
    if *round.asker == Asker::Planner {
        let title = Text::new().plain("📋 ").bold(&format!("Planning: {task}"));
        return title.plain(&format!("\n{DIVIDER}\n{}\n\n", progress(number, of)));
    }
    let purpose = &round.items[place].question.purpose;
    let text = match purpose {
        Purpose::Permission(asked) => {
            Text::new().plain("🔐 ").bold(&format!("May the agent use {}?", short(&asked.tool, TITLE)))
        }
        Purpose::LeavePlanMode { .. } => Text::new().plain("🗺 ").bold("The agent has made a plan"),
        Purpose::Budget { .. } => Text::new().plain("💰 ").bold("The budget is used up"),
        Purpose::Idle => Text::new().plain("💤 ").bold("The agent stopped without a result"),
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm if session.created().is_lead => {
            Text::new().plain("💬 ").bold("The lead asks")
        }
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm => {
            Text::new().plain("💬 ").bold("The agent asks")
        }
    };
    let mut text = text.plain("\n").italic(&task);
    // The call that waits for permission is shown in full below.
    let is_that_call = |doing: &&Activity| match purpose {
        Purpose::Permission(asked) => doing.is_use_of(&asked.tool),
        Purpose::LeavePlanMode { .. }
        | Purpose::Clarify
        | Purpose::Elicit(_)
        | Purpose::Confirm
        | Purpose::Budget { .. }
        | Purpose::Idle => false,
    };
    if let Some(doing) = session.last_doing().filter(|doing| !is_that_call(doing)) {
        text = text.plain("\n⚙️ ").code(&short(&doing.to_string(), TITLE));
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

/// The number of a question, and how many there are. A planner's questions are counted across all its rounds, other
/// questions within their round.
fn number(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> (usize, usize) {
    match (round.asker, presenter.number(&round.items[place].question.id)) {
        (Asker::Planner, Some(number)) => (number, presenter.clarifying().count()),
        _ => (place, round.items.len()),
    }
}

fn body(presenter: &Presenter, asker: &Asker, question: &Question) -> Body {
    match &question.purpose {
        Purpose::Permission(asked) => permission(question, &asked.seen_from(presenter.session().project())),
        Purpose::LeavePlanMode { plan } => {
            let plan = display_text::lines(plan);
            fitting_body(markdown::text(&plan), || split::reply(&plan, "plan"))
        }
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm | Purpose::Budget { .. } | Purpose::Idle => {
            let whole = said(question, usize::MAX);
            let pieces = || split::pieces(&whole, format!("{}.txt", question.id), whole.words());
            match asker {
                Asker::Planner => {
                    let shown = said(question, LONGEST_QUESTION).trimmed(LONGEST_BODY);
                    let is_cut = shown.words() != whole.words();
                    Body { shown, whole: is_cut.then(pieces) }
                }
                Asker::Agent { .. } | Asker::Rapport => fitting_body(whole.clone(), pieces),
            }
        }
    }
}

/// A text, or its beginning if the text does not fit on a card.
fn fitting_body(text: Text, whole: impl FnOnce() -> Reply) -> Body {
    if text.units() <= LONGEST_BODY {
        return Body { shown: text, whole: None };
    }
    Body { shown: text.trimmed(BEGINNING).plain(ABOVE), whole: Some(whole()) }
}

/// The question with the descriptions and previews of its options, each cut to this many characters.
fn said(question: &Question, most: usize) -> Text {
    let text = Text::new().plain(&cut(question.text.trim(), most));
    let text = match is_listed(question) {
        true => listed(question).into_iter().fold(text, |text, line| text.plain(&line)),
        false => text.text(&explained(&question.options, most)),
    };
    previews(&question.options).into_iter().fold(text, |text, preview| text.text(&preview))
}

/// A tool call. If it fits, it is shown in full and never folded, because a phone shows only the first lines of a
/// folded quote above the buttons. If it does not fit, its beginning is shown below a file with all of it.
fn permission(question: &Question, asked: &Permission) -> Body {
    let (what, meaning) = (asked.text(), explained(&question.options, usize::MAX));
    let what = what.trim_end();
    if units(what) + meaning.units() <= LONGEST_BODY {
        return Body { shown: Text::new().pre(None, what).text(&meaning), whole: None };
    }
    let first = &what[..fitting(what, BEGINNING)];
    let more = what.lines().count() + 1 - first.lines().count();
    let text = Text::new().styled(Style::Folded, first.trim_end());
    let shown = text.plain(&format!("\n📄 {more} more lines, in the file above ☝️"));
    let caption = format!("Everything that the agent wants to do with {}", short(&asked.tool, TITLE));
    let file = Reply::File {
        name: format!("{}.txt", question.id),
        content: format!("{what}\n{}\n", meaning.words()),
        caption: Text::new().plain(&caption),
    };
    Body { shown: shown.text(&meaning.trimmed(BEGINNING)), whole: Some(file) }
}

/// The full text of a question that does not fit its card.
pub fn whole(presenter: &Presenter, question: &QuestionId) -> Option<Reply> {
    let (round, place) = find(presenter, question)?;
    body(presenter, round.asker, round.items[place].question).whole
}

/// Whether there are too many options for buttons.
pub fn is_listed(question: &Question) -> bool {
    question.options.len() > MOST_BUTTONS
}

/// The options with their numbers, and how to choose one by typing.
fn listed(question: &Question) -> Vec<String> {
    let line = |(place, option): (usize, &Choice)| {
        let says = says(option).map(|words| format!(": {}", short(words, usize::MAX))).unwrap_or_default();
        format!("\n{}. {}{says}", place + 1, short(&option.label, usize::MAX))
    };
    let how = if question.multi { "\n\nType the numbers:" } else { "\n\nType the number:" };
    [how.to_owned()].into_iter().chain(question.options.iter().enumerate().map(line)).collect()
}

/// Whether an option denies.
pub fn is_no(question: &Question, option: &Choice) -> bool {
    question.is_denied_by(&Answer { values: vec![option.value.clone()], text: None })
}

/// The options' previews, folded until the person taps them.
fn previews(options: &[Choice]) -> Vec<Text> {
    let shown = options.iter().filter_map(|option| Some((option, option.preview.as_deref()?)));
    let preview = |(option, preview): (&Choice, &str)| {
        let text = Text::new().plain("\n").bold(&short(&option.label, LONGEST_LABEL)).plain("\n");
        text.styled(Style::Folded, &display_text::lines(preview))
    };
    shown.map(preview).collect()
}

fn says(option: &Choice) -> Option<&str> {
    option.description.as_deref().filter(|words| !words.trim().is_empty())
}

/// The options' descriptions, and labels that do not fit on a button; each is cut to this many characters.
fn explained(options: &[Choice], most: usize) -> Text {
    let fits = |option: &Choice| option.label.chars().count() <= LONGEST_LABEL;
    if options.iter().all(|option| fits(option) && says(option).is_none()) {
        return Text::new();
    }
    let line = |text: Text, option: &Choice| {
        let text = text.plain("\n• ").bold(&short(&option.label, most));
        match says(option) {
            Some(words) => text.plain(&format!(": {}", short(words, most))),
            None => text,
        }
    };
    options.iter().fold(Text::new().plain("\n"), line)
}

fn options(
    question: &Question,
    number: usize,
    tag: &Tag,
    chosen: &BTreeSet<usize>,
) -> Vec<Vec<(String, String)>> {
    let button = |(place, option): (usize, &Choice)| {
        let star = if option.recommended && !option.label.contains('⭐') { "⭐ " } else { "" };
        let label = format!("{star}{}", short(&option.label, LONGEST_LABEL));
        if question.multi {
            return picked(chosen.contains(&place), &label, (number, place), tag);
        }
        named(&label, Button::Answer(number, place), tag)
    };
    rows(question.options.iter().enumerate().map(button).collect())
}

/// The buttons that go back, keep an answer, and cancel. Cancelling discards every answer, so its button is in a row of
/// its own, where it is not tapped by mistake.
fn steps(
    presenter: &Presenter,
    round: &RoundView<'_>,
    place: usize,
    tag: &Tag,
) -> Vec<Vec<(String, String)>> {
    let changing =
        round.items[place].previous.is_some() && presenter.session().phase() == PhaseView::Confirming;
    let back = (place > 0 && !changing).then(|| named("← Back", Button::Back, tag));
    let keep = changing.then(|| named("↩️ Keep it", Button::EditCancel, tag));
    let cancel = (*round.asker == Asker::Planner).then(|| named("✖ Cancel", Button::AskCancel, tag));
    vec![back.into_iter().chain(keep).collect(), cancel.into_iter().collect()]
}

/// Whether every open question of a round has exactly one recommended option, and there are several questions.
pub(super) fn is_all_recommended(round: &RoundView<'_>) -> bool {
    let mut open = round.items.iter().filter(|item| item.given.is_none()).peekable();
    let clear =
        |question: &Question| question.options.iter().filter(|option| option.recommended).count() == 1;
    open.peek().is_some()
        && open.all(|item| item.question.purpose == Purpose::Clarify && clear(item.question))
}
