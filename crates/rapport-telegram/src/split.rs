//! Long texts as several messages, cut where a reader would: before a heading, at a blank line, else at the end of a
//! line, else between words; never inside a block of code that fits into one message. Longer still, and it is a file.

use super::markdown;
use super::text::{CAPTION, MESSAGE, Style, Text, fitting};

/// More messages than this are a file instead.
pub const MOST_MESSAGES: usize = 4;
/// How much of the beginning is said about a file.
const BEGINNING: usize = CAPTION - 224;

/// How an agent's words are to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// As these messages, one after the other.
    Messages(Vec<Text>),
    /// As a file.
    File {
        /// What it is called.
        name: String,
        /// What is in it: the words as they came.
        content: String,
        /// Their beginning.
        caption: Text,
    },
}

/// Markdown as it is to be sent; `name` is what a file of it would be called, without an ending.
pub fn reply(markdown: &str, name: &str) -> Reply {
    pieces(&markdown::text(markdown), format!("{name}.md"), markdown)
}

/// A text as messages, or as a file of this name and content where there would be too many.
pub fn pieces(text: &Text, name: String, content: &str) -> Reply {
    let parts = split(text, MESSAGE);
    if parts.len() <= MOST_MESSAGES {
        return Reply::Messages(parts);
    }
    Reply::File { name, content: content.to_owned(), caption: text.trimmed(BEGINNING) }
}

/// A text in parts of at most so many UTF-16 units. Only space at the cuts is lost; none is empty.
pub fn split(text: &Text, most: usize) -> Vec<Text> {
    let words = text.words();
    let blocks = Blocks::of(text);
    let (mut parts, mut start) = (Vec::new(), 0);
    while let Some(begin) = blocks.begin(words, start) {
        let end = begin + fitting(&words[begin..], most);
        // One character is longer than a message: nothing sensible can be done but to go on behind it.
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

/// Where what belongs together begins and ends, in bytes.
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

    /// Where the next part begins. Space is skipped, but not the indentation of code.
    fn begin(&self, words: &str, start: usize) -> Option<usize> {
        let rest = &words[start..];
        let blank = rest.len() - rest.trim_start().len();
        if blank == rest.len() {
            return None;
        }
        if self.code.iter().any(|block| block.start < start + blank && start + blank < block.end) {
            // The line the first word is in, as a whole.
            let line = rest[..blank].rfind('\n').map_or(0, |newline| newline + 1);
            return Some(start + line);
        }
        Some(start + blank)
    }

    /// Where to cut, when all from `begin` to `end` would fit and there is more.
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

    /// A block of code that would fit into the next part as a whole begins there.
    fn before_block(&self, words: &str, begin: usize, end: usize, most: usize) -> usize {
        let torn = self.code.iter().find(|block| block.start < end && end < block.end);
        match torn {
            Some(block) if block.start > begin && fits(words, block, most) => block.start,
            _ => end,
        }
    }

    /// Not inside a block of code that fits into one message.
    fn may_cut(&self, at: usize, words: &str, most: usize) -> bool {
        !self.code.iter().any(|block| block.start < at && at < block.end && fits(words, block, most))
    }

    /// Whether a heading ends here, whose text would be in the next part.
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
