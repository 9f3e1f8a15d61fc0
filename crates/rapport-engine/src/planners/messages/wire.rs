//! The format of requests and responses.

use rapport_core::{Brief, Usage};
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::MessagesConfig;
use super::error::ApiProblem;
use crate::planners::parse_reply::Reply;

/// The body of a request for a round.
pub(super) fn request(config: &MessagesConfig, prompt: &str, schema: &Value) -> Value {
    json!({
        "model": config.model,
        "max_tokens": config.max_tokens,
        "system": Brief::INSTRUCTIONS,
        "messages": [{"role": "user", "content": prompt}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    })
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Tokens,
}

#[derive(Debug, Deserialize)]
struct Block {
    /// Blocks other than text have none.
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

/// The model's text, and why it stopped.
pub(super) fn reply(bytes: &[u8], url: &Url) -> Result<Reply, ApiProblem> {
    let message: Message =
        serde_json::from_slice(bytes).map_err(|error| ApiProblem::not_the_api(url, &error.to_string()))?;
    let said = match message.stop_reason.as_deref() {
        Some("refusal") => return Err(ApiProblem::declined()),
        Some("max_tokens" | "model_context_window_exceeded") => {
            Err("it was cut off because it was too long; ask less, with shorter texts".into())
        }
        _ => Ok(message.content.into_iter().filter_map(|block| block.text).collect()),
    };
    Ok(Reply { said, usage: message.usage.into() })
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input_tokens.unwrap_or(0),
            output: tokens.output_tokens.unwrap_or(0),
            cache_write: tokens.cache_creation_input_tokens.unwrap_or(0),
            cache_read: tokens.cache_read_input_tokens.unwrap_or(0),
            cost_micros: 0,
        }
    }
}
