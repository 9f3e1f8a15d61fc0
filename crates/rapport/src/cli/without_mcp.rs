//! `rapport mcp` in a build without the MCP server: says how to get one.

use super::Common;
use crate::channels::FULL;
use crate::error::{Code, Failure, Outcome};

/// Let another assistant start workers, answer them and review their changes, over MCP
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the server would take
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _args: Vec<String>,
}

pub(super) fn execute(_: &Common, _: Args) -> Outcome {
    Err(Failure::new(Code::Usage, "this rapport was built without the MCP server").hint(FULL))
}
