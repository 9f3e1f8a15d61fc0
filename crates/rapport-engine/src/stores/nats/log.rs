//! A session that this process holds. A task of its own owns the log, the ownership and the copy: what was begun is
//! completed, whoever still waits for it, and writes come one after the other.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use rapport_durable::Flush;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

use super::cluster::{Body, Expected, Purpose, WriteReply};
use super::copy::LogCopy;
use super::document::PreparedDocument;
use super::lease::Lease;
use super::owner::{OwnedGuard, Owner, Ownership};
use super::runtime::{self, block};
use super::site::{NatsSite, unsealed};
use crate::seals::Sealing;
use crate::stores::files::line;
use crate::stores::files::log::are_momentous;
use crate::stores::{Attacher, Holder, Log, StoreError, Stored, names};

/// The number of attempts to hold a session that others hold or write at the same moment.
const TRIES: u32 = 10;

/// A session held for writing.
pub(super) struct NatsLog {
    site: Arc<NatsSite>,
    id: SessionId,
    commands: mpsc::UnboundedSender<LogCommand>,
    lease: Arc<Lease>,
    /// Tells that the log is in use.
    _used: Arc<()>,
    /// Closed when the log is dropped.
    released: watch::Sender<()>,
}

enum LogCommand {
    Append { at: Timestamp, facts: Vec<Event>, answer: oneshot::Sender<Result<Entry, StoreError>> },
    Attach { prepared: PreparedDocument, answer: oneshot::Sender<Result<(), StoreError>> },
}

/// The task that writes to a held session.
struct LogWriter {
    site: Arc<NatsSite>,
    id: SessionId,
    subject: String,
    ownership: Ownership,
    /// The number of the last message of the subject.
    last: u64,
    /// The number of the last entry.
    count: u64,
    sealing: Sealing,
    /// `None` only while it is being written to.
    copy: Option<LogCopy>,
    /// Whether another process has taken the session over.
    is_superseded: bool,
}

