//! The agent's process: its pipes, its keeper, its end.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, PipeWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::Sender;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::agents::claude::command::ClaudeConfig;
use crate::agents::keeper::{self, mark, mark::Mark};

/// The longest line that is read as one.
const MAX_LINE: u64 = 64 * 1024 * 1024;
/// How much of a longer line is kept.
const HEAD: usize = 4 * 1024;
/// How many lines may be read ahead of those that were understood.
const AHEAD: usize = 16;
/// How long the keeper may take to end everything before it is ended itself: somebody may have stopped it.
const KEEPER_TIME: Duration = Duration::from_secs(2);
/// How much of stderr is kept.
const LAST_LINES: usize = 20;
const LAST_BYTES: usize = 4 * 1024;

/// A running agent. Dropping it ends the agent with everything it started.
#[derive(Debug)]
pub(super) struct Process {
    lifeline: Option<PipeWriter>,
    stdin: Option<mpsc::UnboundedSender<String>>,
    child: Child,
    group: Option<Pid>,
    mark: Mark,
    /// When the keeper has had its time to end everything.
    keeper_until: Option<Instant>,
    stderr: JoinHandle<VecDeque<String>>,
}

/// A line of the agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// A whole one, or what was there of it when the output was closed.
    Line(Vec<u8>),
    /// The beginning of one that is too long to be one.
    TooLong(Vec<u8>),
}

impl Heard {
    /// It as text, whatever it is.
    pub(super) fn lossy(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Heard::Line(bytes) | Heard::TooLong(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

impl Process {
    /// Starts the agent under its keeper. What it prints comes line by line, until it closes its output.
    pub(super) fn spawn(
        config: &ClaudeConfig,
        args: &[OsString],
        directory: &Path,
        mark: Mark,
    ) -> io::Result<(Self, mpsc::Receiver<Heard>)> {
        let (reading, lifeline) = io::pipe()?;
        let (agent_stdin, stdin) = io::pipe()?;
        let mut command = Command::new(&config.keeper);
        command.args(["keep", "--"]).arg(&config.program).args(args);
        command.env_clear().envs(config.env.iter().map(|(name, value)| (name, value)));
        // Else the model is not told that options can have previews.
        command.env("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT", "markdown");
        command.env(mark::VARIABLE, mark.to_string()).current_dir(directory).process_group(0);
        command.stdin(agent_stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mappings = vec![
            FdMapping { parent_fd: reading.into(), child_fd: keeper::LIFELINE },
            FdMapping { parent_fd: stdin.try_clone()?.into(), child_fd: keeper::INPUT },
        ];
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let mut child = command.spawn()?;
        // What the command still holds of the pipes would keep them open here.
        drop(command);
        let stdin = Sender::from_owned_fd(stdin.into())?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let (stdin_sender, to_write) = mpsc::unbounded_channel();
        let (heard, lines) = mpsc::channel(AHEAD);
        tokio::spawn(write_lines(stdin, to_write));
        tokio::spawn(read_lines(stdout, heard));
        let process = Self {
            group: child.id().map(|id| Pid::from_raw(id as i32)),
            child,
            stdin: Some(stdin_sender),
            lifeline: Some(lifeline),
            mark,
            keeper_until: None,
            stderr: tokio::spawn(last_lines(stderr)),
        };
        Ok((process, lines))
    }

    /// Queues a line for the agent.
    pub(super) fn tell(&self, line: String) {
        if let Some(stdin) = &self.stdin {
            // Nobody reads any more: that it ended is seen elsewhere.
            let _ = stdin.send(line);
        }
    }

    /// Closes the agent's input once everything queued is written.
    pub(super) fn close_input(&mut self) {
        self.stdin = None;
        self.ask_keeper(keeper::CLOSE_INPUT);
    }

    /// Asks it to end.
    pub(super) fn ask_to_end(&mut self) {
        self.ask_keeper(keeper::PLEASE_END);
    }

    fn ask_keeper(&mut self, what: &[u8]) {
        if let Some(lifeline) = &mut self.lifeline {
            // A keeper that is gone has done what it was there for.
            let _ = lifeline.write_all(what);
        }
    }

    /// Ends it, with everything it started. The keeper holds its input until it is gone, so that it sees nothing coming.
    pub(super) fn kill(&mut self) {
        self.lifeline = None;
        self.keeper_until.get_or_insert_with(|| Instant::now() + KEEPER_TIME);
    }

    /// Waits until nothing of it is left. Can be given up and begun again.
    pub(super) async fn gone(&mut self) -> io::Result<ExitStatus> {
        let status = tokio::select! {
            status = self.child.wait() => status?,
            () = until(self.keeper_until) => {
                self.kill_group();
                self.child.wait().await?
            }
        };
        // Somebody killed the keeper: then what it kept is found by its group and by its mark.
        if status.signal().is_some() && self.group.is_some() {
            self.kill_group();
            let mark = self.mark.clone();
            let _ = tokio::task::spawn_blocking(move || mark.end_all()).await;
            self.group = None;
        }
        Ok(status)
    }

    fn kill_group(&self) {
        if let Some(group) = self.group {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }

    /// What it last wrote to stderr.
    pub(super) async fn last_words(&mut self) -> VecDeque<String> {
        (&mut self.stderr).await.unwrap_or_default()
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn write_lines(mut stdin: Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_lines(stdout: ChildStdout, heard: mpsc::Sender<Heard>) {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    while let Some(line) = read_line(&mut reader).await {
        if heard.send(line).await.is_err() {
            return;
        }
    }
}

async fn read_line(reader: &mut BufReader<ChildStdout>) -> Option<Heard> {
    let mut line = Vec::new();
    let read = (&mut *reader).take(MAX_LINE).read_until(b'\n', &mut line).await.ok()?;
    if read == 0 {
        return None;
    }
    if line.last() == Some(&b'\n') || (read as u64) < MAX_LINE {
        return Some(Heard::Line(line));
    }
    line.truncate(HEAD);
    line.shrink_to_fit();
    skip_line(reader).await;
    Some(Heard::TooLong(line))
}

async fn skip_line(reader: &mut BufReader<ChildStdout>) {
    while let Ok(buffer) = reader.fill_buf().await {
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(buffer.len(), |end| end + 1);
        let more = end.is_none() && skipped > 0;
        reader.consume(skipped);
        if !more {
            return;
        }
    }
}

/// Reads stderr to its end, so that the agent never waits for it to be read, and keeps the last of it.
async fn last_lines(stderr: ChildStderr) -> VecDeque<String> {
    let mut reader = BufReader::new(stderr);
    let mut kept = VecDeque::new();
    let mut piece = Vec::new();
    // A line without end is kept in pieces.
    while let Ok(1..) = (&mut reader).take(LAST_BYTES as u64).read_until(b'\n', &mut piece).await {
        let line = String::from_utf8_lossy(&piece).trim_end().to_owned();
        piece.clear();
        if line.is_empty() {
            continue;
        }
        kept.push_back(line);
        while kept.len() > LAST_LINES || kept.iter().map(String::len).sum::<usize>() > LAST_BYTES {
            kept.pop_front();
        }
    }
    kept
}
