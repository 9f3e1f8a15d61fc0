//! `cargo xtask man` and `cargo xtask pictures`: generates documentation from the program itself.

use crate::shell::{self, FULL, Outcome, cargo, target};

/// Writes the manual pages into `target/man`.
pub(crate) fn man() -> Outcome {
    let folder = target().join("man");
    shell::run(example("man_pages").arg(&folder))?;
    println!("Read them with: man -l {}", folder.join("rapport.1").display());
    Ok(())
}

/// Plays the first hour in a terminal, and writes `docs/picture.svg` and `docs/pictures/`.
pub(crate) fn pictures() -> Outcome {
    shell::run(&mut cargo(&["build", "--quiet", "--package", "rapport", "--features", FULL]))?;
    shell::run(example("pictures").arg(target().join("debug/rapport")).arg("docs"))
}

fn example(name: &str) -> std::process::Command {
    cargo(&["run", "--quiet", "--package", "rapport", "--features", FULL, "--example", name, "--"])
}
