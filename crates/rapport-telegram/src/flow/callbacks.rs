//! Taps on buttons. Each tap is answered once. If a tap acts in a session, it is answered when the act is durable.

use crate::bot_api::InlineKeyboardMarkup;
use crate::room::Room;
use rapport_core::{Act, Purpose, Question, Refusal, Reply, RoundView, TurnCard};

use super::announcements::outgoing;
use super::button::{self, Button, Grave, Pick, Press};
use super::card::{self, Card, thread};
use super::cards::CardKey;
use super::chat_state::{ChatState, FAILED, STOP};
use super::digest::{on_learning, on_overrule};
use super::effect::{AfterSend, Becomes, Effect, SessionOp, Thanks, Ticket, TypedAnswer};
use super::incoming::Quoted;
use super::notes::Picks;
use crate::outgoing::{Outgoing, OutgoingMessage};
use crate::text::Text;

const EXPIRED: &str = "Session expired. Use /plan to start again.";
const ELSEWHERE: &str = "This task is not in the project I serve now.";
const NOT_ASKED: &str = "This question is no longer open.";
pub(super) const NOT_YOURS: &str = "Only whoever asked for this task can do that.";
const NOTHING_CHANGED: &str = "Nothing is changed.";
const STOPPING: &str = "⏹ Stopping…";
const NOT_OURS: &str = "This button belongs to something else; I cannot do anything with it.";

pub(super) struct Tap {
    pub(super) room: Room,
    pub(super) by: u64,
    /// The id of the callback query to answer; `None` if the label of the button was typed.
    pub(super) query: Option<String>,
    /// The callback data of the button.
    pub(super) data: String,
    /// The message with the button.
    pub(super) message: Option<i32>,
    /// The keyboard of that message, as the person saw it when tapping.
    pub(super) seen: Option<InlineKeyboardMarkup>,
    /// The person's text that the message replies to.
    pub(super) about: Option<Quoted>,
    pub(super) ticket: Ticket,
}

/// The result of a tap.
enum TapOutcome {
    /// A reply to the person, and acts in the session.
    Acts(String, Vec<Act>),
    /// The same, and the buttons of the message are removed.
    StripAnd(String, Vec<Act>),
    /// Selects or deselects this option.
    Pick(Pick, usize),
    /// Asks for free text.
    Words,
    /// Sends a list to choose from, or a confirmation.
    Menu(Box<Card>),
    /// Sends the card again.
    Again,
    /// Sends the full text of the card's question.
    Whole,
}

