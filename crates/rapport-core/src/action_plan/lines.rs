//! Classifies the lines of a plan.
//!
//! A CommonMark parser is not enough: models put fences into fences of the same length, and then CommonMark ends the
//! outer one too early and takes the rest of a file for headings. So the lines are classified one by one, and
//! `fence.rs` uses what it knows about plans to find where a fence ends.

use std::borrow::Cow;

use super::inline;
use super::kinds::{KindRow, ROWS};

/// How a line begins that begins an HTML comment.
pub(super) const COMMENT: &str = "<!--";

/// The sections a plan may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Rationale,
    ActiveContext,
    Memos,
    ActionPlan,
}

/// A text, cut into lines.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Every line that may open or close a fence, and for each mark the length of the longest bare fence from there on.
    fences: Vec<(usize, [usize; 2])>,
    /// The lines that begin an action or a section, unless they are inside a fence.
    boundaries: Vec<usize>,
    /// The number of bytes read, for the test of linear time.
    #[cfg(test)]
    looked: std::cell::Cell<usize>,
}

/// The kind of a line, looked at on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'t> {
    Blank,
    Rule,
    Heading { level: usize, text: &'t str },
    Fence(Fence<'t>),
    Text,
}

/// A line that opens or closes a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence<'t> {
    pub(super) mark: u8,
    pub(super) length: usize,
    pub(super) indent: usize,
    pub(super) info: &'t str,
}

/// The text to parse: without a byte order mark, and with LF line ends if all of it has CRLF. A text with both keeps
/// them, because the difference may be intended.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    let carried = text.matches("\r\n").count();
    if ends > 0 && ends == carried { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Lines<'t> {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        let mut lines = Lines {
            text,
            starts,
            fences: Vec::new(),
            boundaries: Vec::new(),
            #[cfg(test)]
            looked: Default::default(),
        };
        for at in 0..lines.len() {
            match lines.kind(at) {
                Kind::Fence(_) => lines.fences.push((at, [0, 0])),
                Kind::Heading { level, text } if is_boundary(level, text) => lines.boundaries.push(at),
                Kind::Blank | Kind::Rule | Kind::Heading { .. } | Kind::Text => {}
            }
        }
        let mut longest = [0, 0];
        for index in (0..lines.fences.len()).rev() {
            if let Kind::Fence(fence) = lines.kind(lines.fences[index].0)
                && fence.info.is_empty()
            {
                let slot = &mut longest[usize::from(fence.mark == b'~')];
                *slot = fence.length.max(*slot);
            }
            lines.fences[index].1 = longest;
        }
        lines
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end.
    pub(crate) fn line(&self, at: usize) -> &'t str {
        let line = self.slice(at, at + 1);
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    #[cfg(test)]
    pub(super) fn looked(&self) -> usize {
        self.looked.get()
    }

    /// The bytes from one line to before another.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        let start = self.starts.get(from).copied().unwrap_or(self.text.len());
        let end = self.starts.get(to).copied().unwrap_or(self.text.len());
        #[cfg(test)]
        self.looked.set(self.looked.get() + end.saturating_sub(start) + 1);
        self.text.get(start..end.max(start)).unwrap_or_default()
    }

    pub(crate) fn kind(&self, at: usize) -> Kind<'t> {
        let line = self.line(at);
        let (indent, rest) = indent(line);
        let rest = rest.trim_end();
        let Some(first) = rest.bytes().next() else { return Kind::Blank };
        if let Some(fence) = fence(first, indent, rest) {
            return Kind::Fence(fence);
        }
        if indent > 3 {
            return Kind::Text;
        }
        if first == b'#' {
            return heading(rest).unwrap_or(Kind::Text);
        }
        if matches!(first, b'-' | b'*' | b'_') && is_rule(first, rest) { Kind::Rule } else { Kind::Text }
    }

    /// The fences after a line.
    pub(super) fn fences_after(&self, at: usize) -> impl Iterator<Item = (usize, Fence<'t>)> {
        let from = self.fences.partition_point(|(line, _)| *line <= at);
        self.fences[from..].iter().filter_map(|(line, _)| match self.kind(*line) {
            Kind::Fence(fence) => Some((*line, fence)),
            Kind::Blank | Kind::Rule | Kind::Heading { .. } | Kind::Text => None,
        })
    }

    /// Whether any later line could close this fence. Without this check, many open fences would each scan the whole
    /// text.
    pub(super) fn may_close(&self, at: usize, fence: Fence<'_>) -> bool {
        let from = self.fences.partition_point(|(line, _)| *line <= at);
        self.fences
            .get(from)
            .is_some_and(|(_, longest)| longest[usize::from(fence.mark == b'~')] >= fence.length)
    }

    /// The first line that would close this fence, whatever is inside.
    pub(super) fn bare_after(&self, at: usize, fence: Fence<'_>) -> Option<usize> {
        let closes = |other: &Fence<'_>| {
            other.info.is_empty() && other.mark == fence.mark && other.length >= fence.length
        };
        let mut fences = if self.may_close(at, fence) { Some(self.fences_after(at)) } else { None };
        fences.as_mut()?.find(|(_, other)| closes(other)).map(|(line, _)| line)
    }

    /// The first action or section after a line, ignoring fences; the end of the text if there is none.
    pub(super) fn boundary_after(&self, at: usize) -> usize {
        let from = self.boundaries.partition_point(|line| *line <= at);
        self.boundaries.get(from).copied().unwrap_or(self.len())
    }

    pub(super) fn is_boundary(&self, at: usize) -> bool {
        at >= self.len() || self.boundaries.binary_search(&at).is_ok()
    }

    /// Whether the text contains neither an action nor a section.
    pub(super) fn has_no_boundary(&self) -> bool {
        self.boundaries.is_empty()
    }

    /// The text before the last bare fence, if nothing of the plan follows it.
    pub(super) fn before_last_fence(&self) -> Option<&'t str> {
        let is_bare = |at: &usize| matches!(self.kind(*at), Kind::Fence(fence) if fence.info.is_empty());
        let last = self.fences.iter().rev().map(|(at, _)| *at).find(is_bare)?;
        (self.boundary_after(last) >= self.len()).then(|| self.slice(0, last))
    }

    /// The next line from here on that is neither blank nor a rule.
    pub(super) fn solid(&self, from: usize) -> usize {
        (from..self.len())
            .find(|at| !matches!(self.kind(*at), Kind::Blank | Kind::Rule))
            .unwrap_or(self.len())
    }
}

