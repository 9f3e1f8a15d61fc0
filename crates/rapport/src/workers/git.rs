//! The `git` program, asked in the forms made for programs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::WorkerError;

/// Runs git there and gives what it printed.
pub(super) fn git<S: AsRef<OsStr>>(
    directory: &Path,
    index: Option<&Path>,
    args: &[S],
) -> Result<Vec<u8>, WorkerError> {
    let mut command = Command::new("git");
    command.current_dir(directory).args(args).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    // A hook or an alias of git may have set these for another repository.
    for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(inherited);
    }
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let what = args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(WorkerError::Git { what, why })
}

/// The same, as text without the line's end.
pub(super) fn line<S: AsRef<OsStr>>(directory: &Path, args: &[S]) -> Result<String, WorkerError> {
    git(directory, None, args).map(|out| String::from_utf8_lossy(&out).trim_end().to_owned())
}