impl ChatState {
    pub(super) fn on_tap(&mut self, tap: Tap) {
        let Some(press) = button::read(&tap.data) else { return self.effects.only_answer(tap, NOT_OURS) };
        if let (Button::UseHeard | Button::DropHeard, Some(tag)) = (press.button, &press.tag) {
            return self.on_heard_tap(tap, press.button, tag);
        }
        if let (Button::Revoke, Some(tag)) = (press.button, &press.tag) {
            return self.on_revoke(tap, tag.clone());
        }
        if let (Button::Project, Some(tag)) = (press.button, &press.tag) {
            let (notes, effects) = (&mut self.notes, &mut self.effects);
            return self.projects.on_tap(&self.access, notes, effects, tap, tag);
        }
        if let (
            Button::SeeWork
            | Button::ApplyWork
            | Button::DiscardWork
            | Button::Sure(Grave::Discard)
            | Button::ReviseWork,
            Some(tag),
        ) = (press.button, &press.tag)
        {
            let (notes, effects) = (&mut self.notes, &mut self.effects);
            return self.works.on_tap(notes, effects, tap, press.button, tag);
        }
        if press.button == Button::NoCancel
            && press.tag.as_ref().is_some_and(|tag| self.works.is_waiting(tag))
        {
            return self.effects.too_late(tap, NOTHING_CHANGED);
        }
        if press.button == Button::BeginNew {
            return self.on_begin_new(tap);
        }
        if let (Button::OtherWay, Some(tag)) = (press.button, &press.tag) {
            return on_overrule(&mut self.effects, tap, tag.clone(), self.now);
        }
        if let (Button::KeepLearning | Button::DropLearning, Some(tag)) = (press.button, &press.tag) {
            let keeps = press.button == Button::KeepLearning;
            return on_learning((&self.projects, &self.access), &mut self.effects, tap, tag.clone(), keeps);
        }
        if let (Button::File(place), Some(tag)) = (press.button, &press.tag) {
            return self.recent.on_tap(&self.notes, &mut self.effects, tap, tag, place);
        }
        let Some(key) = self.pressed(tap.room, &press) else {
            if press.tag.as_ref().is_some_and(|tag| self.notes.is_open(tag)) {
                return self.effects.only_answer(tap, ELSEWHERE);
            }
            let words = self.about_old(tap.room, &press);
            return self.effects.too_late(tap, &words);
        };
        let Some(shown) = self.sessions.get(&key.session) else { return self.effects.too_late(tap, EXPIRED) };
        if !shown.allows(tap.by, &self.notes) {
            return self.effects.only_answer(tap, NOT_YOURS);
        }
        if key.question.as_str() == STOP {
            return self.carry(tap, &key, TapOutcome::Acts(STOPPING.to_owned(), vec![Act::Stop]));
        }
        if press.button == Button::AskCancel
            && (self.sessions.is_in_front(&key) || key.question.as_str() == FAILED)
        {
            let asked = card::cancelling(&shown.presenter, &key.tag());
            return self.carry(tap, &key, TapOutcome::Menu(Box::new(asked)));
        }
        if press.button == Button::NoCancel {
            return self.carry(tap, &key, TapOutcome::StripAnd(NOTHING_CHANGED.to_owned(), Vec::new()));
        }
        if key.question.as_str() == FAILED {
            let act = match press.button {
                Button::Again => Act::Restart,
                _ => Act::Cancel { reason: None },
            };
            self.cards.forget_tag(tap.room.chat, &key);
            return self.carry(tap, &key, TapOutcome::StripAnd(String::new(), vec![act]));
        }
        if !self.sessions.is_in_front(&key) {
            let answer = card::answer(&shown.presenter, &key.question);
            return self.effects.too_late(tap, &about(answer.as_deref()));
        }
        if press.button == Button::Snooze {
            let written = (&mut self.notes, &mut self.effects);
            self.reminders.snooze(&self.sessions, written, &key, self.now);
            return self.effects.only_answer(tap, "💤 I will remind you in an hour.");
        }
        match TurnCard::read(&key.question) {
            Some(_) if press.button == Button::Jump => self.carry(tap, &key, TapOutcome::Again),
            Some(card) => self.on_turn_tap(tap, &key, press.button, &card),
            // Whoever is not asked yet may look, and end the task.
            None if !matches!(press.button, Button::Whole | Button::Jump | Button::Cancel)
                && let Some(time) = shown.withheld(&key.question, tap.by, self.now) =>
            {
                self.effects.only_answer(tap, &card::withheld(time));
            }
            None => {
                let outcome = self.outcome(&tap, press.button, &key);
                self.carry(tap, &key, outcome);
            }
        }
    }

    /// Finds the card of a button. A button without a tag belongs to the current question, if its question number
    /// matches.
    fn pressed(&self, room: Room, press: &Press) -> Option<CardKey> {
        if let Some(tag) = &press.tag {
            return self.cards.by_tag(room.chat, tag).cloned();
        }
        let (id, shown) = self.sessions.planning(room)?;
        match press.button {
            Button::Answer(question, _) | Button::Pick(_, question, _) => {
                let (number, focus) = shown.presenter.collecting()?;
                (number == question).then(|| CardKey::of(id, focus))
            }
            Button::Done
            | Button::Type
            | Button::Words
            | Button::BeginNew
            | Button::Recommended
            | Button::SendDraft
            | Button::TakeOffer
            | Button::AlwaysOffer
            | Button::Myself
            | Button::OtherWay
            | Button::KeepLearning
            | Button::DropLearning
            | Button::Back
            | Button::Confirm
            | Button::Edit
            | Button::EditQuestion(_)
            | Button::EditCancel
            | Button::AskCancel
            | Button::Cancel
            | Button::NoCancel
            | Button::Sure(_)
            | Button::Whole
            | Button::Jump
            | Button::Again
            | Button::Approve
            | Button::Choose
            | Button::Run
            | Button::Preview(_)
            | Button::Page(..)
            | Button::Skip
            | Button::GoOn
            | Button::Redo
            | Button::Undo
            | Button::UndoRest
            | Button::Report
            | Button::Accept
            | Button::Restore
            | Button::Snooze
            | Button::Revoke
            | Button::Stop
            | Button::UseHeard
            | Button::DropHeard
            | Button::SeeWork
            | Button::ApplyWork
            | Button::DiscardWork
            | Button::ReviseWork
            | Button::Project
            | Button::File(_) => shown.presenter.focus().first().map(|focus| CardKey::of(id, focus)),
        }
    }

