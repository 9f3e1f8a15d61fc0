//! RESEARCH: searches the web, by the program from the settings or through [`Requester`].

use std::path::Path;

use super::execute::{Call, run_program};
use crate::actions::outcome::{Details, Outcome};
use crate::actions::{ActionConfig, Observer, Requester, Stop};

/// A search program and the queries.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResearchOrder<'a> {
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    pub(super) queries: &'a [String],
}

/// Asks the [`Requester`] to search.
pub(super) async fn ask(requester: &dyn Requester, n: usize, queries: &[String]) -> Outcome {
    Outcome::from_words(requester.research(n, queries).await, |text| Details::Research { text })
}

pub(super) async fn run(
    config: &ActionConfig,
    root: &Path,
    n: usize,
    order: ResearchOrder<'_>,
    observer: &mut Observer<'_>,
    stop: &Stop,
) -> Outcome {
    let call = Call {
        program: order.program,
        args: order.args.iter().chain(order.queries).map(String::as_str).collect(),
        env: &[],
        directory: root,
        timeout: config.command_timeout,
    };
    match run_program(config, n, call, observer, stop).await {
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
