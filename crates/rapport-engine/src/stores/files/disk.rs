//! The operations of the files store. All of them block.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, slug};

use super::log::FileLog;
use super::reserved::ReservedDir;
use super::{dirs, documents, home, lock, scan};
use crate::seals::{self, CheckedAttachment, Seal, Sealing, Seals, Verifier};
use crate::stores::{Attachment, Holder, InspectedSession, PIECE, StoreError, names};
use rapport_durable::{self as durable, Lock};

pub(super) const LOG: &str = "log.jsonl";
pub(super) const LOCK: &str = "lock";
pub(super) const KEPT: &str = "kept";

/// Git's rules for `.rapport`, with those of an older version. Logs, plans and reports are to be committed, whatever
/// the project ignores (`*.log` is a common line), and without changes to their line ends. Locks, conversations, and
/// the copies for undoing are not.
const GIT_FILES: [(&str, &str, Option<&str>); 2] = [
    (
        ".gitignore",
        "!_context.log\n!log.jsonl\n!plan.md\n!report.md\n/sessions/*/lock\n/sessions/*/kept/\n/batches/\n",
        Some("!_context.log\n!log.jsonl\n!plan.md\n!report.md\n/sessions/*/lock\n"),
    ),
    (".gitattributes", "* -text\n", None),
];

/// Sessions in one directory, which need not exist yet.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) root: PathBuf,
    pub(super) project: Option<PathBuf>,
    pub(super) seals: Option<Arc<Seals>>,
}

impl Disk {
    /// The entries of a log after this one, and the verifier of the whole log.
    fn verified(
        &self,
        path: &Path,
        id: &SessionId,
        after: u64,
    ) -> Result<(Vec<Entry>, Option<Verifier>), StoreError> {
        let mut verifier = self.sealing(id).verifier().map_err(io_error("check the seals of", path))?;
        let bytes = durable::read_own(path).map_err(io_error("read", path))?;
        let scan = scan::scan(path, &bytes, after, |line| {
            verifier.iter_mut().for_each(|verifier| verifier.take(line));
        })?;
        Ok((home::at_home(scan.entries, self.project.as_deref()), verifier))
    }

    /// The attachment of this name, if it is trusted.
    fn kept(&self, id: &SessionId, dir: &Path, name: &str) -> Result<Option<OpenAttachment>, StoreError> {
        refuse_links(dir, KEPT)?;
        let path = dir.join(KEPT).join(name);
        let Some(mut file) = if_there(&path, durable::open_own(&path))? else { return Ok(None) };
        let checked =
            self.sealing(id).check_kept(name, &file).map_err(io_error("check the seal of", &path))?;
        let seal = match checked.seal.counts() {
            true if is_last(&dir.join(LOG), &checked)? => {
                file.rewind().map_err(io_error("read", &path))?;
                return Ok(Some(OpenAttachment { path, file, left: checked.length }));
            }
            true => Seal::RolledBack,
            false => checked.seal,
        };
        Err(StoreError::NotOurs { id: id.clone(), seal })
    }

    pub(super) fn sealing(&self, id: &SessionId) -> Sealing {
        Sealing::new(self.seals.clone(), format!("session {id}"))
    }

