//! Text with separate styles instead of markup, so that no content can break the formatting. Ranges are in bytes here;
//! [`Text::finish`] converts them to UTF-16 units, in which Telegram counts.

use std::ops::Range;

use crate::bot_api::MessageEntity;
use unicode_segmentation::UnicodeSegmentation as _;

use super::entities;

/// The maximum length of a message, in UTF-16 units.
pub const MESSAGE: usize = 4096;
/// The maximum length of a caption.
pub const CAPTION: usize = 1024;

/// A text with styles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    words: String,
    spans: Vec<Span>,
}

/// A styled part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The range, in bytes.
    pub range: Range<usize>,
    pub style: Style,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bold, at the start of a section.
    Heading,
    Bold,
    Italic,
    Struck,
    /// Monospaced, within a line.
    Code,
    /// A block of code, in this language.
    Pre(Option<String>),
    Link(String),
    Quote,
    /// A quotation that is folded until the person taps it.
    Folded,
}

impl Text {
    pub fn new() -> Self {
        Self::default()
    }

    /// The text without styles.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The styles, in no particular order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The length in UTF-16 units.
    pub fn units(&self) -> usize {
        units(&self.words)
    }

    /// Appends plain text.
    #[must_use]
    pub fn plain(mut self, words: &str) -> Self {
        self.words.push_str(words);
        self
    }

    /// Appends bold text.
    #[must_use]
    pub fn bold(self, words: &str) -> Self {
        self.styled(Style::Bold, words)
    }

    /// Appends italic text.
    #[must_use]
    pub fn italic(self, words: &str) -> Self {
        self.styled(Style::Italic, words)
    }

    /// Appends monospaced text.
    #[must_use]
    pub fn code(self, words: &str) -> Self {
        self.styled(Style::Code, words)
    }

    /// Appends a block of code.
    #[must_use]
    pub fn pre(self, language: Option<&str>, words: &str) -> Self {
        self.styled(Style::Pre(language.map(str::to_owned)), words)
    }

    /// Appends a link.
    #[must_use]
    pub fn link(self, words: &str, to: &str) -> Self {
        self.styled(Style::Link(to.to_owned()), words)
    }

    /// Appends text with this style.
    #[must_use]
    pub fn styled(self, style: Style, words: &str) -> Self {
        self.within(style, &Self::new().plain(words))
    }

    /// Appends another text.
    #[must_use]
    pub fn text(mut self, other: &Self) -> Self {
        let at = self.words.len();
        self.words.push_str(&other.words);
        let moved = |span: &Span| Span {
            range: span.range.start + at..span.range.end + at,
            style: span.style.clone(),
        };
        self.spans.extend(other.spans.iter().map(moved));
        self
    }

    /// Appends another text with a style around it: a quotation, or a folded one.
    #[must_use]
    pub fn within(self, style: Style, other: &Self) -> Self {
        let start = self.words.len();
        let mut text = self.text(other);
        text.mark(start, style);
        text
    }

    /// Applies a style from this position to the end.
    pub(super) fn mark(&mut self, start: usize, style: Style) {
        if start < self.words.len() {
            self.spans.push(Span { range: start..self.words.len(), style });
        }
    }

    pub(super) fn push(&mut self, words: &str) {
        self.words.push_str(words);
    }

    /// Removes line breaks from the end, but nothing before `floor`.
    pub(super) fn drop_newlines(&mut self, floor: usize) {
        let kept = self.words.trim_end_matches('\n').len().max(floor);
        if kept == self.words.len() {
            return;
        }
        self.words.truncate(kept);
        for span in &mut self.spans {
            span.range.end = span.range.end.min(kept);
        }
        self.spans.retain(|span| span.range.start < span.range.end);
    }

    /// A part of the text with its styles. The range has to be on character boundaries.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let words = self.words[range.clone()].to_owned();
        let cut = |span: &Span| {
            let (start, end) = (span.range.start.max(range.start), span.range.end.min(range.end));
            let here = || Span { range: start - range.start..end - range.start, style: span.style.clone() };
            (start < end).then(here)
        };
        Self { words, spans: self.spans.iter().filter_map(cut).collect() }
    }

    /// At most this many UTF-16 units of the text, with an ellipsis if anything is cut.
    #[must_use]
    pub fn trimmed(&self, most: usize) -> Self {
        if self.units() <= most {
            return self.clone();
        }
        let end = fitting(&self.words, most.saturating_sub(1));
        let kept = self.words[..end].trim_end().len();
        let trimmed = self.slice(0..kept);
        if most == 0 { trimmed } else { trimmed.plain("…") }
    }

    /// The text and entities for Telegram: at most a message's length, following its rules.
    pub fn finish(&self) -> (String, Vec<MessageEntity>) {
        let text = self.trimmed(MESSAGE);
        let entities = entities::of(&text.words, &text.spans);
        (text.words, entities)
    }
}

/// The length of a string in UTF-16 units.
pub fn units(words: &str) -> usize {
    words.chars().map(char::len_utf16).sum()
}

/// The position at which to cut a string so that at most this many UTF-16 units remain: between grapheme clusters, or
/// between characters if a single cluster is longer.
pub fn fitting(words: &str, most: usize) -> usize {
    let mut used = 0;
    for (at, grapheme) in words.grapheme_indices(true) {
        let more = units(grapheme);
        if used + more > most {
            return if at == 0 { fitting_chars(words, most) } else { at };
        }
        used += more;
    }
    words.len()
}

fn fitting_chars(words: &str, most: usize) -> usize {
    let mut used = 0;
    for (at, c) in words.char_indices() {
        used += c.len_utf16();
        if used > most {
            return at;
        }
    }
    words.len()
}
