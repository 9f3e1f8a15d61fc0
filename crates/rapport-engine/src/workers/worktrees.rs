//! A git worktree for each session, on its own branch. Sessions in one project do not disturb each other, and a person
//! decides afterwards whether to apply the work.
//!
//! The worktree starts with the project's files, committed or not. It contains no ignored files, except for those that
//! the project's `.worktreeinclude` names. The ref `refs/rapport/<session>` is created last and removed last: it holds
//! the state at the start of the work, and marks the worktree as complete.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{Changes, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_durable::{self as durable, point};

use super::git::{git, git_saying, is_new_enough, line};
use super::local::{self, Directory, Scratch};
use super::process::{Kept, Launch};
use super::take_over::{self, WriteAhead};
use super::worktree::{lock, make_folder, prefix};
use super::{
    NoWorkplace, OURS, Worker, WorkerError, WorkerKind, WorkerSetup, Workers, Workplace, file_error,
    repositories,
};

/// The project's file that names ignored files to copy to a worktree, in the syntax of `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";

/// Worktrees in one directory, by session name.
#[derive(Clone, Debug)]
pub struct Worktrees {
    folder: PathBuf,
}

impl Worktrees {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Whether a project can have worktrees.
    pub fn check(project: &Path) -> Result<(), WorkerError> {
        prefix(project)?;
        // Said before the work rather than when it is to be applied.
        is_new_enough()
    }
}

/// A git worktree, as a kind.
pub(super) struct WorktreeKind;

