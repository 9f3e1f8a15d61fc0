//! Buttons that were pressed. Each is answered once and at once; what it does is decided by the session.

use std::collections::BTreeSet;

use crate::room::Room;
use frankenstein::types::InlineKeyboardMarkup;
use rapport_core::{Act, Question, Reply, RoundView, TurnCard};

use super::button::{self, Button, Press};
use super::card::{self, Card};
use super::cards::{posted, tag};
use super::chat_state::{CardKey, ChatState, FAILED, Input, person};
use super::messages::finished;
use super::outbound::{Done, SessionOp, prompt};
use crate::api_error::ApiError;
use crate::outgoing::{Outgoing, Sent};

const EXPIRED: &str = "Session expired. Use /plan to start again.";
const ELSEWHERE: &str = "This task is not in the project I serve now.";
const NOT_ASKED: &str = "This is not asked any more.";
const NOT_YOURS: &str = "Only whoever asked for this task can do that.";
const NOT_OURS: &str = "This button belongs to something else; I cannot do anything with it.";

/// A press of a button.
pub(super) struct Tap {
    /// Where.
    pub room: Room,
    /// By whom.
    pub by: u64,
    /// What to answer.
    pub query: String,
    /// What the button said.
    pub data: String,
    /// The message it is on,
    pub message: Option<i32>,
    /// and its buttons as they were seen.
    pub seen: Option<InlineKeyboardMarkup>,
    /// Told when it cannot be lost any more.
    pub done: Done,
}

/// What a press comes to.
enum TapOutcome {
    /// A word at once, and then these acts.
    Acts(String, Vec<Act>),
    /// The same, and the message with the button loses its buttons.
    StripAnd(String, Vec<Act>),
    /// One option more or less.
    Toggle(usize),
    /// A request for words.
    Words,
    /// The list of answers.
    Menu(Box<Card>),
    /// The card once more.
    Again,
    /// All of what the card is about.
    Whole,
}

impl ChatState {
    pub(super) fn press(&mut self, tap: Tap) {
        let Some(press) = button::read(&tap.data) else { return self.only_toast(tap, NOT_OURS) };
        let Some(key) = self.pressed(tap.room, &press) else {
            if press.tag.as_ref().is_some_and(|tag| self.notes.is_open(tag)) {
                return self.only_toast(tap, ELSEWHERE);
            }
            let words = self.about_old(tap.room, &press);
            return self.too_late(tap, &words);
        };
        let Some(shown) = self.sessions.get(&key.session) else { return self.too_late(tap, EXPIRED) };
        if !self.may(tap.by, shown) {
            return self.only_toast(tap, NOT_YOURS);
        }
        if key.question.as_str() == FAILED {
            let act = match press.button {
                Button::Again => Act::Restart,
                _ => Act::Cancel { reason: None },
            };
            self.tags.remove(&(tap.room.chat, tag(&key)));
            return self.carry(tap, &key, TapOutcome::StripAnd(String::new(), vec![act]));
        }
        if !self.is_in_front(&key) {
            let answer = card::answer(&shown.presenter, &key.question);
            return self.too_late(tap, &about(answer.as_deref()));
        }
        match TurnCard::read(&key.question) {
            Some(_) if press.button == Button::Jump => self.carry(tap, &key, TapOutcome::Again),
            Some(card) => self.press_turn(tap, &key, press.button, &card),
            None => {
                let effect = self.effect(&tap, press.button, &key);
                self.carry(tap, &key, effect);
            }
        }
    }

    pub(super) fn only_toast(&mut self, tap: Tap, words: &str) {
        self.toast(tap.query, words);
        finished(tap.done);
    }

    /// A card that is over, and may have been left behind with its buttons.
    fn too_late(&mut self, tap: Tap, words: &str) {
        if let Some(message) = tap.message {
            self.outbound.strip(tap.room, message);
        }
        self.only_toast(tap, words);
    }

