//! Workers and workplaces. A worker is a kind of place that agents run in; a workplace is one such place, opened for
//! one session: it runs processes, holds the files, and tells what changed. `tests/it/contract/worker.rs` runs the same
//! story on every worker.

#![cfg_attr(not(feature = "containers"), expect(dead_code, reason = "some of it is for containers alone"))]

pub mod command;
mod conflicts;
pub mod container_kind;
#[cfg(feature = "containers")]
pub mod containers;
mod descriptors;
mod frames;
mod git;
pub mod history;
pub mod keeper;
mod kinds;
mod links;
pub mod local;
pub mod network;
pub mod process;
mod project_update;
pub mod proxy;
mod repositories;
mod repository;
pub mod sandboxes;
mod separate_work;
mod state_packs;
mod work_tree;
pub mod worktrees;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rapport_core::{ApplyTo, Changes, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_door::WorkplaceNow;
use thiserror::Error;

use process::{KeptProcess, Launch};

pub use git::too_old as git_too_old;
pub(crate) use git::{programs_by_looking, variables_without_programs};
pub use kinds::{NoWorkplace, WorkerKind, WorkerKinds, WorkerSetup, WorkerSources};
pub(crate) use links::shortened;
pub(crate) use project_update::{EarlierFile, visit_changed};
pub use project_update::{take_all_back, take_back};
pub use repositories::submodules;
pub use separate_work::prefix;
pub use state_packs::check_states;
pub(crate) use state_packs::{pack_before, pack_between, unpack};

impl WorkerKinds {
    /// Those that come with Rapport. A new kind needs a line here and its module above.
    pub fn builtin() -> Self {
        Self::of(local::LocalKind)
            .with(worktrees::WorktreeKind)
            .with(sandboxes::SandboxKind)
            .with(container_kind::ContainerKind::default())
    }
}

/// Paths that Rapport itself writes, plans included, which are not the agent's work. Other sessions in the same
/// directory write there all the time.
const OURS: [&str; 3] = [".rapport", ".teddy", ".claude/todos"];

/// The arguments of a git command that restrict it to the agent's work, for a shell: both sides of a merge may have a
/// plan and sessions of their own.
pub fn work_only() -> String {
    let without: Vec<_> = OURS.iter().map(|path| format!("':!{path}'")).collect();
    format!("-- . {}", without.join(" "))
}

/// A worker. All methods may be slow, and are called off the engine's loop.
pub trait Worker: Send + Sync {
    /// The workplace of a session: created the first time, and the same from then on, also for other processes.
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError>;

    /// The workplace of a session, if it exists and is complete. Creates nothing.
    fn find(&self, session: &SessionId, created: &Created)
    -> Result<Option<Arc<dyn Workplace>>, WorkerError>;

    /// The directory of this machine with the files of a session: that of its workplace, or the project if the
    /// workplace does not exist or has its files elsewhere.
    fn directory(&self, session: &SessionId, created: &Created) -> Result<PathBuf, WorkerError> {
        let found = self.find(session, created)?;
        Ok(found.map_or_else(|| PathBuf::from(&created.project), |found| found.seen_at().to_owned()))
    }

    /// Makes a lost workplace again, from the result of [`Workplace::work`].
    fn restore(
        &self,
        session: &SessionId,
        created: &Created,
        _work: &[u8],
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        self.open(session, created)
    }

    /// Removes the workplace of a session and everything that belongs to it, even if it was only partly created or
    /// removed before. The project itself is never touched.
    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError>;

    /// The workplace of a session as it is now, if it starts and stops by itself. Does not start it.
    fn now(&self, _: &SessionId, _: &Created) -> Result<Option<WorkplaceNow>, WorkerError> {
        Ok(None)
    }

    /// Whether it may keep workplaces of this project's sessions outside of the project, judging by files of this
    /// machine. Fast.
    fn may_keep(&self, _project: &Path) -> bool {
        false
    }

