//! The output of commands, and the only module that prints: everything is made safe to show, so that no text of others
//! reaches the terminal unchanged. A closed pipe is not a failure.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::channels::terminal::safe;
use crate::channels::terminal::style::Theme;
use crate::channels::terminal::text::Line;
use crate::error::Outcome;

/// Prints a line, or several. The caller makes text from outside that has to stay on its line one line (`safe::line`).
pub(super) fn say(text: impl Display) -> Outcome {
    write(&format!("{}\n", shown(text)))
}

/// Prints the cells of a row, each safe to show, separated by tabs, for programs to parse.
pub(super) fn say_cells(cells: &[&str]) -> Outcome {
    let cells: Vec<_> = cells.iter().map(|cell| safe::line(cell)).collect();
    write(&format!("{}\n", cells.join("\t")))
}

/// Prints a value as JSON.
pub(super) fn say_json(value: &impl serde::Serialize) -> Outcome {
    write(&format!("{}\n", escaped(&serde_json::to_string(value).map_err(io::Error::from)?)))
}

/// Prints lines in tones. Their content is safe to show.
pub(super) fn show(theme: Theme, lines: &[Line]) -> Outcome {
    write(&painted(theme, lines))
}

/// Lines with the theme's control characters.
pub(super) fn painted(theme: Theme, lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", theme.paint(line))).collect()
}

/// Prints a prompt; the input follows on the same line.
pub(super) fn prompt(text: &str) -> Outcome {
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

/// JSON in which no character can move a cursor or reorder text in a terminal. Such characters only occur in strings,
/// where they can be escaped.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

/// The beginning of a text, of at most this many characters.
pub(super) fn shorten(text: &str, most: usize) -> String {
    match text.chars().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// JSON is shown in terminals too.
    #[test]
    fn json_moves_no_cursor_and_reorders_nothing() {
        let value = serde_json::json!({ "a": "\u{9b}31m \u{202e}txt \u{1b}[0m é 🎉" });
        let json = escaped(&value.to_string());
        assert_eq!(json, r#"{"a":"\u009b31m \u202etxt \u001b[0m é 🎉"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }
}
