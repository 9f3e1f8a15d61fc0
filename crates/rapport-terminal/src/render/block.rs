//! A block of rows at the bottom of the screen, cut to the available height such that the important rows stay visible.

use std::ops::Range;

use super::super::text::{Line, Tone};

/// The bottom of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its rows, none wider than the screen.
    pub rows: Vec<Line>,
    /// The cursor: row and column. Hidden if `None`.
    pub cursor: Option<(usize, usize)>,
    /// Rows that have to be visible.
    pub(crate) focus: Range<usize>,
}

impl Block {
    /// Appends a line, in as many rows as it needs.
    pub(crate) fn push(&mut self, line: &Line, columns: usize) {
        self.rows.extend(line.rows(columns));
    }

    /// Appends a line that has to be visible.
    pub(crate) fn push_focus(&mut self, line: &Line, columns: usize) {
        let start = self.rows.len();
        self.push(line, columns);
        self.focus = start..self.rows.len();
    }

    /// Moves the block to the right.
    pub(crate) fn indented(mut self, columns: usize) -> Self {
        self.rows = self
            .rows
            .into_iter()
            .map(|row| if row.spans.is_empty() { row } else { row.indented(columns) })
            .collect();
        self.cursor = self.cursor.map(|(row, column)| (row, column + columns));
        self
    }

    /// This block with another one below, whose focus and cursor take precedence.
    pub(crate) fn above(mut self, other: Block) -> Self {
        let offset = self.rows.len();
        if !other.focus.is_empty() {
            self.focus = other.focus.start + offset..other.focus.end + offset;
        }
        self.cursor = other.cursor.map(|(row, column)| (row + offset, column)).or(self.cursor);
        self.rows.extend(other.rows);
        self
    }

    /// As many rows as fit: those around the focus, and markers for hidden ones.
    pub(crate) fn fitted(self, height: usize) -> Self {
        let total = self.rows.len();
        if total <= height {
            return self;
        }
        if height < 3 {
            return self.window(self.focus.start.min(total.saturating_sub(height)), height);
        }
        let spare = height.saturating_sub(self.focus.len()) / 2;
        let start = self.focus.start.saturating_sub(spare).min(total - height);
        let mut shown = self.window(start, height);
        let below = total - start - height;
        if start > 0 {
            shown.rows[0] = Line::new(Tone::Dim, &format!("  ⋮ {} more above", start + 1));
        }
        if below > 0 {
            shown.rows[height - 1] = Line::new(Tone::Dim, &format!("  ⋮ {} more below", below + 1));
        }
        shown
    }

    fn window(&self, start: usize, height: usize) -> Block {
        let rows = self.rows[start..(start + height).min(self.rows.len())].to_vec();
        let inside = |row: usize| (start..start + rows.len()).contains(&row);
        let cursor = self.cursor.filter(|(row, _)| inside(*row)).map(|(row, column)| (row - start, column));
        let focus =
            self.focus.start.saturating_sub(start)..self.focus.end.saturating_sub(start).min(rows.len());
        Block { rows, cursor, focus }
    }
}
