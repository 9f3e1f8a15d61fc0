//! Cards: messages with buttons, made from the current state of a session. Nothing here sends anything.

mod ending;
mod list;
mod question;
mod summary;
pub mod turn;

use std::collections::BTreeSet;

use crate::bot_api::{InlineKeyboardButton, InlineKeyboardMarkup, ReplyMarkup};
use crate::room::Room;
use jiff::Timestamp;
use rapport_core::{
    Created, Focus, Presenter, Purpose, QuestionId, RoundView, SessionId, TurnCard, display_text,
};

use super::button::{Button, Pick, Tag};
use crate::outgoing::{Edit, OutgoingMessage};
use crate::split::Reply;
use crate::text::Text;

pub use ending::{
    broken_off, cancelled, cancelling, cost, decision, duration, ended, failed, failed_start, no_questions,
    offered_files, steps, stopped, sure, working,
};
pub use list::{Lately, Waiting, help, waiting, which};
pub use question::{is_listed, is_no, lead_line, other_way, whole, withheld};
pub use summary::edit_menu;
pub use turn::{answer_or_new, skip_or_new};

/// The line below a card's title.
const DIVIDER: &str = "━━━━━━━━━━━━━━━━━━━━━━";
/// The maximum length of a task as a title.
const TITLE: usize = 120;
/// The maximum length of labels that share a row, and how many share one.
const SHORT_LABEL: usize = 14;
const IN_A_ROW: usize = 3;
/// The maximum length of a label on a button.
const LONGEST_LABEL: usize = 40;
/// The maximum length of a card's text. The rest of a message is for additions: a reminder, an answer.
const LONGEST_CARD: usize = 3400;

/// A message with buttons.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// The full text, if it does not fit on the card. It has to arrive before the card, so that a person who is asked for
    /// a permission has seen all of it.
    pub before: Option<Reply>,
    pub text: Text,
    /// The buttons, row by row: labels with their callback data.
    pub rows: Vec<Vec<(String, String)>>,
}

impl Card {
    /// A card without buttons.
    pub fn plain(text: Text) -> Self {
        Self { text, ..Self::default() }
    }

    /// The card as a new message for a room.
    pub fn message(&self, room: Room) -> OutgoingMessage {
        let keyboard = self.keyboard().map(ReplyMarkup::InlineKeyboardMarkup);
        OutgoingMessage { keyboard, thread: thread(room), ..OutgoingMessage::new(&self.text) }
    }

    /// The card as an edit of a message.
    pub fn edit(&self, message: i32) -> Edit {
        Edit { keyboard: self.keyboard(), ..Edit::new(message, &self.text) }
    }

    pub fn keyboard(&self) -> Option<InlineKeyboardMarkup> {
        let button = |(label, data): &(String, String)| InlineKeyboardButton::new(label, data);
        let rows: Vec<Vec<_>> = self.rows.iter().map(|row| row.iter().map(button).collect()).collect();
        (!rows.is_empty()).then_some(InlineKeyboardMarkup { inline_keyboard: rows })
    }
}

/// What a session is called: its task as the person gave it, without what a lead added to it. The first message of a
/// conversation with a lead says little about the rest.
pub fn title(created: &Created) -> &str {
    if created.is_lead { "Conversation with the lead" } else { created.original_task() }
}

/// The topic of a room, in the type of the Bot API.
pub fn thread(room: Room) -> Option<i32> {
    room.topic.and_then(|topic| i32::try_from(topic).ok())
}

/// The card of a question in front of the person. `chosen` are the options selected so far, if several can be.
pub fn open(
    id: &SessionId,
    presenter: &Presenter,
    focus: &Focus,
    chosen: &BTreeSet<usize>,
    now: Timestamp,
) -> Option<Card> {
    let tag = Tag::of(id, &focus.question, focus.since);
    let round = presenter.session().rounds().find(|round| round.id == focus.round)?;
    let place = round.items.iter().position(|item| item.question.id == focus.question)?;
    Some(match &round.items[place].question.purpose {
        Purpose::Confirm => summary::open(presenter, &tag),
        Purpose::Clarify
        | Purpose::Elicit(_)
        | Purpose::Permission { .. }
        | Purpose::LeavePlanMode { .. }
        | Purpose::Budget { .. }
        | Purpose::Idle => question::open(presenter, &round, place, &tag, chosen, now),
    })
}

/// The text that replaces the card of a question that is no longer in front of the person.
pub fn closed(presenter: &Presenter, question: &QuestionId) -> Option<Text> {
    if let Some(card) = TurnCard::read(question) {
        return turn::closed(presenter.session(), &card);
    }
    let (round, place) = find(presenter, question)?;
    Some(match round.items[place].question.purpose {
        Purpose::Confirm => summary::closed(presenter, &round, place),
        Purpose::Clarify
        | Purpose::Elicit(_)
        | Purpose::Permission { .. }
        | Purpose::LeavePlanMode { .. }
        | Purpose::Budget { .. }
        | Purpose::Idle => question::closed(presenter, &round, place),
    })
}

/// The answer to a question in words, if it has one.
pub fn answer(presenter: &Presenter, question: &QuestionId) -> Option<String> {
    let (round, place) = find(presenter, question)?;
    let item = &round.items[place];
    item.given.map(|(answer, _)| item.question.words(answer))
}

fn find<'a>(presenter: &'a Presenter, question: &QuestionId) -> Option<(RoundView<'a>, usize)> {
    presenter.session().rounds().find_map(|round| {
        let place = round.items.iter().position(|item| item.question.id == *question)?;
        Some((round, place))
    })
}

/// Buttons in rows: several per row if all labels are short, else one each.
fn rows(buttons: Vec<(String, String)>) -> Vec<Vec<(String, String)>> {
    let short = buttons.iter().all(|(label, _)| label.chars().count() <= SHORT_LABEL);
    let size = if short { IN_A_ROW } else { 1 };
    buttons.chunks(size).map(<[_]>::to_vec).collect()
}

fn named(label: &str, button: Button, tag: &Tag) -> (String, String) {
    (label.to_owned(), button.data(tag))
}

/// A label with a check box. The button says what it sets, so that a tap on an old one cannot undo a newer choice.
fn picked(is_chosen: bool, label: &str, (question, option): (usize, usize), tag: &Tag) -> (String, String) {
    let (mark, pick) = if is_chosen { ("☑", Pick::LeaveOut) } else { ("☐", Pick::TakeIn) };
    named(&format!("{mark} {label}"), Button::Pick(pick, question, option), tag)
}

/// At most this many characters on one line, with an ellipsis if something is cut. Hidden characters are made visible.
pub fn short(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, most)
}

/// At most this many characters, with an ellipsis if something is cut. Hidden characters are made visible.
fn cut(text: &str, most: usize) -> String {
    let text = display_text::lines(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
