//! `rapport completions`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use super::output::say;
use crate::error::Outcome;

/// Print completions for a shell
///
/// In bash, zsh and fish they also complete sessions, questions and options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport completions bash > ~/.local/share/bash-completion/completions/rapport
  rapport completions zsh > \"${fpath[1]}/_rapport\"
  rapport completions fish > ~/.config/fish/completions/rapport.fish")]
pub(super) struct Args {
    shell: Shell,
}

pub(super) fn execute(args: Args) -> Outcome {
    match args.shell {
        Shell::Bash => say(include_str!("completions/rapport.bash").trim_end()),
        Shell::Zsh => say(include_str!("completions/rapport.zsh").trim_end()),
        Shell::Fish => say(include_str!("completions/rapport.fish").trim_end()),
        shell => {
            // Into memory first: a failed write is reported instead of a panic.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "rapport", &mut script);
            say(String::from_utf8_lossy(&script).trim_end())
        }
    }
}
