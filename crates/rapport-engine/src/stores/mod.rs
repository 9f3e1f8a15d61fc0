//! Stores of logs. A store keeps sessions as lists of entries, lets one writer at a time append to each, and guarantees
//! that appended entries survive a power cut. It also keeps the documents of a session, which people read and edit.
//! `tests/it/contract/store.rs` runs the same story on every store.

pub mod blocking;
#[cfg(debug_assertions)]
pub mod faults;
pub mod files;
mod kinds;
mod lazy_store;
pub mod memory;
#[cfg(feature = "nats")]
pub mod nats;
pub mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use rapport_core::{Entry, Event, Session, SessionId, slug};
use tokio::sync::mpsc;

pub use rapport_door::{Holder, StoreError};

use reach::{Reach, Recipient};

use crate::seals::{Seal, Verifier};

pub use kinds::{ChosenStore, SettingsReader, StoreKind, StoreKinds, StoreSite};

impl StoreKinds {
    /// The kinds that come with Rapport. A new kind needs a line here and its module above.
    pub fn builtin() -> Self {
        let kinds = Self::of(files::FilesKind);
        #[cfg(feature = "nats")]
        let kinds = kinds.with(nats::NatsKind);
        kinds
    }
}

/// A pending result of a store. Nothing begins before it is awaited; dropping it midway either completes the operation
/// or leaves it undone, with nothing in between.
pub type Stored<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// An attachment in pieces. The stream ends at the first piece that cannot be read.
pub type AttachmentPieces = BoxStream<'static, Result<Vec<u8>, StoreError>>;

/// The size of a piece of content, in bytes.
pub(crate) const PIECE: usize = 64 * 1024;

/// Content that is in memory as a whole, in pieces.
pub(crate) fn pieces(content: Vec<u8>) -> AttachmentPieces {
    let count = content.len().div_ceil(PIECE);
    let piece = move |n: usize| Ok(content.chunks(PIECE).nth(n).unwrap_or_default().to_vec());
    stream::iter(0..count).map(piece).boxed()
}

