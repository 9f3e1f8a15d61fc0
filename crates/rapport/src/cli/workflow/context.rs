//! What an agent is shown for a turn: its size, and the consent to send it.

use rapport_core::context::{Payload, ShownSource};

use super::plan::Request;
use super::prompts;
use crate::channels::terminal::terminal_text;
use crate::cli::Common;
use crate::cli::output::say;
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::turns::preparation::{TurnBase, TurnPreparation};

/// The maximum number of files to list with the size of a payload.
const MOST_FILES: usize = 20;

/// Everything that the agent will be shown.
pub(in crate::cli) async fn payload(
    preparation: &TurnPreparation,
    base: &TurnBase,
    request: &Request,
) -> Result<Payload, Failure> {
    if request.message.trim().is_empty() {
        return Err(prompts::no_message());
    }
    Ok(preparation.payload(base, &request.message, request.asking).await?)
}

/// Shows what the agent will be shown, and the estimated number of tokens.
pub(in crate::cli) fn estimate(payload: &Payload, turn: &str) -> Outcome {
    let total = payload.tokens();
    say(format_args!("Turn {turn} is shown about {total} tokens:"))?;
    let of_files = payload.files.iter().fold(0, |sum, file| file.tokens + sum);
    let rest = total.saturating_sub(of_files);
    for file in largest(payload) {
        let path = terminal_text::line(&file.path);
        match &file.unshown {
            None => say(format_args!("  {:>8}  {path}", file.tokens))?,
            Some(why) => say(format_args!(
                "         -  {path} (not shown: {})",
                terminal_text::line(&why.to_string())
            ))?,
        }
    }
    let more = payload.files.len().saturating_sub(MOST_FILES);
    if more > 0 {
        say(format_args!("         …  and {more} smaller files"))?;
    }
    say(format_args!(
        "  {rest:>8}  the rest: instructions, the project's tree, memos, the last report, your message"
    ))
}

/// The largest files first; all of them, in their order, if they are few.
fn largest(payload: &Payload) -> Vec<&ShownSource> {
    let mut files: Vec<_> = payload.files.iter().collect();
    if files.len() > MOST_FILES {
        files.sort_by_key(|file| std::cmp::Reverse(file.tokens));
        files.truncate(MOST_FILES);
    }
    files
}

/// Asks before sending more than the settings allow; refuses without a terminal.
pub(in crate::cli) async fn agree(common: &Common, settings: &Settings, payload: &Payload) -> Outcome {
    let (total, most) = (payload.tokens() as u64, settings.max_tokens);
    if total <= most {
        return Ok(());
    }
    let what = format!("about {total} tokens would be sent, more than the {most} of context.max_tokens");
    if prompts::is_possible(common) {
        return match prompts::yes(&format!("{what}. Send them all?")).await? {
            true => Ok(()),
            false => Err(prompts::left()),
        };
    }
    let mut files: Vec<_> = payload.files.iter().filter(|file| file.tokens > 0).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.tokens));
    let named = files
        .iter()
        .take(MOST_FILES)
        .map(|file| format!("  {:>8}  {}", file.tokens, terminal_text::line(&file.path)));
    let sent =
        if files.is_empty() { "Nothing was sent." } else { "Nothing was sent. The largest files are:" };
    let failure = named.fold(Failure::new(Code::Refused, what).hint(sent), Failure::hint);
    Err(failure
        .hint("Select fewer files in the .context files, or allow more: RAPPORT_CONTEXT_MAX_TOKENS=NUMBER"))
}
