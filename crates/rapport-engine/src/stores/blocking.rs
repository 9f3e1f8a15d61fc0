//! A blocking store for callers that can do nothing else meanwhile: commands that only read, and tests. Async code
//! awaits the store instead.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use jiff::Timestamp;
use rapport_core::{Entry, Event, Session, SessionId};

use super::{Holder, InspectedSession, Log, Reserved, Store, StoreError};
use crate::seals::Seal;

/// A store whose methods block. Each corresponds to the method of [`Store`] with its name.
#[derive(Clone)]
pub struct BlockingStore {
    store: Arc<dyn Store>,
}

impl From<Arc<dyn Store>> for BlockingStore {
    fn from(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

type Outcome<T> = Result<T, StoreError>;

impl BlockingStore {
    pub fn new(store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store) }
    }

    pub fn create(
        &self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Outcome<(SessionId, Entry, BlockingLog)> {
        let (id, entry, log) = wait(self.store.create(words, at, facts, holder))?;
        Ok((id, entry, BlockingLog { log }))
    }

    pub fn reserve(&self, words: &str, at: Timestamp) -> Outcome<BlockingReserved> {
        Ok(BlockingReserved { reserved: wait(self.store.reserve(words, at))? })
    }

    pub fn hold(&self, id: &SessionId, holder: &Holder) -> Outcome<(Vec<Entry>, BlockingLog)> {
        let (entries, log) = wait(self.store.hold(id, holder))?;
        Ok((entries, BlockingLog { log }))
    }

    pub fn read(&self, id: &SessionId, after: u64) -> Outcome<Vec<Entry>> {
        wait(self.store.read(id, after))
    }

    pub fn sealed(&self, id: &SessionId, after: u64) -> Outcome<(Vec<Entry>, Seal)> {
        wait(self.store.sealed(id, after))
    }

    pub fn counted(&self, id: &SessionId, after: u64) -> Outcome<Vec<Entry>> {
        wait(self.store.counted(id, after))
    }

    pub fn list(&self) -> Outcome<Vec<SessionId>> {
        wait(self.store.list())
    }

    pub fn holder(&self, id: &SessionId) -> Outcome<Option<Holder>> {
        wait(self.store.holder(id))
    }

    pub fn attach(&self, id: &SessionId, name: &str, content: &[u8]) -> Outcome<()> {
        wait(self.store.attach(id, name, content.to_owned()))
    }

    pub fn attached(&self, id: &SessionId, name: &str) -> Outcome<Option<Vec<u8>>> {
        wait(self.store.attached(id, name))
    }

    pub fn session_at(&self, path: &Path) -> Outcome<Option<SessionId>> {
        wait(self.store.session_at(path))
    }

    pub fn enlist(&self, id: &SessionId, at: Timestamp, facts: Vec<Event>) -> Outcome<()> {
        wait(self.store.enlist(id, at, facts))
    }

    pub fn look(&self, id: &SessionId) -> Outcome<InspectedSession> {
        wait(self.store.look(id))
    }

    pub fn trust(&self, inspected: Arc<InspectedSession>) -> Outcome<()> {
        wait(self.store.trust(inspected))
    }

    pub fn whereabouts(&self, id: &SessionId) -> String {
        self.store.whereabouts(id)
    }

    pub fn replay(&self, id: &SessionId, entries: &[Entry]) -> Outcome<Session> {
        self.store.replay(id, entries)
    }
}

/// A session held for writing; see [`Log`].
pub struct BlockingLog {
    log: Box<dyn Log>,
}

impl BlockingLog {
    pub fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Outcome<Entry> {
        wait(self.log.append(at, facts))
    }
}

/// A reserved name of a session; see [`Reserved`].
pub struct BlockingReserved {
    reserved: Box<dyn Reserved>,
}

impl BlockingReserved {
    pub fn id(&self) -> &SessionId {
        self.reserved.id()
    }

    pub fn fill(self, entries: &[Entry], attachments: &[(&str, &[u8])]) -> Outcome<()> {
        let owned = attachments.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec()));
        wait(self.reserved.fill(entries.to_vec(), owned.collect()))
    }
}

/// Blocks this thread until the future is done. Unlike a runtime's `block_on`, this can be called anywhere.
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
