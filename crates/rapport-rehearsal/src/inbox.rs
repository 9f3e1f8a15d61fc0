//! Everything that can happen to the agent, on one channel: lines on stdin, the end of stdin, commands that ended.

use std::fs::File;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

use super::tools::Done;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Happened {
    /// A line of JSON came in; lines that are not JSON are passed over.
    Line(Value),
    Eof,
    /// The command of this run ended.
    Ran {
        run: u64,
        done: Done,
    },
}

/// The channel's two ends; the sender is for commands that will report.
pub(super) struct Inbox {
    pub(super) happened: Receiver<Happened>,
    pub(super) reports: Sender<Happened>,
}

impl Inbox {
    /// A channel that nothing is read into yet.
    pub(super) fn new() -> Self {
        let (reports, happened) = channel();
        Self { happened, reports }
    }

    /// Starts reading stdin, line by line, writing it down where tests asked for it.
    pub(super) fn read_stdin(&self, mut record: Option<File>) {
        let reports = self.reports.clone();
        thread::spawn(move || {
            let mut stdin = std::io::stdin().lock();
            let mut line = Vec::new();
            while stdin.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if let Some(record) = &mut record {
                    // A lost record must not stop the play; the test that reads it will tell.
                    let _ = record.write_all(&line);
                }
                if let Ok(value) = serde_json::from_slice(&line) {
                    let _ = reports.send(Happened::Line(value));
                }
                line.clear();
            }
            let _ = reports.send(Happened::Eof);
        });
    }
}
