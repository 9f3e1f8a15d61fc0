//! A round of questions instead of a reply: an agent that was told [`crate::INTERACTIVE`] may ask this way
//! (CHAT-32 to CHAT-35).

use super::wire::{self, Wire};
use super::{QuestionRound, cleanup, named};
use crate::event::Usage;

/// The maximum number of questions in such a round.
const MAX_QUESTIONS: usize = 7;

/// The round in a reply that consists only of the signal. Anything else is an ordinary reply (CHAT-34): prose around
/// it, broken JSON, JSON about something else, a signal without a question.
pub fn detect(reply: &str) -> Option<QuestionRound> {
    let reply = reply.trim();
    let is_fenced = reply.starts_with("```") && reply.ends_with("```");
    let object = if is_fenced { wire::fenced(reply)? } else { reply };
    let wire = Wire::read(object).ok().filter(|wire| wire.interactive == Some(true))?;
    let questions = cleanup::questions(wire.questions?, std::iter::empty(), MAX_QUESTIONS);
    if questions.is_empty() {
        return None;
    }
    Some(QuestionRound {
        goal: wire.goal.as_deref().and_then(named),
        description: wire.description.as_deref().and_then(named),
        questions,
        done: false,
        usage: Usage::default(),
    })
}
