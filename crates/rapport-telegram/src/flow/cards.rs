//! Keeps the chat in step with the session: a new message for every new question, and no buttons on one that is over.

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
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;
use crate::text::Text;

/// How often undelivered cards are retried without any other trigger.
const RETRY: SignedDuration = SignedDuration::from_mins(10);

/// One showing of a question, with the entry since which it is in front of the person.
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

    /// The tag on its buttons.
    pub(super) fn tag(&self) -> Tag {
        Tag::of(&self.session, &self.question, self.since)
    }
}

/// Where cards are shown, and which are being sent.
#[derive(Debug, Default)]
pub(super) struct CardIndex {
    /// Cards by chat and button tag.
    tags: HashMap<(i64, Tag), CardKey>,
    /// Cards by chat and message.
    messages: HashMap<(i64, i32), CardKey>,
    /// Cards that are being sent.
    pub(super) pending: HashSet<CardKey>,
    /// Cards that were not delivered. They are sent again when their chat opens, or when somebody does something there.
    pub(super) refused: HashSet<CardKey>,
    /// Cards whose buttons are being removed.
    closing: HashSet<CardKey>,
    /// The reminders, by due time.
    pub(super) reminders: BTreeSet<(Timestamp, CardKey)>,
}

impl CardIndex {
    /// Makes buttons of this card work in a chat. Returns whether they did not before.
    pub(super) fn know_tag(&mut self, chat: i64, key: &CardKey) -> bool {
        self.tags.insert((chat, key.tag()), key.clone()).is_none()
    }

    pub(super) fn forget_tag(&mut self, chat: i64, key: &CardKey) {
        self.tags.remove(&(chat, key.tag()));
    }

    /// The card of a button. In a private chat a person sees the open questions of all chats.
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

    /// Whether a card of this session is being sent.
    pub(super) fn is_any_pending(&self, id: &SessionId) -> bool {
        self.pending.iter().any(|card| card.session == *id)
    }

