//! What Claude Code prints, line by line, and what it is told.
//!
//! A line is read in one pass that borrows from it; what nobody asks for is skipped, not built. Whatever is unknown or
//! not of the expected kind reads as absent: every release of the CLI brings new fields and types. Key order means
//! nothing.

mod elicitation;
mod halves;
mod lenient;
mod parts;
mod questions;
mod tell;

use serde::Deserialize;

pub use elicitation::elicited;
pub use halves::without_halves;
pub use lenient::{Answer, Content, Cost, Flag, List, Number, Part, Text, Word};
pub use parts::{
    Attachment, Block, DeferredUse, Message, RateLimit, Request, StreamEvent, Task, TaskPatch, Tokens,
    ToolCall,
};
pub use questions::drafts;
pub use tell::{
    HOOK_TIMEOUT_SECONDS, allow, deny, elicitation_reply, has_equal_texts, hook_allow, hook_defer, hook_deny,
    initialize, interrupt, named_message, unsupported, user_message, with_answers,
};

/// The tool with which an agent asks.
pub const ASK: &str = "AskUserQuestion";
/// The tool with which an agent asks for leave to carry out its plan.
pub const EXIT_PLAN_MODE: &str = "ExitPlanMode";
/// The tool with which an agent begins to plan by itself.
pub const ENTER_PLAN_MODE: &str = "EnterPlanMode";

/// Why a line is not one of the protocol.
pub type Error = serde_json::Error;

/// Reads one line.
pub fn parse(line: &str) -> Result<Line<'_>, Error> {
    serde_json::from_str(line)
}

/// One line: what any kind of message may carry. Which parts mean something, its kind tells.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    /// `system`, `assistant`, `user`, `control_request`, `result`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// `init`, `success`, `error_during_execution`, ...
    #[serde(borrow)]
    pub subtype: Text<'a>,
    /// The conversation.
    #[serde(borrow)]
    pub session_id: Text<'a>,
    /// The model that runs.
    #[serde(borrow)]
    pub model: Text<'a>,
    /// The name of a request, by which it is replied to or taken back.
    #[serde(borrow)]
    pub request_id: Text<'a>,
    /// What the agent wants before it goes on.
    #[serde(borrow)]
    pub request: Part<Request<'a>>,
    /// What the model said or was told.
    #[serde(borrow)]
    pub message: Part<Message<'a>>,
    /// The call of the agent's agent that says this; empty where the agent itself does.
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    /// The name of a message.
    #[serde(borrow)]
    pub uuid: Text<'a>,
    /// In a transcript, what it follows,
    #[serde(borrow, rename = "parentUuid")]
    pub parent_uuid: Text<'a>,
    /// and whether it is of an agent of the agent.
    #[serde(rename = "isSidechain")]
    pub is_sidechain: Flag,
    /// Whether this only tells that a message of ours was taken up.
    #[serde(rename = "isReplay")]
    pub is_replay: Flag,
    /// A note in a transcript.
    #[serde(borrow)]
    pub attachment: Part<Attachment<'a>>,
    /// The last words of a turn.
    #[serde(borrow)]
    pub result: Text<'a>,
    /// What went wrong in a turn.
    #[serde(borrow)]
    pub errors: List<Text<'a>>,
    /// Whether a turn failed.
    pub is_error: Flag,
    /// Why a turn ended.
    #[serde(borrow)]
    pub stop_reason: Word<'a>,
    /// What this turn used.
    pub usage: Part<Tokens>,
    /// What the whole conversation cost, in dollars.
    pub total_cost_usd: Number,
    /// What this turn cost.
    pub model_usage_since_last_result: Cost,
    /// Which try of a request failed,
    pub attempt: Number,
    /// of how many,
    pub max_retries: Number,
    /// how long until the next,
    pub retry_delay_ms: Number,
    /// with which HTTP status, if with any,
    pub error_status: Number,
    /// and why.
    #[serde(borrow)]
    pub error: Text<'a>,
    /// What the model's API says about its limits.
    #[serde(borrow)]
    pub rate_limit_info: Part<RateLimit<'a>>,
    /// What is at work beside the conversation.
    #[serde(borrow)]
    pub tasks: List<Part<Task<'a>>>,
    /// What is told of one task,
    #[serde(borrow)]
    pub task_id: Text<'a>,
    /// what kind it is of,
    #[serde(borrow)]
    pub task_type: Text<'a>,
    /// what of it has changed.
    #[serde(borrow)]
    pub patch: Part<TaskPatch<'a>>,
    /// Whether it runs beside the conversation; older CLIs do not say.
    pub is_backgrounded: Answer,
    /// A piece of a message on its way.
    #[serde(borrow)]
    pub event: Part<StreamEvent<'a>>,
    /// The call that was put away.
    #[serde(borrow)]
    pub deferred_tool_use: Part<DeferredUse<'a>>,
    /// The tool that was refused without anybody being asked,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// why,
    #[serde(borrow)]
    pub decision_reason: Text<'a>,
    /// and by what kind of reason.
    #[serde(borrow)]
    pub decision_reason_type: Text<'a>,
    /// Calls that were refused.
    #[serde(borrow)]
    pub permission_denials: List<Part<ToolCall<'a>>>,
}

