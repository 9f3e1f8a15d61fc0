//! Asks for one of a few keys: an offer such as `(y)es / (n)o` is answered by one key everywhere, explains any other,
//! and suspends on Ctrl-Z.

use std::io::{self, Write as _};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tokio::time::Instant;

use super::ScreenInput;
use super::keys::plain_char;
use super::raw_terminal::{self, Raw};
use super::review::given_back;
use super::terminal_text;
use super::text::{Line, Tone, width};

/// How long nothing must be typed after a letter that is not offered, until a letter counts again: the rest of a word
/// is not an answer.
const MOMENT: Duration = Duration::from_millis(300);

/// The most columns that a row leaves for the answer.
const MOST_ROOM: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// One of the offered keys.
    Key(char),
    /// The end of the input, or Ctrl-D.
    End,
    Left,
}

/// A question, and the keys that answer it.
pub(crate) struct Offer<'a> {
    pub(crate) asked: Vec<Line>,
    /// The keys, in lower case, and what is shown when one is pressed.
    pub(crate) keys: &'a [(char, String)],
    /// The reply to any other key.
    pub(crate) explained: &'a str,
    pub(crate) paint: &'a (dyn Fn(Line) -> String + Sync),
}

/// Asks in plain text until one of these keys is pressed.
pub async fn one_of(asked: &str, keys: &str) -> io::Result<Pressed> {
    let asked = terminal_text::lines(asked).iter().map(|line| Line::new(Tone::Text, line)).collect();
    let shown: Vec<_> = keys.chars().map(|key| (key, key.to_string())).collect();
    let paint = |line: Line| line.text();
    Offer { asked, keys: &shown, explained: &explained(keys), paint: &paint }.answer().await
}

/// The reply to a key, or to a line, that is none of these.
pub fn explained(keys: &str) -> String {
    let keys: Vec<_> = keys.chars().map(String::from).collect();
    match keys.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("Press {} or {last}; nothing else decides.", others.join(", "))
        }
        _ => format!("Press {}; nothing else decides.", keys.concat()),
    }
}

impl Offer<'_> {
    /// Asks until one of the keys is pressed. Input from before the question is dropped.
    pub(crate) async fn answer(&self) -> io::Result<Pressed> {
        let (mut raw, mut typed) = self.ask_anew()?;
        let mut word = None;
        loop {
            let happening = tokio::select! {
                happening = typed.next() => happening.unwrap_or(ScreenInput::Stopped),
                () = given_back() => {
                    raw_terminal::raw_again()?;
                    self.ask("\r")?;
                    continue;
                }
            };
            let key = match happening {
                ScreenInput::Key(key) => key,
                // If the terminal was closed, leaving still succeeds.
                ScreenInput::Stopped => {
                    let _ = write("\r\n");
                    return Ok(Pressed::End);
                }
                _ => continue,
            };
            let letter = plain_char(key).map(|letter| letter.to_ascii_lowercase());
            // Enter ends a word that was explained already.
            let may_continue = letter.is_some() || key.code == KeyCode::Enter;
            let is_in_word = may_continue && word.is_some_and(|last: Instant| last.elapsed() < MOMENT);
            match self.keys.iter().find(|(offered, _)| Some(*offered) == letter) {
                _ if is_control(key, 'c') => return ended("", Pressed::Left),
                _ if is_control(key, 'd') => return ended("", Pressed::End),
                _ if is_control(key, 'z') => {
                    write("\r\n")?;
                    drop((typed, raw));
                    raw_terminal::suspend()?;
                    (raw, typed) = self.ask_anew()?;
                }
                _ if is_in_word => word = letter.map(|_| Instant::now()),
                Some((letter, shown)) => {
                    let shown = (self.paint)(Line::new(Tone::Here, shown));
                    return ended(&shown, Pressed::Key(*letter));
                }
                None => {
                    word = letter.map(|_| Instant::now());
                    let rows = Line::new(Tone::Care, self.explained).rows(raw_terminal::size().columns);
                    let rows: Vec<_> = rows.into_iter().map(self.paint).collect();
                    self.ask(&format!("\r\n{}\r\n", rows.join("\r\n")))?;
                }
            }
        }
    }

    /// Takes the terminal, and asks.
    fn ask_anew(&self) -> io::Result<(Raw, BoxStream<'static, ScreenInput>)> {
        let raw = Raw::enter()?;
        // Start listening before the keys are offered.
        let typed = raw_terminal::keys().boxed();
        raw_terminal::discard_all();
        self.ask("")?;
        Ok((raw, typed))
    }

    /// Writes the question after a verbatim string, in rows that leave room for a blank and the answer.
    fn ask(&self, before: &str) -> io::Result<()> {
        let longest = self.keys.iter().map(|(_, shown)| width(shown)).max().unwrap_or_default();
        let columns = raw_terminal::size().columns.saturating_sub(longest.min(MOST_ROOM) + 1);
        let rows = self.asked.iter().flat_map(|line| laid_out(line, columns)).map(self.paint);
        write(&format!("{before}{} ", rows.collect::<Vec<_>>().join("\r\n")))
    }
}

/// A question in rows. What is offered stays together, in a row of its own, where both do not fit one.
fn laid_out(line: &Line, columns: usize) -> Vec<Line> {
    let text = line.text();
    let Some(at) = offer_in(&text).filter(|_| line.width() > columns) else { return line.rows(columns) };
    let tone = line.spans.first().map(|span| span.tone).unwrap_or_default();
    let (question, offer) = text.split_at(at);
    [question.trim_end(), offer].iter().flat_map(|part| Line::new(tone, part).rows(columns)).collect()
}

/// Where the offer begins, as in `Undo it? (y)es / (n)o`.
fn offer_in(text: &str) -> Option<usize> {
    let is_letter = |at: &usize| matches!(&text.as_bytes()[*at..], [b'(', b'a'..=b'z', b')', ..]);
    text.match_indices('(').map(|(at, _)| at).find(is_letter).filter(|at| *at > 0)
}

fn ended(shown: &str, pressed: Pressed) -> io::Result<Pressed> {
    write(&format!("{shown}\r\n"))?;
    Ok(pressed)
}

fn is_control(key: KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn write(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()
}

#[cfg(test)]
mod tests {
    use super::{Line, Tone, explained, laid_out};

    #[test]
    fn what_is_offered_stays_together() {
        let rows = |columns| {
            let line = Line::new(Tone::Text, "Undo these changes (all)? (y)es / (n)o ›");
            laid_out(&line, columns).iter().map(Line::text).collect::<Vec<_>>()
        };
        assert_eq!(rows(40), ["Undo these changes (all)? (y)es / (n)o ›"]);
        assert_eq!(rows(39), ["Undo these changes (all)?", "(y)es / (n)o ›"]);
        assert_eq!(rows(20), ["Undo these changes", "(all)?", "(y)es / (n)o ›"]);
    }

    #[test]
    fn the_keys_are_named() {
        for (keys, words) in [("yn", "Press y or n;"), ("uwkq", "Press u, w, k or q;"), ("y", "Press y;")] {
            assert!(explained(keys).starts_with(words), "{}", explained(keys));
        }
    }
}
