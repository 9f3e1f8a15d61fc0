//! The `git` program, asked in the forms made for programs.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use super::WorkerError;

/// Runs git there and gives what it printed.
pub(super) fn git<S: AsRef<OsStr>>(
    directory: &Path,
    index: Option<&Path>,
    args: &[S],
) -> Result<Vec<u8>, WorkerError> {
    let output = run(directory, index, args)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failure(&output, args)) }
}

/// Runs git there for a command that goes on where one file fails, and then says so with the exit code 1.
pub(super) fn git_as_far_as_it_goes<S: AsRef<OsStr>>(
    directory: &Path,
    index: Option<&Path>,
    args: &[S],
) -> Result<(), WorkerError> {
    let output = run(directory, index, args)?;
    if matches!(output.status.code(), Some(0 | 1)) { Ok(()) } else { Err(failure(&output, args)) }
}

/// Runs git there for a command whose exit code says something, and gives that with what it printed.
pub(super) fn git_saying<S: AsRef<OsStr>>(
    directory: &Path,
    args: &[S],
    codes: &[i32],
) -> Result<(i32, Vec<u8>), WorkerError> {
    let output = run(directory, None, args)?;
    match output.status.code().filter(|code| codes.contains(code)) {
        Some(code) => Ok((code, output.stdout)),
        None => Err(failure(&output, args)),
    }
}

fn run<S: AsRef<OsStr>>(directory: &Path, index: Option<&Path>, args: &[S]) -> io::Result<Output> {
    let mut command = Command::new("git");
    command.current_dir(directory).args(args).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    // A hook or an alias of git may have set these for another repository.
    for inherited in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(inherited);
    }
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    command.output()
}

fn failure<S: AsRef<OsStr>>(output: &Output, args: &[S]) -> WorkerError {
    let what = args.first().map(|arg| arg.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    WorkerError::Git { what, why }
}

/// The same, as text without the line's end.
pub(super) fn line<S: AsRef<OsStr>>(directory: &Path, args: &[S]) -> Result<String, WorkerError> {
    git(directory, None, args).map(|out| String::from_utf8_lossy(&out).trim_end().to_owned())
}
