//! `cargo xtask test`: everything that has to hold before a change lands.

use std::process::{Command, Stdio};

use crate::claude_code;
use crate::shell::{self, Outcome, cargo, exists, step, target};

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Everything,
    Quick,
}

pub(crate) fn run(extent: Extent) -> Outcome {
    step("tools", install)?;
    step("agent", claude_code::install)?;
    step("format", || shell::run(&mut cargo(&["fmt", "--all", "--", "--check"])))?;
    step("lints", || {
        shell::run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    })?;
    step("docs", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"]);
        shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    if extent == Extent::Everything {
        step("dependencies", dependencies)?;
    }
    step("tests", || tests(extent))?;
    if extent == Extent::Everything {
        step("release", || shell::run(&mut cargo(&["build", "--release", "--package", "rapport"])))?;
        step("demo, in an empty home", demo)?;
        step("demo, once more", demo)?;
    }
    Ok(())
}

/// Programs the tests use. On Debian they are installed; elsewhere it is said what is missing.
fn install() -> Outcome {
    let needed = [("git", "git"), ("node", "nodejs"), ("npm", "npm")];
    let missing: Vec<_> =
        needed.into_iter().filter(|(program, _)| !exists(program, &["--version"])).collect();
    for (program, package) in missing {
        println!("installing {program}");
        if !exists("apt-get", &["--version"]) {
            return Err(format!("{program} is missing; install it and run this again"));
        }
        shell::run(Command::new("apt-get").arg("update").stdout(Stdio::null()))?;
        let mut install = Command::new("apt-get");
        // Packages that want to know something, such as the time zone, would wait for somebody.
        install.args(["install", "--yes", package]).env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(install.stdin(Stdio::null()).stdout(Stdio::null()))?;
    }
    Ok(())
}

/// Licences, sources, and dependencies that nothing uses. The tools are installed once, for all checkouts.
fn dependencies() -> Outcome {
    for (tool, version) in [("cargo-deny", "0.20.2"), ("cargo-machete", "0.9.2")] {
        if !exists(tool, &["--version"]) {
            shell::run(&mut cargo(&["install", "--locked", "--quiet", tool, "--version", version]))?;
        }
    }
    shell::run(&mut cargo(&["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]))?;
    // Told a package's name, it takes itself to be run by `cargo run`, and its own name for a directory.
    shell::run(cargo(&["machete"]).env_remove("CARGO_PKG_NAME"))
}

fn tests(extent: Extent) -> Outcome {
    let nextest = exists("cargo", &["nextest", "--version"]);
    let mut tests = if nextest {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast"])
    };
    tests.env(claude_code::VARIABLE, claude_code::path()?);
    if extent == Extent::Everything {
        tests.env("RAPPORT_PROPERTY_CASES", "100000");
    }
    shell::run(&mut tests)?;
    // nextest leaves examples in the documentation to cargo.
    if nextest { shell::run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"])) } else { Ok(()) }
}

/// What a newcomer runs first: nobody at the terminal, no settings, no account.
fn demo() -> Outcome {
    let home = target().join("tmp").join("empty-home");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut demo = Command::new(target().join("release").join("rapport"));
    shell::run(demo.arg("demo").env_clear().env("HOME", &home).env("PATH", path).stdin(Stdio::null()))
}
