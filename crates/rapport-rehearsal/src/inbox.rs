//! All events of the agent on one channel: lines on stdin, the end of stdin, ended commands.

use std::fs::File;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

use super::tools::Done;

#[derive(Debug)]
pub(super) enum AgentInput {
    /// A line of JSON on stdin; other lines are ignored.
    Line(Value),
    Eof,
    Ran {
        run: u64,
        done: Done,
    },
}

/// Both ends of the channel; the sender is for commands.
pub(super) struct Inbox {
    pub(super) happened: Receiver<AgentInput>,
    pub(super) reports: Sender<AgentInput>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let (reports, happened) = channel();
        Self { happened, reports }
    }

    /// Starts reading stdin line by line, and records it if a test asks for that.
    pub(super) fn read_stdin(&self, mut record: Option<File>) {
        let reports = self.reports.clone();
        thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut line = Vec::new();
            while stdin.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if let Some(record) = &mut record {
                    // A failed recording must not stop the play; the test that reads it will notice.
                    let _ = record.write_all(&line);
                }
                if let Ok(value) = serde_json::from_slice(&line) {
                    let _ = reports.send(AgentInput::Line(value));
                }
                line.clear();
            }
            let _ = reports.send(AgentInput::Eof);
        });
    }
}
