//! Work that is done apart from the project: the state at its start, and how the work is merged with the project and
//! applied to it. Worktrees, sandboxes and containers share this.
//!
//! The ref `refs/rapport/<session>` holds the state at the start of the work. It is created once the workplace is
//! complete, and removed last.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::read_dir;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::{ApplyTo, FileChange, Merged, NotMerged, SessionId};
use rapport_durable::{self as durable, FolderLock, point};

use super::conflicts::{Conflicts, MergedCommits};
use super::git::{AT_ONCE, git, git_by_person, git_saying, is_new_enough, line};
use super::local::{self, Directory, Scratch};
use super::project_update::{self, WriteAhead};
use super::work_tree::WorkTree;
use super::{OURS, WorkerError, file_error};
use crate::projects::trust::{Brought, Trust, TrustLevel};

/// The project's file that names ignored files to copy to a separate workplace, in the syntax of `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";

/// The message of the commits that Rapport makes.
const MESSAGE: &str = "The files as they were when the session began";

/// The largest such file to look at.
const LARGEST_INCLUDE: u64 = 64 * 1024;

/// The project's file about ignored files, if it has one, for a person to trust.
pub(super) fn include_wish(project: &Path) -> Option<Brought> {
    let content = match durable::read_file(&project.join(INCLUDE), LARGEST_INCLUDE) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Brought::unseen(INCLUDE, error)),
    };
    let text = String::from_utf8_lossy(&content);
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let says: Vec<_> =
        names.map(|name| format!("what git ignores is copied to agents behind walls: {name}")).collect();
    (!says.is_empty()).then(|| Brought::new(INCLUDE, &content, says))
}

fn is_include_trusted(project: &Path, trust: &Trust) -> bool {
    let wish: Vec<_> = include_wish(project).into_iter().collect();
    trust.standing(&wish) == TrustLevel::Trusted
}

/// A warning, as a clause, if the project's file about ignored files has no effect because it is not trusted.
pub(super) fn include_left_out(project: &Path, trust: &Trust) -> Option<String> {
    let clause =
        || format!("the ignored files that {INCLUDE} names are left out until you trust it: rapport trust");
    (!is_include_trusted(project, trust)).then(clause)
}

/// Why the list of changes is incomplete, as a clause, if these files of the work cannot be read.
pub(super) fn left_unread(paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("cannot read {}", paths.join(", ")))
}

/// Why the list of changes is incomplete, as a clause, if these nested repositories contain work.
pub(super) fn left_nested(paths: &BTreeSet<PathBuf>) -> Option<String> {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    (!names.is_empty())
        .then(|| format!("changes in a git repository of its own are not listed: {}", names.join(", ")))
}

/// Refuses if files of the work cannot be read: applying the rest would remove the workplace, and those files with it.
pub(super) fn all_was_read(unread: Vec<String>, workplace: &Path) -> Result<(), WorkerError> {
    if unread.is_empty() {
        return Ok(());
    }
    Err(WorkerError::Unreadable { paths: unread, workplace: workplace.to_owned() })
}

/// A warning, as a clause, about files of the project that agents elsewhere do not get.
pub(super) fn unreadable_left_out(project: &Path) -> Option<String> {
    let files = local::unreadable(project);
    (!files.is_empty())
        .then(|| format!("the agent does not get files that you cannot read: {}", files.join(", ")))
}

/// The work of one session, as the project's repository knows it.
#[derive(Clone, Debug)]
pub(super) struct Apart {
    pub(super) project: PathBuf,
    pub(super) session: SessionId,
    /// The ref of the state at its start.
    pub(super) base: String,
    /// For work in a sandbox or a container: the trust that decides whether ignored files of the project are copied
    /// there.
    walls: Option<Trust>,
}

impl Apart {
    pub(super) fn of(project: &Path, session: &SessionId) -> Self {
        Self {
            project: project.to_owned(),
            session: session.clone(),
            base: format!("refs/rapport/{session}"),
            walls: None,
        }
    }

