//! Sessions as directories: `<root>/20260124-add-user-auth/log.jsonl`, and beside it a lock for its writer.
//! `docs/formats/log.md` and `docs/formats/session-directory.md` are the contract with other programs.
//!
//! `Disk` does the blocking work; this file hands each operation to a blocking thread.

mod dirs;
mod disk;
mod documents;
pub(super) mod home;
pub(super) mod line;
mod lock;
pub(super) mod log;
mod reserved;
pub(super) mod scan;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use futures_util::future::ready;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use rapport_durable::Lock;

use self::disk::{Disk, OpenAttachment};
use self::log::FileLog;
use self::reserved::ReservedDir;
use super::{
    Attacher, AttachmentPieces, Changes, DocumentFolder, Holder, InspectedSession, Log, Reserved, Store,
    StoreError, StoreKind, StoreSite, Stored,
};
use crate::seals::{Seal, Seals};
use crate::threads::off_thread;

/// Sessions in one directory, which need not exist yet.
#[derive(Clone, Debug)]
pub struct Files {
    disk: Disk,
}

impl Files {
    /// Sessions in this directory: `<project>/.rapport/sessions`.
    pub fn new(root: PathBuf) -> Self {
        Self { disk: Disk { root, project: None, seals: None } }
    }

    /// Sets the project in which the sessions work, wherever they were begun.
    #[must_use]
    pub fn of(self, project: PathBuf) -> Self {
        Self { disk: Disk { project: Some(project), ..self.disk } }
    }

    /// Sets the seals of this person: new lines are signed, and lines of others are not trusted.
    #[must_use]
    pub fn sealed_by(self, seals: impl Into<Arc<Seals>>) -> Self {
        Self { disk: Disk { seals: Some(seals.into()), ..self.disk } }
    }

    fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, StoreError> + Send + 'static,
    ) -> Stored<'static, T> {
        let disk = self.disk.clone();
        on_blocking_thread(move || work(&disk))
    }

    fn held(&self, id: &SessionId, log: FileLog) -> Box<dyn Log> {
        let attacher = FileAttacher { files: self.clone(), id: id.clone(), lock: log.lock() };
        Box::new(HeldLog { place: self.whereabouts(id), attacher: Arc::new(attacher), log: Some(log) })
    }
}

/// Sessions as directories of the project, with the person's seals.
#[derive(Clone, Copy, Debug)]
pub struct FilesKind;

impl StoreKind for FilesKind {
    fn name(&self) -> &'static str {
        "files"
    }

    fn open(&self, site: StoreSite) -> Stored<'static, Arc<dyn Store>> {
        let files: Arc<dyn Store> = Arc::new(Files::new(site.root).of(site.project).sealed_by(site.seals));
        ready(Ok(files)).boxed()
    }

    fn whereabouts(&self, site: &StoreSite, id: Option<&SessionId>) -> String {
        let place = id.map_or_else(|| site.root.clone(), |id| site.root.join(id.as_str()));
        place.display().to_string()
    }

    fn remedy(&self) -> &'static str {
        "Look at the folder's permissions."
    }
}

/// Runs blocking work off the calling thread.
fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Stored<'static, T> {
    async move {
        off_thread(work).await.unwrap_or_else(|source| {
            let place = "the sessions".to_owned();
            Err(StoreError::Io { what: "use", place, source })
        })
    }
    .boxed()
}

