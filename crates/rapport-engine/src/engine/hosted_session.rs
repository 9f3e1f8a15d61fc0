//! One session in the loop: its state, its log, its pending inputs, and what is in progress for it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::{CallId, Input, Session, TurnId};
use rapport_door::Update;
use tokio::sync::mpsc;
use tracing::Span;

use super::batches::BatchRun;
use super::checks::CheckRun;
use super::deadlines::Deadline;
use super::effects::Effect;
use super::gateway::AnswerTo;
use super::slots::AgentSlot;
use crate::agents::{Abilities, Controls, RunId};
use crate::stores::{Attacher, Log, StoreError};
use crate::workers::Workplace;

pub(super) struct Hosted {
    pub(super) session: Session,
    /// `None` while an entry is being appended, and after another process took over.
    pub(super) log: Option<Box<dyn Log>>,
    /// Stores attachments, for tasks of this session.
    pub(super) attacher: Arc<dyn Attacher>,
    /// Pending inputs, in order.
    pub(super) inbox: VecDeque<Incoming>,
    pub(super) run: Option<AgentRun>,
    pub(super) batch: Option<BatchRun>,
    pub(super) check: Option<CheckRun>,
    /// Its slot in the limit of agents that work at the same time.
    pub(super) slot: Option<AgentSlot>,
    pub(super) effects: HashSet<Effect>,
    pub(super) workplace: Access,
    pub(super) followers: Vec<mpsc::UnboundedSender<Update>>,
    pub(super) deadline: Option<Deadline>,
    /// Whether other machines can hold the session, too.
    pub(super) is_shared: bool,
    /// Why nothing more can be stored. Then nothing more is done for this session either.
    pub(super) broken: Option<Arc<StoreError>>,
    /// The tracing span of this session.
    pub(super) span: Span,
}

/// A session's workplace, as this process uses it.
pub(super) enum Access {
    /// It has not been opened here.
    None,
    /// It exists and may be used.
    Open(Arc<dyn Workplace>),
    /// Nothing happens there at the moment. It may have been removed since, so its existence is checked before it is
    /// used again.
    Left(Arc<dyn Workplace>),
    /// Nothing happens there, and it was told since when its session waits for people.
    Resting(Arc<dyn Workplace>),
    /// Nothing happens there, and its processes have ended.
    Closed(Arc<dyn Workplace>),
}

impl Access {
    /// The workplace, if it may be used.
    pub(super) fn open(&self) -> Option<&Arc<dyn Workplace>> {
        if let Self::Open(workplace) = self { Some(workplace) } else { None }
    }

    /// The workplace, if it was opened here.
    pub(super) fn known(&self) -> Option<&Arc<dyn Workplace>> {
        match self {
            Self::None => None,
            Self::Open(workplace)
            | Self::Left(workplace)
            | Self::Resting(workplace)
            | Self::Closed(workplace) => Some(workplace),
        }
    }

    /// Records that nothing happens there now.
    pub(super) fn leave(&mut self) {
        if let Self::Open(workplace) = self {
            *self = Self::Left(workplace.clone());
        }
    }

    /// Records that the workplace is told since when its session waits. Returns the workplace if it was left and not
    /// told yet.
    pub(super) fn rest(&mut self) -> Option<Arc<dyn Workplace>> {
        let Self::Left(workplace) = self else { return None };
        let workplace = workplace.clone();
        *self = Self::Resting(workplace.clone());
        Some(workplace)
    }

    /// Records that the workplace is being closed. Returns it if it was left.
    pub(super) fn close(&mut self) -> Option<Arc<dyn Workplace>> {
        let (Self::Left(workplace) | Self::Resting(workplace)) = self else { return None };
        let workplace = workplace.clone();
        *self = Self::Closed(workplace.clone());
        Some(workplace)
    }
}

/// An input, and who waits for its outcome.
pub(super) struct Incoming {
    pub(super) input: Input,
    pub(super) answer: Option<AnswerTo<()>>,
    /// The process that ended with this input. It counts as running until the input is decided, so that no other is
    /// started in its place.
    pub(super) ended: Option<EndedProcess>,
    /// Whether nothing else may happen in the session if this input cannot be stored.
    pub(super) is_vital: bool,
    /// The deadline that was reached, if this input is a tick.
    pub(super) reached: Option<Timestamp>,
}

impl Incoming {
    pub(super) fn new(input: Input) -> Self {
        Self { input, answer: None, ended: None, is_vital: false, reached: None }
    }
}

/// A process that reported its own end.
pub(super) enum EndedProcess {
    Agent(RunId),
    Batch(String),
    Check(TurnId),
}

/// A process of the agent for this session.
pub(super) struct AgentRun {
    pub(super) id: RunId,
    pub(super) turn: TurnId,
    pub(super) controls: Controls,
    pub(super) abilities: Abilities,
    /// Calls whose reply it was sent.
    pub(super) replied: HashSet<CallId>,
    /// The number of the last message of its turn that it was sent.
    pub(super) last_message: u32,
    /// Whether its turn is over, and it waits for the next one.
    pub(super) resting: bool,
    /// Whether it was told to end.
    pub(super) ending: bool,
    /// The tracing span of this run.
    pub(super) span: Span,
}

impl Hosted {
    pub(super) fn new(session: Session, log: Box<dyn Log>, span: Span) -> Self {
        Self {
            session,
            attacher: log.attacher(),
            is_shared: log.loss().is_some(),
            log: Some(log),
            inbox: VecDeque::new(),
            run: None,
            batch: None,
            check: None,
            slot: None,
            effects: HashSet::new(),
            workplace: Access::None,
            followers: Vec::new(),
            deadline: None,
            broken: None,
            span,
        }
    }

    /// Whether an entry is on its way to the log.
    pub(super) fn is_storing(&self) -> bool {
        self.log.is_none() && self.broken.is_none()
    }

    /// Whether nothing runs for it: no agent, batch or check.
    pub(super) fn is_idle(&self) -> bool {
        self.run.is_none() && self.batch.is_none() && self.check.is_none()
    }

    /// Whether the state in which a cancelled agent left the files has yet to be recorded.
    pub(super) fn notes_left(&self) -> bool {
        self.broken.is_none() && self.session.is_left_unnoted()
    }

    pub(super) fn tell(&mut self, update: &Update) {
        self.followers.retain(|follower| follower.send(update.clone()).is_ok());
    }
}
