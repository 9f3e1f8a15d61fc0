//! The only way to start a process of an agent, or a command: under a keeper, with a mark. [`KeptProcess`] is the host's
//! handle to it, wherever the keeper runs: on this machine, or in a container.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::keeper::{self, door, heartbeat, mark, mark::Mark};
use super::proxy::{Proxying, Service};

/// How long the keeper may take to kill everything before it is killed itself: it may be suspended.
const KEEPER_TIME: Duration = Duration::from_secs(2);

/// How much is read of the reason for which a program was not started, in bytes.
const LONGEST_REASON: usize = 4096;

/// The arguments that make Rapport's own processes log to the same place as this one.
static LOG_ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets the log arguments of keepers.
pub fn log_to(arguments: Vec<OsString>) {
    // `main` sets it once.
    let _ = LOG_ARGUMENTS.set(arguments);
}

/// What to start.
#[derive(Debug)]
pub struct Launch<'a> {
    pub keeper: &'a Path,
    pub kind: ProcessKind,
    pub program: &'a OsStr,
    pub args: &'a [OsString],
    /// Its whole environment, except for the mark.
    pub env: Vec<(OsString, OsString)>,
    /// The mark that everything it starts carries.
    pub mark: Mark,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// The keeper's second descriptor: for an agent its input, to be held; for a command where to report leftover
    /// processes.
    pub beside: OwnedFd,
    /// Folders of the person's home in which the program is installed, besides those of usual tools. A workplace that
    /// is separate from the host lets the program read them.
    pub tools: &'static [&'static str],
    /// The service that the program uses with a person's credentials, if it does.
    pub service: Option<Service>,
    /// Receives the hosts that the workplace refused, at every attempt.
    pub refused: Option<UnboundedSender<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessKind {
    /// The host controls it through its input.
    Agent,
    /// It gets neither input nor a terminal.
    Command,
}

/// An input without content.
pub fn no_input() -> io::Result<OwnedFd> {
    std::fs::File::open("/dev/null").map(Into::into)
}

/// Starts a process in this directory of this machine.
pub(super) fn spawn(directory: &Path, launch: Launch<'_>) -> io::Result<KeptProcess> {
    let mut command = Command::new(launch.keeper);
    command.args(LOG_ARGUMENTS.get().into_iter().flatten());
    // The keeper of a command starts its own process session, which has its own group.
    if launch.kind == ProcessKind::Agent {
        command.process_group(0);
    }
    start(command, directory, launch, None)
}

pub(super) struct Door {
    /// The variables that contain its address.
    pub(super) variables: Vec<&'static str>,
    /// The socket on which the keeper hands it over.
    pub(super) handed_over: OwnedFd,
}

/// Starts the keeper with this command, to which its arguments are added.
pub(super) fn start(
    mut command: Command,
    directory: &Path,
    launch: Launch<'_>,
    opened: Option<Door>,
) -> io::Result<KeptProcess> {
    // Otherwise the error would be about the keeper's program.
    std::fs::read_dir(directory)?;
    let (reading, lifeline) = io::pipe()?;
    let (outcome, reported) = io::pipe()?;
    command.arg("keep");
    if launch.kind == ProcessKind::Command {
        command.arg(keeper::COMMAND);
    }
    let mut mappings = vec![
        FdMapping { parent_fd: reading.into(), child_fd: keeper::LIFELINE },
        FdMapping { parent_fd: launch.beside, child_fd: keeper::BESIDE },
        FdMapping { parent_fd: reported.into(), child_fd: keeper::OUTCOME },
    ];
    if let Some(opened) = opened {
        command.arg(door::DOOR).arg(opened.variables.join(","));
        mappings.push(FdMapping { parent_fd: opened.handed_over, child_fd: door::DESCRIPTOR });
    }
    command.arg("--").arg(launch.program).args(launch.args);
    command.env_clear().envs(launch.env).env(mark::VARIABLE, launch.mark.to_string());
    command.current_dir(directory).stdin(launch.stdin).stdout(launch.stdout).stderr(launch.stderr);
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let child = command.spawn()?;
    info!(keeper = child.id(), kind = ?launch.kind, program = %Path::new(launch.program).display(), "process started");
    // The command's copies would keep the pipes open here.
    drop(command);
    let group = child.id().map(|id| Pid::from_raw(id as i32));
    Ok(KeptProcess::new(Runner::Here { child, group }, lifeline, outcome, launch.mark))
}

