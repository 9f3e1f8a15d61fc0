//! Keeps the chat consistent with the session: each new question gets a new message, and a question that is closed
//! loses its buttons.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Focus, QuestionId, SessionId, TurnCard};

use super::announcements::outgoing;
use super::button::Tag;
use super::card::turn::ItemList;
use super::card::{self, Card};
use super::chat_state::{ChatState, private};
use super::effect::{AfterSend, Effect};
use super::notes::CardNote;
use super::projects::Projects;
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;
use crate::text::Text;

/// How often undelivered cards are retried without any other trigger.
const RETRY: SignedDuration = SignedDuration::from_mins(10);

/// One showing of a question: it is in front of the person since this entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CardKey {
    pub(super) session: SessionId,
    pub(super) question: QuestionId,
    pub(super) since: u64,
}

impl CardKey {
    /// The key of a question that is in front of the person.
    pub(super) fn of(session: &SessionId, focus: &Focus) -> Self {
        Self { session: session.clone(), question: focus.question.clone(), since: focus.since }
    }

    /// The tag on the buttons of the card.
    pub(super) fn tag(&self) -> Tag {
        Tag::of(&self.session, &self.question, self.since)
    }
}

/// Where cards are shown, and which ones are being sent.
#[derive(Debug, Default)]
pub(super) struct Cards {
    /// Cards by chat and button tag.
    tags: HashMap<(i64, Tag), CardKey>,
    /// Cards by chat and message.
    messages: HashMap<(i64, i32), CardKey>,
    /// Cards that are being sent.
    pending: HashSet<CardKey>,
    /// Cards that were not delivered. They are sent again when the chat accepts messages again, or when a person does
    /// something in it.
    refused: HashSet<CardKey>,
    /// Cards whose buttons are being removed.
    closing: HashSet<CardKey>,
    /// When undelivered cards were last retried without any other trigger.
    retried: Timestamp,
}

impl Cards {
    /// Makes the buttons of this card work in a chat. Returns whether they did not work there before.
    pub(super) fn know_tag(&mut self, chat: i64, key: &CardKey) -> bool {
        self.tags.insert((chat, key.tag()), key.clone()).is_none()
    }

    pub(super) fn forget_tag(&mut self, chat: i64, key: &CardKey) {
        self.tags.remove(&(chat, key.tag()));
    }

    /// The card of a button. In a private chat, buttons of every chat work, because `/status` lists the person's open
    /// questions of all chats there.
    pub(super) fn by_tag(&self, chat: i64, tag: &Tag) -> Option<&CardKey> {
        let anywhere = || self.tags.iter().find(|((_, known), _)| known == tag).map(|(_, key)| key);
        self.tags.get(&(chat, tag.clone())).or_else(|| anywhere().filter(|_| chat > 0))
    }

    pub(super) fn know_message(&mut self, chat: i64, message: i32, key: &CardKey) {
        self.messages.insert((chat, message), key.clone());
    }

    pub(super) fn by_message(&self, chat: i64, message: i32) -> Option<&CardKey> {
        self.messages.get(&(chat, message))
    }

