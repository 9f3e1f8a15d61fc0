//! Plain mode, `-p "message"`: one message, one response, and no host that could answer a question.

use std::io::{Read, Write};

use super::host::Message;
use super::player::{Player, Stop};

/// Plays the response to the message on the command line, else on stdin.
pub(super) fn run(player: &mut Player) -> Result<(), Stop> {
    if player.is_unconfigured() {
        return Ok(());
    }
    let message = match player.arguments.message.clone() {
        Some(message) => message,
        None => read_stdin(player)?,
    };
    if !message.is_empty() {
        return player.play_message(&Message { text: message, uuid: None });
    }
    if player.arguments.resume.is_none() {
        let why =
            "Error: Input must be provided either through stdin or as a prompt argument when using --print";
        return Err(Stop::Failed(why.to_owned()));
    }
    if player.transcript.history.deferred.is_none() {
        let why = "Error: No deferred tool marker found in the resumed session. Provide a prompt to continue the conversation.";
        return Err(Stop::Failed(why.to_owned()));
    }
    player.resume_deferred()
}

fn read_stdin(player: &mut Player) -> Result<String, Stop> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    if let Some(record) = &mut player.stdin_record {
        record.write_all(text.as_bytes())?;
    }
    Ok(text.trim_end().to_owned())
}
