//! One reminder of a question that has been open for long. It can be answered like the first message.

use jiff::Timestamp;
use rapport_core::{TurnCard, TurnCardKind};

use super::button::Button;
use super::card::Card;
use super::cards::CardKey;
use super::chat_state::ChatState;
use crate::text::Text;

impl ChatState {
    /// Schedules the reminder of a card, unless it was sent.
    pub(super) fn remind_later(&mut self, key: &CardKey, shown_at: Option<Timestamp>) {
        // The result of a run waits for nobody.
        let is_result = TurnCard::read(&key.question).is_some_and(|card| card.kind == TurnCardKind::Result);
        let is_reminded = self.notes.of_card(key).is_none_or(|card| card.reminded);
        if self.settings.remind.is_zero() || is_result || is_reminded {
            return;
        }
        let Some(shown) = self.sessions.get(&key.session) else { return };
        // Its round may be much older: the question came to the front when the one before it was answered.
        let mut focus = shown.presenter.focus().iter();
        let Some(focus) = focus.find(|focus| CardKey::of(&key.session, focus) == *key) else { return };
        let snoozed = self.notes.of_card(key).and_then(|card| card.snoozed);
        let since = shown_at.map_or(focus.at, |shown_at| shown_at.max(focus.at));
        if let Some(due) = snoozed.or_else(|| since.checked_add(self.settings.remind).ok()) {
            self.cards.reminders.insert((due, key.clone()));
        }
    }

    /// When the next reminder is due.
    pub(super) fn reminder_due(&self) -> Option<Timestamp> {
        self.cards.reminders.first().map(|(due, _)| *due)
    }

    /// Sends all due reminders.
    pub(super) fn remind_now(&mut self) {
        while self.reminder_due().is_some_and(|due| due <= self.now) {
            if let Some((_, key)) = self.cards.reminders.pop_first() {
                self.remind(&key);
            }
        }
    }

    fn remind(&mut self, key: &CardKey) {
        if !self.sessions.is_in_front(key) {
            return;
        }
        let Some((room, mut card)) = self.card(key) else { return };
        if let Some(until) = self.settings.quiet_until(self.notes.quiet(room.chat), self.now) {
            self.cards.reminders.insert((until, key.clone()));
            return;
        }
        card.rows.push(vec![("💤 In an hour".to_owned(), Button::Snooze.data(&key.tag()))]);
        self.notes.reminded(&mut self.effects, key);
        let text =
            Text::new().plain("⏰ ").bold("Still waiting for your answer").plain("\n\n").text(&card.text);
        self.post(room, &Card { text, ..card }, key);
    }
}
