//! `cargo xtask check`: static checks of the code. The cheapest comes first, so that failures show early.

use crate::shell::{self, FULL, Outcome, cargo, exists, step};

pub(crate) fn run() -> Outcome {
    step("format", || shell::run(&mut cargo(&["fmt", "--all", "--", "--check"])))?;
    step("lints", || {
        shell::run(&mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            FULL,
            "--",
            "-D",
            "warnings",
        ]))?;
        // What a first try builds.
        shell::run(&mut cargo(&["clippy", "--package", "rapport", "--", "-D", "warnings"]))
    })?;
    step("docs", || {
        let mut doc =
            cargo(&["doc", "--workspace", "--features", FULL, "--no-deps", "--document-private-items"]);
        shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("dependencies", dependencies)
}

/// Licences, sources, and dependencies that nothing uses. The tools are installed once, for all checkouts.
fn dependencies() -> Outcome {
    for (tool, version) in [("cargo-machete", "0.9.2"), ("cargo-deny", "0.20.2")] {
        if !exists(tool, &["--version"]) {
            println!("installing {tool}, which takes a few minutes");
            shell::run(&mut cargo(&["install", "--locked", "--quiet", tool, "--version", version]))?;
        }
    }
    // With a package's name in the environment, machete assumes `cargo run`, and takes its own name for a directory.
    shell::run(cargo(&["machete"]).env_remove("CARGO_PKG_NAME"))?;
    shell::run(&mut cargo(&["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]))
}
