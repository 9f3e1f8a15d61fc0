//! The rehearsal agent: a scripted stand-in for the Claude Code CLI. It plays a scenario file and speaks the same
//! stream-json protocol, down to the traps, so that demos and tests need no account, key or network.
//!
//! Nothing here is async: one thread reads stdin, one plays, and all events arrive on one channel.

mod approval;
mod arguments;
mod background;
mod batches;
pub mod builder;
mod calls;
mod counter;
mod decision;
mod deserializers;
mod folder;
mod history;
mod host;
mod inbox;
mod live_mode;
mod loader;
mod output;
mod placeholders;
mod plain;
mod player;
pub mod prebuilt;
mod record;
mod result;
pub mod scenario;
mod steps;
pub mod stream;
mod tools;
mod transcript;
mod turn;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::{Arguments, Input};
use loader::Loaded;
use player::{Player, Stop};
use record::Recorder;

/// The version that this stand-in reports.
pub(crate) const VERSION: &str = "2.1.325";

/// Plays a scenario as the Claude Code CLI would, given the arguments after `rapport rehearse`.
///
/// Exit codes: 0 played to its end, 1 refused (no such conversation, no message), 2 a mistake in the scenario;
/// a scenario may name any other.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let argv: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    match rehearse(&argv) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            eprintln!("{}", problem.message.trim_end());
            ExitCode::from(problem.code)
        }
    }
}

/// Why a rehearsal could not run, in words for the person who started it.
struct Problem {
    code: u8,
    message: String,
}

impl Problem {
    fn refused(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    fn scenario(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }
}

fn rehearse(argv: &[String]) -> Result<u8, Problem> {
    let arguments = Arguments::parse(argv);
    if arguments.version {
        println!("{VERSION} (rehearsal)");
        return Ok(0);
    }
    let loaded = loader::load(arguments.scenario.as_deref())?;
    let recorder = Recorder::start(argv)
        .map_err(|error| Problem::refused(format!("cannot record this rehearsal: {error}")))?;
    match play(arguments, loaded, recorder)? {
        Ok(()) | Err(Stop::OutputClosed) => Ok(0),
        Err(Stop::Exit(code)) => Ok(code),
        Err(Stop::Failed(message)) => Err(Problem::refused(message)),
    }
}

fn play(arguments: Arguments, loaded: Loaded, recorder: Recorder) -> Result<Result<(), Stop>, Problem> {
    if arguments.json_schema.is_some() {
        return Ok(batches::run(&arguments, &loaded.scenario, recorder));
    }
    let is_live = arguments.input == Input::Stream;
    let mut player = Player::start(arguments, loaded, recorder)?;
    Ok(if is_live { live_mode::run(&mut player) } else { plain::run(&mut player) })
}
