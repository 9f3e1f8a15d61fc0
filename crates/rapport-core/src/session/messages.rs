//! Messages to the agent: checked in the same way in every flow, and delivered to the current turn or to a stopped one.

use super::agent_turns::Turn;
use super::handover::Handover;
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::answer::{By, MAX_TEXT};
use crate::event::Event;
use crate::id::TurnId;
use crate::refusal::Refusal;

/// The act's name in a refusal.
pub(super) const SAYING: &str = "saying something";

/// A valid message.
pub(super) struct Saying<'a> {
    pub(super) by: &'a By,
    pub(super) text: &'a str,
    id: Option<&'a String>,
}

impl Saying<'_> {
    pub(super) fn is_of_rule(&self) -> bool {
        matches!(self.by, By::Rule { .. })
    }

    pub(super) fn heard(&self, turn: Option<TurnId>) -> Event {
        Event::Heard { turn, text: self.text.into(), by: self.by.clone(), id: self.id.cloned() }
    }

    pub(super) fn restarted(&self) -> Event {
        Event::Restarted { by: self.by.clone() }
    }
}

impl Shared {
    /// Checks a message. `None` if it was received before.
    pub(super) fn saying<'a>(
        &self,
        by: &'a By,
        text: &'a str,
        id: Option<&'a String>,
    ) -> Result<Option<Saying<'a>>, Refusal> {
        if self.turns.has_heard(id) {
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

    /// Sends a message to a stopped turn, which resumes with it. `None` if no turn is stopped.
    pub(super) fn say_to_stopped(&self, saying: &Saying<'_>) -> Option<Vec<Event>> {
        let turn = self.turns.current().filter(|turn| turn.stopped.is_some())?;
        if turn.is_interrupted {
            return Some(vec![saying.heard(Some(turn.id))]);
        }
        Some(self.say_to_turn(turn, saying))
    }

    /// Sends a message during a turn. A turn that was stopped or has failed resumes with it, unless the budget is
    /// used up.
    pub(super) fn say_to_turn(&self, turn: &Turn, saying: &Saying<'_>) -> Vec<Event> {
        let rests = self.is_failed() || turn.stopped.is_some();
        let asked = self.ask_about_budget(self.spending.usage.cost_micros).filter(|_| turn.stopped.is_some());
        let is_asked = asked.is_some() || self.rounds.open_budget_question().is_some();
        let restarted = (rests && !is_asked).then(|| saying.restarted());
        restarted.into_iter().chain([saying.heard(Some(turn.id))]).chain(asked).collect()
    }
}

impl AskedRounds {
    /// Refuses a message while a question is open, so that a message is never taken for an answer.
    pub(super) fn refuse_beside_a_question(&self) -> Result<(), Refusal> {
        let open = self.open().flat_map(|round| &round.items).find(|item| item.given().is_none());
        match open {
            Some(item) => {
                let why = format!("{} waits for an answer", item.question.id);
                Err(Refusal::NotNow { what: SAYING.into(), why })
            }
            None => Ok(()),
        }
    }
}

impl Handover {
    /// Refuses a message after the workplace was handed over, because no more work is done there.
    pub(super) fn refuse_message(&self) -> Result<(), Refusal> {
        match self.decided() {
            Some(why) => Err(Refusal::NotNow { what: SAYING.into(), why: why.into() }),
            None => Ok(()),
        }
    }
}
