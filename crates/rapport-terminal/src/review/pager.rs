//! Pages through a preview in the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;

use super::super::Size;
use super::super::keys::plain_char;
use super::super::terminal_text;
use super::super::text::{Line, Tone, shorten};
use super::appearance::Appearance;
use super::preview::Preview;

/// The keys, below the text.
const KEYS: &str = "↑/↓ space scroll · q back";

/// A text in the pager.
#[derive(Clone, Debug)]
pub struct Pager {
    title: String,
    lines: Vec<Line>,
    /// The lines, wrapped to the width.
    rows: Vec<Line>,
    top: usize,
    /// A message about an earlier failure, shown until the first key.
    notice: Option<String>,
    appearance: Appearance,
    size: Size,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    Stay,
    /// To go back to the checklist.
    Back,
    /// To leave the review.
    Quit,
    /// To suspend the program.
    Suspend,
}

impl Pager {
    /// A preview from its beginning.
    pub fn new(preview: Preview, notice: Option<String>, appearance: Appearance, size: Size) -> Self {
        let (title, lines) = (preview.title, preview.lines);
        let mut pager = Self { title, lines, rows: Vec::new(), top: 0, notice, appearance, size };
        pager.resize(size);
        pager
    }

    /// Handles a new size of the screen.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.rows = self.lines.iter().flat_map(|line| line.rows(size.columns)).collect();
        self.top = self.top.min(self.last());
    }

    pub fn key(&mut self, key: KeyEvent) -> Turned {
        self.notice = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'd') => Turned::Quit,
                KeyCode::Char('z') => Turned::Suspend,
                _ => Turned::Stay,
            };
        }
        let page = self.height().saturating_sub(1).max(1);
        self.top = match (key.code, plain_char(key)) {
            (KeyCode::Esc, _) | (_, Some('q' | 'p')) => return Turned::Back,
            (KeyCode::Up, _) | (_, Some('k')) => self.top.saturating_sub(1),
            (KeyCode::Down | KeyCode::Enter, _) | (_, Some('j')) => self.top + 1,
            (KeyCode::PageUp, _) | (_, Some('b')) => self.top.saturating_sub(page),
            (KeyCode::PageDown, _) | (_, Some(' ')) => self.top + page,
            (KeyCode::Home, _) | (_, Some('g')) => 0,
            (KeyCode::End, _) | (_, Some('G')) => self.last(),
            _ => self.top,
        }
        .min(self.last());
        Turned::Stay
    }

    /// Draws the page.
    pub fn draw(&self, frame: &mut Frame) {
        let columns = usize::from(frame.area().width);
        let below = frame.area().height.saturating_sub(1);
        let buffer = frame.buffer_mut();
        self.appearance.put(
            buffer,
            0,
            Line::new(Tone::Strong, &shorten(&terminal_text::line(&self.title), columns)),
        );
        for (row, line) in (1..below).zip(&self.rows[self.top..]) {
            self.appearance.put(buffer, row, line.clone());
        }
        let end = (self.top + self.height()).min(self.rows.len());
        let place = format!("{}-{} of {} · {KEYS}", (self.top + 1).min(end), end, self.rows.len());
        let status = match &self.notice {
            Some(notice) => Line::new(Tone::Care, &shorten(&terminal_text::line(notice), columns)),
            None => Line::new(Tone::Dim, &place),
        };
        self.appearance.put(buffer, below, status);
    }

    /// The number of rows for text.
    fn height(&self) -> usize {
        self.size.rows.saturating_sub(2)
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(self.height())
    }
}
