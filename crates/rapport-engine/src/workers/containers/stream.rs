//! Starting a process in a container on another machine: the engine there starts its keeper behind a relay
//! (`keeper/relay.rs`), and carries one stream between the relay and this process. Frames in that stream (`frames`)
//! carry everything that belongs to the process, and the connections through its door to the host's proxy.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use futures_util::StreamExt as _;
use nix::sys::signal::Signal;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, duplex, split};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::container::Container;
use super::docker::{Attached, Exec};
use super::launch::{NewProcess, ProcessPipes};
use crate::workers::WorkerError;
use crate::workers::frames::{self, Decoder, Frame, Wire};
use crate::workers::keeper::relay;
use crate::workers::process::ProcessKind;
use crate::workers::proxy::Proxy;

/// How long the keeper may be silent before it counts as lost.
const KEEPER_TIME: Duration = Duration::from_secs(30);
/// How long to wait for the keeper's message about why a program was not started.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The maximum number of connections through the door at the same time.
const MOST_CONNECTIONS: usize = 256;
/// How much of a connection's data waits between the stream and the proxy, in bytes.
const BUFFER: usize = 64 * 1024;

/// Starts a process, and waits for its end.
pub(super) async fn attempt(
    container: &Arc<Container>,
    start: NewProcess,
    proxy: Arc<Proxy>,
) -> Result<ExitStatus, WorkerError> {
    container.show(&start.given).await?;
    let command = [container.program(), "keep", relay::RELAY].into_iter().map(str::to_owned);
    let exec = Exec {
        user: Container::user_name(),
        directory: start.directory.to_string_lossy().into_owned(),
        command: command.chain(start.arguments).collect(),
        env: start.env,
    };
    let Attached { mut output, input } = container.attach(exec).await?;
    let link = Link::new(start.pipes, start.kind, proxy, input);
    let mut link = link.map_err(|error| failed(error.to_string()))?;
    let mut said = Vec::new();
    loop {
        let heard = tokio::select! {
            heard = output.next() => heard,
            () = sleep_until(link.until) => None,
        };
        match heard {
            Some(Ok(LogOutput::StdErr { message })) => said.extend_from_slice(&message),
            Some(Ok(heard)) => match link.hear(&heard.into_bytes()) {
                Ok(None) => {}
                Ok(Some(code)) => return Ok(link.exited(code).await),
                Err(error) => {
                    tracing::warn!(%error, "what came from a container was no frame");
                    break;
                }
            },
            Some(Err(_)) | None => break,
        }
    }
    if link.is_heard {
        // The keeper was killed, or its machine cannot be reached.
        return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32));
    }
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Err(failed(if said.is_empty() { "its keeper ended at once".to_owned() } else { said }))
}

fn failed(why: String) -> WorkerError {
    WorkerError::Engine { what: "start it in the container", why }
}

/// The host's end of the stream.
struct Link {
    wire: Wire,
    decoder: Decoder,
    /// Whether any frame has arrived.
    is_heard: bool,
    /// When the other end counts as lost, unless it sends something before.
    until: Instant,
    proxy: Arc<Proxy>,
    /// The address of the door inside.
    door: Option<SocketAddr>,
    connections: JoinSet<()>,
    /// Passes on why the program was not started.
    outcome: JoinHandle<()>,
    /// Tasks that end with the stream.
    tasks: JoinSet<()>,
}

impl Link {
    fn new(
        pipes: ProcessPipes,
        kind: ProcessKind,
        proxy: Arc<Proxy>,
        input: Pin<Box<dyn AsyncWrite + Send>>,
    ) -> io::Result<Self> {
        let (wire, out) = Wire::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(write(out, input));
        wire.beat();
        wire.receive(frames::OUTPUT, sink(pipes.output)?);
        wire.receive(frames::ERRORS, sink(pipes.errors)?);
        match kind {
            // A command has no input; its keeper reports leftover processes.
            ProcessKind::Command => drop(wire.receive(frames::BESIDE, sink(pipes.beside)?)),
            // The keeper there holds the agent's input open, so the host need not.
            ProcessKind::Agent => drop(wire.send(frames::INPUT, pipe::Receiver::from_owned_fd(pipes.input)?)),
        }
        wire.send(frames::LIFELINE, pipe::Receiver::from_owned_fd(pipes.lifeline)?);
        let outcome = wire.receive(frames::OUTCOME, sink(pipes.outcome)?);
        let (door, connections) = (None, JoinSet::new());
        let until = Instant::now() + KEEPER_TIME;
        Ok(Self {
            wire,
            decoder: Decoder::default(),
            is_heard: false,
            until,
            proxy,
            door,
            connections,
            outcome,
            tasks,
        })
    }

    /// Handles received bytes. Returns the keeper's exit code if the keeper has ended.
    fn hear(&mut self, bytes: &[u8]) -> io::Result<Option<u8>> {
        self.until = Instant::now() + KEEPER_TIME;
        for frame in self.decoder.push(bytes)? {
            self.is_heard = true;
            match self.wire.take(frame)? {
                Some(Frame::Door(address)) => self.door = Some(address),
                Some(Frame::Open(channel)) => self.connect(channel),
                Some(Frame::Exit(code)) => return Ok(Some(code)),
                _ => {}
            }
        }
        while self.connections.try_join_next().is_some() {}
        Ok(None)
    }

    /// Lets the proxy answer on a connection through the door.
    fn connect(&mut self, channel: u32) {
        let here = self
            .door
            .filter(|_| channel >= frames::FIRST_CONNECTION && self.wire.connections() < MOST_CONNECTIONS);
        let Some(here) = here else {
            let wire = self.wire.clone();
            self.tasks.spawn(async move {
                wire.tell(Frame::Refuse(channel)).await;
                wire.tell(Frame::End(channel)).await;
            });
            return;
        };
        let (ours, theirs) = duplex(BUFFER);
        let (source, sink) = split(theirs);
        self.wire.receive(channel, sink);
        self.wire.send(channel, source);
        self.connections.spawn(self.proxy.clone().connection(ours, here));
    }

    /// The exit status of a keeper that ended with this code. Waits until it is known why the program was not
    /// started, if it was not.
    async fn exited(&mut self, code: u8) -> ExitStatus {
        // A keeper without anything to report has closed this channel.
        let _ = timeout(LAST_WORDS, &mut self.outcome).await;
        ExitStatus::from_raw(i32::from(code) << 8)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.wire.close();
    }
}

/// Writes frames to the stream.
async fn write(mut frames: mpsc::Receiver<Frame>, mut input: Pin<Box<dyn AsyncWrite + Send>>) {
    while let Some(frame) = frames.recv().await {
        if input.write_all(&frame.encode()).await.is_err() || input.flush().await.is_err() {
            // The reader of the stream notices its end.
            return;
        }
    }
}

/// A writer for a pipe. A device in its place, such as `/dev/null`, gets nothing.
fn sink(descriptor: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    let file = std::fs::File::from(descriptor.as_fd().try_clone_to_owned()?);
    if file.metadata()?.file_type().is_char_device() {
        return Ok(Box::new(tokio::io::sink()));
    }
    Ok(Box::new(pipe::Sender::from_owned_fd(descriptor)?))
}