    /// Creates the directory of all sessions, and in a project the rules for git.
    pub(super) fn make_root(&self) -> Result<(), StoreError> {
        dirs::make_all(&self.root)?;
        let Some(folder) = self.root.parent().filter(|_| self.project.is_some()) else { return Ok(()) };
        for (name, content, before) in GIT_FILES {
            let path = folder.join(name);
            let found = read_if_there(&path)?;
            if found.is_none() || before.is_some_and(|before| found.as_deref() == Some(before.as_bytes())) {
                replace(&path, content.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The directory of an existing session. A name that is more than a plain name is not found.
    pub(super) fn find(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        if !slug::is_name(id.as_str()) {
            return Err(StoreError::NotFound(id.clone()));
        }
        let dir = self.root.join(id.as_str());
        let log = dir.join(LOG);
        refuse_links(&self.root, id.as_str())?;
        if scan::has_entry(&log).map_err(io_error("read", &log))? {
            return Ok(dir);
        }
        match fs::metadata(&self.root) {
            Ok(root) if !root.is_dir() => {
                Err(io_error("look for sessions in", &self.root)(io::ErrorKind::NotADirectory.into()))
            }
            _ => Err(StoreError::NotFound(id.clone())),
        }
    }

    /// The directory of a session with an attachment of this name. Documents exist without a log as well.
    fn find_for(&self, id: &SessionId, name: &str) -> Result<PathBuf, StoreError> {
        match Attachment::named(name) {
            Some(Attachment::Document(_)) => self.find_dir(id),
            Some(Attachment::Plain(_)) | None => self.find(id),
        }
    }

    /// Creates the files of a new session. Until its first entry is complete, readers ignore the directory.
    fn begin(
        &self,
        id: &SessionId,
        dir: &Path,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(Entry, FileLog), StoreError> {
        let lock = lock::take(id, &dir.join(LOCK), holder)?;
        let mut log = FileLog::create(id, dir.join(LOG), self.sealing(id), lock)?;
        let entry = log.append(at, facts)?;
        dirs::sync(dir)?;
        dirs::sync(&self.root)?;
        Ok((entry, log))
    }
}

/// The operations of a store.
impl Disk {
    pub(super) fn create(
        &self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(SessionId, Entry, FileLog), StoreError> {
        self.make_root()?;
        let (name, dir) = dirs::make_first_free(&self.root, names(words, at))?;
        let id = SessionId::new(name);
        match self.begin(&id, &dir, at, facts, holder) {
            Ok((entry, log)) => Ok((id, entry, log)),
            Err(error) => {
                // If the directory cannot be removed, readers ignore it.
                let _ = durable::remove_folder(&dir);
                Err(error)
            }
        }
    }

    pub(super) fn reserve(&self, words: &str, at: Timestamp) -> Result<ReservedDir, StoreError> {
        self.make_root()?;
        let (name, dir) = dirs::make_first_free(&self.root, names(words, at))?;
        let id = SessionId::new(name);
        let sealing = self.sealing(&id);
        ReservedDir::new(id, dir, sealing)
    }

    pub(super) fn hold(&self, id: &SessionId, holder: &Holder) -> Result<(Vec<Entry>, FileLog), StoreError> {
        let dir = self.find(id)?;
        let lock = lock::take(id, &dir.join(LOCK), holder)?;
        let (entries, log) = FileLog::open(id, dir.join(LOG), self.sealing(id), lock)?;
        if entries.is_empty() {
            // The process that was creating it has failed.
            return Err(StoreError::NotFound(id.clone()));
        }
        Ok((home::at_home(entries, self.project.as_deref()), log))
    }

    pub(super) fn read(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        let path = self.find(id)?.join(LOG);
        let bytes = durable::read_own(&path).map_err(io_error("read", &path))?;
        Ok(home::at_home(scan::scan(&path, &bytes, after, |_| ())?.entries, self.project.as_deref()))
    }

    pub(super) fn sealed(&self, id: &SessionId, after: u64) -> Result<(Vec<Entry>, Seal), StoreError> {
        let path = self.find(id)?.join(LOG);
        let (entries, verifier) = self.verified(&path, id, after)?;
        Ok((entries, seals::verdict(verifier.as_ref())))
    }

    /// A piece of the log's file, from this byte on.
    pub(super) fn raw(&self, id: &SessionId, from: usize) -> Result<Vec<u8>, StoreError> {
        let path = self.find(id)?.join(LOG);
        let mut piece = Vec::new();
        let read = File::open(&path).and_then(|mut file| {
            file.seek(SeekFrom::Start(from as u64))?;
            file.take(PIECE as u64).read_to_end(&mut piece)
        });
        read.map_err(io_error("read", &path))?;
        Ok(piece)
    }

    pub(super) fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        let directory = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(io_error("list the sessions in", &self.root))?,
        };
        let mut names = Vec::new();
        for file in directory {
            let file = file.map_err(io_error("list the sessions in", &self.root))?;
            if file.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            // A session whose log cannot be opened is listed: reading it reports the error.
            if scan::has_entry(&file.path().join(LOG)).unwrap_or(true) {
                names.extend(file.file_name().into_string().ok().filter(|name| slug::is_name(name)));
            }
        }
        names.sort_unstable();
        Ok(names.into_iter().map(SessionId::new).collect())
    }

    pub(super) fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        lock::holder(&self.find(id)?.join(LOCK))
    }

    pub(super) fn attach(&self, id: &SessionId, name: &str, content: &[u8]) -> Result<(), StoreError> {
        place_in(&self.find_for(id, name)?, &self.sealing(id), name, content)
    }

    /// Stores an attachment for the holder of this lock, while it holds the lock.
    pub(super) fn attach_held(
        &self,
        id: &SessionId,
        lock: &Weak<Lock>,
        name: &str,
        content: &[u8],
    ) -> Result<(), StoreError> {
        self.find(id)?;
        // The lock is held until the write is done, so that no other process takes the session before.
        let lock = lock.upgrade().filter(|lock| lock.is_held());
        match lock {
            Some(_lock) => self.attach(id, name, content),
            None => Err(StoreError::Superseded { id: id.clone() }),
        }
    }

    pub(super) fn attached(&self, id: &SessionId, name: &str) -> Result<Option<OpenAttachment>, StoreError> {
        let dir = self.find_for(id, name)?;
        match checked(&dir, name)? {
            Attachment::Plain(name) => self.kept(id, &dir, name),
            Attachment::Document(path) => self.document(&dir, path),
        }
    }

    pub(super) fn enlist(&self, id: &SessionId, at: Timestamp, facts: Vec<Event>) -> Result<(), StoreError> {
        let dir = self.root.join(id.as_str());
        if !slug::is_name(id.as_str()) || !dir.is_dir() {
            return Err(StoreError::NotFound(id.clone()));
        }
        let lock = lock::take(id, &dir.join(LOCK), &Holder::this_process(None))?;
        let path = dir.join(LOG);
        if scan::has_entry(&path).map_err(io_error("read", &path))? {
            return Ok(());
        }
        // A log without an entry is the leftover of a process that was killed here.
        let mut log = match path.exists() {
            true => FileLog::open(id, path, self.sealing(id), lock)?.1,
            false => FileLog::create(id, path, self.sealing(id), lock)?,
        };
        log.append(at, facts)?;
        dirs::sync(&dir)
    }

    pub(super) fn look(&self, id: &SessionId) -> Result<InspectedSession, StoreError> {
        let dir = self.find(id)?;
        let (entries, verifier) = self.verified(&dir.join(LOG), id, 0)?;
        let mut attachments = Vec::new();
        for path in files_in(&dir.join(KEPT))? {
            let (Some(name), Some(mut written)) = (path.file_name(), read_if_there(&path)?) else { continue };
            let name = name.to_string_lossy().into_owned();
            let checked = self.sealing(id).check_kept(&name, io::Cursor::new(&written));
            let length = checked.map_err(io_error("look at", &path))?.length;
            written.truncate(usize::try_from(length).unwrap_or(written.len()));
            attachments.push((name, written));
        }
        let seal = seals::verdict(verifier.as_ref());
        Ok(InspectedSession { id: id.clone(), entries, attachments, seal, verifier })
    }

    pub(super) fn trust(&self, inspected: &InspectedSession) -> Result<(), StoreError> {
        let (Some(seals), Some(verifier)) = (&self.seals, &inspected.verifier) else { return Ok(()) };
        let attached: Vec<_> = inspected.attachments.iter().map(|(_, content)| content.as_slice()).collect();
        seals.trust(verifier, &attached).map_err(io_error("record what is trusted in", &self.root))
    }

    pub(super) fn whereabouts(&self, id: &SessionId) -> String {
        self.root.join(id.as_str()).display().to_string()
    }
}

/// An open attachment, at the beginning of its content.
#[derive(Debug)]
pub(super) struct OpenAttachment {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// The number of bytes that are left to read; a file with fewer is read to its end.
    pub(super) left: u64,
}

impl OpenAttachment {
    /// The next piece; empty at the end.
    pub(super) fn piece(&mut self) -> Result<Vec<u8>, StoreError> {
        let mut piece = Vec::new();
        let read = (&self.file).take(self.left.min(PIECE as u64)).read_to_end(&mut piece);
        self.left -= read.map_err(io_error("read", &self.path))? as u64;
        Ok(piece)
    }

    /// The rest of the content.
    pub(super) fn whole(self) -> Result<Vec<u8>, StoreError> {
        let mut whole = Vec::new();
        (&self.file).take(self.left).read_to_end(&mut whole).map_err(io_error("read", &self.path))?;
        Ok(whole)
    }
}

/// Parses the name of an attachment in this directory.
fn checked<'a>(dir: &Path, name: &'a str) -> Result<Attachment<'a>, StoreError> {
    Attachment::named(name).ok_or_else(|| {
        let outside = io::Error::new(io::ErrorKind::InvalidInput, "it is not a path within the session");
        io_error("use", &dir.join(name))(outside)
    })
}

/// Stores an attachment: one with a plain name is sealed, a document is a file for people.
pub(super) fn place_in(dir: &Path, sealing: &Sealing, name: &str, content: &[u8]) -> Result<(), StoreError> {
    match checked(dir, name)? {
        Attachment::Plain(name) => keep_in(dir, sealing, name, content),
        Attachment::Document(path) => documents::write(dir, path, content),
    }
}

/// Stores a sealed attachment.
fn keep_in(dir: &Path, sealing: &Sealing, name: &str, content: &[u8]) -> Result<(), StoreError> {
    refuse_links(dir, KEPT)?;
    let folder = dir.join(KEPT);
    dirs::make_all(&folder)?;
    let path = folder.join(name);
    let (sealed, bound) = sealing.seal_kept(name, content).map_err(io_error("seal", &path))?;
    replace(&path, &sealed)?;
    sealing.remember_kept(name, &bound);
    Ok(())
}

fn is_last(log: &Path, checked: &CheckedAttachment) -> Result<bool, StoreError> {
    let bytes = durable::read_own(log).map_err(io_error("read", log))?;
    Ok(checked.is_last_of(&bytes))
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(io_error("list", folder))?,
    };
    let paths = files.map(|file| file.map(|file| file.path())).collect::<Result<Vec<_>, _>>();
    paths.map_err(io_error("list", folder))
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    if_there(path, durable::read_own(path))
}

/// The result of reading a file; `None` if it does not exist.
pub(super) fn if_there<T>(path: &Path, read: io::Result<T>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// Refuses links among Rapport's directories, because files written there would end up elsewhere.
pub(super) fn refuse_links(root: &Path, path: &str) -> Result<(), StoreError> {
    let mut place = root.to_owned();
    for part in Path::new(path).components() {
        place.push(part);
        if place.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
            let link =
                io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, which is not followed");
            return Err(io_error("use", &place)(link));
        }
    }
    Ok(())
}

/// Replaces a file atomically.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    durable::replace_private(path, content).map_err(io_error("write", path))
}

/// Adds the attempted action and the path to an error.
pub(super) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { what, place: path.display().to_string(), source }
}
