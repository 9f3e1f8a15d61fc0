//! Installs what a file of pins names from PyPI, into an environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{self, Outcome};

/// The Python of an environment with these requirements. It is made unless it was made for the same ones, which are noted when it is.
pub(crate) fn environment(requirements: &Path, place: &Path) -> Result<PathBuf, String> {
    // Tests and benches run in other directories than this.
    let place = std::path::absolute(place).map_err(|error| error.to_string())?;
    let (python, noted) = (place.join("bin/python"), place.join("installed"));
    let wanted =
        fs::read(requirements).map_err(|error| format!("cannot read {}: {error}", requirements.display()))?;
    if fs::read(&noted).is_ok_and(|known| known == wanted) {
        return Ok(python);
    }
    println!("installing {}", requirements.display());
    make(&place)?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-r"]);
    shell::run(pip.arg(requirements))?;
    fs::write(&noted, wanted).map_err(|error| format!("cannot write {}: {error}", noted.display()))?;
    Ok(python)
}

fn make(place: &Path) -> Outcome {
    let _ = fs::remove_dir_all(place);
    fs::create_dir_all(place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(place).stdout(Stdio::null()))
}
