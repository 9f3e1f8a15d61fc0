//! Keeps what is shown in step with what is in front of the person: a new message for every new question, and no buttons
//! on one that is over.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Focus, QuestionId, SessionId, TurnCard};

use super::announce::outgoing;
use super::button::Tag;
use super::card::{self, Card};
use super::chat_state::{ChatState, private};
use super::effect::{AfterSend, Effect};
use super::notes::CardNote;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;
use crate::text::Text;

/// How often what Telegram did not take is sent again, if nobody does anything.
const RETRY: SignedDuration = SignedDuration::from_mins(10);

/// One showing of a question: since which entry it is in front of the person.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CardKey {
    pub(super) session: SessionId,
    pub(super) question: QuestionId,
    pub(super) since: u64,
}

impl CardKey {
    /// The key of what is in front of the person.
    pub(super) fn of(session: &SessionId, focus: &Focus) -> Self {
        Self { session: session.clone(), question: focus.question.clone(), since: focus.since }
    }

    /// What its buttons know it by.
    pub(super) fn tag(&self) -> Tag {
        Tag::of(&self.session, &self.question, self.since)
    }
}

/// Where cards are, and which are on their way.
#[derive(Debug, Default)]
pub(super) struct CardIndex {
    /// Cards by chat and what their buttons carry.
    tags: HashMap<(i64, Tag), CardKey>,
    /// Cards by chat and message.
    messages: HashMap<(i64, i32), CardKey>,
    /// Cards on their way.
    pub(super) pending: HashSet<CardKey>,
    /// Cards that were not taken. They are sent again when their chat opens, or somebody does something there.
    pub(super) refused: HashSet<CardKey>,
    /// Cards whose buttons are being taken away.
    closing: HashSet<CardKey>,
    /// When to remind of what.
    pub(super) reminders: BTreeSet<(Timestamp, CardKey)>,
}

impl CardIndex {
    /// Has buttons work in a chat that belong to this card. Whether they did not before.
    pub(super) fn know_tag(&mut self, chat: i64, key: &CardKey) -> bool {
        self.tags.insert((chat, key.tag()), key.clone()).is_none()
    }

    pub(super) fn forget_tag(&mut self, chat: i64, key: &CardKey) {
        self.tags.remove(&(chat, key.tag()));
    }

    /// The card of a button. Alone with the bot somebody sees what waits for them in all chats.
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

    /// Whether a card of this session is on its way.
    pub(super) fn is_any_pending(&self, id: &SessionId) -> bool {
        self.pending.iter().any(|card| card.session == *id)
    }

    /// Forgets the cards of a session.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.refused.retain(|card| card.session != *id);
        self.tags.retain(|_, card| card.session != *id);
        self.messages.retain(|_, card| card.session != *id);
    }

    /// A chat is another now: buttons may still be pressed, messages cannot be reached.
    pub(super) fn move_chat(&mut self, from: i64, to: i64) {
        self.messages.retain(|(chat, _), _| *chat != from);
        let tags = std::mem::take(&mut self.tags).into_iter();
        self.tags =
            tags.map(|((chat, tag), key)| ((if chat == from { to } else { chat }, tag), key)).collect();
    }
}