    /// Forgets the cards of a session.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.refused.retain(|card| card.session != *id);
        self.tags.retain(|_, card| card.session != *id);
        self.messages.retain(|_, card| card.session != *id);
    }

    /// Whether any card is being sent.
    pub(super) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a card of this session is being sent.
    pub(super) fn are_pending_of(&self, id: &SessionId) -> bool {
        self.pending.iter().any(|card| card.session == *id)
    }

    /// Whether this card is being sent.
    pub(super) fn is_pending(&self, key: &CardKey) -> bool {
        self.pending.contains(key)
    }

    /// Whether this card was not delivered.
    pub(super) fn is_refused(&self, key: &CardKey) -> bool {
        self.refused.contains(key)
    }

    /// A card that is being sent to a chat.
    pub(super) fn pending_in(&self, sessions: &ShownSessions, chat: i64) -> Option<&CardKey> {
        self.pending.iter().find(|key| sessions.is_in_chat(&key.session, chat))
    }

    /// Undelivered cards of a chat that are not being sent.
    fn refused_in(&self, sessions: &ShownSessions, chat: i64) -> Vec<CardKey> {
        let again = |key: &&CardKey| sessions.is_in_chat(&key.session, chat) && !self.pending.contains(*key);
        self.refused.iter().filter(again).cloned().collect()
    }

    /// The chats in which undelivered cards and announcements are retried now. Without any other trigger they are
    /// retried from time to time, because the obstacle may have disappeared.
    pub(super) fn retry(&mut self, sessions: &ShownSessions, now: Timestamp) -> BTreeSet<i64> {
        if now.duration_since(self.retried) < RETRY {
            return BTreeSet::new();
        }
        self.retried = now;
        let is_refused = |id: &SessionId| self.refused.iter().any(|key| key.session == *id);
        let here = sessions.iter().filter(|(id, shown)| shown.announcements.are_refused() || is_refused(id));
        here.map(|(_, shown)| shown.room.chat).collect()
    }

    /// Sends the card of a question to its room, and makes its buttons work there.
    fn show(&mut self, effects: &mut Effects, room: Room, card: Card, key: &CardKey) {
        self.know_tag(room.chat, key);
        self.show_whole(effects, room, card, key);
    }

    /// Sends the text that does not fit on a card, and the card itself once that text has arrived, so that a person who
    /// is asked for a permission has seen all of it.
    pub(super) fn show_whole(&mut self, effects: &mut Effects, room: Room, mut card: Card, key: &CardKey) {
        let Some(before) = card.before.take() else { return self.post(effects, room, &card, key) };
        self.pending.insert(key.clone());
        let (messages, then) = (outgoing(room, before), Some(AfterSend::Before(key.clone())));
        effects.want(Effect::Send { chat: room.chat, messages, then });
    }

    /// Sends a card. The id of its message is recorded when the card has arrived.
    pub(super) fn post(&mut self, effects: &mut Effects, room: Room, card: &Card, key: &CardKey) {
        self.pending.insert(key.clone());
        effects.send_then(room, Outgoing::Message(card.message(room)), AfterSend::Card(key.clone()));
    }

    /// Handles a card that Telegram refused. The card waits until the chat accepts messages again, or until a person
    /// does something in it. The host is told once, and so is the owner in their private chat, because they may not
    /// know that a question waits.
    fn not_taken(
        &mut self,
        (sessions, projects): (&ShownSessions, &Projects),
        effects: &mut Effects,
        key: &CardKey,
        why: &ApiError,
    ) {
        let is_news = self.refused.insert(key.clone());
        let passes = matches!(why, ApiError::Full | ApiError::Stopped);
        let Some(shown) = sessions.get(&key.session).filter(|_| is_news && !passes) else { return };
        let (session, why) = (projects.address(&key.session), why.to_string());
        if let Some(alone) = private(shown.owner).filter(|alone| alone.chat != shown.room.chat) {
            let task = card::short(card::title(shown.presenter.session().created()), 200);
            let words = format!(
                "❗ A question about \"{task}\" waits, and I cannot show it in its chat: {why}.\n\n\
                 I show it there as soon as somebody writes there, or you answer it at the computer: \
                 rapport answer {session}"
            );
            effects.say(alone, &words);
        }
        effects.want(Effect::Notify(Notice::Unshown { session, why }));
    }

    /// Makes the buttons and messages of a card work that an earlier process sent. Returns whether they did not work
    /// before.
    fn know(&mut self, chat: i64, key: &CardKey, note: &CardNote) -> bool {
        let is_new = self.know_tag(chat, key);
        for message in note.shown.iter().chain(&note.prompts).filter(|_| is_new) {
            self.know_message(chat, *message, key);
        }
        is_new
    }

    /// Replaces a card on its messages by the outcome of its question, and removes the messages that ask for free text.
    fn close(
        &mut self,
        effects: &mut Effects,
        (room, closed): (Room, &Card),
        key: &CardKey,
        note: &CardNote,
    ) {
        if !self.closing.insert(key.clone()) {
            return;
        }
        self.know_tag(room.chat, key);
        let shown = note.shown.iter().map(|message| Outgoing::Edit(closed.edit(*message)));
        let prompts = note.prompts.iter().map(|message| Outgoing::Delete { message: *message });
        let messages = shown.chain(prompts).collect();
        let then = Some(AfterSend::Close(key.clone()));
        effects.want(Effect::Send { chat: room.chat, messages, then });
    }

    /// Handles the move of a chat with these sessions: its buttons may still be pressed, but its messages can no longer
    /// be edited. Cards that the old chat refused may be sent to the new one.
    pub(super) fn move_chat(&mut self, from: i64, to: i64, moved: &[SessionId]) {
        self.refused.retain(|card| !moved.contains(&card.session));
        self.messages.retain(|(chat, _), _| *chat != from);
        let tags = std::mem::take(&mut self.tags).into_iter();
        self.tags =
            tags.map(|((chat, tag), key)| ((if chat == from { to } else { chat }, tag), key)).collect();
    }
}

