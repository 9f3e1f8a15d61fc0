//! RESEARCH: the web is searched, by the program that the settings name or by whoever has hands for it.

use std::path::Path;

use super::execute::{Call, run_program};
use crate::actions::outcome::{Details, Outcome};
use crate::actions::{Hands, Means, Observer, Stop};

/// A program that searches, and for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    pub(super) queries: &'a [String],
}

/// Asks whoever has hands for it.
pub(super) async fn ask(hands: &dyn Hands, n: usize, queries: &[String]) -> Outcome {
    Outcome::from_words(hands.research(n, queries).await, |text| Details::Research { text })
}

/// Runs the program.
pub(super) async fn run(
    means: &Means,
    root: &Path,
    n: usize,
    order: Order<'_>,
    observer: &mut Observer<'_>,
    stop: &Stop,
) -> Outcome {
    let call = Call {
        program: order.program,
        args: order.args.iter().chain(order.queries).map(String::as_str).collect(),
        env: &[],
        directory: root,
        timeout: means.command_timeout,
    };
    match run_program(means, n, call, observer, stop).await {
        Outcome::Done { details: Details::Command { output, .. } } => {
            let left_out = match output.left_out {
                0 => String::new(),
                lines => format!("(The first {lines} of {} lines are left out.)\n\n", output.lines),
            };
            Outcome::Done { details: Details::Research { text: left_out + &output.text } }
        }
        Outcome::Failed { why, details, may_have_run: _ } => {
            Outcome::failed_with(format!("{}: {why}", order.program), details)
        }
        other => other,
    }
}