/// The action that a heading names, and what comes after its name: `CREATE`, `` `CREATE` ``, `1. **CREATE**: a.rs`,
/// `Step 3: CREATE (optional)`, `CREATE src/a.rs`.
pub(super) fn action_of(heading: &str) -> Option<(&'static KindRow, &str)> {
    let plain = inline::unnumbered(heading);
    ROWS.into_iter().find_map(|row| {
        let mut names = row.names.iter().flat_map(|name| spellings(name));
        names.find_map(|name| after_name(plain, &name)).map(|rest| (row, rest))
    })
}

/// The spellings of a name of several words: as it is, escaped for Markdown, and with spaces.
fn spellings(name: &str) -> Vec<Cow<'_, str>> {
    if name.contains('_') {
        return ["_", "\\_", " ", "-"].map(|between| Cow::Owned(name.replace('_', between))).into();
    }
    vec![Cow::Borrowed(name)]
}

/// The text after a name, if the name ends there: nothing, punctuation, or a path. A name in lower case must stand
/// alone, because otherwise it is an ordinary word of a heading.
fn after_name<'h>(plain: &'h str, name: &str) -> Option<&'h str> {
    let (named, rest) = plain.split_at_checked(name.len())?;
    let rest = rest.trim_start_matches(['`', '*']);
    let words = rest.trim_start();
    if words.trim_matches(|c: char| !c.is_alphanumeric()).is_empty() {
        return named.eq_ignore_ascii_case(name).then_some("");
    }
    if named != name {
        return (named.eq_ignore_ascii_case(name) && words.starts_with('(')).then_some(rest);
    }
    let is_marked = rest.starts_with([':', '(', '['])
        || (words.len() < rest.len()
            && words.starts_with(['(', '[', '`', '*', ':', '-', '–', '—', '|', '→']))
        || (rest.len() < plain.len() - name.len() && !rest.starts_with(char::is_alphanumeric));
    let is_path = words.len() < rest.len() && inline::looks_like_path(words);
    (is_marked || is_path).then_some(rest)
}