/// A store of logs. No method blocks the calling thread.
pub trait Store: Send + Sync {
    /// Creates a session from its first facts, named after the day and these words, and holds it for writing. Two
    /// sessions created at once from the same words get different names.
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)>;

    /// Reserves a name for a session that will be stored as a whole. Until then, readers do not see it.
    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>>;

    /// Holds a session for writing and returns its entries. While the log lives, no other process can hold it. The
    /// hold of a holder that died ends.
    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)>;

    /// The entries after this one (0 for all), without holding the session. An entry that is just being appended may be
    /// missing.
    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>>;

    /// The entries after this one, and the result of verifying the whole log.
    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)>;

    /// A piece of the log as it is stored, from this byte on; empty at its end. A store without such a form has the
    /// entries, one per line.
    fn raw<'a>(&'a self, id: &'a SessionId, from: usize) -> Stored<'a, Vec<u8>> {
        async move {
            let mut log = Vec::new();
            for entry in self.read(id, 0).await? {
                let line = serde_json::to_vec(&entry).map_err(|error| StoreError::Io {
                    what: "write out an entry of",
                    place: id.to_string(),
                    source: error.into(),
                })?;
                log.extend(line);
                log.push(b'\n');
            }
            Ok(log.split_off(from.min(log.len())))
        }
        .boxed()
    }

    /// The entries after this one, if the log is trusted.
    fn counted<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move {
            let (entries, seal) = self.sealed(id, after).await?;
            if seal.counts() { Ok(entries) } else { Err(StoreError::NotOurs { id: id.clone(), seal }) }
        }
        .boxed()
    }

    /// All sessions, sorted by name. Names begin with the day, so the oldest come first.
    fn list(&self) -> Stored<'_, Vec<SessionId>>;

    /// The current holder of a session, if there is one.
    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>>;

    /// The name of the machine on which a session was begun, if that is another one.
    fn begun_at<'a>(&'a self, _id: &'a SessionId) -> Stored<'a, Option<String>> {
        async { Ok(None) }.boxed()
    }

    /// The processes that hold sessions of this store, on all machines. `None` if there is only this machine.
    fn hosts(&self) -> Stored<'_, Option<Vec<HostProcess>>> {
        async { Ok(None) }.boxed()
    }

    /// Compares every log with this machine's copy of it. `None` if the store keeps no copies.
    fn copies(&self) -> Stored<'_, Option<Vec<(SessionId, CopyState)>>> {
        async { Ok(None) }.boxed()
    }

    /// Stores again what this machine's copy of a log has and the store has lost. Returns the number of entries.
    fn restore<'a>(&'a self, _id: &'a SessionId) -> Stored<'a, u64> {
        async { Ok(0) }.boxed()
    }

    /// Stores a whole session of another store under its own name: everything, durably, or nothing. `false` if there is
    /// one of that name, which is not changed. The entries are sealed anew.
    fn take_in<'a>(
        &'a self,
        id: &'a SessionId,
        _entries: Vec<Entry>,
        _attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        async move { Err(cannot("take in", id)) }.boxed()
    }

    /// Gives this machine's copy of a log another name, because another store is about to take in the session.
    fn set_copy_aside<'a>(&'a self, _id: &'a SessionId) -> Stored<'a, ()> {
        async { Ok(()) }.boxed()
    }

    /// Removes a session that another store has taken in.
    fn give_away<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move { Err(cannot("give away", id)) }.boxed()
    }

    /// How holders on other machines are reached, if the store knows a way.
    fn reach(&self) -> Option<Arc<dyn Reach>> {
        None
    }

    /// Has acts that are sent from other machines delivered to this recipient, until the result is dropped. `None` if
    /// there are no other machines.
    fn receive(&self, _recipient: Arc<dyn Recipient>) -> Stored<'_, Option<Box<dyn Send>>> {
        async { Ok(None) }.boxed()
    }

    /// Reports which sessions change from now on, whichever process writes them. It may report one too often, but
    /// never misses one.
    fn watch(&self) -> Stored<'_, Changes>;

    /// Stores an attachment of a session, replacing one of the same name. Durable when this returns. The state is in
    /// the facts; attachments are what is needed to continue with them, such as an agent's conversation, or
    /// documents: what people read and may edit, such as the plan of a turn (`01/plan.md`). A name is plain, or a
    /// path of plain names; [`Attachment`] tells them apart. The holder of a session uses [`Log::attacher`], which
    /// fails once another process holds it.
    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()>;

    /// The attachment of this name. One with a plain name is returned only if it is trusted. People may edit a
    /// document, so the facts decide how far its content takes effect. A session without a log can have documents,
    /// too.
    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>>;

    /// The attachment in pieces, so that a large one need not be in memory as a whole. Whether it is trusted is known
    /// before the first piece.
    fn attached_pieces<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
    ) -> Stored<'a, Option<AttachmentPieces>> {
        async move { Ok(self.attached(id, name).await?.map(pieces)) }.boxed()
    }

    /// The folders of a session's documents, sorted by name.
    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>>;

    /// Creates a folder with these documents (at least one), durably; `false` if there is a folder of this name. Of
    /// two callers at once only one creates it, so creating a folder reserves its name. A kill in between may leave a
    /// folder without some of its documents.
    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool>;

    /// All sessions with documents, sorted by name, including those without a log.
    fn documented(&self) -> Stored<'_, Vec<SessionId>>;

    /// The session whose documents are below this path, if the store keeps documents as files.
    fn session_at<'a>(&'a self, _path: &'a Path) -> Stored<'a, Option<SessionId>> {
        async { Ok(None) }.boxed()
    }

    /// The names that were reserved and never filled, sorted: the processes that reserved them were interrupted.
    fn unfilled(&self) -> Stored<'_, Vec<SessionId>>;

    /// Releases a name that was reserved and never filled. A name that is still being filled is [`StoreError::Busy`];
    /// a session is [`StoreError::NotFound`] here, and stays.
    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()>;

    /// Creates a log for a session without one, such as a directory of an older tool. An existing log is not changed.
    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()>;

    /// Everything that a person has to see before they trust a session.
    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession>;

    /// Trusts a session exactly as it was seen. Durable when this returns.
    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()>;

    /// Where a session's facts are stored, in words for a person.
    fn whereabouts(&self, id: &SessionId) -> String;

    /// Replays these entries of a session's log.
    fn replay(&self, id: &SessionId, entries: &[Entry]) -> Result<Session, StoreError> {
        Session::replay(entries).ok_or_else(|| StoreError::Damaged {
            place: self.whereabouts(id),
            line: 1,
            what: "it does not begin with the creation of a session".into(),
        })
    }
}

fn cannot(what: &'static str, id: &SessionId) -> StoreError {
    let source = std::io::Error::new(std::io::ErrorKind::Unsupported, "this store cannot do that");
    StoreError::Io { what, place: id.to_string(), source }
}

/// A process that holds sessions in a store that several machines share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProcess {
    /// The name of its machine.
    pub host: String,
    /// The id of its machine: two may have the same name.
    pub host_id: String,
    pub pid: u32,
    /// When it began to hold sessions, by the clock of its machine.
    pub since: Timestamp,
    /// The load of its machine, in hundredths of a process.
    pub load: Option<u32>,
    /// The number of sessions that it holds, in all projects.
    pub held: usize,
    /// Those of this project.
    pub sessions: Vec<SessionId>,
    /// Whether its machine is this one.
    pub is_here: bool,
}

/// How this machine's copy of a log compares with the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyState {
    Same,
    /// There is none: this machine has neither written nor followed the session.
    NoCopy,
    /// It lacks entries, which it gets when the log is read next.
    Behind {
        missing: u64,
    },
    /// The store has lost entries that the copy has.
    Ahead {
        missing: u64,
    },
    /// They differ from this line on, so one of them is not what was written.
    Differs {
        line: usize,
    },
    /// The log is not trusted.
    NotTrusted(Seal),
    /// The log is not what was written.
    Damaged {
        line: usize,
        what: String,
    },
}