impl ChatState {
    /// Updates the cards of a session.
    pub(super) fn show_cards(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let chat = shown.room.chat;
        let in_front: Vec<_> = shown.presenter.focus().iter().map(|focus| CardKey::of(id, focus)).collect();
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        // New cards come first, because a person waits for them.
        for key in &in_front {
            let is_sent = self.cards.is_pending(key) || self.cards.is_refused(key);
            if !is_sent && !self.notes.is_known(key) {
                self.show(key);
            }
        }
        for note in cards.iter().filter(|card| !card.closed) {
            let key = CardKey { session: id.clone(), question: note.question.clone(), since: note.since };
            if !in_front.contains(&key) {
                let Some((room, closed)) = self.closed_card(&key) else { continue };
                self.cards.close(&mut self.effects, (room, &closed), &key, note);
            } else if self.cards.know(chat, &key, note) {
                self.reminders.schedule(&self.sessions, &self.notes, &key, None);
            }
        }
    }

    fn show(&mut self, key: &CardKey) {
        if let Some((room, card)) = self.card(key) {
            self.cards.show(&mut self.effects, room, card, key);
        }
    }

    /// Handles the arrival, or the failure, of the text that has to precede a card.
    pub(super) fn on_shown_before(&mut self, key: &CardKey, error: Option<ApiError>) {
        let card = self.card(key).filter(|_| self.sessions.is_in_front(key));
        match (error, card) {
            (None, Some((room, card))) => return self.cards.post(&mut self.effects, room, &card, key),
            (Some(why), Some(_)) => {
                self.cards.pending.remove(key);
                self.cards.not_taken((&self.sessions, &self.projects), &mut self.effects, key, &why);
            }
            // The question was answered while the text was being sent.
            (_, None) => {
                self.cards.pending.remove(key);
                self.refresh(&key.session);
            }
        }
        self.look_at_early(key);
    }

    /// Retries the undelivered cards and announcements of a chat, because a person is active there or the bot may write
    /// there again.
    pub(super) fn show_refused(&mut self, chat: i64) {
        for key in self.cards.refused_in(&self.sessions, chat) {
            if self.sessions.is_in_front(&key) {
                self.show(&key);
            } else {
                self.cards.refused.remove(&key);
            }
        }
        self.tell_again(chat);
    }

