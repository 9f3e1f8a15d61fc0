//! The `rapport` binary: reads the command line and does what it says.

use std::process::ExitCode;

use rapport::cli::Cli;

fn main() -> ExitCode {
    Cli::run()
}