/// A session as a person saw it.
#[derive(Debug)]
pub struct InspectedSession {
    pub id: SessionId,
    pub entries: Vec<Entry>,
    /// Its attachments with plain names.
    pub attachments: Vec<(String, Vec<u8>)>,
    /// The result of verifying it.
    pub seal: Seal,
    /// The verifier, if the store uses seals.
    pub verifier: Option<Verifier>,
}

/// A stream of changed sessions.
pub struct Changes {
    ids: mpsc::UnboundedReceiver<SessionId>,
    /// The watcher; dropping it stops the stream.
    _watcher: Box<dyn Send>,
}

impl Changes {
    /// A stream of the sessions that this watcher sends to the other end of `ids`, until the stream is dropped.
    pub fn new(ids: mpsc::UnboundedReceiver<SessionId>, watcher: impl Send + 'static) -> Self {
        Self { ids, _watcher: Box::new(watcher) }
    }

    /// The next changed session; `None` if changes can no longer be observed.
    pub async fn next(&mut self) -> Option<SessionId> {
        self.ids.recv().await
    }
}

/// A session held for writing. Dropping it releases it.
pub trait Log: Send {
    /// Appends one entry. It is durable when this succeeds; if it fails, nothing was appended. A writer that lost its
    /// hold gets [`StoreError::Superseded`]. A writer that dropped an append before it was done may be refused the
    /// next: it has to read the log again.
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry>;

    /// Stores attachments of this session, for tasks of its holder while the log is in use.
    fn attacher(&self) -> Arc<dyn Attacher>;

    /// Completes when the log is released, or with `true` if the hold is lost without a write that shows it, such as
    /// when the servers that keep the log can no longer be reached. `None` if that cannot happen.
    fn loss(&self) -> Option<BoxFuture<'static, bool>> {
        None
    }
}

/// Stores attachments of a session while its log is held. Does not hold the session itself.
pub trait Attacher: Send + Sync {
    /// The same as [`Store::attach`], for the holder: one that lost or released its hold gets
    /// [`StoreError::Superseded`].
    fn attach<'a>(&'a self, name: &'a str, content: Vec<u8>) -> Stored<'a, ()>;
}

/// A reserved name of a session. Dropping it releases the name.
pub trait Reserved: Send {
    fn id(&self) -> &SessionId;

    /// Stores the session with all its entries and attachments: everything, durably, or nothing. If the name was
    /// released meanwhile, it fails with [`StoreError::Superseded`].
    fn fill(self: Box<Self>, entries: Vec<Entry>, attachments: Vec<(String, Vec<u8>)>)
    -> Stored<'static, ()>;
}

/// The paths that every turn of a session is shown: the only document outside of folders.
pub const SESSION_CONTEXT: &str = "session.context";

/// A folder of documents, such as that of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFolder {
    pub name: String,
    /// When a document was last added or removed; the epoch if that is unknown.
    pub changed: Timestamp,
    /// The names of its documents, without the folder, sorted.
    pub documents: Vec<String>,
}

/// The parsed name of an attachment, checked so that it cannot lead elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment<'a> {
    Plain(&'a str),
    /// A document for people: [`SESSION_CONTEXT`], or a folder and a path in it.
    Document(&'a str),
}

impl<'a> Attachment<'a> {
    /// Parses a name; `None` if it is invalid.
    pub fn named(name: &'a str) -> Option<Self> {
        if !name.split('/').all(is_plain_name) {
            return None;
        }
        let is_document = name.contains('/') || name == SESSION_CONTEXT;
        Some(if is_document { Self::Document(name) } else { Self::Plain(name) })
    }
}

/// Whether a folder of documents can have this name and these documents.
pub fn is_folder(name: &str, documents: &[(String, Vec<u8>)]) -> bool {
    let mut names = documents.iter().map(|(document, _)| document);
    is_plain_name(name) && !documents.is_empty() && names.all(|document| is_plain_name(document))
}

/// The folders of documents with these names, for a store without folders of its own.
pub fn folders_of<'a>(names: impl Iterator<Item = &'a str>, changed: Timestamp) -> Vec<DocumentFolder> {
    let mut folders = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (folder, document) in names.filter_map(|name| name.split_once('/')) {
        let documents = folders.entry(folder).or_default();
        if !document.contains('/') {
            documents.insert(document);
        }
    }
    let owned = folders.into_iter().map(|(name, documents)| DocumentFolder {
        name: name.to_owned(),
        changed,
        documents: documents.into_iter().map(str::to_owned).collect(),
    });
    owned.collect()
}

/// Whether a name is one plain part of a path: not empty, not `..`, no slash, nothing a system call rejects.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']) && name.len() <= 255
}

/// Tells servers that this process ends, if it uses any, so that other machines can hold its sessions at once. Blocks.
pub fn leave() {
    #[cfg(feature = "nats")]
    nats::leave();
}

/// Candidates for the name of a session, best first: the day and the words, then with a number.
pub fn names(words: &str, at: Timestamp) -> impl Iterator<Item = String> {
    let name = format!("{}-{}", at.strftime("%Y%m%d"), slug::part(words));
    let numbered = name.clone();
    std::iter::once(name).chain((2_u32..).map(move |number| format!("{numbered}-{number}")))
}
