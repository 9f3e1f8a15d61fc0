//! The options of every command.

use std::path::PathBuf;

use clap::ValueEnum;

const EVERYWHERE: &str = "Options of every command";

/// The options of every command.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// Print JSON for scripts instead of words for people
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// The project's directory (default: the one around the current directory)
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub project: Option<PathBuf>,
    /// When to use colour: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", help_heading = EVERYWHERE,
        hide_possible_values = true, hide_default_value = true)]
    pub color: When,
    /// Ask and answer line by line, without a screen (also: terminal.plain, RAPPORT_PLAIN=1)
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub plain: bool,
    /// Log what Rapport does: a level (info, debug, trace), or one per module (also: RAPPORT_LOG)
    #[arg(long, global = true, value_name = "FILTER", env = "RAPPORT_LOG", hide_env = true, help_heading = EVERYWHERE)]
    pub log: Option<String>,
    /// Where the log goes, at the end of the file (also: RAPPORT_LOG_FILE; default: stderr)
    #[arg(long, global = true, value_name = "FILE", env = "RAPPORT_LOG_FILE", hide_env = true, help_heading = EVERYWHERE)]
    pub log_file: Option<PathBuf>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
