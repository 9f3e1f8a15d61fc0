//! The examples as programs, built if they are not.

use std::path::PathBuf;
use std::process::Command;

/// The example of this name.
pub(crate) fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("this program");
    let target = here.ancestors().nth(3).expect("a target directory");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--example", name, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status();
    assert!(built.expect("cargo runs").success());
    target.join("debug/examples").join(name)
}
