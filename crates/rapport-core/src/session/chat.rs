//! The flow for conversations: each message is a turn of the agent, and between turns the session rests.

use super::{Phase, Session};
use crate::aim::Aim;
use crate::answer::{By, MAX_TEXT};
use crate::event::{Event, TurnKind};
use crate::refusal::Refusal;

impl Session {
    /// Somebody says something. Where the agent is at work it is told afterwards; where it failed it is tried again.
    pub(super) fn say(&self, by: &By, text: &str, id: Option<&String>) -> Result<Vec<Event>, Refusal> {
        if id.is_some_and(|id| self.heard_lately.contains(id)) {
            return Ok(Vec::new());
        }
        if self.created.aim != Aim::Chat || self.phase.is_over() {
            return Err(self.not_now("saying something"));
        }
        if text.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if text.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "message".into(), bytes: text.len(), limit: MAX_TEXT });
        }
        let restarted = self.is_failed().then(|| Event::Restarted { by: by.clone() });
        let heard = Event::Heard { text: text.into(), by: by.clone(), id: id.cloned() };
        let rests = match &self.phase {
            Phase::Failed { was, .. } => **was == Phase::Resting,
            phase => *phase == Phase::Resting,
        };
        let turn = rests.then(|| self.chat_turn(text.into()));
        Ok(restarted.into_iter().chain([heard]).chain(turn).collect())
    }

    /// What was said while the agent was at work, as its next turn.
    pub(super) fn next_chat_turn(&self) -> Option<Event> {
        (!self.heard.is_empty()).then(|| self.chat_turn(self.heard.join("\n\n")))
    }

    fn chat_turn(&self, prompt: String) -> Event {
        Event::TurnStarted { turn: self.next_turn(), kind: TurnKind::Chat, prompt, mends: false }
    }
}
