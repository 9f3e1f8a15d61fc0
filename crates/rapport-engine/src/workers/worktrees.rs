//! A git worktree for each session, on its own branch. Sessions in one project do not disturb each other, and a person
//! decides afterwards whether to apply the work.
//!
//! The worktree starts with the project's files, committed or not; that of a branch with the files of a recorded
//! state. It contains no ignored files, except for those that the project's `.worktreeinclude` names. `separate_work`
//! has everything that does not depend on where the files are.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{ApplyTo, Changes, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_durable::{self as durable, point};

use super::git::{git, is_new_enough, line};
use super::local::{self, Directory};
use super::process::{KeptProcess, Launch};
use super::separate_work::{
    Apart, all_was_read, left_nested, left_unread, lock, make_folder, prefix, remove_last,
};
use super::{
    NoWorkplace, Worker, WorkerError, WorkerKind, WorkerSetup, Workers, Workplace, file_error, repositories,
};
use crate::projects::trust::Trust;

/// The name of this kind of worker.
pub const NAME: &str = "worktree";

/// Where the work of a worktree begins, as recorded states of the project's files.
#[derive(Clone, Debug)]
pub struct WorktreeStart {
    /// The files at the start.
    pub state: String,
    /// The files without any of the work. Later the difference from here is applied.
    pub base: String,
}

/// Worktrees in one directory, by session name.
#[derive(Clone, Debug)]
pub struct Worktrees {
    folder: PathBuf,
    /// For worktrees in a sandbox: the trust that decides whether ignored files of the project are copied there.
    walls: Option<Trust>,
}

impl Worktrees {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), walls: None }
    }

    /// The same worktrees for use in a sandbox.
    #[must_use]
    pub(super) fn behind_walls(self, trust: Trust) -> Self {
        Self { walls: Some(trust), ..self }
    }

    fn tree(&self, session: &SessionId, project: &Path, inside: &str) -> Tree {
        let tree = Tree::of(&self.folder, session, project, inside);
        match &self.walls {
            Some(trust) => Tree { apart: tree.apart.behind_walls(trust.clone()), ..tree },
            None => tree,
        }
    }

    /// Whether a project can have worktrees.
    pub fn check(project: &Path) -> Result<(), WorkerError> {
        prefix(project)?;
        // Checked before the work rather than when it is applied.
        is_new_enough()
    }
}

/// The session that a directory beside the worktrees belongs to. A worktree is named after its session, and the name
/// of a session with a separate workplace contains no dot: what else such a workplace needs is beside it, as
/// `NAME.home` (the agent's home), `NAME.given` (files of the host) and `NAME.run` (the sockets by which the host
/// reaches it).
pub fn session_of(directory: &str) -> &str {
    let ending = [".home", ".given", ".run"].into_iter().find_map(|ending| directory.strip_suffix(ending));
    ending.unwrap_or(directory)
}

/// A git worktree, as a kind.
pub(super) struct WorktreeKind;

impl WorkerKind for WorktreeKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn in_brief(&self) -> &'static str {
        "a git worktree and branch of its own"
    }

    fn check(&self, project: &Path, _: &WorkerSetup) -> Result<(), NoWorkplace> {
        Worktrees::check(project).map_err(|error| NoWorkplace {
            why: format!("cannot make a worktree: {error}"),
            advice: match error {
                WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => vec![
                    "Put the project into a repository: git init && git add --all && git commit -m Begin",
                    "Or work in the project itself: --worker local",
                ],
                WorkerError::FilesElsewhere { .. } => vec![
                    "If you did not set that, remove it: git config --unset core.worktree",
                    "Or work in the project itself: --worker local",
                ],
                WorkerError::RepositoryElsewhere { .. } => vec![
                    "If you did not set that up, remove the .git and make a repository: git init",
                    "Or work in the project itself: --worker local",
                ],
                WorkerError::GitTooOld { .. } => {
                    vec!["Update git, or work in the project itself: --worker local"]
                }
                _ => Vec::new(),
            },
        })
    }

    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers {
        workers.with(self.name(), Worktrees::new(&setup.worktrees))
    }
}

impl Worktrees {
    /// Makes the workplace of a session that is to begin in the middle of another's work. The session itself is made
    /// afterwards, when its workplace is complete, and opens it like any other.
    pub fn make_at(
        &self,
        session: &SessionId,
        project: &Path,
        start_at: &WorktreeStart,
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        prefix(project)?;
        for state in [&start_at.state, &start_at.base] {
            if line(project, &["cat-file", "-e", &format!("{}^{{tree}}", local::named(state)?)]).is_err() {
                return Err(WorkerError::StateGone { state: state.clone() });
            }
        }
        Ok(Arc::new(self.make(session, project, Some(start_at))?))
    }

