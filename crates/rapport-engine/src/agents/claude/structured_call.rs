//! One message to the model behind the CLI, answered with JSON of a given schema. No tools, no stored conversation,
//! and, as always, no process that outlives this one.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::command::{ClaudeConfig, FromProject, OWN_SETTINGS};
use super::one_shot::without_git_programs;
use super::process::{AgentProcess, Heard};
use super::spending;
use super::wire::{self, WireKind};
use crate::agents::{Structured, StructuredCall, StructuredError};
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

/// The CLI's error if the model did not follow the schema.
const NEVER_FIT: &str = "error_max_structured_output_retries";
/// The maximum length of its last output in an error.
const LONG: usize = 500;

/// Makes the call in this directory. Dropping the future ends the program.
pub async fn call(
    config: &ClaudeConfig,
    directory: &Path,
    call: &StructuredCall,
) -> Result<Structured, StructuredError> {
    let program = config.program.display().to_string();
    let config = &without_git_programs(config, directory).await.map_err(StructuredError::Failed)?;
    let (mut process, lines) = AgentProcess::spawn(
        config,
        &arguments(config, directory, call),
        &Directory::at(directory),
        Mark::unnamed(),
        None,
    )
    .map_err(|error| {
        let place = directory.display();
        StructuredError::Failed(format!("cannot start {program} in {place}: {error}"))
    })?;
    // A prompt may exceed the length of a command line.
    process.tell(wire::user_message(&call.prompt));
    process.close_input();
    match timeout(call.timeout, result_line(&mut process, lines)).await {
        Ok(Some(line)) => read(&line),
        Ok(None) => Err(StructuredError::Failed(last_words(&program, &mut process).await)),
        Err(_) => {
            process.kill();
            // The keeper kills what is left after that.
            let _ = timeout(config.grace, process.gone()).await;
            Err(StructuredError::TooLong { program, time: call.timeout })
        }
    }
}

/// The arguments. Of the project only its instructions are used, as text.
fn arguments(config: &ClaudeConfig, directory: &Path, call: &StructuredCall) -> Vec<OsString> {
    let system = FromProject::nothing(directory, &config.own())
        .with_instructions(Some(&call.system))
        .unwrap_or_default();
    let ours = [
        "-p",
        "--verbose",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--tools",
        "",
        "--strict-mcp-config",
        "--no-session-persistence",
        "--model",
        &call.model,
        "--system-prompt",
        &system,
        "--json-schema",
        &call.schema,
    ];
    let leading = config.leading_args.iter().cloned();
    let ours = ours.into_iter().chain(OWN_SETTINGS).map(OsString::from);
    leading.chain(ours).chain(config.extra_args.iter().cloned()).collect()
}

/// Reads to the end. Only the result matters.
pub(super) async fn result_line(
    process: &mut AgentProcess,
    mut lines: mpsc::Receiver<Heard>,
) -> Option<String> {
    let mut result = None;
    while let Some(heard) = lines.recv().await {
        let line = heard.lossy();
        let line = wire::without_halves(&line);
        if wire::parse(&line).is_ok_and(|line| line.kind() == WireKind::Result) {
            result = Some(line.into_owned());
        }
    }
    // The output is closed; a failure to wait for the process does not invalidate the result.
    let _ = process.gone().await;
    result
}

fn read(line: &str) -> Result<Structured, StructuredError> {
    #[derive(Deserialize)]
    struct Output<'a> {
        #[serde(borrow, default)]
        structured_output: Option<&'a RawValue>,
    }
    let broken =
        |error: serde_json::Error| StructuredError::Failed(format!("the CLI's result is broken: {error}"));
    let event = wire::parse(line).map_err(broken)?;
    let usage = spending::of_result(&event, 0);
    if event.subtype.starts_with(NEVER_FIT) {
        return Ok(Structured { said: Err(short(&event.failure())), usage });
    }
    if event.is_failure() {
        return Err(StructuredError::Failed(short(&event.failure())));
    }
    let output: Output<'_> = serde_json::from_str(line).map_err(broken)?;
    let said =
        output.structured_output.map_or_else(|| event.result.to_string(), |json| json.get().to_owned());
    Ok(Structured { said: Ok(said), usage })
}

/// The error about a program without a result.
pub(super) async fn last_words(program: &str, process: &mut AgentProcess) -> String {
    let lines = process.last_words().await;
    if let Some(reason) = process.not_started() {
        return reason;
    }
    let said = lines.into_iter().collect::<Vec<_>>().join(" ");
    let colon = if said.is_empty() { "" } else { ": " };
    format!("{program} ended without a reply{colon}{}", short(&said))
}

/// The beginning of a text, safe to show.
fn short(text: &str) -> String {
    text.trim().chars().take(LONG).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
