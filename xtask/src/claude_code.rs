//! The Claude Code CLIs for the contract tests. The pinned version is in
//! `crates/rapport/tests/claude-code/package.json`, older ones are in the manifests below `older/` there, each with a
//! lock file. Each is installed once into the target directory.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::npm;
use crate::shell::{Outcome, exists, root, target};

/// The variable with the path of the pinned one. Those of older ones end in the version: `_2_1_90`.
pub(crate) const VARIABLE: &str = "RAPPORT_TEST_CLAUDE";

/// Installs the pinned one.
pub(crate) fn install() -> Outcome {
    install_from(&manifests())
}

/// Installs the pinned one and the older ones.
pub(crate) fn install_all() -> Outcome {
    install()?;
    older()?.iter().try_for_each(|manifest| install_from(manifest))
}

/// The installed program, the pinned one.
pub(crate) fn path() -> Result<PathBuf, String> {
    installed(&manifests()).map(|(_, program)| program)
}

/// Every installed program, by the variable that names it.
pub(crate) fn variables() -> Result<Vec<(OsString, PathBuf)>, String> {
    let mut variables = vec![(VARIABLE.into(), path()?)];
    for manifest in older()? {
        let (version, program) = installed(&manifest)?;
        variables.push((format!("{VARIABLE}_{}", version.replace('.', "_")).into(), program));
    }
    Ok(variables)
}

/// Installs a manifest's version if necessary, from the npm registry. No script of any package is run: the packages
/// contain the programs themselves.
fn install_from(manifest: &Path) -> Outcome {
    let version = version(manifest)?;
    let place = place(&version);
    if program(&place).is_some() {
        return Ok(());
    }
    println!("installing Claude Code {version}");
    let partial = place.with_file_name(format!("{version}.partial"));
    npm::install(manifest, &manifests().join(".npmrc"), &partial)?;
    if program(&partial).is_none() {
        return Err(format!("Claude Code {version} does not run on this platform"));
    }
    npm::finish(&partial, &place)
}

fn manifests() -> PathBuf {
    root().join("crates/rapport/tests/claude-code")
}

/// The manifests of older versions.
fn older() -> Result<Vec<PathBuf>, String> {
    let folder = manifests().join("older");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut manifests: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    manifests.sort();
    Ok(manifests)
}

/// Where a version is installed.
fn place(version: &str) -> PathBuf {
    target().join("claude-code").join(version)
}

/// What a manifest names and where its program is.
fn installed(manifest: &Path) -> Result<(String, PathBuf), String> {
    let version = version(manifest)?;
    let program = program(&place(&version));
    let program = program.ok_or_else(|| format!("Claude Code {version} is not installed"))?;
    // Tests run in other directories than this.
    let program = std::path::absolute(program).map_err(|error| error.to_string())?;
    Ok((version, program))
}

/// The program in an installation: in the package of this platform (npm installs no other; running it shows which C
/// library fits), or, in older versions, a script in the package itself.
fn program(place: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(place.join("node_modules/@anthropic-ai")).ok()?;
    let mut programs: Vec<_> = packages.flatten().map(|package| package.path().join("claude")).collect();
    programs.push(place.join("node_modules/@anthropic-ai/claude-code/cli.js"));
    programs.into_iter().find(|program| exists(&program.to_string_lossy(), &["--version"]))
}

fn version(manifest: &Path) -> Result<String, String> {
    npm::version(manifest, "@anthropic-ai/claude-code")
}