impl NatsSite {
    /// Creates a session from its first facts, and holds it.
    pub(super) async fn create(
        self: Arc<Self>,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(SessionId, Entry, NatsLog), StoreError> {
        let entry = Entry { seq: 1, at, facts };
        let mut taken: Option<Vec<SessionId>> = None;
        for name in names(words, at) {
            let id = SessionId::new(name);
            if taken.as_ref().is_some_and(|taken| taken.contains(&id)) {
                continue;
            }
            self.settle(&id).await;
            if let Some(ownership) = self.own(&id, 0, holder, false).await? {
                match self.clone().begin(&id, &entry, &ownership).await {
                    Ok(Some(log)) => return Ok((id, entry, log)),
                    Ok(None) => self.disown(&ownership).await,
                    Err(error) => {
                        self.disown(&ownership).await;
                        return Err(error);
                    }
                }
            }
            if taken.is_none() {
                taken = Some(self.names_taken().await?);
            }
        }
        Err(self.cluster.unreachable("find a free name in", &self.subjects.name(), "all are taken"))
    }

    /// The names of all sessions and reservations.
    async fn names_taken(&self) -> Result<Vec<SessionId>, StoreError> {
        let mut taken = self.list().await?;
        let owners = self.cluster.subjects(&self.cluster.owners, &self.subjects.all_owners()).await?;
        taken.extend(owners.iter().filter_map(|subject| super::subjects::Subjects::session(subject)));
        Ok(taken)
    }

    /// Writes the first entry of a session; `None` if the name is taken.
    async fn begin(
        self: Arc<Self>,
        id: &SessionId,
        entry: &Entry,
        ownership: &Ownership,
    ) -> Result<Option<NatsLog>, StoreError> {
        let (sealing, line) = self.sealed_lines(id, vec![entry.clone()]).await?;
        let subject = self.subjects.log(id);
        let expected = Expected { subject: subject.clone(), sequence: 0 };
        let body = self.cluster.body(line.clone()).await?;
        match self.cluster.write(&subject, Some(&expected), Purpose::Add, &body).await? {
            WriteReply::At(last) => {
                let copy = self.copy_of(id);
                let (sealing, copy) = block(move || {
                    sealing.remember(Flush::Later);
                    Ok((sealing, LogCopy::open(copy, &line)))
                })
                .await?;
                Ok(Some(self.held(id, ownership.clone(), (last, 1), sealing, copy)))
            }
            WriteReply::Refused => Ok(None),
        }
    }

    /// The lines of a new log, and its seals after them.
    pub(super) async fn sealed_lines(
        &self,
        id: &SessionId,
        entries: Vec<Entry>,
    ) -> Result<(Sealing, Vec<u8>), StoreError> {
        let (mut sealing, place) = (self.sealing(id), self.whereabouts(id));
        block(move || {
            let mut lines = Vec::new();
            for entry in &entries {
                let object = line::object(entry).map_err(|error| unsealed(place.clone())(error.into()))?;
                let line = sealing.line(object).map_err(unsealed(place.clone()))?;
                sealing.advance(&line);
                lines.extend(line);
            }
            Ok((sealing, lines))
        })
        .await
    }

    /// Holds a session.
    pub(super) async fn hold(
        self: Arc<Self>,
        id: &SessionId,
        holder: &Holder,
    ) -> Result<(Vec<Entry>, NatsLog), StoreError> {
        self.settle(id).await;
        self.find(id).await?;
        for _ in 0..TRIES {
            let last = match self.owner(id).await? {
                Owner::Process(record) => {
                    let holder = self.holder_of(&record);
                    return Err(StoreError::Busy { id: id.clone(), holder });
                }
                Owner::Nobody(last) | Owner::Gone { revision: last, .. } => last,
            };
            let Some(ownership) = self.own(id, last, holder, false).await? else { continue };
            return match self.clone().take_over(id, ownership.clone()).await {
                Ok(held) => Ok(held),
                Err(error) => {
                    self.disown(&ownership).await;
                    Err(error)
                }
            };
        }
        Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN })
    }

    /// Reads the log, and marks that it has another writer: from then on, the one before can write nothing. If that
    /// one wrote something in between, the log is read again.
    async fn take_over(
        self: Arc<Self>,
        id: &SessionId,
        ownership: Ownership,
    ) -> Result<(Vec<Entry>, NatsLog), StoreError> {
        let subject = self.subjects.log(id);
        for _ in 0..TRIES {
            let log = self.verified(id, 0).await?;
            let seal = log.seal();
            if !seal.counts() {
                return Err(StoreError::NotOurs { id: id.clone(), seal });
            }
            let expected = Expected { subject: subject.clone(), sequence: log.last };
            let mark = Purpose::Hold(&ownership.lease.id);
            let nothing = Body::Whole(Vec::new());
            let WriteReply::At(last) = self.cluster.write(&subject, Some(&expected), mark, &nothing).await?
            else {
                continue;
            };
            let (mut sealing, copy, place) = (self.sealing(id), self.copy_of(id), self.whereabouts(id));
            let (bytes, verifier) = (log.bytes, log.verifier);
            let (sealing, copy) = block(move || {
                // The servers have stored all of it.
                sealing.resume(verifier.as_ref(), || Ok(())).map_err(unsealed(place))?;
                Ok((sealing, LogCopy::open(copy, &bytes)))
            })
            .await?;
            return Ok((log.entries, self.held(id, ownership, (last, log.count), sealing, copy)));
        }
        Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN })
    }

    /// Starts the task that writes to a held session.
    fn held(
        self: Arc<Self>,
        id: &SessionId,
        ownership: Ownership,
        (last, count): (u64, u64),
        sealing: Sealing,
        copy: LogCopy,
    ) -> NatsLog {
        let (used, guard) = self.owned.add(self.subjects.owner(id));
        let (commands, received) = mpsc::unbounded_channel();
        let lease = ownership.lease.clone();
        let writer = LogWriter {
            subject: self.subjects.log(id),
            site: self.clone(),
            id: id.clone(),
            ownership,
            last,
            count,
            sealing,
            copy: Some(copy),
            is_superseded: false,
        };
        tokio::spawn(writer.run(received, guard));
        let site = self;
        NatsLog { site, id: id.clone(), commands, lease, _used: used, released: watch::channel(()).0 }
    }
}

