//! `rapport completions`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
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
    clap_complete::generate(args.shell, &mut Cli::command(), "rapport", &mut std::io::stdout());
    Ok(())
}
