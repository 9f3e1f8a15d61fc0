//! What commands print. Text from outside is made safe on the way; a reader that has had enough is no failure.

use std::fmt::Display;
use std::io::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::error::{Code, Failure, Outcome};

/// Prints a line.
pub(super) fn say(line: impl Display) -> Outcome {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // `rapport log X | head` has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::new(Code::Quiet, "")),
        Err(error) => Err(error.into()),
    }
}

/// Prints a value as JSON.
pub(super) fn say_json(value: &impl serde::Serialize) -> Outcome {
    say(serde_json::to_string(value).map_err(io::Error::from)?)
}

/// How long ago, in one unit.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.duration_since(then).max(SignedDuration::ZERO);
    match (passed.as_secs(), passed.as_mins(), passed.as_hours()) {
        (_, _, hours) if hours >= 48 => format!("{}d ago", hours / 24),
        (_, _, hours) if hours >= 1 => format!("{hours}h ago"),
        (_, mins, _) if mins >= 1 => format!("{mins}m ago"),
        (secs, _, _) => format!("{secs}s ago"),
    }
}
