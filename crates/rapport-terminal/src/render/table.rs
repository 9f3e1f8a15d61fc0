//! Tables of Markdown, with their columns aligned. Every cell is shown as it is written.

use super::super::text::{MEASURE, Tone};
use super::prose;

/// The number of rows of the table with which these lines begin; none if they begin with something else.
pub(super) fn rows(lines: &[String]) -> usize {
    let is_row = |line: &&String| line.trim_start().starts_with('|');
    match lines {
        [_, rule, ..] if is_rule(rule) => lines.iter().take_while(is_row).count(),
        _ => 0,
    }
}

/// The rows of a table, padded. A table that is too wide to be read in columns stays as it is.
pub(super) fn aligned(lines: &[String]) -> Vec<String> {
    let rows: Vec<Vec<&str>> = lines.iter().map(|line| cells(line)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        let cells = rows.iter().filter(|row| !is_rule_of(row)).filter_map(|row| row.get(column));
        cells.map(|cell| width_of(cell)).max().unwrap_or_default().max(3)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    if widths.iter().map(|width| width + 3).sum::<usize>() + 1 > MEASURE {
        return lines.to_vec();
    }
    rows.iter().map(|row| drawn(row, &widths)).collect()
}

/// The width of a cell as it is shown: the signs around bold words are not.
fn width_of(cell: &str) -> usize {
    prose::in_tones(cell, Tone::Text).width()
}

fn drawn(row: &[&str], widths: &[usize]) -> String {
    let mut out = String::from("|");
    for (column, wide) in widths.iter().enumerate() {
        let cell = row.get(column).copied().unwrap_or_default();
        let cell = if is_rule_of(row) { rule(cell, *wide) } else { cell.to_owned() };
        let gap = " ".repeat(wide.saturating_sub(width_of(&cell)));
        out.push_str(&format!(" {cell}{gap} |"));
    }
    out
}

/// A piece of the rule below the heading, which says by colons on which side its column is aligned.
fn rule(cell: &str, wide: usize) -> String {
    let (left, right) = (cell.starts_with(':'), cell.ends_with(':'));
    let dashes = "-".repeat(wide - usize::from(left) - usize::from(right));
    format!("{}{dashes}{}", if left { ":" } else { "" }, if right { ":" } else { "" })
}

fn is_rule(line: &str) -> bool {
    line.trim_start().starts_with('|') && is_rule_of(&cells(line))
}

fn is_rule_of(row: &[&str]) -> bool {
    let is_dashes = |cell: &&str| cell.contains('-') && cell.chars().all(|c| c == '-' || c == ':');
    !row.is_empty() && row.iter().all(is_dashes)
}

/// The cells of a row. A bar after a backslash is part of a cell.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|');
    let (mut cells, mut start, mut before) = (Vec::new(), 0, ' ');
    for (at, c) in line.char_indices() {
        if c == '|' && before != '\\' {
            cells.push(line[start..at].trim());
            start = at + 1;
        }
        before = c;
    }
    if !line[start..].trim().is_empty() {
        cells.push(line[start..].trim());
    }
    cells
}
