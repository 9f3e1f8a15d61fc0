//! `cargo xtask test`: installs what the tests need, runs them, and plays the demo as a newcomer would.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::axe;
use crate::claude_code;
use crate::engine::{self, Engine};
use crate::mcp_client;
use crate::mcp_conformance;
use crate::nats;
use crate::shell::{self, FULL, Outcome, cargo, exists, step, target};

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent<'a> {
    Everything,
    Quick,
    /// The tests with one of these in their names, and nextest's options.
    Only(&'a [&'a str]),
}

/// Whether tests may be skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skips {
    /// What cannot run here is skipped, and named.
    Told,
    /// Then this fails.
    Refused,
}

/// Names what tests may do without.
const WITHOUT: &str = "RAPPORT_TEST_WITHOUT";
/// The file to which each skipped test adds a line with its name and why.
const SKIPPED: &str = "RAPPORT_TEST_SKIPPED";

pub(crate) fn run(extent: Extent<'_>, skips: Skips) -> Outcome {
    step("tools", || install(&TOOLS))?;
    step("agents", claude_code::install_all)?;
    step("MCP clients", mcp_client::install)?;
    step("checker of accessibility", axe::install)?;
    step("server of NATS", nats::install)?;
    let mut engine = None;
    let mut without = std::env::var(WITHOUT).unwrap_or_default();
    match mcp_conformance::impossible() {
        Some(why) => {
            println!("\nno conformance suite of MCP, so the tests that need it are skipped: {why}");
            without = format!("{without},{}", mcp_conformance::NEED);
        }
        None => step("conformance suite of MCP", mcp_conformance::install)?,
    }
    match engine::impossible() {
        // Somebody runs one in another terminal: `cargo xtask engine`.
        _ if std::env::var_os(engine::VARIABLE).is_some() => {}
        Some(why) => {
            println!("\nno container engine, so the tests that need one are skipped: {why}");
            without = format!("{without},engine");
        }
        None => step("container engine", || engine::start().map(|started| engine = Some(started)))?,
    }
    let mut summary = None;
    // Tests run in other directories than this.
    let skipped = std::path::absolute(target().join("skipped-tests")).map_err(|error| error.to_string())?;
    let _ = std::fs::remove_file(&skipped);
    let variables = [(WITHOUT, without.as_str().as_ref()), (SKIPPED, skipped.as_os_str())];
    let ran = step("tests", || tests(extent, engine.as_ref(), variables).map(|line| summary = line));
    drop(engine);
    let skipped = std::fs::read_to_string(&skipped).unwrap_or_default();
    let skipped: BTreeSet<_> = skipped.lines().collect();
    skipped.iter().for_each(|test| println!("SKIPPED {test}"));
    ran?;
    if skips == Skips::Refused && !skipped.is_empty() {
        return Err(format!("{} tests were skipped, which are named above", skipped.len()));
    }
    if extent == Extent::Everything {
        step("release", || shell::run(&mut cargo(&["build", "--release", "--package", "rapport"])))?;
        step("demo, in an empty home", demo)?;
        step("demo, once more", demo)?;
        step("what the first build leaves out", left_out)?;
    }
    println!("\n{}", summary.as_deref().unwrap_or("all tests passed"));
    if !skipped.is_empty() {
        println!("{} tests were skipped, which are named above", skipped.len());
    }
    Ok(())
}

/// The programs that the tests use, and their packages.
const TOOLS: [(&str, &str); 9] = [
    ("git", "git"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("bwrap", "bubblewrap"),
    ("python3", "python3-venv"),
    ("zsh", "zsh"),
    ("fish", "fish"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
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
fn tests(
    extent: Extent<'_>,
    engine: Option<&Engine>,
    variables: [(&str, &OsStr); 2],
) -> Result<Option<String>, String> {
    let nextest = exists("cargo", &["nextest", "--version"]);
    let mut tests = if nextest {
        cargo(&["nextest", "run", "--workspace", "--features", FULL, "--no-fail-fast"])
    } else {
        cargo(&["test", "--workspace", "--features", FULL, "--no-fail-fast"])
    };
    tests.envs(claude_code::variables()?).envs(mcp_client::variables()?).envs(mcp_conformance::variable()?);
    tests.envs([axe::variable()?, nats::variable()?]);
    tests.envs(engine.into_iter().flat_map(Engine::variables)).envs(variables);
    if extent == Extent::Everything {
        tests.env("RAPPORT_PROPERTY_CASES", "100000");
    }
    if let Extent::Only(names) = extent {
        return shell::run(tests.args(names)).map(|()| None);
    }
    if !nextest {
        return shell::run(&mut tests).map(|()| None);
    }
    let summary = shell::run_remembering(&mut tests, "Summary [")?;
    // nextest does not run examples in the documentation.
    shell::run(&mut cargo(&["test", "--workspace", "--features", FULL, "--doc", "--quiet"]))?;
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

/// The first build has no MCP server, and says how to get one.
fn left_out() -> Outcome {
    let mut mcp = Command::new(target().join("release").join("rapport"));
    let output = mcp.arg("mcp").stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && said.contains("--features full") {
        return Ok(());
    }
    Err(format!("`rapport mcp` of the first build ends with {} and says: {said}", output.status))
}
