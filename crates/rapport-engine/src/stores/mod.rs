//! Where logs live. A store keeps sessions as lists of entries, lets one writer at a time add to each, and promises
//! that what was added is still there after a power cut. `tests/it/contract/store.rs` tells every store the same story.

pub mod blocking;
#[cfg(debug_assertions)]
pub mod faulty;
pub mod files;
pub mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport_core::{Entry, Event, Session, SessionId, slug};
use tokio::sync::mpsc;

pub use rapport_door::{Holder, StoreError};

use crate::seals::{Seal, Verifier};

/// What a store gives back, once it is there. Nothing is begun before this is awaited; what was begun and is awaited no longer
/// may be done to its end or not at all, and nothing in between.
pub type Stored<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A place where logs live. None of this blocks the thread it is called on.
pub trait Store: Send + Sync {
    /// Makes a session from its first facts, called after the day and these words, and holds it for writing.
    /// Two sessions made at once from the same words get different names.
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)>;

    /// Takes a name for a session that will be put there whole. Until it is, nobody sees it.
    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>>;

    /// Holds a session for writing and gives what it has so far. While the log lives, nobody else can.
    /// A holder that died holds nothing.
    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)>;

    /// The entries after this one (0 for all), without holding anything. What a writer is just adding may be missing.
    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>>;

    /// The same, and whose word the whole log is.
    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)>;

    /// The same, where what the log says counts.
    fn counted<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move {
            let (entries, seal) = self.sealed(id, after).await?;
            if seal.counts() { Ok(entries) } else { Err(StoreError::NotOurs { id: id.clone(), seal }) }
        }
        .boxed()
    }

    /// Every session there is, sorted by name. Names begin with the day, so the oldest come first.
    fn list(&self) -> Stored<'_, Vec<SessionId>>;

    /// Who holds a session for writing now, if anybody does.
    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>>;

    /// Tells which sessions change from now on, their facts or their documents, whoever writes them. It may name one too often,
    /// never too seldom.
    fn watch(&self) -> Stored<'_, Changes>;

    /// Keeps something beside a session's facts, in place of what was kept under this name before. Durable when this
    /// returns. What matters is in the facts; this is what others need to go on with them, such as an agent's conversation,
    /// or a document: what people read and may change, such as the plan of a turn (`01/plan.md`). A name is plain, or a path of
    /// plain names; [`Attachment`] tells them apart. Whoever holds the session attaches with [`Log::attacher`], which stops when somebody else does.
    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()>;

    /// What is attached under this name. Under a plain name, only what counts is given; a document is what people may change,
    /// which counts as far as the facts say so. A session that came without a log has documents as well.
    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>>;

    /// The folders of a session's documents, sorted by name.
    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>>;

    /// Makes a folder with these documents in it, durably; `false` where there is one of that name. Of two who make it at once
    /// only one does, so to make it is to take its name. Killed in between, this may leave a folder without all documents.
    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool>;

    /// Every session that has documents, sorted by name, also those that came without a log.
    fn documented(&self) -> Stored<'_, Vec<SessionId>>;

    /// The session whose documents are below this path, where a store keeps them as files.
    fn session_at<'a>(&'a self, _path: &'a Path) -> Stored<'a, Option<SessionId>> {
        async { Ok(None) }.boxed()
    }

    /// Gives a session a log that came without one, such as a directory of an older tool. One that is there is left as it is.
    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()>;

    /// Looks at a session as a person does who is to trust it: everything that would count then.
    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Looked>;

    /// Lets count what was looked at, just as it was then. Durable when this returns.
    fn trust(&self, looked: Arc<Looked>) -> Stored<'_, ()>;

    /// Where a session's facts are, in words for a person.
    fn whereabouts(&self, id: &SessionId) -> String;

    /// The session that these entries of its log make.
    fn replay(&self, id: &SessionId, entries: &[Entry]) -> Result<Session, StoreError> {
        Session::replay(entries).ok_or_else(|| StoreError::Damaged {
            place: self.whereabouts(id),
            line: 1,
            what: "it does not begin with the creation of a session".into(),
        })
    }
}

/// A session as it was when a person looked at it.
#[derive(Debug)]
pub struct Looked {
    /// Which session.
    pub id: SessionId,
    /// Its entries.
    pub entries: Vec<Entry>,
    /// What is attached to them under plain names.
    pub attachments: Vec<(String, Vec<u8>)>,
    /// Whose word it is.
    pub seal: Seal,
    /// What checked it, where seals did.
    pub verifier: Option<Verifier>,
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
    /// Adds one entry. When this is done, the entry is durable; when it fails, nothing was added. A writer that lost its hold,
    /// and comes back late, gets [`StoreError::Superseded`]. One that did not wait for the end of an append may be refused
    /// another: it has to read what the log says by now.
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry>;

    /// What attaches to this session, for those who work for its holder while the log is in use.
    fn attacher(&self) -> Arc<dyn Attacher>;
}

/// Keeps things beside a session, for as long as the log lives that it is from. Does not hold the session itself.
pub trait Attacher: Send + Sync {
    /// The same as [`Store::attach`], for the holder: one that lost its hold, or let go, gets [`StoreError::Superseded`].
    fn attach<'a>(&'a self, name: &'a str, content: Vec<u8>) -> Stored<'a, ()>;
}

/// A name for a session that is not there yet. Dropping it gives the name back.
pub trait Reserved: Send {
    /// What the session will be called.
    fn id(&self) -> &SessionId;

    /// Puts the session there, with all its entries and what is attached to them: everything, durably, or nothing.
    fn fill(self: Box<Self>, entries: Vec<Entry>, attachments: Vec<(String, Vec<u8>)>)
    -> Stored<'static, ()>;
}

/// What every turn of a session is shown: the one document that is in no folder.
pub const SESSION_CONTEXT: &str = "session.context";

/// A folder of documents, such as that of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFolder {
    /// What it is called.
    pub name: String,
    /// When a document last came or went; long ago where nobody knows.
    pub changed: Timestamp,
    /// What its documents are called, without the folder, sorted.
    pub documents: Vec<String>,
}

/// What is attached, by its name: checked, so that it leads nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment<'a> {
    /// Kept for Rapport.
    Plain(&'a str),
    /// A document, for people: [`SESSION_CONTEXT`], or the path of one in a folder.
    Document(&'a str),
}

impl<'a> Attachment<'a> {
    /// What this name means. Nothing where it is no name.
    pub fn named(name: &'a str) -> Option<Self> {
        if !name.split('/').all(is_plain_name) {
            return None;
        }
        let is_document = name.contains('/') || name == SESSION_CONTEXT;
        Some(if is_document { Self::Document(name) } else { Self::Plain(name) })
    }
}

/// The folders that these names of documents make, for a store that has no folders of its own.
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

/// Whether a name is one part of a path and nothing else: not empty, not `..`, no slash, nothing a system call rejects.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']) && name.len() <= 255
}

/// What a session made from these words may be called, best first: the day and the words, then with a number.
pub fn names(words: &str, at: Timestamp) -> impl Iterator<Item = String> {
    let name = format!("{}-{}", at.strftime("%Y%m%d"), slug::part(words));
    let numbered = name.clone();
    std::iter::once(name).chain((2_u32..).map(move |number| format!("{numbered}-{number}")))
}
