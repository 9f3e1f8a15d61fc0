//! Matches a FIND that differs from the file in white space alone: indentation, tabs for spaces, spaces at the ends of
//! lines, blank lines around it. REPLACE then gets the file's white space.
//!
//! A match is accepted only if it is the only one, and only if it determines the indentation of REPLACE.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{MAX_PLACES, Mismatch};
use crate::check::squeezed;

/// The numbers of spaces that a tab may stand for, in order of preference.
const UNITS: [usize; 4] = [4, 2, 8, 3];

/// How many words of FIND are searched for before its lines are.
const MOST_WORDS: usize = 64;

/// The only match of a FIND, and its replacement.
pub(super) struct Fitted {
    /// The bytes that are replaced.
    pub(super) range: Range<usize>,
    /// The text that replaces them.
    pub(super) replace: String,
    /// The line it begins on, from 1.
    pub(super) line: usize,
}

/// How the indentation of the file differs from that of FIND.
enum Shift<'t> {
    Same,
    More(&'t str),
    Less(&'t str),
    /// The file has a tab for this many spaces.
    Tabs(usize),
    /// The file has this many spaces for a tab.
    Spaces(usize),
}

/// The only place that contains the lines of FIND, ignoring white space.
pub(super) fn fit(text: &str, find: &str, replace: &str) -> Result<Fitted, Mismatch> {
    // If the edit changes only white space, white space matters.
    if squeezed(find) == squeezed(replace) {
        return Err(Mismatch::Missing);
    }
    let (wanted, above, below) = solid(find.split('\n').map(unreturned).collect());
    // Cheapest test first: a word of FIND that is nowhere in the file.
    if !wanted
        .iter()
        .flat_map(|line| line.split_whitespace())
        .take(MOST_WORDS)
        .all(|word| may_be_in(text, word))
    {
        return Err(Mismatch::Missing);
    }
    let lines = lines(text);
    let first = match alike(&lines, &wanted).as_slice() {
        [] => return Err(Mismatch::Missing),
        [only] => *only,
        several => return Err(Mismatch::SeveralAlike { lines: several.iter().map(|at| at + 1).collect() }),
    };
    fitted(text, &lines, (first, &wanted), (replace, above, below)).ok_or(Mismatch::Missing)
}

/// The replacement at the only match, whose lines are these; without the blank lines that FIND has too many.
fn fitted(
    text: &str,
    lines: &[(usize, &str)],
    (first, wanted): (usize, &[&str]),
    (replace, above, below): (&str, usize, usize),
) -> Option<Fitted> {
    let there = lines.get(first..first + wanted.len())?;
    let shift = shift(there, wanted)?;
    let kept = kept(there, wanted);
    let mut brought: Vec<&str> = replace.split('\n').map(unreturned).collect();
    let is_empty = replace.is_empty();
    trim_blank(&mut brought, above, below);
    let written = brought.iter().map(|line| match kept.get(line) {
        _ if line.trim().is_empty() => Some((*line).to_owned()),
        Some(Some(there)) => Some((*there).to_owned()),
        Some(None) | None => shifted(line, &shift),
    });
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let replace = if is_empty { String::new() } else { written.collect::<Option<Vec<_>>>()?.join(end) };
    let (start, last) = (there.first()?, there.last()?);
    Some(Fitted { range: start.0..last.0 + last.1.len(), replace, line: first + 1 })
}

/// Whether a text may contain a word. Unknown, hence true, if the text has invisible characters.
fn may_be_in(text: &str, word: &str) -> bool {
    !word.is_ascii() || !text.is_ascii() || text.contains(word)
}

/// The lines of a text without their ends, and where each begins.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let pieces = text.split('\n').map(|line| {
        let start = at;
        at += line.len() + 1;
        (start, unreturned(line))
    });
    pieces.collect()
}

