//! Nested repositories in a workplace: each has its own history, which no state of the files contains. Work in them
//! would be lost with the workplace, so it has to be found before that is removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::WorkerError;
use super::git::{git, line};
use super::local;
use super::project_update::steps;

/// The repositories below `top` with work that is not in the state `base`: at another commit, with uncommitted
/// changes, or new. Paths are from the top.
pub(super) fn with_work(top: &Path, base: &str, state: &str) -> Result<BTreeSet<PathBuf>, WorkerError> {
    let mut found = changed(top, base, state)?;
    found.extend(untracked(top)?);
    Ok(found)
}

/// The repositories of a state with changes that it does not contain: at another commit than in the state `base`, or
/// with uncommitted changes. Paths are from the top.
pub(super) fn changed(top: &Path, base: &str, state: &str) -> Result<BTreeSet<PathBuf>, WorkerError> {
    let moved = steps(top, base, state)?.into_iter();
    let mut found: BTreeSet<_> =
        moved.filter(|step| step.is_of_a_repository()).map(|step| step.path).collect();
    for (path, _) in tracked(top, state)? {
        if is_dirty(&top.join(&path))? {
            found.insert(path);
        }
    }
    Ok(found)
}

/// The nested repositories that git does not track. Git lists a directory only if it is a repository; one without a
/// commit is in no state either.
fn untracked(top: &Path) -> Result<Vec<PathBuf>, WorkerError> {
    let out = git(top, None, &["ls-files", "-z", "--others", "--exclude-standard"])?;
    let folders = out.split(|byte| *byte == 0).filter_map(|path| path.strip_suffix(b"/"));
    Ok(folders.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
}

/// The nested repositories of a state, with their commits.
fn tracked(top: &Path, state: &str) -> Result<Vec<(PathBuf, String)>, WorkerError> {
    let out = git(top, None, &["ls-tree", "-r", "-z", "--full-tree", state])?;
    let parsed = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'\t')?;
        let commit = entry[..at].strip_prefix(b"160000 commit ")?;
        let path = PathBuf::from(OsStr::from_bytes(&entry[at + 1..]));
        Some((path, String::from_utf8_lossy(commit).into_owned()))
    };
    Ok(out.split(|byte| *byte == 0).filter_map(parsed).collect())
}

/// A submodule that is checked out here.
pub(super) struct CheckedOut {
    /// From the top of the project's repository.
    pub(super) path: PathBuf,
    /// The commit that the state has.
    pub(super) commit: String,
    pub(super) directory: PathBuf,
}

/// The submodules of a state of the project that are checked out here, with the commit that the state has.
pub(super) fn checked_out(project: &Path, state: &str) -> Result<Vec<CheckedOut>, WorkerError> {
    let top = local::top(project)?;
    let all = tracked(&top, state)?.into_iter();
    let all = all.map(|(path, commit)| CheckedOut { directory: top.join(&path), path, commit });
    Ok(all.filter(|module| is_here(&top, module)).collect())
}

/// Whether the repository of a submodule is here. One whose `.git` leads elsewhere belongs to other files.
fn is_here(top: &Path, module: &CheckedOut) -> bool {
    let found = |at: &Path, option: &str| {
        let told = line(at, &["rev-parse", option]).ok()?;
        at.join(told).canonicalize().ok()
    };
    let directory = &module.directory;
    let is_own =
        || local::top(directory).is_ok_and(|own| own.canonicalize().ok() == directory.canonicalize().ok());
    let is_within = || {
        let repository = found(directory, "--absolute-git-dir");
        let (top, common) = (top.canonicalize().ok(), found(top, "--git-common-dir"));
        let is_below = |folder: Option<PathBuf>| {
            repository.as_ref().zip(folder).is_some_and(|(repository, folder)| repository.starts_with(folder))
        };
        is_below(top) || is_below(common)
    };
    let commit = format!("{}^{{commit}}", module.commit);
    directory.join(".git").exists()
        && is_own()
        && is_within()
        && line(directory, &["cat-file", "-e", &commit]).is_ok()
}

/// Whether files of this repository differ from its commit. One that was never checked out has none, so every file in
/// its directory is new: no state contains it, because git takes the directory for a repository.
fn is_dirty(repository: &Path) -> Result<bool, WorkerError> {
    if !repository.join(".git").exists() {
        return Ok(repository.read_dir().is_ok_and(|mut found| found.next().is_some()));
    }
    Ok(!git(repository, None, &["status", "--porcelain", "--untracked-files=normal"])?.is_empty())
}

/// The submodules of the project's repository, by their paths from its top, wherever in it the project is: no workplace
/// outside of the project's directory has their files.
pub fn submodules(project: &Path) -> Vec<String> {
    // Without a repository there is no such workplace, which is reported elsewhere.
    let Ok(top) = local::top(project) else { return Vec::new() };
    let listed = git(&top, None, &["ls-files", "--stage", "-z"]).unwrap_or_default();
    let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let paths = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

/// The project's submodules that a copy made from bundles lacks, and those whose changes it lacks.
pub(super) fn not_bundled(project: &Path) -> (Vec<String>, Vec<String>) {
    let mut missing = submodules(project);
    let here = checked_out(project, "HEAD").unwrap_or_default();
    missing.retain(|path| !here.iter().any(|module| module.path == Path::new(path)));
    let changed = here.iter().filter(|module| is_dirty(&module.directory).unwrap_or(true));
    (missing, changed.map(|module| module.path.display().to_string()).collect())
}

/// The files of the project's repository whose content the person's git-lfs keeps outside of it, by their paths from
/// its top: its history, and so a copy of it elsewhere, has only pointers to them. A filter that the repository
/// itself names is not run (`git.rs`), so that its files are copied as they are.
pub(super) fn kept_by_lfs(project: &Path) -> Vec<String> {
    let Ok(top) = local::top(project) else { return Vec::new() };
    let is_set = |key: &str| line(&top, &["config", "--get", key]).is_ok_and(|value| !value.is_empty());
    if !is_set("filter.lfs.process") && !is_set("filter.lfs.clean") {
        return Vec::new();
    }
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ":(attr:filter=lfs)"];
    let listed = git(&top, None, &listed).unwrap_or_default();
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository with a submodule beside the project and one in it: the file that lists them is at the top.
    #[test]
    fn submodules_are_found_wherever_the_project_is_in_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let app = top.join("parts/app");
        fs::create_dir_all(&app).unwrap();
        git(&top, None, &["init", "--quiet"]).unwrap();
        let commit = git(&top, None, &["commit-tree", "-m", "x", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"]);
        // The empty tree need not exist as an object.
        let commit = String::from_utf8(commit.unwrap()).unwrap();
        for path in ["library", "parts/app/own"] {
            let entry = format!("160000,{},{path}", commit.trim_end());
            git(&top, None, &["update-index", "--add", "--cacheinfo", &entry]).unwrap();
        }
        assert_eq!(submodules(&app), ["library", "parts/app/own"]);
        assert_eq!(submodules(&top), submodules(&app));
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(submodules(elsewhere.path()), [""; 0]);
    }
}
