//! A log that is held for writing: one write per entry, synced, and taken back where that fails.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use rapport_durable::open_own;

use super::io_error;
use super::line;
use super::lock::Lock;
use super::scan::{Scan, scan};
use crate::seals::{self, Sealing};
use crate::stores::{Log, StoreError};

/// An open log. Nobody else writes to it while this lives.
#[derive(Debug)]
pub(super) struct FileLog {
    file: File,
    path: PathBuf,
    /// The number of the last entry.
    last: u64,
    /// Up to here the file is what was acknowledged.
    good: u64,
    /// Whether there may be more in the file than that.
    excess: bool,
    sealing: Sealing,
    _lock: Lock,
}

impl FileLog {
    /// A new log without entries.
    pub(super) fn create(path: PathBuf, sealing: Sealing, lock: Lock) -> Result<Self, StoreError> {
        sealing.begin().map_err(io_error("begin the seals of", &path))?;
        let file = File::options().append(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(io_error("create", &path))?;
        Ok(Self { file, path, last: 0, good: 0, excess: false, sealing, _lock: lock })
    }

    /// A log that is there already, and its entries. One that is somebody else's word is refused, and left as it is; else
    /// what a writer before left unfinished is cut off.
    pub(super) fn open(
        id: &SessionId,
        path: PathBuf,
        mut sealing: Sealing,
        lock: Lock,
    ) -> Result<(Vec<Entry>, Self), StoreError> {
        let unsealed = io_error("check the seals of", &path);
        let mut verifier = match sealing.verifier() {
            Ok(verifier) => verifier,
            Err(error) => return Err(unsealed(error)),
        };
        let file = open_own(&path, File::options().read(true).append(true));
        let mut file = file.map_err(io_error("open", &path))?;
        make_private(&file);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io_error("read", &path))?;
        let Scan { entries, last, good } = scan(&path, &bytes, 0, |line| {
            verifier.iter_mut().for_each(|verifier| verifier.take(line));
        })?;
        let seal = seals::verdict(verifier.as_ref());
        if !seal.counts() {
            return Err(StoreError::NotOurs { id: id.clone(), seal });
        }
        sealing.take_up(verifier.as_ref()).map_err(unsealed)?;
        let excess = bytes.len() > good;
        let mut log = Self { file, path, last, good: good as u64, excess, sealing, _lock: lock };
        log.cut_excess()?;
        Ok((entries, log))
    }

    /// Removes what was never acknowledged, so that the next entry begins on a line of its own.
    fn cut_excess(&mut self) -> Result<(), StoreError> {
        if self.excess {
            let cut = self.file.set_len(self.good).and_then(|()| self.file.sync_all());
            cut.map_err(io_error("cut off the unfinished end of", &self.path))?;
            self.excess = false;
        }
        Ok(())
    }

    /// Somebody may have removed, replaced or changed the file by hand. An entry added to that would be lost, or
    /// would bury what they did.
    fn check_untouched(&self) -> Result<(), StoreError> {
        let found = self.file.metadata().map_err(io_error("look at", &self.path))?;
        if found.nlink() == 0 {
            let gone = io::Error::new(io::ErrorKind::NotFound, "the file was removed while it was in use");
            return Err(io_error("write to", &self.path)(gone));
        }
        if found.len() != self.good {
            let place = self.path.display().to_string();
            let what = "somebody else changed the file while it was in use".to_owned();
            return Err(StoreError::Damaged { place, line: self.last as usize + 1, what });
        }
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(line).map_err(io_error("write to", &self.path))?;
        self.file.sync_data().map_err(io_error("sync", &self.path))
    }
}

/// A log that came from elsewhere, or from an older version, is as private from now on as one that was begun here.
fn make_private(file: &File) {
    if file.metadata().is_ok_and(|about| about.mode() & 0o077 != 0) {
        // Somebody else's file stays as they have it.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
}

impl Log for FileLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError> {
        let entry = Entry { seq: self.last + 1, at, facts };
        let object = line::object(&entry).map_err(|error| io_error("write to", &self.path)(error.into()))?;
        let line = self.sealing.line(object).map_err(io_error("seal an entry of", &self.path))?;
        self.cut_excess()?;
        self.check_untouched()?;
        if let Err(error) = self.write(&line) {
            self.excess = true;
            // Where this fails too, the line is made one that nobody reads; the next append or the next holder cuts it.
            if self.cut_excess().is_err() {
                let _ = spoil(&self.path, self.good + line.len() as u64);
            }
            return Err(error);
        }
        self.last = entry.seq;
        self.good += line.len() as u64;
        self.sealing.advance(&line);
        self.sealing.remember(are_momentous(&entry.facts));
        Ok(entry)
    }
}

/// Whether an agent comes or goes with these facts: it may be about to use what the log allows, or have used it. The log must
/// not be brought back to before that, not even after a power cut.
fn are_momentous(facts: &[Event]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Event::Connected { .. } | Event::Parked { .. } | Event::TurnEnded { .. }))
}

/// Takes the end of a refused line away, if the line is all there. Whoever was told that it is not stored must not find it,
/// and nobody else either: without its end it counts as unfinished.
fn spoil(path: &Path, end: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    match file.metadata()?.len() {
        there if there < end => Ok(()),
        _ => file.write_all_at(b" ", end - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When neither syncing nor cutting works, a line that was refused must not be read as a fact.
    #[test]
    fn a_refused_line_that_cannot_be_cut_off_counts_as_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        for (there, left) in [("one\ntwo\n", "one\ntwo "), ("one\ntw", "one\ntw"), ("one\n", "one\n")] {
            std::fs::write(&path, there).unwrap();
            spoil(&path, 8).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
        }
    }
}
