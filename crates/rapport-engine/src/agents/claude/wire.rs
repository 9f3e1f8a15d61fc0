//! The protocol of Claude Code, line by line, in both directions.
//!
//! A line is parsed in one pass that borrows from it; unused fields are skipped. Unknown fields, and those of an
//! unexpected type, read as absent: every release of the CLI adds some. The order of keys does not matter.

mod elicitation;
mod lenient_values;
mod parts;
mod questions;
mod replies;
mod surrogates;

use serde::Deserialize;

pub use elicitation::elicited;
pub use lenient_values::{Content, Cost, Flag, List, Number, OptionalFlag, Part, Text, Word};
pub use parts::{
    Block, ControlRequest, DeferredUse, Message, RateLimit, StreamEvent, Task, TaskPatch, Tokens, ToolCall,
    ToolOutcome, TranscriptNote,
};
pub use questions::drafts;
pub use replies::{
    HOOK_TIMEOUT_SECONDS, allow, deny, elicitation_reply, has_equal_texts, hook_allow, hook_defer, hook_deny,
    initialize, interrupt, named_message, unsupported, user_message, with_answers,
};
pub use surrogates::without_halves;

/// The tool with which an agent asks.
pub const ASK: &str = "AskUserQuestion";
/// The tool with which an agent asks to leave plan mode.
pub(crate) const EXIT_PLAN_MODE: &str = "ExitPlanMode";
/// The tool with which an agent enters plan mode by itself.
pub(crate) const ENTER_PLAN_MODE: &str = "EnterPlanMode";

/// Why a line is not part of the protocol.
pub type Error = serde_json::Error;

/// Reads one line.
pub fn parse(line: &str) -> Result<Line<'_>, Error> {
    serde_json::from_str(line)
}

/// One line: the fields of all kinds of messages. The kind determines which of them matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    /// `system`, `assistant`, `user`, `control_request`, `result`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// `init`, `success`, `error_during_execution`, ...
    #[serde(borrow)]
    pub subtype: Text<'a>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// The model that runs.
    #[serde(borrow)]
    pub model: Text<'a>,
    /// The id of a request, for its response or withdrawal.
    #[serde(borrow)]
    pub request_id: Text<'a>,
    /// The agent's request.
    #[serde(borrow)]
    pub request: Part<ControlRequest<'a>>,
    /// The message of the model or of the user.
    #[serde(borrow)]
    pub message: Part<Message<'a>>,
    /// The call that started the sub-agent; empty for the agent itself.
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub uuid: Text<'a>,
    /// In a transcript, the line that it follows.
    #[serde(borrow, rename = "parentUuid")]
    pub parent_uuid: Text<'a>,
    /// Whether it belongs to a sub-agent.
    #[serde(rename = "isSidechain")]
    pub is_sidechain: Flag,
    /// Whether this only echoes a message that the model has read.
    #[serde(rename = "isReplay")]
    pub is_replay: Flag,
    #[serde(borrow)]
    pub attachment: Part<TranscriptNote<'a>>,
    /// The last text of a turn.
    #[serde(borrow)]
    pub result: Text<'a>,
    /// The errors of a turn.
    #[serde(borrow)]
    pub errors: List<Text<'a>>,
    /// Whether a turn failed.
    pub is_error: Flag,
    /// Why a turn ended.
    #[serde(borrow)]
    pub stop_reason: Word<'a>,
    pub usage: Part<Tokens>,
    /// The cost of the whole conversation or, in older CLIs, of the whole process, in dollars.
    pub total_cost_usd: Number,
    pub model_usage_since_last_result: Cost,
    /// The number of the failed attempt of a request.
    pub attempt: Number,
    /// The maximum number of attempts.
    pub max_retries: Number,
    /// The delay before the next attempt.
    pub retry_delay_ms: Number,
    /// The HTTP status, if there is one.
    pub error_status: Number,
    #[serde(borrow)]
    pub error: Text<'a>,
    /// The API's rate limits.
    #[serde(borrow)]
    pub rate_limit_info: Part<RateLimit<'a>>,
    /// The background tasks.
    #[serde(borrow)]
    pub tasks: List<Part<Task<'a>>>,
    #[serde(borrow)]
    pub task_id: Text<'a>,
    #[serde(borrow)]
    pub task_type: Text<'a>,
    /// The call that started the task.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// What the tool returned, besides the text for the model.
    #[serde(borrow)]
    pub tool_use_result: Part<ToolOutcome<'a>>,
    /// The change of the task.
    #[serde(borrow)]
    pub patch: Part<TaskPatch<'a>>,
    /// Whether it runs in the background; older CLIs do not say.
    pub is_backgrounded: OptionalFlag,
    /// Part of a streamed message.
    #[serde(borrow)]
    pub event: Part<StreamEvent<'a>>,
    #[serde(borrow)]
    pub deferred_tool_use: Part<DeferredUse<'a>>,
    /// The tool that was refused without asking a person.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub decision_reason: Text<'a>,
    /// The kind of the reason.
    #[serde(borrow)]
    pub decision_reason_type: Text<'a>,
    #[serde(borrow)]
    pub permission_denials: List<Part<ToolCall<'a>>>,
}

