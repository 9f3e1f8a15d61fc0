//! The places agents run in. A worker can name the state a place is in, and tell later what changed since.

mod git;
pub mod local;
pub mod worktree;

use std::path::{Path, PathBuf};

use rapport_core::Changes;
use thiserror::Error;

/// What Rapport itself writes, plans included, is not the agent's work. Other sessions in the same directory write there
/// all the time.
const OURS: [&str; 3] = [".rapport", ".teddy", ".claude/todos"];

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
    /// A directory could not be made.
    #[error("cannot make the directory {}: {error}", directory.display())]
    Directory {
        /// Which one.
        directory: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// There is no git in this.
    #[error("{} is not in a git repository", directory.display())]
    NoRepository {
        /// Where.
        directory: PathBuf,
    },
    /// There is git, and nothing in it.
    #[error("the git repository of {} has no commit yet", directory.display())]
    NoCommit {
        /// Where.
        directory: PathBuf,
    },
    /// A state that was noted cannot be found again.
    #[error("the state {state} of the files is no longer in the git repository")]
    StateGone {
        /// Its name.
        state: String,
    },
}
