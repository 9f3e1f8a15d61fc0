//! Reminders: a question that has been open for a long time is shown once more. The reminder can be answered like the
//! first message.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rapport_core::{TurnCard, TurnCardKind};

use super::button::Button;
use super::card::Card;
use super::cards::CardKey;
use super::chat_state::ChatState;
use super::notes::Notes;
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;
use crate::text::Text;

/// How long the "In an hour" button puts off a reminder.
const SNOOZE: SignedDuration = SignedDuration::from_hours(1);

/// The cards that people will be reminded of, and the times.
#[derive(Debug)]
pub(super) struct Reminders {
    /// How long a question is open before the person is reminded; zero for never.
    after: SignedDuration,
    due: BTreeSet<(Timestamp, CardKey)>,
}

impl Reminders {
    pub(super) fn new(after: SignedDuration) -> Self {
        Self { after, due: BTreeSet::new() }
    }

    /// Schedules the reminder of a card, unless it was already sent.
    pub(super) fn schedule(
        &mut self,
        sessions: &ShownSessions,
        notes: &Notes,
        key: &CardKey,
        shown_at: Option<Timestamp>,
    ) {
        // The result of a run needs no answer.
        let is_result = TurnCard::read(&key.question).is_some_and(|card| card.kind == TurnCardKind::Result);
        let Some(note) = notes.of_card(key).filter(|note| !note.reminded) else { return };
        let Some(shown) = sessions.get(&key.session).filter(|_| !self.after.is_zero() && !is_result) else {
            return;
        };
        // The round may be much older than this question, which came to the front when the previous one was answered.
        let mut focus = shown.presenter.focus().iter();
        let Some(focus) = focus.find(|focus| CardKey::of(&key.session, focus) == *key) else { return };
        let since = shown_at.map_or(focus.at, |shown_at| shown_at.max(focus.at));
        if let Some(due) = note.snoozed.or_else(|| since.checked_add(self.after).ok()) {
            self.due.insert((due, key.clone()));
        }
    }

    /// Schedules the reminder of a card for this time.
    fn put_off(&mut self, key: &CardKey, until: Timestamp) {
        self.due.insert((until, key.clone()));
    }

    /// Puts off the reminder of a card at a person's request.
    pub(super) fn snooze(
        &mut self,
        sessions: &ShownSessions,
        (notes, effects): (&mut Notes, &mut Effects),
        key: &CardKey,
        now: Timestamp,
    ) {
        let Ok(until) = now.checked_add(SNOOZE) else { return };
        notes.snoozed(effects, key, until);
        self.schedule(sessions, notes, key, None);
    }

    /// Schedules the reminders of a chat again after its quiet hours changed.
    pub(super) fn schedule_anew(&mut self, sessions: &ShownSessions, notes: &Notes, chat: i64) {
        let is_here = |key: &CardKey| sessions.is_in_chat(&key.session, chat);
        let due = std::mem::take(&mut self.due);
        let (here, others): (Vec<_>, Vec<_>) = due.into_iter().partition(|(_, key)| is_here(key));
        self.due.extend(others);
        for (_, key) in here {
            self.schedule(sessions, notes, &key, None);
        }
    }

    /// When the next reminder is due.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Removes and returns a card whose reminder is due now.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<CardKey> {
        self.next().filter(|due| *due <= now)?;
        self.due.pop_first().map(|(_, key)| key)
    }
}

impl ChatState {
    /// Sends the reminder of a card, unless its question is no longer open. During quiet hours, the reminder is put off
    /// until they end.
    pub(super) fn remind(&mut self, key: &CardKey) {
        if !self.sessions.is_in_front(key) {
            return;
        }
        let Some((room, mut card)) = self.card(key) else { return };
        if let Some(until) = self.settings.quiet.until(self.notes.quiet(room.chat), self.now) {
            return self.reminders.put_off(key, until);
        }
        card.rows.push(vec![("💤 In an hour".to_owned(), Button::Snooze.data(&key.tag()))]);
        self.notes.reminded(&mut self.effects, key);
        let text =
            Text::new().plain("⏰ ").bold("Still waiting for your answer").plain("\n\n").text(&card.text);
        self.cards.post(&mut self.effects, room, &Card { text, ..card }, key);
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{QuestionId, SessionId};

    use super::*;

    fn key(question: &str) -> CardKey {
        CardKey { session: SessionId::new("s"), question: QuestionId::new(question), since: 1 }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    #[test]
    fn reminders_come_in_the_order_of_their_time_and_once() {
        let mut reminders = Reminders::new(SignedDuration::from_hours(1));
        reminders.put_off(&key("later"), at(20));
        reminders.put_off(&key("first"), at(10));
        assert_eq!(reminders.next(), Some(at(10)));
        assert_eq!(reminders.take_due(at(9)), None);
        assert_eq!(reminders.take_due(at(20)), Some(key("first")));
        assert_eq!(reminders.take_due(at(20)), Some(key("later")));
        assert_eq!((reminders.take_due(at(99)), reminders.next()), (None, None));
    }

    /// A session that is over is no longer shown, so a card of it that arrives late gets no reminder.
    #[test]
    fn nothing_is_scheduled_for_a_session_that_is_not_shown() {
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        notes.shown(&mut effects, &key("q"), 7);
        let mut reminders = Reminders::new(SignedDuration::from_hours(1));
        reminders.schedule(&ShownSessions::default(), &notes, &key("q"), Some(at(1)));
        assert_eq!(reminders.next(), None);
    }
}
