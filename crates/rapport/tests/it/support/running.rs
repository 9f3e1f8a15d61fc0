//! Commands of `rapport` that have ended, and one that still runs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output};

use rapport_core::{Entry, Event};

/// A command that ran.
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Its exit code, and that it said this.
    #[track_caller]
    pub(crate) fn check(&self, code: i32, says: &str) -> &Self {
        let all = format!("{}{}", self.out(), self.err());
        assert_eq!(self.code(), code, "{all}");
        assert!(all.contains(says), "{says:?} was expected in:\n{all}");
        self
    }
}

/// A `rapport run` under way.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(super) lines: BufReader<ChildStdout>,
}

impl Running {
    /// The next entry it has stored; `None` when it is over or gone.
    pub(crate) fn next(&mut self) -> Option<Entry> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Ok(entry) = Entry::from_json(&line) {
                return Some(entry);
            }
        }
    }

    /// The next line that it prints, whatever it is; empty when it is gone.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.lines.read_line(&mut line);
        line
    }

    /// Reads on until a fact like this, or until it is gone.
    pub(crate) fn until_gone_or(&mut self, what: impl Fn(&Event) -> bool) {
        while let Some(entry) = self.next() {
            if entry.facts.iter().any(&what) {
                return;
            }
        }
    }

    /// Reads on until a fact like this; panics if there is none.
    pub(crate) fn until(&mut self, what: impl Fn(&Event) -> bool) -> Event {
        while let Some(entry) = self.next() {
            if let Some(fact) = entry.facts.into_iter().find(|fact| what(fact)) {
                return fact;
            }
        }
        let mut error = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut error);
        }
        panic!("the run ended before what was expected; it said: {error}");
    }

    /// Reads until a round of questions is asked.
    pub(crate) fn until_asked(&mut self) -> Event {
        self.until(|fact| matches!(fact, Event::Asked { .. }))
    }

    /// Reads to the end and gives the exit code (-1 for a signal).
    pub(crate) fn finish(mut self) -> i32 {
        while self.next().is_some() {}
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Reads to the end, and gives the exit code and what it said on stderr.
    pub(crate) fn finish_saying(mut self) -> (i32, String) {
        while self.next().is_some() {}
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        }
        (self.child.wait().unwrap().code().unwrap_or(-1), said)
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
