//! `rapport open` and `rapport devices` in a build without the page for browsers: they say how to get one.

use super::Common;
use crate::channels::FULL;
use crate::error::{Code, Failure, Outcome};

/// Use the page for browsers, which this build does not have
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What the command would take
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _args: Vec<String>,
}

pub(super) fn execute(_: &Common, _: Args) -> Outcome {
    Err(Failure::new(Code::Usage, "this rapport was built without the page for browsers").hint(FULL))
}
