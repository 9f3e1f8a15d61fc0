//! Reports which sessions change, whichever process writes them.
//!
//! The system also reports that logs are read, and drops events when there are too many: whoever reads thousands of logs
//! causes that. What was missed is therefore found by the sizes and times of the logs, without opening any.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use notify::{Event, RecursiveMode, Watcher as _};
use rapport_core::{SessionId, slug};
use tokio::sync::mpsc;

use super::dirs;
use super::disk::{Disk, LOG, io_error};
use crate::stores::{Changes, StoreError};

/// Reports every session whose log changes from now on.
pub(super) fn watch(disk: &Disk) -> Result<Changes, StoreError> {
    dirs::make_all(&disk.root)?;
    let (tell, changed) = mpsc::unbounded_channel();
    let root = disk.root.clone();
    let failed = |error: notify::Error| io_error("watch", &root)(std::io::Error::other(error));
    let mut logs = KnownLogs::of(&root);
    let seen = move |event: Result<Event, notify::Error>| {
        for id in logs.changed_by(event) {
            let _ = tell.send(id);
        }
    };
    let mut watcher = notify::recommended_watcher(seen).map_err(failed)?;
    watcher.watch(&root, RecursiveMode::Recursive).map_err(failed)?;
    Ok(Changes::new(changed, watcher))
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
}
