//! The output of commands, and the only module that prints: everything is made safe to show, so that no text of others
//! reaches the terminal unchanged. A closed pipe is not a failure.

use std::fmt::Display;
use std::io::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::channels::terminal::safe;
use crate::channels::terminal::style::Theme;
use crate::channels::terminal::text::Line;
use crate::error::Outcome;

/// Prints one line or several. The caller turns text from outside into a single line where necessary (`safe::line`).
pub(crate) fn say(text: impl Display) -> Outcome {
    write(&format!("{}\n", shown(text)))
}

/// Prints the cells of a row, each made safe to show, separated by tabs for other programs.
pub(crate) fn say_cells(cells: &[&str]) -> Outcome {
    let cells: Vec<_> = cells.iter().map(|cell| safe::line(cell)).collect();
    write(&format!("{}\n", cells.join("\t")))
}

/// Prints a value as JSON.
pub(crate) fn say_json(value: &impl serde::Serialize) -> Outcome {
    write(&format!("{}\n", safe::json(&serde_json::to_string(value).map_err(io::Error::from)?)))
}

/// Prints lines in tones. Their text has to be safe to show already.
pub(crate) fn show(theme: Theme, lines: &[Line]) -> Outcome {
    write(&painted(theme, lines))
}

/// Formats lines for a terminal.
pub(crate) fn painted(theme: Theme, lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", theme.paint(line))).collect()
}

/// Shows a prompt; the person types on the same line.
pub(crate) fn prompt(text: &str) -> Outcome {
    let lines: Vec<_> = text.split('\n').map(safe::line).collect();
    write(&lines.join("\n"))
}

/// Prints a warning on stderr.
pub(crate) fn warn(text: impl Display) {
    // If this fails too, there is nobody to tell.
    let _ = writeln!(io::stderr(), "rapport: {}", shown(text));
}

fn shown(text: impl Display) -> String {
    safe::lines(&text.to_string()).join("\n")
}

fn write(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

/// The beginning of a text, in at most so many characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.chars().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// How long ago, in one unit.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let passed = now.duration_since(then).max(SignedDuration::ZERO);
    match (passed.as_secs(), passed.as_mins(), passed.as_hours()) {
        (_, _, hours) if hours >= 48 => format!("{}d ago", hours / 24),
        (_, _, hours) if hours >= 1 => format!("{hours}h ago"),
        (_, mins, _) if mins >= 1 => format!("{mins}m ago"),
        (secs, _, _) => format!("{secs}s ago"),
    }
}
