//! A second conversation out of a first: the same up to a call that waits for its answer, in another directory.

use rapport_core::{CallId, ConversationId};

use crate::agents::Whereabouts;
use crate::agents::claude::wire::{self, ASK, Kind, Line};

/// The conversation up to this call, as it was when the call had no answer, under another name and in another
/// directory; `None` if the call is not in it. A call that had been put away by then still is.
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

/// All of a conversation, under another name and in another directory.
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
    let blocks = line.message.as_ref().filter(|_| line.kind() == Kind::Assistant);
    blocks.is_some_and(|message| {
        message.blocks().any(|block| block.is_tool_use() && &*block.id == call.as_str())
    })
}

fn message_id(line: &Line<'_>) -> Option<String> {
    line.message.as_ref().map(|message| message.id.to_string()).filter(|id| !id.is_empty())
}

/// Whether a line after the call belongs to the time before its answer: what else the same message wants, short of
/// another question, and what came of that.
fn still_waits(line: &Line<'_>, call: &CallId, message: Option<&str>) -> bool {
    match (line.kind(), line.message.as_ref()) {
        (Kind::User, Some(told)) => {
            let answered = |id: &str| id == call.as_str();
            let mut results = told.blocks().filter(|block| block.is_tool_result());
            told.texts().next().is_none() && !results.any(|block| answered(&block.tool_use_id))
        }
        (Kind::Assistant, Some(said)) => {
            let is_same = message.is_some_and(|message| message == &*said.id);
            is_same && !said.blocks().any(|block| block.is_tool_use() && &*block.name == ASK)
        }
        // Where the scripted agent notes how far it played, it has gone on.
        (Kind::Other, _) => &*line.kind != "rehearsal",
        (Kind::Init | Kind::Retry | Kind::Denied | Kind::RateLimit | Kind::Background | Kind::Receipt, _) => {
            true
        }
        (Kind::Request | Kind::Cancel | Kind::Result | Kind::Stream, _) => true,
        (Kind::TaskStarted | Kind::TaskUpdated | Kind::TaskEnded, _) => true,
        (Kind::User | Kind::Assistant, None) => true,
    }
}

/// A line under the other name. Paths in what the agent did and saw lead to the other directory, or it would go on in
/// this one. What it was told is left as it was said, and what it thought as it was signed.
fn renamed(line: &str, from: Whereabouts<'_>, to: Whereabouts<'_>) -> String {
    let quoted = |conversation: &ConversationId| format!("\"{conversation}\"");
    let line = line.replace(&quoted(from.conversation), &quoted(to.conversation));
    let is_as_said = wire::parse(&line).is_ok_and(|line| {
        let message = line.message.as_ref().filter(|_| line.kind() == Kind::User);
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

/// Whether a path can begin after this, in the text of a JSON string.
fn begins(before: &str) -> bool {
    let mut back = before.chars().rev();
    let (last, escaped) = (back.next(), back.next() == Some('\\'));
    escaped || !last.is_some_and(|last| last.is_alphanumeric() || matches!(last, '_' | '-' | '.'))
}

/// Whether a name has ended before this.
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
