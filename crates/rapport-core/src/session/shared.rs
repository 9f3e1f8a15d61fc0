//! The part that all sessions share, whatever their flow: how the session began, its rounds of questions, the turns
//! and the process of its agent, its permission rules, its workplace. Each flow has what only it does (`flow.rs`).

use jiff::Timestamp;

use super::agent_turns::{AgentTurns, Turn};
use super::budget::Spending;
use super::handover::Handover;
use super::hosts::Hosts;
use super::offers::Offers;
use super::rounds::AskedRounds;
use super::routes::Routes;
use super::stretch::WorkRecord;
use crate::created::Created;
use crate::id::QuestionId;
use crate::message_queue::QueueTerms;
use crate::permission::Rule;
use crate::routing::Grounding;

/// The state that every session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) created: Created,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) seq: u64,
    pub(crate) life: Life,
    pub(crate) rounds: AskedRounds,
    pub(crate) turns: AgentTurns,
    /// Questions that the agent was told to answer by itself, in order.
    pub(crate) unasked: Vec<String>,
    /// The rules that allow calls without asking.
    pub(crate) rules: Vec<Rule>,
    pub(crate) spending: Spending,
    pub(crate) record: WorkRecord,
    pub(crate) handover: Handover,
    pub(crate) hosts: Hosts,
    pub(crate) routes: Routes,
    pub(crate) offers: Offers,
    /// How messages reached the agent of a conversation when it began.
    pub(crate) queue_at_start: QueueTerms,
    /// The ground of the answer that follows in the same entry.
    pub(crate) grounded: Option<(QuestionId, Grounding)>,
    /// The number of times that the work has ended: it was reported, it failed, or it was cancelled.
    pub(crate) ends: u32,
    /// When it last ended.
    pub(crate) ended_at: Option<Timestamp>,
}

/// Whether a session has ended. Its progress is the flow's phase, which a failure does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Going,
    /// The session cannot continue until it is restarted.
    Failed {
        reason: String,
    },
    Completed,
    /// A person or a lead ended the session early.
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

impl Shared {
    pub(super) fn new(created: &Created, at: Timestamp) -> Self {
        Self {
            created: created.clone(),
            created_at: at,
            updated_at: at,
            seq: 0,
            life: Life::Going,
            rounds: AskedRounds::default(),
            turns: AgentTurns::new(created.conversation.clone()),
            unasked: Vec::new(),
            rules: Vec::new(),
            spending: Spending::default(),
            record: WorkRecord::default(),
            handover: Handover::default(),
            hosts: Hosts::default(),
            routes: Routes::default(),
            offers: Offers::default(),
            queue_at_start: created.terms.queue,
            grounded: None,
            ends: 0,
            ended_at: None,
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
        let is_stopped = |turn: &Turn| turn.stopped.is_some() && !turn.is_interrupted;
        self.is_going() && self.turns.current().is_some_and(is_stopped)
    }
}
