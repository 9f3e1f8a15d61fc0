//! Finds the place in a file that is most similar to a FIND that does not occur in it, and describes the difference.

use std::collections::BTreeMap;

use similar::TextDiff;

use crate::edit::contains;

/// The maximum number of bytes to compare for one plan. A plan with that many mistakes is rewritten anyway.
const BUDGET: usize = 20_000_000;
/// Texts up to this length are compared by character, longer ones by line.
const SHORT: usize = 2_000;
/// How many lines of a diff are shown.
const MAX_LINES: usize = 40;
/// Below this similarity a place is not shown.
const MIN_PERCENT: u32 = 40;
/// The hint about blank lines around FIND.
const BLANK: &str = "The file has it without the blank lines at the ends of FIND; leave those out.";

/// The number of bytes that may still be compared.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(BUDGET)
    }
}

/// The passage that is most similar to FIND.
pub(super) struct ClosestMatch {
    /// Where it begins, from 1.
    pub(super) line: usize,
    /// The similarity in percent.
    pub(super) percent: u32,
    /// The hint, if only white space differs.
    pub(super) spacing: Option<String>,
    /// A diff from FIND to the file.
    pub(super) diff: String,
}

pub(super) fn closest_match(text: &str, find: &str, path: &str, budget: &mut Budget) -> Option<ClosestMatch> {
    let cost = text.len() + find.len();
    budget.0 = budget.0.checked_sub(cost)?;
    let lines: Vec<_> = text.lines().collect();
    let wanted: Vec<_> = find.lines().collect();
    let starts = [voted(&lines, &wanted), alike(&lines, &wanted)];
    let places = starts.into_iter().flatten().map(|start| place(&lines, &wanted, start));
    let mut found: Vec<_> = places.map(|(from, to)| compared(&lines, &wanted, from, to, path)).collect();
    // Of equal candidates prefer the first: there most lines match.
    found.reverse();
    let best =
        found.into_iter().max_by_key(|found| found.percent).filter(|best| best.percent >= MIN_PERCENT)?;
    let bare = find.trim_matches(['\n', '\r']);
    let blank = bare.len() < find.len() && !bare.is_empty() && contains(text, bare);
    let spacing = if blank { Some(BLANK.to_owned()) } else { best.spacing };
    Some(ClosestMatch { spacing, ..best })
}

fn compared(lines: &[&str], wanted: &[&str], from: usize, to: usize, path: &str) -> ClosestMatch {
    let there = lines.get(from..to).unwrap_or_default();
    let spacing = spacing(there, wanted);
    let (find, there) = (wanted.join("\n") + "\n", there.join("\n") + "\n");
    let percent = if spacing.is_some() { 100 } else { percent(&find, &there) };
    let line = from + 1;
    ClosestMatch { line, percent, spacing, diff: diff(&find, &there, &format!("{path}:{line}")) }
}

/// The line at which most lines of FIND would match, if any of them occurs.
fn voted(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        places.entry(line.trim()).or_default().push(index);
    }
    let mut votes = BTreeMap::<usize, usize>::new();
    for (at, line) in lines.iter().enumerate() {
        // A lone brace occurs everywhere and says little about the place, and so does a line that FIND repeats.
        let weight = 1 + line.bytes().filter(u8::is_ascii_alphanumeric).count();
        for index in places.get(line.trim()).into_iter().flatten().take(8) {
            if let Some(start) = at.checked_sub(*index) {
                *votes.entry(start).or_default() += weight;
            }
        }
    }
    let most = votes.into_iter().max_by_key(|(start, votes)| (*votes, usize::MAX - start));
    most.map(|(start, _)| start)
}

/// The place at which the longest line of FIND meets the most similar line of the file.
fn alike(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let longest =
        wanted.iter().enumerate().max_by_key(|(index, line)| (line.trim().len(), usize::MAX - index));
    let (index, line) = longest.filter(|(_, line)| !line.trim().is_empty())?;
    let pairs = pairs(line);
    let alike = lines.iter().enumerate().map(|(at, line)| (common(&pairs, line), usize::MAX - at));
    let (_, reversed) = alike.max()?;
    Some((usize::MAX - reversed).saturating_sub(index))
}

