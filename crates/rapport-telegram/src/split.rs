//! Splits long texts into several messages: before a heading, at a blank line, else at a line end, else between words.
//! It never splits a block of code that fits into one message. Texts that are even longer become a file.

use super::markdown;
use super::text::{CAPTION, MESSAGE, Style, Text, fitting};

/// The maximum number of messages; longer texts become a file.
pub const MOST_MESSAGES: usize = 4;
/// The length of the beginning that a file's caption shows.
const BEGINNING: usize = CAPTION - 224;

/// The form in which an agent's text is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Messages(Vec<Text>),
    File {
        name: String,
        /// The text, verbatim.
        content: String,
        /// The beginning of the text.
        caption: Text,
    },
}

/// The form for Markdown; `name` is the name of a file, without an extension.
pub fn reply(markdown: &str, name: &str) -> Reply {
    pieces(&markdown::text(markdown), format!("{name}.md"), markdown)
}

/// A text as messages, or as a file of this name and content if there would be too many.
pub fn pieces(text: &Text, name: String, content: &str) -> Reply {
    let parts = split(text, MESSAGE);
    if parts.len() <= MOST_MESSAGES {
        return Reply::Messages(parts);
    }
    Reply::File { name, content: content.to_owned(), caption: text.trimmed(BEGINNING) }
}

/// Splits a text into parts of at most this many UTF-16 units. Only white space at the cuts is lost, and no part is
/// empty.
pub fn split(text: &Text, most: usize) -> Vec<Text> {
    let words = text.words();
    let blocks = Blocks::of(text);
    let (mut parts, mut start) = (Vec::new(), 0);
    while let Some(begin) = blocks.begin(words, start) {
        let end = begin + fitting(&words[begin..], most);
        // Even one character exceeds the limit. The part gets it anyway, because the loop would not end otherwise.
        let end = if end == begin { begin + first_char(&words[begin..]) } else { end };
        let cut = if end == words.len() { end } else { blocks.cut(words, begin, end, most) };
        let kept = begin + words[begin..cut].trim_end().len();
        if kept > begin {
            parts.push(text.slice(begin..kept));
        }
        start = cut;
    }
    parts
}

/// The byte ranges that should stay together.
struct Blocks {
    code: Vec<std::ops::Range<usize>>,
    headings: Vec<std::ops::Range<usize>>,
}

impl Blocks {
    fn of(text: &Text) -> Self {
        let ranges = |fits: fn(&Style) -> bool| {
            text.spans().iter().filter(|span| fits(&span.style)).map(|span| span.range.clone()).collect()
        };
        Self {
            code: ranges(|style| matches!(style, Style::Pre(_))),
            headings: ranges(|style| matches!(style, Style::Heading)),
        }
    }

    /// The start of the next part. White space is skipped, except for the indentation of code.
    fn begin(&self, words: &str, start: usize) -> Option<usize> {
        let rest = &words[start..];
        let blank = rest.len() - rest.trim_start().len();
        if blank == rest.len() {
            return None;
        }
        if self.code.iter().any(|block| block.start < start + blank && start + blank < block.end) {
            // The part begins with the whole line of the first word, to keep its indentation.
            let line = rest[..blank].rfind('\n').map_or(0, |newline| newline + 1);
            return Some(start + line);
        }
        Some(start + blank)
    }

    /// The position of the cut, if everything from `begin` to `end` fits and there is more text.
    fn cut(&self, words: &str, begin: usize, end: usize, most: usize) -> usize {
        let end = self.before_block(words, begin, end, most);
        let early = begin + (end - begin) / 4;
        let late = |at: usize| at > early && at <= end && self.may_cut(at, words, most);
        let last = |places: &mut dyn Iterator<Item = usize>| places.filter(|at| late(*at)).max();
        let heading = last(&mut self.headings.iter().map(|heading| heading.start));
        let half = begin + (end - begin) / 2;
        heading
            .filter(|at| *at > half)
            .or_else(|| {
                last(&mut places(words, begin, end, "\n\n").filter(|at| !self.ends_heading(words, *at)))
            })
            .or_else(|| {
                last(&mut places(words, begin, end, "\n").filter(|at| !self.ends_heading(words, *at)))
            })
            .or_else(|| last(&mut places(words, begin, end, " ")))
            .unwrap_or(end)
    }

    /// Cuts before a block of code that would fit into the next part as a whole.
    fn before_block(&self, words: &str, begin: usize, end: usize, most: usize) -> usize {
        let torn = self.code.iter().find(|block| block.start < end && end < block.end);
        match torn {
            Some(block) if block.start > begin && fits(words, block, most) => block.start,
            _ => end,
        }
    }

    /// Whether a cut is allowed: not inside a block of code that fits into one message.
    fn may_cut(&self, at: usize, words: &str, most: usize) -> bool {
        !self.code.iter().any(|block| block.start < at && at < block.end && fits(words, block, most))
    }

    /// Whether a heading ends here, so that a cut would separate it from its text.
    fn ends_heading(&self, words: &str, at: usize) -> bool {
        let before = words[..at].trim_end().len();
        self.headings.iter().any(|heading| heading.end == before || heading.contains(&before))
    }
}

fn fits(words: &str, block: &std::ops::Range<usize>, most: usize) -> bool {
    super::text::units(&words[block.clone()]) <= most
}

fn places(words: &str, begin: usize, end: usize, mark: &'static str) -> impl Iterator<Item = usize> {
    words[begin..end].rmatch_indices(mark).map(move |(at, _)| begin + at)
}

fn first_char(words: &str) -> usize {
    words.chars().next().map_or(0, char::len_utf8)
}
