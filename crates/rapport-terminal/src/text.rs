//! Lines of styled text, and how they are fitted to a width. All text in a line has been made safe.

use unicode_width::UnicodeWidthChar as _;

use super::safe;

/// Text is never set wider than this: long rows are hard to read.
pub const MEASURE: usize = 88;

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Text,
    /// What the eye should find first.
    Strong,
    /// What can be skipped.
    Dim,
    /// Where one is: the cursor, the current choice.
    Here,
    /// Done, answered, added.
    Good,
    /// Word for word, such as a name in a program.
    Code,
    /// To be careful about.
    Care,
    Bad,
}

/// A piece of a line in one tone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The text; safe.
    pub text: String,
    /// What it is.
    pub tone: Tone,
}

/// A line of styled text. Too long for a row, it is wrapped or one of its spans is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    /// How far rows after the first are indented.
    hang: usize,
    /// The span that gives way, in its middle, instead of wrapping.
    gives: Option<usize>,
    /// Whether it stays one row however long it is: the terminal wraps it, so that it can be copied as a whole.
    is_whole: bool,
}

impl Line {
    /// An empty line.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A line that starts with this.
    pub fn new(tone: Tone, text: &str) -> Self {
        Self::empty().and(tone, text)
    }

    /// A command to be copied. Only for history: a block that is drawn again has to know its rows.
    pub fn command(text: &str) -> Self {
        Self { is_whole: true, ..Self::new(Tone::Strong, text).indented(2) }
    }

    /// A line about something to take care of.
    pub fn warning(text: &str) -> Self {
        Self::new(Tone::Care, "! ").and(Tone::Text, text).hanging(2)
    }

    /// This line with more text at its end.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        let text = safe::line(text);
        if !text.is_empty() {
            self.spans.push(Span { text, tone });
        }
        self
    }

    /// This line with more text at its end, which gives way where the line is too long for one row.
    #[must_use]
    pub fn and_giving(mut self, tone: Tone, text: &str) -> Self {
        self.gives = Some(self.spans.len());
        self.and(tone, text)
    }

    /// This line with another at its end.
    #[must_use]
    pub fn then(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// This line, its further rows indented by so much.
    #[must_use]
    pub fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// This line with blanks in front.
    #[must_use]
    pub fn indented(mut self, columns: usize) -> Self {
        if columns > 0 {
            self.spans.insert(0, Span { text: " ".repeat(columns), tone: Tone::Text });
            self.hang += columns;
            self.gives = self.gives.map(|place| place + 1);
        }
        self
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The rows it takes where there are so many columns.
    pub fn rows(&self, columns: usize) -> Vec<Line> {
        let columns = columns.max(1);
        if self.width() <= columns || self.is_whole {
            return vec![self.clone()];
        }
        match self.gives {
            Some(place) => vec![self.shortened(place, columns)],
            None => self.wrapped(columns),
        }
    }

    fn shortened(&self, place: usize, columns: usize) -> Line {
        let mut line = self.clone();
        let rest = line.width() - line.spans.get(place).map_or(0, |span| width(&span.text));
        if let Some(span) = line.spans.get_mut(place) {
            span.text = shorten(&span.text, columns.saturating_sub(rest).max(1));
        }
        line.cut(columns)
    }

    pub(crate) fn cut(self, columns: usize) -> Line {
        if self.width() <= columns {
            return self;
        }
        let cells = self.cells().scan(0, |used, cell| {
            *used += cell.width;
            (*used <= columns).then_some(cell)
        });
        Line::of(cells)
    }

    fn wrapped(&self, columns: usize) -> Vec<Line> {
        let hang = if self.hang * 2 < columns { self.hang } else { 0 };
        let cells: Vec<Cell> = self.cells().collect();
        let (mut rows, mut rest) = (Vec::new(), cells.as_slice());
        while !rest.is_empty() {
            let indent = if rows.is_empty() { 0 } else { hang };
            let (end, next) = break_at(rest, columns - indent);
            rows.push(Line::of(rest[..end].iter().copied()).indented(indent));
            rest = &rest[next..];
        }
        rows
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        let spans = self.spans.iter();
        spans.flat_map(|span| {
            span.text.chars().map(|c| Cell { c, tone: span.tone, width: c.width().unwrap_or(0) })
        })
    }

    fn of(cells: impl IntoIterator<Item = Cell>) -> Line {
        let mut line = Line::empty();
        for cell in cells {
            match line.spans.last_mut().filter(|span| span.tone == cell.tone) {
                Some(span) => span.text.push(cell.c),
                None => line.spans.push(Span { text: cell.c.to_string(), tone: cell.tone }),
            }
        }
        line
    }
}

/// How many columns a text takes, as terminals count: character by character.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text that takes at most so many columns, with its middle left out where it is longer.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let tail: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    let head = take(text.chars(), room - width(&tail));
    format!("{head}…{tail}")
}

