//! Where logs live. A store keeps sessions as lists of entries, lets one writer at a time add to each, and promises
//! that what was added is still there after a power cut. `tests/it/contract/store.rs` tells every store the same story.

pub mod files;
pub mod memory;
#[cfg(debug_assertions)]
pub mod trial;

use std::fmt;

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, slug};
use serde::{Deserialize, Serialize};
use thiserror::Error;

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

/// The process that holds a session, and how to talk to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 where nothing is known but that there is one.
    pub pid: u32,
    /// Where it listens, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Holder {
    /// Somebody who holds a session and has not said who it is.
    pub const UNKNOWN: Holder = Holder { pid: 0, address: None };
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("another process"),
            pid => write!(f, "process {pid}"),
        }
    }
}

/// What can go wrong with a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session {0}")]
    NotFound(SessionId),
    /// Somebody else writes.
    #[error("session {id} is held by {holder}")]
    Busy {
        /// Which session.
        id: SessionId,
        /// By whom.
        holder: Holder,
    },
    /// The log is not what was written.
    #[error("{place} is damaged at line {line}: {what}")]
    Damaged {
        /// Which log.
        place: String,
        /// Where in it.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The log was written by a newer program.
    #[error("{place} has format {found}, this program knows formats up to {known}")]
    Newer {
        /// Which log.
        place: String,
        /// What it has.
        found: u32,
        /// What is known.
        known: u32,
    },
    /// What the log says does not count here: nothing is started for it.
    #[error("session {id} {seal}")]
    NotOurs {
        /// Which session.
        id: SessionId,
        /// Whose word it is.
        seal: Seal,
    },
    /// The system said no.
    #[error("cannot {what} {place}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What a session made from these words may be called, best first: the day and the words, then with a number.
fn names(words: &str, at: Timestamp) -> impl Iterator<Item = String> {
    let name = format!("{}-{}", at.strftime("%Y%m%d"), slug::part(words));
    let numbered = name.clone();
    std::iter::once(name).chain((2_u32..).map(move |number| format!("{numbered}-{number}")))
}