    /// The same work in a sandbox or a container.
    pub(super) fn behind_walls(self, trust: Trust) -> Self {
        Self { walls: Some(trust), ..self }
    }

    /// Whether the workplace was completed.
    pub(super) fn is_made(&self) -> bool {
        self.has(&self.base)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        line(&self.project, &["rev-parse", "--verify", "--quiet", name]).is_ok()
    }

    /// The commit with the state at its start.
    pub(super) fn base(&self) -> Result<String, WorkerError> {
        line(&self.project, &["rev-parse", "--verify", &self.base])
    }

    /// Marks the workplace as complete, with this state at its start.
    pub(super) fn begin(&self, base: &str) -> Result<(), WorkerError> {
        git(&self.project, None, &["update-ref", &self.base, base]).map(drop)
    }

    /// Removes the ref of the state at its start, and the note of an apply.
    pub(super) fn forget(&self) -> Result<(), WorkerError> {
        if self.is_made() {
            git(&self.project, None, &["update-ref", "-d", &self.base])?;
        }
        WriteAhead::of(&self.project, &self.session)?.clear()
    }

    /// The project with its whole repository, which a separate workplace contains too.
    pub(super) fn project_here(&self) -> Directory {
        Directory::with_repository(&self.project)
    }

    /// The commit at which the work begins: the project's commit, or one on top of it if the files differ from it.
    pub(super) fn start(&self, state: &str) -> Result<String, WorkerError> {
        let tree = self.with_ours(state)?;
        let head = line(&self.project, &["rev-parse", "HEAD", "HEAD^{tree}"])?;
        match head.split_once('\n') {
            Some((head, unchanged)) if unchanged == tree => Ok(head.to_owned()),
            _ => self.commit(&tree, Some("HEAD")),
        }
    }

    /// This state with Rapport's own files as they are committed: a recorded state does not contain them.
    pub(super) fn with_ours(&self, state: &str) -> Result<String, WorkerError> {
        let inside = prefix(&self.project)?;
        let list = ["ls-tree", "-d", "-z", "--name-only", "HEAD", "--"];
        let committed = git(&self.project, None, &[&list[..], &OURS[..]].concat())?;
        let is_committed =
            |ours: &&str| committed.split(|byte| *byte == 0).any(|path| path == ours.as_bytes());
        let committed: Vec<_> = OURS.into_iter().filter(is_committed).collect();
        if committed.is_empty() {
            return Ok(state.to_owned());
        }
        let scratch = Scratch::take(&self.project)?;
        let index = Some(scratch.path());
        git(&self.project, index, &["read-tree", state])?;
        for ours in committed {
            let (prefix, committed) = (format!("--prefix={inside}{ours}/"), format!("HEAD:{inside}{ours}"));
            git(&self.project, index, &["read-tree", &prefix, &committed])?;
        }
        let tree = git(&self.project, index, &["write-tree"])?;
        Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
    }

    /// A commit with this tree, on top of the parent if one is given.
    pub(super) fn commit(&self, tree: &str, parent: Option<&str>) -> Result<String, WorkerError> {
        let parent = parent.map(|parent| ["-p", parent]).into_iter().flatten();
        let args: Vec<_> = ["commit-tree"].into_iter().chain(parent).chain(["-m", MESSAGE, tree]).collect();
        line(&self.project, &args)
    }

    /// The ignored files that the project wants in a separate workplace, relative to the project's directory. Such
    /// files are often the person's secrets, so a cloned file alone does not bring them into a sandbox or container.
    pub(super) fn included(&self) -> Result<Vec<PathBuf>, WorkerError> {
        let is_refused = self.walls.as_ref().is_some_and(|trust| !is_include_trusted(&self.project, trust));
        if is_refused || !self.project.join(INCLUDE).is_file() {
            return Ok(Vec::new());
        }
        let ignored = self.others("--exclude-standard")?;
        let wanted = self.others(&format!("--exclude-from={INCLUDE}"))?;
        let ours = |path: &&PathBuf| OURS.iter().any(|ours| path.starts_with(ours));
        Ok(ignored.intersection(&wanted).filter(|path| !ours(path)).cloned().collect())
    }

