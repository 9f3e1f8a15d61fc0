//! Composes a message of several lines. Pasted text is inserted as text and never as keys, so that no line of it can
//! end the message and leave the rest to the shell, which would run it.

use std::io;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use tokio::signal::unix::{SignalKind, signal};

use super::editor::Editor;
use super::raw_terminal::{self, Raw};
use super::region::Region;
use super::render::{frame, question_card};
use super::style::{ColourChoice, Theme};
use super::text::{Line, Tone};
use super::{Block, ScreenInput, Size, any_signal, terminal_text};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComposeCommand {
    Write,
    /// To send the message.
    Send,
    /// To leave without a message.
    Leave,
    /// To suspend the program.
    Suspend,
}

/// What sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentBy {
    /// Enter; another key begins a new line.
    Enter,
    /// Two empty lines in a row, or Ctrl-D; Enter begins a new line.
    TwoEmptyLines,
}

/// Asks for a message. `None` if the person leaves, or at the end of the input.
pub async fn compose(asked: &str, sent_by: SentBy, colour: ColourChoice) -> io::Result<Option<String>> {
    let theme = Theme::choose(colour, |name| std::env::var(name).ok());
    let mut signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let mut region = Region::new(io::stdout(), theme, raw_terminal::size());
    let mut editor = Editor::default();
    let (mut raw, mut keys) = (Raw::enter()?, Box::pin(raw_terminal::keys()));
    loop {
        let size = raw_terminal::size();
        region.show(&[], block(asked, sent_by, &editor, size), size)?;
        let happening = tokio::select! {
            key = keys.next() => key.unwrap_or(ScreenInput::Stopped),
            () = any_signal(&mut signals) => ScreenInput::Stopped,
        };
        let wish = match happening {
            ScreenInput::Key(key) => key_pressed(&mut editor, sent_by, key),
            ScreenInput::Paste(text) => {
                editor.paste(&text);
                ComposeCommand::Write
            }
            ScreenInput::Stopped => ComposeCommand::Leave,
            ScreenInput::Resized(_)
            | ScreenInput::Update(_)
            | ScreenInput::Submitted(_)
            | ScreenInput::Line(_)
            | ScreenInput::Resumed
            | ScreenInput::TimePassed => ComposeCommand::Write,
        };
        match wish {
            ComposeCommand::Write => {}
            ComposeCommand::Leave => {
                // If the terminal was closed, leaving still succeeds.
                let _ = region.show(&[], Block::default(), size);
                return Ok(None);
            }
            ComposeCommand::Send => {
                region.show(&sent(asked, &editor), Block::default(), size)?;
                return Ok(Some(editor.text()));
            }
            ComposeCommand::Suspend => {
                region.show(&[], Block::default(), size)?;
                drop((keys, raw));
                raw_terminal::suspend()?;
                (raw, keys) = (Raw::enter()?, Box::pin(raw_terminal::keys()));
                region.begin_anew();
            }
        }
    }
}

/// Handles a key.
pub fn key_pressed(editor: &mut Editor, sent_by: SentBy, key: KeyEvent) -> ComposeCommand {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match (key.code, sent_by) {
        (KeyCode::Char('c'), _) if is_control => return ComposeCommand::Leave,
        (KeyCode::Char('d'), _) if is_control && editor.is_empty() => return ComposeCommand::Leave,
        (KeyCode::Char('d'), SentBy::TwoEmptyLines) if is_control && !editor.is_blank() => {
            return ComposeCommand::Send;
        }
        (KeyCode::Char('z'), _) if is_control => return ComposeCommand::Suspend,
        // An empty message is not sent.
        (KeyCode::Enter, _) if is_plain && editor.is_blank() => {}
        (KeyCode::Enter, SentBy::Enter) if is_plain => return ComposeCommand::Send,
        (KeyCode::Enter, SentBy::TwoEmptyLines) if is_plain && editor.is_behind("\n\n") => {
            return ComposeCommand::Send;
        }
        (KeyCode::Enter, SentBy::TwoEmptyLines) if is_plain => editor.paste("\n"),
        _ => drop(editor.key(key)),
    }
    ComposeCommand::Write
}

