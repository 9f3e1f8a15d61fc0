//! Matches a FIND that differs from the file in white space alone: indentation, blank lines, spaces at the ends of lines
//! and between tokens. REPLACE then gets the file's white space.
//!
//! A match is accepted only if no other place in the file has the same text without white space, if it differs only
//! where white space separates nothing, and if it determines the indentation of REPLACE.

mod indentation;

use std::collections::BTreeMap;
use std::ops::Range;

use indentation::Indentation;

use super::{MAX_PLACES, Mismatch, places};
use crate::check::is_unseen;

/// How many words of FIND are searched for before its text is.
const MOST_WORDS: usize = 64;

/// How many places are looked at. A text that repeats itself more often than this is no place.
const MOST_CANDIDATES: usize = 1_000;

/// The only match of a FIND, and its replacement.
pub(super) struct Fitted {
    /// The bytes that are replaced.
    pub(super) range: Range<usize>,
    /// The text that replaces them.
    pub(super) replace: String,
    /// The line it begins on, from 1.
    pub(super) line: usize,
}

/// The only place that contains the text of FIND, ignoring white space.
pub(super) fn fit(text: &str, find: &str, replace: &str) -> Result<Fitted, Mismatch> {
    let wanted = Solid::of(find).text;
    // If the edit changes only white space, white space matters.
    if wanted.is_empty() || wanted == Solid::of(replace).text || !has_words(text, find) {
        return Err(Mismatch::Missing);
    }
    let found = found(text, &wanted);
    match found.as_slice() {
        [] => Err(Mismatch::Missing),
        [place] => {
            let matched = Matched::new(text, place.clone(), find);
            matched.and_then(|matched| matched.fitted(text, replace)).ok_or(Mismatch::Missing)
        }
        several => Err(Mismatch::SeveralAlike {
            lines: several.iter().map(|place| line_number(text, place.start)).collect(),
        }),
    }
}

/// Cheapest test first: whether a word of FIND is nowhere in the file. Unknown, hence true, if invisible characters may
/// be inside of words.
fn has_words(text: &str, find: &str) -> bool {
    let mut words = find.split(|c| !is_word(c)).filter(|word| !word.is_empty()).take(MOST_WORDS);
    !text.is_ascii() || words.all(|word| !word.is_ascii() || text.contains(word))
}

/// The places that have this text, ignoring white space, and begin and end with a whole word.
fn found(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let solid = Solid::of(text);
    let range = |at: usize| {
        let (start, last) = (*solid.places.get(at)?, *solid.places.get(at + wanted.len() - 1)?);
        let end = last + text.get(last..)?.chars().next()?.len_utf8();
        (is_boundary(text, start) && is_boundary(text, end)).then_some(start..end)
    };
    places(&solid.text, wanted).take(MOST_CANDIDATES).filter_map(range).take(MAX_PLACES).collect()
}

/// A text without its white space.
struct Solid {
    text: String,
    /// Where the character of each byte begins in the original.
    places: Vec<usize>,
}

impl Solid {
    fn of(original: &str) -> Self {
        let mut solid = Self { text: String::new(), places: Vec::new() };
        for (at, c) in original.char_indices().filter(|(_, c)| !is_blank(*c)) {
            solid.text.push(c);
            solid.places.extend(std::iter::repeat_n(at, c.len_utf8()));
        }
        solid
    }
}

/// A place that has the text of FIND with other white space.
struct Matched<'t> {
    range: Range<usize>,
    /// FIND's lines and the file's, without blank ones. The first and the last of the file are whole, also where the
    /// place is only a part of them.
    lines: Vec<(&'t str, &'t str)>,
    /// Whether the place begins with its first line, and ends with its last.
    is_whole: (bool, bool),
    /// FIND's white space before its first and after its last character.
    around: (&'t str, &'t str),
}

impl<'t> Matched<'t> {
    /// `None` if the difference may mean something.
    fn new(text: &'t str, place: Range<usize>, find: &'t str) -> Option<Self> {
        let solid = find.trim_matches(is_blank);
        let before = find.len() - find.trim_start_matches(is_blank).len();
        let around = (find.get(..before)?, find.get(before + solid.len()..)?);
        // A byte order mark belongs to the file, not to its first line.
        let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let line_start = text.get(..place.start)?.rfind('\n').map_or(first, |at| at + 1);
        let line_end = text.get(place.end..)?.find('\n').map_or(text.len(), |at| place.end + at);
        let (left, right) = (text.get(line_start..place.start)?, text.get(place.end..line_end)?);
        if !is_harmless(left, text.get(place.clone())?, solid) {
            return None;
        }
        let is_whole = (left.chars().all(is_blank), right.chars().all(is_blank));
        let solid_lines = |text: &'t str| text.split('\n').map(unreturned).filter(|line| !is_empty(line));
        let lines: Vec<_> = solid_lines(find).zip(solid_lines(text.get(line_start..line_end)?)).collect();
        let start = if is_whole.0 { line_start } else { place.start };
        let end = if is_whole.1 {
            line_start + unreturned(text.get(line_start..line_end)?).len()
        } else {
            place.end
        };
        Some(Self { range: start..end, lines, is_whole, around })
    }

