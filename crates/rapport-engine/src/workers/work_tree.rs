//! Where a directory is in its repository, found with one call of git: starting git takes longer than what it does then.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::WorkerError;
use super::git::{At, git, git_saying, line};

/// The beginning of a file called `.git` that leads to the repository.
const LINK: &[u8] = b"gitdir: ";
/// The exit code with which git refuses: there is no repository, or no commit.
const REFUSED: i32 = 128;

/// The working tree around a directory.
#[derive(Debug)]
pub(super) struct WorkTree {
    /// Its top directory.
    pub(super) top: PathBuf,
    /// The path of the directory from the top, empty or with a slash at its end.
    pub(super) inside: String,
    pub(super) has_commit: bool,
    repository: PathBuf,
    /// What linked worktrees share with it.
    common: PathBuf,
}

impl WorkTree {
    pub(super) fn around<'a>(at: impl Into<At<'a>>) -> Result<Self, WorkerError> {
        let at = at.into();
        let wanted = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix"];
        let args = [&["rev-parse"], &wanted[..], &["HEAD^{commit}"]].concat();
        let (code, out) = git_saying(at, &args, &[0, REFUSED])?;
        let mut lines: Vec<_> = out.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.len() > wanted.len() + 2 {
            // A path contains a newline. One at a time, it ends before the last one.
            let alone = |wanted: &str| {
                let mut out = git(at, None, &["rev-parse", wanted])?;
                out.pop_if(|last| *last == b'\n');
                Ok(out)
            };
            lines = wanted.into_iter().map(alone).collect::<Result<_, WorkerError>>()?;
            lines.push(Vec::new());
        }
        let [top, repository, common, inside, _, ..] = lines.as_slice() else {
            // Alone, this fails with the reason.
            line(at, &["rev-parse", wanted[0]])?;
            return Err(WorkerError::NoRepository { directory: at.directory.to_owned() });
        };
        let path = |line: &[u8]| at.directory.join(OsStr::from_bytes(line));
        Ok(Self {
            top: path(top),
            inside: String::from_utf8_lossy(inside).into_owned(),
            has_commit: code == 0,
            repository: path(repository),
            common: path(common),
        })
    }

    /// Refuses a repository that is not that of the files around it. A repository that somebody else wrote can declare any
    /// directory its working tree (`core.worktree`), and git would then add, show and write the files there; or its
    /// `.git` can lead to the repository of other files, whose history an agent would see.
    pub(super) fn check(&self, directory: &Path) -> Result<(), WorkerError> {
        let directory = directory.to_owned();
        if !self.is_led_to() {
            return Err(WorkerError::FilesElsewhere { directory, top: self.top.clone() });
        }
        if !self.is_of_these_files() {
            return Err(WorkerError::RepositoryElsewhere { directory, repository: self.repository.clone() });
        }
        Ok(())
    }

    /// Whether the `.git` at the top is the repository, or the file by which a submodule or a linked worktree refers to it.
    fn is_led_to(&self) -> bool {
        let git = self.top.join(".git");
        if !git.is_file() {
            return is_same(&git, &self.repository);
        }
        let text = fs::read(&git).unwrap_or_default();
        let path = text.strip_prefix(LINK).map(|path| path.trim_ascii_end());
        path.is_some_and(|path| is_same(&self.top.join(OsStr::from_bytes(path)), &self.repository))
    }

    /// Whether the repository to which `.git` leads has no files elsewhere: a directory called `.git` is that of the files
    /// beside it, and what a linked worktree shares with others contains what is its own.
    fn is_of_these_files(&self) -> bool {
        let (Ok(repository), Ok(common)) = (self.repository.canonicalize(), self.common.canonicalize())
        else {
            return false;
        };
        let is_beside = repository.parent().is_some_and(|beside| is_same(beside, &self.top));
        repository.starts_with(&common) && (is_beside || repository.file_name() != Some(OsStr::new(".git")))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
