//! What commands print. Text from outside is made safe on the way; a reader that has had enough is no failure.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::error::Outcome;

/// Prints a line.
pub(super) fn say(line: impl Display) -> Outcome {
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{line}").and_then(|()| out.flush())?)
}

/// Prints a value as JSON.
pub(super) fn say_json(value: &impl serde::Serialize) -> Outcome {
    say(escaped(&serde_json::to_string(value).map_err(io::Error::from)?))
}

/// JSON in which nothing can move a cursor or change the order of letters, where somebody looks at it in a terminal. Such
/// characters are only ever in strings, where they can be written as numbers.
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

    /// JSON is looked at in terminals as well.
    #[test]
    fn json_moves_no_cursor_and_reorders_nothing() {
        let value = serde_json::json!({ "a": "\u{9b}31m \u{202e}txt \u{1b}[0m é 🎉" });
        let json = escaped(&value.to_string());
        assert_eq!(json, r#"{"a":"\u009b31m \u202etxt \u001b[0m é 🎉"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }
}
