//! The container engine, over its API: Docker, or another engine with the same API.
//!
//! Workplaces block, and are used from threads with and without a runtime, so these calls run on a runtime of their
//! own.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummaryStateEnum, ExecInspectResponse,
    NetworkCreateRequest, VolumeCreateRequest,
};
use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, InspectNetworkOptions, KillContainerOptions,
    ListContainersOptionsBuilder, ListVolumesOptionsBuilder, RemoveContainerOptions, RemoveVolumeOptions,
    StartContainerOptions, UploadToContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, container::LogOutput};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::{BoxStream, poll_fn};
use hyper::body::Bytes;
use rapport_durable::point;
use tokio::io::AsyncWrite;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};

use super::remote::RemoteEngine;
use crate::workers::container_kind::ENGINE;
use crate::workers::{NoWorkplace, WorkerError};

/// The default address of the engine.
const USUAL: &str = "unix:///var/run/docker.sock";

/// How long a call may take, in seconds.
const TIMEOUT: u64 = 120;
/// How long it may take to send files to an engine: the agent's program is large, and another machine may be far away.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How many pieces of an archive are made ahead, and how large each is.
const PIECES_AHEAD: usize = 4;
const PIECE: usize = 256 * 1024;
/// The largest output of a program in a container, in bytes: room for the patch of large work.
const MOST_OUTPUT: usize = 512 * 1024 * 1024;
/// The name under which crash tests count changes at the engine.
const POINT: &str = "container-engine";
/// Stands for the exit code of a program that ended without one.
const UNKNOWN_CODE: i64 = -1;

const START_IT: &str = "Start the engine, on Debian and Ubuntu with: systemctl start docker";
const INSTALL: &str = "Install a container engine, on Debian and Ubuntu with: apt-get install docker.io";
const BE_ALLOWED: &str = "Let yourself use the engine: add your user to the group docker, and log in again";
const NAME_IT: &str =
    "Name an engine as unix:///var/run/docker.sock, ssh://USER@HOST or tcp://HOST:PORT, without a path";
const LOOK_THERE: &str = "See whether the engine answers: docker --host ADDRESS version";
const USE_SSH: &str = "Reach the engine through ssh instead: DOCKER_HOST=ssh://USER@HOST";

/// The variable that makes Docker's own programs use TLS.
const TLS: &str = "DOCKER_TLS_VERIFY";

/// A container engine at an address. The first call connects.
#[derive(Debug)]
pub(super) struct Docker {
    address: String,
    /// How it is reached, if it is on another machine.
    remote: Option<RemoteEngine>,
    client: OnceCell<bollard::Docker>,
}

/// A program in a container whose input and output are connected with this process.
pub(super) struct Attached {
    pub(super) output: BoxStream<'static, Result<LogOutput, Error>>,
    pub(super) input: Pin<Box<dyn AsyncWrite + Send>>,
}

