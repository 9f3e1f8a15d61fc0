//! Questions on the terminal itself, of a line or a few. Only typed input is an answer.

use std::io;

use nix::sys::termios::{FlushArg, tcflush};
use rapport_core::SessionId;

use crate::channels::terminal::composer::{SentBy, compose};
use crate::channels::terminal::line_input;
use crate::channels::terminal::one_key::{Pressed, explained, one_of};
use crate::channels::terminal::terminal_text;
use crate::cli::output::{prompt, say};
use crate::cli::runtime;
use crate::cli::screen::{self, StopSignal};
use crate::cli::{Common, typed_lines};
use crate::error::{Code, Failure};

/// Asks for a line. `None` at the end of the input.
pub(in crate::cli) async fn line(asked: &str) -> Result<Option<String>, Failure> {
    prompt(asked)?;
    let typed = until_left(async { Ok(line_input::line().await?) }).await?;
    if typed.is_none() {
        prompt("\n")?;
    }
    Ok(typed)
}

/// The words to choose from. Their first letters differ.
pub(in crate::cli) type Offered<'a> = &'a [&'a str];

const YES_OR_NO: Offered<'_> = &["yes", "no"];

/// Asks for one of these words by its first letter: by one key, or in line mode by a line that is the letter or the
/// word. Returns the letter; `None` at the end of the input.
pub(in crate::cli) async fn letter(asked: &str, words: Offered<'_>) -> Result<Option<char>, Failure> {
    let letters: String = words.iter().filter_map(|word| word.chars().next()).collect();
    if screen::is_interactive() {
        let mut stop = StopSignal::listen()?;
        let pressed = tokio::select! {
            pressed = one_of(asked, &letters) => pressed?,
            () = stop.received() => Pressed::Left,
        };
        return match pressed {
            Pressed::Key(letter) => Ok(Some(letter)),
            Pressed::End => Ok(None),
            Pressed::Left => Err(left()),
        };
    }
    loop {
        let Some(line) = line(&format!("{asked} ")).await? else { return Ok(None) };
        if let Some(letter) = named(&line, words) {
            return Ok(Some(letter));
        }
        say(explained(&letters))?;
    }
}

/// The letter of the word that a line is, in full or by its letter. A line that only begins like one decides nothing.
fn named(line: &str, words: Offered<'_>) -> Option<char> {
    let line = line.trim().to_lowercase();
    let is_meant = |word: &&&str| {
        line == **word || line.chars().eq(word.chars().take(1)) || word.split(' ').next() == Some(&line)
    };
    words.iter().find(is_meant).and_then(|word| word.chars().next())
}

/// Asks a yes-or-no question. The end of the input means no.
pub(in crate::cli) async fn yes(question: &str) -> Result<bool, Failure> {
    Ok(letter(&format!("{question} (y)es / (n)o ›"), YES_OR_NO).await? == Some('y'))
}

/// The same about what was just shown. `None` at the end of the input.
pub(in crate::cli) fn decision(question: &str) -> Result<Option<bool>, Failure> {
    Ok(choice(&format!("{question} (y)es / (n)o ›"), YES_OR_NO)?.map(|letter| letter == 'y'))
}

/// Asks for one of these words about what was just shown, and returns its letter. `None` at the end of the input.
pub(in crate::cli) fn choice(asked: &str, words: Offered<'_>) -> Result<Option<char>, Failure> {
    // Input from before the question is dropped.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
    let runtime = runtime::small()?;
    runtime.block_on(letter(asked, words))
}

/// Shows what an act is about, and asks whether to do it; fails unless the person says yes.
pub(in crate::cli) fn agree(heading: &str, shown: Vec<String>, question: &str) -> Result<(), Failure> {
    if !shown.is_empty() {
        say(heading)?;
        shown.iter().try_for_each(|line| say(format_args!("  {}", terminal_text::line(line))))?;
    }
    match decision(question)? {
        Some(true) => Ok(()),
        Some(false) | None => Err(left()),
    }
}

/// Asks for a message to the agent of this session, of any number of lines.
pub(in crate::cli) async fn message(common: &Common, session: &SessionId) -> Result<String, Failure> {
    let asked = format!("What next? ({session})");
    if screen::is_interactive() {
        return words(common, &asked).await?.ok_or_else(left);
    }
    prompt(&format!("{asked}\n(Type your message; two empty lines or Ctrl-D end it, Ctrl-C leaves)\n"))?;
    let message = until_left(typed_lines::typed_in_terminal("this message")).await?;
    if message.trim().is_empty() { Err(no_message()) } else { Ok(message) }
}

/// Asks for a text; for one line if the terminal supports no more. `None` at the end of the input.
pub(in crate::cli) async fn words(common: &Common, asked: &str) -> Result<Option<String>, Failure> {
    if screen::is_interactive() {
        return Ok(compose(asked, SentBy::Enter, screen::colour(common.color)).await?);
    }
    loop {
        match line(&format!("{asked} › ")).await? {
            Some(empty) if empty.is_empty() => {}
            words => return Ok(words),
        }
    }
}

/// Whether a person can be asked here.
pub(in crate::cli) fn is_possible(common: &Common) -> bool {
    screen::is_terminal() && !common.json
}

/// The error if there is no message.
pub(in crate::cli) fn no_message() -> Failure {
    Failure::new(Code::Usage, "there is no message to plan from")
        .hint("Say what is to be planned: rapport plan -m \"add a login page\"")
}

/// The error if the person left.
pub(in crate::cli) fn left() -> Failure {
    Failure::new(Code::Interrupted, "left; everything is as it was")
}

/// Reads until the person leaves.
async fn until_left<T>(read: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut stop = StopSignal::listen()?;
    tokio::select! {
        typed = read => typed,
        () = stop.received() => {
            prompt("\n")?;
            Err(left())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_letter_or_its_whole_word_decides() {
        const OFFERED: Offered<'_> = &["again", "go on", "undo", "quit"];
        for (line, letter) in
            [("a", 'a'), ("Again", 'a'), ("go on", 'g'), ("go", 'g'), ("UNDO", 'u'), ("q", 'q')]
        {
            assert_eq!(named(line, OFFERED), Some(letter), "{line}");
        }
        for line in ["", "gone", "undone", "you tell me", "y", "again and again", "ag"] {
            assert_eq!(named(line, OFFERED), None, "{line}");
        }
        assert_eq!(named("yikes", YES_OR_NO), None);
    }
}
