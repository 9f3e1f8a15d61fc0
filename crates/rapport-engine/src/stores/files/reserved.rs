//! A session's directory before its session exists. Readers ignore it while it has no log. The process that makes the
//! session holds the lock of the directory, so that a directory that a killed process left behind can be told from
//! one in use.

use std::fs;
use std::path::{Path, PathBuf};

use rapport_core::{Entry, SessionId, slug};
use rapport_durable::{self as durable, Flush, Lock};

use super::disk::{Disk, KEPT, LOCK, LOG, io_error, place_in, refuse_links, replace};
use super::{dirs, line, lock, scan};
use crate::seals::Sealing;
use crate::stores::{Holder, StoreError};

/// The ending of the log of a session that another store has taken in.
const GIVEN_AWAY: &str = "moved";

impl Disk {
    pub(super) fn unfilled(&self) -> Result<Vec<SessionId>, StoreError> {
        let filled = self.list()?;
        let mut unfilled = Vec::new();
        for (id, dir) in self.directories()? {
            let is_left = filled.binary_search(&id).is_err() && is_unfilled(&dir);
            if is_left && lock::holder(&dir.join(LOCK))?.is_none() {
                unfilled.push(id);
            }
        }
        Ok(unfilled)
    }

    /// Stores a whole session of another store under its own name. The directory may exist, and then keeps its files.
    pub(super) fn take_in(
        &self,
        id: &SessionId,
        entries: &[Entry],
        attachments: &[(String, Vec<u8>)],
    ) -> Result<bool, StoreError> {
        if !slug::is_name(id.as_str()) {
            return Err(StoreError::NotFound(id.clone()));
        }
        self.make_root()?;
        refuse_links(&self.root, id.as_str())?;
        let dir = self.root.join(id.as_str());
        dirs::make_all(&dir)?;
        let _lock = lock::take(id, &dir.join(LOCK), &Holder::this_process(None))?;
        let log = dir.join(LOG);
        if scan::has_entry(&log).map_err(io_error("read", &log))? {
            return Ok(false);
        }
        write(&dir, &mut self.sealing(id), entries, attachments)?;
        Ok(true)
    }

    /// Removes a session that another store has taken in: its log gets another name, and its documents stay.
    pub(super) fn give_away(&self, id: &SessionId) -> Result<(), StoreError> {
        let dir = self.find(id)?;
        let _lock = lock::take(id, &dir.join(LOCK), &Holder::this_process(None))?;
        let log = dir.join(LOG);
        durable::put(&log, &log.with_added_extension(GIVEN_AWAY)).map_err(io_error("rename", &log))
    }

    pub(super) fn release(&self, id: &SessionId) -> Result<(), StoreError> {
        let dir = self.find_dir(id)?;
        if !is_unfilled(&dir) {
            return Err(StoreError::NotFound(id.clone()));
        }
        let lock = lock::take(id, &dir.join(LOCK), &Holder::this_process(None))?;
        // Checked under the lock, because a session may have been created there just before.
        if self.list()?.binary_search(id).is_ok() || !is_unfilled(&dir) {
            return Err(StoreError::NotFound(id.clone()));
        }
        durable::remove_folder(&dir).map_err(io_error("remove", &dir))?;
        drop(lock);
        dirs::sync(&self.root)
    }
}

/// Whether a directory has only files that are written before its session exists. A directory with other files is not
/// removed.
fn is_unfilled(dir: &Path) -> bool {
    let is_ours = |name: &str| {
        // A temporary file is named after its target.
        name == LOCK || name == KEPT || name.trim_start_matches('.').starts_with(LOG)
    };
    fs::read_dir(dir).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_ours)))
    })
}

/// A directory that is removed on drop, unless a session was put into it. The drop does it directly: it takes two
/// system calls, and the next caller must be able to get the name.
#[derive(Debug)]
pub(super) struct ReservedDir {
    id: SessionId,
    dir: PathBuf,
    sealing: Sealing,
    lock: Lock,
    filled: bool,
}

impl ReservedDir {
    pub(super) fn new(id: SessionId, dir: PathBuf, sealing: Sealing) -> Result<Self, StoreError> {
        let lock = lock::take(&id, &dir.join(LOCK), &Holder::this_process(None))?;
        Ok(Self { id, dir, sealing, lock, filled: false })
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Writes everything; the log last and in one write, which makes the session exist.
    pub(super) fn fill(
        mut self,
        entries: &[Entry],
        attachments: &[(String, Vec<u8>)],
    ) -> Result<(), StoreError> {
        if !self.lock.is_held() {
            return Err(StoreError::Superseded { id: self.id.clone() });
        }
        write(&self.dir, &mut self.sealing, entries, attachments)?;
        self.filled = true;
        Ok(())
    }
}

/// Writes everything of a session; the log last and in one write, which makes the session exist.
fn write(
    dir: &Path,
    sealing: &mut Sealing,
    entries: &[Entry],
    attachments: &[(String, Vec<u8>)],
) -> Result<(), StoreError> {
    sealing.begin().map_err(io_error("begin the seals of", dir))?;
    for (name, content) in attachments {
        place_in(dir, sealing, name, content)?;
    }
    let path = dir.join(LOG);
    let mut log = Vec::new();
    for entry in entries {
        let object = line::object(entry).map_err(|error| io_error("write to", &path)(error.into()))?;
        let line = sealing.line(object).map_err(io_error("seal an entry of", &path))?;
        sealing.advance(&line);
        log.extend(line);
    }
    replace(&path, &log)?;
    dirs::sync(dir)?;
    if let Some(root) = dir.parent() {
        dirs::sync(root)?;
    }
    sealing.remember(Flush::Now);
    Ok(())
}

impl Drop for ReservedDir {
    fn drop(&mut self) {
        // Without the lock, the directory may be another process's by now.
        if !self.filled && self.lock.is_held() {
            // Readers ignore a directory that cannot be removed.
            let _ = durable::remove_folder(&self.dir);
        }
    }
}