    /// Which card it was. Without a tag it is the one in hand in this room, if the numbers fit.
    fn pressed(&self, room: Room, press: &Press) -> Option<CardKey> {
        if let Some(tag) = &press.tag {
            let here = self.tags.get(&(room.chat, tag.clone()));
            // Alone with the bot somebody sees what waits for them in all chats.
            let anywhere = || self.tags.iter().find(|((_, known), _)| known == tag).map(|(_, key)| key);
            return here.or_else(|| anywhere().filter(|_| room.chat > 0)).cloned();
        }
        let (id, shown) = self.planning(room)?;
        match press.button {
            Button::Answer(question, _) | Button::Toggle(question, _) => {
                let (number, focus) = shown.presenter.collecting()?;
                (number == question).then(|| Self::key(id, focus))
            }
            Button::Done
            | Button::Type
            | Button::Recommended
            | Button::Back
            | Button::Confirm
            | Button::Edit
            | Button::EditQuestion(_)
            | Button::EditCancel
            | Button::Cancel
            | Button::Whole
            | Button::Jump
            | Button::Again
            | Button::Approve
            | Button::Choose
            | Button::Run
            | Button::Preview(_)
            | Button::Skip
            | Button::GoOn
            | Button::Redo
            | Button::Undo
            | Button::UndoRest
            | Button::Report
            | Button::Accept
            | Button::Restore => shown.presenter.focus().first().map(|focus| Self::key(id, focus)),
        }
    }

    /// What is said about a card that is not known as one of a session that goes on.
    fn about_old(&self, room: Room, press: &Press) -> String {
        if let Some(tag) = &press.tag {
            return self.notes.old(room.chat, tag).map_or_else(|| EXPIRED.to_owned(), about);
        }
        match (press.button, self.planning(room)) {
            (Button::Answer(question, _) | Button::Toggle(question, _), Some((_, shown))) => {
                let id = shown.presenter.clarifying().nth(question);
                about(id.and_then(|id| card::answer(&shown.presenter, id)).as_deref())
            }
            (_, Some(_)) => NOT_ASKED.to_owned(),
            (_, None) => EXPIRED.to_owned(),
        }
    }

    /// What a button of a card in front of the person comes to.
    fn effect(&self, tap: &Tap, button: Button, key: &CardKey) -> TapOutcome {
        let nothing = |words: &str| TapOutcome::Acts(words.to_owned(), Vec::new());
        let Some(shown) = self.sessions.get(&key.session) else { return nothing(EXPIRED) };
        let Some((round, item)) = shown.presenter.session().rounds().find_map(|round| {
            let item = round.items.iter().find(|item| item.question.id == key.question).cloned()?;
            Some((round, item))
        }) else {
            return nothing(NOT_ASKED);
        };
        let question = item.question;
        let answer = |reply: Reply| vec![Act::Answer { question: Some(key.question.clone()), reply }];
        match button {
            Button::Answer(_, option) => match question.options.get(option) {
                Some(choice) if self.is_unread(key, question) && !card::is_no(question, choice) => {
                    nothing("Tap 📄 Show all first.")
                }
                Some(choice) if card::is_no(question, choice) => {
                    let words = format!("⛔ {}", card::short(&choice.label, 100));
                    TapOutcome::Acts(words, answer(Reply::Choices(vec![option])))
                }
                Some(choice) => {
                    TapOutcome::Acts(toast_for(&round, &choice.label), answer(Reply::Choices(vec![option])))
                }
                None => nothing("There is no such option."),
            },
            Button::Toggle(_, option) => TapOutcome::Toggle(option),
            Button::Done => match self.chosen(key, tap.seen.as_ref(), question) {
                chosen if chosen.is_empty() => nothing("Choose at least one option first."),
                chosen => {
                    TapOutcome::Acts(String::new(), answer(Reply::Choices(chosen.into_iter().collect())))
                }
            },
            Button::Type if question.free_text => TapOutcome::Words,
            Button::Type => nothing("Please use the buttons."),
            Button::Recommended => TapOutcome::Acts("⭐ As recommended".to_owned(), recommended(&round)),
            Button::Back => TapOutcome::Acts(String::new(), vec![Act::Back]),
            Button::Confirm => TapOutcome::Acts("🚀 Starting...".to_owned(), vec![Act::Confirm]),
            Button::Edit => TapOutcome::Menu(Box::new(card::edit_menu(&shown.presenter, &tag(key)))),
            Button::EditQuestion(number) => match shown.presenter.clarifying().nth(number) {
                Some(question) => {
                    TapOutcome::StripAnd(String::new(), vec![Act::Reopen { question: question.clone() }])
                }
                None => nothing("There is no such question."),
            },
            Button::EditCancel if item.previous.is_some() => {
                TapOutcome::Acts(String::new(), vec![Act::Keep { question: key.question.clone() }])
            }
            Button::EditCancel => TapOutcome::StripAnd("Nothing is changed.".to_owned(), Vec::new()),
            Button::Cancel => TapOutcome::Acts(String::new(), vec![Act::Cancel { reason: None }]),
            Button::Whole => TapOutcome::Whole,
            Button::Jump => TapOutcome::Again,
            Button::Again
            | Button::Approve
            | Button::Choose
            | Button::Run
            | Button::Preview(_)
            | Button::Skip
            | Button::GoOn
            | Button::Redo
            | Button::Undo
            | Button::UndoRest
            | Button::Report
            | Button::Accept
            | Button::Restore => nothing(NOT_ASKED),
        }
    }