impl WorkerKind for WorktreeKind {
    fn name(&self) -> &'static str {
        "worktree"
    }

    fn in_brief(&self) -> &'static str {
        "a git worktree and branch of its own"
    }

    fn check(&self, project: &Path) -> Result<(), NoWorkplace> {
        Worktrees::check(project).map_err(|error| NoWorkplace {
            why: format!("cannot make a worktree: {error}"),
            advice: match error {
                WorkerError::NoRepository { .. } | WorkerError::NoCommit { .. } => vec![
                    "Put the project into a repository: git init && git add --all && git commit -m Begin",
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
    /// The workplace of a session, if it exists and is complete, fixed to the project's repository whatever an agent
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
        let tree = Tree::of(&self.folder, session, project, &prefix(project)?);
        if !tree.is_made() {
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
        let project = Path::new(&created.project);
        let tree = Tree::of(&self.folder, session, project, &prefix(project)?);
        let _lock = lock(project)?;
        // The leftover of a process that was killed while creating it; nobody has worked there.
        tree.clear()?;
        tree.make()?;
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
        let tree = Tree::of(&self.folder, session, Path::new(&created.project), "");
        let _lock = if prefix(&tree.project).is_ok() { Some(lock(&tree.project)?) } else { None };
        tree.clear()
    }
}

/// The worktree of one session.
#[derive(Debug)]
struct Tree {
    folder: PathBuf,
    project: PathBuf,
    root: PathBuf,
    /// The project's directory in it.
    there: Directory,
    branch: String,
    /// The ref of the state at its start.
    base: String,
    session: SessionId,
}

impl Tree {
    fn of(folder: &Path, session: &SessionId, project: &Path, inside: &str) -> Self {
        let root = folder.join(session.as_str());
        Self {
            folder: folder.to_owned(),
            project: project.to_owned(),
            there: Directory::with_repository(if inside.is_empty() {
                root.clone()
            } else {
                root.join(inside)
            }),
            root,
            session: session.clone(),
            branch: format!("rapport/{session}"),
            base: format!("refs/rapport/{session}"),
        }
    }

    /// The same with the repository given explicitly. Git would find it by a file in the worktree; git's own data about
    /// the worktree tell too.
    fn fixed(self) -> Result<Self, WorkerError> {
        let common = self.project.join(line(&self.project, &["rev-parse", "--git-common-dir"])?);
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

    fn is_made(&self) -> bool {
        self.has(&self.base)
    }

    fn has(&self, name: &str) -> bool {
        line(&self.project, &["rev-parse", "--verify", "--quiet", name]).is_ok()
    }

    fn make(&self) -> Result<(), WorkerError> {
        let state = self.project_here().state()?;
        let start = self.start(&state)?;
        make_folder(&self.folder)?;
        point(&self.root);
        let add = ["worktree", "add", "--quiet", "-b", &self.branch].map(OsStr::new);
        git(&self.project, None, &[&add[..], &[self.root.as_os_str(), start.as_ref()]].concat())?;
        point(&self.root);
        let directory = self.there.directory();
        durable::folder(directory)
            .map_err(|error| WorkerError::Directory { directory: directory.to_owned(), error })?;
        self.include()?;
        point(&self.root);
        let base = self.commit(&state)?;
        git(&self.project, None, &["update-ref", &self.base, &base])?;
        point(&self.root);
        Ok(())
    }

    /// The commit at which the branch begins: the project's commit, or, if the files differ from it, one more.
    fn start(&self, state: &str) -> Result<String, WorkerError> {
        let tree = self.with_ours(state)?;
        let head = line(&self.project, &["rev-parse", "--verify", "HEAD"])?;
        if line(&self.project, &["rev-parse", "--verify", "HEAD^{tree}"])? == tree {
            return Ok(head);
        }
        self.commit(&tree)
    }

    /// This state with Rapport's own files as they are committed: a recorded state does not contain them.
    fn with_ours(&self, state: &str) -> Result<String, WorkerError> {
        let inside = prefix(&self.project)?;
        let scratch = Scratch::take(&self.project)?;
        let index = Some(scratch.path());
        git(&self.project, index, &["read-tree", state])?;
        for ours in OURS {
            let committed = format!("HEAD:{inside}{ours}");
            if line(&self.project, &["cat-file", "-t", &committed]).ok().as_deref() == Some("tree") {
                let prefix = format!("--prefix={inside}{ours}/");
                git(&self.project, index, &["read-tree", &prefix, &committed])?;
            }
        }
        let tree = git(&self.project, index, &["write-tree"])?;
        Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
    }

    fn commit(&self, tree: &str) -> Result<String, WorkerError> {
        let message = "The files as they were when the session began";
        line(&self.project, &["commit-tree", "-p", "HEAD", "-m", message, tree])
    }

    /// Copies the ignored files that the project wants in its worktrees.
    fn include(&self) -> Result<(), WorkerError> {
        if !self.project.join(INCLUDE).is_file() {
            return Ok(());
        }
        let ignored = self.others("--exclude-standard")?;
        let wanted = self.others(&format!("--exclude-from={INCLUDE}"))?;
        let ours = |path: &Path| OURS.iter().any(|ours| path.starts_with(ours));
        for path in ignored.intersection(&wanted).filter(|path| !ours(path)) {
            let (from, to) = (self.project.join(path), self.there.directory().join(path));
            durable::copy(&from, &to).map_err(file_error("copy", &from))?;
        }
        Ok(())
    }

    /// The files that are not tracked and match such patterns.
    fn others(&self, patterns: &str) -> Result<BTreeSet<PathBuf>, WorkerError> {
        let found = git(&self.project, None, &["ls-files", "-z", "--others", "--ignored", patterns])?;
        let paths = found.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Removes it; the ref that marks it as existing last.
    fn clear(&self) -> Result<(), WorkerError> {
        point(&self.root);
        durable::remove_folder(&self.root).map_err(file_error("remove", &self.root))?;
        point(&self.root);
        if prefix(&self.project).is_ok() {
            let remove = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
            let removed = git(&self.project, None, &[&remove[..], &[self.root.as_os_str()]].concat());
            if self.is_known()? {
                removed?;
            }
            point(&self.root);
            if self.has(&format!("refs/heads/{}", self.branch)) {
                git(&self.project, None, &["branch", "--quiet", "-D", &self.branch])?;
            }
            point(&self.root);
            if self.is_made() {
                git(&self.project, None, &["update-ref", "-d", &self.base])?;
            }
            WriteAhead::of(&self.project, &self.session)?.clear()?;
        }
        point(&self.root);
        self.remove_folder();
        Ok(())
    }

    /// Whether git knows a worktree at this path.
    fn is_known(&self) -> Result<bool, WorkerError> {
        let all = git(&self.project, None, &["worktree", "list", "--porcelain", "-z"])?;
        let this = [b"worktree ", self.root.as_os_str().as_bytes()].concat();
        Ok(all.split(|byte| *byte == 0).any(|field| field == this))
    }

    /// Removes the directory with the last worktree.
    fn remove_folder(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        if entries.flatten().all(|entry| entry.file_name() == ".gitignore") {
            // If another process is just creating one, the directory is not empty.
            let _ = durable::remove(&self.folder.join(".gitignore"));
            durable::remove_if_empty(&self.folder);
        }
    }

    /// The project with its whole repository, as in the worktree.
    fn project_here(&self) -> Directory {
        Directory::with_repository(&self.project)
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

    fn base(&self) -> Result<String, WorkerError> {
        line(&self.project, &["rev-parse", "--verify", &self.base])
    }
}

impl Workplace for Tree {
    fn directory(&self) -> &Path {
        self.there.directory()
    }

    fn spawn(&self, launch: Launch<'_>) -> io::Result<Kept> {
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
        self.there.changes(since)
    }

    fn patch(&self, since: Option<&str>) -> Result<String, WorkerError> {
        match since {
            Some(since) => self.there.patch(Some(since)),
            None => self.there.patch(Some(&self.base()?)),
        }
    }

    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        is_new_enough()?;
        let (base, there) = (self.base()?, self.there.state()?);
        self.is_all_in_files(&base, &there)?;
        let from = self.project_here().state()?;
        let (ours, theirs) = (self.commit(&from)?, self.commit(&there)?);
        let base = format!("--merge-base={base}");
        let args =
            ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, &ours, &theirs];
        // From the top, so that its paths are too.
        let (code, out) = git_saying(&local::top(&self.project)?, &args, &[0, 1])?;
        let mut fields = out.split(|byte| *byte == 0);
        let to = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        let inside = self.project_here().inside()?;
        let paths = fields.filter(|path| !path.is_empty()).map(|path| Path::new(OsStr::from_bytes(path)));
        let conflicts: BTreeSet<_> = paths.map(|path| local::seen_from(&inside, path)).collect();
        let conflicts = conflicts.into_iter().collect();
        if code == 0 || with_conflicts {
            return Ok(Ok(Merged { from, to, conflicts }));
        }
        Ok(Err(NotMerged { conflicts, ..NotMerged::default() }))
    }

    fn apply(&self, merged: &Merged) -> Result<Vec<FileChange>, WorkerError> {
        let _lock = lock(&self.project)?;
        let note = WriteAhead::of(&self.project, &self.session)?;
        take_over::take_over(&self.project_here(), merged, &note)
    }
}
