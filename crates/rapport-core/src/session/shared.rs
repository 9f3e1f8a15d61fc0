//! The part that all sessions share, whatever their flow: how the session began, its rounds of questions, the turns and
//! the process of its agent, its permission rules, its workplace. What only one flow does is in that flow (`flow.rs`).

use std::collections::VecDeque;

use jiff::Timestamp;

use super::budget::Spending;
use super::handover::Handover;
use super::hosts::Hosts;
use super::round::{Given, Item, Round};
use super::rounds::AskedRounds;
use super::routes::Routes;
use super::stretch::WorkRecord;
use crate::activity::Activity;
use crate::answer::By;
use crate::created::Created;
use crate::event::{Beside, Ending, Event, TurnKind};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::permission::Rule;
use crate::question::{Purpose, Question};
use crate::routing::Grounding;
use crate::want::Said;

/// The state that every session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) created: Created,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) seq: u64,
    pub(crate) life: Life,
    pub(crate) conversation: ConversationId,
    pub(crate) model: Option<String>,
    pub(crate) rounds: AskedRounds,
    pub(crate) turns: Vec<Turn>,
    /// Questions that the agent was told to do without, in order.
    pub(crate) unasked: Vec<String>,
    /// The rules that allow calls without asking.
    pub(crate) rules: Vec<Rule>,
    /// Questions whose answer holds for the whole project and is saved there.
    pub(crate) granted: Vec<QuestionId>,
    pub(crate) spending: Spending,
    /// The session failed before its agent ever connected, so it is not bound to that agent.
    pub(crate) agent_never_came: bool,
    pub(crate) record: WorkRecord,
    pub(crate) handover: Handover,
    pub(crate) hosts: Hosts,
    pub(crate) routes: Routes,
    /// The ground of the answer that follows in the same entry.
    pub(crate) grounded: Option<(QuestionId, Grounding)>,
    /// The number of times that the work has ended: it was reported, it failed, or it was cancelled.
    pub(crate) ends: u32,
    /// Ids of recent messages, for de-duplication.
    heard_lately: VecDeque<String>,
}

/// The number of message ids that are kept for de-duplication.
const HEARD_LATELY: usize = 100;

/// Whether a session has ended. Its progress is the flow's phase, which a failure does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Going,
    /// It cannot continue until it is restarted.
    Failed {
        reason: String,
    },
    Completed,
    /// It was ended.
    Cancelled,
}

impl Life {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Life::Completed | Life::Cancelled)
    }

    /// Why nothing can be done now; `None` while the session is active.
    pub(super) fn in_the_way(&self) -> Option<&'static str> {
        match self {
            Life::Going => None,
            Life::Failed { .. } => Some("the session has failed"),
            Life::Completed => Some("the session is completed"),
            Life::Cancelled => Some("the session is cancelled"),
        }
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
    /// Whether its workplace died under it since it last got an answer.
    pub(crate) is_lost: bool,
    /// Whether its process waits until fewer agents run.
    pub(crate) is_queued: bool,
    /// How many processes in a row ended before they received an answer.
    pub(crate) starts_in_vain: u32,
    /// `None` until it is recorded; then the name of the state, if the worker has one.
    pub(crate) baseline: Option<Option<String>>,
    /// Calls that were declined, until the agent has been told.
    pub(crate) declined: Vec<Declined>,
    /// The number of its declined questions.
    pub(crate) refused: u32,
    pub(crate) doing: Option<Activity>,
    /// Whether it used a tool that may have changed a file.
    pub(crate) may_have_written: bool,
    /// Why no copy of the conversation and work of its last process could be stored.
    pub(crate) unkept: Option<String>,
    /// What keeps a process that was to be parked.
    pub(crate) kept_by: Option<Beside>,
    pub(crate) result: Option<String>,
    /// Messages sent during the turn, in order.
    pub(crate) said: Vec<Message>,
    /// Who stopped it, until it is restarted.
    pub(crate) stopped: Option<By>,
}

/// A message that was sent during a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// Whether the agent has read it.
    pub(crate) is_read: bool,
}

impl Turn {
    /// The messages that the agent has not read.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        self.said.iter().filter(|message| !message.is_read).map(|message| message.text.as_str())
    }

    /// The messages with their numbers.
    pub(super) fn said(&self) -> impl Iterator<Item = Said> {
        let numbered = (1..).zip(&self.said);
        numbered.map(|(number, message)| Said { turn: self.id, number, text: message.text.clone() })
    }

    pub(super) fn has_declined(&self, call: &CallId) -> bool {
        self.declined.iter().any(|declined| declined.call == *call)
    }

    /// Whether files may change during this turn without a permission: it works, or it planned a file that Rapport
    /// writes now.
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
    /// It ended cleanly and will ask this call again.
    Parked(CallId),
    /// It ended in the middle of something.
    CutOff,
    /// The turn is over.
    Over,
}

