//! What contributors run: `cargo xtask check` and `cargo xtask test` before a change lands, `cargo xtask bench` to measure.

mod axe;
mod bench;
mod bots;
mod check;
mod claude_code;
mod dockerd;
mod engine;
mod mcp_client;
mod mcp_conformance;
mod nats;
mod npm;
mod pages;
mod python;
mod record;
mod shell;
mod soak;
mod test;

use std::process::ExitCode;

use test::{Extent, Skips};

const USAGE: &str = "\
cargo xtask check         format, lints, docs, dependencies
cargo xtask test          install what the tests need, then the tests, and the demo twice in an empty home
cargo xtask test --quick  the same without what takes long (fewer random cases, no demo)
cargo xtask test NAME...  only the tests with one of these in their names; nextest's options go here, too
cargo xtask test --no-skips  everything, and a test that is skipped because something is missing here is a failure
cargo xtask bench         measure, as ratios within one run; with names of parts, only these
cargo xtask soak          stories with random kills: at most --minutes N (1, or 600 with --stories) and --stories N; --seed N (1) decides when
cargo xtask engine        run the container engine of the tests, until it is interrupted
cargo xtask record        play the recorded exchanges on the pinned Claude Code, show what it does differently
cargo xtask man           write the manual pages into target/man
cargo xtask pictures      play the first hour, write the pictures of docs/";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["check"] => check::run(),
        ["test"] => test::run(Extent::Everything, Skips::Told),
        ["test", "--quick"] => test::run(Extent::Quick, Skips::Told),
        ["test", "--no-skips"] => test::run(Extent::Everything, Skips::Refused),
        ["test", names @ ..] => test::run(Extent::Only(names), Skips::Told),
        ["bench", rest @ ..] => bench::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["engine"] => engine::run(),
        ["record"] => record::run(),
        ["man"] => pages::man(),
        ["pictures"] => pages::pictures(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
