//! The one way to start a process of an agent, or a command: under a keeper, with a mark. [`Kept`] is what the host holds of
//! it.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::keeper::{self, door, mark, mark::Mark};
use super::proxy::{Proxying, Service};

/// How long the keeper may take to end everything before it is ended itself: somebody may have stopped it.
const KEEPER_TIME: Duration = Duration::from_secs(2);

/// The arguments by which our own processes log where this one does.
static LOG_ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// From now on keepers are started with these arguments, which say where they log.
pub fn log_to(arguments: Vec<OsString>) {
    // It is said once, by `main`.
    let _ = LOG_ARGUMENTS.set(arguments);
}

/// What is to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Our own binary.
    pub keeper: &'a Path,
    /// What kind of program it is.
    pub kind: Kind,
    /// The program.
    pub program: &'a OsStr,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Its whole environment, but for the mark.
    pub env: Vec<(OsString, OsString)>,
    /// What everything is known by that it starts.
    pub mark: Mark,
    /// Its input.
    pub stdin: Stdio,
    /// Its output.
    pub stdout: Stdio,
    /// Its errors.
    pub stderr: Stdio,
    /// What the keeper gets beside that: of an agent its input, to be held; for a command where to tell what it left.
    pub beside: OwnedFd,
    /// Folders of the person's home that it is installed in, beside those of usual tools. A place that is apart from the host lets
    /// it read them.
    pub tools: &'static [&'static str],
    /// The service that it talks to with a person's credentials, if it does.
    pub service: Option<Service>,
    /// Where it is told which hosts the place keeps it from, as often as it tries.
    pub refused: Option<UnboundedSender<String>>,
}

/// A kind of program that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is talked to over its input.
    Agent,
    /// It gets neither input nor a terminal.
    Command,
}

/// Starts it in this directory of this machine.
pub(super) fn spawn(directory: &Path, launch: Launch<'_>) -> io::Result<Kept> {
    let mut command = Command::new(launch.keeper);
    command.args(LOG_ARGUMENTS.get().into_iter().flatten());
    // The keeper of a command begins a session of its own, which has a group of its own.
    if launch.kind == Kind::Agent {
        command.process_group(0);
    }
    start(command, directory, launch, None)
}

/// What the keeper needs to open a door.
pub(super) struct Door {
    /// The variables that hold its address.
    pub(super) variables: Vec<&'static str>,
    /// Where the keeper hands it over.
    pub(super) handed_over: OwnedFd,
}

/// Starts it by this command, which runs the keeper, with what the keeper is told.
pub(super) fn start(
    mut command: Command,
    directory: &Path,
    launch: Launch<'_>,
    opened: Option<Door>,
) -> io::Result<Kept> {
    // Otherwise it would be the keeper that seems not to be there.
    std::fs::read_dir(directory)?;
    let (reading, lifeline) = io::pipe()?;
    command.arg("keep");
    if launch.kind == Kind::Command {
        command.arg(keeper::COMMAND);
    }
    let mut mappings = vec![
        FdMapping { parent_fd: reading.into(), child_fd: keeper::LIFELINE },
        FdMapping { parent_fd: launch.beside, child_fd: keeper::BESIDE },
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
    // What the command still holds of the pipes would keep them open here.
    drop(command);
    Ok(Kept {
        group: child.id().map(|id| Pid::from_raw(id as i32)),
        child,
        lifeline: Some(lifeline),
        mark: launch.mark,
        keeper_until: None,
        _proxying: None,
    })
}

/// A process under its keeper. Dropping it ends the process with everything it started.
#[derive(Debug)]
pub struct Kept {
    child: Child,
    group: Option<Pid>,
    lifeline: Option<PipeWriter>,
    mark: Mark,
    /// When the keeper has had its time to end everything.
    keeper_until: Option<Instant>,
    /// What answers at its door, for as long.
    _proxying: Option<Proxying>,
}

impl Kept {
    /// The same with what answers at its door.
    pub(super) fn with_proxy(self, proxying: Proxying) -> Self {
        Self { _proxying: Some(proxying), ..self }
    }

    /// Tells the keeper something.
    pub fn ask(&mut self, what: &[u8]) {
        if let Some(lifeline) = &mut self.lifeline {
            // A keeper that is gone has done what it was there for.
            let _ = lifeline.write_all(what);
        }
    }

    /// Sends a signal to its whole group. Where it is not a group yet, nothing happens.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = killpg(group, signal);
        }
    }

    /// Ends it, with everything it started: the keeper does that as soon as the line is cut.
    pub fn cut(&mut self) {
        self.lifeline = None;
        self.keeper_until.get_or_insert_with(|| Instant::now() + KEEPER_TIME);
    }

    /// Waits until nothing of it is left. Can be given up and begun again.
    pub async fn gone(&mut self) -> io::Result<ExitStatus> {
        let status = tokio::select! {
            status = self.child.wait() => status?,
            () = until(self.keeper_until) => {
                self.signal(Signal::SIGKILL);
                self.child.wait().await?
            }
        };
        info!(keeper = self.group.map(Pid::as_raw), %status, "process ended");
        // Somebody killed the keeper: then what it kept is found by its group and by its mark.
        if status.signal().is_some() && self.group.is_some() {
            self.signal(Signal::SIGKILL);
            let mark = self.mark.clone();
            let _ = tokio::task::spawn_blocking(move || mark.end_all()).await;
            self.group = None;
        }
        Ok(status)
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
