//! The Claude Code CLI that the contract tests run. Which one, `crates/rapport/tests/claude-code/package.json` says, and
//! the lock file beside it what exactly; it is installed once into the target directory and found there afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{self, Outcome, exists, root, target};

/// The variable by which the tests find it.
pub(crate) const VARIABLE: &str = "RAPPORT_TEST_CLAUDE";

/// Installs it where it is not there yet, which takes the npm registry. The programs come from the packages of the
/// platforms, so no script of any package is run.
pub(crate) fn install() -> Outcome {
    let version = version()?;
    if program(&installed(&version)).is_some() {
        return Ok(());
    }
    println!("installing Claude Code {version}");
    let partial = target().join("claude-code").join(format!("{version}.partial"));
    let done = || -> std::io::Result<()> {
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(&partial)?;
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(manifest().join(name), partial.join(name))?;
        }
        Ok(())
    };
    done().map_err(|error| format!("cannot write {}: {error}", partial.display()))?;
    // npm warns of a Node.js that is too old for the package; the program does not use it.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(&partial).stdout(Stdio::null());
    shell::run(&mut npm)?;
    if program(&partial).is_none() {
        return Err(format!("there is no Claude Code {version} for this platform"));
    }
    let place = installed(&version);
    let _ = fs::remove_dir_all(&place);
    fs::rename(&partial, &place).map_err(|error| format!("cannot move to {}: {error}", place.display()))
}

/// The installed program.
pub(crate) fn path() -> Result<PathBuf, String> {
    let version = version()?;
    let program = program(&installed(&version));
    let program = program.ok_or_else(|| format!("Claude Code {version} is not installed"))?;
    // Tests run in other directories than this.
    std::path::absolute(program).map_err(|error| error.to_string())
}

fn manifest() -> PathBuf {
    root().join("crates/rapport/tests/claude-code")
}

fn installed(version: &str) -> PathBuf {
    target().join("claude-code").join(version)
}

/// The program in the package of this platform; npm installs no other. Which of its C libraries a machine has, the
/// program itself shows.
fn program(place: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(place.join("node_modules/@anthropic-ai")).ok()?;
    let mut programs = packages.flatten().map(|package| package.path().join("claude"));
    programs.find(|program| exists(&program.to_string_lossy(), &["--version"]))
}

fn version() -> Result<String, String> {
    let path = manifest().join("package.json");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let after = text.split_once("\"@anthropic-ai/claude-code\": \"").map(|(_, after)| after);
    let version = after.and_then(|after| after.split('"').next());
    version.map(str::to_owned).ok_or_else(|| format!("{} names no version", path.display()))
}
