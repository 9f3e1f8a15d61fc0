//! One session as the loop holds it: its state, its log, what waits to be decided, and what is under way for it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::{CallId, Input, Session, TurnId};
use rapport_door::Update;
use tokio::sync::mpsc;
use tracing::Span;

use super::batches::BatchRun;
use super::deadlines::Deadline;
use super::effects::Effect;
use super::gateway::Answer;
use crate::agents::{Controls, RunId};
use crate::stores::{Attacher, Log, StoreError};
use crate::workers::Workplace;

pub(super) struct Hosted {
    pub(super) session: Session,
    /// Away while an entry is being stored, and where somebody else writes.
    pub(super) log: Option<Box<dyn Log>>,
    /// Attaches to the session for those who work for it here.
    pub(super) attacher: Arc<dyn Attacher>,
    /// What came in meanwhile, in order.
    pub(super) inbox: VecDeque<Incoming>,
    pub(super) run: Option<AgentRun>,
    /// The batch that runs.
    pub(super) batch: Option<BatchRun>,
    pub(super) effects: HashSet<Effect>,
    /// Open once something is to be done there.
    pub(super) workplace: Option<Arc<dyn Workplace>>,
    pub(super) followers: Vec<mpsc::UnboundedSender<Update>>,
    pub(super) deadline: Option<Deadline>,
    /// Why nothing can be stored any more. Then nothing more is done either.
    pub(super) broken: Option<Arc<StoreError>>,
    /// What is logged about this session is logged inside of it.
    pub(super) span: Span,
}

/// An input, and who wants to know what became of it.
pub(super) struct Incoming {
    pub(super) input: Input,
    pub(super) answer: Option<Answer<()>>,
    /// The process that is gone when this is decided.
    pub(super) left: Option<RunId>,
    /// Without it nothing else in the session may be done.
    pub(super) is_vital: bool,
    /// The deadline that was reached, if it is about time.
    pub(super) reached: Option<Timestamp>,
}

impl Incoming {
    pub(super) fn new(input: Input) -> Self {
        Self { input, answer: None, left: None, is_vital: false, reached: None }
    }
}

/// A process of the agent that was started for this session.
pub(super) struct AgentRun {
    pub(super) id: RunId,
    pub(super) turn: TurnId,
    pub(super) controls: Controls,
    /// Calls whose reply it was given.
    pub(super) replied: HashSet<CallId>,
    /// Which message of its turn it was told last.
    pub(super) said: u32,
    /// Its turn is over, and it stays for the next.
    pub(super) resting: bool,
    /// It was told to end.
    pub(super) ending: bool,
    /// What is logged about this run is logged inside of it.
    pub(super) span: Span,
}

impl Hosted {
    pub(super) fn new(session: Session, log: Box<dyn Log>, span: Span) -> Self {
        Self {
            session,
            attacher: log.attacher(),
            log: Some(log),
            inbox: VecDeque::new(),
            run: None,
            batch: None,
            effects: HashSet::new(),
            workplace: None,
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

    /// Whether the state in which a cancelled agent left the files is still to be noted.
    pub(super) fn notes_left(&self) -> bool {
        self.broken.is_none() && self.session.is_left_unnoted()
    }

    pub(super) fn tell(&mut self, update: &Update) {
        self.followers.retain(|follower| follower.send(update.clone()).is_ok());
    }
}