    /// The replacement, without the blank lines that FIND has around its text. `None` if its indentation is unknown.
    fn fitted(&self, text: &str, replace: &str) -> Option<Fitted> {
        let line = line_number(text, self.range.start);
        if replace.is_empty() {
            return Some(Fitted { range: self.range.clone(), replace: String::new(), line });
        }
        let mut brought: Vec<&str> = replace.split('\n').map(unreturned).collect();
        self.trim(&mut brought)?;
        let pairs = self.lines.get(usize::from(!self.is_whole.0)..)?;
        let indentation = Indentation::between(pairs)?;
        let kept = self.kept();
        let written = brought.iter().enumerate().map(|(at, line)| match kept.get(line) {
            _ if is_empty(line) || at == 0 && !self.is_whole.0 => Some((*line).to_owned()),
            Some(Some(there)) => Some((*there).to_owned()),
            Some(None) | None => indentation.of_file(line),
        });
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let replace = written.collect::<Option<Vec<_>>>()?.join(end);
        Some(Fitted { range: self.range.clone(), replace, line })
    }

    /// Removes from REPLACE what FIND has around its text and the place has not: blank lines, or within a line the same
    /// white space.
    fn trim(&self, brought: &mut Vec<&str>) -> Option<()> {
        let (above, below) = (self.around.0.matches('\n').count(), self.around.1.matches('\n').count());
        if self.is_whole.1 {
            for _ in 0..below {
                brought.pop_if(|line| is_empty(line));
            }
        } else {
            let last = brought.last_mut()?;
            *last = last.strip_suffix(self.around.1)?;
        }
        if self.is_whole.0 {
            let first = brought.iter().take(above).take_while(|line| is_empty(line)).count();
            brought.drain(..first);
        } else {
            let first = brought.first_mut()?;
            *first = first.strip_prefix(self.around.0)?;
        }
        Some(())
    }

    /// Maps whole lines of FIND to the file's; `None` if one line of FIND has two forms in the file. REPLACE keeps these
    /// lines as they are.
    fn kept(&self) -> BTreeMap<&'t str, Option<&'t str>> {
        let mut kept = BTreeMap::new();
        let from = usize::from(!self.is_whole.0);
        let to = self.lines.len() - usize::from(!self.is_whole.1);
        for (wanted, line) in self.lines.get(from..to).unwrap_or_default() {
            let known = kept.entry(*wanted).or_insert(Some(*line));
            if *known != Some(*line) {
                *known = None;
            }
        }
        kept
    }
}

/// Whether two texts with the same characters differ only in white space that means nothing: there are the same lines,
/// and within a line neither a quotation nor the border of a word differs. `left` is the file's text before, in the same
/// line.
fn is_harmless(left: &str, there: &str, wanted: &str) -> bool {
    let mut quotes = Quotes::default();
    left.chars().for_each(|c| quotes.pass(c));
    let mut before = None;
    for ((gap, c), (wanted_gap, _)) in gaps(there).zip(gaps(wanted)) {
        let breaks = gap.contains('\n');
        if breaks != wanted_gap.contains('\n') {
            return false;
        }
        let is_equal = if quotes.is_open() {
            gap == wanted_gap
        } else {
            let is_apart = |gap: &str| gap.chars().any(|c| !is_unseen(c));
            is_apart(gap) == is_apart(wanted_gap) || before.is_none_or(|before| may_touch(before, c))
        };
        if !breaks && !is_equal {
            return false;
        }
        quotes = if breaks { Quotes::default() } else { quotes };
        gap.chars().chain([c]).for_each(|c| quotes.pass(c));
        before = Some(c);
    }
    true
}

/// Each character that is not white space, after the white space before it.
fn gaps(text: &str) -> impl Iterator<Item = (&str, char)> {
    let mut from = 0;
    let solid = text.char_indices().filter(|(_, c)| !is_blank(*c));
    solid.map(move |(at, c)| {
        let gap = text.get(from..at).unwrap_or_default();
        from = at + c.len_utf8();
        (gap, c)
    })
}

/// Whether white space between two characters separates nothing. Between words it does, and between signs that could
/// form one operator.
fn may_touch(before: char, after: char) -> bool {
    let is_bracket = |c: char| "()[]{},;".contains(c);
    is_word(before) != is_word(after) || is_bracket(before) || is_bracket(after)
}

/// The quotation marks of a line so far. An odd number of any of them counts as an open quotation: which of them are
/// apostrophes depends on the language.
#[derive(Clone, Copy, Default)]
struct Quotes {
    odd: [bool; 3],
    is_escaped: bool,
}

impl Quotes {
    fn pass(&mut self, c: char) {
        if !self.is_escaped
            && let Some(kind) = "\"'`".find(c)
        {
            self.odd[kind] = !self.odd[kind];
        }
        self.is_escaped = c == '\\' && !self.is_escaped;
    }

    fn is_open(self) -> bool {
        self.odd.contains(&true)
    }
}

/// Whether no word goes on across this place.
fn is_boundary(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    !(before.ends_with(is_word) && after.starts_with(is_word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// White space, and characters that nobody sees.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_unseen(c)
}

fn is_empty(line: &str) -> bool {
    line.chars().all(is_blank)
}

fn unreturned(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn line_number(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
