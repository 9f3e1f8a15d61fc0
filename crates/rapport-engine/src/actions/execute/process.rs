//! The process of a command: its one pipe for all it writes, its keeper, its end.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::Call;
use crate::actions::Stop;
use crate::agents::keeper::{self, mark, mark::Mark};

/// How long a command gets to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long its output is waited for once it is gone: somebody else may hold the pipe that could not be ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How much is read at once.
const AT_ONCE: usize = 64 * 1024;
/// How much is read of the names of what was left behind.
const MAX_NAMES: u64 = 4 * 1024;
/// How many of them are told.
const MOST_NAMES: usize = 20;

/// A running command. Dropping it ends it with everything it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    mark: Mark,
    lifeline: Option<PipeWriter>,
    output: Receiver,
    left_behind: JoinHandle<String>,
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself, or by a signal that was not ours, told as a shell does.
    Exited(i32),
    /// It took too long.
    TimedOut,
    /// Somebody stopped it.
    Stopped,
    /// It is not known how.
    Lost(String),
}

/// Why a command was asked to end.
#[derive(Clone, Copy, Debug)]
enum Asked {
    TimedOut,
    Stopped,
}

impl Process {
    /// Starts it under its keeper, with this environment and what the call adds.
    pub(super) fn spawn(
        keeper: &Path,
        call: &Call<'_>,
        environment: Vec<(OsString, OsString)>,
    ) -> io::Result<Self> {
        // Otherwise it would be the keeper that seems not to be there.
        std::fs::read_dir(call.directory)?;
        let (reading, lifeline) = io::pipe()?;
        let (output, written) = io::pipe()?;
        let (names, told) = io::pipe()?;
        let mut command = Command::new(keeper);
        command.args(["keep", keeper::COMMAND, "--", call.program]).args(&call.args);
        let mark = Mark::unnamed();
        command.env_clear().envs(environment).envs(call.env.iter().copied()).current_dir(call.directory);
        command.env(mark::VARIABLE, mark.to_string());
        // One pipe for both, so that what is written stays in order.
        command.stdin(Stdio::null()).stdout(written.try_clone()?).stderr(written);
        let mappings = vec![
            FdMapping { parent_fd: reading.into(), child_fd: keeper::LIFELINE },
            FdMapping { parent_fd: told.into(), child_fd: keeper::LEFT_BEHIND },
        ];
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let child = command.spawn()?;
        // What the command still holds of the pipes would keep them open here.
        drop(command);
        Ok(Self {
            group: child.id().map(|id| Pid::from_raw(id as i32)),
            child,
            mark,
            lifeline: Some(lifeline),
            output: Receiver::from_owned_fd(output.into())?,
            left_behind: tokio::spawn(read_names(names)),
        })
    }

    /// Hears what it writes until it is gone: by itself, or because it took too long or was stopped.
    pub(super) async fn attend(
        &mut self,
        at_most: Duration,
        stop: &Stop,
        heard: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Ending {
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
                status = self.child.wait() => break status,
                () = stop.told(), if asked.is_none() => {
                    asked = Some(Asked::Stopped);
                    deadline = self.ask_to_end();
                }
                () = until(deadline) => {
                    // The second time, it had its grace.
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
            (Some(Asked::TimedOut), _) => Ending::TimedOut,
            (Some(Asked::Stopped), _) => Ending::Stopped,
            (None, status) => self.ending(status),
        }
    }

    /// The names of what it left behind, once it is gone.
    pub(super) async fn left_behind(&mut self) -> Vec<String> {
        let names = (&mut self.left_behind).await.unwrap_or_default();
        names.lines().take(MOST_NAMES).map(str::to_owned).collect()
    }

    fn ask_to_end(&mut self) -> Option<Instant> {
        if let Some(group) = self.group {
            // Where it is not a group yet, it is killed after the grace.
            let _ = killpg(group, Signal::SIGTERM);
        }
        Some(Instant::now() + GRACE)
    }

    /// The keeper ends everything as soon as the line is cut. One that does not, because somebody stopped it, is ended
    /// itself the next time.
    fn kill(&mut self) -> Option<Instant> {
        if self.lifeline.take().is_none() {
            self.end_by_force();
            return None;
        }
        Some(Instant::now() + GRACE)
    }

    /// Ends what can be found without the keeper: by its group, and by its mark.
    fn end_by_force(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = killpg(group, Signal::SIGKILL);
        }
        let mark = self.mark.clone();
        tokio::task::spawn_blocking(move || mark.end_all());
    }

    async fn hear_the_rest(&mut self, buffer: &mut [u8], heard: &mut (dyn FnMut(&[u8]) + Send)) {
        let rest = async {
            while let Ok(size @ 1..) = self.output.read(buffer).await {
                heard(&buffer[..size]);
            }
        };
        // Whoever still holds the pipe is not ours to wait for.
        let _ = timeout(LAST_WORDS, rest).await;
    }

    fn ending(&mut self, status: io::Result<ExitStatus>) -> Ending {
        match status.map(|status| status.code()) {
            Ok(Some(code)) => Ending::Exited(code),
            Ok(None) => {
                self.end_by_force();
                Ending::Lost("the process that watched over it was killed, and it with that".to_owned())
            }
            Err(error) => Ending::Lost(format!("it cannot be waited for: {error}")),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reads to the end, so that the keeper never waits for it to be read.
async fn read_names(names: PipeReader) -> String {
    let mut bytes = Vec::new();
    if let Ok(names) = Receiver::from_owned_fd(names.into()) {
        let _ = names.take(MAX_NAMES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
