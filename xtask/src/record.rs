//! `cargo xtask record`: plays the recorded exchanges on the pinned Claude Code and shows the differences. For updating
//! the pinned version.

use std::process::Command;

use crate::claude_code;
use crate::shell::{self, FULL, Outcome, cargo, root, step, target};

pub(crate) fn run() -> Outcome {
    step("agent", claude_code::install)?;
    let folder = std::path::absolute(target().join("recorded")).map_err(|error| error.to_string())?;
    let _ = std::fs::remove_dir_all(&folder);
    let mut tests = cargo(&[
        "test",
        "--package",
        "rapport",
        "--features",
        FULL,
        "--test",
        "it",
        "contract::agent::recording::",
    ]);
    tests.env(claude_code::VARIABLE, claude_code::path()?).env("RAPPORT_RECORD", &folder);
    let played = step("play", || shell::run(&mut tests));
    let mut diff = Command::new("git");
    diff.args(["--no-pager", "diff", "--no-index", "before", "now"]).current_dir(&folder);
    let same = diff.status().map_err(|error| format!("cannot run {diff:?}: {error}"))?.success();
    let place = folder.strip_prefix(root()).unwrap_or(&folder).display();
    println!(
        "{} (before and now: {place})",
        if same { "nothing has changed" } else { "what has changed is above" }
    );
    played
}
