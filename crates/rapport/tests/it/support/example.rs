//! The examples as programs, which are built if necessary.

use std::path::PathBuf;
use std::process::Command;

/// The example of this name.
pub(crate) fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().expect("this program");
    let target = here.ancestors().nth(3).expect("a target directory");
    assert!(here.starts_with(target.join("debug/deps")), "{} is not where cargo built it", here.display());
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo says to tests about their package would make dependencies that look at it be built again.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.to_string_lossy().starts_with(start)) {
            cargo.env_remove(name);
        }
    }
    let built = cargo
        .args(["build", "--quiet", "--features", "full", "--example", name, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status();
    assert!(built.expect("cargo runs").success());
    target.join("debug/examples").join(name)
}