impl Shared {
    pub(super) fn new(created: &Created, at: Timestamp) -> Self {
        Self {
            conversation: created.conversation.clone(),
            created: created.clone(),
            created_at: at,
            updated_at: at,
            seq: 0,
            life: Life::Going,
            model: None,
            rounds: AskedRounds::default(),
            turns: Vec::new(),
            unasked: Vec::new(),
            rules: Vec::new(),
            granted: Vec::new(),
            spending: Spending::default(),
            agent_never_came: false,
            record: WorkRecord::default(),
            handover: Handover::default(),
            hosts: Hosts::default(),
            routes: Routes::default(),
            grounded: None,
            ends: 0,
            heard_lately: VecDeque::new(),
        }
    }

    /// Whether the session has neither ended nor failed.
    pub(crate) fn is_going(&self) -> bool {
        self.life == Life::Going
    }

    pub(crate) fn is_over(&self) -> bool {
        self.life.is_over()
    }

    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.life, Life::Failed { .. })
    }

    /// Whether the agent was stopped, so that nothing continues until a message comes or it is restarted.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_going() && self.turn().is_some_and(|turn| turn.stopped.is_some())
    }

    /// The current turn, if one is not over.
    pub(crate) fn turn(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.process != Process::Over)
    }

    /// The state of the project's files before the agent could change anything: the earliest recorded one, because a
    /// person may have allowed a change while the agent planned.
    pub(crate) fn first_baseline(&self) -> Option<&str> {
        self.turns.iter().find_map(|turn| turn.baseline.as_ref()?.as_deref())
    }

    pub(crate) fn was_connected(&self) -> bool {
        self.turns.iter().any(|turn| turn.connected)
    }

    pub(crate) fn open_rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.current().filter(|round| round.is_open())
    }

    pub(super) fn open_rounds_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.open_rounds().filter(move |round| round.is_of(turn))
    }

    pub(super) fn pending_rounds_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.rounds.current().filter(move |round| round.is_of(turn) && round.is_pending())
    }

    /// Rounds whose answer the agent waits for. A cut-off agent that was restarted without an answer no longer waits.
    pub(crate) fn waited_for(&self, turn: &Turn) -> impl Iterator<Item = &Round> {
        let is_there = turn.process == Process::Running;
        self.open_rounds_of(turn.id).filter(move |round| !(is_there && round.orphaned))
    }

    /// The round that a reply to this call of this turn answers.
    pub(super) fn round_of_call(&self, turn: TurnId, call: &CallId) -> Option<&Round> {
        self.rounds.iter().find(|round| round.is_of(turn) && round.is_called(call))
    }

    pub(crate) fn item(&self, question: &QuestionId) -> Option<(&Round, &Item)> {
        self.rounds.item(question)
    }

    pub(super) fn next_round(&self) -> RoundId {
        RoundId(self.rounds.len() as u32 + 1)
    }

    pub(super) fn next_turn(&self) -> TurnId {
        TurnId(self.turns.len() as u32 + 1)
    }

    /// The fact that the agent's next turn is to run.
    pub(super) fn start_turn(&self, kind: TurnKind, prompt: String) -> Event {
        Event::TurnStarted { turn: self.next_turn(), kind, prompt, mends: false }
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

    /// Clarifying questions with their last answers, oldest first.
    pub(crate) fn clarified(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(_, item)| Some((&item.question, item.given()?)))
    }

    /// Clarifying questions with their current answers, oldest first. A plan is made from these.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(round, item)| Some((&item.question, round.standing(item)?)))
    }

    fn clarifying(&self) -> impl Iterator<Item = (&Round, &Item)> {
        let items = self.rounds.iter().flat_map(|round| round.items.iter().map(move |item| (round, item)));
        items.filter(|(_, item)| item.question.purpose == Purpose::Clarify)
    }

    pub(super) fn withdraw_open(&self, which: impl Fn(&Round) -> bool, why: &str) -> Vec<Event> {
        let open = self.open_rounds().filter(|round| which(round));
        open.map(|round| Event::Closed { round: round.id, how: Ending::Withdrawn(why.into()) }).collect()
    }

    pub(super) fn with_turn(&mut self, id: TurnId, change: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id) {
            change(turn);
        }
    }
}