fn unreturned(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines without leading and trailing blank ones, and the numbers of those.
fn solid(mut lines: Vec<&str>) -> (Vec<&str>, usize, usize) {
    let is_blank = |line: &&&str| line.trim().is_empty();
    let above = lines.iter().take_while(is_blank).count();
    let below = lines.iter().rev().take_while(is_blank).count().min(lines.len() - above);
    trim_blank(&mut lines, above, below);
    (lines, above, below)
}

/// Removes up to this many blank lines at both ends.
fn trim_blank(lines: &mut Vec<&str>, above: usize, below: usize) {
    for _ in 0..below {
        lines.pop_if(|line| line.trim().is_empty());
    }
    let first = lines.iter().take(above).take_while(|line| line.trim().is_empty()).count();
    lines.drain(..first);
}

/// The positions of these lines, ignoring white space.
fn alike(lines: &[(usize, &str)], wanted: &[&str]) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let fits = |window: &[(usize, &str)]| {
        window.iter().zip(wanted).all(|((_, line), wanted)| is_alike(line, wanted))
    };
    let places = lines.windows(wanted.len()).enumerate().filter(|(_, window)| fits(window));
    places.map(|(at, _)| at).take(MAX_PLACES).collect()
}

/// Whether two lines are equal except for white space. Invisible characters count as white space.
fn is_alike(line: &str, wanted: &str) -> bool {
    if line.is_ascii() && wanted.is_ascii() {
        return line.split_ascii_whitespace().eq(wanted.split_ascii_whitespace());
    }
    squeezed(line) == squeezed(wanted)
}

/// The difference in indentation, if it is the same for all lines.
fn shift<'t>(there: &[(usize, &'t str)], wanted: &[&'t str]) -> Option<Shift<'t>> {
    let pairs: Vec<(&str, &str)> = there
        .iter()
        .zip(wanted)
        .filter(|((_, line), _)| !line.trim().is_empty())
        .map(|((_, line), wanted)| (lead(line), lead(wanted)))
        .collect();
    let all = |fits: &dyn Fn(&str, &str) -> bool| pairs.iter().all(|(line, wanted)| fits(line, wanted));
    let (line, wanted) = pairs.first()?;
    if all(&|line, wanted| line == wanted) {
        return Some(Shift::Same);
    }
    if let Some(more) = line.strip_suffix(wanted).filter(|more| !more.is_empty())
        && all(&|line, wanted| line.strip_suffix(wanted) == Some(more))
    {
        return Some(Shift::More(more));
    }
    if let Some(less) = wanted.strip_suffix(line).filter(|less| !less.is_empty())
        && all(&|line, wanted| wanted.strip_suffix(line) == Some(less))
    {
        return Some(Shift::Less(less));
    }
    UNITS.into_iter().find_map(|unit| {
        let tabs = all(&|line, wanted| !wanted.contains('\t') && tabbed(wanted, unit) == line);
        let spaces = all(&|line, wanted| !line.contains('\t') && tabbed(line, unit) == wanted);
        if tabs { Some(Shift::Tabs(unit)) } else { spaces.then_some(Shift::Spaces(unit)) }
    })
}

/// Maps lines of FIND to the file's; `None` if one line of FIND has two forms in the file. REPLACE keeps these lines as
/// they are.
fn kept<'t>(there: &[(usize, &'t str)], wanted: &[&'t str]) -> BTreeMap<&'t str, Option<&'t str>> {
    let mut kept = BTreeMap::new();
    for ((_, line), wanted) in there.iter().zip(wanted) {
        let known = kept.entry(*wanted).or_insert(Some(*line));
        if *known != Some(line) {
            *known = None;
        }
    }
    kept
}

/// A line of REPLACE with the indentation of the file.
fn shifted(line: &str, shift: &Shift<'_>) -> Option<String> {
    let (before, rest) = (lead(line), line.trim_start());
    match shift {
        Shift::Same => Some(line.to_owned()),
        Shift::More(more) => Some(format!("{more}{line}")),
        Shift::Less(less) => line.strip_prefix(less).map(str::to_owned),
        Shift::Tabs(unit) => Some(format!("{}{rest}", tabbed(before, *unit))),
        Shift::Spaces(unit) => Some(format!("{}{rest}", before.replace('\t', &" ".repeat(*unit)))),
    }
}

/// Converts an indentation of spaces to tabs, with the remaining spaces after them.
fn tabbed(lead: &str, unit: usize) -> String {
    let spaces = lead.replace('\t', &" ".repeat(unit)).len();
    "\t".repeat(spaces / unit) + &" ".repeat(spaces % unit)
}

fn lead(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}
