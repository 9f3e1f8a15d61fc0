//! Forks a conversation: the same up to a call that waits for its answer, in another directory.

use rapport_core::{CallId, ConversationId};

use crate::agents::Whereabouts;
use crate::agents::claude::wire::{self, ASK, Line, WireKind};

/// The conversation up to this call, before its answer, under another name and in another directory; `None` if it does
/// not contain the call. A call that was deferred by then still is.
pub fn fork(transcript: &[u8], call: &CallId, from: Whereabouts<'_>, to: Whereabouts<'_>) -> Option<Vec<u8>> {
    let lines: Vec<_> = transcript.split_inclusive(|&byte| byte == b'\n').collect();
    let text = |line: &[u8]| std::str::from_utf8(line).ok().map(str::to_owned);
    let parsed = |line: &[u8], check: &dyn Fn(&Line<'_>) -> bool| {
        text(line).is_some_and(|line| wire::parse(&line).is_ok_and(|line| check(&line)))
    };
    let asking = lines.iter().position(|line| parsed(line, &|line| calls(line, call)))?;
    let message = text(lines[asking]).and_then(|line| message_id(&wire::parse(&line).ok()?));
    let rest = &lines[asking + 1..];
    let waiting =
        rest.iter().take_while(|line| parsed(line, &|line| still_waits(line, call, message.as_deref())));
    Some(copy(&lines[..asking + 1 + waiting.count()].concat(), from, to))
}

/// A whole conversation, under another name and in another directory.
pub fn copy(transcript: &[u8], from: Whereabouts<'_>, to: Whereabouts<'_>) -> Vec<u8> {
    let lines = transcript.split_inclusive(|&byte| byte == b'\n');
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    let mut copied: String = lines.map(|line| renamed(line, from, to)).collect();
    if !copied.ends_with('\n') {
        copied.push('\n');
    }
    copied.into_bytes()
}

fn calls(line: &Line<'_>, call: &CallId) -> bool {
    let blocks = line.message.as_ref().filter(|_| line.kind() == WireKind::Assistant);
    blocks.is_some_and(|message| {
        message.blocks().any(|block| block.is_tool_use() && &*block.id == call.as_str())
    })
}

fn message_id(line: &Line<'_>) -> Option<String> {
    line.message.as_ref().map(|message| message.id.to_string()).filter(|id| !id.is_empty())
}

/// Whether a line after the call precedes its answer: other calls of the same message, except for further questions,
/// and their results.
fn still_waits(line: &Line<'_>, call: &CallId, message: Option<&str>) -> bool {
    match (line.kind(), line.message.as_ref()) {
        (WireKind::User, Some(told)) => {
            let answered = |id: &str| id == call.as_str();
            let mut results = told.blocks().filter(|block| block.is_tool_result());
            told.texts().next().is_none() && !results.any(|block| answered(&block.tool_use_id))
        }
        (WireKind::Assistant, Some(said)) => {
            let is_same = message.is_some_and(|message| message == &*said.id);
            is_same && !said.blocks().any(|block| block.is_tool_use() && &*block.name == ASK)
        }
        // A note of the scripted agent about its progress means that it continued.
        (WireKind::Other, _) => &*line.kind != "rehearsal",
        (
            WireKind::Init
            | WireKind::Retry
            | WireKind::Denied
            | WireKind::RateLimit
            | WireKind::Background
            | WireKind::Receipt,
            _,
        ) => true,
        (WireKind::Request | WireKind::Cancel | WireKind::Result | WireKind::Stream, _) => true,
        (WireKind::TaskStarted | WireKind::TaskUpdated | WireKind::TaskEnded, _) => true,
        (WireKind::User | WireKind::Assistant, None) => true,
    }
}

/// A line under the other name. Paths in the agent's calls and results are changed to the other directory, or it would
/// continue in this one. The user's messages stay verbatim, and thinking stays as it was signed.
fn renamed(line: &str, from: Whereabouts<'_>, to: Whereabouts<'_>) -> String {
    let quoted = |conversation: &ConversationId| format!("\"{conversation}\"");
    let line = line.replace(&quoted(from.conversation), &quoted(to.conversation));
    let is_as_said = wire::parse(&line).is_ok_and(|line| {
        let message = line.message.as_ref().filter(|_| line.kind() == WireKind::User);
        message.is_some_and(|message| message.texts().next().is_some())
    });
    if is_as_said || line.contains("thinking\"") {
        return line;
    }
    with_paths(&line, &in_json(from.directory), &in_json(to.directory))
}

fn with_paths(line: &str, from: &str, to: &str) -> String {
    let mut moved = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        moved.push_str(before);
        moved.push_str(if begins(before) && ends(after) { to } else { from });
        rest = after;
    }
    moved.push_str(rest);
    moved
}

/// Whether a path can begin after this text of a JSON string.
fn begins(before: &str) -> bool {
    let mut back = before.chars().rev();
    let (last, escaped) = (back.next(), back.next() == Some('\\'));
    escaped || !last.is_some_and(|last| last.is_alphanumeric() || matches!(last, '_' | '-' | '.'))
}

/// Whether a name has ended before this text.
fn ends(after: &str) -> bool {
    let mut next = after.chars();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match next.next() {
        Some('.') => !next.next().is_some_and(is_part),
        Some(c) => !is_part(c),
        None => true,
    }
}

fn in_json(path: &str) -> String {
    serde_json::Value::from(path).to_string().trim_matches('"').to_owned()
}
