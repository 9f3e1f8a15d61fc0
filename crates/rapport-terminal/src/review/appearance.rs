//! The appearance of a review on this terminal: which characters it can show, and how tones become cell styles.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::super::style::{ColourChoice, Theme};
use super::super::text::{Line, Tone};
use rapport_core::review::GroupMark;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appearance {
    pub theme: Theme,
    pub signs: Signs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    Unicode,
    /// Letters and dashes, for terminals without Unicode.
    Ascii,
}

impl Appearance {
    /// The appearance for a terminal; `env` looks up a variable.
    pub fn choose(colour: ColourChoice, env: impl Fn(&str) -> Option<String>) -> Self {
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&env).find(|value| !value.is_empty());
        let is_utf8 = locale.is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"));
        let is_console = env("TERM").is_some_and(|term| term == "linux");
        let signs = if is_utf8 && !is_console { Signs::Unicode } else { Signs::Ascii };
        Self { theme: Theme::choose(colour, env), signs }
    }

    /// A line with ASCII signs, if the terminal needs them.
    pub(super) fn signed(self, mut line: Line) -> Line {
        match self.signs {
            Signs::Unicode => {}
            Signs::Ascii => {
                let plain = |text: &str| text.chars().map(plain_sign).collect();
                line.spans.iter_mut().for_each(|span| span.text = plain(&span.text));
            }
        }
        line
    }

    /// The mark before an item or a group; always four columns wide.
    pub(super) fn mark(self, mark: GroupMark) -> &'static str {
        match (self.signs, mark) {
            (Signs::Unicode, GroupMark::All) => "[✅]",
            (Signs::Ascii, GroupMark::All) => "[x] ",
            (_, GroupMark::None) => "[ ] ",
            (_, GroupMark::Some) => "[–] ",
        }
    }

    /// Writes a line to a row of cells, as much of it as fits.
    pub(super) fn put(self, buffer: &mut Buffer, row: u16, line: Line) {
        self.put_at(buffer, 0, row, line);
    }

    /// The same from this column on.
    pub(super) fn put_at(self, buffer: &mut Buffer, column: u16, row: u16, line: Line) {
        let area = buffer.area;
        if row >= area.height || column >= area.width {
            return;
        }
        let line = self.signed(line);
        let spans = line.spans.iter().map(|span| Span::styled(span.text.as_str(), self.style(span.tone)));
        let line = ratatui::text::Line::from_iter(spans);
        buffer.set_line(area.x + column, area.y + row, &line, area.width - column);
    }

    /// The cell style of a tone.
    fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        match (self.theme, tone) {
            (Theme::Bare, _) | (_, Tone::Text) => plain,
            (_, Tone::Strong) | (Theme::Mono, Tone::Here) => plain.add_modifier(Modifier::BOLD),
            (_, Tone::Dim) => plain.add_modifier(Modifier::DIM),
            (Theme::Mono, Tone::Good | Tone::Code | Tone::Care | Tone::Bad) => plain,
            (Theme::Colour, Tone::Here | Tone::Code) => plain.fg(Color::Cyan),
            (Theme::Colour, Tone::Good) => plain.fg(Color::Green),
            (Theme::Colour, Tone::Care) => plain.fg(Color::Magenta).add_modifier(Modifier::BOLD),
            (Theme::Colour, Tone::Bad) => plain.fg(Color::Red),
        }
    }
}

fn plain_sign(c: char) -> char {
    match c {
        '…' => '~',
        '▶' | '›' | '❯' => '>',
        '–' | '─' | '·' => '-',
        '│' | '├' | '⋮' => '|',
        '└' => '`',
        '↑' => '^',
        '↓' => 'v',
        '✗' => '!',
        _ => c,
    }
}