    /// The untracked files that match these patterns.
    fn others(&self, patterns: &str) -> Result<BTreeSet<PathBuf>, WorkerError> {
        let found = git(&self.project, None, &["ls-files", "-z", "--others", "--ignored", patterns])?;
        let paths = found.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Merges this state of the work with the current state of the project.
    pub(super) fn merge(
        &self,
        there: &str,
        with_conflicts: bool,
    ) -> Result<Result<Merged, NotMerged>, WorkerError> {
        is_new_enough()?;
        let from = self.project_here().state()?;
        let (ours, theirs) = (self.commit(&from, Some("HEAD"))?, self.commit(there, Some("HEAD"))?);
        let base = self.base()?;
        let merge_base = format!("--merge-base={base}");
        let args = ["merge-tree", "--write-tree", "-z", "--no-messages", &merge_base, &ours, &theirs];
        // From the top, so that the paths in the output are too.
        let top = local::top(&self.project)?;
        let (code, out) = git_saying(&top, &args, &[0, 1])?;
        let mut fields = out.split(|byte| *byte == 0);
        let to = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        if code == 0 {
            return Ok(Ok(Merged { from, to, ..Merged::default() }));
        }
        let found = Conflicts::parse(fields);
        let inside = self.project_here().inside()?;
        let conflicts = found.paths().map(|path| local::seen_from(&inside, path)).collect();
        if !with_conflicts {
            return Ok(Err(NotMerged { conflicts, ..NotMerged::default() }));
        }
        let commits = MergedCommits { base: &base, project: &ours, work: &theirs };
        let settled = found.settle(&top, &to, &commits, &self.session)?;
        let versions = settled.versions.iter().map(|path| local::seen_from(&inside, path)).collect();
        Ok(Ok(Merged { from, to: settled.tree, conflicts, versions }))
    }

    /// Applies a merge to the project. If the work is to be committed and cannot be, no file changes either.
    pub(super) fn apply(
        &self,
        merged: &Merged,
        to: &ApplyTo,
        task: &str,
    ) -> Result<Vec<FileChange>, WorkerError> {
        let _lock = lock(&self.project)?;
        let committed = match to {
            ApplyTo::Files => None,
            ApplyTo::Commit | ApplyTo::Branch(_) => Some(self.committed(merged, task)?),
        };
        if let (ApplyTo::Branch(name), Some(commit)) = (to, &committed) {
            self.branch_off(name, commit)?;
            return self.project_here().files_between(&merged.from, &merged.to);
        }
        let note = WriteAhead::of(&self.project, &self.session)?;
        let files = project_update::apply(&self.project_here(), merged, &note)?;
        if let Some(commit) = committed {
            self.advance(&commit, merged)?;
        }
        Ok(files)
    }

    /// A commit of only this work on top of the project's commit, in the person's name; the project's own commit if
    /// that contains the work. No branch has the new commit yet.
    fn committed(&self, merged: &Merged, task: &str) -> Result<String, WorkerError> {
        let commit = |tree: &str| self.commit(tree, Some("HEAD"));
        let base = format!("--merge-base={}", commit(&merged.from)?);
        let work = commit(&merged.to)?;
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, "HEAD", &work];
        let (code, out) = git_saying(&local::top(&self.project)?, &args, &[0, 1])?;
        let mut fields =
            out.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
        let tree = fields.next().unwrap_or_default();
        if code != 0 {
            let files: BTreeSet<_> = fields.filter(|path| !path.is_empty()).collect();
            return Err(WorkerError::NotCommitted { files: files.into_iter().collect() });
        }
        if line(&self.project, &["rev-parse", "--verify", "HEAD^{tree}"])? == tree {
            return line(&self.project, &["rev-parse", "--verify", "HEAD"]);
        }
        let message = format!("{}\n\nRapport-Session: {}\n", task.trim(), self.session);
        let made = git_by_person(&self.project, &["commit-tree", "-p", "HEAD", "-m", &message, &tree])?;
        Ok(String::from_utf8_lossy(&made).trim_end().to_owned())
    }