impl Store for Files {
    fn create<'a>(
        &'a self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        let (words, holder) = (words.to_owned(), holder.clone());
        let created = self.on_disk(move |disk| disk.create(&words, at, facts, &holder));
        async move {
            let (id, entry, log) = created.await?;
            let log = self.held(&id, log);
            Ok((id, entry, log))
        }
        .boxed()
    }

    fn reserve(&self, words: &str, at: Timestamp) -> Stored<'_, Box<dyn Reserved>> {
        let words = words.to_owned();
        self.on_disk(move |disk| Ok(Box::new(disk.reserve(&words, at)?) as Box<dyn Reserved>))
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        let (named, holder) = (id.clone(), holder.clone());
        let held = self.on_disk(move |disk| disk.hold(&named, &holder));
        async move {
            let (entries, log) = held.await?;
            Ok((entries, self.held(id, log)))
        }
        .boxed()
    }

    fn read(&self, id: &SessionId, after: u64) -> Stored<'_, Vec<Entry>> {
        let id = id.clone();
        self.on_disk(move |disk| disk.read(&id, after))
    }

    fn sealed(&self, id: &SessionId, after: u64) -> Stored<'_, (Vec<Entry>, Seal)> {
        let id = id.clone();
        self.on_disk(move |disk| disk.sealed(&id, after))
    }

    fn raw(&self, id: &SessionId, from: usize) -> Stored<'_, Vec<u8>> {
        let id = id.clone();
        self.on_disk(move |disk| disk.raw(&id, from))
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_disk(Disk::list)
    }

    fn holder(&self, id: &SessionId) -> Stored<'_, Option<Holder>> {
        let id = id.clone();
        self.on_disk(move |disk| disk.holder(&id))
    }

    fn watch(&self) -> Stored<'_, Changes> {
        self.on_disk(watch::watch)
    }

    fn attach(&self, id: &SessionId, name: &str, content: Vec<u8>) -> Stored<'_, ()> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_disk(move |disk| disk.attach(&id, &name, &content))
    }

    fn attached(&self, id: &SessionId, name: &str) -> Stored<'_, Option<Vec<u8>>> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_disk(move |disk| disk.attached(&id, &name)?.map(OpenAttachment::whole).transpose())
    }

    fn attached_pieces(&self, id: &SessionId, name: &str) -> Stored<'_, Option<AttachmentPieces>> {
        let (id, name) = (id.clone(), name.to_owned());
        let opened = self.on_disk(move |disk| disk.attached(&id, &name));
        async move { Ok(opened.await?.map(in_pieces)) }.boxed()
    }

    fn folders(&self, id: &SessionId) -> Stored<'_, Vec<DocumentFolder>> {
        let id = id.clone();
        self.on_disk(move |disk| disk.folders(&id))
    }

    fn new_folder(&self, id: &SessionId, name: &str, documents: Vec<(String, Vec<u8>)>) -> Stored<'_, bool> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_disk(move |disk| disk.new_folder(&id, &name, &documents))
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_disk(Disk::documented)
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_disk(Disk::unfilled)
    }

    fn release(&self, id: &SessionId) -> Stored<'_, ()> {
        let id = id.clone();
        self.on_disk(move |disk| disk.release(&id))
    }

    fn take_in<'a>(
        &'a self,
        id: &'a SessionId,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        let id = id.clone();
        self.on_disk(move |disk| disk.take_in(&id, &entries, &attachments))
    }

    fn give_away<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        let id = id.clone();
        self.on_disk(move |disk| disk.give_away(&id))
    }

    fn session_at(&self, path: &Path) -> Stored<'_, Option<SessionId>> {
        let path = path.to_owned();
        self.on_disk(move |disk| Ok(disk.session_at(&path)))
    }

    fn enlist(&self, id: &SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'_, ()> {
        let id = id.clone();
        self.on_disk(move |disk| disk.enlist(&id, at, facts))
    }

    fn look(&self, id: &SessionId) -> Stored<'_, InspectedSession> {
        let id = id.clone();
        self.on_disk(move |disk| disk.look(&id))
    }

    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()> {
        self.on_disk(move |disk| disk.trust(&inspected))
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        self.disk.whereabouts(id)
    }
}

/// An attachment as it is read from its file.
fn in_pieces(attachment: OpenAttachment) -> AttachmentPieces {
    let next = |mut rest: OpenAttachment| {
        on_blocking_thread(move || {
            let piece = rest.piece()?;
            Ok((!piece.is_empty()).then_some((piece, rest)))
        })
    };
    stream::try_unfold(attachment, next).boxed()
}

/// A held log. While an entry is being written, the writing thread owns the log and its lock: a caller that stops
/// waiting no longer knows the content of the log, and cannot write to it again.
struct HeldLog {
    place: String,
    attacher: Arc<FileAttacher>,
    log: Option<FileLog>,
}

impl Log for HeldLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry> {
        async move {
            let Some(mut log) = self.log.take() else {
                let why = "an earlier write was not awaited, so the log has to be read again first";
                let source = io::Error::other(why);
                return Err(StoreError::Io { what: "write to", place: self.place.clone(), source });
            };
            let written = on_blocking_thread(move || {
                let outcome = log.append(at, facts);
                Ok((log, outcome))
            });
            let (log, outcome) = written.await?;
            self.log = Some(log);
            outcome
        }
        .boxed()
    }

    fn attacher(&self) -> Arc<dyn Attacher> {
        self.attacher.clone()
    }
}

/// Stores attachments of a session while its lock is held.
struct FileAttacher {
    files: Files,
    id: SessionId,
    lock: Weak<Lock>,
}

impl Attacher for FileAttacher {
    fn attach(&self, name: &str, content: Vec<u8>) -> Stored<'_, ()> {
        let (id, lock, name) = (self.id.clone(), self.lock.clone(), name.to_owned());
        self.files.on_disk(move |disk| disk.attach_held(&id, &lock, &name, &content))
    }
}

impl Reserved for ReservedDir {
    fn id(&self) -> &SessionId {
        ReservedDir::id(self)
    }

    fn fill(
        self: Box<Self>,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'static, ()> {
        on_blocking_thread(move || ReservedDir::fill(*self, &entries, &attachments))
    }
}
