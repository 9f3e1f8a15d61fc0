//! The message of a turn: from the command line, from standard input, or from an editor.

use std::process::Command;

use super::typed_lines;
use super::workflow::prompts;
use super::{Common, screen};
use crate::error::{Code, Failure};

/// The value of `-m`: a text, "-" for standard input, empty for an editor.
pub(super) async fn given(common: &Common, words: &str) -> Result<String, Failure> {
    let message = match words {
        "-" => typed_lines::piped("the message from standard input")?,
        "" if screen::is_interactive() && !common.json => edited()?,
        words => words.to_owned(),
    };
    if message.trim().is_empty() {
        return Err(prompts::no_message());
    }
    Ok(message)
}

/// The text from the editor that the environment names.
fn edited() -> Result<String, Failure> {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let editor = named.unwrap_or_else(|| "vi".into());
    let file = tempfile::Builder::new().prefix("rapport-message-").suffix(".md").tempfile()?;
    // As in git: the variable is a shell command line, and the file its last argument.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg(&editor)
        .arg(file.path())
        .status()?;
    if !status.success() {
        return Err(Failure::new(Code::Trouble, format!("{editor} ended with {status}"))
            .hint("Say the message on the command line instead: -m MESSAGE"));
    }
    Ok(std::fs::read_to_string(file.path())?)
}
