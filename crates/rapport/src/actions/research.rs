//! RESEARCH: the web is searched, by the program that the settings name or by whoever has hands for it.

use std::path::Path;

use super::execute::{Call, run_program};
use super::outcome::{Details, Outcome};
use super::{Hands, Means, Observer, Stop};

pub(super) async fn run(
    means: &Means,
    root: &Path,
    hands: &dyn Hands,
    n: usize,
    queries: &[String],
    observer: &mut Observer<'_>,
    stop: &Stop,
) -> Outcome {
    let Some((program, args)) = means.research_command.split_first() else {
        let words = hands.research(n, queries).await;
        return Outcome::from_words(words, |text| Details::Research { text });
    };
    let call = Call {
        program,
        args: args.iter().chain(queries).map(String::as_str).collect(),
        env: &[],
        directory: root,
        timeout: means.command_timeout,
    };
    match run_program(means, n, call, observer, stop).await {
        Outcome::Done { details: Details::Command { output, .. } } => {
            Outcome::Done { details: Details::Research { text: output.text } }
        }
        Outcome::Failed { why, details } => Outcome::Failed { why: format!("{program}: {why}"), details },
        other => other,
    }
}
