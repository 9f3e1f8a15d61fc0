//! Lines of styled text, and how they are fitted to a width. All text in a line has been made safe.

use unicode_width::UnicodeWidthChar as _;

use super::terminal_text;

/// The maximum width of text: long rows are hard to read.
pub(crate) const MEASURE: usize = 88;

/// The indentation of rows below one with a long word.
const LEAST_HANG: usize = 4;

/// The kind of a piece of text, which determines its appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Text,
    /// The most important text.
    Strong,
    Dim,
    /// The cursor, the current choice.
    Here,
    /// Done, answered, added.
    Good,
    /// Literal text, such as a name in a program.
    Code,
    Care,
    Bad,
}

/// A piece of a line in one tone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub tone: Tone,
}

/// A line of styled text. If it is too long for a row, it is wrapped or one of its spans is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    /// The indentation of rows after the first.
    hang: usize,
    /// The span that is shortened, in its middle, instead of wrapping.
    gives: Option<usize>,
    /// The span with which a command to be copied begins. It goes to a row of its own where it does not fit.
    command: Option<usize>,
    /// Whether it stays one row however long it is: the terminal wraps it, so that it can be copied as a whole.
    is_whole: bool,
}

impl Line {
    /// An empty line.
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn new(tone: Tone, text: &str) -> Self {
        Self::empty().and(tone, text)
    }

    /// A command to be copied. Only for history: a redrawn block has to know its rows.
    pub fn command(text: &str) -> Self {
        Self { is_whole: true, ..Self::new(Tone::Strong, text).indented(2) }
    }

    pub fn warning(text: &str) -> Self {
        Self::new(Tone::Care, "! ").and(Tone::Text, text).hanging(2)
    }

