//! Runs other programs, and prints them.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The feature with everything that Rapport can, as people install it and the tests test it.
pub(crate) const FULL: &str = "rapport/full";

pub(crate) type Outcome = Result<(), String>;

/// A step: its name, and how long it took, are printed.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    println!("\n=== {name}");
    let began = std::time::Instant::now();
    work().map_err(|why| format!("{name}: {why}"))?;
    println!("=== {name}: {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// `cargo` with these arguments, in the root of the workspace. `cargo run` describes the xtask package in environment
/// variables, on which build scripts may depend (ring's does): with them, every switch between `cargo xtask` and plain
/// `cargo` would rebuild everything that depends on ring.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it; anything but success is a failure.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// The same, returning the last line on stderr that contains this text, to be repeated at the end.
pub(crate) fn run_remembering(command: &mut Command, text: &str) -> Result<Option<String>, String> {
    let mut child =
        command.stderr(Stdio::piped()).spawn().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let mut remembered = None;
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()) {
        let line = line.map_err(|error| format!("cannot read from {command:?}: {error}"))?;
        eprintln!("{line}");
        if line.contains(text) {
            remembered = Some(line.trim().to_owned());
        }
    }
    let status = child.wait().map_err(|error| format!("cannot wait for {command:?}: {error}"))?;
    if status.success() { Ok(remembered) } else { Err(format!("{command:?}: {status}")) }
}

/// Whether a program is installed and runs.
pub(crate) fn exists(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
