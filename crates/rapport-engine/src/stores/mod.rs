//! Where logs live. A store keeps sessions as lists of entries, lets one writer at a time add to each, and promises
//! that what was added is still there after a power cut. `tests/it/contract/store.rs` tells every store the same story.

pub mod files;
pub mod memory;
#[cfg(debug_assertions)]
pub mod trial;

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, slug};
use tokio::sync::mpsc;

pub use rapport_door::{Holder, StoreError};

use crate::seals::Seal;

/// A place where logs live.
pub trait Store: Send + Sync {
    /// Makes a session from its first facts, called after the day and these words, and holds it for writing.
    /// Two sessions made at once from the same words get different names.
    fn create(
        &self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(SessionId, Entry, Box<dyn Log>), StoreError>;

    /// Takes a name for a session that will be put there whole. Until it is, nobody sees it.
    fn reserve(&self, words: &str, at: Timestamp) -> Result<Box<dyn Reserved>, StoreError>;

    /// Holds a session for writing and gives what it has so far. While the log lives, nobody else can.
    /// A holder that died holds nothing.
    fn hold(&self, id: &SessionId, holder: &Holder) -> Result<(Vec<Entry>, Box<dyn Log>), StoreError>;

    /// The entries after this one (0 for all), without holding anything. What a writer is just adding may be missing.
    fn read(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError>;

    /// The same, and whose word the whole log is.
    fn sealed(&self, id: &SessionId, after: u64) -> Result<(Vec<Entry>, Seal), StoreError>;

    /// The same, where what the log says counts.
    fn counted(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        let (entries, seal) = self.sealed(id, after)?;
        if seal.counts() { Ok(entries) } else { Err(StoreError::NotOurs { id: id.clone(), seal }) }
    }

    /// Every session there is, sorted by name. Names begin with the day, so the oldest come first.
    fn list(&self) -> Result<Vec<SessionId>, StoreError>;

    /// Who holds a session for writing now, if anybody does.
    fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError>;

    /// Tells which sessions change from now on, whoever writes them. It may name one too often, never too seldom.
    fn watch(&self) -> Result<Changes, StoreError>;

    /// Keeps something beside a session's facts, in place of what was kept under this name before. Durable when this
    /// returns. What matters is in the facts; this is what others need to go on with them, such as an agent's conversation.
    fn keep(&self, id: &SessionId, name: &str, content: &[u8]) -> Result<(), StoreError>;

    /// What was kept under this name.
    fn kept(&self, id: &SessionId, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Puts a file into a session's directory, in place of one that is there. Its path is from there, and stays there.
    /// Durable when this returns.
    fn attach(&self, id: &SessionId, path: &str, content: &[u8]) -> Result<(), StoreError>;

    /// A file in a session's directory.
    fn attached(&self, id: &SessionId, path: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Where a session's facts are, in words for a person.
    fn whereabouts(&self, id: &SessionId) -> String;
}

/// Sessions that changed, as a store notices it.
pub struct Changes {
    ids: mpsc::UnboundedReceiver<SessionId>,
    /// Whatever notices; dropped, it stops.
    _watcher: Box<dyn Send>,
}

impl Changes {
    /// What this watcher sends to the other end of `ids`, until it is dropped.
    pub fn new(ids: mpsc::UnboundedReceiver<SessionId>, watcher: impl Send + 'static) -> Self {
        Self { ids, _watcher: Box::new(watcher) }
    }

    /// The next session that changed; `None` when no change can be noticed any more.
    pub async fn next(&mut self) -> Option<SessionId> {
        self.ids.recv().await
    }
}

/// A session held for writing. Dropping it lets go.
pub trait Log: Send {
    /// Adds one entry. When this returns, the entry is durable; when it fails, nothing was added.
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError>;
}

/// A name for a session that is not there yet. Dropping it gives the name back.
pub trait Reserved: Send {
    /// What the session will be called.
    fn id(&self) -> &SessionId;

    /// Puts the session there, with all its entries and what is kept beside them: everything, durably, or nothing.
    fn fill(self: Box<Self>, entries: &[Entry], kept: &[(&str, &[u8])]) -> Result<(), StoreError>;
}

/// What a session made from these words may be called, best first: the day and the words, then with a number.
fn names(words: &str, at: Timestamp) -> impl Iterator<Item = String> {
    let name = format!("{}-{}", at.strftime("%Y%m%d"), slug::part(words));
    let numbered = name.clone();
    std::iter::once(name).chain((2_u32..).map(move |number| format!("{numbered}-{number}")))
}
