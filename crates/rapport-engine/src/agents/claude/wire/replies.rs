//! Lines to Claude Code, one each, without the newline.

use std::collections::HashSet;

use rapport_core::prompt::END_OF_MESSAGE;
use rapport_core::{AnsweredQuestion, Consent};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ASK;

/// The hook timeout of the CLI. A hook that times out fails open: the model continues without an answer. Calls are
/// parked long before that. More than 24 days would not fit into a timer of CLIs that run on Node.
pub const HOOK_TIMEOUT_SECONDS: u64 = 20 * 24 * 60 * 60;

/// The first line: it registers the hook for questions, before anything else decides on them.
pub fn initialize() -> String {
    let hook = json!({"matcher": ASK, "hookCallbackIds": ["ask"], "timeout": HOOK_TIMEOUT_SECONDS});
    request("initialize", json!({"subtype": "initialize", "hooks": {"PreToolUse": [hook]}}))
}

/// A message for the model.
pub fn user_message(text: &str) -> String {
    let message = json!({"role": "user", "content": as_words(text)});
    json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""}).to_string()
}

/// A message for the model, with a name by which the CLI echoes it.
pub fn named_message(text: &str, name: &str) -> String {
    let message = json!({"role": "user", "content": as_words(text)});
    json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": "", "uuid": name})
        .to_string()
}

/// A message that consists only of text. The CLI runs a message that begins with the name of a command, such as
/// `/clear`, and includes every file that is mentioned as `@path`, wherever the file is, without asking a person. It
/// looks for both only in the last block of a message. That block is the message's own last line if it is plain text,
/// so that nothing is added to the message.
fn as_words(text: &str) -> Value {
    if is_words(text) {
        return text.into();
    }
    let own = text.trim_end().rfind('\n').map(|at| text.split_at(at + 1));
    let (first, last) = own.filter(|(_, last)| is_words(last)).unwrap_or((text, END_OF_MESSAGE));
    json!([{"type": "text", "text": first}, {"type": "text", "text": last}])
}

fn is_words(text: &str) -> bool {
    !text.contains('@') && !text.trim_start().starts_with('/')
}

pub fn interrupt() -> String {
    request("interrupt", json!({"subtype": "interrupt"}))
}

/// Allows the tool this once, with this input. The CLI is never given rules or modes to store, because they would
/// allow more than people were shown.
pub fn allow(request_id: &str, input: &RawValue) -> String {
    respond(request_id, &Allow { behavior: "allow", updated_input: input })
}

/// The tool may not be used.
pub fn deny(request_id: &str, message: &str) -> String {
    respond(request_id, &json!({"behavior": "deny", "message": message}))
}

/// The hook allows the call, with this input.
pub fn hook_allow(request_id: &str, input: &RawValue) -> String {
    respond_to_hook(request_id, Decision { updated_input: Some(input), ..Decision::new("allow") })
}

/// The hook denies the call.
pub fn hook_deny(request_id: &str, reason: &str) -> String {
    let permission_decision_reason = Some(reason);
    respond_to_hook(request_id, Decision { permission_decision_reason, ..Decision::new("deny") })
}

/// Defers the call: the process ends, and repeats the call when it is resumed.
pub fn hook_defer(request_id: &str) -> String {
    respond_to_hook(request_id, Decision::new("defer"))
}

/// The reply to an MCP server.
pub fn elicitation_reply(request_id: &str, action: Consent, content: &Map<String, Value>) -> String {
    match action {
        Consent::Accept => respond(request_id, &json!({"action": action.as_str(), "content": content})),
        Consent::Decline | Consent::Cancel => respond(request_id, &json!({"action": action.as_str()})),
    }
}

/// The response to an unknown request. Without any response the agent would wait for one.
pub fn unsupported(request_id: &str, subtype: &str) -> String {
    let error = format!("{subtype} is not supported by this host");
    let response = json!({"subtype": "error", "request_id": request_id, "error": error});
    json!({"type": "control_response", "response": response}).to_string()
}

