//! How a run ends: why, when the process is killed, and what is reported.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rapport_core::Leave;
use tokio::time::{Instant, timeout};

use crate::agents::claude::process::AgentProcess;

/// The progress of ending a run. The first reason is the one that is reported.
#[derive(Debug, Default)]
pub(super) struct Ending {
    why: Option<Why>,
    /// When the next step is due, or when waiting ends.
    deadline: Option<Instant>,
    /// When the process is killed. At half that time it is asked to end.
    force_at: Option<Instant>,
    /// Whether the process had to be killed.
    was_made_to: bool,
    exit: Option<Option<ExitStatus>>,
}

#[derive(Debug)]
enum Why {
    Known(Leave),
    /// The agent closed its output; its exit status may say why.
    OutputClosed,
}

impl Ending {
    /// Starts ending the run, for this reason. Returns whether no reason was known before.
    pub(super) fn begin(&mut self, leave: Leave, grace: Duration) -> bool {
        if matches!(self.why, Some(Why::Known(_))) {
            return false;
        }
        self.why = Some(Why::Known(leave));
        self.be_patient(grace);
        true
    }

    /// The agent seems to have ended.
    pub(super) fn begin_unexplained(&mut self, grace: Duration) {
        if self.why.is_none() {
            self.why = Some(Why::OutputClosed);
            self.be_patient(grace);
        }
    }

    fn be_patient(&mut self, grace: Duration) {
        let now = Instant::now();
        self.deadline = Some(now + grace / 2);
        self.force_at = Some(now + grace);
    }

    /// A deadline passed. Returns whether it is the last one; otherwise the process is asked to end, and gets the rest
    /// of its time.
    pub(super) fn out_of_patience(&mut self) -> bool {
        self.was_made_to = true;
        self.deadline = self.force_at.take();
        self.deadline.is_none()
    }

    /// The process was killed. From now on there is no deadline.
    pub(super) fn killed(&mut self) {
        self.was_made_to = true;
        self.deadline = None;
    }

    /// No process is left; there may be output left to read.
    pub(super) fn gone(&mut self, status: Option<ExitStatus>, grace: Duration) {
        self.exit = Some(status);
        self.deadline = Some(Instant::now() + grace);
    }

    pub(super) fn has_begun(&self) -> bool {
        matches!(self.why, Some(Why::Known(_)))
    }

    pub(super) fn is_gone(&self) -> bool {
        self.exit.is_some()
    }

    /// Whether neither a process nor output is left.
    pub(super) fn is_over(&self, output_closed: bool) -> bool {
        self.is_gone() && output_closed
    }

    /// The deadline: `None` before the ending begins, then a time or none.
    pub(super) fn deadline(&self) -> Option<Option<Instant>> {
        (self.why.is_some() || self.is_gone()).then_some(self.deadline)
    }

    /// Whether the agent closed its output and had to be killed.
    fn closed_its_output(&self) -> bool {
        matches!(self.why, Some(Why::OutputClosed)) && self.was_made_to
    }

    /// The report about the end.
    pub(super) async fn leave(self, program: &Path, process: &mut AgentProcess, patience: Duration) -> Leave {
        let program = program.display();
        if self.closed_its_output() {
            return Leave::Failed { reason: format!("{program} closed its output") };
        }
        if let Some(Why::Known(leave)) = self.why {
            return leave;
        }
        if let Some(reason) = process.not_started() {
            return Leave::NotStarted { reason };
        }
        let last_words = timeout(patience, process.last_words()).await.unwrap_or_default();
        let status = self.exit.flatten();
        // A keeper in another place reports an exit code, unless that place itself is gone.
        if process.is_elsewhere() && status.is_some_and(|status| status.code().is_none()) {
            return Leave::Lost { reason: format!("the place in which {program} ran is gone") };
        }
        Leave::Failed { reason: format!("{program} {}{}", exited(status), quoted(&last_words)) }
    }
}

fn exited(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status, status.code())) {
        // The keeper reports a signal as a shell does.
        Some((_, Some(code @ 129..=192))) => {
            format!("ended without a result (exit code {code}, signal {})", code - 128)
        }
        Some((_, Some(code))) => format!("ended without a result (exit code {code})"),
        Some((status, None)) => format!("ended without a result ({status})"),
        None => "ended without a result".into(),
    }
}

fn quoted(lines: &VecDeque<String>) -> String {
    lines.iter().map(|line| format!("\n{line}")).collect()
}