/// The range of lines that FIND is about: from its first matching line to its last, plus as many as FIND has around
/// those. Thus the diff shows lines that FIND lacks or has in excess.
fn place(lines: &[&str], wanted: &[&str], start: usize) -> (usize, usize) {
    let slack = (wanted.len() / 2 + 2).min(MAX_LINES);
    let from = start.saturating_sub(slack);
    let to = lines.len().min(start + wanted.len() + slack);
    let near = lines.get(from..to).unwrap_or_default();
    let trimmed = |lines: &[&'_ str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let (old, new) = (trimmed(wanted), trimmed(near));
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let equal = |op: &&similar::DiffOp| {
        op.tag() == similar::DiffTag::Equal
            && op.new_range().any(|at| new.get(at).is_some_and(|line| line.len() > 1))
    };
    let ends = (ops.iter().find(equal), ops.iter().rev().find(equal));
    let (Some(first), Some(last)) = ends else { return (start, lines.len().min(start + wanted.len())) };
    let above = first.new_range().start.saturating_sub(first.old_range().start);
    let below = last.new_range().end + (wanted.len() - last.old_range().end);
    (from + above, lines.len().min(from + below))
}

/// The byte pairs (bigrams) of a line.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let mut pairs: Vec<_> = line.trim().as_bytes().windows(2).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// The share of byte pairs that two lines have in common, per mille.
fn common(wanted: &[[u8; 2]], line: &str) -> usize {
    let line = pairs(line);
    let (mut a, mut b, mut shared) = (0, 0, 0_usize);
    while let (Some(one), Some(other)) = (wanted.get(a), line.get(b)) {
        match one.cmp(other) {
            std::cmp::Ordering::Less => a += 1,
            std::cmp::Ordering::Greater => b += 1,
            std::cmp::Ordering::Equal => (a, b, shared) = (a + 1, b + 1, shared + 1),
        }
    }
    2_000 * shared / (wanted.len() + line.len()).max(1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a ratio is between 0 and 1")]
fn percent(find: &str, there: &str) -> u32 {
    let ratio = if find.len().max(there.len()) <= SHORT {
        TextDiff::from_chars(find, there).ratio()
    } else {
        TextDiff::from_lines(find, there).ratio()
    };
    // The text does not occur, so it is never 100 % similar, however small the difference.
    ((ratio * 100.0) as u32).min(99)
}

/// The hint if all lines match except for indentation or other white space.
fn spacing(there: &[&str], wanted: &[&str]) -> Option<String> {
    let both = || there.iter().zip(wanted);
    if there.len() != wanted.len() || !both().all(|(line, wanted)| squeezed(line) == squeezed(wanted)) {
        return None;
    }
    if !both().all(|(line, wanted)| line.trim() == wanted.trim()) {
        return Some(format!("Only white space differs{}; quote it exactly.", odd(there, wanted)));
    }
    if both().all(|(line, wanted)| line.trim_end() == wanted.trim_end()) {
        return Some("Only the spaces at the ends of lines differ; quote them exactly.".to_owned());
    }
    let solid = there.iter().zip(wanted).filter(|(line, _)| !line.trim().is_empty());
    let mut shifts = solid.map(|(line, wanted)| (lead(line), lead(wanted)));
    let mut compared = shifts.clone().filter_map(|(line, wanted)| {
        let more = line.strip_suffix(wanted).map(|more| (more, ""));
        more.or_else(|| wanted.strip_suffix(line).map(|less| ("", less)))
    });
    let (more, less) = compared.next().unwrap_or_default();
    let constant = shifts.all(|(line, wanted)| {
        line.strip_suffix(wanted) == Some(more) && less.is_empty()
            || wanted.strip_suffix(line) == Some(less) && more.is_empty()
    });
    Some(match (constant, more.is_empty()) {
        (true, false) => format!("It is indented by {} more; indent FIND and REPLACE alike.", named(more)),
        (true, true) => format!("It is indented by {} less; indent FIND and REPLACE alike.", named(less)),
        (false, _) => {
            let tabs = |lines: &[&str]| lines.iter().any(|line| lead(line).contains('\t'));
            let with = match (tabs(there), tabs(wanted)) {
                (true, false) => " (the file has tabs)",
                (false, true) => " (FIND has tabs, the file has none)",
                (true, true) | (false, false) => "",
            };
            format!("Only the indentation differs{with}; quote it exactly.")
        }
    })
}

/// A line with every run of white space as one space; invisible characters are white space too.
fn squeezed(line: &str) -> String {
    let plain: String = line.chars().filter(|c| !is_unseen(*c)).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names characters that are invisible or look like a space, which a diff does not show.
fn odd(there: &[&str], wanted: &[&str]) -> String {
    let named = |whose: &str, lines: &[&str]| {
        let odd = |c: &char| is_unseen(*c) || (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\r' | '\n'));
        let first = lines.iter().flat_map(|line| line.chars()).find(odd);
        first.map(|c| format!(" ({whose} has U+{:04X})", u32::from(c)))
    };
    named("the file", there).or_else(|| named("FIND", wanted)).unwrap_or_default()
}

pub(crate) fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn lead(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn named(space: &str) -> String {
    let tabs = space.bytes().filter(|byte| *byte == b'\t').count();
    let spaces = space.len() - tabs;
    let count = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    match (tabs, spaces) {
        (0, spaces) => count(spaces, "space"),
        (tabs, 0) => count(tabs, "tab"),
        (tabs, spaces) => format!("{} and {}", count(tabs, "tab"), count(spaces, "space")),
    }
}

fn diff(find: &str, there: &str, place: &str) -> String {
    let diff = TextDiff::from_lines(find, there);
    let text = diff.unified_diff().context_radius(2).header("FIND", place).to_string();
    let mut lines: Vec<_> = text.lines().take(MAX_LINES + 1).collect();
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push("...");
    }
    lines.join("\n")
}
