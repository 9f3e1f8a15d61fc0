//! The flow for a conversation: each message is a turn of the agent, and between turns the session rests.

use jiff::Timestamp;

use super::agent_turns::Turn;
use super::flow::{FlowRules, stray, unknown_act};
use super::messages::{SAYING, Saying};
use super::shared::Shared;
use crate::answer::By;
use crate::created::Created;
use crate::event::{Event, TurnKind};
use crate::input::{Act, World};
use crate::prompt;
use crate::refusal::Refusal;
use crate::view::{PhaseView, Status};
use crate::want::{Order, Want};

/// The state of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatFlow {
    is_replying: bool,
    /// Messages that the agent has not been told yet, in order.
    heard: Vec<Waiting>,
}

/// A message that waits for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    text: String,
    id: Option<String>,
}

impl ChatFlow {
    /// The number of messages that wait for the agent.
    pub(crate) fn queued(&self) -> usize {
        self.heard.len()
    }

    /// Decides a message. A working agent gets it after its turn; an agent that failed or was stopped resumes with
    /// it.
    fn say(&self, shared: &Shared, saying: &Saying<'_>) -> Result<Vec<Event>, Refusal> {
        if shared.is_over() {
            return Err(self.not_now(shared, SAYING));
        }
        shared.record.refuse_while_undoing(SAYING)?;
        // A person stopped the agent, and only a person lets it continue.
        if saying.is_of_rule() && shared.turns.current().is_some_and(|turn| turn.stopped.is_some()) {
            return Err(Refusal::NotNow { what: SAYING.into(), why: "a person stopped the agent".into() });
        }
        if let Some(facts) = shared.say_to_stopped(saying) {
            return Ok(facts);
        }
        let restarted = shared.is_failed().then(|| saying.restarted());
        let turn = (!self.is_replying).then(|| shared.turns.start(TurnKind::Chat, saying.text.into()));
        Ok(restarted.into_iter().chain([saying.heard(None)]).chain(turn).collect())
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
        if self.is_replying { "the agent is working" } else { "nothing is running" }
    }

    fn status(&self, _: &Shared) -> Option<Status> {
        (!self.is_replying).then_some(Status::Idle)
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Say { text, id } => {
                let Some(saying) = shared.saying(by, text, id.as_ref())? else { return Ok(Vec::new()) };
                self.say(shared, &saying)
            }
            // A message that no longer waits was delivered, or was withdrawn before.
            Act::Unsay { id } => {
                let waits = self.heard.iter().any(|waiting| waiting.id.as_ref() == Some(id));
                Ok(waits.then(|| Event::Unsaid { id: id.clone() }).into_iter().collect())
            }
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, _: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        stray(world)
    }

    /// Messages that arrived while the agent worked become its next turn.
    fn after_turn(&self, shared: &Shared, turn: &Turn, _: &str) -> Vec<Event> {
        let waiting = self.heard.iter().map(|waiting| waiting.text.as_str());
        let heard: Vec<_> = turn.unread().chain(waiting).collect();
        let next = (!heard.is_empty()).then(|| shared.turns.start(TurnKind::Chat, heard.join("\n\n")));
        next.into_iter().collect()
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, _: Timestamp) {
        match fact {
            Event::Heard { text, turn: None, id, .. } => {
                self.heard.push(Waiting { text: text.clone(), id: id.clone() });
            }
            Event::Unsaid { id } => self.heard.retain(|waiting| waiting.id.as_ref() != Some(id)),
            Event::TurnStarted { .. } => {
                self.is_replying = true;
                self.heard.clear();
                // A conversation may last for months; only its last reply is ever shown again.
                shared.turns.forget_results();
            }
            Event::TurnEnded { .. } => {
                self.is_replying = false;
                shared.record.leave();
            }
            Event::WorkLeft { .. } => shared.record.stretches.drop_unchanged(),
            _ => {}
        }
    }

    fn rests(&self, shared: &Shared) -> bool {
        shared.is_over() || !self.is_replying
    }

    /// The agent may change files in any turn, so the state before it is recorded first.
    fn prepare(&self, shared: &Shared, turn: &Turn, wants: &mut Vec<Want>) -> bool {
        let is_recorded = shared.record.stretches.is_under_way();
        wants.extend((!is_recorded).then_some(Want::Baseline(turn.id)));
        is_recorded
    }

    fn complete(&self, shared: &Shared, order: &mut Order) {
        let is_lead = shared.created.is_lead;
        let system = if is_lead { prompt::lead::LEAD } else { prompt::question_round::INTERACTIVE };
        order.system = Some(system.to_owned());
        order.tools = is_lead;
        order.linger = Some(shared.created.terms.hot);
    }

    fn result(&self, shared: &Shared) -> Option<String> {
        shared.turns.last()?.result.clone()
    }
}