/// The output and the exit code of a program in a container.
#[derive(Clone, Debug, Default)]
pub(super) struct ExecOutcome {
    pub(super) code: i64,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

impl ExecOutcome {
    /// The last line of error output of a program that failed.
    pub(super) fn why(&self) -> String {
        let said = String::from_utf8_lossy(&self.err);
        let told = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let told = told.map_or_else(|| format!("exit code {}", self.code), str::to_owned);
        told.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    }
}

/// An image that the engine has.
#[derive(Clone, Debug)]
pub(super) struct ContainerImage {
    /// The digest of its content.
    pub(super) id: String,
    /// The kind of processor that it is for, as the engine names it.
    pub(super) architecture: Option<String>,
}

/// A container, or a volume without one.
#[derive(Clone, Debug)]
pub(super) struct Labelled {
    pub(super) name: String,
    pub(super) labels: HashMap<String, String>,
    /// Whether this is a container, and not only a volume.
    pub(super) is_container: bool,
    pub(super) is_running: bool,
}

/// A program to run in a container.
#[derive(Clone, Debug, Default)]
pub(super) struct Exec {
    pub(super) user: String,
    pub(super) directory: String,
    pub(super) command: Vec<String>,
    pub(super) env: Vec<String>,
}

impl Docker {
    /// The engine at this address, or the usual one.
    pub(super) fn at(address: Option<&str>) -> Self {
        let address = address.filter(|address| !address.is_empty()).unwrap_or(USUAL).to_owned();
        Self { remote: RemoteEngine::at(&address), address, client: OnceCell::new() }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Whether the engine is on another machine, judging by its address. Such an engine cannot read this machine's
    /// files.
    pub(super) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// The client, which connects at the first call.
    async fn client(&self) -> Result<&bollard::Docker, NoWorkplace> {
        let connect = async || {
            let connected = match self.new_client()? {
                Ok(client) => client.negotiate_version().await,
                Err(error) => Err(error),
            };
            connected.map_err(|error| self.unreachable(&error))
        };
        self.client.get_or_try_init(connect).await
    }

    fn new_client(&self) -> Result<Result<bollard::Docker, Error>, NoWorkplace> {
        if let Some(path) = self.address.strip_prefix("unix://") {
            return Ok(bollard::Docker::connect_with_unix(path, TIMEOUT, API_DEFAULT_VERSION));
        }
        let Some(remote) = self.remote.clone() else {
            let why = format!("{ENGINE} is no address of a container engine: {}", self.address);
            return Err(NoWorkplace { why, advice: vec![NAME_IT] });
        };
        if matches!(remote, RemoteEngine::Tcp(_))
            && std::env::var_os(TLS).is_some_and(|value| !value.is_empty())
        {
            let why = format!("{TLS} is set, and Rapport does not use TLS with container engines");
            return Err(NoWorkplace { why, advice: vec![USE_SSH] });
        }
        let transport = move |request| remote.clone().request(request);
        let address = Some("http://docker");
        Ok(bollard::Docker::connect_with_custom_transport(transport, address, TIMEOUT, API_DEFAULT_VERSION))
    }

    async fn connected(&self) -> Result<&bollard::Docker, WorkerError> {
        self.client().await.map_err(|none| WorkerError::Unavailable { worker: super::NAME, none })
    }

    /// The engine's version, if it can be reached.
    pub(super) async fn version(&self) -> Result<String, NoWorkplace> {
        let client = self.client().await?;
        let found = client.version().await.map_err(|error| self.unreachable(&error))?;
        let name = found.platform.map(|platform| platform.name).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| "Docker".to_owned());
        Ok(format!("{name} {} at {}", found.version.unwrap_or_default(), self.address))
    }

    /// The number of processors, and the memory in bytes.
    pub(super) async fn size(&self) -> Result<(Option<u64>, Option<u64>), WorkerError> {
        let info = self.connected().await?.info().await.map_err(failed("ask the container engine"))?;
        let positive = |number: Option<i64>| number.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        Ok((positive(info.ncpu), positive(info.mem_total)))
    }

    /// An image; `None` if there is none of this name.
    pub(super) async fn image(&self, name: &str) -> Result<Option<ContainerImage>, WorkerError> {
        let found = self.connected().await?.inspect_image(name).await;
        let found = there(found).map_err(failed("look at the image"))?;
        let architecture = |named: String| Some(named).filter(|named| !named.is_empty());
        Ok(found.map(|image| ContainerImage {
            id: image.id.unwrap_or_default(),
            architecture: image.architecture.and_then(architecture),
        }))
    }

    pub(super) async fn inspect(&self, name: &str) -> Result<Option<ContainerInspectResponse>, WorkerError> {
        let found = self.connected().await?.inspect_container(name, None::<InspectContainerOptions>).await;
        there(found).map_err(failed("look at the container"))
    }

    pub(super) async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), WorkerError> {
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
        let created = counted(self.connected().await?.create_container(Some(options), body)).await;
        created.map(drop).map_err(failed("make the container"))
    }

    /// Starts a container. One that already runs continues.
    pub(super) async fn start(&self, name: &str) -> Result<(), WorkerError> {
        let started =
            counted(self.connected().await?.start_container(name, None::<StartContainerOptions>)).await;
        started.map_err(failed("start the container"))
    }

