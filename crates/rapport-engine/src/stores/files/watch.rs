//! Reports which sessions change, whichever process writes them.

use std::path::Path;

use notify::{Event, RecursiveMode, Watcher as _};
use rapport_core::SessionId;
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
    let disk = disk.clone();
    let seen = move |event: Result<Event, notify::Error>| {
        for id in changed_by(&disk, event) {
            let _ = tell.send(id);
        }
    };
    let mut watcher = notify::recommended_watcher(seen).map_err(failed)?;
    watcher.watch(&root, RecursiveMode::Recursive).map_err(failed)?;
    Ok(Changes::new(changed, watcher))
}

/// The sessions that an event concerns. If events were missed, these are all sessions: a follower may wait for a
/// question in a log that does not change again.
fn changed_by(disk: &Disk, event: Result<Event, notify::Error>) -> Vec<SessionId> {
    match event {
        Ok(event) if event.kind.is_access() => Vec::new(),
        Ok(event) if !event.need_rescan() => {
            event.paths.iter().filter_map(|path| session(&disk.root, path)).collect()
        }
        // Sessions that cannot be listed cannot be read either.
        Ok(_) | Err(_) => disk.list().unwrap_or_default(),
    }
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

    #[test]
    fn what_was_missed_is_looked_for_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk { root: folder.path().to_owned(), project: None, seals: None };
        let holder = Holder::this_process(None);
        let make = |words| disk.create(words, Timestamp::UNIX_EPOCH, Vec::new(), &holder).unwrap().0;
        let (one, two) = (make("one"), make("two"));
        let path = folder.path().join(one.as_str()).join(LOG);
        let created = Event::new(EventKind::Create(CreateKind::File)).add_path(path.clone());
        let read = Event::new(EventKind::Access(AccessKind::Any)).add_path(path);
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        for (event, expected) in [
            (Ok(created), vec![one.clone()]),
            (Ok(read), vec![]),
            (Ok(overflow), vec![one.clone(), two.clone()]),
            (Err(notify::Error::generic("too many")), vec![one, two]),
        ] {
            assert_eq!(changed_by(&disk, event), expected);
        }
    }
}
