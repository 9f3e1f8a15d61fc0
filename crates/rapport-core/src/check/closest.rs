//! Finds the place in a file that is most like a FIND that does not occur in it, and says what differs.

use std::collections::BTreeMap;

use similar::TextDiff;

use crate::edit::contains;

/// How much is compared for one plan, in bytes. A plan with so many mistakes is made anew anyway.
const BUDGET: usize = 20_000_000;
/// Up to here texts are compared by character, above by line.
const SHORT: usize = 2_000;
/// How many lines of a diff are shown.
const MAX_LINES: usize = 40;
/// Below this similarity a place is not shown.
const MIN_PERCENT: u32 = 40;
/// What to do about blank lines around FIND.
const BLANK: &str = "It is there without the blank lines at the ends of FIND; leave those out.";

/// How many bytes may still be compared.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(BUDGET)
    }
}

/// The closest place.
pub(super) struct Closest {
    /// Where it begins, from 1.
    pub(super) line: usize,
    /// The similarity in percent.
    pub(super) percent: u32,
    /// What to do, where only white space is different.
    pub(super) spacing: Option<String>,
    /// What is different, from FIND to what is there.
    pub(super) diff: String,
}

pub(super) fn closest(text: &str, find: &str, path: &str, budget: &mut Budget) -> Option<Closest> {
    let cost = text.len() + find.len();
    budget.0 = budget.0.checked_sub(cost)?;
    let lines: Vec<_> = text.lines().collect();
    let wanted: Vec<_> = find.lines().collect();
    let starts = [voted(&lines, &wanted), alike(&lines, &wanted)];
    let places = starts.into_iter().flatten().map(|start| place(&lines, &wanted, start));
    let mut found: Vec<_> = places.map(|(from, to)| compared(&lines, &wanted, from, to, path)).collect();
    // The first of the best: where equally many are alike, it is where most lines are.
    found.reverse();
    let best =
        found.into_iter().max_by_key(|found| found.percent).filter(|best| best.percent >= MIN_PERCENT)?;
    let bare = find.trim_matches(['\n', '\r']);
    let blank = bare.len() < find.len() && !bare.is_empty() && contains(text, bare);
    let spacing = if blank { Some(BLANK.to_owned()) } else { best.spacing };
    Some(Closest { spacing, ..best })
}

fn compared(lines: &[&str], wanted: &[&str], from: usize, to: usize, path: &str) -> Closest {
    let there = lines.get(from..to).unwrap_or_default();
    let spacing = spacing(there, wanted);
    let (find, there) = (wanted.join("\n") + "\n", there.join("\n") + "\n");
    let percent = if spacing.is_some() { 100 } else { percent(&find, &there) };
    let line = from + 1;
    Closest { line, percent, spacing, diff: diff(&find, &there, &format!("{path}:{line}")) }
}

/// Where most of FIND would be at its place, if any of its lines is there.
fn voted(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        places.entry(line.trim()).or_default().push(index);
    }
    let mut votes = BTreeMap::<usize, usize>::new();
    for (at, line) in lines.iter().enumerate() {
        // A brace alone is everywhere and says little about the place, and so does a line that is many times in FIND.
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

/// Where the longest line of FIND has the line that is most like it.
fn alike(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let longest =
        wanted.iter().enumerate().max_by_key(|(index, line)| (line.trim().len(), usize::MAX - index));
    let (index, line) = longest.filter(|(_, line)| !line.trim().is_empty())?;
    let pairs = pairs(line);
    let alike = lines.iter().enumerate().map(|(at, line)| (common(&pairs, line), usize::MAX - at));
    let (_, reversed) = alike.max()?;
    Some((usize::MAX - reversed).saturating_sub(index))
}

/// The lines that FIND is about: from its first that is there to its last, and as many more as it has around those. So a
/// line that FIND leaves out, or has too much, is seen as that.
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

/// The pairs of bytes that follow each other in a line.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let mut pairs: Vec<_> = line.trim().as_bytes().windows(2).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// How many pairs two lines share, of a thousand.
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
    // What is not there is not wholly alike, however little is missing.
    ((ratio * 100.0) as u32).min(99)
}

/// What to do where all lines are there, with more or less indentation or with other white space.
fn spacing(there: &[&str], wanted: &[&str]) -> Option<String> {
    let both = || there.iter().zip(wanted);
    if there.len() != wanted.len() || !both().all(|(line, wanted)| squeezed(line) == squeezed(wanted)) {
        return None;
    }
    if !both().all(|(line, wanted)| line.trim() == wanted.trim()) {
        return Some(format!("Only white space is different{}; quote it as it is.", odd(there, wanted)));
    }
    if both().all(|(line, wanted)| line.trim_end() == wanted.trim_end()) {
        return Some(
            "Only the spaces at the ends of lines are different; quote them as they are.".to_owned(),
        );
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
        (true, false) => format!("It is indented by {} more; indent FIND and REPLACE so.", named(more)),
        (true, true) => format!("It is indented by {} less; indent FIND and REPLACE so.", named(less)),
        (false, _) => {
            let tabs = |lines: &[&str]| lines.iter().any(|line| lead(line).contains('\t'));
            let with = match (tabs(there), tabs(wanted)) {
                (true, false) => " (the file has tabs)",
                (false, true) => " (FIND has tabs, the file has none)",
                (true, true) | (false, false) => "",
            };
            format!("Only the indentation is different{with}; quote it as it is.")
        }
    })
}

/// A line whose white space is one space wherever there is any; what nobody sees is white space too.
pub(crate) fn squeezed(line: &str) -> String {
    let plain: String = line.chars().filter(|c| !is_unseen(*c)).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that look like nothing or like a space, and cannot be seen in a diff.
fn odd(there: &[&str], wanted: &[&str]) -> String {
    let named = |whose: &str, lines: &[&str]| {
        let odd = |c: &char| is_unseen(*c) || (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\r' | '\n'));
        let first = lines.iter().flat_map(|line| line.chars()).find(odd);
        first.map(|c| format!(" ({whose} has U+{:04X})", u32::from(c)))
    };
    named("the file", there).or_else(|| named("FIND", wanted)).unwrap_or_default()
}

fn is_unseen(c: char) -> bool {
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
