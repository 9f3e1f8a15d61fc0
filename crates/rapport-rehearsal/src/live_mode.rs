//! Live mode: the host keeps stdin open, sends messages as lines and answers requests.

use super::player::{Player, Stop};

/// Plays until stdin ends or the script ends the process.
pub(super) fn run(player: &mut Player) -> Result<(), Stop> {
    if player.is_unconfigured() {
        return Ok(());
    }
    player.inbox.read_stdin(player.stdin_record.take());
    if player.arguments.resume.is_some() && player.transcript.history.deferred.is_some() {
        resume_deferred_call(player)?;
    }
    loop {
        if let Some(message) = player.host.messages.pop_front() {
            player.play_message(&message)?;
        } else if player.play_notice()? {
            continue;
        } else if player.host.eof {
            return Ok(());
        } else {
            player.pump(None)?;
        }
    }
}

/// Repeats a deferred call before any message; the hooks must be known first.
fn resume_deferred_call(player: &mut Player) -> Result<(), Stop> {
    player.host.is_resuming = true;
    while !player.host.initialized && !player.host.eof && player.host.messages.is_empty() {
        player.pump(None)?;
    }
    player.host.is_resuming = false;
    if !player.host.initialized && player.host.messages.is_empty() {
        return Ok(());
    }
    player.resume_deferred()
}
