//! The places agents run in. A worker is a kind of place; a workplace is one such place, opened for one session: where
//! its processes run, its files are, and what changed there is found out. `tests/it/contract/worker.rs` tells every worker
//! the same story.

mod git;
pub mod keeper;
pub mod kinds;
pub mod local;
pub mod network;
pub mod process;
pub mod proxy;
mod repositories;
pub mod sandboxes;
mod take_over;
pub mod worktree;
pub mod worktrees;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{Changes, Created, FileChange, Merged, NotMerged, SessionId};
use thiserror::Error;

use process::{Kept, Launch};

pub use kinds::{NoWorkplace, WorkerKind, WorkerSetup};
pub use take_over::{take_all_back, take_back};

/// What Rapport itself writes, plans included, is not the agent's work. Other sessions in the same directory write there
/// all the time.
const OURS: [&str; 3] = [".rapport", ".teddy", ".claude/todos"];

/// A kind of place. All of this may take a while and is called off the engine's loop.
pub trait Worker: Send + Sync {
    /// The workplace of a session: made the first time, and the same ever after, also for another process.
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError>;

    /// The workplace of a session, if it was made and is whole. Makes nothing.
    fn find(&self, session: &SessionId, created: &Created)
    -> Result<Option<Arc<dyn Workplace>>, WorkerError>;

    /// Does away with the workplace of a session and everything that belongs to it, however far it was made or cleared
    /// before. The project itself is never touched.
    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError>;
}

/// A place that one session is worked on in. All of this may block.
pub trait Workplace: Send + Sync {
    /// The directory as the agent sees it.
    fn directory(&self) -> &Path;

    /// The home that agents have there, where it is not the person's own.
    fn home(&self) -> Option<&Path> {
        None
    }

    /// Lets processes there reach these hosts, and all that were allowed before, from now on. Done at once.
    fn allow(&self, _hosts: &[String]) {}

    /// Starts a process there, under its keeper. The only way in which Rapport starts an agent or a command of one.
    fn spawn(&self, launch: Launch<'_>) -> io::Result<Kept>;

    /// A file, if it is there. Its path is from the directory, and stays in it.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Puts a file there, whole, in place of one that may be there. Durable when this returns.
    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()>;

    /// Every file that git would not ignore, by path.
    fn list(&self) -> Result<Vec<String>, WorkerError>;

    /// A name for the state of the files; `None` where there is nothing that could tell later what changed.
    fn snapshot(&self) -> Result<Option<String>, WorkerError>;

    /// What changed since that state.
    fn changes(&self, since: &str) -> Result<Changes, WorkerError>;

    /// The same as a diff to read; since the beginning where no state is named.
    fn patch(&self, since: Option<&str>) -> Result<String, WorkerError>;

    /// Merges the work with what the project is by now. Changes nothing.
    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError>;

    /// Puts what was merged into the project: all of it or, where the project was changed meanwhile, nothing. Done twice, it
    /// is the same as done once.
    fn apply(&self, merged: &Merged) -> Result<Vec<FileChange>, WorkerError>;
}

/// Workers by name: each session says which one is its.
#[derive(Clone, Default)]
pub struct Workers {
    by_name: BTreeMap<&'static str, Arc<dyn Worker>>,
}

impl Workers {
    /// One of every kind.
    pub fn of_every_kind(setup: &WorkerSetup) -> Self {
        kinds::all().fold(Self::default(), |workers, kind| kind.add_to(workers, setup))
    }

    /// The same with another one.
    #[must_use]
    pub fn with(mut self, name: &'static str, worker: impl Worker + 'static) -> Self {
        self.by_name.insert(name, Arc::new(worker));
        self
    }

    fn of(&self, created: &Created) -> Result<&dyn Worker, WorkerError> {
        let found = self.by_name.get(created.worker.as_str());
        found.map(|worker| &**worker).ok_or_else(|| WorkerError::Unknown {
            name: created.worker.clone(),
            known: self.by_name.keys().copied().collect(),
        })
    }
}

impl Worker for Workers {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        self.of(created)?.open(session, created)
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        self.of(created)?.find(session, created)
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        self.of(created)?.clear(session, created)
    }
}

/// What failed with a file, in words.
pub(crate) fn file_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    move |error| WorkerError::File { what, path: path.to_owned(), error }
}

/// Refuses a folder that a link on the way leads out of the root, as far as the folder is there.
pub(crate) fn leads_inside(root: &Path, folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(root);
    if there.canonicalize()?.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    Err(io::Error::other("its folder is a link that leads out of the project"))
}

/// Why something cannot be done in a place, or with it.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// Git did not start.
    #[error("cannot run git: {0}")]
    Start(io::Error),
    /// Git failed.
    #[error("git {what} failed: {why}")]
    Git {
        /// Which command.
        what: String,
        /// What it said, or how it ended.
        why: String,
    },
    /// There is no such worker.
    #[error("there is no worker called {name}; there are: {}", known.join(", "))]
    Unknown {
        /// What was named.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The project is not there.
    #[error("the project's directory {} is gone", directory.display())]
    ProjectGone {
        /// Where it was.
        directory: PathBuf,
    },
    /// The workplace was there once.
    #[error("the workplace {} is gone, and what was done there with it", directory.display())]
    WorkplaceGone {
        /// Where it was.
        directory: PathBuf,
    },
    /// The session works in the project itself.
    #[error("there is nothing to take over: the work was done in the project itself")]
    NotApart,
    /// The project changed after the work was merged with it.
    #[error("{} changed in the project just now", files.join(", "))]
    ChangedMeanwhile {
        /// Which files.
        files: Vec<String>,
    },
    /// A repository within the workplace holds work, which no merge of the files can bring over.
    #[error(
        "{0} has changes and is a git repository of its own, which cannot be taken over; commit and push them from \
         {1}, or remove them there, then apply again",
        paths.join(", "), workplace.display()
    )]
    RepositoryInside {
        /// Which ones.
        paths: Vec<String>,
        /// Where they are.
        workplace: PathBuf,
    },
    /// Something failed in the middle, and a part of what was done could not be taken back.
    #[error("{why}; already done and not taken back: {}", files.join(", "))]
    HalfDone {
        /// What failed.
        why: Box<WorkerError>,
        /// The files that are changed all the same.
        files: Vec<String>,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// Which one.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A directory could not be made.
    #[error("cannot make the directory {}: {error}", directory.display())]
    Directory {
        /// Which one.
        directory: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// This machine can make no sandbox.
    #[error("cannot make a sandbox: {why}. {advice}")]
    NoSandbox {
        /// What is missing.
        why: String,
        /// What helps.
        advice: &'static str,
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
