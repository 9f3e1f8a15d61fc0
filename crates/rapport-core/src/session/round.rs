//! A round: questions that are asked together, and the state of each.

use jiff::Timestamp;

use crate::answer::{Answer, By};
use crate::elicitation::Consent;
use crate::event::{Asker, Ending};
use crate::id::{CallId, RoundId, TurnId};
use crate::permission::Permission;
use crate::question::{Purpose, Question};
use crate::routing::Grounding;

/// Questions that are asked together and answered to one asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) id: RoundId,
    pub(crate) asker: Asker,
    pub(crate) asked_at: Timestamp,
    /// When the waiting process began to wait; later than `asked_at` if it asked again.
    pub(crate) hot_since: Timestamp,
    pub(crate) items: Vec<RoundItem>,
    /// Whether the asker has the reply.
    pub(crate) taken: bool,
    /// Whether the process that asked has ended. If it had the reply, the reply may be lost.
    pub(crate) orphaned: bool,
    /// Whether the process that took the reply was cut off later, and may not have written it to its transcript.
    pub(crate) doubtful: bool,
    /// Whether the process died after it was told of this permission: the call may have run, so the permission is not
    /// used again.
    pub(crate) spent: bool,
    pub(crate) closed: Option<Ending>,
    /// Whether the state of the project at this round was recorded, if that was possible.
    pub(crate) snapshotted: bool,
}

impl Round {
    /// Whether one of its questions still needs an answer.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none() && !self.is_declined() && self.items.iter().any(|item| item.given().is_none())
    }

    /// Whether the person declined an MCP server's request, whatever else it asked.
    fn is_declined(&self) -> bool {
        let declines = |item: &RoundItem| {
            let action = item.given().map(|given| Consent::of(&given.answer));
            item.question.purpose.field().is_some() && action.is_some_and(|action| action != Consent::Accept)
        };
        self.items.iter().any(declines)
    }

    /// Whether its asker still waits for a reply.
    pub(super) fn is_pending(&self) -> bool {
        !self.taken && !self.spent && !self.is_dropped()
    }

    /// Whether its answer allows a call.
    pub(crate) fn allows_a_call(&self) -> bool {
        let given = self.items.first().and_then(RoundItem::given);
        self.permission().is_some() && given.is_some_and(|given| given.answer.allows())
    }

    /// The permission that it asks for, if any.
    pub(crate) fn permission(&self) -> Option<&Permission> {
        match &self.items.first()?.question.purpose {
            Purpose::Permission(asked) => Some(asked),
            Purpose::Clarify
            | Purpose::Elicit(_)
            | Purpose::LeavePlanMode { .. }
            | Purpose::Confirm
            | Purpose::Budget { .. }
            | Purpose::Idle => None,
        }
    }

    /// Whether it ended in a way that needs no reply.
    fn is_dropped(&self) -> bool {
        matches!(self.closed, Some(Ending::Withdrawn(_) | Ending::Superseded(_)))
    }

    /// The current answer to one of its questions. An answer that is being changed stays valid until a new one is
    /// given, or until it is too late for that.
    pub(super) fn standing<'a>(&self, item: &'a RoundItem) -> Option<&'a Given> {
        match &item.state {
            State::Answered(given) => Some(given),
            State::Open { previous } => previous.as_ref().filter(|_| self.closed.is_none()),
        }
    }

    pub(crate) fn call(&self) -> Option<&CallId> {
        match &self.asker {
            Asker::Agent { call, .. } => Some(call),
            Asker::Rapport | Asker::Planner => None,
        }
    }

    /// Whether this call waits for it, or has its reply.
    pub(super) fn is_called(&self, call: &CallId) -> bool {
        self.call() == Some(call) && !self.is_dropped() && !self.spent
    }

    pub(crate) fn is_of(&self, turn: TurnId) -> bool {
        matches!(self.asker, Asker::Agent { turn: asking, .. } if asking == turn)
    }

    pub(crate) fn is_parkable(&self) -> bool {
        matches!(self.asker, Asker::Agent { parkable: true, .. })
    }

    pub(crate) fn is_about_budget(&self) -> bool {
        self.items.iter().any(|item| matches!(item.question.purpose, Purpose::Budget { .. }))
    }

    pub(crate) fn is_clarifying(&self) -> bool {
        self.items.iter().all(|item| item.question.purpose == Purpose::Clarify)
    }
}

/// A question and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoundItem {
    pub(crate) question: Question,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is unanswered, or its answer is being changed.
    Open { previous: Option<Given> },
    /// It has an answer.
    Answered(Given),
}

/// An answer, who gave it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) at: Timestamp,
    /// The ground of the answer, if a lead gave it.
    pub(crate) because: Option<Grounding>,
}

impl State {
    pub(super) fn open() -> Self {
        State::Open { previous: None }
    }
}

impl RoundItem {
    pub(crate) fn given(&self) -> Option<&Given> {
        match &self.state {
            State::Answered(given) => Some(given),
            State::Open { .. } => None,
        }
    }

    /// The answer in words, whether it is final or being changed.
    pub(crate) fn last_words(&self) -> Option<String> {
        let given = match &self.state {
            State::Answered(given) => given,
            State::Open { previous } => previous.as_ref()?,
        };
        Some(self.question.words(&given.answer))
    }
}
