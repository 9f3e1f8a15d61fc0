//! The parts of a line.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient_values::{Content, Flag, List, Number, Part, Text};

/// The results of questions without an answer: since 2.1.197, and before.
const UNANSWERED: [&str; 2] =
    ["The user did not answer the questions.", "User has answered your questions: ."];

/// A control request of the agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ControlRequest<'a> {
    /// `can_use_tool`, `hook_callback`, ...
    #[serde(borrow)]
    pub subtype: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// The tool's input; for a hook, the hook's input.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// The rules that the CLI would store if this were always allowed.
    #[serde(borrow)]
    pub permission_suggestions: Option<&'a RawValue>,
    /// The MCP server that asks.
    #[serde(borrow)]
    pub mcp_server_name: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
    /// The schema of its form.
    #[serde(borrow)]
    pub requested_schema: Option<&'a RawValue>,
    /// The order of the form's fields.
    #[serde(borrow)]
    pub property_order: List<Text<'a>>,
    /// The page to visit, instead of a form.
    #[serde(borrow)]
    pub url: Text<'a>,
}

impl<'a> ControlRequest<'a> {
    pub fn hook_input(&self) -> Option<ToolCall<'a>> {
        serde_json::from_str(self.input?.get()).ok()
    }
}

/// A call in the input of a hook, or in a list of denials.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub tool_input: Option<&'a RawValue>,
}

/// A message of the model, or of the user.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// Its id. The parts of one message come on several lines.
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub content: Content<'a>,
    /// The model that made it.
    #[serde(borrow)]
    pub model: Text<'a>,
    /// Its usage so far.
    pub usage: Part<Tokens>,
}

impl<'a> Message<'a> {
    /// Its blocks; none if it is plain text.
    pub fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        let blocks: &[Part<Block<'a>>] = match &self.content {
            Content::Blocks(blocks) => blocks,
            Content::Plain(_) | Content::Nothing => &[],
        };
        blocks.iter().filter_map(|block| block.as_ref())
    }

    /// Its texts, whether it is plain text or blocks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let plain = match &self.content {
            Content::Plain(text) => Some(text.as_ref()),
            Content::Blocks(_) | Content::Nothing => None,
        };
        plain.into_iter().chain(self.blocks().filter_map(Block::words))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    /// `text`, `tool_use`, `tool_result`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    /// The id of the call, for a tool use.
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// The id of the call, for a tool result.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// Whether the result is an error.
    pub is_error: Flag,
    /// The text of a tool result, if it is plain text.
    #[serde(borrow)]
    pub content: Text<'a>,
}

impl Block<'_> {
    /// Its text, if it is a text block.
    pub fn words(&self) -> Option<&str> {
        (&*self.kind == "text").then(|| &*self.text)
    }

    pub fn is_tool_use(&self) -> bool {
        &*self.kind == "tool_use"
    }

    pub fn is_tool_result(&self) -> bool {
        &*self.kind == "tool_result"
    }

    /// Whether this is the result of questions that a person closed without an answer. The CLI does not report that
    /// as an error.
    pub fn is_unanswered(&self) -> bool {
        self.is_tool_result() && UNANSWERED.iter().any(|words| self.content.starts_with(words))
    }
}

/// A note in a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TranscriptNote<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// The name of a message that the model read during a turn.
    #[serde(borrow)]
    pub source_uuid: Text<'a>,
}

/// The API's rate limits.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    /// `allowed`, `allowed_warning`, `rejected`, ...
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// A background task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Task<'a> {
    #[serde(borrow)]
    pub task_id: Text<'a>,
    /// `local_agent`, `local_bash`, ...
    #[serde(borrow)]
    pub task_type: Text<'a>,
}

/// How a tool call ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolOutcome<'a> {
    /// For a sub-agent: `completed`, or `async_launched` if it continues in the background.
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// The change of a task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskPatch<'a> {
    /// `running`, `completed`, `failed`, `killed`, ...
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// Part of a streamed message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamEvent<'a> {
    /// `message_start`, `content_block_delta`, `message_stop`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// The usage of the whole message, at its end.
    pub usage: Part<Tokens>,
}

/// A deferred call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeferredUse<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub input_tokens: Number,
    pub output_tokens: Number,
    /// Tokens written to the cache.
    pub cache_creation_input_tokens: Number,
    pub cache_read_input_tokens: Number,
}