    /// Makes the current files of a workplace the start of its work: earlier changes do not count as work.
    pub fn begin_here(&self, session: &SessionId, project: &Path) -> Result<(), WorkerError> {
        let tree = self.tree(session, project, &prefix(project)?);
        point(&tree.root);
        tree.apart.begin(&tree.apart.commit(&tree.there.state()?, Some("HEAD"))?)?;
        point(&tree.root);
        Ok(())
    }

    fn make(
        &self,
        session: &SessionId,
        project: &Path,
        start_at: Option<&WorktreeStart>,
    ) -> Result<Tree, WorkerError> {
        let tree = self.tree(session, project, &prefix(project)?);
        let _lock = lock(project)?;
        // A killed process may have left an incomplete worktree, in which no agent has worked.
        tree.clear()?;
        tree.make(start_at)?;
        Ok(tree)
    }

    /// Removes the workplace of a session, or the remains of one.
    pub fn remove(&self, session: &SessionId, project: &Path) -> Result<(), WorkerError> {
        let tree = self.tree(session, project, "");
        let _lock = if prefix(project).is_ok() { Some(lock(project)?) } else { None };
        tree.clear()
    }

    /// The workplace of a session, if it exists and is complete, bound to the project's repository whatever an agent
    /// puts into it.
    pub(super) fn find_fixed(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        let found = self.find_tree(session, created)?;
        found.map(|tree| tree.fixed().map(|tree| Arc::new(tree) as Arc<dyn Workplace>)).transpose()
    }

    fn find_tree(&self, session: &SessionId, created: &Created) -> Result<Option<Tree>, WorkerError> {
        let project = Path::new(&created.project);
        local::is_there(project)?;
        let tree = self.tree(session, project, &prefix(project)?);
        if !tree.apart.is_made() {
            return Ok(None);
        }
        if !tree.there.directory().is_dir() {
            return Err(WorkerError::WorkplaceGone { directory: tree.root });
        }
        Ok(Some(tree))
    }
}

impl Worker for Worktrees {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        if let Some(found) = self.find(session, created)? {
            return Ok(found);
        }
        let tree = self.make(session, Path::new(&created.project), None)?;
        Ok(Arc::new(tree))
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Ok(self.find_tree(session, created)?.map(|tree| Arc::new(tree) as Arc<dyn Workplace>))
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        self.remove(session, Path::new(&created.project))
    }
}

/// The worktree of one session.
#[derive(Debug)]
struct Tree {
    folder: PathBuf,
    apart: Apart,
    root: PathBuf,
    /// The project's directory in it.
    there: Directory,
    branch: String,
}

impl Tree {
    fn of(folder: &Path, session: &SessionId, project: &Path, inside: &str) -> Self {
        let root = folder.join(session.as_str());
        Self {
            folder: folder.to_owned(),
            apart: Apart::of(project, session),
            there: Directory::with_repository(if inside.is_empty() {
                root.clone()
            } else {
                root.join(inside)
            }),
            root,
            branch: format!("rapport/{session}"),
        }
    }

    /// The same worktree with the repository given explicitly. Git would find the repository by a file in the
    /// worktree, which an agent could change; git's own data about its worktrees names it as well.
    fn fixed(self) -> Result<Self, WorkerError> {
        let common = self.apart.project.join(line(&self.apart.project, &["rev-parse", "--git-common-dir"])?);
        let root = self.root.canonicalize().map_err(file_error("find", &self.root))?;
        let is_this = |folder: &PathBuf| {
            let link = fs::read(folder.join("gitdir")).unwrap_or_default();
            let link = Path::new(OsStr::from_bytes(link.trim_ascii_end()));
            link.parent().and_then(|top| top.canonicalize().ok()).is_some_and(|top| top == root)
        };
        let mut known =
            fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().map(|entry| entry.path());
        let Some(repository) = known.find(is_this) else {
            return Err(WorkerError::WorkplaceGone { directory: self.root });
        };
        Ok(Self { there: self.there.of_repository(repository, self.root.clone()), ..self })
    }