    /// Kills a container, if it runs.
    pub(super) async fn kill(&self, name: &str) -> Result<(), WorkerError> {
        let killed = self.connected().await?.kill_container(name, None::<KillContainerOptions>).await;
        match there(killed) {
            Ok(_) => Ok(()),
            // The engine refuses to kill a container that does not run.
            Err(Error::DockerResponseServerError { .. }) if !self.is_running(name).await? => Ok(()),
            Err(error) => Err(failed("stop the container")(error)),
        }
    }

    async fn is_running(&self, name: &str) -> Result<bool, WorkerError> {
        let found = self.inspect(name).await?;
        Ok(found.and_then(|found| found.state).and_then(|state| state.running).unwrap_or(false))
    }

    /// Removes a container, even if it runs.
    pub(super) async fn remove(&self, name: &str) -> Result<(), WorkerError> {
        let options = RemoveContainerOptions { force: true, v: false, link: false };
        let removed = counted(self.connected().await?.remove_container(name, Some(options))).await;
        there(removed).map(drop).map_err(failed("remove the container"))
    }

    pub(super) async fn has_volume(&self, name: &str) -> Result<bool, WorkerError> {
        let found = there(self.connected().await?.inspect_volume(name).await);
        found.map(|found| found.is_some()).map_err(failed("look at the volume"))
    }

    /// Creates a volume, unless it exists.
    pub(super) async fn create_volume(
        &self,
        name: &str,
        labels: HashMap<String, String>,
    ) -> Result<(), WorkerError> {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        let created = counted(self.connected().await?.create_volume(request)).await;
        created.map(drop).map_err(failed("make the volume"))
    }

    pub(super) async fn remove_volume(&self, name: &str) -> Result<(), WorkerError> {
        let removed = counted(self.connected().await?.remove_volume(name, None::<RemoveVolumeOptions>)).await;
        there(removed).map(drop).map_err(failed("remove the volume"))
    }

