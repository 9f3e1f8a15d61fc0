//! Reports which sessions change, whichever process writes them.
//!
//! All streams of changes share one watcher, because a watcher costs memory and time for every session there is. The
//! system also reports that logs are read, and drops events when there are too many: whoever reads thousands of logs
//! causes that. What was missed is therefore found by the sizes and times of the logs, without opening any.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rapport_core::{SessionId, slug};
use tokio::sync::mpsc;

use super::dirs;
use super::disk::{Disk, LOG, io_error};
use crate::stores::{Changes, StoreError};

/// The watcher of a directory of sessions, while somebody follows its changes.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedWatcher(Arc<Mutex<Weak<LogWatcher>>>);

#[derive(Debug)]
struct LogWatcher {
    _watcher: RecommendedWatcher,
    listeners: Arc<Listeners>,
}

/// The other ends of the streams.
#[derive(Debug, Default)]
struct Listeners(Mutex<Vec<mpsc::UnboundedSender<SessionId>>>);

impl Listeners {
    fn add(&self, listener: mpsc::UnboundedSender<SessionId>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    fn report(&self, id: &SessionId) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.send(id.clone()).is_ok());
    }
}

impl SharedWatcher {
    /// Reports every session whose log changes from now on.
    pub(super) fn changes(&self, disk: &Disk) -> Result<Changes, StoreError> {
        let (listener, changed) = mpsc::unbounded_channel();
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let watcher = match shared.upgrade() {
            Some(watcher) => watcher,
            None => {
                let watcher = Arc::new(LogWatcher::start(disk)?);
                *shared = Arc::downgrade(&watcher);
                watcher
            }
        };
        watcher.listeners.add(listener);
        Ok(Changes::new(changed, watcher))
    }
}

impl LogWatcher {
    fn start(disk: &Disk) -> Result<Self, StoreError> {
        dirs::make_all(&disk.root)?;
        let root = disk.root.clone();
        let failed = |error: notify::Error| io_error("watch", &root)(std::io::Error::other(error));
        let listeners = Arc::new(Listeners::default());
        let (mut logs, tell) = (KnownLogs::of(&root), listeners.clone());
        let seen = move |event: Result<Event, notify::Error>| {
            logs.changed_by(event).iter().for_each(|id| tell.report(id));
        };
        let mut watcher = notify::recommended_watcher(seen).map_err(failed)?;
        watcher.watch(&root, RecursiveMode::Recursive).map_err(failed)?;
        Ok(Self { _watcher: watcher, listeners })
    }
}

/// The logs in a directory, as they were when events were last missed.
struct KnownLogs {
    root: PathBuf,
    stamps: HashMap<SessionId, LogStamp>,
}

/// The size of a log and the time of its last change.
type LogStamp = (u64, Option<SystemTime>);

impl KnownLogs {
    fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), stamps: stamps(root) }
    }

    /// The sessions that an event concerns. If events were missed, these are all sessions whose logs have changed: a
    /// follower may wait for a question in a log that does not change again.
    fn changed_by(&mut self, event: Result<Event, notify::Error>) -> Vec<SessionId> {
        match event {
            Ok(event) if event.kind.is_access() => Vec::new(),
            Ok(event) if !event.need_rescan() => {
                event.paths.iter().filter_map(|path| session(&self.root, path)).collect()
            }
            Ok(_) | Err(_) => {
                let now = stamps(&self.root);
                let is_changed = |(id, stamp): &(&SessionId, &LogStamp)| self.stamps.get(*id) != Some(*stamp);
                let mut changed: Vec<_> = now.iter().filter(is_changed).map(|(id, _)| id.clone()).collect();
                changed.sort();
                self.stamps = now;
                changed
            }
        }
    }
}

/// The logs in a directory. What cannot be listed cannot be read either.
fn stamps(root: &Path) -> HashMap<SessionId, LogStamp> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let logs = names.filter(|name| slug::is_name(name)).filter_map(|name| {
        let about = fs::symlink_metadata(root.join(&name).join(LOG)).ok().filter(Metadata::is_file)?;
        Some((SessionId::new(name), (about.len(), about.modified().ok())))
    });
    logs.collect()
}

/// The session whose log, or whose directory, this is.
fn session(root: &Path, path: &Path) -> Option<SessionId> {
    let mut parts = path.strip_prefix(root).ok()?.iter();
    let name = parts.next()?.to_str()?;
    let within = parts.next();
    let is_log = within.is_none_or(|file| file == LOG);
    is_log.then(|| SessionId::new(name))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use notify::EventKind;
    use notify::event::{AccessKind, CreateKind, Flag};

    use super::*;
    use crate::stores::Holder;

    fn disk(root: &Path) -> Disk {
        Disk { root: root.to_owned(), project: None, seals: None }
    }

    #[test]
    fn what_was_missed_is_found_without_reading_any_log() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(folder.path());
        let holder = Holder::this_process(None);
        let make = |words| disk.create(words, Timestamp::UNIX_EPOCH, Vec::new(), &holder).unwrap();
        let (one, _, mut log) = make("one");
        let mut logs = KnownLogs::of(folder.path());
        let (two, ..) = make("two");
        let path = folder.path().join(one.as_str()).join(LOG);
        let created = || Ok(Event::new(EventKind::Create(CreateKind::File)).add_path(path.clone()));
        let read = || Ok(Event::new(EventKind::Access(AccessKind::Any)).add_path(path.clone()));
        let overflow = || Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan));
        assert_eq!(logs.changed_by(created()), std::slice::from_ref(&one));
        assert_eq!(logs.changed_by(read()), []);
        assert_eq!(logs.changed_by(overflow()), [two], "the other one has not changed");
        assert_eq!(logs.changed_by(overflow()), [], "each change is reported once");
        log.append(Timestamp::UNIX_EPOCH, Vec::new()).unwrap();
        assert_eq!(logs.changed_by(Err(notify::Error::generic("too many"))), [one]);
    }

    /// A watcher costs a lot where there are many sessions.
    #[tokio::test]
    async fn streams_of_changes_share_a_watcher() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, shared, holder) =
            (disk(folder.path()), SharedWatcher::default(), Holder::this_process(None));
        let first = shared.changes(&disk).unwrap();
        let watcher = shared.0.lock().unwrap().upgrade().unwrap();
        let mut second = shared.changes(&disk).unwrap();
        assert!(Arc::ptr_eq(&watcher, &shared.0.lock().unwrap().upgrade().unwrap()));
        drop((first, watcher));
        let (id, ..) = disk.create("one", Timestamp::UNIX_EPOCH, Vec::new(), &holder).unwrap();
        assert_eq!(second.next().await, Some(id));
        drop(second);
        assert!(shared.0.lock().unwrap().upgrade().is_none(), "nobody follows it");
    }
}
