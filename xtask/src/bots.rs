//! The bots that `cargo xtask bench bots` compares with. What they need is pinned beside them, in
//! `crates/rapport/benches/bots/`, and installed once into the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::python;
use crate::shell::{self, Outcome, root, target};

/// Installs a bot and says where it is, or why it cannot.
type Install = fn() -> Result<PathBuf, String>;

/// Installs what is missing, and names it in variables of the bench. What cannot be installed is reported: the rest is
/// measured without it.
pub(crate) fn prepare(bench: &mut Command) {
    let bots: [(&str, &str, Install); 2] = [
        ("grammY", "RAPPORT_BENCH_GRAMMY", grammy),
        ("python-telegram-bot", "RAPPORT_BENCH_PYTHON", python_telegram_bot),
    ];
    for (name, variable, install) in bots {
        match install() {
            Ok(place) => drop(bench.env(variable, place)),
            Err(why) => println!("there is no {name} to compare with: {why}"),
        }
    }
}

/// grammY and its runner; the directory of the packages. No script of any package is run.
fn grammy() -> Result<PathBuf, String> {
    let place = installed("grammy", "package-lock.json", |source, place| {
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            let copied = fs::copy(source.join(name), place.join(name));
            copied.map_err(|error| format!("cannot copy {name}: {error}"))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--loglevel=error"]).current_dir(place);
        shell::run(npm.stdout(Stdio::null()))
    })?;
    Ok(place.join("node_modules"))
}

/// python-telegram-bot in an environment of its own; its Python.
fn python_telegram_bot() -> Result<PathBuf, String> {
    const BOT: &str = "python-telegram-bot";
    let requirements = root().join("crates/rapport/benches/bots").join(BOT).join("requirements.txt");
    python::environment(&requirements, &target().join("bots").join(BOT))
}

/// Where a bot's needs are installed. That is done unless it was done for the same pins, which are noted when it is.
fn installed(
    bot: &str,
    pins: &str,
    install: impl FnOnce(&Path, &Path) -> Outcome,
) -> Result<PathBuf, String> {
    let source = root().join("crates/rapport/benches/bots").join(bot);
    // The bench runs in another directory than this.
    let place = std::path::absolute(target().join("bots").join(bot)).map_err(|error| error.to_string())?;
    let (wanted, noted) = (fs::read(source.join(pins)), place.join("installed"));
    let wanted = wanted.map_err(|error| format!("cannot read {pins}: {error}"))?;
    if fs::read(&noted).is_ok_and(|there| there == wanted) {
        return Ok(place);
    }
    println!("installing {bot}");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    install(&source, &place)?;
    fs::write(&noted, wanted).map_err(|error| format!("cannot write {}: {error}", noted.display()))?;
    Ok(place)
}
