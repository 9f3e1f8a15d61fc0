//! This host's copies of logs: `<project>/.rapport/sessions/<session>/log.jsonl`, as a store of files writes them. The
//! servers can be filled again from these copies. Nothing reads them while the servers have the log, so a copy that
//! cannot be written is only logged, and one that is behind catches up when the log is read next.

use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::{AppendLog, Flush, append, private_folder, put};
use tracing::warn;

use crate::stores::StoreError;

/// The name of a copy in the directory of its session.
pub(super) const FILE: &str = "log.jsonl";

/// The copy of a log that this process holds. Other processes of this host leave it alone meanwhile.
#[derive(Debug)]
pub(super) struct LogCopy {
    path: PathBuf,
    /// Has the lock of the file; `None` if the copy cannot be written.
    lock: Option<AppendLog>,
}

impl LogCopy {
    /// Opens the copy of a log with these lines, and adds those that it lacks. Blocks.
    pub(super) fn open(path: PathBuf, log: &[u8]) -> Self {
        let lock = opened(&path, log).unwrap_or_else(|error| {
            warn!(%error, path = %path.display(), "log not copied");
            None
        });
        Self { path, lock }
    }

    /// Adds a line. The system writes it to the disk when it sees fit: the servers have it. Blocks.
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.lock.is_none() {
            return;
        }
        if let Err(error) = append(&self.path, line, Flush::Later) {
            warn!(%error, path = %self.path.display(), "line not copied");
            // What follows would not follow the line before.
            self.lock = None;
        }
    }
}

/// Gives a copy another name. Blocks.
pub(super) fn set_aside(path: &Path) -> Result<(), StoreError> {
    match put(path, &path.with_added_extension("moved")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved.map_err(|source| StoreError::Io {
            what: "rename",
            place: path.display().to_string(),
            source,
        }),
    }
}

/// Adds the lines that a copy lacks. Blocks.
pub(super) fn catch_up(path: &Path, log: &[u8]) {
    let is_complete = std::fs::metadata(path).is_ok_and(|about| about.len() == log.len() as u64);
    if !is_complete && let Err(error) = opened(path, log) {
        warn!(%error, path = %path.display(), "log not copied");
    }
}

/// Opens a copy, locked, and completes it; `None` if another process has the lock.
fn opened(path: &Path, log: &[u8]) -> io::Result<Option<AppendLog>> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let mut copy = AppendLog::open_or_create(path)?;
    if !copy.try_lock()? {
        return Ok(None);
    }
    let known = copy.read()?;
    // A line that was cut off by a kill is completed.
    let whole = known.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole > log.len() && known.starts_with(log) {
        // A server that is behind has less than this host has seen, or the servers have lost something.
        return Ok(None);
    }
    if !log.starts_with(&known[..whole]) {
        // It is not overwritten: it may be what the servers have lost.
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the copy differs from the log on the servers",
        ));
    }
    copy.accept(whole as u64)?;
    if log.len() > whole {
        copy.append(&log[whole..]).map_err(io::Error::other)?;
    }
    Ok(Some(copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_gets_what_it_lacks_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x").join(FILE);
        let read = || std::fs::read_to_string(&path).unwrap();
        catch_up(&path, b"one\n");
        let mut held = LogCopy::open(path.clone(), b"one\ntwo\n");
        assert_eq!(read(), "one\ntwo\n");
        held.add(b"three\n");
        catch_up(&path, b"one\ntwo\nthree\nfour\n");
        assert_eq!(read(), "one\ntwo\nthree\n", "its holder writes it");
        drop(held);
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        catch_up(&path, b"one\ntwo\nthree\nfour\n");
        assert_eq!(read(), "one\ntwo\nthree\nfour\n", "the end of a killed writer is completed");
        catch_up(&path, b"one\n");
        assert_eq!(read(), "one\ntwo\nthree\nfour\n", "it has more than a server that is behind");
        catch_up(&path, b"one\nother\nthree\nfour\nfive\n");
        assert_eq!(read(), "one\ntwo\nthree\nfour\n");
    }
}