    /// The workplaces that it keeps outside of the project for the project's sessions.
    fn kept(&self, _project: &Path) -> Result<Vec<StoredWorkplace>, WorkerError> {
        Ok(Vec::new())
    }

    /// Ends everything that runs in a workplace. It can be used again.
    fn stop(&self, _stored: &StoredWorkplace) -> Result<(), WorkerError> {
        Ok(())
    }

    /// Removes a workplace that [`Worker::restore`] can make again.
    fn release(&self, _stored: &StoredWorkplace) -> Result<(), WorkerError> {
        Ok(())
    }
}

/// A workplace that its worker keeps outside of the project, or the remains of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWorkplace {
    /// The name of its worker.
    pub worker: &'static str,
    pub session: SessionId,
    /// Its name for its worker.
    pub name: String,
    pub is_running: bool,
    /// Whether a person is in it now.
    pub is_visited: bool,
    /// Since when nothing has run in it, if that is known.
    pub unused_since: Option<Timestamp>,
    /// The command with which a person removes it.
    pub removal: String,
}

/// The place where one session works. All methods may block.
pub trait Workplace: Send + Sync {
    /// The directory as the agent sees it.
    fn directory(&self) -> &Path;

    /// The directory of this machine by which the agent's own configuration is judged: the same one, or, if the
    /// agent's files are not on this machine, the project that they were copied from.
    fn seen_at(&self) -> &Path {
        self.directory()
    }

    /// The home directory of agents there, if it is not the person's own.
    fn home(&self) -> Option<&Path> {
        None
    }

    /// Whether it still exists. A person can remove some kinds of workplaces while nothing runs there.
    fn is_there(&self) -> Result<bool, WorkerError> {
        Ok(true)
    }

    /// Ends what is left running there. The files stay, and it can be used again.
    fn close(&self) -> Result<(), WorkerError> {
        Ok(())
    }

    /// Notes that nothing runs there because the session has waited for people for this long. A workplace that stops
    /// by itself counts its idle time from then. Does not start it. May block.
    fn rest(&self, _waited: Duration) -> Result<(), WorkerError> {
        Ok(())
    }

