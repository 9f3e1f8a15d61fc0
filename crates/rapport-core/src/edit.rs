//! Applies replacements to a text. Each FIND is plain text, never a pattern, and must occur exactly once.
//!
//! The file's line endings win: in a file with CRLF, both halves of an edit are converted to CRLF. All other bytes are
//! kept, including a byte order mark and a missing final newline. A FIND that differs from its only match in white
//! space alone is accepted (`spacing`), and the reviewer is told so.

mod spacing;

use std::borrow::Cow;
use std::ops::Range;

use thiserror::Error;

use crate::action_plan::Replacement;

/// The maximum number of matches to count.
const MAX_PLACES: usize = 10;

/// Why an edit cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("edit {} (plan.md:{line}): {why}", index + 1)]
pub struct EditError {
    /// Which of the edits, from 0.
    pub index: usize,
    /// The line of its FIND in the plan, from 1.
    pub line: usize,
    /// The reason, in words for a person.
    pub why: Mismatch,
}

/// Why a FIND cannot be matched.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Mismatch {
    /// It is empty.
    #[error("FIND is empty")]
    Empty,
    /// It does not occur.
    #[error("FIND does not occur")]
    Missing,
    /// It occurs more than once. The first ten occurrences begin on these lines, from 1.
    #[error("FIND occurs {}", times(lines))]
    Several {
        /// The lines of the file.
        lines: Vec<usize>,
    },
    /// It does not occur, and differs from several places in white space alone: the first ten, from 1.
    #[error("except for white space FIND occurs {}", times(lines))]
    SeveralAlike {
        /// The lines of the file.
        lines: Vec<usize>,
    },
}

/// Applies all edits in order and returns the resulting text.
pub fn apply_edits(text: &str, edits: &[Replacement]) -> Result<String, EditError> {
    let mut edited = text.to_owned();
    for (index, edit) in edits.iter().enumerate() {
        let made = apply_edit(&edited, edit);
        edited = made.map_err(|why| EditError { index, line: edit.line, why })?.text;
    }
    Ok(edited)
}

/// A text after an edit.
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The line of the match, from 1, if its white space differs from FIND.
    pub(crate) differs_at: Option<usize>,
}

pub(crate) fn apply_edit(text: &str, edit: &Replacement) -> Result<Edited, Mismatch> {
    if edit.find.is_empty() {
        return Err(Mismatch::Empty);
    }
    let (find, replace) = in_the_files_words(text, edit);
    let with = |range: Range<usize>, replace: &str, differs_at| {
        let (before, after) = (text.get(..range.start), text.get(range.end..));
        let text = [before.unwrap_or_default(), replace, after.unwrap_or_default()].concat();
        Ok(Edited { text, differs_at })
    };
    let mut places = places(text, &find);
    let Some(at) = places.next() else {
        let fitted = spacing::fit(text, &edit.find, &edit.replace)?;
        return with(fitted.range, &fitted.replace, Some(fitted.line));
    };
    let others: Vec<_> = places.take(MAX_PLACES - 1).collect();
    if !others.is_empty() {
        let line = |at: usize| text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        return Err(Mismatch::Several { lines: [at].into_iter().chain(others).map(line).collect() });
    }
    with(at..at + find.len(), &replace, None)
}

/// Whether a text already contains a replacement.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.contains(part) || text.contains(crlf(part).as_ref())
}

fn times(lines: &[usize]) -> String {
    let shown = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if lines.len() == MAX_PLACES { " times or more" } else { " times" };
    format!("{}{more}, on lines {shown}", lines.len())
}

/// Every match, including overlapping ones: those are ambiguous too.
fn places(text: &str, find: &str) -> impl Iterator<Item = usize> {
    let step = find.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(find)?;
        from = at + step;
        Some(at)
    })
}

/// Both halves of an edit with the line ends of the text.
fn in_the_files_words<'e>(text: &str, edit: &'e Replacement) -> (Cow<'e, str>, Cow<'e, str>) {
    let carried = text.contains("\r\n");
    if carried && text.matches("\r\n").count() == text.matches('\n').count() {
        return (crlf(&edit.find), crlf(&edit.replace));
    }
    if text.contains(&edit.find) {
        return (Cow::Borrowed(&edit.find), Cow::Borrowed(&edit.replace));
    }
    let (find, replace) = if carried {
        (crlf(&edit.find), crlf(&edit.replace))
    } else {
        (Cow::Owned(edit.find.replace("\r\n", "\n")), Cow::Owned(edit.replace.replace("\r\n", "\n")))
    };
    (find, replace)
}

fn crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}
