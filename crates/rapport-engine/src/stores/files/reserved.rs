//! A session's directory before the session is in it. Without a log, every reader passes it over.

use std::path::PathBuf;

use rapport_core::{Entry, SessionId};
use rapport_durable::Flush;

use super::disk::{LOG, io_error, place_in, replace};
use super::{dirs, line};
use crate::seals::Sealing;
use crate::stores::StoreError;

/// A directory that is removed again, unless a session is put into it. That is done where this is dropped: it takes two calls to the
/// system, and whoever asks for the name next is to get it.
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

    /// The log comes last, and all of it at once: with it the session is there.
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
            // What cannot be removed is ignored by every reader.
            let _ = rapport_durable::remove_folder(&self.dir);
        }
    }
}