/// Whether a third-level heading is meant as an action, known or not: one word in backticks, or the name of an action
/// and other words.
pub(super) fn looks_like_action(heading: &str) -> bool {
    let plain = inline::unnumbered(heading);
    let word = heading.trim().split('`').nth(1).filter(|_| heading.trim().ends_with('`'));
    let begins = |row: &&KindRow| {
        let rest = row.names.iter().find_map(|name| plain.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
    };
    action_of(heading).is_some()
        || ROWS.iter().any(begins)
        || word.is_some_and(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        })
}

/// Whether a heading of another level, or a line in bold, names an action in capitals, and so is likely to be one.
pub(super) fn is_lost_action(level: usize, heading: &str) -> bool {
    let plain = inline::unnumbered(heading);
    let in_capitals = |row: &KindRow| row.names.iter().any(|name| plain.starts_with(name));
    level != 3 && action_of(heading).is_some_and(|(row, _)| in_capitals(row))
}

/// Whether a line is in bold and names an action in capitals.
pub(super) fn is_bold_action(line: &str) -> bool {
    let bold = line.trim().trim_end_matches(':').strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    bold.is_some_and(|bold| !bold.contains("**") && is_lost_action(0, bold))
}

/// The section that a second-level heading names.
pub(super) fn section_of(heading: &str) -> Option<Section> {
    let plain = inline::unnumbered(heading).trim_matches(|c: char| !c.is_alphanumeric());
    [
        ("rationale", Section::Rationale),
        ("reasoning", Section::Rationale),
        ("active context", Section::ActiveContext),
        ("memos", Section::Memos),
        ("action plan", Section::ActionPlan),
        ("actions", Section::ActionPlan),
    ]
    .into_iter()
    .find_map(|(name, section)| plain.eq_ignore_ascii_case(name).then_some(section))
}

fn is_boundary(level: usize, text: &str) -> bool {
    match level {
        2 => section_of(text).is_some(),
        3 => action_of(text).is_some(),
        _ => false,
    }
}

/// The width of a line's indentation, and the rest of the line.
pub(super) fn indent(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    let width =
        line.bytes().take(line.len() - rest.len()).map(|byte| if byte == b'\t' { 4 } else { 1 }).sum();
    (width, rest)
}

fn fence(first: u8, indent: usize, rest: &str) -> Option<Fence<'_>> {
    if first != b'`' && first != b'~' {
        return None;
    }
    let length = rest.bytes().take_while(|byte| *byte == first).count();
    let info = rest.get(length..).unwrap_or_default().trim();
    let inline = first == b'`' && info.contains('`');
    (length >= 3 && !inline).then_some(Fence { mark: first, length, indent, info })
}

fn heading(rest: &str) -> Option<Kind<'_>> {
    let level = rest.bytes().take_while(|byte| *byte == b'#').count();
    let text = rest.get(level..).unwrap_or_default();
    // Without a space it is not a heading in Markdown, but actions and sections must not be lost.
    let apart = text.is_empty() || text.starts_with(char::is_whitespace) || is_boundary(level, text);
    if level > 6 || !apart {
        return None;
    }
    // A trailing run of `#`, set off by a space, closes the heading and is not part of its text.
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some(Kind::Heading { level, text: if closed { open.trim_end() } else { text } })
}

fn is_rule(mark: u8, rest: &str) -> bool {
    let marks = rest.bytes().filter(|byte| *byte == mark).count();
    marks >= 3 && rest.bytes().all(|byte| byte == mark || byte == b' ' || byte == b'\t')
}