/// The question tool's input with the answers. They are keyed by the question's text as the agent wrote it; texts that
/// differ only in surrounding spaces are distinguished by their order.
pub fn with_answers(input: &RawValue, answered: &[AnsweredQuestion]) -> Box<RawValue> {
    let mut input: Map<String, Value> = serde_json::from_str(input.get()).unwrap_or_default();
    let mut answers: Vec<(String, String)> = Vec::new();
    for one in answered {
        let is_new = |text: &str| answers.iter().all(|(known, _)| known != text);
        let is_it = |text: &&str| text.trim() == one.question.trim() && is_new(text);
        let as_written = texts(&input).find(is_it).unwrap_or(&one.question).to_owned();
        answers.push((as_written, one.attributed()));
    }
    input.remove("answers");
    // This cannot fail for these types.
    serde_json::value::to_raw_value(&Answered { input, answers: InOrder(answers) }).unwrap_or_default()
}

/// The tool's input, and the answers in the order of the questions: some CLIs tell the model in that order.
#[derive(Serialize)]
struct Answered {
    #[serde(flatten)]
    input: Map<String, Value>,
    answers: InOrder,
}

struct InOrder(Vec<(String, String)>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(question, answer)| (question, answer)))
    }
}

/// Whether two questions have the same text, so that one answer would replace the other.
pub fn has_equal_texts(input: Option<&RawValue>) -> bool {
    let input: Map<String, Value> =
        input.and_then(|input| serde_json::from_str(input.get()).ok()).unwrap_or_default();
    let mut seen = HashSet::new();
    texts(&input).any(|text| !seen.insert(text))
}

fn texts(input: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let questions = input.get("questions").and_then(Value::as_array).into_iter().flatten();
    questions.filter_map(|asked| asked.as_str().or_else(|| asked.get("question")?.as_str()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Allow<'a> {
    behavior: &'static str,
    updated_input: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decision<'a> {
    hook_event_name: &'static str,
    permission_decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<&'a RawValue>,
}

impl Decision<'_> {
    fn new(permission_decision: &'static str) -> Self {
        let hook_event_name = "PreToolUse";
        Self { hook_event_name, permission_decision, permission_decision_reason: None, updated_input: None }
    }
}

fn request(id: &str, request: Value) -> String {
    json!({"type": "control_request", "request_id": format!("rapport-{id}"), "request": request}).to_string()
}

fn respond_to_hook(request_id: &str, decision: Decision<'_>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Output<'a> {
        hook_specific_output: Decision<'a>,
    }
    respond(request_id, &Output { hook_specific_output: decision })
}

fn respond<T: Serialize>(request_id: &str, response: &T) -> String {
    #[derive(Serialize)]
    struct Line<'a, T> {
        r#type: &'static str,
        response: Success<'a, T>,
    }
    #[derive(Serialize)]
    struct Success<'a, T> {
        subtype: &'static str,
        request_id: &'a str,
        response: &'a T,
    }
    let response = Success { subtype: "success", request_id, response };
    // This cannot fail for these types.
    serde_json::to_string(&Line { r#type: "control_response", response }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_that_is_not_in_the_message_where_that_can_be() {
        let pieces = |first: &str, last: &str| json!([{"type": "text", "text": first}, {"type": "text", "text": last}]);
        for (text, expected) in [
            ("Add a login.", json!("Add a login.")),
            ("a/b\nc", json!("a/b\nc")),
            ("Read @a.md.\n```\n", pieces("Read @a.md.\n", "```\n")),
            ("/clear\nis a command", pieces("/clear\n", "is a command")),
            ("Read @a.md.", pieces("Read @a.md.", END_OF_MESSAGE)),
            ("First\n\n@a.md\n\n", pieces("First\n\n@a.md\n\n", END_OF_MESSAGE)),
            (" /init", pieces(" /init", END_OF_MESSAGE)),
            ("@a\n/init", pieces("@a\n/init", END_OF_MESSAGE)),
        ] {
            assert_eq!(as_words(text), expected, "{text:?}");
        }
    }
}
