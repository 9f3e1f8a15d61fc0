//! One prompt to the agent, in a conversation of its own that is never resumed: only its reply is wanted.

use std::ffi::OsString;
use std::path::Path;

use super::command::{ClaudeConfig, NOT_FOR_DRAFTS, OWN_SETTINGS};
use super::process::Process;
use super::structured::{last_words, result_line};
use super::wire;
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

/// Sends the prompt, with only these tools, and returns the last text. Dropping the future ends the agent.
pub async fn ask(
    config: &ClaudeConfig,
    directory: &Path,
    prompt: &str,
    tools: &str,
) -> Result<String, String> {
    let flags = [
        "-p",
        "--verbose",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--permission-mode",
        "default",
        "--allowedTools",
        tools,
        "--disallowedTools",
        NOT_FOR_DRAFTS,
    ];
    let leading = config.leading_args.iter().cloned().chain(config.extra_args.iter().cloned());
    let args: Vec<_> = leading.chain(flags.into_iter().chain(OWN_SETTINGS).map(OsString::from)).collect();
    let program = config.program.display().to_string();
    let (mut process, lines) =
        Process::spawn(config, &args, &Directory::at(directory), Mark::unnamed(), None)
            .map_err(|error| format!("cannot start {program}: {error}"))?;
    // Not as an argument: after a list of tools the CLI would take it for another tool.
    process.tell(wire::user_message(prompt));
    process.close_input();
    let Some(line) = result_line(&mut process, lines).await else {
        return Err(last_words(&program, &mut process).await);
    };
    let result = wire::parse(&line).map_err(|error| format!("the CLI's result is broken: {error}"))?;
    if result.is_failure() {
        return Err(format!("the agent failed: {}", result.failure()));
    }
    if result.result.trim().is_empty() {
        return Err("the agent ended without a word".to_owned());
    }
    Ok(result.result.to_string())
}