    /// Forgets the cards of a session.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.refused.retain(|card| card.session != *id);
        self.tags.retain(|_, card| card.session != *id);
        self.messages.retain(|_, card| card.session != *id);
    }

    /// A chat moved: its buttons may still be pressed, its messages cannot be edited.
    pub(super) fn move_chat(&mut self, from: i64, to: i64) {
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
        let in_front: Vec<_> = shown.presenter.focus().iter().map(|focus| CardKey::of(id, focus)).collect();
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        // New cards first: somebody waits for them.
        for key in &in_front {
            let is_sent = self.cards.pending.contains(key) || self.cards.refused.contains(key);
            if !is_sent && !self.notes.is_known(key) {
                self.show(key);
            }
        }
        for note in cards.iter().filter(|card| !card.closed) {
            let key = CardKey { session: id.clone(), question: note.question.clone(), since: note.since };
            if in_front.contains(&key) {
                self.know(&key, note);
            } else {
                self.close(&key, note);
            }
        }
    }

    /// Sends the card of a question.
    fn show(&mut self, key: &CardKey) {
        let Some((room, card)) = self.card(key) else { return };
        self.cards.know_tag(room.chat, key);
        self.show_whole(room, card, key);
    }

    /// Sends the text that does not fit a card, and the card once that has arrived: nobody is asked to allow something
    /// unseen.
    pub(super) fn show_whole(&mut self, room: Room, mut card: Card, key: &CardKey) {
        let Some(before) = card.before.take() else { return self.post(room, &card, key) };
        self.cards.pending.insert(key.clone());
        let (messages, then) = (outgoing(room, before), Some(AfterSend::Before(key.clone())));
        self.effects.want(Effect::Send { chat: room.chat, messages, then });
    }

    /// Handles the arrival, or the failure, of what has to precede a card.
    pub(super) fn on_shown_before(&mut self, key: &CardKey, error: Option<ApiError>) {
        let card = self.card(key).filter(|_| self.sessions.is_in_front(key));
        match (error, card) {
            (None, Some((room, card))) => return self.post(room, &card, key),
            (Some(why), Some(_)) => {
                self.cards.pending.remove(key);
                self.not_taken(key, &why);
            }
            // The question was answered meanwhile.
            (_, None) => {
                self.cards.pending.remove(key);
                self.refresh(&key.session);
            }
        }
        self.look_at_early(key);
    }

    /// Sends a card, and records which message it became.
    pub(super) fn post(&mut self, room: Room, card: &Card, key: &CardKey) {
        self.cards.pending.insert(key.clone());
        self.effects.send_then(room, Outgoing::Message(card.message(room)), AfterSend::Card(key.clone()));
    }

    /// Retries the undelivered cards of a chat: somebody is active there, or the bot was let in again.
    pub(super) fn show_refused(&mut self, chat: i64) {
        let is_here = |key: &CardKey| self.sessions.is_in_chat(&key.session, chat);
        let again = |key: &&CardKey| is_here(key) && !self.cards.pending.contains(*key);
        for key in self.cards.refused.iter().filter(again).cloned().collect::<Vec<_>>() {
            if self.sessions.is_in_front(&key) {
                self.show(&key);
            } else {
                self.cards.refused.remove(&key);
            }
        }
        self.tell_again(chat);
    }

    /// Retries undelivered cards periodically: the obstacle may disappear by itself.
    pub(super) fn retry_refused(&mut self) {
        if self.now.duration_since(self.retried) < RETRY {
            return;
        }
        self.retried = self.now;
        let is_refused = |id: &SessionId| self.cards.refused.iter().any(|key| key.session == *id);
        let here =
            self.sessions.iter().filter(|(id, shown)| shown.announcements.are_refused() || is_refused(id));
        let chats: BTreeSet<_> = here.map(|(_, shown)| shown.room.chat).collect();
        for chat in chats {
            self.show_refused(chat);
        }
    }

    /// Whether a card is being sent.
    pub(super) fn is_any_card_pending(&self) -> bool {
        !self.cards.pending.is_empty()
    }

    /// A card that is being sent to a chat.
    pub(super) fn pending_in(&self, chat: i64) -> Option<CardKey> {
        let is_here = |key: &CardKey| self.sessions.is_in_chat(&key.session, chat);
        self.cards.pending.iter().find(|key| is_here(key)).cloned()
    }

    /// The card of a question that is in front of the person, and its room.
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
        let card = card::open(&key.session, &shown.presenter, focus, chosen)?;
        let text = self.projects.labelled(&self.notes, &key.session, shown.room, card.text);
        Some((shown.room, Card { text, ..card }))
    }

    /// Updates the check boxes on a card's message.
    pub(super) fn refresh_buttons(&mut self, room: Room, key: &CardKey, message: Option<i32>) {
        if let (Some((_, card)), Some(message)) = (self.card(key), message) {
            self.effects.send(room, Outgoing::Buttons { message, keyboard: card.keyboard() });
        }
    }

    pub(super) fn on_card_sent(&mut self, key: &CardKey, sent: Result<Sent, ApiError>) {
        self.cards.pending.remove(key);
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let chat = shown.room.chat;
        let message = match sent {
            Ok(Sent::Posted(message)) => message,
            // Only jobs that are not messages end like this.
            Ok(Sent::Done | Sent::Dropped) => return,
            Err(why) => return self.not_taken(key, &why),
        };
        self.cards.refused.remove(key);
        self.cards.know_message(chat, message, key);
        self.notes.shown(&mut self.effects, key, message);
        if !self.sessions.is_in_front(key) {
            // It was answered on another message before this one was known. That one is closed already.
            self.close_message(key, message);
        }
        self.remind_later(key, Some(self.now));
        self.refresh(&key.session);
    }

    /// The card waits until the bot is let in again, or until somebody does something in its chat. The host is told
    /// once, and so is the owner if they can be reached, because they may not know that anything waits.
    fn not_taken(&mut self, key: &CardKey, why: &ApiError) {
        let is_news = self.cards.refused.insert(key.clone());
        let passes = matches!(why, ApiError::Full | ApiError::Stopped);
        let Some(shown) = self.sessions.get(&key.session).filter(|_| is_news && !passes) else { return };
        let (session, why) = (self.projects.address(&key.session), why.to_string());
        if let Some(alone) = private(shown.owner).filter(|alone| alone.chat != shown.room.chat) {
            let task = card::short(&shown.presenter.session().created().task, 200);
            let words = format!(
                "❗ A question about \"{task}\" waits, and I cannot show it in its chat: {why}.\n\n\
                 I show it there as soon as somebody writes there, or you answer it at the computer: \
                 rapport answer {session}"
            );
            self.effects.say(alone, &words);
        }
        self.effects.want(Effect::Notify(Notice::Unshown { session, why }));
    }

    pub(super) fn on_prompted(&mut self, key: CardKey, message: Option<i32>) {
        let chat = self.sessions.get(&key.session).map(|shown| shown.room.chat);
        if let (Some(chat), Some(message)) = (chat, message) {
            self.cards.know_message(chat, message, &key);
            self.notes.prompted(&mut self.effects, &key, message);
        }
    }

    /// Makes a card work that an earlier process has shown.
    fn know(&mut self, key: &CardKey, note: &CardNote) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let chat = shown.room.chat;
        if self.cards.know_tag(chat, key) {
            for message in note.shown.iter().chain(&note.prompts) {
                self.cards.know_message(chat, *message, key);
            }
            self.remind_later(key, None);
        }
    }

    /// Removes the buttons and shows the outcome of the question.
    fn close(&mut self, key: &CardKey, note: &CardNote) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        if !self.cards.closing.insert(key.clone()) {
            return;
        }
        let text =
            card::closed(&shown.presenter, &key.question).unwrap_or_else(|| Text::new().plain("Over."));
        let room = shown.room;
        let (chat, card) =
            (room.chat, Card::plain(self.projects.labelled(&self.notes, &key.session, room, text)));
        self.cards.know_tag(chat, key);
        let shown = note.shown.iter().map(|message| Outgoing::Edit(card.edit(*message)));
        // Nobody is asked for words any more.
        let prompts = note.prompts.iter().map(|message| Outgoing::Delete { message: *message });
        let messages = shown.chain(prompts).collect();
        self.effects.want(Effect::Send { chat, messages, then: Some(AfterSend::Close(key.clone())) });
    }

    /// Does the same for a single message.
    fn close_message(&mut self, key: &CardKey, message: i32) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let (room, text) = (shown.room, card::closed(&shown.presenter, &key.question));
        let text = text.unwrap_or_else(|| Text::new().plain("Over."));
        let card = Card::plain(self.projects.labelled(&self.notes, &key.session, room, text));
        self.effects.send(room, Outgoing::Edit(card.edit(message)));
    }

    /// The messages of a card are updated, or gone and need no edit.
    pub(super) fn on_closed(&mut self, key: &CardKey) {
        self.cards.closing.remove(key);
        if self.sessions.contains_key(&key.session) {
            self.notes.closed(&mut self.effects, key);
            self.finish_if_over(&key.session);
        }
    }
}
