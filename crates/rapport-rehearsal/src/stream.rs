//! The events that the agent prints, in the formats recorded from the real CLI (`tests/it/support/recorded/`). They
//! mirror what the driver parses: change both together.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::VERSION;
use super::scenario::Usage;

/// The tool that asks the user.
pub(crate) const ASK_TOOL: &str = "AskUserQuestion";

/// One line of output other than `result`; absent fields are omitted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The kind within the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The event's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// The properties that `init` reports and other events repeat.
#[derive(Debug, Clone)]
pub struct Session {
    /// The conversation's id.
    pub id: String,
    /// The working directory.
    pub cwd: String,
    /// The model's name.
    pub model: String,
    /// `default`, `acceptEdits`, `plan` or `bypassPermissions`.
    pub permission_mode: String,
}

impl Event {
    fn new(kind: &'static str, rest: Value) -> Self {
        let rest = match rest {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self { kind, subtype: None, message: None, rest, session_id: None, uuid: None, timestamp: None }
    }

    fn of(mut self, session: &Session) -> Self {
        self.session_id = Some(session.id.clone());
        self.uuid = Some(new_uuid());
        self
    }

    /// The same with a uuid from outside, if there is one.
    pub fn called(mut self, uuid: Option<&str>) -> Self {
        self.uuid = uuid.map(str::to_owned).or(self.uuid);
        self
    }

    fn saying(mut self, message: Value) -> Self {
        self.message = Some(message);
        self.timestamp = Some(now());
        self
    }

    /// The first event of every response.
    pub fn init(session: &Session) -> Self {
        let mut event = Event::new("system", init_fields(session)).of(session);
        event.subtype = Some("init");
        event
    }

    /// The permission mode changed.
    pub fn status(session: &Session) -> Self {
        let rest = json!({"status": null, "permissionMode": session.permission_mode});
        let mut event = Event::new("system", rest).of(session);
        event.subtype = Some("status");
        event
    }

    /// A model's text or call: one block of a message.
    pub fn assistant(session: &Session, message: Value) -> Self {
        Event::new("assistant", json!({"parent_tool_use_id": null})).of(session).saying(message)
    }

    /// A message begins or ends.
    pub fn streamed(session: &Session, event: &str) -> Self {
        Event::new("stream_event", json!({"event": {"type": event}, "parent_tool_use_id": null})).of(session)
    }

    /// An event about a background task.
    pub fn task(session: &Session, subtype: &'static str, rest: Value) -> Self {
        let mut event = Event::new("system", rest).of(session);
        event.subtype = Some(subtype);
        event
    }

    /// A tool result, or a note in the user's name; `extra` has the fields besides the message.
    pub fn user(session: &Session, content: Value, extra: Value) -> Self {
        let mut event =
            Event::new("user", extra).of(session).saying(json!({"role": "user", "content": content}));
        event.rest.insert("parent_tool_use_id".into(), Value::Null);
        event
    }

    /// A deferred tool call is resumed.
    pub fn command_lifecycle(session: &Session) -> Self {
        Event::new("command_lifecycle", json!({"command_uuid": new_uuid(), "state": "started"})).of(session)
    }

    /// A request to the host.
    pub fn control_request(request_id: &str, request: Value) -> Self {
        Event::new("control_request", json!({"request_id": request_id, "request": request}))
    }

    /// A request to the host is withdrawn.
    pub(crate) fn control_cancel(request_id: &str) -> Self {
        Event::new("control_cancel_request", json!({"request_id": request_id}))
    }

    /// The answer to a request of the host.
    pub(crate) fn control_success(request_id: &Value, response: Value) -> Self {
        let response = json!({"subtype": "success", "request_id": request_id, "response": response});
        Event::new("control_response", json!({"response": response}))
    }

    /// The error for an unknown request of the host.
    pub(crate) fn control_error(request_id: &Value, error: &str) -> Self {
        let response = json!({"subtype": "error", "request_id": request_id, "error": error});
        Event::new("control_response", json!({"response": response}))
    }

    /// The answer to `initialize`.
    pub(crate) fn initialized(request_id: &Value, session: &Session, hooks: bool, state: &str) -> Self {
        let mut fields = initialize_fields(session, state);
        if hooks {
            fields["hooks_applied"] = Value::Bool(true);
        }
        let response = json!({
            "subtype": "success", "request_id": request_id, "response": fields,
            "pending_permission_requests": [], "pending_user_dialog_requests": [],
        });
        Event::new("control_response", json!({"response": response}))
    }

    /// An event of any content under a known type.
    pub fn rate_limit(session: &Session, info: Value) -> Self {
        Event::new("rate_limit_event", json!({"rate_limit_info": info})).of(session)
    }
}

/// The message of an assistant event with one block; all blocks of a model response share `id`.
pub fn message(id: &str, model: &str, usage: Usage, block: Value, stop_reason: Option<&str>) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [block],
        "stop_reason": stop_reason, "stop_sequence": null, "usage": early_usage(usage), "context_management": null,
    })
}

/// A block of text.
pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A tool call.
pub(crate) fn tool_use_block(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// The request of a `PreToolUse` hook.
pub fn hook_callback(
    session: &Session,
    transcript: &Path,
    callback: &str,
    prompt: &str,
    tool: (&str, &Value, &str),
) -> Value {
    let (name, input, id) = tool;
    json!({
        "subtype": "hook_callback", "callback_id": callback, "tool_use_id": id,
        "input": {
            "session_id": session.id, "transcript_path": transcript, "cwd": session.cwd, "prompt_id": prompt,
            "permission_mode": session.permission_mode, "effort": {"level": "medium"},
            "hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input, "tool_use_id": id,
        },
    })
}

/// The current time in the real CLI's format.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

pub(crate) fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The usage in an assistant event: from the start of the message, so that output is not counted yet.
fn early_usage(usage: Usage) -> Value {
    let mut early = json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens.min(1)});
    if usage.cache_creation_input_tokens + usage.cache_read_input_tokens > 0 {
        early["cache_creation_input_tokens"] = usage.cache_creation_input_tokens.into();
        early["cache_read_input_tokens"] = usage.cache_read_input_tokens.into();
    }
    early
}

fn init_fields(session: &Session) -> Value {
    json!({
        "cwd": session.cwd, "original_cwd": session.cwd, "additional_directories": [],
        "tools": ["Task", ASK_TOOL, "Bash", "Edit", "ExitPlanMode", "Read", "WebFetch", "WebSearch", "Write"],
        "mcp_servers": [], "model": session.model, "permissionMode": session.permission_mode,
        "apiKeySource": "none", "claude_code_version": VERSION, "output_style": "default",
        "capabilities": ["interrupt_receipt_v1", "msg_lifecycle_v1", "ask_user_question_unanswered_v1"],
        "analytics_disabled": true, "fast_mode_state": "off",
    })
}

fn initialize_fields(session: &Session, state: &str) -> Value {
    json!({
        "output_style": "default",
        "account": {"tokenSource": "none", "apiKeySource": "none", "apiProvider": "firstParty"},
        "pid": std::process::id(), "claude_code_version": VERSION,
        "current_permission_mode": session.permission_mode, "hook_on_failure_supported": true,
        "analytics_disabled": true, "fast_mode_state": "off", "session_state": state, "capabilities": [],
    })
}
