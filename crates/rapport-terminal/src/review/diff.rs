//! The difference of two texts as numbered lines.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::super::text::{Line, Tone};

/// The number of unchanged lines around a change.
const AROUND: usize = 3;
/// The time limit for a diff, after which it may not be minimal.
const PATIENCE: Duration = Duration::from_millis(500);

/// The changes for people: the old line number, the new one, and a sign.
pub(super) fn lines(old: &str, new: &str) -> Vec<Line> {
    let diff = compare(old, new);
    let digits = old.lines().count().max(new.lines().count()).to_string().len().max(3);
    let number =
        |index: Option<usize>| index.map_or_else(|| " ".repeat(digits), |at| format!("{:>digits$}", at + 1));
    let mut lines = Vec::new();
    for group in diff.grouped_ops(AROUND) {
        if !lines.is_empty() {
            lines.push(Line::new(Tone::Dim, &format!("{:>digits$}", "⋮")));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, tone) = match change.tag() {
                ChangeTag::Equal => ("  ", Tone::Text),
                ChangeTag::Insert => ("+ ", Tone::Good),
                ChangeTag::Delete => ("- ", Tone::Bad),
            };
            let numbers = format!("{} {}  ", number(change.old_index()), number(change.new_index()));
            let text = change.value().trim_end_matches(['\n', '\r']);
            let line = Line::new(Tone::Dim, &numbers).and(tone, sign).and(tone, text);
            lines.push(line.hanging(2 * digits + 5));
        }
    }
    if lines.is_empty() {
        lines.push(Line::new(Tone::Dim, "Nothing changes."));
    }
    lines
}

fn compare<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().timeout(PATIENCE).diff_lines(old, new)
}
