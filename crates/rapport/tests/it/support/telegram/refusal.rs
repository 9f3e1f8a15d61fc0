//! Refusals of Telegram: its codes and its words, as in the sources of the Bot API server.

use serde_json::{Value, json};

/// An error answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// The `error_code`, which is the HTTP status too.
    pub(crate) code: u16,
    /// The `description`.
    pub(crate) description: String,
    /// The `parameters`, where there are any.
    pub(crate) parameters: Option<Value>,
}

impl Refusal {
    /// Code and whole description.
    pub(crate) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    /// 400, with the words after "Bad Request: ".
    pub(crate) fn bad_request(why: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Bad Request: {why}"))
    }

    /// 403, with the words after "Forbidden: ".
    pub(crate) fn forbidden(why: &str) -> Self {
        Self::new(403, format!("Forbidden: {why}"))
    }

    /// 409, with the words after "Conflict: ".
    pub(crate) fn conflict(why: &str) -> Self {
        Self::new(409, format!("Conflict: {why}"))
    }

    /// 429.
    pub(crate) fn too_many_requests(retry_after: u64) -> Self {
        Self {
            parameters: Some(json!({ "retry_after": retry_after })),
            ..Self::new(429, format!("Too Many Requests: retry after {retry_after}"))
        }
    }

    /// 400, with the chat that a group has become.
    pub(crate) fn upgraded(to: i64) -> Self {
        Self {
            parameters: Some(json!({ "migrate_to_chat_id": to })),
            ..Self::bad_request("group chat was upgraded to a supergroup chat")
        }
    }

    /// The seconds to wait, if it says so.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.parameters.as_ref()?["retry_after"].as_u64()
    }

    /// The answer's body.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(parameters) = &self.parameters {
            body["parameters"] = parameters.clone();
        }
        body
    }
}
