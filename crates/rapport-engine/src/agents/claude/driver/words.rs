//! Lines and tool inputs in words for people: short, and safe to show.

use rapport_core::{Activity, ToolUse};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agents::claude::command::OWN_SERVER;
use crate::agents::claude::wire::{ASK, Line};

/// The maximum length of a description of what a tool is used on, in characters.
const LONG: usize = 2_000;
/// The maximum length of a line outside of the protocol.
const BABBLE: usize = 500;
/// The maximum length of an unknown event.
const NOTE: usize = 2_000;
/// The maximum length of a description of an agent's activity.
const GLANCE: usize = 200;

/// What exactly a tool would do: the command, the file, or its whole input.
pub(super) fn what(tool: &str, input: Option<&RawValue>) -> String {
    let input: Value = input.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let key = match tool {
        "Bash" => "command",
        "Write" | "Edit" | "MultiEdit" | "Read" => "file_path",
        "NotebookEdit" => "notebook_path",
        _ => "",
    };
    match input.get(key).and_then(Value::as_str) {
        Some(exactly) => exactly.to_owned(),
        None => cut(&input.to_string(), LONG),
    }
}

/// The same text, shortened for the log.
pub(super) fn used_on(tool: &str, input: Option<&RawValue>) -> String {
    cut(&what(tool, input), LONG)
}

/// What a tool of this name does.
pub(super) fn kind(tool: &str) -> ToolUse {
    match tool {
        "Read" | "NotebookRead" => ToolUse::Reads,
        "Glob" | "Grep" | "LS" | "WebFetch" | "WebSearch" => ToolUse::Looks,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ToolUse::Writes,
        "Bash" => ToolUse::Runs,
        ASK => ToolUse::Asks,
        _ if is_own(tool) => ToolUse::Own,
        _ => ToolUse::Other,
    }
}

/// Whether a tool is of Rapport's own server. If a server's name only begins like Rapport's, another pair of
/// underscores precedes the tool's name.
fn is_own(tool: &str) -> bool {
    let server = tool.strip_prefix("mcp__").and_then(|name| name.strip_prefix(OWN_SERVER));
    server.and_then(|rest| rest.strip_prefix("__")).is_some_and(|name| !name.contains("__"))
}

/// The use of a tool, for a person to glance at.
pub(super) fn use_of(tool: &str, what: &str) -> Activity {
    Activity::tool(tool, &glance(what), kind(tool))
}

/// The beginning of a line outside of the protocol, with control characters replaced.
pub(super) fn babble(line: &str) -> String {
    line.trim_end().chars().take(BABBLE).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// A failure of the model's API, and when it is retried.
pub(super) fn retry(line: &Line<'_>) -> String {
    let status = line.error_status.count();
    let what = match (status, &*line.error) {
        (0, "" | "unknown") => "the model cannot be reached".to_owned(),
        (0, error) => format!("the model cannot be reached: {error}"),
        (_, error) => format!("the model's API said {status} {error}"),
    };
    let (attempt, most) = (line.attempt.count(), line.max_retries.count());
    let seconds = line.retry_delay_ms.0 / 1000.0;
    cut(&format!("{what}; trying again in {seconds:.1} s ({attempt} of {most})"), GLANCE)
}

/// A call that the CLI refused by itself. People have to be told, because none was asked.
pub(super) fn denied(line: &Line<'_>) -> String {
    let reasons = [&*line.decision_reason, &*line.decision_reason_type];
    let why = reasons.into_iter().find(|why| !why.is_empty()).unwrap_or("it gives no reason");
    cut(&format!("the agent's program refused {} and asked nobody: {why}", &*line.tool_name), GLANCE)
}

/// The activity while the model's API limits the rate.
pub(super) const RATE_LIMITED: &str = "the model's API limits the rate of requests";

/// The beginning of an unknown event.
pub(super) fn note(line: &str) -> String {
    cut(line.trim(), NOTE)
}

/// The first line of a text.
pub(super) fn glance(words: &str) -> String {
    cut(words.trim().lines().next().unwrap_or_default(), GLANCE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_of_its_own_server_are_rapports() {
        for (tool, expected) in [
            ("mcp__rapport__project_context", ToolUse::Own),
            ("mcp__rapport__evil__run", ToolUse::Other),
            ("mcp__rapport2__run", ToolUse::Other),
            ("mcp__github__rapport", ToolUse::Other),
            ("Read", ToolUse::Reads),
            ("Task", ToolUse::Other),
        ] {
            assert_eq!(kind(tool), expected, "{tool}");
        }
    }
}
