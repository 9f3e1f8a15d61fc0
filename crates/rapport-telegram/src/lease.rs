//! One process per bot on this machine, by a lock the system releases when its holder dies.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use thiserror::Error;

use super::durable;

/// The right to receive a bot's updates, as long as it is kept.
#[derive(Debug)]
pub struct Lease {
    file: File,
}

/// Why it cannot be had.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Another process has it.
    #[error("this bot is served already{}; stop that one first, or use another bot", by(*.pid))]
    Busy {
        /// Which one, if it said so already.
        pid: Option<u32>,
    },
    /// The lock cannot be used.
    #[error("cannot use the lock {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Lease {
    /// Takes the lock in this file, and says in it who has it.
    pub fn take(path: &Path) -> Result<Self, LeaseError> {
        let failed = |source| LeaseError::Io { path: path.display().to_string(), source };
        durable::make_folder(path).map_err(failed)?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LeaseError::Busy { pid: signature(&file) }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        sign(&file).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Unlocked by name: a child that is just being started has a copy of the handle until it runs.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

fn sign(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(format!("{}\n", std::process::id()).as_bytes(), 0)
}

fn signature(file: &File) -> Option<u32> {
    let mut text = [0; 32];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}
