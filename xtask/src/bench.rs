//! `cargo xtask bench`: builds for release and measures. What is measured is in `crates/rapport/benches/`.

use crate::shell::{self, Outcome, cargo};

pub(crate) fn run(args: &[&str]) -> Outcome {
    let mut bench = cargo(&["bench", "--package", "rapport", "--bench", "rapport", "--"]);
    shell::run(bench.args(args))
}
