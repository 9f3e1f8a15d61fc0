//! `cargo xtask bench`: builds for release and runs the benchmarks in `crates/rapport/benches/`.

use crate::shell::{self, FULL, Outcome, cargo};
use crate::{axe, bots, claude_code, engine};

pub(crate) fn run(args: &[&str]) -> Outcome {
    let mut bench = cargo(&["bench", "--package", "rapport", "--features", FULL, "--bench", "rapport", "--"]);
    match claude_code::install().and_then(|()| claude_code::path()) {
        Ok(program) => drop(bench.env(claude_code::VARIABLE, program)),
        // The other figures do not need it.
        Err(why) => println!("there is no Claude Code to measure with: {why}"),
    }
    if args.is_empty() || args.contains(&"bots") {
        bots::prepare(&mut bench);
    }
    if args.is_empty() || args.contains(&"web") {
        match axe::install().and_then(|()| axe::variable()) {
            // The driver of the browser is the one of the tests, and looks for this.
            Ok((name, place)) => drop(bench.env(name, place)),
            Err(why) => println!("there is no browser to measure with: {why}"),
        }
    }
    // It ends when this is dropped.
    let engine =
        if args.is_empty() || args.contains(&"workers") { engine::start() } else { Err(String::new()) };
    match &engine {
        Ok(engine) => drop(bench.envs(engine.variables())),
        Err(why) if !why.is_empty() => println!("there is no container engine to measure with: {why}"),
        Err(_) => {}
    }
    shell::run(bench.args(args))
}