    fn make(&self, start_at: Option<&WorktreeStart>) -> Result<(), WorkerError> {
        let WorktreeStart { state, base } = match start_at {
            Some(start_at) => start_at.clone(),
            None => {
                let state = self.apart.project_here().state()?;
                WorktreeStart { base: state.clone(), state }
            }
        };
        let start = self.apart.start(&state)?;
        make_folder(&self.folder)?;
        point(&self.root);
        let add = ["worktree", "add", "--quiet", "-b", &self.branch].map(OsStr::new);
        git(&self.apart.project, None, &[&add[..], &[self.root.as_os_str(), start.as_ref()]].concat())?;
        point(&self.root);
        let directory = self.there.directory();
        durable::folder(directory)
            .map_err(|error| WorkerError::Directory { directory: directory.to_owned(), error })?;
        self.include()?;
        point(&self.root);
        self.apart.begin(&self.apart.commit(&base, Some("HEAD"))?)?;
        point(&self.root);
        Ok(())
    }

    /// Copies the ignored files that the project wants in its worktrees.
    fn include(&self) -> Result<(), WorkerError> {
        for path in self.apart.included()? {
            let (from, to) = (self.apart.project.join(&path), self.there.directory().join(&path));
            durable::copy(&from, &to).map_err(file_error("copy", &from))?;
        }
        Ok(())
    }

    /// Removes the worktree. The ref that marks it as complete goes last.
    fn clear(&self) -> Result<(), WorkerError> {
        point(&self.root);
        durable::remove_folder(&self.root).map_err(file_error("remove", &self.root))?;
        point(&self.root);
        if prefix(&self.apart.project).is_ok() {
            if self.is_known()? {
                let remove = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
                git(&self.apart.project, None, &[&remove[..], &[self.root.as_os_str()]].concat())?;
            }
            point(&self.root);
            if self.apart.has(&format!("refs/heads/{}", self.branch)) {
                git(&self.apart.project, None, &["branch", "--quiet", "-D", &self.branch])?;
            }
            point(&self.root);
            self.apart.forget()?;
        }
        point(&self.root);
        remove_last(&self.folder, &self.apart.project);
        Ok(())
    }

    /// Whether git knows a worktree at this path.
    fn is_known(&self) -> Result<bool, WorkerError> {
        let all = git(&self.apart.project, None, &["worktree", "list", "--porcelain", "-z"])?;
        let this = [b"worktree ", self.root.as_os_str().as_bytes()].concat();
        Ok(all.split(|byte| *byte == 0).any(|field| field == this))
    }

    /// Refuses if a nested repository contains work: applying the rest would remove the workplace, and that work with
    /// it.
    fn is_all_in_files(&self, base: &str, state: &str) -> Result<(), WorkerError> {
        let found = repositories::with_work(&self.root, base, state)?;
        if found.is_empty() {
            return Ok(());
        }
        let paths = found.iter().map(|path| path.display().to_string()).collect();
        Err(WorkerError::RepositoryInside { paths, workplace: self.root.clone() })
    }
}

impl Workplace for Tree {
    fn directory(&self) -> &Path {
        self.there.directory()
    }

    fn spawn(&self, launch: Launch<'_>) -> io::Result<KeptProcess> {
        self.there.spawn(launch)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.there.read(path)
    }

    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        self.there.replace(path, content)
    }

    fn list(&self) -> Result<Vec<String>, WorkerError> {
        self.there.list()
    }

    fn snapshot(&self) -> Result<Option<String>, WorkerError> {
        self.there.snapshot()
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        let read = self.there.read_state(&[])?;
        let files = self.there.files_between(since, &read.state)?;
        let nested = repositories::with_work(&self.root, &self.apart.base()?, &read.state)?;
        let unknown: Vec<_> = left_unread(&read.unread).into_iter().chain(left_nested(&nested)).collect();
        let unknown = (!unknown.is_empty()).then(|| unknown.join("; "));
        Ok(Changes { files, result: Some(read.state), unknown })
    }

    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        match since {
            Some(since) => self.there.patch(Some(since), out),
            None => self.there.patch(Some(&self.apart.base()?), out),
        }
    }

    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        is_new_enough()?;
        let there = self.there.read_state(&[])?;
        self.is_all_in_files(&self.apart.base()?, &there.state)?;
        all_was_read(there.unread, &self.root)?;
        self.apart.merge(&there.state, with_conflicts)
    }

    fn apply(&self, merged: &Merged, to: &ApplyTo, task: &str) -> Result<Vec<FileChange>, WorkerError> {
        self.apart.apply(merged, to, task)
    }
}
