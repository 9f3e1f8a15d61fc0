//! Starting a process in a container: the engine starts its keeper there, which connects to a socket of the host and
//! receives the process's input and output (`keeper/handover.rs`). For an engine on another machine see `stream`.

use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;
use tracing::{info, warn};

use super::container::{Container, give, give_pipe};
use super::docker::Exec;
use super::{RUN, stream};
use crate::workers::WorkerError;
use crate::workers::descriptors;
use crate::workers::keeper::{NOT_STARTED, handover, not_started};
use crate::workers::process::ProcessKind;
use crate::workers::proxy::Proxy;

/// How often to look whether a keeper that has not connected yet has failed.
const PAUSE: Duration = Duration::from_millis(100);

/// A process to start, and its way out.
pub(super) struct ProcessStart {
    pub(super) process: NewProcess,
    pub(super) door: WayOut,
}

/// A process to start.
pub(super) struct NewProcess {
    pub(super) kind: ProcessKind,
    /// The arguments of its keeper.
    pub(super) arguments: Vec<String>,
    pub(super) env: Vec<String>,
    pub(super) directory: PathBuf,
    pub(super) pipes: ProcessPipes,
    /// The program's name in messages to people.
    pub(super) program: String,
    /// The files that it needs from the folder of given files.
    pub(super) given: Vec<PathBuf>,
}

/// The process's way out.
pub(super) enum WayOut {
    /// The keeper hands the door over on this socket.
    HandedOver(OwnedFd),
    /// The stream carries the connections through the door to this proxy.
    Carried(Arc<Proxy>),
}

/// The process's ends of its pipes.
pub(super) struct ProcessPipes {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
    pub(super) lifeline: OwnedFd,
    /// The descriptor for `keeper::BESIDE`.
    pub(super) beside: OwnedFd,
    /// Where the keeper reports why the program was not started.
    pub(super) outcome: OwnedFd,
}

/// Runs a process to its end. If it cannot be started, that is reported as its keeper would.
pub(super) async fn run(container: Arc<Container>, start: ProcessStart) -> ExitStatus {
    let outcome = start.process.pipes.outcome.try_clone();
    let program = start.process.program.clone();
    let ran = match start.door {
        WayOut::Carried(proxy) => stream::attempt(&container, start.process, proxy).await,
        WayOut::HandedOver(way_out) => attempt(&container, start.process, way_out).await,
    };
    match ran {
        Ok(status) => {
            info!(container = container.name, %status, "process in a container ended");
            if status.signal().is_some()
                && let Err(error) = container.end().await
            {
                // No keeper is left there to end the other processes.
                warn!(%error, "a container was not ended");
            }
            status
        }
        Err(error) => {
            warn!(%error, "no process was started in the container");
            if let Ok(outcome) = outcome {
                // The reader may be gone.
                let _ = std::fs::File::from(outcome).write_all(not_started(&program, &error).as_bytes());
            }
            ExitStatus::from_raw(i32::from(NOT_STARTED) << 8)
        }
    }
}

async fn attempt(
    container: &Arc<Container>,
    start: NewProcess,
    way_out: OwnedFd,
) -> Result<ExitStatus, WorkerError> {
    let failed = |what| move |error: io::Error| WorkerError::Engine { what, why: error.to_string() };
    let meeting = Meeting::new(&container.run).map_err(failed("listen for the process in the container"))?;
    let inside = format!("{RUN}/{}", meeting.name);
    let command = [container.program(), "keep", handover::FROM, &inside].into_iter().map(str::to_owned);
    let exec = Exec {
        user: Container::user_name(),
        directory: start.directory.to_string_lossy().into_owned(),
        command: command.chain(start.arguments).collect(),
        env: start.env,
    };
    let run = container.begin(exec).await?;
    let mut keeper = loop {
        tokio::select! {
            connected = meeting.listener.accept() => {
                break connected.map_err(failed("hear from the process in the container"))?.0;
            }
            () = sleep(PAUSE) => {
                if let Some(code) = container.docker.ended(&run).await? {
                    let why = format!("its keeper ended at once, with the exit code {code}");
                    return Err(WorkerError::Engine { what: "start it in the container", why });
                }
            }
        }
    };
    drop(meeting);
    let ProcessPipes { input, output, errors, lifeline, beside, outcome } = start.pipes;
    let given = [input, output, errors, lifeline, beside, way_out, outcome];
    hand_over(&keeper, &given).map_err(failed("start it in the container"))?;
    // Otherwise this process would hold the pipes open.
    drop(given);
    info!(container = container.name, "process started in a container");
    Ok(status(&mut keeper).await)
}

fn hand_over(keeper: &UnixStream, given: &[OwnedFd]) -> io::Result<()> {
    given.iter().try_for_each(give_pipe)?;
    let descriptors: Vec<_> = given.iter().map(|one| one.as_raw_fd()).collect();
    descriptors::send(keeper.as_raw_fd(), &descriptors)
}

/// The exit status that the keeper reports. A keeper that reports none was killed.
async fn status(keeper: &mut UnixStream) -> ExitStatus {
    match keeper.read_u8().await {
        Ok(code) => ExitStatus::from_raw(i32::from(code) << 8),
        Err(_) => ExitStatus::from_raw(Signal::SIGKILL as i32),
    }
}

/// A socket for one keeper.
struct Meeting {
    listener: UnixListener,
    name: String,
    path: PathBuf,
}

impl Meeting {
    fn new(folder: &Path) -> io::Result<Self> {
        let name = uuid::Uuid::new_v4().simple().to_string();
        // The path of a socket has to be short, and that of the folder may be long.
        let opened = std::fs::File::open(folder)?;
        let short = format!("/proc/self/fd/{}/{name}", opened.as_raw_fd());
        let listener = UnixListener::bind(short)?;
        let path = folder.join(&name);
        give(&path)?;
        Ok(Self { listener, name, path })
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // A leftover socket does no harm.
        let _ = rapport_durable::remove(&self.path);
    }
}