/// A text of at most so many columns, with its end left out where it is longer.
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", take(text.chars(), columns.saturating_sub(1)).trim_end())
}

#[derive(Clone, Copy)]
struct Cell {
    c: char,
    tone: Tone,
    width: usize,
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    chars.take_while(fits).collect()
}

/// Where the first row of these cells ends, and where the next begins: at the last blank that fits (or beside a wide
/// character, where East Asian text may break), or in the middle of a word that fits no row.
fn break_at(cells: &[Cell], columns: usize) -> (usize, usize) {
    let mut used = 0;
    let fits = |cell: &&Cell| {
        used += cell.width;
        used <= columns
    };
    let fitting = cells.iter().take_while(fits).count().max(1);
    if fitting >= cells.len() {
        return (cells.len(), cells.len());
    }
    let may_break = |&place: &usize| {
        let (before, after) = (cells[place - 1], cells[place]);
        let text_before = || cells[..place].iter().any(|cell| cell.c != ' ');
        (after.c == ' ' || before.c == ' ' || (before.width == 2 && after.width == 2)) && text_before()
    };
    let end = (1..=fitting).rev().find(may_break).unwrap_or(fitting);
    let blanks = cells[end..].iter().take_while(|cell| cell.c == ' ').count();
    let text = cells[..end].iter().rposition(|cell| cell.c != ' ').map_or(end, |last| last + 1);
    (text, end + blanks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: Line, columns: usize, expected: &[&str]) {
        let rows: Vec<String> = line.rows(columns).iter().map(Line::text).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn words_wrap_and_hang() {
        check(Line::new(Tone::Text, "one two three"), 8, &["one two", "three"]);
        check(Line::new(Tone::Text, "- one two three").hanging(2), 9, &["- one two", "  three"]);
        check(Line::new(Tone::Text, "  indented text"), 10, &["  indented", "text"]);
    }

    #[test]
    fn long_words_and_wide_characters_break_anywhere() {
        check(Line::new(Tone::Text, "abcdefghij"), 4, &["abcd", "efgh", "ij"]);
        check(Line::new(Tone::Text, "日本語日本語"), 5, &["日本", "語日", "本語"]);
        check(Line::new(Tone::Text, "see 日本語"), 7, &["see 日", "本語"]);
    }

    #[test]
    fn tones_survive_wrapping() {
        let rows = Line::new(Tone::Strong, "one two").and(Tone::Dim, " three").rows(7);
        assert_eq!(rows, [Line::new(Tone::Strong, "one two"), Line::new(Tone::Dim, "three")]);
    }

    #[test]
    fn what_gives_is_shortened_in_its_middle() {
        let line = || {
            Line::new(Tone::Dim, "· ").and_giving(Tone::Text, "src/very/long/path.rs").and(Tone::Dim, " 0:12")
        };
        check(line(), 20, &["· src/ve…ath.rs 0:12"]);
        check(line(), 40, &["· src/very/long/path.rs 0:12"]);
        check(line(), 4, &["· … "]);
    }

    #[test]
    fn marks_stay_with_their_letter() {
        check(Line::new(Tone::Text, "e\u{301}e\u{301}e\u{301}"), 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    }
}