    /// Creates a network to the outside, unless it exists.
    pub(super) async fn create_network(&self, name: &str) -> Result<(), WorkerError> {
        let client = self.connected().await?;
        let found = there(client.inspect_network(name, None::<InspectNetworkOptions>).await);
        if found.map_err(failed("look at the network"))?.is_some() {
            return Ok(());
        }
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            ..NetworkCreateRequest::default()
        };
        match client.create_network(request).await {
            // Another process made the network meanwhile.
            Err(Error::DockerResponseServerError { status_code: 409, .. }) => Ok(()),
            made => made.map(drop).map_err(failed("make the network")),
        }
    }

    /// The containers with this label, and the volumes with it that have no container of their name.
    pub(super) async fn labelled(&self, label: &str) -> Result<Vec<Labelled>, WorkerError> {
        let client = self.connected().await?;
        let filters = HashMap::from([("label", vec![label])]);
        let all = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let found = client.list_containers(Some(all)).await.map_err(failed("list containers"))?;
        let mut found: Vec<_> = found
            .into_iter()
            .map(|one| Labelled {
                name: one
                    .names
                    .into_iter()
                    .flatten()
                    .next()
                    .unwrap_or_default()
                    .trim_start_matches('/')
                    .to_owned(),
                labels: one.labels.unwrap_or_default(),
                is_container: true,
                is_running: one.state == Some(ContainerSummaryStateEnum::RUNNING),
            })
            .collect();
        let volumes = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let volumes = client.list_volumes(Some(volumes)).await.map_err(failed("list volumes"))?;
        for volume in volumes.volumes.unwrap_or_default() {
            if !found.iter().any(|one| one.name == volume.name) {
                found.push(Labelled {
                    name: volume.name,
                    labels: volume.labels,
                    is_container: false,
                    is_running: false,
                });
            }
        }
        Ok(found)
    }

    /// Starts a program in a running container, and does not wait for it. Returns the id of the run.
    pub(super) async fn begin(&self, container: &str, exec: Exec) -> Result<String, WorkerError> {
        let client = self.connected().await?;
        let options = options(exec, false);
        let run = client.create_exec(container, options).await.map_err(failed("start it"))?;
        let detached = StartExecOptions { detach: true, ..StartExecOptions::default() };
        client.start_exec(&run.id, Some(detached)).await.map_err(failed("start it"))?;
        Ok(run.id)
    }

    /// Starts a program in a running container, with its input and output connected to this process.
    pub(super) async fn attach(&self, container: &str, exec: Exec) -> Result<Attached, WorkerError> {
        let client = self.connected().await?;
        let options = CreateExecOptions { attach_stdin: Some(true), ..options(exec, true) };
        let run = client.create_exec(container, options).await.map_err(failed("start it"))?;
        match client.start_exec(&run.id, None).await.map_err(failed("start it"))? {
            StartExecResults::Attached { output, input } => Ok(Attached { output, input }),
            StartExecResults::Detached => Err(WorkerError::Engine {
                what: "start it",
                why: "the engine gave no input and output".into(),
            }),
        }
    }

    /// Puts the files of an archive into a folder of a container, which need not run. `write` makes the archive.
    pub(super) async fn upload(
        &self,
        container: &str,
        folder: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Result<(), WorkerError> {
        const WHAT: &str = "put files into the container";
        let client = self.connected().await?.clone().with_timeout(UPLOAD_TIMEOUT);
        let (pieces, mut made) = mpsc::channel(PIECES_AHEAD);
        let writing = spawn_blocking(move || {
            let failed_to = pieces.clone();
            let mut out = io::BufWriter::with_capacity(PIECE, Pieces(pieces));
            let written = write(&mut out).and_then(|()| out.flush());
            if let Err(error) = written {
                // The error breaks the upload off, so that the engine does not take a part of the archive for all of
                // it.
                let _ = failed_to.blocking_send(Err(error));
            }
        });
        let body = bollard::body_try_stream(poll_fn(move |context| made.poll_recv(context)));
        let options = UploadToContainerOptionsBuilder::new().path(folder).build();
        let sent = client.upload_to_container(container, Some(options), body).await;
        sent.map_err(failed(WHAT))?;
        writing.await.map_err(|error| WorkerError::Engine { what: WHAT, why: error.to_string() })
    }

    /// The exit code of a run; `None` while it runs.
    pub(super) async fn ended(&self, run: &str) -> Result<Option<i64>, WorkerError> {
        let found = self.connected().await?.inspect_exec(run).await.map_err(failed("look at it"))?;
        Ok(exit_code(&found))
    }

    /// Runs a program in a running container to its end. Fails if the program prints too much.
    pub(super) async fn run(&self, container: &str, exec: Exec) -> Result<ExecOutcome, WorkerError> {
        const WHAT: &str = "run a program in the container";
        let client = self.connected().await?;
        let run = client.create_exec(container, options(exec, true)).await.map_err(failed(WHAT))?;
        let mut ran = ExecOutcome::default();
        if let StartExecResults::Attached { mut output, .. } =
            client.start_exec(&run.id, None).await.map_err(failed(WHAT))?
        {
            while let Some(said) = output.next().await {
                match said.map_err(failed(WHAT))? {
                    LogOutput::StdErr { message } => ran.err.extend_from_slice(&message),
                    said => ran.out.extend_from_slice(&said.into_bytes()),
                }
                // The agent controls how large its files are, and must not exhaust this machine's memory.
                if ran.out.len().max(ran.err.len()) > MOST_OUTPUT {
                    let why = format!("its output is larger than {} MB", MOST_OUTPUT / 1024 / 1024);
                    return Err(WorkerError::Engine { what: WHAT, why });
                }
            }
        }
        let found = client.inspect_exec(&run.id).await.map_err(failed(WHAT))?;
        ran.code = exit_code(&found).unwrap_or(UNKNOWN_CODE);
        Ok(ran)
    }
}

/// The pieces of an archive that is being uploaded.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The exit code of a run; `None` while it runs. If its container is killed, a run ends without one.
fn exit_code(run: &ExecInspectResponse) -> Option<i64> {
    (run.running == Some(false)).then(|| run.exit_code.unwrap_or(UNKNOWN_CODE))
}

