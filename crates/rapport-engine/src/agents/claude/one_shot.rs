//! Runs the agent for a single reply, in a conversation that is not continued, or its CLI for a single output such as
//! its version.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use tokio::task::spawn_blocking;

use super::command::{ClaudeConfig, NOT_FOR_DRAFTS, OWN_SETTINGS};
use super::process::AgentProcess;
use super::structured_call::{last_words, result_line};
use super::wire;
use crate::workers::Workplace;
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

/// Sends the prompt, with only these tools, and returns the last text. Hooks and servers of the project do not run,
/// trusted or not. Dropping the future ends the agent.
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
        "--strict-mcp-config",
    ];
    let leading = config.leading_args.iter().cloned().chain(config.extra_args.iter().cloned());
    let args: Vec<_> = leading.chain(flags.into_iter().chain(OWN_SETTINGS).map(OsString::from)).collect();
    let program = config.program.display().to_string();
    let config = &without_git_programs(config, directory).await?;
    let (mut process, lines) =
        AgentProcess::spawn(config, &args, &Directory::at(directory), Mark::unnamed(), None)
            .map_err(|error| format!("cannot start {program}: {error}"))?;
    // The prompt is not an argument, because the CLI would take it for another tool of the list before.
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

/// The configuration with which git runs no program of the repository around this directory.
pub(super) async fn without_git_programs(
    config: &ClaudeConfig,
    directory: &Path,
) -> Result<ClaudeConfig, String> {
    let (config, directory) = (config.clone(), directory.to_owned());
    let changed = spawn_blocking(move || config.without_git_programs(&directory)).await;
    changed.map_err(|error| format!("cannot look at the repository: {error}"))
}

/// The output of a CLI that was run without a conversation.
#[derive(Debug)]
pub(super) struct SaidOfItself {
    /// The exit status of its process.
    pub(super) status: ExitStatus,
    /// What it printed on stdout.
    pub(super) output: String,
    /// The last lines of its stderr.
    pub(super) errors: Vec<String>,
}

/// Runs the CLI with these arguments, without a conversation, in this workplace and under its keeper. Dropping the
/// future ends the CLI.
pub(super) async fn run(
    config: &ClaudeConfig,
    words: &[&str],
    workplace: &dyn Workplace,
) -> io::Result<SaidOfItself> {
    let args: Vec<_> = config.leading_args.iter().cloned().chain(words.iter().map(OsString::from)).collect();
    let (mut process, mut lines) = AgentProcess::spawn(config, &args, workplace, Mark::unnamed(), None)?;
    process.close_input();
    let mut output = String::new();
    while let Some(heard) = lines.recv().await {
        output.push_str(&heard.lossy());
    }
    let status = process.gone().await?;
    let errors = process.last_words().await.into();
    match process.not_started() {
        Some(reason) => Err(io::Error::new(io::ErrorKind::NotFound, reason)),
        None => Ok(SaidOfItself { status, output, errors }),
    }
}