impl ChatState {
    /// Shows what should be shown of a session, and no more.
    pub(super) fn show_cards(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let in_front: Vec<_> = shown.presenter.focus().iter().map(|focus| CardKey::of(id, focus)).collect();
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        // What is new comes first: somebody waits for it.
        for key in &in_front {
            let is_sent = self.cards.pending.contains(key) || self.cards.refused.contains(key);
            if !is_sent && !self.is_known(key) {
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

    /// Sends what does not fit a card, and the card once that has arrived: nobody is offered to allow what they have not
    /// seen.
    pub(super) fn show_whole(&mut self, room: Room, mut card: Card, key: &CardKey) {
        let Some(before) = card.before.take() else { return self.post(room, &card, key) };
        self.cards.pending.insert(key.clone());
        let (messages, then) = (outgoing(room, before), Some(AfterSend::Before(key.clone())));
        self.want(Effect::Send { chat: room.chat, messages, then });
    }

    /// What has to be there before a card has arrived, or was not taken.
    pub(super) fn on_shown_before(&mut self, key: &CardKey, error: Option<ApiError>) {
        let card = self.card(key).filter(|_| self.is_in_front(key));
        match (error, card) {
            (None, Some((room, card))) => return self.post(room, &card, key),
            (Some(why), Some(_)) => {
                self.cards.pending.remove(key);
                self.not_taken(key, &why);
            }
            // It was answered meanwhile.
            (_, None) => {
                self.cards.pending.remove(key);
                self.refresh(&key.session);
            }
        }
        self.look_at_early(key);
    }

    /// Sends a card, and notes which message it became.
    pub(super) fn post(&mut self, room: Room, card: &Card, key: &CardKey) {
        self.cards.pending.insert(key.clone());
        self.send_then(room, Outgoing::Message(card.message(room)), AfterSend::Card(key.clone()));
    }

    /// Somebody is there, or lets the bot in again: what could not be shown in a chat may be taken now.
    pub(super) fn show_refused(&mut self, chat: i64) {
        let is_here = |key: &CardKey| self.sessions.get(&key.session).is_some_and(|s| s.room.chat == chat);
        let again = |key: &&CardKey| is_here(key) && !self.cards.pending.contains(*key);
        for key in self.cards.refused.iter().filter(again).cloned().collect::<Vec<_>>() {
            if self.is_in_front(&key) {
                self.show(&key);
            } else {
                self.cards.refused.remove(&key);
            }
        }
        self.tell_again(chat);
    }

    /// Sends what was not taken once more, now and then: what stood in the way may be over without anybody's doing.
    pub(super) fn retry_refused(&mut self) {
        if self.now.duration_since(self.retried) < RETRY {
            return;
        }
        self.retried = self.now;
        let is_refused = |id: &SessionId| self.cards.refused.iter().any(|key| key.session == *id);
        let here = self.sessions.iter().filter(|(id, shown)| !shown.untold.is_empty() || is_refused(id));
        let chats: BTreeSet<_> = here.map(|(_, shown)| shown.room.chat).collect();
        for chat in chats {
            self.show_refused(chat);
        }
    }

    /// Whether a card is on its way.
    pub(super) fn is_any_card_pending(&self) -> bool {
        !self.cards.pending.is_empty()
    }

    /// A card that is on its way to a chat.
    pub(super) fn pending_in(&self, chat: i64) -> Option<CardKey> {
        let is_here = |key: &CardKey| self.sessions.get(&key.session).is_some_and(|s| s.room.chat == chat);
        self.cards.pending.iter().find(|key| is_here(key)).cloned()
    }

    /// The notes about a card, if any.
    pub(super) fn card_note(&self, key: &CardKey) -> Option<&CardNote> {
        let noted = self.notes.of(&key.session)?;
        noted.cards.iter().find(|card| card.is(&key.question, key.since))
    }

    /// Whether somebody sees a card, or need not any more.
    pub(super) fn is_known(&self, key: &CardKey) -> bool {
        self.card_note(key).is_some_and(CardNote::is_known)
    }

    /// Whether a card was in its chat before this message.
    pub(super) fn is_shown_before(&self, key: &CardKey, message: i32) -> bool {
        self.card_note(key).is_some_and(|note| note.shown.iter().any(|shown| *shown < message))
    }

    /// Whether a card is of a question that is in front of the person.
    pub(super) fn is_in_front(&self, key: &CardKey) -> bool {
        let shown = self.sessions.get(&key.session);
        shown.is_some_and(|shown| {
            shown.presenter.focus().iter().any(|focus| CardKey::of(&key.session, focus) == *key)
        })
    }

    /// The card of a question that is in front of the person, and where it belongs.
    pub(super) fn card(&self, key: &CardKey) -> Option<(Room, Card)> {
        let shown = self.sessions.get(&key.session)?;
        let focus = shown.presenter.focus().iter().find(|focus| focus.question == key.question)?;
        if let Some(turn) = TurnCard::read(&key.question) {
            let chosen = shown.chosen.get(key);
            let card = card::turn::open(shown.presenter.session(), &key.tag(), &turn, chosen)?;
            return Some((shown.room, card));
        }
        let nothing = BTreeSet::new();
        let chosen = shown.chosen.get(key).unwrap_or(&nothing);
        Some((shown.room, card::open(&key.session, &shown.presenter, focus, chosen)?))
    }

    /// Shows on a message which options of its card are chosen.
    pub(super) fn refresh_buttons(&mut self, room: Room, key: &CardKey, message: Option<i32>) {
        if let (Some((_, card)), Some(message)) = (self.card(key), message) {
            self.send(room, Outgoing::Buttons { message, keyboard: card.keyboard() });
        }
    }

    pub(super) fn on_card_sent(&mut self, key: &CardKey, sent: Result<Sent, ApiError>) {
        self.cards.pending.remove(key);
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let chat = shown.room.chat;
        let message = match sent {
            Ok(Sent::Posted(message)) => message,
            // Only what is no message ends like this.
            Ok(Sent::Done | Sent::Dropped) => return,
            Err(why) => return self.not_taken(key, &why),
        };
        self.cards.refused.remove(key);
        self.cards.know_message(chat, message, key);
        self.notes.shown(&key.session, &key.question, key.since, message);
        self.remind_later(key, Some(self.now));
        self.refresh(&key.session);
    }

    /// The card waits until the bot is let in again, or somebody does something in its chat. The host is told once, and so
    /// is the owner if they can be reached: they may not know that anything waits.
    fn not_taken(&mut self, key: &CardKey, why: &ApiError) {
        let is_news = self.cards.refused.insert(key.clone());
        let passes = matches!(why, ApiError::Full | ApiError::Stopped);
        let Some(shown) = self.sessions.get(&key.session).filter(|_| is_news && !passes) else { return };
        let (session, why) = (key.session.to_string(), why.to_string());
        if let Some(alone) = private(shown.owner).filter(|alone| alone.chat != shown.room.chat) {
            let task = card::short(&shown.presenter.session().created().task, 200);
            let words = format!(
                "❗ A question about \"{task}\" waits, and I cannot show it in its chat: {why}.\n\n\
                 I show it there as soon as somebody writes there, or you answer it at the computer: \
                 rapport answer {session}"
            );
            self.say(alone, &words);
        }
        self.want(Effect::Notify(Notice::Unshown { session, why }));
    }

    pub(super) fn on_prompted(&mut self, key: CardKey, message: Option<i32>) {
        let chat = self.sessions.get(&key.session).map(|shown| shown.room.chat);
        if let (Some(chat), Some(message)) = (chat, message) {
            self.cards.know_message(chat, message, &key);
            self.notes.prompted(&key.session, &key.question, key.since, message);
        }
    }

    /// A card that another process of ours has shown works here as well.
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

    /// Takes the buttons away and says what became of the question.
    fn close(&mut self, key: &CardKey, note: &CardNote) {
        let Some(shown) = self.sessions.get_mut(&key.session) else { return };
        if !self.cards.closing.insert(key.clone()) {
            return;
        }
        shown.chosen.remove(key);
        let text =
            card::closed(&shown.presenter, &key.question).unwrap_or_else(|| Text::new().plain("Over."));
        let (chat, card) = (shown.room.chat, Card::plain(text));
        self.cards.know_tag(chat, key);
        let messages = note.shown.iter().map(|message| Outgoing::Edit(card.edit(*message))).collect();
        self.want(Effect::Send { chat, messages, then: Some(AfterSend::Close(key.clone())) });
    }

    /// The messages of a card say that it is over, or are gone and need no edit.
    pub(super) fn on_closed(&mut self, key: &CardKey) {
        self.cards.closing.remove(key);
        if self.sessions.contains_key(&key.session) {
            self.notes.closed(&key.session, &key.question, key.since);
            self.finish_if_over(&key.session);
        }
    }
}
