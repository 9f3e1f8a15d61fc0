//! The types of a scenario (`docs/formats/scenario.md`). `loader.rs` parses files and reports mistakes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deserializers::{known_version, only_true, replies, some_calls, some_questions};

/// The only version of the format so far.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// A script: the agent's responses to the first message, to the second, and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The version of the format, 1.
    #[serde(deserialize_with = "known_version")]
    pub version: u32,
    /// The name of the scenario in messages.
    pub name: String,
    /// The session id of new conversations; random without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What selects the next entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<Counter>,
    /// The responses, in order.
    pub invocations: Vec<Entry>,
    /// Replies to calls with `--json-schema`, in order: rounds of questions, or unusable texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "replies")]
    pub batches: Vec<Value>,
}

/// What selects the entry that answers a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// The conversation: each message takes the next entry not yet played in it.
    Conversation,
    /// A counter file beside the scenario: process n plays entry n.
    Invocations,
}

/// The response to one user message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    /// The agent's texts and actions, in order.
    pub steps: Vec<Step>,
    /// The final text; the last `text` step without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Tokens of each model response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Dollars of each model response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The `stop_reason` of the result event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Whether the result event reports a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The `subtype` of the result event, such as `error_during_execution`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Pause before the first event.
    #[serde(skip_serializing_if = "is_default")]
    pub initial_delay_ms: u64,
    /// Pause before each later event.
    #[serde(skip_serializing_if = "is_default")]
    pub delay_ms: u64,
    /// Kills the process after this many lines of output (once: a resumed entry continues).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash_after_events: Option<u64>,
    /// Ends the process with this code after the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Lines for stderr, before the steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr_lines: Vec<String>,
    /// Lines for stdout, verbatim, after the steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raw_lines: Vec<String>,
    /// Whether Write, Edit and Bash are executed (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execute_tools: Option<bool>,
}

/// Tokens of one model response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Tokens put into the cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens taken from the cache.
    pub cache_read_input_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Text(String),
    Ask(Ask),
    /// Calls several tools in one message, all at once.
    #[serde(deserialize_with = "some_calls")]
    Together(Vec<Call>),
    /// Writes a file.
    Write(WriteFile),
    /// Changes a file.
    Edit(EditFile),
    /// Runs a command.
    Bash(Bash),
    /// Calls any other tool without executing it.
    Tool(OtherTool),
    /// Starts a background agent.
    Agent(SubAgent),
    /// Presents a plan and asks to leave plan mode.
    ExitPlan(ExitPlan),
    /// Pauses for this many milliseconds.
    Delay(u64),
    /// Writes a line to stderr.
    Stderr(String),
    /// Prints a line that is not part of the protocol.
    Garbage(String),
    /// Prints the beginning of a line.
    HalfLine(String),
    /// Prints a JSON event verbatim.
    Raw(Value),
    /// Prints a `rate_limit_event` with this content.
    RateLimit(Value),
    /// Kills the process as `kill -9` does.
    #[serde(deserialize_with = "only_true")]
    Crash(bool),
    /// Ends the process with this code.
    Exit(u8),
    Hang(Hang),
    /// Closes stdout and continues.
    #[serde(deserialize_with = "only_true")]
    CloseStdout(bool),
    /// Waits for a message sent during this turn.
    #[serde(deserialize_with = "only_true")]
    WaitMessage(bool),
}

/// A tool call, alone or among others in `together`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    Ask(Ask),
    /// Writes a file.
    Write(WriteFile),
    /// Changes a file.
    Edit(EditFile),
    /// Runs a command.
    Bash(Bash),
    /// Calls any other tool without executing it.
    Tool(OtherTool),
    /// Starts a background agent.
    Agent(SubAgent),
    /// Presents a plan and asks to leave plan mode.
    ExitPlan(ExitPlan),
}

/// A round of questions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The questions of the round.
    #[serde(deserialize_with = "some_questions")]
    pub questions: Vec<Question>,
    /// The tool use id; derived from the position without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A question, with options like the real tool, or only its text like older ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Question {
    Plain(String),
    /// Text, header and options.
    Full(FullQuestion),
}

/// A question as today's tool asks it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullQuestion {
    pub question: String,
    /// A word or two above it.
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    #[serde(default, rename = "multiSelect")]
    pub multi_select: bool,
}

/// One choice of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionOption {
    pub label: String,
    #[serde(default)]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// Writes a whole file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// The path, from the working directory.
    pub path: String,
    pub content: String,
    /// Whether permission is asked first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permission: bool,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Replaces a text in a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// The path, from the working directory.
    pub path: String,
    /// The text to replace, which must occur.
    pub find: String,
    pub replace: String,
    /// Whether permission is asked first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permission: bool,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Runs a shell command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bash {
    /// The command, for `sh -c`.
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it runs in the background, while the conversation continues.
    #[serde(default, skip_serializing_if = "is_default")]
    pub background: bool,
    /// Whether permission is asked first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permission: bool,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A background agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubAgent {
    pub prompt: String,
    /// The command it runs before it is done.
    pub command: String,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Any other tool: nothing is executed, the result is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherTool {
    /// The tool's name.
    pub name: String,
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub result: String,
    /// Whether permission is asked first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permission: bool,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A plan for approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitPlan {
    /// The plan, in Markdown.
    pub plan: String,
    /// The tool use id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// How a silent agent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    Forever,
    UntilEof,
}

impl Step {
    /// The tool calls of this step; `None` if it has none.
    pub fn calls(&self) -> Option<Vec<Call>> {
        match self {
            Step::Ask(ask) => Some(vec![Call::Ask(ask.clone())]),
            Step::Together(calls) => Some(calls.clone()),
            Step::Write(write) => Some(vec![Call::Write(write.clone())]),
            Step::Edit(edit) => Some(vec![Call::Edit(edit.clone())]),
            Step::Bash(bash) => Some(vec![Call::Bash(bash.clone())]),
            Step::Tool(tool) => Some(vec![Call::Tool(tool.clone())]),
            Step::Agent(agent) => Some(vec![Call::Agent(agent.clone())]),
            Step::ExitPlan(plan) => Some(vec![Call::ExitPlan(plan.clone())]),
            Step::Text(_)
            | Step::Delay(_)
            | Step::Stderr(_)
            | Step::Garbage(_)
            | Step::HalfLine(_)
            | Step::Raw(_)
            | Step::RateLimit(_)
            | Step::Crash(_)
            | Step::Exit(_)
            | Step::Hang(_)
            | Step::CloseStdout(_)
            | Step::WaitMessage(_) => None,
        }
    }
}

impl Question {
    /// The text of the question, which is the key of its answer.
    pub fn text(&self) -> &str {
        match self {
            Question::Plain(text) => text,
            Question::Full(full) => &full.question,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
