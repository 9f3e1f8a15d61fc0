//! The output of commands, and the only module that prints: everything is made safe to show, so that no text of others
//! reaches the terminal unchanged. A closed pipe is not a failure.

use std::fmt::Display;
use std::io::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::channels::terminal::style::Theme;
use crate::channels::terminal::text::{Line, Tone, clip};
use crate::channels::terminal::{self, terminal_text};
use crate::error::Outcome;

/// The programs whose commands people are told to type.
const PROGRAMS: [&str; 9] = ["rapport", "git", "cd", "npm", "kill", "export", "diff", "apt-get", "systemctl"];

/// Prints one line or several. The caller turns text from outside into a single line where necessary (`terminal_text::line`).
pub(crate) fn say(text: impl Display) -> Outcome {
    let text = shown(text);
    match columns(&io::stdout()) {
        Some(columns) => write(&format!("{}\n", wrapped(&text, columns))),
        None => say_as_is(text),
    }
}

/// Prints text that is not prose, such as a diff: only the terminal wraps it.
pub(crate) fn say_as_is(text: impl Display) -> Outcome {
    write(&format!("{}\n", shown(text)))
}

/// Prints the cells of a row, each made safe to show, separated by tabs for other programs.
pub(crate) fn say_cells(cells: &[&str]) -> Outcome {
    let cells: Vec<_> = cells.iter().map(|cell| terminal_text::line(cell)).collect();
    write(&format!("{}\n", cells.join("\t")))
}

/// Prints a value as JSON.
pub(crate) fn say_json(value: &impl serde::Serialize) -> Outcome {
    write(&format!("{}\n", terminal_text::json(&serde_json::to_string(value).map_err(io::Error::from)?)))
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
    let lines: Vec<_> = text.split('\n').map(terminal_text::line).collect();
    let shown = lines.join("\n");
    let mut shown = columns(&io::stdout()).map(|columns| wrapped(&shown, columns)).unwrap_or(shown);
    if text.ends_with(' ') && !shown.ends_with(' ') {
        shown.push(' ');
    }
    write(&shown)
}

/// Begins a row that is cleared or ended later, and returns whether it did. Other programs, and people who read line by
/// line, get a line instead.
pub(crate) fn begin_row(text: &str) -> bool {
    let columns = columns(&io::stdout()).filter(|_| !terminal::lines_only());
    let row = columns.map(|columns| clip(&terminal_text::line(text), columns.saturating_sub(1)));
    let is_begun = row.as_ref().is_some_and(|row| write(row).is_ok());
    if row.is_none() {
        // A closed output must not stop what is being reported.
        let _ = say(text);
    }
    is_begun
}

/// Clears the row that was begun; something else takes its place.
pub(crate) fn clear_row() {
    let _ = write("\r\x1b[2K");
}

/// Ends the row that was begun; it stays.
pub(crate) fn end_row() {
    let _ = write("\n");
}

/// Prints a warning on stderr.
pub(crate) fn warn(text: impl Display) {
    let text = format!("rapport: {}", shown(text));
    let text = columns(&io::stderr()).map(|columns| wrapped(&text, columns)).unwrap_or(text);
    // If this fails too, there is nowhere to report it.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The number of columns; `None` without a terminal, where lines may have any length.
pub(crate) fn columns(to: &impl io::IsTerminal) -> Option<usize> {
    to.is_terminal().then(|| terminal::size().columns)
}

/// Wraps text for a terminal, line by line.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let rows = text.split('\n').flat_map(|line| {
        let prefix = if line.starts_with("rapport: ") { "rapport: ".len() } else { 0 };
        let blanks = line.len() - line.trim_start_matches(' ').len();
        fitted(&Line::new(Tone::Text, line).hanging(blanks.max(prefix)), columns)
    });
    rows.map(|row| row.text()).collect::<Vec<_>>().join("\n")
}

/// The rows of a line on a terminal: wrapped at blanks. A command at its end moves to a row of its own where it does
/// not fit. Neither it nor a word that is longer than a row is wrapped here: what only the terminal wraps is copied as a
/// whole.
pub(crate) fn fitted(line: &Line, columns: usize) -> Vec<Line> {
    if line.width() <= columns || line.is_whole() {
        return vec![line.clone()];
    }
    let text = line.text();
    let Some(at) = command_in(&text) else { return line.history_rows(columns) };
    let (before, _) = line.split_at(text[..at].trim_end().len());
    let (_, command) = line.split_at(at);
    if before.text().trim().is_empty() {
        return vec![line.clone()];
    }
    let mut rows = before.history_rows(columns);
    rows.push(command.below(before.hang(), columns));
    rows
}

/// Where the command at the end of a line begins, if there is one: `Go on with: rapport resume x`.
fn command_in(text: &str) -> Option<usize> {
    let begins = |at: &usize| {
        let word = text[*at..].split(' ').next().unwrap_or_default();
        let before = text[..*at].trim_end();
        PROGRAMS.contains(&word) && (before.is_empty() || before.ends_with(':'))
    };
    let places = text.match_indices(' ').map(|(at, blank)| at + blank.len());
    let is_quoted = |at: &usize| text[..*at].matches('`').count() % 2 == 1;
    std::iter::once(0).chain(places).filter(|at| !is_quoted(at)).find(begins)
}

fn shown(text: impl Display) -> String {
    terminal_text::lines(&text.to_string()).join("\n")
}

fn write(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

/// The beginning of a text, in at most this many characters.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, rows: &[&str]) {
        assert_eq!(wrapped(text, columns), rows.join("\n"));
    }

    #[test]
    fn prose_wraps_at_blanks_below_its_beginning() {
        check("one two three", 8, &["one two", "three"]);
        check("  one two three", 9, &["  one two", "  three"]);
        check("rapport: it is gone for good", 20, &["rapport: it is gone", "         for good"]);
        check("       see /a/long/path/there", 22, &["       see", "    /a/long/path/there"]);
        check("       see /a/longer/path there", 16, &["       see", "    /a/longer/path", "    there"]);
        check("use `a b` now", 8, &["use", "`a b`", "now"]);
        check("and a gap:\n", 8, &["and a", "gap:", ""]);
    }

    #[test]
    fn a_command_stays_whole() {
        check("Go on: rapport resume x", 40, &["Go on: rapport resume x"]);
        check("  Go on with: rapport resume x-y-z", 24, &["  Go on with:", "    rapport resume x-y-z"]);
        check("         Go on: rapport resume x-y-z", 26, &["         Go on:", "    rapport resume x-y-z"]);
        check("    rapport answer x --question q1 VALUE", 20, &["    rapport answer x --question q1 VALUE"]);
        check("Install it with: npm install -g it", 20, &["Install it with:", "  npm install -g it"]);
        check("that is what rapport does here", 20, &["that is what rapport", "does here"]);
    }
}
