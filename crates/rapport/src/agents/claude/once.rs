//! One question to the agent, in a conversation of its own that nobody goes on with: what it says is all that is wanted.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use super::command::{ClaudeConfig, NOT_FOR_DRAFTS};
use super::process::{Heard, Process};

/// What is wanted of what it prints.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result: Option<String>,
}

/// Asks it, with only these tools, and gives its last words. Dropped before the end, the agent is ended.
pub async fn ask(
    config: &ClaudeConfig,
    directory: &Path,
    prompt: &str,
    tools: &str,
) -> Result<String, String> {
    let flags = [
        "-p",
        "--verbose",
        "--output-format",
        "stream-json",
        "--permission-mode",
        "default",
        "--allowedTools",
        tools,
        "--disallowedTools",
        NOT_FOR_DRAFTS,
    ];
    let flags = flags.into_iter().map(OsString::from).chain([OsString::from(prompt)]);
    let args: Vec<_> =
        config.leading_args.iter().cloned().chain(config.extra_args.iter().cloned()).chain(flags).collect();
    let (mut process, mut lines) = Process::spawn(config, &args, directory)
        .map_err(|error| format!("cannot start {}: {error}", config.program.display()))?;
    process.close_input();
    let mut said = None;
    while let Some(heard) = lines.recv().await {
        let Heard::Line(bytes) = heard else { continue };
        let line = serde_json::from_slice::<Line>(&bytes).ok().filter(|line| line.kind == "result");
        said = line.or(said);
    }
    match said {
        Some(Line { result: Some(words), is_error: false, .. }) => Ok(words),
        Some(Line { result: Some(words), .. }) => Err(format!("the agent failed: {words}")),
        Some(_) | None => Err("the agent ended without a word".to_owned()),
    }
}