impl LogWriter {
    /// Writes what comes in until the log is dropped, then releases the session.
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<LogCommand>, released: OwnedGuard) {
        self.site.leases.held.fetch_add(1, Ordering::Relaxed);
        while let Some(command) = commands.recv().await {
            match command {
                LogCommand::Append { at, facts, answer } => {
                    let _ = answer.send(self.append(at, facts).await);
                }
                LogCommand::Attach { prepared, answer } => {
                    let _ = answer.send(self.attach(prepared).await);
                }
            }
        }
        self.site.leases.held.fetch_sub(1, Ordering::Relaxed);
        drop(self.copy.take());
        self.site.disown(&self.ownership).await;
        drop(released);
    }

    fn superseded(&self) -> StoreError {
        StoreError::Superseded { id: self.id.clone() }
    }

    /// The condition under which this process still writes the log.
    fn expected(&self) -> Result<Expected, StoreError> {
        if self.is_superseded || !self.ownership.lease.is_live() {
            return Err(self.superseded());
        }
        Ok(Expected { subject: self.subject.clone(), sequence: self.last })
    }

    async fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError> {
        let expected = self.expected()?;
        let entry = Entry { seq: self.count + 1, at, facts };
        let place = || self.subject.clone();
        let object = line::object(&entry).map_err(|error| unsealed(place())(error.into()))?;
        let line = self.sealing.line(object).map_err(unsealed(place()))?;
        let body = self.site.cluster.body(line.clone()).await?;
        #[cfg(debug_assertions)]
        let expected = Some(expected).filter(|_| super::faults::is_fenced());
        #[cfg(not(debug_assertions))]
        let expected = Some(expected);
        match self.site.cluster.write(&self.subject, expected.as_ref(), Purpose::Add, &body).await {
            Ok(WriteReply::At(last)) => self.last = last,
            Ok(WriteReply::Refused) => {
                // Another process writes the log. Or a write that failed for this one was stored after all; then the
                // session has to be read again.
                self.is_superseded = true;
                return Err(self.superseded());
            }
            Err(error) => return Err(error),
        }
        self.count = entry.seq;
        self.sealing.advance(&line);
        let flush = if are_momentous(&entry.facts) { Flush::Now } else { Flush::Later };
        let (sealing, mut copy) = (self.sealing.clone(), self.copy.take());
        let copied = block(move || {
            copy.iter_mut().for_each(|copy| copy.add(&line));
            sealing.remember(flush);
            Ok(copy)
        });
        match copied.await {
            Ok(copy) => self.copy = copy,
            Err(error) => warn!(%error, "line not copied"),
        }
        Ok(entry)
    }

    /// Stores an attachment, under the condition that nobody else has written to the log.
    async fn attach(&mut self, prepared: PreparedDocument) -> Result<(), StoreError> {
        let expected = self.expected()?;
        match self.site.put(prepared, Some(&expected)).await? {
            WriteReply::At(_) => Ok(()),
            WriteReply::Refused => {
                self.is_superseded = true;
                Err(self.superseded())
            }
        }
    }
}

impl Log for NatsLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry> {
        async move {
            let (answer, answered) = oneshot::channel();
            let _ = self.commands.send(LogCommand::Append { at, facts, answer });
            answered.await.unwrap_or_else(|_| Err(ended(&self.id)))
        }
        .boxed()
    }

    fn attacher(&self) -> Arc<dyn Attacher> {
        let (site, id) = (self.site.clone(), self.id.clone());
        Arc::new(NatsAttacher { site, id, commands: self.commands.downgrade() })
    }

    fn loss(&self) -> Option<BoxFuture<'static, bool>> {
        let (lease, mut released) = (self.lease.clone(), self.released.subscribe());
        let loss = async move {
            tokio::select! {
                // A log is also dropped because of the loss.
                biased;
                () = lease.lapse() => true,
                _ = released.changed() => false,
            }
        };
        Some(loss.boxed())
    }
}

/// Stores attachments of a held session. Does not hold it.
struct NatsAttacher {
    site: Arc<NatsSite>,
    id: SessionId,
    commands: mpsc::WeakUnboundedSender<LogCommand>,
}

impl Attacher for NatsAttacher {
    fn attach<'a>(&'a self, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move {
            let (site, id, name) = (self.site.clone(), self.id.clone(), name.to_owned());
            // Long content is stored before the writer's turn, so that entries do not wait for it.
            let prepared = runtime::run(async move { site.prepare(&id, &name, content).await }).await?;
            let Some(commands) = self.commands.upgrade() else {
                return Err(StoreError::Superseded { id: self.id.clone() });
            };
            let (answer, answered) = oneshot::channel();
            let _ = commands.send(LogCommand::Attach { prepared, answer });
            drop(commands);
            answered.await.unwrap_or_else(|_| Err(ended(&self.id)))
        }
        .boxed()
    }
}

/// The error if the task that writes has ended, which happens only if it panicked or the process ends.
fn ended(id: &SessionId) -> StoreError {
    let source = io::Error::other("the task that writes it has ended");
    StoreError::Io { what: "write to", place: id.to_string(), source }
}
