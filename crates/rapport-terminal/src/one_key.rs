//! Asks for one of a few keys: an offer such as `(y)es / (n)o` is answered by one key everywhere.

use std::io::{self, Write as _};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;

use super::Happening;
use super::keys::plain_char;
use super::live::{self, Raw};
use super::safe;
use super::text::{Line, Tone};

/// The columns for a blank and the key that is pressed.
const ROOM: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// One of the offered keys.
    Key(char),
    /// The end of the input, or Ctrl-D.
    End,
    Left,
}

/// Asks until one of these keys is pressed. Input from before the question is dropped, and letters of a word do not
/// count either: after any other key, Enter repeats the question.
pub async fn one_of(asked: &str, keys: &str) -> io::Result<Pressed> {
    let asked = format!("{} ", wrapped(asked, super::size().columns).join("\r\n"));
    let _raw = Raw::enter()?;
    // Start listening before the keys are offered.
    let mut typed = Box::pin(live::keys());
    live::discard_all();
    write(&asked)?;
    let mut is_word = false;
    loop {
        let key = match typed.next().await {
            Some(Happening::Key(key)) => key,
            Some(Happening::Stopped) | None => return ended(Pressed::End),
            Some(_) => continue,
        };
        match (key.code, plain_char(key)) {
            _ if is_control(key, 'c') => return ended(Pressed::Left),
            _ if is_control(key, 'd') => return ended(Pressed::End),
            (_, Some(c)) if !is_word && keys.contains(c.to_ascii_lowercase()) => {
                write(&safe::typed(c))?;
                return ended(Pressed::Key(c.to_ascii_lowercase()));
            }
            (KeyCode::Enter | KeyCode::Esc | KeyCode::Backspace, _) if is_word => {
                is_word = false;
                write(&format!("\r\n{asked}"))?;
            }
            (_, Some(c)) => {
                is_word = true;
                write(&safe::typed(c))?;
            }
            _ => {}
        }
    }
}

/// The question in rows that leave room for the key.
fn wrapped(asked: &str, columns: usize) -> Vec<String> {
    let lines = safe::lines(asked).into_iter().map(|line| Line::new(Tone::Text, &line));
    lines.flat_map(|line| line.rows(columns.saturating_sub(ROOM))).map(|row| row.text()).collect()
}

fn ended(pressed: Pressed) -> io::Result<Pressed> {
    write("\r\n")?;
    Ok(pressed)
}

fn is_control(key: KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn write(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()
}
