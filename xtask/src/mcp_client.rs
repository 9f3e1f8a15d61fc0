//! The MCP clients of the protocol's own project, which the tests connect to Rapport. Their versions are in
//! `crates/rapport/tests/mcp-client/package.json` and `crates/rapport/tests/mcp-client-python/requirements.txt`; they are installed once
//! into the target directory.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::shell::{Outcome, root, target};
use crate::{npm, python};

/// The variable with the folder of the installation.
const VARIABLE: &str = "RAPPORT_TEST_MCP_CLIENT";
/// The variable with the Python that has the other one.
const PYTHON: &str = "RAPPORT_TEST_MCP_PYTHON";
const PACKAGE: &str = "@modelcontextprotocol/client";
/// What is installed beside it.
const INSPECTOR: &str = "@modelcontextprotocol/inspector";

pub(crate) fn install() -> Outcome {
    install_python()?;
    let place = place()?;
    let modules = place.join("node_modules");
    if [PACKAGE, INSPECTOR].iter().all(|package| modules.join(package).is_dir()) {
        return Ok(());
    }
    println!("installing {PACKAGE} and {INSPECTOR}");
    let partial = place.with_extension("partial");
    npm::install(&manifest(), &manifest().join(".npmrc"), &partial)?;
    npm::finish(&partial, &place)
}

/// Where they are, by the variables that say so.
pub(crate) fn variables() -> Result<[(OsString, PathBuf); 2], String> {
    // Tests run in other directories than this.
    let place = std::path::absolute(place()?).map_err(|error| error.to_string())?;
    Ok([(VARIABLE.into(), place), (PYTHON.into(), install_python()?)])
}

/// The Python with the client; installs it unless that was done.
fn install_python() -> Result<PathBuf, String> {
    let requirements = root().join("crates/rapport/tests/mcp-client-python/requirements.txt");
    python::environment(&requirements, &target().join("mcp-client-python"))
}

fn manifest() -> PathBuf {
    root().join("crates/rapport/tests/mcp-client")
}

fn place() -> Result<PathBuf, String> {
    let version = npm::version(&manifest(), PACKAGE)?;
    Ok(target().join("mcp-client").join(version.replace('.', "-")))
}
