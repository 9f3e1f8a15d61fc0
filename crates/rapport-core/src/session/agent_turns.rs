//! The turns of a session's agent: its conversation, what each turn was told and said, and the state of its process.

use std::collections::VecDeque;
use std::ops::Deref;

use jiff::Timestamp;

use crate::activity::Activity;
use crate::answer::By;
use crate::event::{Beside, Event, TurnKind};
use crate::id::{CallId, ConversationId, TurnId};
use crate::want::SentMessage;

/// The number of message ids that are kept for de-duplication.
const HEARD_LATELY: usize = 100;

/// Up to this many turns, capacity is reserved one by one: a host keeps thousands of waiting sessions in memory, and
/// most have one or two turns.
const FEW: usize = 4;

/// All turns, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentTurns {
    all: Vec<Turn>,
    pub(crate) conversation: ConversationId,
    pub(crate) model: Option<String>,
    /// The session failed before its agent ever connected, so it is not bound to that agent.
    pub(crate) agent_never_came: bool,
    /// Ids of recent messages, for de-duplication.
    heard_lately: VecDeque<String>,
}

impl Deref for AgentTurns {
    type Target = [Turn];

    fn deref(&self) -> &[Turn] {
        &self.all
    }
}

/// One turn of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) kind: TurnKind,
    pub(crate) prompt: String,
    pub(crate) process: Process,
    pub(crate) connected: bool,
    /// Whether the last attempt to start the agent's program failed.
    pub(crate) is_not_started: bool,
    /// Whether the agent's workplace died since the agent last got an answer.
    pub(crate) is_lost: bool,
    /// Whether the process has to wait until fewer agents run.
    pub(crate) is_queued: bool,
    /// How many processes in a row ended before they received an answer that was given.
    pub(crate) starts_in_vain: u32,
    /// `None` until the state of the files is recorded; then the name of the state, if the worker has one.
    pub(crate) baseline: Option<Option<String>>,
    /// Calls that were declined, until the agent has been told.
    pub(crate) declined: Vec<Declined>,
    /// The number of its declined questions.
    pub(crate) refused: u32,
    pub(crate) doing: Option<Activity>,
    /// Whether it used a tool that may have changed a file.
    pub(crate) may_have_written: bool,
    /// Why no copy of the conversation and the work of the last process could be stored.
    pub(crate) unkept: Option<String>,
    /// What keeps a process that is to be parked from being parked.
    pub(crate) kept_by: Option<Beside>,
    pub(crate) result: Option<String>,
    /// Messages sent during the turn, in order.
    pub(crate) messages: Vec<Message>,
    /// Who stopped the turn, until it is restarted.
    pub(crate) stopped: Option<By>,
    /// Whether it was stopped only to continue with a message as soon as its process has ended.
    pub(crate) is_interrupted: bool,
}

/// A message that was sent during a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// The id of the message in its channel.
    pub(crate) id: Option<String>,
    pub(crate) by: By,
    pub(crate) at: Timestamp,
    /// Whether the agent has read it.
    pub(crate) is_read: bool,
    /// Whether it was withdrawn. A process that was given it before may still read it.
    pub(crate) is_withdrawn: bool,
}

impl Message {
    /// Whether the agent still has to read it.
    pub(crate) fn is_unread(&self) -> bool {
        !self.is_read && !self.is_withdrawn
    }
}

impl Turn {
    /// The messages that the agent has not read.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(|message| message.is_unread()).map(|message| message.text.as_str())
    }

    /// The messages with their numbers.
    pub(super) fn sent_messages(&self) -> impl Iterator<Item = SentMessage> {
        let numbered =
            (1..).zip(&self.messages).filter(|(_, message)| message.is_read || !message.is_withdrawn);
        numbered.map(|(number, message)| SentMessage { turn: self.id, number, text: message.text.clone() })
    }

    pub(super) fn has_declined(&self, call: &CallId) -> bool {
        self.declined.iter().any(|declined| declined.call == *call)
    }

    /// Whether files may change during this turn without a permission: the agent works, or it planned a file that
    /// Rapport writes now.
    pub(super) fn may_work(&self) -> bool {
        matches!(self.kind, TurnKind::Work | TurnKind::Chat) || self.process == Process::Over
    }

    /// Whether no plan is confirmed yet, so that the agent must not change anything without asking.
    pub(super) fn is_before_the_plan(&self) -> bool {
        self.kind == TurnKind::Plan
    }
}

/// A call that was declined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declined {
    pub(crate) call: CallId,
    /// What the agent is told.
    pub(crate) reason: String,
    /// The questions it asked.
    pub(crate) asked: Vec<String>,
}

/// The state of the agent's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// It should exist.
    Running,
    /// It should end once it has parked this call.
    Cooling(CallId),
    /// It ended cleanly, and will make this call again.
    Parked(CallId),
    /// It ended during the turn, without parking a call.
    CutOff,
    /// The turn is over.
    Over,
}

impl AgentTurns {
    pub(super) fn new(conversation: ConversationId) -> Self {
        Self {
            all: Vec::new(),
            conversation,
            model: None,
            agent_never_came: false,
            heard_lately: VecDeque::new(),
        }
    }

    /// Another turn begins.
    pub(super) fn begin(&mut self, id: TurnId, kind: TurnKind, prompt: &str) {
        if self.all.len() < FEW {
            self.all.reserve_exact(1);
        }
        self.all.push(Turn {
            id,
            kind,
            prompt: prompt.to_owned(),
            process: Process::Running,
            connected: false,
            is_not_started: false,
            is_lost: false,
            is_queued: false,
            starts_in_vain: 0,
            baseline: None,
            declined: Vec::new(),
            refused: 0,
            doing: None,
            may_have_written: false,
            unkept: None,
            kept_by: None,
            result: None,
            messages: Vec::new(),
            stopped: None,
            is_interrupted: false,
        });
    }

    /// Forgets the results of all turns.
    pub(super) fn forget_results(&mut self) {
        self.all.iter_mut().for_each(|turn| turn.result = None);
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Turn> {
        self.all.last_mut()
    }

    /// The current turn, if one is not over.
    pub(crate) fn current(&self) -> Option<&Turn> {
        self.last().filter(|turn| turn.process != Process::Over)
    }

    /// The state of the project's files before the agent could change anything: the earliest recorded one, because a
    /// person may have allowed a change while the agent planned.
    pub(crate) fn first_baseline(&self) -> Option<&str> {
        self.iter().find_map(|turn| turn.baseline.as_ref()?.as_deref())
    }

    pub(crate) fn was_connected(&self) -> bool {
        self.iter().any(|turn| turn.connected)
    }

    pub(super) fn next_id(&self) -> TurnId {
        TurnId(self.len() as u32 + 1)
    }

    /// The fact that the agent's next turn is to run.
    pub(super) fn start(&self, kind: TurnKind, prompt: String) -> Event {
        Event::TurnStarted { turn: self.next_id(), kind, prompt, mends: false }
    }

    /// Whether a message was received before; its channel may deliver it twice.
    pub(super) fn has_heard(&self, id: Option<&String>) -> bool {
        id.is_some_and(|id| self.heard_lately.contains(id))
    }

    pub(super) fn note_heard(&mut self, id: Option<&String>) {
        self.heard_lately.extend(id.cloned());
        if self.heard_lately.len() > HEARD_LATELY {
            self.heard_lately.pop_front();
        }
    }

    pub(super) fn with(&mut self, id: TurnId, change: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.all.iter_mut().find(|turn| turn.id == id) {
            change(turn);
        }
    }
}
