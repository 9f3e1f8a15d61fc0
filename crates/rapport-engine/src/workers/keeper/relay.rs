//! The keeper of a process in a container on another machine. Descriptors cannot be handed over there, so everything
//! that belongs to the process goes through this program's own input and output, in frames (`frames`), which the
//! container engine carries.
//!
//! The keeper itself is a child of this process, with its own pipes. When the host's stream ends, or the host is
//! silent for ten seconds (the engine in between may have died without closing the stream), the keeper's lifeline is
//! closed, and the keeper ends everything.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use tokio::net::TcpListener;
use tokio::net::unix::pipe;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::{BESIDE, COMMAND, KILLED, LIFELINE, OUTCOME, door, exit_code, mark};
use crate::workers::frames::{self, Decoder, Frame, Wire};
use crate::workers::proxy;

/// The argument that makes a keeper a relay.
pub(in crate::workers) const RELAY: &str = "--relay";

/// How long the host may be silent.
const HOST_TIME: Duration = Duration::from_secs(10);
/// How long the keeper may take to end everything.
const KEEPER_TIME: Duration = Duration::from_secs(2);
/// How long the host may take to read the remaining output when the process has ended.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// The size of one read.
const AT_ONCE: usize = 64 * 1024;

/// This side's ends of the keeper's pipes.
struct KeeperPipes {
    /// The input; a command has none.
    input: Option<PipeWriter>,
    output: PipeReader,
    errors: PipeReader,
    lifeline: PipeWriter,
    /// Where the keeper of a command reports leftover processes.
    beside: Option<PipeReader>,
    outcome: PipeReader,
    door: UnixStream,
}

/// Runs a keeper with these arguments, for the host at the other end of this program's input and output.
pub(super) fn keep(args: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let args: Vec<_> = args.collect();
    let is_command = args.first().is_some_and(|arg| arg == COMMAND);
    let (input_read, input) = io::pipe()?;
    let (output, output_written) = io::pipe()?;
    let (errors, errors_written) = io::pipe()?;
    let (lifeline_read, lifeline) = io::pipe()?;
    let (outcome, outcome_written) = io::pipe()?;
    let (names, names_written) = io::pipe()?;
    let (door, way_out) = UnixStream::pair()?;
    let beside: OwnedFd = if is_command { names_written.into() } else { input.try_clone()?.into() };
    let mut command = Command::new("/proc/self/exe");
    command.arg("keep").args(args).stdout(output_written).stderr(errors_written);
    command.stdin(if is_command { Stdio::null() } else { input_read.into() });
    let mappings = vec![
        FdMapping { parent_fd: lifeline_read.into(), child_fd: LIFELINE },
        FdMapping { parent_fd: beside, child_fd: BESIDE },
        FdMapping { parent_fd: way_out.into(), child_fd: door::DESCRIPTOR },
        FdMapping { parent_fd: outcome_written.into(), child_fd: OUTCOME },
    ];
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    let mut keeper = command.spawn()?;
    // This process must not hold the pipes open.
    drop(command);
    let pipes = KeeperPipes {
        input: (!is_command).then_some(input),
        output,
        errors,
        lifeline,
        beside: is_command.then_some(names),
        outcome,
        door,
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let ended = tokio::task::spawn_blocking(move || keeper.wait());
        Relay::start(pipes)?.run(async move { ended.await? }).await
    });
    runtime.shutdown_background();
    code
}

/// The process at one end, and the host at the other.
struct Relay {
    /// The tasks that send the process's outputs, each to its end.
    outputs: JoinSet<()>,
    host: Host,
    written: JoinHandle<io::Result<()>>,
}

/// The stream from the host.
struct Host {
    wire: Wire,
    heard: mpsc::Receiver<Vec<u8>>,
    decoder: Decoder,
    /// When the host counts as gone, unless it sends something before.
    until: Instant,
}

impl Relay {
    fn start(pipes: KeeperPipes) -> io::Result<Self> {
        let (wire, out) = Wire::new();
        let mut outputs = JoinSet::new();
        let said = [
            (frames::OUTPUT, Some(pipes.output)),
            (frames::ERRORS, Some(pipes.errors)),
            (frames::BESIDE, pipes.beside),
            (frames::OUTCOME, Some(pipes.outcome)),
        ];
        for (channel, source) in said {
            let Some(source) = source else { continue };
            let sending = wire.send(channel, pipe::Receiver::from_owned_fd(source.into())?);
            outputs.spawn(async move { drop(sending.await) });
        }
        if let Some(input) = pipes.input {
            wire.receive(frames::INPUT, pipe::Sender::from_owned_fd(input.into())?);
        }
        wire.receive(frames::LIFELINE, pipe::Sender::from_owned_fd(pipes.lifeline.into())?);
        tokio::spawn(open_door(wire.clone(), pipes.door));
        wire.beat();
        let written = write(out)?;
        let until = Instant::now() + HOST_TIME;
        let host = Host { wire, heard: listen()?, decoder: Decoder::default(), until };
        Ok(Self { outputs, host, written })
    }

