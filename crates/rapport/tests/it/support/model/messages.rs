//! The Messages API: what a request holds, and a response as events or in one piece.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::http;
use super::script::{self, Response};

/// What the model has said in a conversation, message by message, each piece by what it is known by.
pub(super) fn said(request: &Value) -> Vec<Vec<String>> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let said = messages.filter(|message| message["role"] == "assistant");
    said.map(|message| blocks(message).iter().map(script::key).collect()).collect()
}

/// What a tool gave back: the words, and whether they are an error.
pub(super) fn tool_result(request: &Value, call: &str) -> Option<(String, bool)> {
    let messages = request["messages"].as_array()?;
    let blocks = messages.iter().flat_map(blocks);
    let mut results = blocks.filter(|block| block["type"] == "tool_result" && block["tool_use_id"] == call);
    let result = results.next()?;
    let words = match &result["content"] {
        Value::String(words) => words.clone(),
        content => content.as_array()?.iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    Some((words, result["is_error"] == true))
}

/// Whether the last thing the model was told is a decision about a call that was cut off.
pub(super) fn is_told_a_decision(request: &Value) -> bool {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let blocks = last.into_iter().filter(|message| message["role"] == "user").flat_map(blocks);
    let mut texts = blocks.filter_map(|block| block["text"].as_str().map(str::to_owned));
    texts.any(|text| text.contains("Here are my answers to your questions:\n\nQ1: May the agent use"))
}

/// What the model was told in words.
pub(super) fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    let told = messages.filter(|message| message["role"] == "user").flat_map(blocks);
    told.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

/// Responds as the request wants it; breaks off after so many events, if that is said.
pub(super) fn respond(
    stream: &mut TcpStream,
    request: &Value,
    response: &Response,
    cut: Option<usize>,
) -> io::Result<()> {
    let model = request["model"].as_str().unwrap_or("model");
    if request["stream"] != true {
        let mut message = message(model, response);
        message["content"] = response.blocks.clone().into();
        message["stop_reason"] = stop_reason(response).into();
        return http::respond(stream, 200, &[], &message.to_string());
    }
    let events = events(model, response);
    let most = cut.unwrap_or(events.len());
    http::stream(stream, events.into_iter().take(most).map(|event| in_stream(&event)), cut.is_none())
}

fn events(model: &str, response: &Response) -> Vec<Value> {
    let mut message = message(model, response);
    message["usage"]["output_tokens"] = 1.into();
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in response.blocks.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let usage = json!({"output_tokens": response.usage.output});
    let delta = json!({"stop_reason": stop_reason(response), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A piece of a message; a tool's input comes in two halves.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let (empty, deltas) = if block["type"] == "tool_use" {
        let input = block["input"].to_string();
        let half = input.char_indices().nth(input.chars().count() / 2).map_or(0, |(at, _)| at);
        let halves = [&input[..half], &input[half..]];
        let delta = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
        let empty = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
        (empty, halves.map(delta).to_vec())
    } else {
        (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": block["text"]})])
    };
    let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
    let stop = json!({"type": "content_block_stop", "index": index});
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    [start].into_iter().chain(deltas.into_iter().map(delta)).chain([stop]).collect()
}

fn message(model: &str, response: &Response) -> Value {
    static MESSAGES: AtomicU64 = AtomicU64::new(1);
    let id = format!("msg_{:04}", MESSAGES.fetch_add(1, Ordering::Relaxed));
    let usage = json!({"input_tokens": response.usage.input, "output_tokens": response.usage.output});
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    })
}

fn stop_reason(response: &Response) -> &'static str {
    if response.uses_tools() { "tool_use" } else { "end_turn" }
}

fn in_stream(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        content => content.as_array().cloned().unwrap_or_default(),
    }
}
