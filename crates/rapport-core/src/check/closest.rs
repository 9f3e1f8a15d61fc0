//! The place in a file that is most like a FIND that is not there, and what is different.

use std::collections::BTreeMap;

use similar::TextDiff;

/// How much is compared for one plan, in bytes. A plan with so many mistakes is made anew anyway.
const BUDGET: usize = 20_000_000;
/// Up to here texts are compared by character, above by line.
const SHORT: usize = 2_000;
/// As many lines of a diff are shown.
const MAX_LINES: usize = 40;
/// What is less alike is not worth showing.
const MIN_PERCENT: u32 = 40;

/// What may still be compared.
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
    /// How much alike it is.
    pub(super) percent: u32,
    /// What to do, where only white space is different.
    pub(super) shift: Option<String>,
    /// What is different, from FIND to what is there.
    pub(super) diff: String,
}

pub(super) fn closest(text: &str, find: &str, path: &str, budget: &mut Budget) -> Option<Closest> {
    let cost = text.len() + find.len();
    budget.0 = budget.0.checked_sub(cost)?;
    let lines: Vec<_> = text.lines().collect();
    let wanted: Vec<_> = find.lines().collect();
    let start = start(&lines, &wanted)?;
    let there = lines.get(start..lines.len().min(start + wanted.len()))?;
    let shift = shift(there, &wanted);
    let (find, there) = (wanted.join("\n") + "\n", there.join("\n") + "\n");
    let percent = if shift.is_some() { 100 } else { percent(&find, &there) };
    if percent < MIN_PERCENT {
        return None;
    }
    let diff = diff(&find, &there, &format!("{path}:{}", start + 1));
    Some(Closest { line: start + 1, percent, shift, diff })
}

/// Where most lines of FIND would be at their place; where none is, the line most like its first.
fn start(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        places.entry(line.trim()).or_default().push(index);
    }
    let mut votes = BTreeMap::<usize, usize>::new();
    for (at, line) in lines.iter().enumerate() {
        // A line that is many times in FIND says little about the place.
        for index in places.get(line.trim()).into_iter().flatten().take(8) {
            if let Some(start) = at.checked_sub(*index) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let voted = votes.into_iter().max_by_key(|(start, votes)| (*votes, usize::MAX - start));
    voted.map(|(start, _)| start).or_else(|| {
        let index = wanted.iter().position(|line| !line.trim().is_empty())?;
        let pairs = pairs(wanted.get(index)?);
        let alike = lines.iter().enumerate().map(|(at, line)| (common(&pairs, line), usize::MAX - at));
        let (_, reversed) = alike.max()?;
        (usize::MAX - reversed).checked_sub(index).or(Some(0))
    })
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

/// Whether all lines are there with the same indentation more or less, or with other white space.
fn shift(there: &[&str], wanted: &[&str]) -> Option<String> {
    let same = there.len() == wanted.len()
        && there.iter().zip(wanted).all(|(line, wanted)| line.trim() == wanted.trim());
    if !same {
        return None;
    }
    if there.iter().zip(wanted).all(|(line, wanted)| line.trim_end() == wanted.trim_end()) {
        return Some(
            "Only the spaces at the ends of lines are different; quote them as they are.".to_owned(),
        );
    }
    let solid = there.iter().zip(wanted).filter(|(line, _)| !line.trim().is_empty());
    let mut shifts = solid.map(|(line, wanted)| (lead(line), lead(wanted)));
    let (more, less) = shifts.clone().find_map(|(line, wanted)| {
        let more = line.strip_suffix(wanted).map(|more| (more, ""));
        more.or_else(|| wanted.strip_suffix(line).map(|less| ("", less)))
    })?;
    let constant = shifts.all(|(line, wanted)| {
        line.strip_suffix(wanted) == Some(more) && less.is_empty()
            || wanted.strip_suffix(line) == Some(less) && more.is_empty()
    });
    Some(match (constant, more.is_empty()) {
        (true, false) => format!("It is indented by {} more; indent FIND and REPLACE so.", named(more)),
        (true, true) => format!("It is indented by {} less; indent FIND and REPLACE so.", named(less)),
        (false, _) => "Only the indentation is different; quote it as it is.".to_owned(),
    })
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