fn block(asked: &str, sent_by: SentBy, editor: &Editor, size: Size) -> Block {
    let columns = frame::columns(size);
    let (mut body, mut foot) = (Block::default(), Block::default());
    body.push(&Line::new(Tone::Strong, asked), columns);
    question_card::editor(editor, "type your message", columns, &mut body);
    foot.push(&Line::empty(), columns);
    let keys = match sent_by {
        SentBy::Enter => ["enter send", "alt-enter new line", "ctrl-c leave"],
        SentBy::TwoEmptyLines => ["two empty lines or ctrl-d send", "enter new line", "ctrl-c leave"],
    };
    frame::phrases(&keys.map(str::to_owned), columns).iter().for_each(|row| foot.push(row, columns));
    let height = size.rows.saturating_sub(1).max(1);
    let room = height.saturating_sub(foot.rows.len()).max(1);
    body.fitted(room).above(foot).fitted(height).indented(frame::margin(size))
}

/// The message as it stays in the history.
fn sent(asked: &str, editor: &Editor) -> Vec<Line> {
    let text = editor.text();
    let lines = terminal_text::lines(text.trim_end());
    let line = |(place, line): (usize, &String)| {
        let sign = if place == 0 { "❯ " } else { "  " };
        Line::new(Tone::Here, sign).and(Tone::Text, line).hanging(2)
    };
    let asked = Line::new(Tone::Strong, asked);
    [asked].into_iter().chain(lines.iter().enumerate().map(line)).chain([Line::empty()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // FILE-26: a plain Enter sends a message, unless it is empty.
    #[test]
    fn file_26_enter_sends_what_is_written() {
        let key = |code, modifiers| KeyEvent::new(code, modifiers);
        let plain = |code| key(code, KeyModifiers::NONE);
        let control = |c| key(KeyCode::Char(c), KeyModifiers::CONTROL);
        for (written, pressed, wish, left) in [
            ("", plain(KeyCode::Enter), ComposeCommand::Write, ""),
            (" \n", plain(KeyCode::Enter), ComposeCommand::Write, " \n"),
            ("x", plain(KeyCode::Enter), ComposeCommand::Send, "x"),
            ("x", key(KeyCode::Enter, KeyModifiers::ALT), ComposeCommand::Write, "x\n"),
            ("x", control('j'), ComposeCommand::Write, "x\n"),
            ("x", control('c'), ComposeCommand::Leave, "x"),
            ("x", control('d'), ComposeCommand::Write, "x"),
            ("", control('d'), ComposeCommand::Leave, ""),
            ("x", control('z'), ComposeCommand::Suspend, "x"),
            ("x", plain(KeyCode::Esc), ComposeCommand::Write, "x"),
            ("x", plain(KeyCode::Char('q')), ComposeCommand::Write, "xq"),
        ] {
            let mut editor = Editor::with(written);
            assert_eq!(key_pressed(&mut editor, SentBy::Enter, pressed), wish, "{written:?} {pressed:?}");
            assert_eq!(editor.text(), left, "{pressed:?}");
        }
    }

    // CLARIFY-29: pressing Enter twice more submits an answer, wherever a text of several lines has its own empty ones.
    #[test]
    fn clarify_29_two_empty_lines_send_what_is_written() {
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        for (written, pressed, wish, left) in [
            ("", enter, ComposeCommand::Write, ""),
            ("\n\n", enter, ComposeCommand::Write, "\n\n"),
            ("x", enter, ComposeCommand::Write, "x\n"),
            ("x\n", enter, ComposeCommand::Write, "x\n\n"),
            ("x\n\n", enter, ComposeCommand::Send, "x\n\n"),
            ("x\n\n\ny", enter, ComposeCommand::Write, "x\n\n\ny\n"),
            ("x", control('d'), ComposeCommand::Send, "x"),
            ("", control('d'), ComposeCommand::Leave, ""),
            ("x", control('c'), ComposeCommand::Leave, "x"),
        ] {
            let mut editor = Editor::with(written);
            assert_eq!(
                key_pressed(&mut editor, SentBy::TwoEmptyLines, pressed),
                wish,
                "{written:?} {pressed:?}"
            );
            assert_eq!(editor.text(), left, "{pressed:?}");
        }
    }
}