    /// Handles the arrival, or the refusal, of a card.
    pub(super) fn on_card_sent(&mut self, key: &CardKey, sent: Result<Sent, ApiError>) {
        self.cards.pending.remove(key);
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let message = match sent {
            Ok(Sent::Posted(message)) => message,
            // Only jobs other than messages have these outcomes.
            Ok(Sent::Done | Sent::Dropped) => return,
            Err(why) => {
                let known = (&self.sessions, &self.projects);
                return self.cards.not_taken(known, &mut self.effects, key, &why);
            }
        };
        self.cards.refused.remove(key);
        self.cards.know_message(shown.room.chat, message, key);
        self.notes.shown(&mut self.effects, key, message);
        if let Some((room, closed)) = self.closed_card(key).filter(|_| !self.sessions.is_in_front(key)) {
            // The question was answered on another message while this one was being sent. The other message is already
            // closed.
            self.effects.send(room, Outgoing::Edit(closed.edit(message)));
        }
        self.reminders.schedule(&self.sessions, &self.notes, key, Some(self.now));
        self.refresh(&key.session);
    }

    /// Handles the arrival of a message that asks for free text. A reply to that message answers the question.
    pub(super) fn on_prompted(&mut self, key: &CardKey, message: Option<i32>) {
        let chat = self.sessions.get(&key.session).map(|shown| shown.room.chat);
        if let (Some(chat), Some(message)) = (chat, message) {
            self.cards.know_message(chat, message, key);
            self.notes.prompted(&mut self.effects, key, message);
        }
    }

    /// The text that replaces a card whose question is no longer in front of the person, and the room of the card.
    fn closed_card(&self, key: &CardKey) -> Option<(Room, Card)> {
        let shown = self.sessions.get(&key.session)?;
        let text = card::closed(&shown.presenter, &key.question);
        let text = text.unwrap_or_else(|| Text::new().plain("Over."));
        let text = self.projects.labelled(&self.notes, &key.session, shown.room, text);
        let rows = card::other_way(&key.session, &shown.presenter, &key.question);
        Some((shown.room, Card { rows, ..Card::plain(text) }))
    }

    /// The card of a question that is in front of the person, and the room of the card.
    pub(super) fn card(&self, key: &CardKey) -> Option<(Room, Card)> {
        let shown = self.sessions.get(&key.session)?;
        let focus = shown.presenter.focus().iter().find(|focus| focus.question == key.question)?;
        let picks = self.notes.of_card(key).and_then(|note| note.picks.as_ref());
        if let Some(turn) = TurnCard::read(&key.question) {
            let list = picks.map(|picks| ItemList { chosen: &picks.chosen, page: picks.page });
            let card = card::turn::open(shown.presenter.session(), &key.tag(), &turn, list)?;
            let text = self.projects.labelled(&self.notes, &key.session, shown.room, card.text);
            return Some((shown.room, Card { text, ..card }));
        }
        let nothing = BTreeSet::new();
        let chosen = picks.map_or(&nothing, |picks| &picks.chosen);
        let card = card::open(&key.session, &shown.presenter, focus, chosen, self.now)?;
        let text = self.projects.labelled(&self.notes, &key.session, shown.room, card.text);
        Some((shown.room, Card { text, ..card }))
    }

    /// Updates the check boxes on a card's message.
    pub(super) fn refresh_buttons(&mut self, room: Room, key: &CardKey, message: Option<i32>) {
        if let (Some((_, card)), Some(message)) = (self.card(key), message) {
            self.effects.send(room, Outgoing::Buttons { message, keyboard: card.keyboard() });
        }
    }

    /// Edits these cards, because what the lead does with their questions has changed.
    pub(super) fn redraw(&mut self, keys: Vec<CardKey>) {
        for key in keys {
            let message = self.notes.of_card(&key).and_then(|note| note.shown.last().copied());
            if let (Some((room, card)), Some(message)) = (self.card(&key), message) {
                self.effects.send(room, Outgoing::Edit(card.edit(message)));
            }
        }
    }

