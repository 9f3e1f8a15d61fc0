//! The keys in lists, and what a key on a card can ask for.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rapport_core::{QuestionId, Reply};

/// The number of rows that a page key moves.
const PAGE: usize = 5;

/// What a key on a card asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Nothing outside the card.
    Nothing,
    Answer(Reply),
    /// To go back to the previous question.
    Back,
    /// To keep the previous answer.
    Keep,
    /// To send the lead's draft.
    SendDraft,
    /// To give the answer that was given before.
    TakeOffer,
    /// To change the answer to this question.
    Edit(QuestionId),
    /// To end the session, after a confirmation.
    Cancel,
    /// To leave; everything stays as it is.
    Detach,
    /// To list the keys.
    Help,
    /// To read the full text of the card.
    Whole,
    /// Something impossible, and why.
    Refused(&'static str),
}

/// A character typed without a modifier that makes it a command.
pub(crate) fn plain_char(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    }
}

/// The new position of a list's cursor; `None` for keys that do not move it.
pub(crate) fn moved(cursor: usize, rows: usize, key: KeyEvent) -> Option<usize> {
    let last = rows.checked_sub(1)?;
    match (key.code, plain_char(key)) {
        (KeyCode::Up | KeyCode::BackTab, _) | (_, Some('k')) => Some(cursor.checked_sub(1).unwrap_or(last)),
        (KeyCode::Down | KeyCode::Tab, _) | (_, Some('j')) => {
            Some(if cursor >= last { 0 } else { cursor + 1 })
        }
        (KeyCode::PageUp, _) => Some(cursor.saturating_sub(PAGE)),
        (KeyCode::PageDown, _) => Some((cursor + PAGE).min(last)),
        (KeyCode::Home, _) => Some(0),
        (KeyCode::End, _) => Some(last),
        _ => None,
    }
}

/// A number being typed. If one digit can name every row, it is complete at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number(usize);

/// The result of a digit: a row, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// This row is chosen.
    Row(usize),
    /// The row so far; more digits may follow.
    SoFar(usize),
    None,
}

impl Number {
    pub(crate) fn digit(&mut self, digit: u32, rows: usize) -> Picked {
        let longer = self.0 * 10 + digit as usize;
        self.0 = if longer <= rows { longer } else { digit as usize };
        match self.0.checked_sub(1).filter(|row| *row < rows) {
            None => Picked::None,
            Some(row) if rows <= 9 => {
                self.0 = 0;
                Picked::Row(row)
            }
            Some(row) => Picked::SoFar(row),
        }
    }

    /// Forgets the digits so far.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }
}