/// The kinds of lines that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireKind {
    /// The conversation begins or continues.
    Init,
    Assistant,
    /// A tool result, or a message of Rapport.
    User,
    Request,
    /// A request was withdrawn.
    Cancel,
    /// A request to the model failed and is retried.
    Retry,
    /// The CLI refused a call by itself, by a rule, a mode or a model's judgement.
    Denied,
    /// The API's rate limits.
    RateLimit,
    /// The list of background tasks has changed.
    Background,
    /// A background task was started.
    TaskStarted,
    /// A background task has changed.
    TaskUpdated,
    /// A background task has ended, and the model is to be told.
    TaskEnded,
    /// Part of a streamed message.
    Stream,
    /// A receipt, a keep-alive, or a line that repeats something or is not needed.
    Receipt,
    Result,
    Other,
}

impl Line<'_> {
    pub fn kind(&self) -> WireKind {
        match &*self.kind {
            "system" if &*self.subtype == "init" => WireKind::Init,
            "system" if &*self.subtype == "api_retry" => WireKind::Retry,
            "system" if &*self.subtype == "background_tasks_changed" => WireKind::Background,
            "system" if &*self.subtype == "task_started" => WireKind::TaskStarted,
            "system" if &*self.subtype == "task_updated" => WireKind::TaskUpdated,
            "system" if &*self.subtype == "task_notification" => WireKind::TaskEnded,
            "system" if &*self.subtype == "permission_denied" => WireKind::Denied,
            "system" if ["status", "task_progress"].contains(&&*self.subtype) => WireKind::Receipt,
            "stream_event" => WireKind::Stream,
            "assistant" => WireKind::Assistant,
            "user" => WireKind::User,
            "control_request" => WireKind::Request,
            "control_cancel_request" => WireKind::Cancel,
            "control_response" | "keep_alive" | "command_lifecycle" => WireKind::Receipt,
            kind if kind.starts_with("rate_limit") => WireKind::RateLimit,
            "result" => WireKind::Result,
            _ => WireKind::Other,
        }
    }

    /// Whether this records a deferred call, in any form that the CLI uses.
    pub(crate) fn is_deferred_note(&self) -> bool {
        let attachment = self.attachment.as_ref().map_or("", |attachment| &attachment.kind);
        [&self.kind, &self.subtype, attachment].iter().any(|word| word.contains("deferred"))
    }

    /// In a transcript, the name of a message that the model read during a turn.
    pub(crate) fn read_in_turn(&self) -> Option<&str> {
        let note = self.attachment.as_ref().filter(|note| &*note.kind == "queued_command")?;
        Some(&*note.source_uuid).filter(|name| !name.is_empty())
    }

    /// Whether the API limits requests: every response may report how much of the limit is left.
    pub(crate) fn is_limited(&self) -> bool {
        self.rate_limit_info.as_ref().is_none_or(|limit| &*limit.status != "allowed")
    }

    /// Whether a turn failed.
    pub fn is_failure(&self) -> bool {
        self.is_error.0 || self.subtype.starts_with("error")
    }

    /// Why a turn failed, in the agent's words.
    pub fn failure(&self) -> String {
        if !self.result.is_empty() {
            return self.result.to_string();
        }
        let errors: Vec<&str> = self.errors.iter().map(|error| &**error).collect();
        if errors.is_empty() { self.subtype.to_string() } else { errors.join("\n") }
    }

    /// The deferred call, if the turn ended with one; empty if it is not named.
    pub fn deferred(&self) -> Option<&str> {
        let call = self.deferred_tool_use.as_ref().map_or("", |call| &call.id);
        matches!(&self.stop_reason, Word::Is(reason) if reason == "tool_deferred").then_some(call)
    }

    /// Whether a turn ended before the model did: its stream broke off, or the model said nothing. CLIs that do not
    /// report why a turn ended do not report this either.
    pub(crate) fn has_no_end(&self) -> bool {
        matches!(self.stop_reason, Word::Null)
    }

    /// Whether the reported reason for the end of a turn is a tool call. A tool call ends no turn, so this is the
    /// reason of an earlier message.
    pub(crate) fn has_stale_end(&self) -> bool {
        matches!(&self.stop_reason, Word::Is(reason) if reason == "tool_use")
    }

    /// The cost since the last result of this process, in millionths of a dollar. Older CLIs report only the total of
    /// the process, so `total_before` is what that result reported.
    pub fn cost_micros(&self, total_before: u64) -> u64 {
        let total = self.total_cost_micros();
        // A total below the last one was counted from zero again.
        let since = || total.checked_sub(total_before).unwrap_or(total);
        self.model_usage_since_last_result.0.map_or_else(since, micros)
    }

    /// The total cost that a result reports, in millionths of a dollar.
    pub(crate) fn total_cost_micros(&self) -> u64 {
        micros(self.total_cost_usd.0)
    }
}

fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}
