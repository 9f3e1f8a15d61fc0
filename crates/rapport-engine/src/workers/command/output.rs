//! The end of a command's output: the last lines as they would look on a screen, in bounded memory.

use std::collections::VecDeque;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

/// The number of lines to keep.
const MOST_LINES: usize = 100;
/// The number of bytes to keep.
const MOST_BYTES: usize = 64 * 1024;

/// A command's output, stdout and stderr together: its end, without colours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub text: String,
    /// The total number of lines.
    pub lines: u64,
    /// The total number of bytes.
    pub bytes: u64,
    /// The number of omitted lines before the text.
    pub left_out: u64,
}

/// The end of some output. Its memory is bounded, however much output there is.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: VecDeque<String>,
    kept_bytes: usize,
    /// The bytes after the last newline.
    unfinished: Vec<u8>,
    lines: u64,
    bytes: u64,
}

impl Tail {
    /// Appends output, and shows each line that is kept. Lines that the same burst pushes out again are not shown.
    pub(super) fn push(&mut self, bytes: &[u8], mut show: impl FnMut(&str)) {
        self.bytes += bytes.len() as u64;
        let newlines = memchr_iter(b'\n', bytes).count();
        let mut rest = bytes;
        if newlines > MOST_LINES {
            self.unfinished.clear();
            self.lines += (newlines - MOST_LINES) as u64;
            rest = last_lines(bytes);
        }
        for piece in rest.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.finish_line(&mut show);
            } else if self.unfinished.len() > 2 * MOST_BYTES {
                self.unfinished.drain(..self.unfinished.len() - MOST_BYTES);
            }
        }
    }

    /// The kept lines, at the end of the output.
    pub(super) fn finish(mut self, mut show: impl FnMut(&str)) -> Output {
        if !self.unfinished.is_empty() {
            self.finish_line(&mut show);
        }
        let left_out = self.lines - self.kept.len() as u64;
        let text: Vec<_> = self.kept.into_iter().collect();
        Output { text: text.join("\n"), lines: self.lines, bytes: self.bytes, left_out }
    }

    fn finish_line(&mut self, show: &mut impl FnMut(&str)) {
        let mut line = plain(&String::from_utf8_lossy(&self.unfinished));
        self.unfinished.clear();
        if line.len() > MOST_BYTES {
            line.drain(..line.ceil_char_boundary(line.len() - MOST_BYTES));
        }
        show(&line);
        self.lines += 1;
        self.kept_bytes += line.len() + 1;
        self.kept.push_back(line);
        while self.kept.len() > MOST_LINES || self.kept.len() > 1 && self.kept_bytes > MOST_BYTES {
            self.kept_bytes -= self.kept.pop_front().map_or(0, |line| line.len() + 1);
        }
    }
}

/// The last lines of these bytes, including an unfinished one.
fn last_lines(bytes: &[u8]) -> &[u8] {
    let newlines = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let before = newlines.map(|(at, _)| at + 1).nth(MOST_LINES);
    &bytes[before.unwrap_or(0)..]
}

/// A line as it would look on a screen, without colours: the last part after carriage returns, without escape sequences
/// and other control characters.
fn plain(line: &str) -> String {
    let line = without_escapes(line);
    let shown = line.split('\r').rfind(|part| !part.trim_end_matches('\n').is_empty()).unwrap_or_default();
    shown.chars().filter(|c| *c == '\t' || !c.is_control()).collect()
}

/// The state of parsing escape sequences.
#[derive(Clone, Copy)]
enum Escape {
    Outside,
    /// After ESC, and intermediate characters.
    Begun,
    /// After `ESC [`, up to its final character.
    Control,
    /// In an operating system command, up to BEL or `ESC \`.
    Text,
    /// In such a command, after ESC.
    TextEnding,
}

fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut escape = Escape::Outside;
    for c in line.chars() {
        escape = match (escape, c) {
            (Escape::Outside | Escape::Begun | Escape::Control, '\u{1b}') => Escape::Begun,
            (Escape::Outside, '\u{9b}') => Escape::Control,
            (Escape::Outside, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => Escape::Text,
            (Escape::Outside, c) => {
                plain.push(c);
                Escape::Outside
            }
            (Escape::Begun, '[') => Escape::Control,
            (Escape::Begun, ']' | 'P' | 'X' | '^' | '_') => Escape::Text,
            (Escape::Begun, ' '..='/') => Escape::Begun,
            (Escape::Begun, _) | (Escape::Control, '@'..='~') => Escape::Outside,
            (Escape::Control, _) => Escape::Control,
            (Escape::Text | Escape::TextEnding, '\u{7}' | '\u{9c}') | (Escape::TextEnding, '\\') => {
                Escape::Outside
            }
            (Escape::Text | Escape::TextEnding, '\u{1b}') => Escape::TextEnding,
            (Escape::Text | Escape::TextEnding, _) => Escape::Text,
        };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_as_they_would_look() {
        let cases = [
            ("plain\ttext\n", "plain\ttext"),
            ("\u{1b}[1;32mgreen\u{1b}[0m and \u{1b}[38;5;9mred\u{1b}[m\n", "green and red"),
            ("10%\r 50%\r100%\n", "100%"),
            ("dos\r\n", "dos"),
            ("\u{1b}]0;title\u{7}after\u{1b}]8;;http://x\u{1b}\\link\n", "afterlink"),
            ("\u{1b}(Bset \u{1b}7saved \u{9b}31mc1\n", "set saved c1"),
            ("bell\u{7} back\u{8}space\n", "bell backspace"),
            ("cut off \u{1b}[3", "cut off "),
            ("\n", ""),
        ];
        for (written, shown) in cases {
            let mut tail = Tail::default();
            tail.push(written.as_bytes(), |_| {});
            assert_eq!(tail.finish(|_| {}).text, shown, "{written:?}");
        }
    }

    #[test]
    fn it_matters_not_how_it_comes_in_pieces() {
        let text: String = (0..300).map(|n| format!("line {n} \u{1b}[1mä€😀\u{1b}[0m\n")).collect();
        let whole = taken(&[text.as_bytes()]);
        assert_eq!((whole.lines, whole.left_out, whole.bytes), (300, 200, text.len() as u64));
        assert!(whole.text.starts_with("line 200 ä€😀\n") && whole.text.ends_with("line 299 ä€😀"));
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(taken(&text.as_bytes().chunks(size).collect::<Vec<_>>()), whole, "{size}");
        }
    }

    #[test]
    fn never_more_is_kept_than_told() {
        let long = "x".repeat(10 * MOST_BYTES);
        let kept = taken(&long.as_bytes().chunks(AT_ONCE).collect::<Vec<_>>());
        assert_eq!((kept.text.len(), kept.lines, kept.left_out), (MOST_BYTES, 1, 0));
        let lines = format!("{}\n", "é".repeat(1000)).repeat(80);
        let kept = taken(&[lines.as_bytes()]);
        assert!(kept.text.len() <= MOST_BYTES && kept.left_out == 80 - kept.text.lines().count() as u64);
    }

    const AT_ONCE: usize = 4096;

    fn taken(pieces: &[&[u8]]) -> Output {
        let mut tail = Tail::default();
        for piece in pieces {
            tail.push(piece, |_| {});
        }
        tail.finish(|_| {})
    }
}
