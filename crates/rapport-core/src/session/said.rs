//! What somebody says to the agent: checked in every flow in the same way, and told to a turn that goes on, or to one that was
//! stopped.

use super::shared::{Shared, Turn};
use crate::answer::{By, MAX_TEXT};
use crate::event::Event;
use crate::id::TurnId;
use crate::refusal::Refusal;

/// What is done, as a refusal names it.
pub(super) const SAYING: &str = "saying something";

/// A message that is all right.
pub(super) struct Saying<'a> {
    by: &'a By,
    pub(super) text: &'a str,
    id: Option<&'a String>,
}

impl Saying<'_> {
    pub(super) fn heard(&self, turn: Option<TurnId>) -> Event {
        Event::Heard { turn, text: self.text.into(), by: self.by.clone(), id: self.id.cloned() }
    }

    pub(super) fn restarted(&self) -> Event {
        Event::Restarted { by: self.by.clone() }
    }
}

impl Shared {
    /// Checks a message. `None` where it came before.
    pub(super) fn saying<'a>(
        &self,
        by: &'a By,
        text: &'a str,
        id: Option<&'a String>,
    ) -> Result<Option<Saying<'a>>, Refusal> {
        if self.has_heard(id) {
            return Ok(None);
        }
        if text.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if text.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "message".into(), bytes: text.len(), limit: MAX_TEXT });
        }
        Ok(Some(Saying { by, text, id }))
    }

    /// Says it to a turn that was stopped, which goes on with it. `None` where none was.
    pub(super) fn say_to_stopped(&self, saying: &Saying<'_>) -> Option<Vec<Event>> {
        let turn = self.turn().filter(|turn| turn.stopped.is_some())?;
        Some(self.say_to_turn(turn, saying))
    }

    /// Says it in the middle of a turn. One that was stopped or has failed goes on with it.
    pub(super) fn say_to_turn(&self, turn: &Turn, saying: &Saying<'_>) -> Vec<Event> {
        let rests = self.is_failed() || turn.stopped.is_some();
        let restarted = rests.then(|| saying.restarted());
        restarted.into_iter().chain([saying.heard(Some(turn.id))]).collect()
    }

    /// Words are no answer: where somebody is asked something, nobody answers by accident.
    pub(super) fn refuse_beside_a_question(&self) -> Result<(), Refusal> {
        let open = self.open_rounds().flat_map(|round| &round.items).find(|item| item.given().is_none());
        match open {
            Some(item) => {
                let why = format!("{} waits for an answer", item.question.id);
                Err(Refusal::NotNow { what: SAYING.into(), why })
            }
            None => Ok(()),
        }
    }

    /// Nothing more is done in a workplace that was handed over.
    pub(super) fn refuse_handed_over(&self) -> Result<(), Refusal> {
        match self.handover.decided() {
            Some(why) => Err(Refusal::NotNow { what: SAYING.into(), why: why.into() }),
            None => Ok(()),
        }
    }
}