/// A process under its keeper. Dropping it kills the process with everything it started.
#[derive(Debug)]
pub struct KeptProcess {
    runner: Runner,
    lifeline: Option<Arc<PipeWriter>>,
    /// Where the keeper reports why the program was not started.
    outcome: PipeReader,
    mark: Mark,
    /// When the keeper must have killed everything.
    keeper_until: Option<Instant>,
    /// The proxy at its door.
    _proxying: Option<Proxying>,
}

/// Where the keeper runs.
#[derive(Debug)]
enum Runner {
    /// On this machine, in a process group of its own.
    Here {
        child: Child,
        group: Option<Pid>,
    },
    Elsewhere(Elsewhere),
}

/// A keeper that is not a child of this process.
pub(super) struct Elsewhere {
    /// Receives its exit status.
    pub(super) ended: oneshot::Receiver<ExitStatus>,
    /// The status, once it is known.
    pub(super) status: Option<ExitStatus>,
    /// Ends everything in its place, if the keeper does not.
    pub(super) end: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elsewhere").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Elsewhere {
    /// Waits for its end. If the status can no longer be received, the process was killed. Cancel safe.
    async fn wait(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        let status = (&mut self.ended).await.unwrap_or(ExitStatus::from_raw(Signal::SIGKILL as i32));
        *self.status.insert(status)
    }
}

impl KeptProcess {
    fn new(runner: Runner, lifeline: PipeWriter, outcome: PipeReader, mark: Mark) -> Self {
        let lifeline = Arc::new(lifeline);
        heartbeat::add(&lifeline);
        Self { runner, lifeline: Some(lifeline), outcome, mark, keeper_until: None, _proxying: None }
    }

    /// A process whose keeper runs in another place.
    pub(super) fn elsewhere(
        keeper: Elsewhere,
        lifeline: PipeWriter,
        outcome: PipeReader,
        mark: Mark,
    ) -> Self {
        Self::new(Runner::Elsewhere(keeper), lifeline, outcome, mark)
    }

    /// Adds the proxy at its door.
    pub(super) fn with_proxy(self, proxying: Proxying) -> Self {
        Self { _proxying: Some(proxying), ..self }
    }

    /// Whether its keeper is not a child of this process, because it runs in a container.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.runner, Runner::Elsewhere(_))
    }

    /// Sends the keeper a request.
    pub fn ask(&mut self, what: &[u8]) {
        if let Some(lifeline) = &self.lifeline {
            // A keeper that is gone has done its work.
            let _ = (&**lifeline).write_all(what);
        }
    }

    /// Why the program was not started, once it is [`gone`](Self::gone); `None` if it was.
    pub fn not_started(&mut self) -> Option<String> {
        // Without blocking: a process that could not be killed may still hold the other end.
        fcntl(&self.outcome, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
        let mut reason = [0; LONGEST_REASON];
        let length = self.outcome.read(&mut reason).ok()?;
        let reason = String::from_utf8_lossy(&reason[..length]).into_owned();
        (!reason.is_empty()).then_some(reason)
    }

    /// Sends a signal to the whole process group. Does nothing if there is none on this machine, or none yet.
    pub fn signal(&self, signal: Signal) {
        if let Runner::Here { group: Some(group), .. } = &self.runner {
            let _ = killpg(*group, signal);
        }
    }

    /// Kills it with everything it started: the keeper does that as soon as the pipe closes.
    pub fn cut(&mut self) {
        self.lifeline = None;
        self.keeper_until.get_or_insert_with(|| Instant::now() + KEEPER_TIME);
    }

    /// Waits until no process of it is left. Cancel safe.
    pub async fn gone(&mut self) -> io::Result<ExitStatus> {
        let keeper_until = self.keeper_until;
        let status = tokio::select! {
            status = self.runner.wait() => status?,
            () = until(keeper_until) => {
                match &self.runner {
                    Runner::Here { .. } => self.signal(Signal::SIGKILL),
                    Runner::Elsewhere(keeper) => (keeper.end)(),
                }
                self.runner.wait().await?
            }
        };
        let Runner::Here { group, .. } = &self.runner else { return Ok(status) };
        info!(keeper = group.map(Pid::as_raw), %status, "process ended");
        // The keeper was killed: its processes are found by their group and by their mark.
        if status.signal().is_some() && group.is_some() {
            self.signal(Signal::SIGKILL);
            let mark = self.mark.clone();
            let _ = tokio::task::spawn_blocking(move || mark.end_all()).await;
            if let Runner::Here { group, .. } = &mut self.runner {
                *group = None;
            }
        }
        Ok(status)
    }
}

impl Runner {
    /// Waits for the end of the keeper. Cancel safe.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Here { child, .. } => child.wait().await,
            Self::Elsewhere(keeper) => Ok(keeper.wait().await),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
