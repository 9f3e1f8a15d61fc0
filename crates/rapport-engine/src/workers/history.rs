//! The latest commits of a project, for its exploration.

use std::path::Path;

use super::git::git;
use crate::projects::history::Commit;

/// The latest commits that concern this directory, the newest first; `None` if it is not in a git repository, or has
/// none. Signatures are not verified, because the repository would name the program for that.
pub fn commits(directory: &Path, most: usize) -> Option<Vec<Commit>> {
    let most = format!("--max-count={most}");
    let mut args = vec![
        "log",
        "--no-show-signature",
        "--no-mailmap",
        "--date=short",
        "--format=%cd%x00%s%x00",
        "-z",
        &most,
    ];
    if !directory.join(".git").exists() {
        // The directory is only a part of its repository.
        args.extend(["--", "."]);
    }
    let out = git(directory, None, &args).ok()?;
    let text = String::from_utf8_lossy(&out);
    let fields: Vec<_> = text.split('\0').filter(|field| !field.is_empty()).collect();
    let commits =
        fields.chunks_exact(2).map(|pair| Commit { on: pair[0].to_owned(), subject: pair[1].to_owned() });
    Some(commits.collect())
}
