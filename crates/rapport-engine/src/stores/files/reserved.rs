//! A session's directory before its session exists. Readers ignore it while it has no log.

use std::path::PathBuf;

use rapport_core::{Entry, SessionId};
use rapport_durable::Flush;

use super::disk::{LOG, io_error, place_in, replace};
use super::{dirs, line};
use crate::seals::Sealing;
use crate::stores::StoreError;

/// A directory that is removed on drop, unless a session was put into it. The drop does it directly: it takes two
/// system calls, and the next caller must be able to get the name.
#[derive(Debug)]
pub(super) struct ReservedDir {
    id: SessionId,
    dir: PathBuf,
    sealing: Sealing,
    filled: bool,
}

impl ReservedDir {
    pub(super) fn new(id: SessionId, dir: PathBuf, sealing: Sealing) -> Self {
        Self { id, dir, sealing, filled: false }
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
        self.sealing.begin().map_err(io_error("begin the seals of", &self.dir))?;
        for (name, content) in attachments {
            place_in(&self.dir, &self.sealing, name, content)?;
        }
        let path = self.dir.join(LOG);
        let mut log = Vec::new();
        for entry in entries {
            let object = line::object(entry).map_err(|error| io_error("write to", &path)(error.into()))?;
            let line = self.sealing.line(object).map_err(io_error("seal an entry of", &path))?;
            self.sealing.advance(&line);
            log.extend(line);
        }
        replace(&path, &log)?;
        dirs::sync(&self.dir)?;
        if let Some(root) = self.dir.parent() {
            dirs::sync(root)?;
        }
        self.filled = true;
        self.sealing.remember(Flush::Now);
        Ok(())
    }
}

impl Drop for ReservedDir {
    fn drop(&mut self) {
        if !self.filled {
            // Readers ignore a directory that cannot be removed.
            let _ = rapport_durable::remove_folder(&self.dir);
        }
    }
}