    /// Relays until the keeper has ended and the host was told, or until the host is gone and everything has ended.
    async fn run(mut self, ended: impl Future<Output = io::Result<ExitStatus>>) -> io::Result<u8> {
        let mut ended = std::pin::pin!(ended);
        let status = loop {
            tokio::select! {
                status = &mut ended => break status?,
                is_there = self.host.hear() => if !is_there {
                    self.host.wire.end(frames::LIFELINE);
                    return match timeout(KEEPER_TIME, ended).await {
                        Ok(status) => Ok(exit_code(status?)),
                        Err(_) => {
                            mark::end_own();
                            Ok(KILLED)
                        }
                    };
                },
            }
        };
        let code = exit_code(status);
        let until = Instant::now() + LAST_WORDS;
        while !self.outputs.is_empty() {
            tokio::select! {
                _ = self.outputs.join_next() => {}
                is_there = self.host.hear() => if !is_there { return Ok(code) },
                () = sleep_until(until) => break,
            }
        }
        self.host.wire.tell(Frame::Exit(code)).await;
        // The frame above is the writer's last.
        if let Ok(written) = self.written.join() {
            written?;
        }
        Ok(code)
    }
}

impl Host {
    /// Handles the next bytes from the host. Returns false if the host is gone, or breaks the rules of the stream.
    /// Cancel safe.
    async fn hear(&mut self) -> bool {
        let heard = tokio::select! {
            heard = self.heard.recv() => heard,
            () = sleep_until(self.until) => None,
        };
        let Some(bytes) = heard else { return false };
        self.until = Instant::now() + HOST_TIME;
        let taken = self
            .decoder
            .push(&bytes)
            .and_then(|frames| frames.into_iter().try_for_each(|frame| self.wire.take(frame).map(drop)));
        taken.is_ok()
    }
}

/// Reads this program's input on a thread of its own, because the input may be of any type of file.
fn listen() -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (heard_to, heard) = mpsc::channel(1);
    thread::Builder::new().name("input".into()).spawn(move || {
        let (mut input, mut buffer) = (io::stdin().lock(), vec![0; AT_ONCE]);
        loop {
            match input.read(&mut buffer) {
                Ok(size @ 1..) if heard_to.blocking_send(buffer[..size].to_vec()).is_ok() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return,
            }
        }
    })?;
    Ok(heard)
}

/// Writes frames to this program's output, up to the exit frame.
fn write(mut frames: mpsc::Receiver<Frame>) -> io::Result<JoinHandle<io::Result<()>>> {
    thread::Builder::new().name("output".into()).spawn(move || {
        let mut output = io::stdout().lock();
        while let Some(frame) = frames.blocking_recv() {
            output.write_all(&frame.encode())?;
            output.flush()?;
            if matches!(frame, Frame::Exit(_)) {
                break;
            }
        }
        Ok(())
    })
}

/// Carries the connections through the door that the keeper hands over.
async fn open_door(wire: Wire, handed_over: UnixStream) {
    let listener = async {
        handed_over.set_nonblocking(true)?;
        proxy::door(&tokio::net::UnixStream::from_std(handed_over)?).await
    };
    // Without a listener, the keeper could not open the door, and reports that itself.
    if let Ok(Some(listener)) = listener.await {
        carry_connections(wire, listener).await;
    }
}

async fn carry_connections(wire: Wire, listener: TcpListener) {
    let Ok(address) = listener.local_addr() else { return };
    wire.tell(Frame::Door(address)).await;
    let mut channel = frames::FIRST_CONNECTION;
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            // Usually for lack of file descriptors, which become free again.
            tokio::time::sleep(proxy::PAUSE).await;
            continue;
        };
        let (source, sink) = connection.into_split();
        wire.receive(channel, sink);
        wire.tell(Frame::Open(channel)).await;
        wire.send(channel, source);
        channel = channel.checked_add(1).unwrap_or(frames::FIRST_CONNECTION);
    }
}
