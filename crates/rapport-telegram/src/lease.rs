//! The lease on a bot, which allows one process per bot on this machine. It is a file lock, which the system releases
//! when the holder dies.

use std::io;
use std::path::Path;

use rapport_durable::{Lock, Taken};
use thiserror::Error;

use super::durable;

/// The right to receive a bot's updates, held until this value is dropped.
#[derive(Debug)]
pub struct Lease {
    _lock: Lock,
}

/// Why the lease cannot be taken.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Another process holds the lease.
    #[error("this bot is already served{}; stop that process first, or use another bot", by(*.pid))]
    Busy {
        /// The id of that process, if it has written the id to the file.
        pid: Option<u32>,
    },
    /// The lock cannot be used.
    #[error("cannot use the lock {path}: {source}")]
    Io { path: String, source: io::Error },
}

impl Lease {
    /// Takes the lock of this file, and writes the process id to it.
    pub fn take(path: &Path) -> Result<Self, LeaseError> {
        let failed = |source| LeaseError::Io { path: path.display().to_string(), source };
        durable::make_folder(path).map_err(failed)?;
        match Lock::take(path, format!("{}\n", std::process::id()).as_bytes()).map_err(failed)? {
            Taken::Ours(lock) => Ok(Self { _lock: lock }),
            Taken::Theirs(who) => Err(LeaseError::Busy { pid: pid(&who) }),
        }
    }
}

fn pid(who: &[u8]) -> Option<u32> {
    std::str::from_utf8(who).ok()?.trim().parse().ok()
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}
