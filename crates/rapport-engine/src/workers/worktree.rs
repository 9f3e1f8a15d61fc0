//! A second working tree of the project's repository, in a given state: the workplace of a branch.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use rapport_durable as durable;

use super::git::{git, line};
use super::local::top;
use super::{OURS, WorkerError, file_error};

/// A worktree that is removed on drop, unless it is kept.
#[derive(Debug)]
pub struct Worktree {
    project: PathBuf,
    root: PathBuf,
    /// The project's directory in it.
    pub directory: PathBuf,
    kept: bool,
}

impl Worktree {
    /// Creates a worktree of this project's repository at `root`, with the files of this state. It has no branch;
    /// differences from the project's commit stay uncommitted.
    pub fn add(project: &Path, root: PathBuf, state: &str) -> Result<Self, WorkerError> {
        let inside = prefix(project)?;
        if line(project, &["cat-file", "-e", &format!("{state}^{{tree}}")]).is_err() {
            return Err(WorkerError::StateGone { state: state.to_owned() });
        }
        if let Some(folder) = root.parent() {
            make_folder(folder)?;
        }
        // An existing directory is not ours to fill, or to remove on failure.
        durable::new_folder(&root)
            .map_err(|error| WorkerError::Directory { directory: root.clone(), error })?;
        let directory =
            if inside.is_empty() { root.clone() } else { root.join(inside.trim_end_matches('/')) };
        let made = Self { project: project.to_owned(), root, directory, kept: false };
        let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout"].map(AsRef::as_ref);
        made.write(project, &[&add[..], &[made.root.as_os_str(), "HEAD".as_ref()]].concat())?;
        made.write(&made.root, &["read-tree", "--reset", "-u", state].map(AsRef::as_ref))?;
        made.write(&made.root, &["reset", "--quiet", "--mixed", "HEAD"].map(AsRef::as_ref))?;
        for ours in OURS {
            // A state does not contain Rapport's own files; committed ones are restored from the commit.
            if !line(&made.root, &["ls-files", "--", ours])?.is_empty() {
                made.write(&made.root, &["checkout", "--quiet", "--", ours].map(AsRef::as_ref))?;
            }
        }
        let project_there = durable::folder(&made.directory);
        project_there.map_err(|error| WorkerError::Directory { directory: made.directory.clone(), error })?;
        Ok(made)
    }

    pub fn keep(mut self) {
        self.kept = true;
    }

    /// Lets git write to the worktree or about it. A crash test may kill this process before and after.
    fn write(&self, directory: &Path, args: &[&OsStr]) -> Result<(), WorkerError> {
        durable::point(&self.root);
        let written = git(directory, None, args).map(drop);
        durable::point(&self.root);
        written
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let remove = ["worktree", "remove", "--force"].map(AsRef::as_ref);
        // Its leftover is a directory that git ignores.
        let _ = self.write(&self.project, &[&remove[..], &[self.root.as_os_str()]].concat());
        let _ = durable::remove_folder(&self.root);
    }
}

/// Creates the directory of worktrees, for the owner alone, with rules for git: it is not to be shown or committed.
pub(super) fn make_folder(folder: &Path) -> Result<(), WorkerError> {
    let rules = folder.join(".gitignore");
    let made = durable::private_folder(folder).and_then(|()| durable::replace_private(&rules, b"*\n"));
    made.map_err(|error| WorkerError::Directory { directory: folder.to_owned(), error })
}

/// Removes the directory of worktrees with the last of them.
pub(super) fn remove_last(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    if entries.flatten().all(|entry| entry.file_name() == ".gitignore") {
        // If another process is just creating one, the directory is not empty.
        let _ = durable::remove(&folder.join(".gitignore"));
        durable::remove_if_empty(folder);
    }
}

/// Waits until no other process creates or removes worktrees of this repository, or applies or undoes work. A process
/// that is just ending may still do so.
pub(super) fn lock(project: &Path) -> Result<File, WorkerError> {
    let folder = project.join(line(project, &["rev-parse", "--git-common-dir"])?);
    let locked = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    locked.map_err(file_error("lock", &folder))
}

/// The path of a project within its repository, if worktrees can be made of it.
pub fn prefix(project: &Path) -> Result<String, WorkerError> {
    if line(project, &["rev-parse", "--is-inside-work-tree"]).ok().as_deref() != Some("true") {
        return Err(WorkerError::NoRepository { directory: project.to_owned() });
    }
    top(project)?;
    if line(project, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).is_err() {
        return Err(WorkerError::NoCommit { directory: project.to_owned() });
    }
    line(project, &["rev-parse", "--show-prefix"])
}
