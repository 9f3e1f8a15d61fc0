//! The flow for a conversation: each message is a turn of the agent, and between turns the session rests.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::flow::{FlowRules, stray, unknown_act};
use super::shared::{Shared, Turn};
use crate::answer::{By, MAX_TEXT};
use crate::event::{Created, Event, TurnKind};
use crate::input::{Act, World};
use crate::prompt;
use crate::refusal::Refusal;
use crate::view::{PhaseView, Status};
use crate::want::Order;

/// How many ids of messages are kept for de-duplication.
const HEARD_LATELY: usize = 100;

/// The state of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatFlow {
    is_replying: bool,
    /// Messages that the agent was not told yet, in order.
    heard: Vec<String>,
    /// Ids of recent messages, for de-duplication.
    heard_lately: VecDeque<String>,
}

impl ChatFlow {
    /// How many messages wait until the agent is told.
    pub(crate) fn queued(&self) -> usize {
        self.heard.len()
    }

    /// Somebody says something. An agent at work is told afterwards; one that failed is tried again.
    fn say(&self, shared: &Shared, by: &By, text: &str, id: Option<&String>) -> Result<Vec<Event>, Refusal> {
        if id.is_some_and(|id| self.heard_lately.contains(id)) {
            return Ok(Vec::new());
        }
        if shared.is_over() {
            return Err(self.not_now(shared, "saying something"));
        }
        if text.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if text.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "message".into(), bytes: text.len(), limit: MAX_TEXT });
        }
        let restarted = shared.is_failed().then(|| Event::Restarted { by: by.clone() });
        let heard = Event::Heard { text: text.into(), by: by.clone(), id: id.cloned() };
        let turn = (!self.is_replying).then(|| shared.start_turn(TurnKind::Chat, text.into()));
        Ok(restarted.into_iter().chain([heard]).chain(turn).collect())
    }
}

impl FlowRules for ChatFlow {
    fn first_turn(&self, created: &Created) -> Option<(TurnKind, String)> {
        Some((TurnKind::Chat, created.task.clone()))
    }

    fn phase(&self, _: &Shared) -> PhaseView {
        if self.is_replying { PhaseView::Working } else { PhaseView::Resting }
    }

    fn phase_name(&self) -> &'static str {
        if self.is_replying { "the agent is working" } else { "nothing is going on" }
    }

    fn status(&self, _: &Shared) -> Option<Status> {
        (!self.is_replying).then_some(Status::Idle)
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Say { text, id } => self.say(shared, by, text, id.as_ref()),
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, _: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        stray(world)
    }

    /// What was said while the agent was at work is its next turn.
    fn after_turn(&self, shared: &Shared, _: &Turn, _: &str) -> Vec<Event> {
        let next =
            (!self.heard.is_empty()).then(|| shared.start_turn(TurnKind::Chat, self.heard.join("\n\n")));
        next.into_iter().collect()
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, _: Timestamp) {
        match fact {
            Event::Heard { text, id, .. } => {
                self.heard.push(text.clone());
                self.heard_lately.extend(id.clone());
                if self.heard_lately.len() > HEARD_LATELY {
                    self.heard_lately.pop_front();
                }
            }
            Event::TurnStarted { .. } => {
                self.is_replying = true;
                self.heard.clear();
                // A conversation goes on for months; only its last reply is ever shown again.
                shared.turns.iter_mut().for_each(|turn| turn.result = None);
            }
            Event::TurnEnded { .. } => self.is_replying = false,
            _ => {}
        }
    }

    fn complete(&self, shared: &Shared, order: &mut Order) {
        order.system = Some(prompt::question_round::INTERACTIVE.to_owned());
        order.linger = Some(shared.created.terms.hot);
    }

    fn result(&self, shared: &Shared) -> Option<String> {
        shared.turns.last()?.result.clone()
    }
}
