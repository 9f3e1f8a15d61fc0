//! Keeps what is shown in step with what is in front of the person: a new message for every new question, and none with
//! buttons for one that is over.

use crate::room::Room;
use rapport_core::{SessionId, TurnCard};

use super::button::Tag;
use super::card::{self, Card, Reading};
use super::chat_state::{CardKey, ChatState, Input, private};
use super::notes::CardNote;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::{Outgoing, Sent};
use crate::text::Text;

impl ChatState {
    /// Shows what should be shown of a session, and no more.
    pub(super) fn show_cards(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let in_front: Vec<_> = shown.presenter.focus().iter().map(|focus| Self::key(id, focus)).collect();
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        // What is new comes first: somebody waits for it.
        for key in in_front.clone() {
            if !self.is_known(&key) && !self.pending.contains(&key) && !self.refused.contains(&key) {
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
    fn show(&mut self, key: CardKey) {
        let Some((room, card)) = self.card(&key) else { return };
        self.tags.insert((room.chat, tag(&key)), key.clone());
        self.post(room, &card, key);
    }

    /// Sends a card, and has it known which message it became.
    pub(super) fn post(&mut self, room: Room, card: &Card, key: CardKey) {
        self.pending.insert(key.clone());
        let message = Outgoing::Message(card.message(room));
        self.outbound.send_then(room, message, move |sent| Input::Posted { card: key, sent });
    }

    /// Somebody is there, or lets the bot in again: what could not be shown in a chat may be taken now.
    pub(super) fn show_refused(&mut self, chat: i64) {
        let is_here =
            |key: &CardKey| self.sessions.get(&key.session).is_some_and(|shown| shown.room.chat == chat);
        let again = self.refused.iter().filter(|key| is_here(key) && !self.pending.contains(key));
        for key in again.cloned().collect::<Vec<_>>() {
            if self.is_in_front(&key) {
                self.show(key);
            } else {
                self.refused.remove(&key);
            }
        }
    }

    /// Whether somebody sees a card, or need not any more.
    pub(super) fn is_known(&self, key: &CardKey) -> bool {
        let cards = self.notes.of(&key.session).into_iter().flat_map(|noted| &noted.cards);
        cards.filter(|card| card.is(&key.question, key.since)).any(CardNote::is_known)
    }

    /// Whether a card was in its chat before this message.
    pub(super) fn is_shown_before(&self, key: &CardKey, message: i32) -> bool {
        let cards = self.notes.of(&key.session).into_iter().flat_map(|noted| &noted.cards);
        let mut shown = cards.filter(|card| card.is(&key.question, key.since)).flat_map(|card| &card.shown);
        shown.any(|shown| *shown < message)
    }

    /// Whether a card is of a question that is in front of the person.
    pub(super) fn is_in_front(&self, key: &CardKey) -> bool {
        let shown = self.sessions.get(&key.session);
        shown.is_some_and(|shown| {
            shown.presenter.focus().iter().any(|focus| Self::key(&key.session, focus) == *key)
        })
    }

    /// The card of a question that is in front of the person, and where it belongs.
    pub(super) fn card(&self, key: &CardKey) -> Option<(Room, Card)> {
        let shown = self.sessions.get(&key.session)?;
        let focus = shown.presenter.focus().iter().find(|focus| focus.question == key.question)?;
        if let Some(turn) = TurnCard::read(&key.question) {
            let chosen = shown.chosen.get(key);
            return Some((
                shown.room,
                card::turn::open(shown.presenter.session(), &tag(key), &turn, chosen)?,
            ));
        }
        let nothing = Default::default();
        let chosen = shown.chosen.get(key).unwrap_or(&nothing);
        let reading = if shown.read.contains(key) { Reading::Whole } else { Reading::Part };
        Some((shown.room, card::open(&key.session, &shown.presenter, focus, chosen, reading)?))
    }

    pub(super) fn posted(&mut self, key: CardKey, sent: Result<Sent, ApiError>) {
        self.pending.remove(&key);
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let chat = shown.room.chat;
        let message = match sent {
            Ok(Sent::Posted(message)) => message,
            // That is said of what is no message.
            Ok(Sent::Done | Sent::Dropped) => return,
            Err(why) => return self.not_taken(key, &why),
        };
        self.refused.remove(&key);
        self.messages.insert((chat, message), key.clone());
        self.notes.shown(&key.session, &key.question, key.since, message);
        self.remind_later(&key);
        self.refresh(&key.session.clone());
    }

    /// It waits until the bot is let in again, or somebody does something in its chat. The host is told once, and so is
    /// its owner where they can be reached: they may not know that anything waits.
    fn not_taken(&mut self, key: CardKey, why: &ApiError) {
        let is_news = self.refused.insert(key.clone());
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
            self.outbound.say(alone, &words);
        }
        let _ = self.notices.send(Notice::Unshown { session, why });
    }

    /// A card that was shown by another process of ours works here as well.
    fn know(&mut self, key: &CardKey, note: &CardNote) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let chat = shown.room.chat;
        if self.tags.insert((chat, tag(key)), key.clone()).is_none() {
            for message in note.shown.iter().chain(&note.prompts) {
                self.messages.insert((chat, *message), key.clone());
            }
            self.remind_later(key);
        }
    }

    /// Takes the buttons away and says what became of it.
    fn close(&mut self, key: &CardKey, note: &CardNote) {
        let Some(shown) = self.sessions.get_mut(&key.session) else { return };
        if !self.closing.insert(key.clone()) {
            return;
        }
        shown.chosen.remove(key);
        let text =
            card::closed(&shown.presenter, &key.question).unwrap_or_else(|| Text::new().plain("Over."));
        let (room, card) = (shown.room, Card::plain(text));
        self.tags.insert((room.chat, tag(key)), key.clone());
        let sending: Vec<_> = note
            .shown
            .iter()
            .map(|message| self.outbound.outbox.send(room.chat, Outgoing::Edit(card.edit(*message))))
            .collect();
        let (back, key) = (self.outbound.back.clone(), key.clone());
        tokio::spawn(async move {
            for sent in sending {
                // A message that is gone needs no edit.
                let _ = sent.await;
            }
            let _ = back.send(Input::Stripped(key));
        });
    }
}

pub(super) fn tag(key: &CardKey) -> Tag {
    Tag::of(&key.session, &key.question, key.since)
}

pub(super) fn posted(sent: Sent) -> Option<i32> {
    match sent {
        Sent::Posted(message) => Some(message),
        Sent::Done | Sent::Dropped => None,
    }
}
