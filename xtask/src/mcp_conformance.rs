//! The conformance suite of the Model Context Protocol, which the tests run against Rapport, and the Node.js that it needs. Their versions are
//! in `crates/rapport/tests/mcp-conformance/package.json`; they are installed once into the target directory.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::npm;
use crate::shell::{Outcome, root, target};

/// The variable with the folder of the installation.
const VARIABLE: &str = "RAPPORT_TEST_MCP_CONFORMANCE";
const PACKAGE: &str = "@modelcontextprotocol/conformance";
/// The name by which the tests leave it out.
pub(crate) const NEED: &str = "mcp-conformance";

/// Why the suite cannot run here, if it cannot.
pub(crate) fn impossible() -> Option<&'static str> {
    let is_pinned = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    (!is_pinned).then_some("the Node.js that it needs is pinned for Linux on x86-64 only")
}

pub(crate) fn install() -> Outcome {
    let place = place()?;
    if place.join("node_modules").join(PACKAGE).is_dir() {
        return Ok(());
    }
    println!("installing {PACKAGE}");
    let partial = place.with_extension("partial");
    npm::install(&manifest(), &manifest().join(".npmrc"), &partial)?;
    npm::finish(&partial, &place)
}

/// Where it is, by the variable that says so, where it can run.
pub(crate) fn variable() -> Result<Option<(OsString, PathBuf)>, String> {
    if impossible().is_some() {
        return Ok(None);
    }
    // Tests run in other directories than this.
    let place = std::path::absolute(place()?).map_err(|error| error.to_string())?;
    Ok(Some((VARIABLE.into(), place)))
}

fn manifest() -> PathBuf {
    root().join("crates/rapport/tests/mcp-conformance")
}

fn place() -> Result<PathBuf, String> {
    let version = npm::version(&manifest(), PACKAGE)?;
    Ok(target().join("mcp-conformance").join(version.replace('.', "-")))
}
