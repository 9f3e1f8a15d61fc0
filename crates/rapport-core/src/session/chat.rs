//! The flow for a conversation: each message is a turn of the agent, and between turns the session rests. While the
//! agent works, messages reach it as the terms of the session say (`queue.rs`).

mod queue;

use jiff::Timestamp;

use super::agent_turns::{Message, Process, Turn};
use super::flow::{FlowRules, stray, unknown_act};
use super::messages::{SAYING, Saying};
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::answer::By;
use crate::created::Created;
use crate::event::{Event, TurnKind};
use crate::input::{Act, World};
use crate::message_queue::{DropPolicy, QueueMode, QueueTerms};
use crate::prompt;
use crate::refusal::Refusal;
use crate::view::{PhaseView, Status};
use crate::want::{Order, Want};

use queue::{MessageQueue, WaitingMessage};

/// The state of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatFlow {
    is_replying: bool,
    /// Messages that the agent has not been told yet.
    queue: MessageQueue,
}

impl ChatFlow {
    /// The number of messages that wait for the agent.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether the agent works, or is about to.
    fn is_at_work(&self) -> bool {
        self.is_replying || !self.queue.is_empty()
    }

    /// Decides a message. A working agent gets it as the terms say; an agent that failed or was stopped resumes with
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
        // What Rapport tells a lead begins turns by itself, so it must not cost more than the person agreed to.
        if saying.is_of_rule() && shared.spending.is_used_up(&shared.created.terms) {
            let why = "the budget of this conversation is used up".into();
            return Err(Refusal::NotNow { what: SAYING.into(), why });
        }
        if let Some(facts) = shared.say_to_stopped(saying) {
            return Ok(facts);
        }
        let terms = &shared.created.terms.queue;
        if let Some(turn) = shared.turns.current().filter(|_| shared.is_going()) {
            if terms.mode == QueueMode::Interrupt && !saying.is_of_rule() {
                let interrupted = shared.interrupt(turn, saying.by);
                return Ok([interrupted, vec![saying.heard(Some(turn.id))]].concat());
            }
            if terms.mode.steers() && reads_messages(&shared.rounds, turn) {
                return Ok(vec![saying.heard(Some(turn.id))]);
            }
        }
        let restarted = shared.is_failed().then(|| saying.restarted());
        let turn = (!self.is_at_work()).then(|| shared.turns.start(TurnKind::Chat, saying.text.into()));
        let dropped = self.make_room(terms, saying)?;
        Ok(restarted.into_iter().chain(dropped).chain([saying.heard(None)]).chain(turn).collect())
    }

    /// The fact that makes room for a message, if too many wait.
    fn make_room(&self, terms: &QueueTerms, saying: &Saying<'_>) -> Result<Option<Event>, Refusal> {
        if saying.is_of_rule() || !self.queue.is_full(terms) {
            return Ok(None);
        }
        match terms.drop {
            DropPolicy::New => {
                let why = format!("{} messages wait for the agent already", self.queue.len());
                Err(Refusal::NotNow { what: SAYING.into(), why })
            }
            DropPolicy::Old => Ok(Some(Event::Dropped { is_summarized: false })),
            DropPolicy::Summarize => Ok(Some(Event::Dropped { is_summarized: true })),
        }
    }

    /// The turn that the waiting messages become now, if they are due.
    fn next_turn(&self, shared: &Shared, queue: &MessageQueue, now: Timestamp) -> Option<Event> {
        let prompt = queue.next_prompt(&shared.created.terms.queue, now)?;
        Some(shared.turns.start(TurnKind::Chat, prompt))
    }
}

/// The messages of a turn that its agent has not read.
fn unread(turn: &Turn) -> Vec<WaitingMessage> {
    let waiting = |message: &Message| {
        let Message { text, id, by, at, .. } = message.clone();
        WaitingMessage { text, id, by, at }
    };
    turn.messages.iter().filter(|message| message.is_unread()).map(waiting).collect()
}

/// Whether the agent of a turn reads a message before its turn is over: its process runs, and waits for no answer.
fn reads_messages(rounds: &AskedRounds, turn: &Turn) -> bool {
    turn.process == Process::Running && turn.stopped.is_none() && rounds.open_of(turn.id).next().is_none()
}

impl FlowRules for ChatFlow {
    fn first_turn(&self, created: &Created) -> Option<(TurnKind, String)> {
        Some((TurnKind::Chat, created.task.clone()))
    }

    fn phase(&self, _: &Shared) -> PhaseView {
        if self.is_at_work() { PhaseView::Working } else { PhaseView::Resting }
    }

    fn phase_name(&self) -> &'static str {
        if self.is_at_work() { "the agent is working" } else { "nothing is running" }
    }

    fn status(&self, _: &Shared) -> Option<Status> {
        (!self.is_at_work()).then_some(Status::Idle)
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Say { text, id } => {
                let Some(saying) = shared.saying(by, text, id.as_ref())? else { return Ok(Vec::new()) };
                self.say(shared, &saying)
            }
            // A message that no longer waits was delivered, or was withdrawn before.
            Act::Unsay { id } => {
                let is_unread = |message: &Message| message.is_unread() && message.id.as_ref() == Some(id);
                let is_sent = shared.turns.current().is_some_and(|turn| turn.messages.iter().any(is_unread));
                let waits = is_sent || self.queue.has(id);
                Ok(waits.then(|| Event::Unsaid { id: id.clone() }).into_iter().collect())
            }
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, _: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        stray(world)
    }

    /// Messages that arrived while the agent worked become its next turn, or several.
    fn after_turn(&self, shared: &Shared, turn: &Turn, _: &str, now: Timestamp) -> Vec<Event> {
        let mut queue = self.queue.clone();
        queue.put_back(unread(turn));
        self.next_turn(shared, &queue, now).into_iter().collect()
    }

    fn tick(&self, shared: &Shared, now: Timestamp) -> Option<Event> {
        self.next_turn(shared, &self.queue, now).filter(|_| !self.is_replying)
    }

    fn deadline(&self, shared: &Shared) -> Option<Timestamp> {
        self.queue.due(&shared.created.terms.queue).filter(|_| !self.is_replying)
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, at: Timestamp) {
        match fact {
            Event::Heard { text, turn: None, id, by } => {
                self.queue.push(WaitingMessage { text: text.clone(), id: id.clone(), by: by.clone(), at });
            }
            Event::Unsaid { id } => self.queue.withdraw(id),
            Event::Dropped { is_summarized } => self.queue.drop_oldest(*is_summarized),
            Event::TurnStarted { .. } => {
                self.is_replying = true;
                self.queue.take(shared.created.terms.queue.mode);
                // A conversation may last for months; only its last reply is ever shown again.
                shared.turns.forget_results();
            }
            Event::TurnEnded { .. } => {
                self.is_replying = false;
                self.queue.put_back(shared.turns.last().map(unread).unwrap_or_default());
                shared.record.leave();
            }
            Event::WorkLeft { .. } => shared.record.stretches.drop_unchanged(),
            _ => {}
        }
    }

    fn rests(&self, shared: &Shared) -> bool {
        shared.is_over() || !self.is_at_work()
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
