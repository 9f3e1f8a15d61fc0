//! A command in a workplace, run to its end: one pipe for its output, its keeper, a time limit.

mod output;
mod stop;

use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::Workplace;
use super::keeper::mark::Mark;
use super::process::{KeptProcess, Launch, ProcessKind, no_input};
use output::Tail;

pub use output::Output;
pub use stop::{Stop, Stopper};

/// How long a command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the output once the command has ended: a process that could not be killed may
/// hold the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The size of one read.
const AT_ONCE: usize = 64 * 1024;
/// The maximum length of the list of leftover processes.
const MAX_NAMES: u64 = 4 * 1024;
/// The maximum number of leftover processes to report.
const MOST_NAMES: usize = rapport_core::ActionEnd::MOST_COUNTED;

/// A program to run in a workplace.
#[derive(Debug)]
pub struct CommandCall<'a> {
    /// Rapport's own program.
    pub keeper: &'a Path,
    pub program: &'a str,
    pub args: &'a [OsString],
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The mark of everything that it starts.
    pub mark: Mark,
    pub timeout: Duration,
}

/// A command that has ended.
#[derive(Debug)]
pub struct CommandEnd {
    pub ending: CommandEnding,
    pub output: Output,
    /// The names of the processes that the command left running. Its keeper killed them.
    pub left_behind: Vec<String>,
}

/// How a command ended.
#[derive(Debug)]
pub enum CommandEnding {
    /// By itself, or by a signal from elsewhere, with the exit code that a shell would report.
    Exited(i32),
    TimedOut,
    Stopped,
    Lost(String),
}

/// Runs a program to its end, and shows each line of its output as it comes. Dropping the future kills the program
/// with everything it started. Needs a runtime.
pub async fn run(
    workplace: &dyn Workplace,
    call: CommandCall<'_>,
    stop: &Stop,
    show: &mut (dyn FnMut(&str) + Send),
) -> io::Result<CommandEnd> {
    let timeout = call.timeout;
    let mut process = CommandProcess::spawn(workplace, call)?;
    let mut tail = Tail::default();
    let mut heard = |bytes: &[u8]| tail.push(bytes, &mut *show);
    let ending = process.attend(timeout, stop, &mut heard).await;
    let left_behind = process.left_behind().await;
    Ok(CommandEnd { ending, output: tail.finish(show), left_behind })
}

/// A running command. Dropping it kills the command with everything it started.
#[derive(Debug)]
struct CommandProcess {
    kept: KeptProcess,
    output: Receiver,
    left_behind: JoinHandle<String>,
}

/// Why a command is being ended.
#[derive(Clone, Copy, Debug)]
enum Asked {
    TimedOut,
    Stopped,
}

impl CommandProcess {
    fn spawn(workplace: &dyn Workplace, call: CommandCall<'_>) -> io::Result<Self> {
        let (output, written) = io::pipe()?;
        let (names, names_written) = io::pipe()?;
        let kept = workplace.spawn(Launch {
            keeper: call.keeper,
            kind: ProcessKind::Command,
            program: call.program.as_ref(),
            args: call.args,
            env: call.env,
            mark: call.mark,
            stdin: no_input()?,
            // One pipe for both, so that the order of the output is kept.
            stdout: written.try_clone()?.into(),
            stderr: written.into(),
            beside: names_written.into(),
            tools: &[],
            service: None,
            refused: None,
        })?;
        Ok(Self {
            kept,
            output: Receiver::from_owned_fd(output.into())?,
            left_behind: tokio::spawn(read_names(names)),
        })
    }

    /// Reads the output until the command has ended: by itself, because of the timeout, or because it was stopped.
    async fn attend(
        &mut self,
        at_most: Duration,
        stop: &Stop,
        heard: &mut (dyn FnMut(&[u8]) + Send),
    ) -> CommandEnding {
        let mut buffer = vec![0; AT_ONCE];
        let mut open = true;
        let mut asked: Option<Asked> = None;
        let mut deadline = Instant::now().checked_add(at_most);
        let status = loop {
            tokio::select! {
                read = self.output.read(&mut buffer), if open => match read {
                    Ok(size @ 1..) => heard(&buffer[..size]),
                    Ok(0) | Err(_) => open = false,
                },
                status = self.kept.gone() => break status,
                () = stop.signalled(), if asked.is_none() => {
                    asked = Some(Asked::Stopped);
                    deadline = self.ask_to_end();
                }
                () = until(deadline) => {
                    // At the second expiry, the grace period is over.
                    deadline = match asked {
                        None => self.ask_to_end(),
                        Some(_) => self.kill(),
                    };
                    asked = asked.or(Some(Asked::TimedOut));
                }
            }
        };
        if open {
            self.hear_the_rest(&mut buffer, heard).await;
        }
        match (asked, status) {
            (Some(Asked::TimedOut), _) => CommandEnding::TimedOut,
            (Some(Asked::Stopped), _) => CommandEnding::Stopped,
            (None, status) => Self::ending(status),
        }
    }

    /// The names of leftover processes, once the command has ended.
    async fn left_behind(&mut self) -> Vec<String> {
        let names = (&mut self.left_behind).await.unwrap_or_default();
        names.lines().take(MOST_NAMES).map(str::to_owned).collect()
    }

    fn ask_to_end(&mut self) -> Option<Instant> {
        // If the command has no process group yet, it does not get this signal, and is killed after the grace period.
        self.kept.signal(Signal::SIGTERM);
        Some(Instant::now() + GRACE)
    }

    fn kill(&mut self) -> Option<Instant> {
        self.kept.cut();
        None
    }

    async fn hear_the_rest(&mut self, buffer: &mut [u8], heard: &mut (dyn FnMut(&[u8]) + Send)) {
        let rest = async {
            while let Ok(size @ 1..) = self.output.read(buffer).await {
                heard(&buffer[..size]);
            }
        };
        // Do not wait for a process that still holds the pipe.
        let _ = timeout(LAST_WORDS, rest).await;
    }

    fn ending(status: io::Result<ExitStatus>) -> CommandEnding {
        match status.map(|status| status.code()) {
            Ok(Some(code)) => CommandEnding::Exited(code),
            Ok(None) => CommandEnding::Lost("its keeper was killed, and the command with it".to_owned()),
            Err(error) => CommandEnding::Lost(format!("it cannot be waited for: {error}")),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reads to the end, so that the keeper never blocks on writing.
async fn read_names(names: PipeReader) -> String {
    let mut bytes = Vec::new();
    if let Ok(names) = Receiver::from_owned_fd(names.into()) {
        let _ = names.take(MAX_NAMES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
