//! Text that is typed or piped in. An empty text is refused later.

use std::io::{self, IsTerminal as _, Read};

use nix::sys::termios::{FlushArg, tcflush};

use crate::channels::terminal::line_input;
use crate::error::{Code, Failure};

pub(super) fn all(mut from: impl Read, what: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::Trouble, format!("cannot read {what}: {error}")))?;
    String::from_utf8(bytes).map_err(|_| super::not_text(what))
}

/// Reads standard input to its end. Later questions are asked at the terminal, if there is one.
pub(super) fn piped(what: &str) -> Result<String, Failure> {
    let text = all(io::stdin().lock(), what)?;
    if io::stdout().is_terminal()
        && let Ok(terminal) = std::fs::File::open("/dev/tty")
    {
        nix::unistd::dup2_stdin(terminal).map_err(io::Error::from)?;
    }
    Ok(text)
}

/// Reads lines from a terminal, up to two empty ones. Text that was pasted after them is dropped: the shell would run
/// it.
pub(super) fn in_terminal(what: &str) -> Result<String, Failure> {
    let mut typed = Typed::default();
    while let Some(line) = line_input::wait_for_raw_line()? {
        if typed.is_ended_by(&line) {
            break;
        }
    }
    typed.text(what)
}

/// The same in async code. If the caller stops waiting, reading stops.
pub(super) async fn typed_in_terminal(what: &str) -> Result<String, Failure> {
    let mut typed = Typed::default();
    while let Some(line) = line_input::raw_line().await? {
        if typed.is_ended_by(&line) {
            break;
        }
    }
    typed.text(what)
}

/// Lines up to two empty ones in a row (Enter, pressed twice), or the end.
#[derive(Default)]
struct Typed {
    lines: Vec<u8>,
    blank_before: bool,
}

impl Typed {
    /// Adds a line, unless it is the second empty one, which ends the text.
    fn is_ended_by(&mut self, line: &[u8]) -> bool {
        let is_blank = line.trim_ascii().is_empty();
        if is_blank && self.blank_before {
            return true;
        }
        self.blank_before = is_blank;
        self.lines.extend(line);
        self.lines.push(b'\n');
        false
    }

    /// The text without trailing blanks.
    fn text(self, what: &str) -> Result<String, Failure> {
        // Without a terminal there is no shell behind it either.
        let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
        let text = String::from_utf8(self.lines).map_err(|_| super::not_text(what))?;
        Ok(text.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_blank(input: &[u8]) -> Result<String, Failure> {
        let mut typed = Typed::default();
        let _ = input.split(|byte| *byte == b'\n').any(|line| typed.is_ended_by(line));
        typed.text("answer")
    }

    // CLARIFY-9, CLARIFY-28: several lines, from any reader; two empty lines end them.
    #[test]
    fn clarify_28_lines_are_read_until_enter_is_pressed_twice() {
        for (typed, text) in [
            ("Rust\n\n\n", "Rust"),
            ("Rust.\nPostgreSQL.\n\n\nnot read", "Rust.\nPostgreSQL."),
            ("a paragraph\n\nanother\n\n\n", "a paragraph\n\nanother"),
            ("ended by the end", "ended by the end"),
            ("\n\n", ""),
            ("", ""),
            ("with returns\r\n\r\n\r\nnot read", "with returns"),
        ] {
            assert_eq!(until_blank(typed.as_bytes()).unwrap(), text, "{typed:?}");
        }
        assert!(until_blank(b"\xff\n").is_err(), "what is not text is not mended");
        assert_eq!(all(&b"as\n\n\nit is\n"[..], "task").unwrap(), "as\n\n\nit is\n");
    }
}
