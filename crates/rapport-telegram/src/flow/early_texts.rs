//! Texts that arrived while the card that they may answer was still being sent. Each one is kept until its card has
//! arrived: the id of the card's message then tells whether the person wrote before or after seeing it.

use super::cards::CardKey;
use super::messages::Visit;
use super::step_effects::Effects;

pub(super) const TOO_EARLY: &str = "You wrote that before you could see this question, so it does not count as its \
     answer. Please answer it now ☝️";

/// A text, and the card that it waits for.
#[derive(Debug)]
pub(super) struct EarlyText {
    pub(super) card: CardKey,
    pub(super) visit: Visit,
    pub(super) text: String,
    pub(super) message: i32,
    pub(super) reply_to: Option<i32>,
}

/// The texts that wait for a card.
#[derive(Debug, Default)]
pub(super) struct EarlyTexts {
    waiting: Vec<EarlyText>,
    /// Whether the channel is stopping. From then on no text is kept, because it would be lost.
    is_stopping: bool,
}

impl EarlyTexts {
    /// Whether a text may still wait for a card.
    pub(super) fn are_kept(&self) -> bool {
        !self.is_stopping
    }

    pub(super) fn keep(&mut self, early: EarlyText) {
        self.waiting.push(early);
    }

    /// Removes and returns the texts that waited for this card, in the order of their arrival.
    pub(super) fn take(&mut self, card: &CardKey) -> Vec<EarlyText> {
        self.waiting.extract_if(.., |early| early.card == *card).collect()
    }

    /// Tells the senders of all waiting texts to send them again, because the channel is stopping.
    pub(super) fn stop(&mut self, effects: &mut Effects) {
        self.is_stopping = true;
        for early in std::mem::take(&mut self.waiting) {
            effects.only_say(&early.visit, TOO_EARLY);
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{QuestionId, SessionId};

    use super::*;
    use crate::flow::effect::Ticket;
    use crate::flow::incoming::Sender;
    use crate::room::Room;

    fn key(question: &str) -> CardKey {
        CardKey { session: SessionId::new("s"), question: QuestionId::new(question), since: 1 }
    }

    fn early(question: &str, text: &str) -> EarlyText {
        let visit = Visit {
            update: text.to_owned(),
            room: Room { chat: 42, topic: None },
            sender: Sender { id: 42, name: String::new() },
            message: 9,
            ticket: Ticket(1),
            files: Vec::new(),
            is_joined: false,
        };
        EarlyText { card: key(question), visit, text: text.to_owned(), message: 9, reply_to: None }
    }

    fn taken(texts: &mut EarlyTexts, question: &str) -> Vec<String> {
        texts.take(&key(question)).into_iter().map(|early| early.text).collect()
    }

    #[test]
    fn texts_are_taken_once_by_the_card_that_they_wait_for() {
        let mut texts = EarlyTexts::default();
        for (question, text) in [("q", "first"), ("other", "apart"), ("q", "second")] {
            texts.keep(early(question, text));
        }
        assert_eq!(taken(&mut texts, "q"), ["first", "second"]);
        assert_eq!(taken(&mut texts, "q"), Vec::<String>::new());
        assert_eq!(taken(&mut texts, "other"), ["apart"]);
    }

    #[test]
    fn a_stopping_channel_returns_waiting_texts_and_keeps_no_more() {
        let (mut texts, mut effects) = (EarlyTexts::default(), Effects::default());
        assert!(texts.are_kept());
        texts.keep(early("q", "yes"));
        texts.stop(&mut effects);
        let told = effects.take(|_| false);
        let kinds: Vec<_> = told.iter().map(|effect| rapport_door::variant(effect)).collect();
        assert_eq!(kinds, ["Send", "Finish"]);
        assert!(!texts.are_kept());
        assert_eq!(taken(&mut texts, "q"), Vec::<String>::new());
    }
}