/// What a line can be, as far as anyone here cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The conversation has begun, or goes on.
    Init,
    /// The model said something.
    Assistant,
    /// The model was told something: by a tool, or by us.
    User,
    /// The agent wants to know something.
    Request,
    /// It no longer does.
    Cancel,
    /// A request to the model failed and is made again.
    Retry,
    /// The CLI refused a call by itself, by a rule, a mode or a model's judgement.
    Denied,
    /// What the model's API says about its limits.
    RateLimit,
    /// What is at work beside the conversation has changed.
    Background,
    /// Something was begun beside the conversation.
    TaskStarted,
    /// Something about it has changed.
    TaskUpdated,
    /// It has ended, and the model is to be told.
    TaskEnded,
    /// A message begins, goes on or ends.
    Stream,
    /// What we asked for was received, or the line is only kept alive, or it tells what is known or of no use.
    Receipt,
    /// A turn is over.
    Result,
    /// Anything else.
    Other,
}

impl Line<'_> {
    /// What kind of line this is.
    pub fn kind(&self) -> Kind {
        match &*self.kind {
            "system" if &*self.subtype == "init" => Kind::Init,
            "system" if &*self.subtype == "api_retry" => Kind::Retry,
            "system" if &*self.subtype == "background_tasks_changed" => Kind::Background,
            "system" if &*self.subtype == "task_started" => Kind::TaskStarted,
            "system" if &*self.subtype == "task_updated" => Kind::TaskUpdated,
            "system" if &*self.subtype == "task_notification" => Kind::TaskEnded,
            "system" if &*self.subtype == "permission_denied" => Kind::Denied,
            "system" if ["status", "task_progress"].contains(&&*self.subtype) => Kind::Receipt,
            "stream_event" => Kind::Stream,
            "assistant" => Kind::Assistant,
            "user" => Kind::User,
            "control_request" => Kind::Request,
            "control_cancel_request" => Kind::Cancel,
            "control_response" | "keep_alive" => Kind::Receipt,
            kind if kind.starts_with("rate_limit") => Kind::RateLimit,
            "result" => Kind::Result,
            _ => Kind::Other,
        }
    }

    /// Whether this notes a call that was put away, wherever the CLI says so.
    pub fn is_deferred_note(&self) -> bool {
        let attachment = self.attachment.as_ref().map_or("", |attachment| &attachment.kind);
        [&self.kind, &self.subtype, attachment].iter().any(|word| word.contains("deferred"))
    }

    /// In a transcript, the name of a message that the model read in the middle of a turn.
    pub fn read_in_turn(&self) -> Option<&str> {
        let note = self.attachment.as_ref().filter(|note| &*note.kind == "queued_command")?;
        Some(&*note.source_uuid).filter(|name| !name.is_empty())
    }

    /// Whether the model's API limits anything: every reply to an account may say how much of its limit is left.
    pub fn is_limited(&self) -> bool {
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

    /// The call that was put away, if that is how the turn ended; empty if it does not say which.
    pub fn deferred(&self) -> Option<&str> {
        let call = self.deferred_tool_use.as_ref().map_or("", |call| &call.id);
        matches!(&self.stop_reason, Word::Is(reason) if reason == "tool_deferred").then_some(call)
    }

    /// Whether a turn ended before the model did: its stream broke off, or there was nothing to say in it. CLIs that do not
    /// say why a turn ended do not say this either.
    pub fn has_no_end(&self) -> bool {
        matches!(self.stop_reason, Word::Null)
    }

    /// What it cost, in millionths of a dollar: exact where the CLI tells the cost of the process itself.
    pub fn cost_micros(&self) -> u64 {
        let dollars = self.model_usage_since_last_result.0.unwrap_or(self.total_cost_usd.0);
        (dollars * 1e6).round() as u64
    }
}
