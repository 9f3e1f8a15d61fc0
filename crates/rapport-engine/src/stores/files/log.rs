//! A log that is held for writing: entries are sealed and appended line by line. This blocks.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use rapport_durable::{AppendError, AppendLog, Flush, Lock};

use super::disk::io_error;
use super::line;
use super::scan::{Scan, scan};
use crate::seals::{self, Sealing};
use crate::stores::StoreError;

/// An open log, locked against other writers.
#[derive(Debug)]
pub(super) struct FileLog {
    id: SessionId,
    log: AppendLog,
    path: PathBuf,
    /// The number of the last entry.
    last: u64,
    sealing: Sealing,
    lock: Arc<Lock>,
}

impl FileLog {
    /// A new log without entries.
    pub(super) fn create(
        id: &SessionId,
        path: PathBuf,
        sealing: Sealing,
        lock: Lock,
    ) -> Result<Self, StoreError> {
        sealing.begin().map_err(io_error("begin the seals of", &path))?;
        let log = AppendLog::create(&path).map_err(io_error("create", &path))?;
        Ok(Self { id: id.clone(), log, path, last: 0, sealing, lock: Arc::new(lock) })
    }

    /// Opens an existing log, and returns its entries. One that is not trusted is refused and not changed; otherwise
    /// the unfinished end of a previous writer is truncated.
    pub(super) fn open(
        id: &SessionId,
        path: PathBuf,
        mut sealing: Sealing,
        lock: Lock,
    ) -> Result<(Vec<Entry>, Self), StoreError> {
        let mut verifier = sealing.verifier().map_err(io_error("check the seals of", &path))?;
        let mut log = AppendLog::open(&path).map_err(io_error("open", &path))?;
        let bytes = log.read().map_err(io_error("read", &path))?;
        let Scan { entries, last, good } = scan(&path, &bytes, 0, |line| {
            verifier.iter_mut().for_each(|verifier| verifier.take(line));
        })?;
        let seal = seals::verdict(verifier.as_ref());
        if !seal.counts() {
            return Err(StoreError::NotOurs { id: id.clone(), seal });
        }
        sealing.resume(verifier.as_ref(), || log.sync()).map_err(io_error("check the seals of", &path))?;
        log.accept(good as u64).map_err(io_error("cut off the unfinished end of", &path))?;
        Ok((entries, Self { id: id.clone(), log, path, last, sealing, lock: Arc::new(lock) }))
    }

    /// A weak reference to the lock, for checking whether it is still held without keeping it held.
    pub(super) fn lock(&self) -> Weak<Lock> {
        Arc::downgrade(&self.lock)
    }

    /// Appends an entry. It is durable when this returns.
    pub(super) fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError> {
        // If the whole session was removed, no other process has taken it over.
        if !self.lock.is_held() && !self.log.is_removed() {
            return Err(StoreError::Superseded { id: self.id.clone() });
        }
        let entry = Entry { seq: self.last + 1, at, facts };
        let object = line::object(&entry).map_err(|error| io_error("write to", &self.path)(error.into()))?;
        let line = self.sealing.line(object).map_err(io_error("seal an entry of", &self.path))?;
        self.log.append(&line).map_err(|error| self.error(error))?;
        self.last = entry.seq;
        self.sealing.advance(&line);
        self.sealing.remember(if are_momentous(&entry.facts) { Flush::Now } else { Flush::Later });
        Ok(entry)
    }

    fn error(&self, error: AppendError) -> StoreError {
        match error {
            AppendError::Removed | AppendError::Replaced => {
                io_error("write to", &self.path)(io::Error::new(io::ErrorKind::NotFound, error.to_string()))
            }
            AppendError::Changed => StoreError::Damaged {
                place: self.path.display().to_string(),
                line: self.last as usize + 1,
                what: error.to_string(),
            },
            AppendError::Uncut(error) => io_error("cut off the unfinished end of", &self.path)(error),
            AppendError::Io(error) => io_error("write to", &self.path)(error),
        }
    }
}

/// Whether an agent starts or ends with these facts: it may be about to use what the log allows, or have used it. The
/// log must not be reverted to before that, not even by a power cut.
pub(in crate::stores) fn are_momentous(facts: &[Event]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Event::Connected { .. } | Event::Parked { .. } | Event::TurnEnded { .. }))
}
