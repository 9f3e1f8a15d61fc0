//! Stdout: whole lines, each flushed at once, and recorded for tests.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use serde::Serialize;

use super::arguments::OutputFormat;
use super::player::Stop;

pub(super) struct Output {
    format: OutputFormat,
    record: Option<File>,
}

impl Output {
    pub(super) fn new(format: OutputFormat, record: Option<File>) -> Self {
        Self { format, record }
    }

    /// Prints an event, unless only the result was requested.
    pub(super) fn event(&mut self, event: &impl Serialize) -> Result<(), Stop> {
        if self.format != OutputFormat::Stream {
            return Ok(());
        }
        self.json(event)
    }

    /// Prints the result: the whole event, or only its text.
    pub(super) fn result(&mut self, event: &serde_json::Value) -> Result<(), Stop> {
        match self.format {
            OutputFormat::Stream | OutputFormat::Json => self.json(event),
            OutputFormat::Text => self.raw(&format!("{}\n", event["result"].as_str().unwrap_or_default())),
        }
    }

    /// Prints text verbatim.
    pub(super) fn raw(&mut self, text: &str) -> Result<(), Stop> {
        self.write(text.as_bytes()).map_err(|_| Stop::OutputClosed)
    }

    /// Closes stdout, while this process continues.
    pub(super) fn close(&mut self) -> Result<(), Stop> {
        let nowhere = OpenOptions::new().write(true).open("/dev/null").map_err(|_| Stop::OutputClosed)?;
        nix::unistd::dup2_stdout(&nowhere).map_err(|_| Stop::OutputClosed)
    }

    fn json(&mut self, event: &impl Serialize) -> Result<(), Stop> {
        let mut line = serde_json::to_string(event).map_err(|error| Stop::Failed(error.to_string()))?;
        line.push('\n');
        self.raw(&line)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(record) = &mut self.record {
            record.write_all(bytes)?;
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }
}
