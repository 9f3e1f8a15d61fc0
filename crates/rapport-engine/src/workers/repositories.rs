//! Nested repositories in a workplace: each has its own history, which no state of the files contains. Work in them
//! would be lost with the workplace, so it has to be found before that is removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::WorkerError;
use super::git::git;
use super::take_over::steps;

/// The repositories below `top` with work that is not in the state `base`, from the top: at another commit, with
/// uncommitted changes, or new.
pub(super) fn with_work(top: &Path, base: &str, state: &str) -> Result<BTreeSet<PathBuf>, WorkerError> {
    let moved = steps(top, base, state)?.into_iter();
    let mut found: BTreeSet<_> =
        moved.filter(|step| step.is_of_a_repository()).map(|step| step.path).collect();
    found.extend(untracked(top)?);
    for path in tracked(top, state)? {
        if is_dirty(&top.join(&path))? {
            found.insert(path);
        }
    }
    Ok(found)
}

/// Those that git does not track. Git lists a directory only if it is a repository; without a commit it is in no state
/// either.
fn untracked(top: &Path) -> Result<Vec<PathBuf>, WorkerError> {
    let out = git(top, None, &["ls-files", "-z", "--others", "--exclude-standard"])?;
    let folders = out.split(|byte| *byte == 0).filter_map(|path| path.strip_suffix(b"/"));
    Ok(folders.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
}

fn tracked(top: &Path, state: &str) -> Result<Vec<PathBuf>, WorkerError> {
    let out = git(top, None, &["ls-tree", "-r", "-z", "--full-tree", state])?;
    let entries = out.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let path = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'\t')?;
        Some(PathBuf::from(OsStr::from_bytes(&entry[at + 1..])))
    };
    Ok(entries.filter_map(path).collect())
}

/// Whether files of this repository differ from its commit. One that was never checked out has none.
fn is_dirty(repository: &Path) -> Result<bool, WorkerError> {
    if !repository.join(".git").exists() {
        return Ok(false);
    }
    Ok(!git(repository, None, &["status", "--porcelain", "--untracked-files=normal"])?.is_empty())
}

/// The project's submodules, by their paths: no workplace outside of the project's directory has their files.
pub fn submodules(project: &Path) -> Vec<String> {
    if !project.join(".gitmodules").is_file() {
        return Vec::new();
    }
    let listed = git(project, None, &["ls-files", "--stage", "-z"]).unwrap_or_default();
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let paths = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}
