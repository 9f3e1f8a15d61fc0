//! How a process is started in a container: the engine starts its keeper there, which connects to a socket of the host
//! and gets the process's input and output (`keeper/handed.rs`).

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
use super::{PROGRAM, RUN};
use crate::workers::WorkerError;
use crate::workers::descriptors;
use crate::workers::keeper::handed;

/// How often to look whether a keeper that has not connected yet has failed.
const PAUSE: Duration = Duration::from_millis(100);

/// A process to start.
pub(super) struct Start {
    /// The arguments of its keeper.
    pub(super) arguments: Vec<String>,
    pub(super) env: Vec<String>,
    pub(super) directory: PathBuf,
    /// Its input, output and error output, its lifeline, what the keeper has beside it, and its way out.
    pub(super) descriptors: Vec<OwnedFd>,
    /// Its name for people.
    pub(super) program: String,
}

/// Runs a process to its end. If it cannot be started, that is the last line of its error output.
pub(super) async fn run(container: Arc<Container>, start: Start) -> ExitStatus {
    let told = start.descriptors.get(2).map(OwnedFd::try_clone);
    let program = start.program.clone();
    match attempt(&container, start).await {
        Ok(status) => status,
        Err(error) => {
            warn!(%error, "no process was started in the container");
            if let Some(Ok(told)) = told {
                // The reader may be gone.
                let _ = writeln!(
                    std::fs::File::from(told),
                    "{}",
                    crate::workers::keeper::not_started(&program, &error)
                );
            }
            ExitStatus::from_raw(i32::from(crate::workers::keeper::NOT_STARTED) << 8)
        }
    }
}

async fn attempt(container: &Arc<Container>, start: Start) -> Result<ExitStatus, WorkerError> {
    let failed = |what| move |error: io::Error| WorkerError::Engine { what, why: error.to_string() };
    let meeting = Meeting::new(&container.run).map_err(failed("listen for the process in the container"))?;
    let inside = format!("{RUN}/{}", meeting.name);
    let command = [PROGRAM, "keep", handed::FROM, &inside].into_iter().map(str::to_owned);
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
    let given = start.descriptors.iter().try_for_each(give_pipe);
    given.map_err(failed("start it in the container"))?;
    let descriptors: Vec<_> = start.descriptors.iter().map(|one| one.as_raw_fd()).collect();
    descriptors::send(keeper.as_raw_fd(), &descriptors).map_err(failed("start it in the container"))?;
    // Otherwise this process would hold the pipes open.
    drop(start.descriptors);
    info!(container = container.name, "process started in a container");
    let status = status(&mut keeper).await;
    info!(container = container.name, %status, "process in a container ended");
    if status.signal().is_some() {
        // Nobody is left there to end the rest.
        if let Err(error) = container.end().await {
            warn!(%error, "a container was not ended");
        }
    }
    Ok(status)
}

/// The exit status that the keeper reports; a keeper that does not report it was killed.
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
        // The path of a socket must be short, and that of the folder may not be.
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
        // It is of no use any more.
        let _ = rapport_durable::remove(&self.path);
    }
}
