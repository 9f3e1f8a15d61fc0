//! One reminder of a question that waits for long, which can be answered like the first.

use jiff::Timestamp;

use rapport_core::{TurnCard, TurnCardKind};

use super::card::Card;
use super::chat_state::{CardKey, ChatState};
use crate::text::Text;

impl ChatState {
    /// Has somebody reminded of a card, unless they were.
    pub(super) fn remind_later(&mut self, key: &CardKey) {
        let Some(shown) = self.sessions.get(&key.session) else { return };
        let noted = self.notes.of(&key.session);
        let card = noted.and_then(|noted| noted.cards.iter().find(|card| card.is(&key.question, key.since)));
        // What became of a run waits for nobody.
        let is_result = TurnCard::read(&key.question).is_some_and(|card| card.kind == TurnCardKind::Result);
        if self.remind.is_zero() || is_result || card.is_none_or(|card| card.reminded) {
            return;
        }
        // Its round may have been asked long before: it came to the front when the one before it was answered.
        let Some(focus) = shown.presenter.focus().iter().find(|focus| Self::key(&key.session, focus) == *key)
        else {
            return;
        };
        if let Ok(due) = focus.at.checked_add(self.remind) {
            self.reminders.insert((due, key.session.clone(), key.question.clone(), key.since));
        }
    }

    /// When somebody has to be reminded next.
    pub(super) fn next_reminder(&self) -> Option<Timestamp> {
        self.reminders.first().map(|(due, ..)| *due)
    }

    /// Reminds of everything that is due.
    pub(super) fn remind_now(&mut self) {
        let now = self.time();
        while let Some(first) = self.reminders.first().filter(|(due, ..)| *due <= now).cloned() {
            self.reminders.remove(&first);
            let (_, session, question, since) = first;
            self.remind(&CardKey { session, question, since });
        }
    }

    fn remind(&mut self, key: &CardKey) {
        if !self.is_in_front(key) {
            return;
        }
        let Some((room, card)) = self.card(key) else { return };
        self.notes.reminded(&key.session, &key.question, key.since);
        let text =
            Text::new().plain("⏰ ").bold("Still waiting for your answer").plain("\n\n").text(&card.text);
        self.post(room, &Card { text, ..card }, key.clone());
    }
}