    /// Answers the tap, and has done what it comes to.
    fn carry(&mut self, tap: Tap, key: &CardKey, effect: TapOutcome) {
        let Tap { room, by, query, message, seen, done, .. } = tap;
        let (words, acts) = match effect {
            TapOutcome::Acts(words, acts) => (words, acts),
            TapOutcome::StripAnd(words, acts) => {
                if let Some(message) = message {
                    self.outbound.strip(room, message);
                }
                (words, acts)
            }
            TapOutcome::Toggle(option) => {
                self.toggle(room, key, option, message, seen.as_ref());
                (String::new(), Vec::new())
            }
            TapOutcome::Words => {
                self.ask_for_words(room, key.clone(), message);
                (String::new(), Vec::new())
            }
            TapOutcome::Menu(menu) => {
                self.outbound.send(room, &menu);
                (String::new(), Vec::new())
            }
            TapOutcome::Again => {
                self.show_again(room, key);
                (String::new(), Vec::new())
            }
            TapOutcome::Whole => {
                self.send_whole(room, key, message);
                (String::new(), Vec::new())
            }
        };
        let ops: Vec<_> = acts.into_iter().map(|act| SessionOp::Act(key.session.clone(), act)).collect();
        // Nobody is thanked for what is not on disk yet.
        let thanks =
            (!ops.is_empty() && self.answered.insert(query.clone())).then(|| (query.clone(), words.clone()));
        if thanks.is_none() {
            self.toast(query, &words);
        }
        self.outbound.carry_out(room, person(by), ops, thanks, done);
    }

    /// Chooses an option among others, or no longer; the buttons show it.
    fn toggle(
        &mut self,
        room: Room,
        key: &CardKey,
        option: usize,
        message: Option<i32>,
        seen: Option<&InlineKeyboardMarkup>,
    ) {
        let question = self.sessions.get(&key.session).and_then(|shown| {
            let mut items = shown.presenter.session().rounds().flat_map(|round| round.items);
            items.find(|item| item.question.id == key.question).map(|item| item.question.clone())
        });
        let Some(question) = question.filter(|question| option < question.options.len()) else { return };
        let mut chosen = self.chosen(key, seen, &question);
        if !chosen.remove(&option) {
            chosen.insert(option);
        }
        if let Some(shown) = self.sessions.get_mut(&key.session) {
            shown.chosen.insert(key.clone(), chosen);
        }
        if let (Some((_, card)), Some(message)) = (self.card(key), message) {
            let buttons = Outgoing::Buttons { message, keyboard: card.keyboard() };
            drop(self.outbound.outbox.send(room.chat, buttons));
        }
    }