    /// Handles the end of closing a card: its messages are updated, or no longer exist.
    pub(super) fn on_closed(&mut self, key: &CardKey) {
        self.cards.closing.remove(key);
        if self.sessions.contains_key(&key.session) {
            self.notes.closed(&mut self.effects, key);
            self.finish_if_over(&key.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Room = Room { chat: 42, topic: None };

    fn key(question: &str) -> CardKey {
        CardKey { session: SessionId::new("s"), question: QuestionId::new(question), since: 3 }
    }

    fn kinds(effects: &mut Effects) -> Vec<String> {
        effects.take(|_| false).iter().map(|effect| rapport_door::variant(effect)).collect()
    }

    /// The private chat lists the open questions of all chats; in a group only its own buttons work.
    #[test]
    fn a_button_works_in_its_chat_and_in_private_chats() {
        let mut cards = Cards::default();
        assert!(cards.know_tag(-7, &key("q")) && !cards.know_tag(-7, &key("q")));
        for (chat, works) in [(-7, true), (42, true), (-8, false)] {
            assert_eq!(cards.by_tag(chat, &key("q").tag()).is_some(), works, "{chat}");
        }
        cards.forget_tag(-7, &key("q"));
        assert_eq!(cards.by_tag(42, &key("q").tag()), None);
    }

    #[test]
    fn buttons_follow_a_chat_that_moves_and_messages_do_not() {
        let mut cards = Cards::default();
        cards.know_tag(-7, &key("q"));
        cards.know_message(-7, 9, &key("q"));
        cards.refused.insert(key("r"));
        cards.move_chat(-7, -100, &[SessionId::new("s")]);
        assert_eq!(cards.by_tag(-100, &key("q").tag()), Some(&key("q")));
        assert_eq!((cards.by_message(-7, 9), cards.by_message(-100, 9)), (None, None));
        assert!(!cards.is_refused(&key("r")), "the new chat may accept it");
    }

    #[test]
    fn a_card_is_closed_once_on_all_its_messages() {
        let (mut cards, mut effects) = (Cards::default(), Effects::default());
        let note = CardNote { shown: vec![7, 8], prompts: vec![9], ..CardNote::new(QuestionId::new("q"), 3) };
        let over = Card::plain(Text::new().plain("Over."));
        for _ in 0..2 {
            cards.close(&mut effects, (HOME, &over), &key("q"), &note);
        }
        let sent = effects.take(|_| false);
        let [Effect::Send { messages, then: Some(AfterSend::Close(closed)), .. }] = &sent[..] else {
            panic!("{sent:?}")
        };
        assert_eq!((messages.len(), closed), (3, &key("q")));
        assert!(matches!(messages.last(), Some(Outgoing::Delete { message: 9 })));
    }

    #[test]
    fn what_an_earlier_process_has_shown_works_again() {
        let mut cards = Cards::default();
        let note = CardNote { shown: vec![7], prompts: vec![9], ..CardNote::new(QuestionId::new("q"), 3) };
        assert!(cards.know(42, &key("q"), &note), "it is new to this process");
        assert!(!cards.know(42, &key("q"), &note));
        assert_eq!((cards.by_message(42, 7), cards.by_message(42, 9)), (Some(&key("q")), Some(&key("q"))));
    }

    #[test]
    fn a_card_waits_for_the_text_that_does_not_fit_it() {
        let (mut cards, mut effects) = (Cards::default(), Effects::default());
        let text = Text::new().plain("long");
        let before = Some(crate::split::Reply::Messages(vec![text.clone()]));
        cards.show(&mut effects, HOME, Card { before, ..Card::plain(text) }, &key("q"));
        let sent = effects.take(|_| false);
        assert!(matches!(&sent[..], [Effect::Send { then: Some(AfterSend::Before(_)), .. }]), "{sent:?}");
        assert!(cards.are_pending() && cards.are_pending_of(&SessionId::new("s")));
        cards.show(&mut effects, HOME, Card::plain(Text::new().plain("short")), &key("r"));
        assert_eq!(kinds(&mut effects), ["Send"]);
    }

    #[test]
    fn undelivered_cards_are_retried_at_intervals() {
        let (mut cards, sessions) = (Cards::default(), ShownSessions::default());
        let at = |minutes: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        let mut retried = |minutes| {
            cards.retry(&sessions, at(minutes));
            cards.retried
        };
        assert_eq!([retried(100), retried(109), retried(110)], [100, 100, 110].map(at));
    }
}
