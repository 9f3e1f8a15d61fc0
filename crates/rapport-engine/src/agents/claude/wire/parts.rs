//! The parts of a line.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{Content, Flag, List, Number, Part, Text};

/// A control request: the agent wants something before it goes on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Request<'a> {
    /// `can_use_tool`, `hook_callback`, ...
    #[serde(borrow)]
    pub subtype: Text<'a>,
    /// The tool it is about.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// The call it is about.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// The tool's input; for a hook, what the hook is called with.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// What the CLI would note down if this were allowed from now on.
    #[serde(borrow)]
    pub permission_suggestions: Option<&'a RawValue>,
    /// The MCP server that asks,
    #[serde(borrow)]
    pub mcp_server_name: Text<'a>,
    /// what it says,
    #[serde(borrow)]
    pub message: Text<'a>,
    /// the form it wants filled in,
    #[serde(borrow)]
    pub requested_schema: Option<&'a RawValue>,
    /// the order of its fields,
    #[serde(borrow)]
    pub property_order: List<Text<'a>>,
    /// or the page to visit.
    #[serde(borrow)]
    pub url: Text<'a>,
}

impl<'a> Request<'a> {
    /// What a hook is called with.
    pub fn hook_input(&self) -> Option<ToolCall<'a>> {
        serde_json::from_str(self.input?.get()).ok()
    }
}

/// A call as others speak of it: what a hook is called with, what was refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolCall<'a> {
    /// The tool.
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    /// The call.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// What the tool is, or was, to be used with.
    #[serde(borrow)]
    pub tool_input: Option<&'a RawValue>,
}

/// Something the model said, or was told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// Its name; pieces of one message come on several lines.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// What it says.
    #[serde(borrow)]
    pub content: Content<'a>,
    /// What was used to make it, so far.
    pub usage: Part<Tokens>,
}

impl<'a> Message<'a> {
    /// Its pieces; none where it is plain text.
    pub fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        let blocks: &[Part<Block<'a>>] = match &self.content {
            Content::Blocks(blocks) => blocks,
            Content::Plain(_) | Content::Nothing => &[],
        };
        blocks.iter().filter_map(|block| block.as_ref())
    }

    /// Its texts, whether it is plain text or in pieces.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let plain = match &self.content {
            Content::Plain(text) => Some(text.as_ref()),
            Content::Blocks(_) | Content::Nothing => None,
        };
        plain.into_iter().chain(self.blocks().filter_map(Block::words))
    }
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    /// `text`, `tool_use`, `tool_result`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// Words.
    #[serde(borrow)]
    pub text: Text<'a>,
    /// The call, where a tool is used.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// The tool that is used.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What it is used with.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// The call, where a tool gave something back.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// Whether what it gave back is an error.
    pub is_error: Flag,
}

impl Block<'_> {
    /// Its words, if it is text.
    pub fn words(&self) -> Option<&str> {
        (&*self.kind == "text").then(|| &*self.text)
    }

    /// Whether a tool is used.
    pub fn is_tool_use(&self) -> bool {
        &*self.kind == "tool_use"
    }

    /// Whether a tool gave something back.
    pub fn is_tool_result(&self) -> bool {
        &*self.kind == "tool_result"
    }
}

/// A note in a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Attachment<'a> {
    /// What it notes.
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// The name of a message that the model read in the middle of a turn.
    #[serde(borrow)]
    pub source_uuid: Text<'a>,
}

/// What the model's API says about its limits.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    /// `allowed`, `allowed_warning`, `rejected`, ...
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// Something at work beside the conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Task<'a> {
    /// Its name.
    #[serde(borrow)]
    pub task_id: Text<'a>,
    /// `local_agent`, `local_bash`, ...
    #[serde(borrow)]
    pub task_type: Text<'a>,
}

/// What has changed about a task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaskPatch<'a> {
    /// `running`, `completed`, `failed`, `killed`, ...
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// A piece of a message on its way.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamEvent<'a> {
    /// `message_start`, `content_block_delta`, `message_stop`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
}

/// A call that was put away.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeferredUse<'a> {
    /// Which one.
    #[serde(borrow)]
    pub id: Text<'a>,
}

/// Tokens, as the API counts them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Read.
    pub input_tokens: Number,
    /// Written.
    pub output_tokens: Number,
    /// Put into the cache.
    pub cache_creation_input_tokens: Number,
    /// Read from the cache.
    pub cache_read_input_tokens: Number,
}