    /// The options chosen so far. After a restart only the buttons themselves know.
    fn chosen(
        &self,
        key: &CardKey,
        seen: Option<&InlineKeyboardMarkup>,
        question: &Question,
    ) -> BTreeSet<usize> {
        let known = self.sessions.get(&key.session).and_then(|shown| shown.chosen.get(key));
        if let Some(chosen) = known {
            return chosen.clone();
        }
        let buttons = seen.into_iter().flat_map(|keyboard| keyboard.inline_keyboard.iter().flatten());
        let marked = buttons.filter(|button| button.text.starts_with('☑'));
        let option = |data: &str| match button::read(data)?.button {
            Button::Toggle(_, option) => Some(option),
            _ => None,
        };
        let options = marked.filter_map(|button| option(button.callback_data.as_deref()?));
        options.filter(|option| *option < question.options.len()).collect()
    }

    /// Whether some of what a card would allow was not shown yet.
    pub(super) fn is_unread(&self, key: &CardKey, question: &Question) -> bool {
        let is_read = self.sessions.get(&key.session).is_some_and(|shown| shown.read.contains(key));
        card::is_long(question) && !is_read
    }

    fn send_whole(&mut self, room: Room, key: &CardKey, message: Option<i32>) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let mut items = shown.presenter.session().rounds().flat_map(|round| round.items);
        let question = items.find(|item| item.question.id == key.question).map(|item| item.question);
        let document = question.and_then(|question| card::whole(question, card::thread(room)));
        let Some(document) = document else { return };
        let card = key.clone();
        self.outbound.send_then(room, Outgoing::Document(document), move |sent| Input::Whole {
            card,
            message,
            sent,
        });
    }

    /// All of it was shown, so that it can be allowed.
    pub(super) fn read_whole(&mut self, key: &CardKey, message: Option<i32>, sent: Result<Sent, ApiError>) {
        let Some(shown) = self.sessions.get_mut(&key.session).filter(|_| sent.is_ok()) else { return };
        shown.read.insert(key.clone());
        let room = shown.room;
        if let (Some((_, card)), Some(message)) = (self.card(key), message) {
            let buttons = Outgoing::Buttons { message, keyboard: card.keyboard() };
            drop(self.outbound.outbox.send(room.chat, buttons));
        }
    }

    fn ask_for_words(&self, room: Room, key: CardKey, on: Option<i32>) {
        let message = Outgoing::Message(prompt(room, on));
        let (sending, back) = (self.outbound.outbox.send(room.chat, message), self.outbound.back.clone());
        tokio::spawn(async move {
            if let Some(message) = sending.await.ok().and_then(posted) {
                let _ = back.send(Input::Prompted { card: key, message });
            }
        });
    }

    /// Shows a card again at the end of the chat; the one before loses its buttons.
    pub(super) fn show_again(&mut self, room: Room, key: &CardKey) {
        let Some((home, card)) = self.card(key) else { return };
        if home.chat != room.chat {
            self.outbound.say(room, "I have shown it again in its own chat.");
        }
        let cards = self.notes.of(&key.session).map(|noted| noted.cards.clone()).unwrap_or_default();
        for message in
            cards.iter().filter(|card| card.is(&key.question, key.since)).flat_map(|card| &card.shown)
        {
            self.outbound.strip(home, *message);
        }
        self.post(home, &card, key.clone());
    }
}

fn about(answer: Option<&str>) -> String {
    answer.map_or_else(
        || NOT_ASKED.to_owned(),
        |answer| format!("Already answered: {}", card::short(answer, 150)),
    )
}

/// What is said at once about a choice: after the last of a round it takes a moment to go on.
fn toast_for(round: &RoundView<'_>, label: &str) -> String {
    let open = round.items.iter().filter(|item| item.given.is_none()).count();
    match (open, round.asker) {
        (1, rapport_core::Asker::Planner) => "✓ Reviewing your answers…".to_owned(),
        _ => format!("✓ {}", card::short(label, 100)),
    }
}

/// An answer for every open question of a round, as it is recommended.
fn recommended(round: &RoundView<'_>) -> Vec<Act> {
    let open = round.items.iter().filter(|item| item.given.is_none());
    let answer = |question: &Question| {
        let option = question.options.iter().position(|option| option.recommended)?;
        Some(Act::Answer { question: Some(question.id.clone()), reply: Reply::Choices(vec![option]) })
    };
    open.filter_map(|item| answer(item.question)).collect()
}
