//! The places agents run in. A worker can name the state a place is in, and tell later what changed since.

mod git;
pub mod local;

use std::path::Path;

use rapport_core::Changes;
use thiserror::Error;

/// A place an agent runs in. All of this may take a while and is called off the engine's loop.
pub trait Worker: Send + Sync {
    /// A name for the state of this directory; `None` where there is nothing that could tell later what changed.
    fn baseline(&self, directory: &Path) -> Result<Option<String>, WorkerError>;

    /// What changed since that state.
    fn changes(&self, directory: &Path, baseline: &str) -> Result<Changes, WorkerError>;
}

/// Why a worker could not tell.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// A program did not start.
    #[error("cannot run git: {0}")]
    Start(#[from] std::io::Error),
    /// A program failed.
    #[error("git {what} failed: {why}")]
    Git {
        /// Which command.
        what: String,
        /// What it said.
        why: String,
    },
}
