//! `cargo xtask bench`: builds for release and runs the benchmarks in `crates/rapport/benches/`.

use crate::claude_code;
use crate::shell::{self, Outcome, cargo};

pub(crate) fn run(args: &[&str]) -> Outcome {
    let mut bench = cargo(&["bench", "--package", "rapport", "--bench", "rapport", "--"]);
    match claude_code::install().and_then(|()| claude_code::path()) {
        Ok(program) => drop(bench.env(claude_code::VARIABLE, program)),
        // The other figures do not need it.
        Err(why) => println!("there is no Claude Code to measure with: {why}"),
    }
    shell::run(bench.args(args))
}
