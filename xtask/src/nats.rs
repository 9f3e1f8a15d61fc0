//! The server of NATS with which the tests share sessions between hosts. Its version is in
//! `crates/rapport/tests/nats-server/requirements.txt`; it is installed once into the target directory.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::python;
use crate::shell::{Outcome, root, target};

/// The variable with the server's program.
const VARIABLE: &str = "RAPPORT_TEST_NATS";

pub(crate) fn install() -> Outcome {
    program().map(drop)
}

/// Where the program is, by the variable that says so.
pub(crate) fn variable() -> Result<(OsString, PathBuf), String> {
    Ok((VARIABLE.into(), program()?))
}

/// The program; installs it unless that was done.
fn program() -> Result<PathBuf, String> {
    let requirements = root().join("crates/rapport/tests/nats-server/requirements.txt");
    let python = python::environment(&requirements, &target().join("nats-server"))?;
    Ok(python.with_file_name("nats-server"))
}
