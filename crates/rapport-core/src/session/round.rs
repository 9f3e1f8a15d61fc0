//! A round: questions that are asked together, and what became of each.

use jiff::Timestamp;

use crate::answer::{Answer, By};
use crate::elicitation::Consent;
use crate::event::{Asker, Ending};
use crate::id::{CallId, RoundId, TurnId};
use crate::permission::Permission;
use crate::question::{Purpose, Question};

/// Questions that are asked together, and answered into one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) id: RoundId,
    pub(crate) asker: Asker,
    pub(crate) asked_at: Timestamp,
    /// When the process that waits began to wait; later than `asked_at` if it asked again.
    pub(crate) hot_since: Timestamp,
    pub(crate) items: Vec<Item>,
    /// The asker has the reply.
    pub(crate) taken: bool,
    /// The process that asked is gone. If it had the reply, that may be gone with it.
    pub(crate) orphaned: bool,
    /// The process that took the reply was cut off later, and may not have written it to its transcript.
    pub(crate) doubtful: bool,
    /// A permission whose process is gone after it was told: the call may have run, and the permission does not count again.
    pub(crate) spent: bool,
    pub(crate) closed: Option<Ending>,
    /// The state of the project at it was noted, as far as it could be.
    pub(crate) snapshotted: bool,
}

impl Round {
    /// Whether somebody still has to answer something in it.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none() && !self.is_declined() && self.items.iter().any(|item| item.given().is_none())
    }

    /// Whether an MCP server is told that it gets nothing, whatever else it wanted to know.
    fn is_declined(&self) -> bool {
        let declines = |item: &Item| {
            let action = item.given().map(|given| Consent::of(&given.answer));
            item.question.purpose.field().is_some() && action.is_some_and(|action| action != Consent::Accept)
        };
        self.items.iter().any(declines)
    }

    /// Whether its asker still waits for something.
    pub(super) fn is_pending(&self) -> bool {
        !self.taken && !self.spent && !self.is_dropped()
    }

    /// Whether it lets a call run.
    pub(crate) fn allows_a_call(&self) -> bool {
        let given = self.items.first().and_then(Item::given);
        self.permission().is_some() && given.is_some_and(|given| given.answer.allows())
    }

    /// The permission it is about, if it is.
    pub(crate) fn permission(&self) -> Option<&Permission> {
        match &self.items.first()?.question.purpose {
            Purpose::Permission(asked) => Some(asked),
            Purpose::Clarify | Purpose::Elicit(_) | Purpose::LeavePlanMode { .. } | Purpose::Confirm => None,
        }
    }

    /// Whether it ended in a way that leaves nothing to reply.
    fn is_dropped(&self) -> bool {
        matches!(self.closed, Some(Ending::Withdrawn(_) | Ending::Superseded(_)))
    }

    /// The answer to one of its questions. One that is being changed stands until it is, or until that is too late.
    pub(super) fn standing<'a>(&self, item: &'a Item) -> Option<&'a Given> {
        match &item.state {
            State::Answered(given) => Some(given),
            State::Open { previous } => previous.as_ref().filter(|_| self.closed.is_none()),
        }
    }

    pub(super) fn call(&self) -> Option<&CallId> {
        match &self.asker {
            Asker::Agent { call, .. } => Some(call),
            Asker::Rapport | Asker::Planner => None,
        }
    }

    /// Whether this call waits for it, or had its reply.
    pub(super) fn is_called(&self, call: &CallId) -> bool {
        self.call() == Some(call) && !self.is_dropped() && !self.spent
    }

    pub(crate) fn is_of(&self, turn: TurnId) -> bool {
        matches!(self.asker, Asker::Agent { turn: asking, .. } if asking == turn)
    }

    pub(super) fn is_parkable(&self) -> bool {
        matches!(self.asker, Asker::Agent { parkable: true, .. })
    }

    pub(crate) fn is_clarifying(&self) -> bool {
        self.items.iter().all(|item| item.question.purpose == Purpose::Clarify)
    }
}

/// A question and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) question: Question,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has answered, or somebody wants to answer anew.
    Open { previous: Option<Given> },
    /// Somebody has answered.
    Answered(Given),
}

/// An answer, who gave it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) at: Timestamp,
}

impl State {
    pub(super) fn open() -> Self {
        State::Open { previous: None }
    }
}

impl Item {
    pub(crate) fn given(&self) -> Option<&Given> {
        match &self.state {
            State::Answered(given) => Some(given),
            State::Open { .. } => None,
        }
    }

    /// The answer in words, whether it stands or is being changed.
    pub(crate) fn last_words(&self) -> Option<String> {
        let given = match &self.state {
            State::Answered(given) => given,
            State::Open { previous } => previous.as_ref()?,
        };
        Some(self.question.words(&given.answer))
    }
}
