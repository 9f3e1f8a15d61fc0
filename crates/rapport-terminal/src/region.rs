//! Writes to the terminal: history scrolls as plain lines, and the block below it is redrawn in one write.

use std::io::{self, Write};

use super::Size;
use super::render::{block::Block, frame};
use super::style::Theme;
use super::text::Line;

/// Synchronised output: the terminal shows everything between these at once, if it supports that.
pub(crate) const TOGETHER: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR_BELOW: &str = "\x1b[J";
const CLEAR_ROW: &str = "\x1b[2K";
/// Clears this row and all below it.
const CLEAR_ROWS: &str = "\x1b[2K\x1b[B\x1b[J\x1b[A";

/// The bottom of a terminal.
#[derive(Debug)]
pub struct Region<W> {
    out: W,
    theme: Theme,
    drawn: Block,
    size: Size,
}

impl<W: Write> Region<W> {
    /// Begins at the cursor, at the start of a row.
    pub fn new(out: W, theme: Theme, size: Size) -> Self {
        Self { out, theme, drawn: Block::default(), size }
    }

    /// Appends lines to the history and draws this block below them.
    pub fn show(&mut self, history: &[Line], block: Block, size: Size) -> io::Result<()> {
        if history.is_empty() && block == self.drawn && size == self.size {
            return Ok(());
        }
        // Rows are cleared as a whole before they are written: when a terminal is resized, overwritten cells still
        // count for the number of rows that a line takes.
        let mut text = format!("{}{HIDE_CURSOR}{}{}", TOGETHER.0, self.to_top(size), self.clear(size));
        for row in history.iter().flat_map(|line| history_rows(line, size)) {
            text.push_str(&format!("{}\r\n", self.theme.paint(&row)));
        }
        let rows: Vec<String> = block.rows.iter().map(|row| self.theme.paint(row)).collect();
        text.push_str(&rows.join("\r\n"));
        text.push_str(&cursor(&block));
        text.push_str(TOGETHER.1);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        (self.drawn, self.size) = (block, size);
        Ok(())
    }

    /// Begins again at the cursor, because something else has written meanwhile.
    pub(crate) fn begin_anew(&mut self) {
        self.drawn = Block::default();
    }

    /// The output, for tests.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Clears the block from its first row; everything below is cleared from the second row on. Clearing everything
    /// from the first cell of the screen would make tmux copy it to the scrollback.
    fn clear(&self, size: Size) -> &'static str {
        match self.drawn.rows.iter().map(|row| takes(row, size)).sum::<usize>() {
            0 => CLEAR_BELOW,
            1 => CLEAR_ROW,
            _ => CLEAR_ROWS,
        }
    }

    /// Moves from the cursor to the first row of the block. Terminals wrap rows that have become too long.
    fn to_top(&self, size: Size) -> String {
        let columns = size.columns.max(1);
        let last = self.drawn.rows.len().saturating_sub(1);
        let (at, column) = self.drawn.cursor.unwrap_or((last, self.drawn.rows.last().map_or(0, Line::width)));
        let above: usize = self.drawn.rows.iter().take(at).map(|row| takes(row, size)).sum();
        match above + column.saturating_sub(1) / columns {
            0 => "\r".into(),
            up => format!("\r\x1b[{up}A"),
        }
    }
}

/// The number of rows that a whole line takes.
fn takes(row: &Line, size: Size) -> usize {
    row.width().div_ceil(size.columns.max(1)).max(1)
}

fn history_rows(line: &Line, size: Size) -> Vec<Line> {
    let margin = frame::margin(size);
    let rows = line.history_rows(frame::columns(size)).into_iter();
    rows.map(|row| if row.spans.is_empty() { row } else { row.indented(margin) }).collect()
}

fn cursor(block: &Block) -> String {
    let Some((row, column)) = block.cursor else { return String::new() };
    let up = match block.rows.len().saturating_sub(row + 1) {
        0 => String::new(),
        up => format!("\x1b[{up}A"),
    };
    let right = if column == 0 { String::new() } else { format!("\x1b[{column}C") };
    format!("{up}\r{right}{SHOW_CURSOR}")
}