fn options(exec: Exec, is_attached: bool) -> CreateExecOptions<String> {
    CreateExecOptions {
        attach_stdout: Some(is_attached),
        attach_stderr: Some(is_attached),
        cmd: Some(exec.command),
        env: Some(exec.env),
        user: Some(exec.user),
        working_dir: Some(exec.directory),
        ..CreateExecOptions::default()
    }
}

/// Makes a change at the engine, which crash tests count like a write to a file.
async fn counted<T>(change: impl Future<Output = T>) -> T {
    point(Path::new(POINT));
    let done = change.await;
    point(Path::new(POINT));
    done
}

/// `None` if the engine does not know the requested object.
fn there<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        found => found.map(Some),
    }
}

fn failed(what: &'static str) -> impl FnOnce(Error) -> WorkerError {
    move |error| WorkerError::Engine { what, why: in_words(&error) }
}

fn in_words(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.trim().replace('\n', "; "),
        error => with_causes(error),
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !why.contains(&more) {
            why = format!("{why}: {more}");
        }
        cause = error.source();
    }
    why
}

impl Docker {
    /// Why it cannot be reached, and what to do.
    fn unreachable(&self, error: &Error) -> NoWorkplace {
        if self.is_remote() {
            let why = format!("no container engine answers at {}: {}", self.address, in_words(error));
            return NoWorkplace { why, advice: vec![LOOK_THERE] };
        }
        let path = self.address.trim_start_matches("unix://");
        let found = std::os::unix::net::UnixStream::connect(path);
        let advice = match found.err().map(|error| error.kind()) {
            Some(io::ErrorKind::NotFound) => vec![START_IT, INSTALL],
            Some(io::ErrorKind::PermissionDenied) => vec![BE_ALLOWED],
            _ => vec![START_IT],
        };
        NoWorkplace { why: format!("no container engine answers at {path}: {}", in_words(error)), advice }
    }
}

/// Runs a call on the runtime for the engine, and blocks until its end.
pub(super) fn wait<T: Send + 'static>(
    call: impl Future<Output = Result<T, WorkerError>> + Send + 'static,
) -> Result<T, WorkerError> {
    let (done, outcome) = sync_channel(1);
    let lost =
        |error: io::Error| WorkerError::Engine { what: "call the container engine", why: error.to_string() };
    runtime().map_err(lost)?.spawn(async move {
        // The receiver waits below.
        let _ = done.send(call.await);
    });
    outcome.recv().map_err(|error| lost(io::Error::other(error)))?
}

/// Runs a call on the runtime for the engine.
pub(super) fn spawn(call: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    runtime()?.spawn(call);
    Ok(())
}

/// Runs a call on the runtime for the engine; [`settle`] waits for it.
pub(super) fn finish(call: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let finishing = runtime()?.spawn(call);
    let mut all = FINISHING.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|one| !one.is_finished());
    all.push(finishing);
    Ok(())
}

/// Blocks until all calls that were given to [`finish`] are done, or the time is over.
pub(super) fn settle(at_most: Duration) {
    let finishing = std::mem::take(&mut *FINISHING.lock().unwrap_or_else(PoisonError::into_inner));
    if finishing.is_empty() {
        return;
    }
    // Do not wait for an engine that does not answer.
    let _ = wait(async move { Ok(tokio::time::timeout(at_most, join_all(finishing)).await) });
}

static FINISHING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

fn runtime() -> io::Result<&'static Runtime> {
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made =
        Builder::new_multi_thread().worker_threads(1).thread_name("containers").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ended_without_an_exit_code_has_ended() {
        let run = |running, exit_code| ExecInspectResponse {
            running: Some(running),
            exit_code,
            ..ExecInspectResponse::default()
        };
        assert_eq!(exit_code(&run(true, None)), None);
        assert_eq!(exit_code(&run(false, Some(3))), Some(3));
        assert_eq!(exit_code(&run(false, None)), Some(UNKNOWN_CODE), "its container was killed");
    }
}
