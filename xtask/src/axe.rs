//! The checker of accessibility that the tests run in the pages. Its version is in `crates/rapport/tests/axe-core/package.json`; it is
//! installed once into the target directory.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::npm;
use crate::shell::{Outcome, root, target};

/// The variable with the folder of the installation.
const VARIABLE: &str = "RAPPORT_TEST_AXE";
const PACKAGE: &str = "axe-core";

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

/// Where it is, by the variable that says so.
pub(crate) fn variable() -> Result<(OsString, PathBuf), String> {
    // Tests run in other directories than this.
    let place = std::path::absolute(place()?).map_err(|error| error.to_string())?;
    Ok((VARIABLE.into(), place))
}

fn manifest() -> PathBuf {
    root().join("crates/rapport/tests/axe-core")
}

fn place() -> Result<PathBuf, String> {
    let version = npm::version(&manifest(), PACKAGE)?;
    Ok(target().join("axe-core").join(version.replace('.', "-")))
}