    /// The reply to a tap on a card of an unknown session, which is over or was never in this chat.
    fn about_old(&self, room: Room, press: &Press) -> String {
        if let Some(tag) = &press.tag {
            return self.notes.old(room.chat, tag).map_or_else(|| EXPIRED.to_owned(), about);
        }
        match (press.button, self.sessions.planning(room)) {
            (Button::Answer(question, _) | Button::Pick(_, question, _), Some((_, shown))) => {
                let id = shown.presenter.clarifying().nth(question);
                about(id.and_then(|id| card::answer(&shown.presenter, id)).as_deref())
            }
            (_, Some(_)) => NOT_ASKED.to_owned(),
            (_, None) => EXPIRED.to_owned(),
        }
    }

    /// Decides the effect of a button whose card is in front of the person.
    fn outcome(&self, tap: &Tap, button: Button, key: &CardKey) -> TapOutcome {
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
                Some(choice) if card::is_no(question, choice) => {
                    let words = format!("⛔ {}", card::short(&choice.label, 100));
                    TapOutcome::Acts(words, answer(Reply::Choices(vec![option])))
                }
                Some(choice) => {
                    TapOutcome::Acts(thanks_for(&round, &choice.label), answer(Reply::Choices(vec![option])))
                }
                None => nothing("There is no such option."),
            },
            Button::Pick(pick, _, option) if option < question.options.len() => {
                TapOutcome::Pick(pick, option)
            }
            Button::Pick(..) => nothing("There is no such option."),
            Button::Done => match self.notes.chosen(key, tap.seen.as_ref()) {
                chosen if chosen.is_empty() => nothing("Choose at least one option first."),
                chosen => {
                    TapOutcome::Acts(String::new(), answer(Reply::Choices(chosen.into_iter().collect())))
                }
            },
            Button::Type if question.free_text => TapOutcome::Words,
            Button::Type => nothing("Please use the buttons."),
            Button::Words => match &tap.about {
                Some(_) if !shown.takes_words(&key.question) => {
                    nothing("Please use the buttons of that question.")
                }
                Some(Quoted { text, .. }) => {
                    TapOutcome::StripAnd("Taken.".to_owned(), answer(in_words(question, text.clone())))
                }
                None => nothing("I no longer have that text. Please reply to the question itself."),
            },
            Button::SendDraft => {
                let act = Act::SendDraft { question: key.question.clone() };
                TapOutcome::Acts("📨 The draft is sent".to_owned(), vec![act])
            }
            Button::TakeOffer | Button::AlwaysOffer => {
                let (question, always) = (key.question.clone(), button == Button::AlwaysOffer);
                let rule = always.then(|| Act::AlwaysAnswer { question: question.clone() });
                let acts = [Act::TakeOffer { question }].into_iter().chain(rule).collect();
                TapOutcome::Acts("🕘 As before".to_owned(), acts)
            }
            Button::Myself => {
                let (question, reason) = (key.question.clone(), "the person answers it".to_owned());
                let act = Act::PassOn { question, class: None, reason };
                TapOutcome::Acts("✋ It is yours.".to_owned(), vec![act])
            }
            Button::Recommended => TapOutcome::Acts("⭐ As recommended".to_owned(), recommended(&round)),
            Button::Back => TapOutcome::Acts(String::new(), vec![Act::Back]),
            Button::Confirm => TapOutcome::Acts("🚀 Starting...".to_owned(), vec![Act::Confirm]),
            Button::Edit => TapOutcome::Menu(Box::new(card::edit_menu(&shown.presenter, &key.tag()))),
            Button::EditQuestion(number) => match shown.presenter.clarifying().nth(number) {
                Some(question) => {
                    TapOutcome::StripAnd(String::new(), vec![Act::Reopen { question: question.clone() }])
                }
                None => nothing("There is no such question."),
            },
            Button::EditCancel if item.previous.is_some() => {
                TapOutcome::Acts(String::new(), vec![Act::Keep { question: key.question.clone() }])
            }
            Button::EditCancel => TapOutcome::StripAnd(NOTHING_CHANGED.to_owned(), Vec::new()),
            Button::Cancel => TapOutcome::StripAnd(String::new(), vec![Act::Cancel { reason: None }]),
            Button::Whole => TapOutcome::Whole,
            Button::Jump => TapOutcome::Again,
            Button::Again
            | Button::BeginNew
            | Button::OtherWay
            | Button::KeepLearning
            | Button::DropLearning
            | Button::AskCancel
            | Button::NoCancel
            | Button::Sure(_)
            | Button::Approve
            | Button::Choose
            | Button::Run
            | Button::Preview(_)
            | Button::Page(..)
            | Button::Skip
            | Button::GoOn
            | Button::Redo
            | Button::Undo
            | Button::UndoRest
            | Button::Report
            | Button::Accept
            | Button::Restore
            | Button::Snooze
            | Button::Revoke
            | Button::Stop
            | Button::UseHeard
            | Button::DropHeard
            | Button::SeeWork
            | Button::ApplyWork
            | Button::DiscardWork
            | Button::ReviseWork
            | Button::Project
            | Button::File(_) => nothing(NOT_ASKED),
        }
    }

    /// Executes the result of a tap. The tap is answered at once, or when its acts are durable.
    fn carry(&mut self, tap: Tap, key: &CardKey, outcome: TapOutcome) {
        let Tap { room, by, query, message, seen, about, ticket, .. } = tap;
        let (words, acts) = match outcome {
            TapOutcome::Acts(words, acts) => {
                // This message is a copy of the card whose arrival was not noted because of a kill, so closing the card
                // would not edit it.
                let is_copy =
                    |message: &i32| self.notes.of_card(key).is_some_and(|note| !note.shown.contains(message));
                if let Some(copy) = message.filter(|message| !acts.is_empty() && is_copy(message)) {
                    self.effects.strip(room, copy);
                }
                (words, acts)
            }
            TapOutcome::StripAnd(words, acts) => {
                if let Some(message) = message {
                    self.effects.strip(room, message);
                }
                (words, acts)
            }
            TapOutcome::Pick(pick, option) => {
                let mut picks = Picks { chosen: self.notes.chosen(key, seen.as_ref()), page: 0 };
                match pick {
                    Pick::TakeIn => drop(picks.chosen.insert(option)),
                    Pick::LeaveOut => drop(picks.chosen.remove(&option)),
                }
                self.notes.picked(&mut self.effects, key, Some(picks));
                self.refresh_buttons(room, key, message);
                (String::new(), Vec::new())
            }
            TapOutcome::Words => {
                let asked = prompt(room, message, "✍️ Type your answer:", "Your answer");
                let then = AfterSend::Prompt(key.clone());
                self.effects.send_then(room, Outgoing::Message(asked), then);
                (String::new(), Vec::new())
            }
            TapOutcome::Menu(menu) => {
                self.effects.send_card(room, &menu);
                (String::new(), Vec::new())
            }
            TapOutcome::Again => {
                self.show_again(room, key);
                (String::new(), Vec::new())
            }
            TapOutcome::Whole => {
                self.send_whole(room, key);
                (String::new(), Vec::new())
            }
        };
        let ops: Vec<_> = acts.into_iter().map(|act| SessionOp::Act(key.session.clone(), act)).collect();
        if ops.is_empty() {
            self.effects.answer_tap(query, &words);
            return self.effects.finish(ticket);
        }
        // The tap is not confirmed before its acts are on disk.
        let thanks =
            query.filter(|query| self.effects.is_first_answer(query)).map(|query| Thanks { query, words });
        // A message that replies to the person's text has only buttons that use that text as an answer.
        let answer = about.map(|said| TypedAnswer { message: said.message, card: key.clone() });
        self.effects.operate_for((room, by), ops, thanks, ticket, answer.map(Becomes::Answer));
    }

    /// Sends the full text of which a card has only the beginning. Cards of earlier versions had only this button at
    /// first; such a card is shown again with its other buttons.
    fn send_whole(&mut self, room: Room, key: &CardKey) {
        if self.card(key).is_some_and(|(_, card)| card.before.is_some()) {
            return self.show_again(room, key);
        }
        let shown = self.sessions.get(&key.session);
        let whole = shown.and_then(|shown| card::whole(&shown.presenter, &key.question));
        let Some(whole) = whole else { return self.show_again(room, key) };
        self.effects.want(Effect::Send { chat: room.chat, messages: outgoing(room, whole), then: None });
    }

    /// Shows a card again at the end of the chat, and removes the buttons of its earlier messages.
    pub(super) fn show_again(&mut self, room: Room, key: &CardKey) {
        let Some((home, card)) = self.card(key) else { return };
        if home.chat != room.chat {
            self.effects.say(room, "I have shown it again in its own chat.");
        }
        for message in self.notes.of_card(key).map(|note| note.shown.clone()).unwrap_or_default() {
            self.effects.strip(home, message);
        }
        self.cards.show_whole(&mut self.effects, home, card, key);
    }
}

