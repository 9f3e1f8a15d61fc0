//! Installs what a manifest with a lock file names, from the npm registry.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::shell::{self, Outcome};

/// Installs into a folder, whatever was there before. No script of any package is run.
pub(crate) fn install(manifest: &Path, npmrc: &Path, folder: &Path) -> Outcome {
    let copy = || -> std::io::Result<()> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(manifest.join(name), folder.join(name))?;
        }
        fs::copy(npmrc, folder.join(".npmrc")).map(drop)
    };
    copy().map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    // npm warns of a Node.js that is too old for a package; it is new enough for these.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(folder).stdout(Stdio::null());
    shell::run(&mut npm)
}

/// Gives a complete installation its name.
pub(crate) fn finish(partial: &Path, place: &Path) -> Outcome {
    let _ = fs::remove_dir_all(place);
    fs::rename(partial, place).map_err(|error| format!("cannot move to {}: {error}", place.display()))
}

/// The version that a manifest names of a package.
pub(crate) fn version(manifest: &Path, package: &str) -> Result<String, String> {
    let path = manifest.join("package.json");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let after = text.split_once(&format!("\"{package}\": \"")).map(|(_, after)| after);
    let version = after.and_then(|after| after.split('"').next());
    version.map(str::to_owned).ok_or_else(|| format!("{} names no version", path.display()))
}