    /// Makes a branch with this commit, unless a branch with this work already exists.
    fn branch_off(&self, name: &str, commit: &str) -> Result<(), WorkerError> {
        let branch = format!("refs/heads/{name}");
        git(&self.project, None, &["check-ref-format", &branch])?;
        if self.has(&branch) {
            // Two commits of the same work differ in their times.
            let what = |of: &str| {
                let parts = [format!("{of}^{{tree}}"), format!("{of}^")];
                parts.map(|part| line(&self.project, &["rev-parse", "--verify", "--quiet", &part]).ok())
            };
            let is_ours = what(&branch) == what(commit);
            return if is_ours { Ok(()) } else { Err(WorkerError::BranchExists { name: name.to_owned() }) };
        }
        point(&self.project);
        git(&self.project, None, &["update-ref", &branch, commit, ""])?;
        point(&self.project);
        Ok(())
    }

    /// Moves the current branch to this commit of the work. The index then has the files of the work as they are in
    /// the commit.
    fn advance(&self, commit: &str, merged: &Merged) -> Result<(), WorkerError> {
        point(&self.project);
        git(&self.project, None, &["update-ref", "-m", "rapport apply", "HEAD", commit])?;
        point(&self.project);
        let top = local::top(&self.project)?;
        let reset = ["reset", "--quiet", "HEAD", "--"].map(OsString::from);
        let paths = project_update::steps(&top, &merged.from, &merged.to)?;
        let paths: Vec<_> = paths.iter().map(|step| local::literally(&step.path)).collect();
        for some in paths.chunks(AT_ONCE) {
            git(&top, None, &[&reset[..], some].concat())?;
        }
        Ok(())
    }
}

/// Creates the directory of worktrees, readable only by its owner, with a rule that makes git ignore it.
pub(super) fn make_folder(folder: &Path) -> Result<(), WorkerError> {
    let rules = folder.join(".gitignore");
    let made = durable::private_folder(folder).and_then(|()| durable::replace_private(&rules, b"*\n"));
    made.map_err(|error| WorkerError::Directory { directory: folder.to_owned(), error })
}

/// Removes the directory of worktrees if no worktree is left in it, and what recorded states left in the repository's
/// directory. The caller holds the project's lock.
pub(super) fn remove_last(folder: &Path, project: &Path) {
    if prefix(project).is_ok() {
        local::remove_scratch(project);
    }
    let Ok(entries) = read_dir(folder) else { return };
    if entries.flatten().all(|entry| entry.file_name() == ".gitignore") {
        // If another process is just creating one, the directory is not empty.
        let _ = durable::remove(&folder.join(".gitignore"));
        durable::remove_if_empty(folder);
    }
}

/// Waits until no other process creates or removes separate workplaces of this project, or applies or undoes work. A
/// process that is about to end may still do so.
pub(super) fn lock(project: &Path) -> Result<FolderLock, WorkerError> {
    let folder = project.join(line(project, &["rev-parse", "--git-common-dir"])?);
    FolderLock::wait(&folder).map_err(file_error("lock", &folder))
}

/// The path of a project within its repository, if work can be done apart from it.
pub fn prefix(project: &Path) -> Result<String, WorkerError> {
    let Ok(tree) = WorkTree::around(project) else {
        return Err(WorkerError::NoRepository { directory: project.to_owned() });
    };
    tree.check(project)?;
    if !tree.has_commit {
        return Err(WorkerError::NoCommit { directory: project.to_owned() });
    }
    Ok(tree.inside)
}
