//! Keeps what is shown in step with what is in front of the person: a new message for every new question, and none with
//! buttons for one that is over.

use super::button::Tag;
use super::card::{self, Card};
use super::desk::{CardKey, Desk, Happened};
use super::notes::CardNote;
use crate::channels::telegram::outgoing::{Outgoing, Sent};
use crate::channels::telegram::text::Text;

impl Desk {
    /// Shows what should be shown of a session, and no more.
    pub(super) fn show_cards(&mut self, id: &rapport_core::SessionId) {
        let Some(held) = self.held.get(id) else { return };
        let in_front: Vec<_> = held.mirror.focus().iter().map(|focus| Self::key(id, focus)).collect();
        let cards = self.notes.of(id).map(|noted| noted.cards.clone()).unwrap_or_default();
        // What is new comes first: somebody waits for it.
        for key in in_front.clone() {
            let is_known = cards.iter().any(|card| card.is(&key.question, key.since) && card.is_known());
            if !is_known && !self.pending.contains(&key) && !self.refused.contains(&key) {
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
        self.pending.insert(key.clone());
        self.hands.send_then(room, Outgoing::Message(card.message(room)), move |sent| Happened::Posted {
            card: key,
            message: sent.ok().and_then(posted),
        });
    }

    /// The card of a question that is in front of the person, and where it belongs.
    pub(super) fn card(&self, key: &CardKey) -> Option<(rapport_core::Room, Card)> {
        let held = self.held.get(&key.session)?;
        let focus = held.mirror.focus().iter().find(|focus| focus.question == key.question)?;
        let nothing = Default::default();
        let chosen = held.chosen.get(key).unwrap_or(&nothing);
        Some((held.room, card::open(&key.session, &held.mirror, focus, chosen)?))
    }

    pub(super) fn posted(&mut self, key: CardKey, message: Option<i32>) {
        self.pending.remove(&key);
        let Some(held) = self.held.get(&key.session) else { return };
        let chat = held.room.chat;
        let Some(message) = message else {
            // Blocked, or thrown out: it waits, and `/status` shows it wherever it can be shown again.
            self.refused.insert(key);
            return;
        };
        self.messages.insert((chat, message), key.clone());
        self.notes.shown(&key.session, &key.question, key.since, message);
        self.remind_later(&key);
        self.refresh(&key.session.clone());
    }

    /// A card that was shown by another process of ours works here as well.
    fn know(&mut self, key: &CardKey, note: &CardNote) {
        let Some(held) = self.held.get(&key.session) else { return };
        let chat = held.room.chat;
        if self.tags.insert((chat, tag(key)), key.clone()).is_none() {
            for message in note.shown.iter().chain(&note.prompts) {
                self.messages.insert((chat, *message), key.clone());
            }
            self.remind_later(key);
        }
    }

    /// Takes the buttons away and says what became of it.
    fn close(&mut self, key: &CardKey, note: &CardNote) {
        let Some(held) = self.held.get_mut(&key.session) else { return };
        if !self.closing.insert(key.clone()) {
            return;
        }
        held.chosen.remove(key);
        let text = card::closed(&held.mirror, &key.question).unwrap_or_else(|| Text::new().plain("Over."));
        let (room, card) = (held.room, Card::plain(text));
        self.tags.insert((room.chat, tag(key)), key.clone());
        let sending: Vec<_> = note
            .shown
            .iter()
            .map(|message| self.hands.outbox.send(room.chat, Outgoing::Edit(card.edit(*message))))
            .collect();
        let (back, key) = (self.hands.back.clone(), key.clone());
        tokio::spawn(async move {
            for sent in sending {
                // A message that is gone needs no edit.
                let _ = sent.await;
            }
            let _ = back.send(Happened::Stripped(key));
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