    #[must_use]
    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        let text = terminal_text::line(text);
        if !text.is_empty() {
            self.spans.push(Span { text, tone });
        }
        self
    }

    /// Appends text that is shortened if the line is too long for one row.
    #[must_use]
    pub fn and_giving(mut self, tone: Tone, text: &str) -> Self {
        self.gives = Some(self.spans.len());
        self.and(tone, text)
    }

    /// Appends a command to be copied, which ends the line. Only for history: a redrawn block has to know its rows.
    #[must_use]
    pub fn and_command(mut self, command: &str) -> Self {
        self.command = Some(self.spans.len());
        self.and(Tone::Text, command)
    }

    /// The same line with nothing left out: what would be shortened is wrapped.
    #[must_use]
    pub fn in_full(self) -> Self {
        Self { gives: None, ..self }
    }

    /// Appends another line.
    #[must_use]
    pub fn then(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// Indents rows after the first.
    #[must_use]
    pub fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// Indents the whole line.
    #[must_use]
    pub fn indented(mut self, columns: usize) -> Self {
        if columns > 0 {
            self.spans.insert(0, Span { text: " ".repeat(columns), tone: Tone::Text });
            self.hang += columns;
            self.gives = self.gives.map(|place| place + 1);
            self.command = self.command.map(|place| place + 1);
        }
        self
    }

    /// The same line, which stays one row however long it is: only the terminal wraps it.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// Whether it stays one row.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The indentation of rows after the first.
    pub fn hang(&self) -> usize {
        self.hang
    }

    /// The part before this place in its text, with its indentation, and the part after it.
    pub fn split_at(&self, at: usize) -> (Line, Line) {
        let (mut before, mut after, mut seen) = (self.clone(), Line::empty().whole(), 0);
        before.spans.clear();
        for Span { text, tone } in &self.spans {
            let (first, second) = text.split_at(at.saturating_sub(seen).min(text.len()));
            seen += text.len();
            for (line, text) in [(&mut before, first), (&mut after, second)] {
                if !text.is_empty() {
                    line.spans.push(Span { text: text.to_owned(), tone: *tone });
                }
            }
        }
        (before, after)
    }

    /// A command in a row of its own, below words with this indentation. There is less of it where the command would
    /// not fit.
    #[must_use]
    pub fn below(self, hang: usize, columns: usize) -> Self {
        let deep = hang + 2;
        let indent = if self.width() + deep <= columns { deep } else { deep.min(LEAST_HANG) };
        self.indented(indent).whole()
    }

    /// The number of columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The rows it takes in this many columns.
    pub fn rows(&self, columns: usize) -> Vec<Line> {
        self.rows_with(columns, LongWords::Broken)
    }

    /// The rows to print it in. A word that fits no row, such as a path, is wrapped only by the terminal, so that it
    /// is copied as a whole. Only for history: a redrawn block has to know its rows.
    pub fn history_rows(&self, columns: usize) -> Vec<Line> {
        self.rows_with(columns, LongWords::Whole)
    }

    fn rows_with(&self, columns: usize, long_words: LongWords) -> Vec<Line> {
        let columns = columns.max(1);
        if self.width() <= columns || self.is_whole {
            return vec![self.clone()];
        }
        match (self.gives, self.command) {
            (Some(place), _) => vec![self.shortened(place, columns)],
            (None, Some(place)) => self.with_command_below(place, columns, long_words),
            (None, None) => self.wrapped(columns, long_words),
        }
    }

    /// The words before a command, wrapped, and the command in one row: what only the terminal wraps is copied as a
    /// whole.
    fn with_command_below(&self, place: usize, columns: usize, long_words: LongWords) -> Vec<Line> {
        let (words, command) = self.spans.split_at(place.min(self.spans.len()));
        let of = |spans: &[Span]| Line { spans: spans.to_vec(), hang: self.hang, ..Line::empty() };
        let mut words = of(words);
        if let Some(last) = words.spans.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        let mut rows = words.wrapped(columns, long_words);
        rows.push(of(command).below(self.hang, columns));
        rows
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

    fn wrapped(&self, columns: usize, long_words: LongWords) -> Vec<Line> {
        let hang = self.hang_in(columns);
        let mut cells: Vec<Cell> = self.cells().collect();
        keep_quotes_whole(&mut cells, columns - hang);
        let (mut rows, mut rest) = (Vec::new(), cells.as_slice());
        while !rest.is_empty() {
            let indent = if rows.is_empty() { 0 } else { hang };
            let (end, next) = break_at(rest, columns - indent, long_words);
            let row = Line::of(rest[..end].iter().copied()).indented(indent);
            rows.push(if row.width() > columns { row.whole() } else { row });
            rest = &rest[next..];
        }
        rows
    }

    /// The indentation of rows after the first in this many columns. Where a long word, such as a path, would be
    /// broken only because of it, there is less.
    fn hang_in(&self, columns: usize) -> usize {
        let text = self.text();
        let below = text.char_indices().nth(self.hang).map_or("", |(at, _)| &text[at..]);
        let longest = below.split(' ').map(width).max().unwrap_or_default();
        match self.hang {
            hang if hang * 2 >= columns => 0,
            hang if longest + hang > columns => hang.min(LEAST_HANG),
            hang => hang,
        }
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        let spans = self.spans.iter();
        spans.flat_map(|span| {
            let cell = |c: char| Cell { c, tone: span.tone, width: c.width().unwrap_or(0), is_kept: false };
            span.text.chars().map(cell)
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

/// The number of columns a text takes, counted by character as terminals do.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text of at most this many columns, with its middle omitted if it is longer.
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let tail: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    let head = take(text.chars(), room - width(&tail));
    format!("{head}…{tail}")
}

/// A text of at most this many columns, with its end omitted if it is longer.
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", take(text.chars(), columns.saturating_sub(1)).trim_end())
}

/// What happens to a word that is longer than a row.
#[derive(Clone, Copy)]
enum LongWords {
    Broken,
    /// It stays in one row, which the terminal wraps.
    Whole,
}

#[derive(Clone, Copy)]
struct Cell {
    c: char,
    tone: Tone,
    width: usize,
    /// Whether it stays with the cells around it: a blank in quotes.
    is_kept: bool,
}

impl Cell {
    /// Whether a row may end at it.
    fn is_gap(self) -> bool {
        self.c == ' ' && !self.is_kept
    }
}

/// Keeps what is in quotes (`) in one row, where it fits one: a command is copied as a whole.
fn keep_quotes_whole(cells: &mut [Cell], columns: usize) {
    let quotes: Vec<_> = (0..cells.len()).filter(|place| cells[*place].c == '`').collect();
    let (pairs, rest) = quotes.as_chunks::<2>();
    if !rest.is_empty() {
        return;
    }
    for [start, end] in pairs {
        let quoted = &mut cells[*start..=*end];
        if quoted.iter().map(|cell| cell.width).sum::<usize>() <= columns {
            quoted.iter_mut().for_each(|cell| cell.is_kept = true);
        }
    }
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    chars.take_while(fits).collect()
}

/// The end of the first row, and the start of the next: at the last blank that fits (or beside a wide character, where
/// East Asian text may break), or in the middle of a word that fits no row, or after it.
fn break_at(cells: &[Cell], columns: usize, long_words: LongWords) -> (usize, usize) {
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
        (after.is_gap() || before.is_gap() || (before.width == 2 && after.width == 2)) && text_before()
    };
    let end = (1..=fitting).rev().find(may_break).unwrap_or_else(|| match long_words {
        LongWords::Broken => fitting,
        LongWords::Whole => (fitting..cells.len()).find(may_break).unwrap_or(cells.len()),
    });
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
        let path = Line::new(Tone::Text, "Saved to: /a/long/path").hanging(10);
        check(path.clone(), 21, &["Saved to:", "    /a/long/path"]);
        check(path, 24, &["Saved to: /a/long/path"]);
    }

    #[test]
    fn long_words_and_wide_characters_break_anywhere() {
        check(Line::new(Tone::Text, "abcdefghij"), 4, &["abcd", "efgh", "ij"]);
        check(Line::new(Tone::Text, "日本語日本語"), 5, &["日本", "語日", "本語"]);
        check(Line::new(Tone::Text, "see 日本語"), 7, &["see 日", "本語"]);
    }

    #[test]
    fn what_is_printed_once_keeps_long_words_whole() {
        for (text, expected) in [
            ("see abcdefghij and so", &["see", "abcdefghij", "and so"][..]),
            ("abcdefghij", &["abcdefghij"]),
            ("日本語日本語日本語", &["日本語日", "本語日本", "語"]),
        ] {
            let rows: Vec<String> =
                Line::new(Tone::Text, text).history_rows(8).iter().map(Line::text).collect();
            assert_eq!(rows, expected);
        }
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
    fn a_command_is_not_wrapped() {
        let line = || Line::new(Tone::Text, "Go on with it: ").and_command("rapport resume x").indented(2);
        check(line(), 40, &["  Go on with it: rapport resume x"]);
        check(line(), 20, &["  Go on with it:", "    rapport resume x"]);
        check(line(), 12, &["  Go on with", "  it:", "    rapport resume x"]);
        let quoted = || Line::new(Tone::Text, "use `go on x` now");
        check(quoted(), 13, &["use `go on x`", "now"]);
        check(quoted(), 10, &["use", "`go on x`", "now"]);
        check(quoted(), 7, &["use `go", "on x`", "now"]);
    }

    #[test]
    fn marks_stay_with_their_letter() {
        check(Line::new(Tone::Text, "e\u{301}e\u{301}e\u{301}"), 2, &["e\u{301}e\u{301}", "e\u{301}"]);
    }
}