/// A text as an answer. At a decision such as a permission, a label, a number, a yes or a no has the effect of the
/// corresponding button, because any other text denies the permission or has the plan made again. A number without a
/// button is refused.
pub(super) fn in_words(question: &Question, text: String) -> Reply {
    if card::is_listed(question) {
        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        return Reply::Words(words.map(str::to_owned).collect());
    }
    if matches!(question.purpose, Purpose::Clarify | Purpose::Elicit(_)) {
        return Reply::Text(text);
    }
    // A transcribed voice message ends with a full stop.
    let said = Reply::Words(vec![text.trim().trim_end_matches(['.', '!']).to_owned()]);
    match question.resolve(&said) {
        Ok(_) | Err(Refusal::NoSuchOption { .. }) => said,
        Err(_) => Reply::Text(text),
    }
}

fn about(answer: Option<&str>) -> String {
    answer.map_or_else(
        || NOT_ASKED.to_owned(),
        |answer| format!("Already answered: {}", card::short(answer, 150)),
    )
}

/// The confirmation of a tap on an option. After the last answer of a round, the planner needs some time for the next
/// one.
fn thanks_for(round: &RoundView<'_>, label: &str) -> String {
    let open = round.items.iter().filter(|item| item.given.is_none()).count();
    match (open, round.asker) {
        (1, rapport_core::Asker::Planner) => "✓ Reviewing your answers…".to_owned(),
        _ => format!("✓ {}", card::short(label, 100)),
    }
}

/// Answers every open question of a round with its recommended option.
fn recommended(round: &RoundView<'_>) -> Vec<Act> {
    let open = round.items.iter().filter(|item| item.given.is_none());
    let answer = |question: &Question| {
        let option = question.options.iter().position(|option| option.recommended)?;
        Some(Act::Answer { question: Some(question.id.clone()), reply: Reply::Choices(vec![option]) })
    };
    open.filter_map(|item| answer(item.question)).collect()
}

/// A message that asks for free text, as a reply to a card.
pub(super) fn prompt(room: Room, card: Option<i32>, words: &str, placeholder: &str) -> OutgoingMessage {
    use crate::bot_api::{ForceReply, ReplyMarkup};
    let ask = ForceReply { force_reply: true, input_field_placeholder: placeholder.into(), selective: true };
    OutgoingMessage {
        keyboard: Some(ReplyMarkup::ForceReply(ask)),
        thread: thread(room),
        reply_to: card,
        ..OutgoingMessage::new(&Text::new().plain(words))
    }
}
