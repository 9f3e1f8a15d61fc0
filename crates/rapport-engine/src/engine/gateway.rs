//! The gateway to the engine: everything a channel can do with a session.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rapport_core::{Act, By, Created, Entry, QuestionRound, Refusal, SessionId, View};
use rapport_door::{DoorError, Seen, Update};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::stores::StoreError;

/// The gateway. Cheap to clone; every clone leads to the same engine.
#[derive(Clone, Debug)]
pub struct Gateway {
    requests: mpsc::Sender<GatewayRequest>,
    running: Running,
}

/// The sessions that the engine runs, maintained by the loop. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Mutex<HashSet<SessionId>>>);

impl Running {
    pub(super) fn insert(&self, id: SessionId) {
        self.ids().insert(id);
    }

    pub(super) fn remove(&self, id: &SessionId) {
        self.ids().remove(id);
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session being followed. It ends when the engine does.
#[derive(Debug)]
pub struct Follower {
    past: VecDeque<Entry>,
    live: mpsc::UnboundedReceiver<Update>,
    /// Live entries up to this number are skipped, because the stored entries include them.
    seen: u64,
}

impl Follower {
    /// Follows from after one entry: stored entries first, then live ones.
    pub(super) fn new(
        past: Vec<Entry>,
        live: mpsc::UnboundedReceiver<Update>,
        after: u64,
        until: u64,
    ) -> Self {
        let past = past.into_iter().filter(|entry| entry.seq <= until).collect();
        Self { past, live, seen: after.max(until) }
    }

    /// The next update; `None` at the end.
    pub async fn next(&mut self) -> Option<Update> {
        if let Some(entry) = self.past.pop_front() {
            return Some(Update::Entry(entry));
        }
        loop {
            match self.live.recv().await? {
                Update::Entry(entry) if entry.seq <= self.seen => {}
                update => return Some(update),
            }
        }
    }
}

/// Why a request was not carried out.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// The session refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be stored, so it did not happen.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session can no longer be stored, so this process does nothing more with it.
    #[error("{0}")]
    Broken(Arc<StoreError>),
    /// The engine does not run this session.
    #[error("session {0} is not run here")]
    NotHere(SessionId),
    /// The engine has stopped.
    #[error("Rapport is shutting down")]
    Closed,
}

impl From<GatewayError> for DoorError {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Refused(refusal) => DoorError::Refused(refusal),
            GatewayError::Store(error) => DoorError::Store(error),
            GatewayError::Broken(error) => DoorError::Broken(error),
            GatewayError::NotHere(id) => DoorError::Store(StoreError::NotFound(id)),
            GatewayError::Closed => DoorError::Closed,
        }
    }
}

pub(super) type AnswerTo<T> = oneshot::Sender<Result<T, GatewayError>>;

pub(super) enum GatewayRequest {
    Create { created: Box<Created>, first: Option<QuestionRound>, answer: AnswerTo<SessionId> },
    Adopt { session: SessionId, answer: AnswerTo<()> },
    Submit { session: SessionId, by: By, act: Act, answer: AnswerTo<()> },
    Follow { session: SessionId, after: u64, answer: AnswerTo<Follower> },
    View { session: SessionId, answer: AnswerTo<View> },
    Watch { answer: AnswerTo<mpsc::UnboundedReceiver<Seen>> },
    LetGo { session: SessionId },
}

impl Gateway {
    pub(super) fn new(requests: mpsc::Sender<GatewayRequest>, running: Running) -> Self {
        Self { requests, running }
    }

    /// Whether the engine runs this session. Then its facts come from the loop and need not be read.
    pub fn runs(&self, session: &SessionId) -> bool {
        self.running.ids().contains(session)
    }

    /// Begins a session.
    pub async fn create(&self, created: Created) -> Result<SessionId, GatewayError> {
        self.ask(|answer| GatewayRequest::Create { created: Box::new(created), first: None, answer }).await
    }

    /// Begins a session with a complete first round of questions.
    pub(crate) async fn create_with(
        &self,
        created: Created,
        first: QuestionRound,
    ) -> Result<SessionId, GatewayError> {
        self.ask(|answer| GatewayRequest::Create { created: Box::new(created), first: Some(first), answer })
            .await
    }

    /// Resumes a session that no process runs.
    pub async fn adopt(&self, session: &SessionId) -> Result<(), GatewayError> {
        self.ask(|answer| GatewayRequest::Adopt { session: session.clone(), answer }).await
    }

    /// Submits an act to a session. It is durable when this returns.
    pub async fn submit(&self, session: &SessionId, by: By, act: Act) -> Result<(), GatewayError> {
        self.ask(|answer| GatewayRequest::Submit { session: session.clone(), by, act, answer }).await
    }

    /// Follows a session from after this entry (0 for the beginning).
    pub async fn follow(&self, session: &SessionId, after: u64) -> Result<Follower, GatewayError> {
        self.ask(|answer| GatewayRequest::Follow { session: session.clone(), after, answer }).await
    }

    pub async fn view(&self, session: &SessionId) -> Result<View, GatewayError> {
        self.ask(|answer| GatewayRequest::View { session: session.clone(), answer }).await
    }

    /// A stream of everything that happens in any session that the engine runs, now or later. When this returns, the
    /// engine is watching; earlier entries are in the store.
    pub async fn watch(&self) -> Result<mpsc::UnboundedReceiver<Seen>, GatewayError> {
        self.ask(|answer| GatewayRequest::Watch { answer }).await
    }

    /// Releases a session, unless something is still in progress. Another process can then resume it.
    pub async fn let_go(&self, session: &SessionId) -> Result<(), GatewayError> {
        let request = GatewayRequest::LetGo { session: session.clone() };
        self.requests.send(request).await.map_err(|_| GatewayError::Closed)
    }

    async fn ask<T>(&self, request: impl FnOnce(AnswerTo<T>) -> GatewayRequest) -> Result<T, GatewayError> {
        let (answer, reply) = oneshot::channel();
        self.requests.send(request(answer)).await.map_err(|_| GatewayError::Closed)?;
        reply.await.map_err(|_| GatewayError::Closed)?
    }
}
