//! The directory itself: the agent works in place, and git tells what changed.

use std::collections::HashMap;
use std::path::Path;

use rapport_core::{Changes, FileChange};

use super::git::{git, line};
use super::{OURS, Worker, WorkerError};

/// The directory itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Worker for Local {
    fn baseline(&self, directory: &Path) -> Result<Option<String>, WorkerError> {
        if line(directory, &["rev-parse", "--is-inside-work-tree"]).ok().as_deref() != Some("true") {
            return Ok(None);
        }
        snapshot(directory).map(Some)
    }

    fn changes(&self, directory: &Path, baseline: &str) -> Result<Changes, WorkerError> {
        let result = snapshot(directory)?;
        let statuses = between(directory, baseline, &result, "--name-status")?;
        let counts = between(directory, baseline, &result, "--numstat")?;
        Ok(Changes { files: files(&statuses, &counts), result: Some(result) })
    }
}

/// The branch a directory is on, if it is on one.
pub fn branch(directory: &Path) -> Option<String> {
    line(directory, &["symbolic-ref", "--short", "--quiet", "HEAD"]).ok().filter(|name| !name.is_empty())
}

/// What changed between two states, as a diff to read.
pub fn diff(directory: &Path, from: &str, to: &str) -> Result<String, WorkerError> {
    let args = ["diff", "--no-ext-diff", "--no-color", "--relative", from, to];
    git(directory, None, &args).map(|out| String::from_utf8_lossy(&out).into_owned())
}

/// The state of the directory as a git tree, without touching the repository's own index. It holds untracked files
/// too, and leaves out what is ignored.
fn snapshot(directory: &Path) -> Result<String, WorkerError> {
    let scratch = tempfile::tempdir()?;
    let index = scratch.path().join("index");
    let real = directory.join(line(directory, &["rev-parse", "--git-path", "index"])?);
    // A copy knows which files have not changed since git last looked; without one git reads them all.
    if real.exists() {
        std::fs::copy(&real, &index)?;
    }
    git(directory, Some(&index), &["add", "--all", "--", "."])?;
    let forget = ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--"];
    git(directory, Some(&index), &[&forget[..], &OURS[..]].concat())?;
    let tree = git(directory, Some(&index), &["write-tree"])?;
    Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
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
