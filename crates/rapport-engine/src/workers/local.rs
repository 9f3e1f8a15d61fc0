//! The directory itself: the agent works in place, and git tells what changed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rapport_core::{Changes, FileChange};

use super::git::{git, git_as_far_as_it_goes, line};
use super::{OURS, Worker, WorkerError};

/// How often git is asked to take all files in, and how long is waited after the first time.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The directory itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Worker for Local {
    fn baseline(&self, directory: &Path) -> Result<Option<String>, WorkerError> {
        match line(directory, &["rev-parse", "--is-inside-work-tree"]) {
            Ok(inside) if inside == "true" => snapshot(directory).map(Some),
            Ok(_) => Ok(None),
            Err(WorkerError::Start(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // Git fails in the same way where there is no repository and where it cannot read one.
            Err(error) if has_repository(directory) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn changes(&self, directory: &Path, baseline: &str) -> Result<Changes, WorkerError> {
        let result = snapshot(directory)?;
        let statuses = between(directory, baseline, &result, "--name-status")?;
        let counts = between(directory, baseline, &result, "--numstat")?;
        Ok(Changes { files: files(&statuses, &counts), result: Some(result), unknown: None })
    }
}

/// The branch a directory is on, if it is on one.
pub fn branch(directory: &Path) -> Option<String> {
    line(directory, &["symbolic-ref", "--short", "--quiet", "HEAD"]).ok().filter(|name| !name.is_empty())
}

/// What changed between two states, as a diff to read.
pub fn diff(directory: &Path, from: &str, to: &str) -> Result<String, WorkerError> {
    let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", from, to];
    git(directory, None, &args).map(|out| String::from_utf8_lossy(&out).into_owned())
}

fn has_repository(directory: &Path) -> bool {
    directory.ancestors().any(|folder| folder.join(".git").exists())
}

/// The state of the directory as a git tree, without touching the repository's own index. It holds untracked files
/// too, and leaves out what is ignored, what Rapport writes, and what git cannot take in: a file that may not be read, or a
/// repository within it that has no commit yet.
fn snapshot(directory: &Path) -> Result<String, WorkerError> {
    let scratch = Scratch::take(directory)?;
    let index = Some(scratch.index.as_path());
    add_all(directory, index)?;
    // Where it is committed, it is in the index that this one is a copy of.
    let forget = ["rm", "-r", "--force", "--cached", "--quiet", "--ignore-unmatch", "--"];
    git(directory, index, &[&forget[..], &OURS[..]].concat())?;
    let tree = git(directory, index, &["write-tree"])?;
    Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
}

/// Takes every file in. Git gives up where a file vanishes that it has just seen, as those of a running build do: then it
/// is tried again.
fn add_all(directory: &Path, index: Option<&Path>) -> Result<(), WorkerError> {
    let without = OURS.map(|ours| format!(":(exclude){ours}"));
    let args = ["add", "--all", "--ignore-errors", "--", "."].into_iter().map(OsStr::new);
    let args: Vec<_> = args.chain(without.iter().map(OsStr::new)).collect();
    for n in 1..TRIES {
        if git_as_far_as_it_goes(directory, index, &args).is_ok() {
            return Ok(());
        }
        sleep(PAUSE * n);
    }
    git_as_far_as_it_goes(directory, index, &args)
}

/// An index of our own, within the repository's directory: there is one, for one process at a time, so that what a process
/// leaves that is killed is cleared away by the next.
struct Scratch {
    index: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Waits for it, and makes it a copy of the repository's own index: that knows which files have not changed since git
    /// last looked; without it git reads them all.
    fn take(directory: &Path) -> Result<Self, WorkerError> {
        let in_git =
            |name| line(directory, &["rev-parse", "--git-path", name]).map(|path| directory.join(path));
        let (real, folder) = (in_git("index")?, in_git("rapport")?);
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        lock.lock()?;
        let scratch = Self { index: folder.join("index"), _lock: lock };
        scratch.clear();
        if real.exists() {
            fs::copy(&real, &scratch.index)?;
        }
        Ok(scratch)
    }

    fn clear(&self) {
        for left in [self.index.clone(), self.index.with_extension("lock")] {
            // What cannot be removed is in the way of git, which then says so.
            let _ = fs::remove_file(left);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

fn between(directory: &Path, from: &str, to: &str, what: &str) -> Result<Vec<String>, WorkerError> {
    let args = ["diff-tree", "-r", "-z", "--no-renames", "--relative", what, from, to];
    let out = git(directory, None, &args)?;
    Ok(out.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).into_owned()).collect())
}

fn files(statuses: &[String], counts: &[String]) -> Vec<FileChange> {
    let counts: HashMap<&str, (Option<u64>, Option<u64>)> = counts
        .iter()
        .filter_map(|record| {
            let mut fields = record.splitn(3, '\t');
            let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
            Some((path, (added.parse().ok(), removed.parse().ok())))
        })
        .collect();
    let changes = statuses.chunks_exact(2).map(|pair| {
        let (status, path) = (&pair[0], &pair[1]);
        let (added, removed) = counts.get(path.as_str()).copied().unwrap_or_default();
        FileChange { path: path.clone(), status: status_word(status).to_owned(), added, removed }
    });
    changes.collect()
}

fn status_word(letter: &str) -> &'static str {
    match letter.chars().next() {
        Some('A') => "added",
        Some('D') => "deleted",
        _ => "modified",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository in the project that was just begun is no reason not to work there.
    #[test]
    fn what_git_cannot_take_in_is_left_out() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        fs::create_dir(directory.join("begun")).unwrap();
        git(&directory.join("begun"), None, &["init", "--quiet"]).unwrap();
        let baseline = Local.baseline(directory).unwrap().unwrap();
        fs::write(directory.join("begun/a.txt"), "a\n").unwrap();
        fs::write(directory.join("z.txt"), "z\n").unwrap();
        let changes = Local.changes(directory, &baseline).unwrap();
        let paths: Vec<_> = changes.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["z.txt"]);
    }

    /// What a process left that was killed here is cleared away, and several at once do not disturb each other.
    #[test]
    fn a_state_is_noted_whatever_was_left() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path();
        git(directory, None, &["init", "--quiet"]).unwrap();
        fs::write(directory.join("a.txt"), "a\n").unwrap();
        let state = Local.baseline(directory).unwrap();
        let folder = directory.join(".git/rapport");
        fs::write(folder.join("index"), "torn").unwrap();
        fs::write(folder.join("index.lock"), "").unwrap();
        std::thread::scope(|scope| {
            let noting: Vec<_> = (0..4).map(|_| scope.spawn(|| Local.baseline(directory))).collect();
            for noted in noting {
                assert_eq!(noted.join().unwrap().unwrap(), state);
            }
        });
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }
}
