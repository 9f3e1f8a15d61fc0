//! `cargo xtask test`: installs what the tests need, runs them, and plays the demo as a newcomer would.

use std::process::{Command, Stdio};

use crate::claude_code;
use crate::engine::{self, Engine};
use crate::mcp_client;
use crate::shell::{self, Outcome, cargo, exists, step, target};

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Everything,
    Quick,
}

pub(crate) fn run(extent: Extent) -> Outcome {
    step("tools", || install(&TOOLS))?;
    step("agents", claude_code::install_all)?;
    step("MCP clients", mcp_client::install)?;
    let mut engine = None;
    match engine::impossible() {
        // The tests that need it fail and say so, unless they are left out by name.
        Some(why) => println!("\nno container engine: {why}"),
        None => step("container engine", || engine::start().map(|started| engine = Some(started)))?,
    }
    let mut summary = None;
    step("tests", || tests(extent, engine.as_ref()).map(|line| summary = line))?;
    drop(engine);
    if extent == Extent::Everything {
        step("release", || shell::run(&mut cargo(&["build", "--release", "--package", "rapport"])))?;
        step("demo, in an empty home", demo)?;
        step("demo, once more", demo)?;
    }
    println!("\n{}", summary.as_deref().unwrap_or("all tests passed"));
    if let Ok(names) = std::env::var("RAPPORT_TEST_WITHOUT") {
        println!("left out, as RAPPORT_TEST_WITHOUT says: {names}");
    }
    Ok(())
}

/// The programs that the tests use, and their packages.
const TOOLS: [(&str, &str); 5] = [
    ("git", "git"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("bwrap", "bubblewrap"),
    ("python3", "python3-venv"),
];

/// Installs programs from their packages, on Debian; elsewhere reports what is missing.
pub(crate) fn install(needed: &[(&str, &str)]) -> Outcome {
    let missing: Vec<_> = needed.iter().filter(|(program, _)| !exists(program, &["--version"])).collect();
    for (program, package) in missing {
        println!("installing {program}");
        if !exists("apt-get", &["--version"]) {
            return Err(format!("{program} is missing; install it and run this again"));
        }
        shell::run(Command::new("apt-get").arg("update").stdout(Stdio::null()))?;
        let mut install = Command::new("apt-get");
        // Packages that ask something, such as the time zone, would wait for an answer.
        install.args(["install", "--yes", package]).env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(install.stdin(Stdio::null()).stdout(Stdio::null()))?;
    }
    Ok(())
}

/// Runs all tests; returns nextest's summary line, if nextest is installed.
fn tests(extent: Extent, engine: Option<&Engine>) -> Result<Option<String>, String> {
    let nextest = exists("cargo", &["nextest", "--version"]);
    let mut tests = if nextest {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        cargo(&["test", "--workspace", "--no-fail-fast"])
    };
    tests.envs(claude_code::variables()?).envs(mcp_client::variables()?);
    tests.envs(engine.into_iter().flat_map(Engine::variables));
    if extent == Extent::Everything {
        tests.env("RAPPORT_PROPERTY_CASES", "100000");
    }
    if !nextest {
        return shell::run(&mut tests).map(|()| None);
    }
    let summary = shell::run_remembering(&mut tests, "Summary [")?;
    // nextest does not run examples in the documentation.
    shell::run(&mut cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    Ok(summary)
}

/// What a newcomer runs first: without a terminal, settings or an account.
fn demo() -> Outcome {
    let home = target().join("tmp").join("empty-home");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut demo = Command::new(target().join("release").join("rapport"));
    shell::run(demo.arg("demo").env_clear().env("HOME", &home).env("PATH", path).stdin(Stdio::null()))
}
