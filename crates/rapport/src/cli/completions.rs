//! `rapport completions`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::output::say;
use crate::error::Outcome;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  rapport completions bash > ~/.local/share/bash-completion/completions/rapport")]
pub(super) struct Args {
    /// Which shell
    shell: Shell,
}

pub(super) fn execute(args: Args) -> Outcome {
    // Into memory first: where it cannot be written, that is told and not a panic.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rapport", &mut script);
    say(String::from_utf8_lossy(&script).trim_end())
}
