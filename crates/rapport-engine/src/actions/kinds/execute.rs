//! EXECUTE: runs a command in a shell, in a process session of its own without a terminal and without input, so that a
//! program that would ask a person fails at once. A timeout, or the end of its host, kills it with everything it
//! started.

mod environment;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use rapport_core::Shell;

use crate::actions::outcome::{Details, Outcome};
use crate::actions::{ActionConfig, Live, Observer, Stop, project};
use crate::workers::command::{self, CommandCall, CommandEnd, CommandEnding};
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

pub(crate) use environment::{of_commands, of_confined_commands};

/// The exit code of a command that timed out.
const TIMED_OUT: i32 = 124;

/// A command of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub(super) command: &'a str,
    pub(super) shell: Shell,
    pub(super) cwd: Option<&'a str>,
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) timeout: Option<SignedDuration>,
}

/// A program to run.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) program: &'a str,
    pub(super) args: Vec<&'a str>,
    /// Additional environment variables.
    pub(super) env: &'a [(&'a str, &'a str)],
    pub(super) directory: &'a Path,
    pub(super) timeout: Duration,
}

pub(super) async fn run(
    config: &ActionConfig,
    root: &Path,
    n: usize,
    order: Order<'_>,
    observer: &mut Observer<'_>,
    stop: &Stop,
) -> Outcome {
    let directory = match project::directory(root, order.cwd) {
        Ok(directory) => directory,
        Err(error) => return Outcome::failed(format!("cannot run it there: {error}")),
    };
    let env: Vec<_> = order.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let call = Call {
        program: environment::program(order.shell),
        args: vec!["-c", order.command],
        env: &env,
        directory: &directory,
        timeout: order.timeout.and_then(|time| time.try_into().ok()).unwrap_or(config.command_timeout),
    };
    run_program(config, n, call, observer, stop).await
}

/// Runs a program to its end. Any exit code other than 0 is a failure.
pub(super) async fn run_program(
    config: &ActionConfig,
    n: usize,
    call: Call<'_>,
    observer: &mut Observer<'_>,
    stop: &Stop,
) -> Outcome {
    let own = call.env.iter().map(|(name, value)| (name.into(), value.into()));
    let args: Vec<_> = call.args.iter().map(OsString::from).collect();
    let command = CommandCall {
        keeper: &config.keeper,
        program: call.program,
        args: &args,
        env: of_commands(&config.command_env).into_iter().chain(own).collect(),
        mark: Mark::unnamed(),
        timeout: call.timeout,
    };
    let mut show = |line: &str| observer(Live::Output { n, line });
    let ran = command::run(&Directory::at(call.directory), command, stop, &mut show).await;
    let CommandEnd { ending, output, left_behind } = match ran {
        Ok(ended) => ended,
        Err(error) => {
            return Outcome::failed(format!("cannot run it in {}: {error}", call.directory.display()));
        }
    };
    let details = |exit| Details::Command { exit, output, left_behind };
    match ending {
        CommandEnding::Exited(0) => Outcome::Done { details: details(Some(0)) },
        CommandEnding::Exited(code) => Outcome::failed_with(format!("exit code {code}"), details(Some(code))),
        CommandEnding::TimedOut => Outcome::failed_with(
            format!("it took longer than {} s and was ended", call.timeout.as_secs_f64()),
            details(Some(TIMED_OUT)),
        ),
        CommandEnding::Stopped => Outcome::failed_with("interrupted", details(None)),
        CommandEnding::Lost(why) => Outcome::failed_with(why, details(None)),
    }
}