    /// Makes this machine's copy of a file in the agents' home current, if the home itself is on another machine.
    /// Ends everything that another process started there, so that only an agent of this process can change the file
    /// afterwards.
    fn fetch(&self, _file: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Copies a file of the agents' home from this machine to the home, if the home itself is on another machine and
    /// lacks the file.
    fn provide(&self, _file: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Lets processes there reach these hosts, in addition to those of the settings. The list replaces an earlier
    /// one. Takes effect at once.
    fn allow(&self, _hosts: &[String]) {}

    /// Starts a process there, under its keeper. This is the only way in which Rapport starts an agent or its commands.
    fn spawn(&self, launch: Launch<'_>) -> io::Result<KeptProcess>;

    /// The command that runs this command there for a person, at this terminal; a shell if it is empty.
    fn way_in(&self, command: &[OsString]) -> io::Result<Command> {
        let shell = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or("sh".into());
        let mut entered = Command::new(command.first().cloned().unwrap_or_else(shell));
        entered.args(command.iter().skip(1)).current_dir(self.directory());
        Ok(entered)
    }

    /// Where this path there leads, if links make that another place; also if no file exists there yet. Files that
    /// the agents there cannot see are not examined. Blocks.
    fn leads_to(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let directory = self.directory();
        let named = links::shortened(&directory.join(path));
        let has_walls = self.home().is_some();
        let (root, from, inside) = match named.strip_prefix(directory) {
            Ok(inside) if has_walls => (directory, directory.to_owned(), inside),
            Ok(inside) => (Path::new("/"), directory.canonicalize()?, inside),
            Err(_) if has_walls => return Ok(None),
            Err(_) => (Path::new("/"), PathBuf::from("/"), &*named),
        };
        let real = links::followed(root, &from, inside)?;
        Ok((real != links::shortened(&from.join(inside))).then_some(real))
    }

    /// Reads a file, if it exists. Its path is from the directory, and must not leave it. Anything but a regular file
    /// of at most `LARGEST_FILE` bytes is refused.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Replaces a file atomically. Durable when this returns.
    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()>;

    /// Every file that git would not ignore, by path.
    fn list(&self) -> Result<Vec<String>, WorkerError>;

    /// A name for the current state of the files; `None` if changes cannot be determined later.
    fn snapshot(&self) -> Result<Option<String>, WorkerError>;

    /// The work as it is now, to be stored with the session, if the workplace could be lost before it is needed
    /// again.
    fn work(&self) -> Result<Option<Vec<u8>>, WorkerError> {
        Ok(None)
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError>;

    /// Writes the changes as a diff while it is made; since the start of the work if no state is given.
    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError>;

    /// Merges the work with the current state of the project. Changes no file.
    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError>;

    /// Applies a merge to the project: all of it or, if the project was changed meanwhile, nothing. A commit of it
    /// gets a message about this task. Idempotent.
    fn apply(&self, merged: &Merged, to: &ApplyTo, task: &str) -> Result<Vec<FileChange>, WorkerError>;
}

/// Workers by the names that sessions record.
#[derive(Clone, Default)]
pub struct Workers {
    by_name: BTreeMap<&'static str, Arc<dyn Worker>>,
}

impl Workers {
    /// Adds a worker under this name.
    #[must_use]
    pub fn with(mut self, name: &'static str, worker: impl Worker + 'static) -> Self {
        self.by_name.insert(name, Arc::new(worker));
        self
    }

    fn of(&self, created: &Created) -> Result<&dyn Worker, WorkerError> {
        self.named(&created.worker)
    }

    fn named(&self, name: &str) -> Result<&dyn Worker, WorkerError> {
        let found = self.by_name.get(name);
        found.map(|worker| &**worker).ok_or_else(|| WorkerError::Unknown {
            name: name.to_owned(),
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

    fn restore(
        &self,
        session: &SessionId,
        created: &Created,
        work: &[u8],
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        self.of(created)?.restore(session, created, work)
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        self.of(created)?.clear(session, created)
    }

    fn now(&self, session: &SessionId, created: &Created) -> Result<Option<WorkplaceNow>, WorkerError> {
        self.of(created)?.now(session, created)
    }

    fn may_keep(&self, project: &Path) -> bool {
        self.by_name.values().any(|worker| worker.may_keep(project))
    }

    fn kept(&self, project: &Path) -> Result<Vec<StoredWorkplace>, WorkerError> {
        let kept: Result<Vec<_>, _> = self.by_name.values().map(|worker| worker.kept(project)).collect();
        Ok(kept?.concat())
    }

    fn stop(&self, stored: &StoredWorkplace) -> Result<(), WorkerError> {
        self.named(stored.worker)?.stop(stored)
    }

    fn release(&self, stored: &StoredWorkplace) -> Result<(), WorkerError> {
        self.named(stored.worker)?.release(stored)
    }
}

/// Waits, for a limited time, for the tasks that workers finish in the background. Called at the end of the program.
pub fn settle() {
    #[cfg(feature = "containers")]
    containers::settle();
}

/// An error about a file.
pub(crate) fn file_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    move |error| WorkerError::File { what, path: path.to_owned(), error }
}

/// The largest file that is read from a workplace.
pub(crate) const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Refuses a directory if a link on the way leads out of the root, as far as the directory exists.
pub(crate) fn leads_inside(root: &Path, folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(root);
    if there.canonicalize()?.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    Err(io::Error::other("its folder is a link that leads out of the project"))
}

/// Why something failed in or with a workplace.
#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("cannot run git: {0}")]
    Start(io::Error),
    /// Merging needs a newer git.
    #[error("git 2.40 or newer is needed, this is {found}")]
    GitTooOld { found: String },
    #[error("git {what} failed: {why}")]
    Git {
        what: String,
        /// Git's message, or its exit status.
        why: String,
    },
    /// The receiver of git's output failed.
    #[error("git {what} was not read to its end: {error}")]
    Unread { what: String, error: io::Error },
    #[error("there is no worker called {name}; there are: {}", known.join(", "))]
    Unknown { name: String, known: Vec<&'static str> },
    /// The project's directory does not exist.
    #[error("the project's directory {} is gone", directory.display())]
    ProjectGone { directory: PathBuf },
    /// The workplace existed, and was removed.
    #[error("the workplace {} is gone, and what was done there with it", directory.display())]
    WorkplaceGone { directory: PathBuf },
    /// The session works in the project itself.
    #[error("there is nothing to apply: the work was done in the project itself")]
    NotApart,
    /// The project changed after the work was merged with it.
    #[error("{} changed in the project just now", files.join(", "))]
    ChangedMeanwhile { files: Vec<String> },
    /// The work builds on changes that are not committed, so it cannot be committed without them.
    #[error(
        "the work builds on changes that are not committed, in {}; commit those first, or apply it to the files alone",
        files.join(", ")
    )]
    NotCommitted { files: Vec<String> },
    /// The repository has such a branch.
    #[error("there is a branch {name} already")]
    BranchExists { name: String },
    /// A nested repository contains work, which a merge of the files cannot include.
    #[error(
        "{0} has changes and is a git repository of its own, which cannot be taken over; commit and push them from \
         {1}, or move them to another directory there or remove them, then apply again",
        paths.join(", "), workplace.display()
    )]
    RepositoryInside { paths: Vec<String>, workplace: PathBuf },
    /// Some of the work cannot be read, so a merge cannot include it.
    #[error(
        "cannot read {0} in {1}, so that would be lost; make it readable or remove it there (`rapport shell SESSION` opens a \
         shell there), then apply again",
        paths.join(", "), workplace.display()
    )]
    Unreadable { paths: Vec<String>, workplace: PathBuf },
    /// Something failed midway, and part of what was done could not be reverted.
    #[error("{why}; already done and not reverted: {}", files.join(", "))]
    HalfDone {
        why: Box<WorkerError>,
        /// The files that were changed anyway.
        files: Vec<String>,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File { what: &'static str, path: PathBuf, error: io::Error },
    /// A directory could not be created.
    #[error("cannot make the directory {}: {error}", directory.display())]
    Directory { directory: PathBuf, error: io::Error },
    /// This machine lacks what a kind of worker needs.
    #[error("the worker {worker} cannot be used here: {none}")]
    Unavailable {
        /// The name of the kind.
        worker: &'static str,
        none: NoWorkplace,
    },
    /// The container engine refused something, or could not be asked.
    #[error("cannot {what}: {why}")]
    Engine { what: &'static str, why: String },
    /// The directory is not in a git repository.
    #[error("{} is not in a git repository", directory.display())]
    NoRepository { directory: PathBuf },
    /// The repository's working tree is not where its `.git` is.
    #[error(
        "the git repository of {} has its files in {} (core.worktree), not beside its .git",
        directory.display(), top.display()
    )]
    FilesElsewhere { directory: PathBuf, top: PathBuf },
    /// The `.git` leads to a repository that belongs to other files.
    #[error(
        "the .git of {} leads to the git repository {}, which belongs to other files",
        directory.display(), repository.display()
    )]
    RepositoryElsewhere { directory: PathBuf, repository: PathBuf },
    /// The git repository has no commit.
    #[error("the git repository of {} has no commit yet", directory.display())]
    NoCommit { directory: PathBuf },
    /// A recorded state cannot be found.
    #[error("the state {state} of the files is no longer in the git repository")]
    StateGone { state: String },
}
