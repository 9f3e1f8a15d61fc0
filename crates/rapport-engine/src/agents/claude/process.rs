//! The agent's process: its input and output, line by line.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::command::ClaudeConfig;
use super::credentials;
use crate::workers::Workplace;
use crate::workers::keeper::{self, mark::Mark};
use crate::workers::process::{KeptProcess, Launch, ProcessKind};

/// Where the CLI's own installer puts it, in the person's home.
const INSTALLED: [&str; 1] = [".local/share/claude"];

/// The longest line that is read as one.
const MAX_LINE: u64 = 64 * 1024 * 1024;
/// How much of a longer line is kept.
const HEAD: usize = 4 * 1024;
/// The maximum number of lines to read ahead.
const AHEAD: usize = 16;
/// The number of lines of stderr to keep.
const LAST_LINES: usize = 20;
const LAST_BYTES: usize = 4 * 1024;

/// A running agent. Dropping it kills the agent with everything it started.
#[derive(Debug)]
pub(super) struct AgentProcess {
    kept: KeptProcess,
    stdin: Option<mpsc::UnboundedSender<String>>,
    stderr: JoinHandle<VecDeque<String>>,
}

/// A line of the agent.
#[derive(Debug)]
pub(super) enum Heard {
    /// A whole line, or the rest of the output at its end.
    Line(Vec<u8>),
    /// The beginning of a line that exceeds the limit.
    TooLong(Vec<u8>),
}

impl Heard {
    /// The line as text; invalid UTF-8 is replaced.
    pub(super) fn lossy(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Heard::Line(bytes) | Heard::TooLong(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

impl AgentProcess {
    /// Starts the agent in its workplace. Its output comes line by line until its end. Hosts that the workplace refuses
    /// are sent to `refused`.
    pub(super) fn spawn(
        config: &ClaudeConfig,
        args: &[OsString],
        workplace: &dyn Workplace,
        mark: Mark,
        refused: Option<mpsc::UnboundedSender<String>>,
    ) -> io::Result<(Self, mpsc::Receiver<Heard>)> {
        let (agent_stdin, stdin) = io::pipe()?;
        let (stdout, agent_stdout) = io::pipe()?;
        let (stderr, agent_stderr) = io::pipe()?;
        let mut env = config.env.clone();
        // Otherwise the model is not told that options can have previews.
        env.push(("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT".into(), "markdown".into()));
        let service = credentials::service(&env, config.login.as_deref(), &config.clock);
        let kept = workplace.spawn(Launch {
            keeper: &config.keeper,
            kind: ProcessKind::Agent,
            program: config.program.as_os_str(),
            args,
            env,
            mark,
            stdin: agent_stdin.into(),
            stdout: agent_stdout.into(),
            stderr: agent_stderr.into(),
            beside: stdin.try_clone()?.into(),
            tools: &INSTALLED,
            service: Some(service),
            refused,
        })?;
        let stdin = Sender::from_owned_fd(stdin.into())?;
        let (stdout, stderr) =
            (Receiver::from_owned_fd(stdout.into())?, Receiver::from_owned_fd(stderr.into())?);
        let (stdin_sender, to_write) = mpsc::unbounded_channel();
        let (heard, lines) = mpsc::channel(AHEAD);
        tokio::spawn(write_lines(stdin, to_write));
        tokio::spawn(read_lines(stdout, heard));
        let process = Self { kept, stdin: Some(stdin_sender), stderr: tokio::spawn(last_lines(stderr)) };
        Ok((process, lines))
    }

    /// Queues a line for the agent.
    pub(super) fn tell(&self, line: String) {
        if let Some(stdin) = &self.stdin {
            // If the receiver is gone, the end of the process is noticed elsewhere.
            let _ = stdin.send(line);
        }
    }

    /// Closes the agent's input after everything queued is written.
    pub(super) fn close_input(&mut self) {
        self.stdin = None;
        self.kept.ask(keeper::CLOSE_INPUT);
    }

    /// Asks it to end.
    pub(super) fn ask_to_end(&mut self) {
        self.kept.ask(keeper::PLEASE_END);
    }

    /// Kills the agent with everything it started. The keeper holds the agent's input open until the agent is gone,
    /// so that it cannot react to the end of its input.
    pub(super) fn kill(&mut self) {
        self.kept.cut();
    }

    /// Whether it runs in a place with its own keeper, such as a container.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.kept.is_elsewhere()
    }

    /// Waits until no process of it is left. Cancel safe.
    pub(super) async fn gone(&mut self) -> io::Result<ExitStatus> {
        self.kept.gone().await
    }

    /// Why it was not started, once it is gone; `None` if it was.
    pub(super) fn not_started(&mut self) -> Option<String> {
        self.kept.not_started()
    }

    /// The last lines of stderr.
    pub(super) async fn last_words(&mut self) -> VecDeque<String> {
        (&mut self.stderr).await.unwrap_or_default()
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

async fn read_lines(stdout: Receiver, heard: mpsc::Sender<Heard>) {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    while let Some(line) = read_line(&mut reader).await {
        if heard.send(line).await.is_err() {
            return;
        }
    }
}

async fn read_line(reader: &mut BufReader<Receiver>) -> Option<Heard> {
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

async fn skip_line(reader: &mut BufReader<Receiver>) {
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

/// Reads stderr to its end, so that the agent never blocks on it, and keeps the last lines.
async fn last_lines(stderr: Receiver) -> VecDeque<String> {
    let mut reader = BufReader::new(stderr);
    let mut kept = VecDeque::new();
    let mut piece = Vec::new();
    // A line without an end is kept in pieces.
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
