//! A text field: the text, the cursor, and the keys that change them. It can have several lines.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthChar as _;

use super::terminal_text;

/// The text being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Editor {
    chars: Vec<char>,
    at: usize,
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// It changed the text or the cursor.
    Taken,
    /// It has no function here.
    Ignored,
}

/// The laid-out text: its rows, and the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows of safe text.
    pub rows: Vec<String>,
    /// The cursor's row and column.
    pub cursor: (usize, usize),
}

impl Editor {
    /// An editor with this text, and the cursor at its end.
    pub fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.paste(text);
        editor
    }

    pub fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// Whether it contains only white space.
    pub fn is_blank(&self) -> bool {
        self.chars.iter().all(|c| c.is_whitespace())
    }

    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// Whether the cursor is in the first line of the text.
    fn is_on_first_line(&self) -> bool {
        !self.chars[..self.at].contains(&'\n')
    }

    /// Whether the cursor is at the end, after this text.
    pub fn is_behind(&self, end: &str) -> bool {
        self.at == self.chars.len() && self.chars.ends_with(&end.chars().collect::<Vec<_>>())
    }

    /// Inserts text at the cursor. Control characters other than line breaks and tabs are dropped.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let chars: Vec<char> = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        let after = self.at + chars.len();
        self.chars.splice(self.at..self.at, chars);
        self.at = after;
    }

    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('j') if control => self.insert('\n'),
            KeyCode::Enter if alt || control => self.insert('\n'),
            KeyCode::Char('a') if control => self.at = self.line_start(),
            KeyCode::Char('e') if control => self.at = self.line_end(),
            KeyCode::Char('b') if alt => self.at = self.word_before(),
            KeyCode::Char('f') if alt => self.at = self.word_after(),
            KeyCode::Char('u') if control => self.remove(self.line_start(), self.at),
            KeyCode::Char('k') if control => self.remove(self.at, self.line_end()),
            KeyCode::Char('w') if control => self.remove(self.word_before(), self.at),
            KeyCode::Backspace if alt || control => self.remove(self.word_before(), self.at),
            KeyCode::Char(c) if !control && !alt => self.insert(c),
            KeyCode::Backspace if self.at > 0 => self.remove(self.before(), self.at),
            KeyCode::Delete if self.at < self.chars.len() => self.remove(self.at, self.after()),
            KeyCode::Left if alt || control => self.at = self.word_before(),
            KeyCode::Right if alt || control => self.at = self.word_after(),
            KeyCode::Left if self.at > 0 => self.at = self.before(),
            KeyCode::Right if self.at < self.chars.len() => self.at = self.after(),
            KeyCode::Home => self.at = self.line_start(),
            KeyCode::End => self.at = self.line_end(),
            KeyCode::Up if !self.is_on_first_line() => self.up(),
            KeyCode::Down if self.chars[self.at..].contains(&'\n') => self.down(),
            _ => return Typed::Ignored,
        }
        Typed::Taken
    }

    /// The text in rows of this many columns.
    pub fn layout(&self, columns: usize) -> Layout {
        let columns = columns.max(2);
        let (mut rows, mut used, mut cursor) = (vec![String::new()], 0, (0, 0));
        for (place, &c) in self.chars.iter().enumerate() {
            if place == self.at {
                cursor = (rows.len() - 1, used);
            }
            if c == '\n' {
                rows.push(String::new());
                used = 0;
                continue;
            }
            for shown in terminal_text::typed(c).chars() {
                let width = shown.width().unwrap_or(0);
                if used + width >= columns {
                    rows.push(String::new());
                    used = 0;
                }
                used += width;
                if let Some(row) = rows.last_mut() {
                    row.push(shown);
                }
            }
        }
        if self.at == self.chars.len() {
            cursor = (rows.len() - 1, used);
        }
        Layout { rows, cursor }
    }

    fn insert(&mut self, c: char) {
        self.chars.insert(self.at, c);
        self.at += 1;
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.chars.drain(from..to);
        self.at = from;
    }

    /// The position before the character in front of the cursor, including its combining marks.
    fn before(&self) -> usize {
        let mut place = self.at.saturating_sub(1);
        while place > 0 && is_mark(self.chars[place]) {
            place -= 1;
        }
        place
    }

    fn after(&self) -> usize {
        let marks = self.chars.iter().skip(self.at + 1).take_while(|c| is_mark(**c)).count();
        (self.at + 1 + marks).min(self.chars.len())
    }

    fn line_start(&self) -> usize {
        self.chars[..self.at].iter().rposition(|c| *c == '\n').map_or(0, |place| place + 1)
    }

    fn line_end(&self) -> usize {
        let rest = self.chars[self.at..].iter().position(|c| *c == '\n');
        rest.map_or(self.chars.len(), |place| self.at + place)
    }

    fn word_before(&self) -> usize {
        let blanks = self.chars[..self.at].iter().rposition(|c| !c.is_whitespace());
        let Some(end) = blanks else { return 0 };
        self.chars[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |place| place + 1)
    }

    fn word_after(&self) -> usize {
        let rest = &self.chars[self.at..];
        let blanks = rest.iter().take_while(|c| c.is_whitespace()).count();
        self.at + blanks + rest[blanks..].iter().take_while(|c| !c.is_whitespace()).count()
    }

    fn up(&mut self) {
        let column = self.at - self.line_start();
        self.at = self.line_start() - 1;
        self.at = (self.line_start() + column).min(self.at);
    }

    fn down(&mut self) {
        let column = self.at - self.line_start();
        self.at = self.line_end() + 1;
        self.at = (self.at + column).min(self.line_end());
    }
}

fn is_mark(c: char) -> bool {
    c.width() == Some(0) && c != '\n'
}
