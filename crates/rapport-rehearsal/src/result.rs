//! The `result` event that ends a turn, and the sums it reports.

use serde_json::{Value, json};

use super::scenario::{Entry, Usage};
use super::stream::{Session, new_uuid};

/// Tokens and dollars of some model responses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) usage: Usage,
    pub(super) cost_usd: f64,
}

impl Totals {
    /// The cost of one model response of this entry; the defaults are those of the recordings.
    pub(super) fn per_response(entry: &Entry) -> Self {
        let usage =
            entry.usage.unwrap_or(Usage { input_tokens: 1000, output_tokens: 50, ..Usage::default() });
        Self { usage, cost_usd: entry.cost_usd.unwrap_or(0.005) }
    }

    pub(super) fn add(&mut self, other: Totals) {
        self.usage.input_tokens += other.usage.input_tokens;
        self.usage.output_tokens += other.usage.output_tokens;
        self.usage.cache_creation_input_tokens += other.usage.cache_creation_input_tokens;
        self.usage.cache_read_input_tokens += other.usage.cache_read_input_tokens;
        // Rounded, so that 0.005 three times is exactly 0.015.
        self.cost_usd = ((self.cost_usd + other.cost_usd) * 1e9).round() / 1e9;
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// The script was played to its end.
    Completed { text: String, stop_reason: String, subtype: String, is_error: bool },
    /// A tool call was deferred: `deferred_tool_use`.
    Deferred(Value),
    /// The host interrupted it, while a tool was running or not.
    Interrupted { during_tool: bool },
}

/// The totals of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) conversation: Totals,
    pub(super) turn: Totals,
    pub(super) num_turns: u64,
    pub(super) duration_ms: u64,
    pub(super) result_index: u64,
    pub(super) queued: usize,
    pub(super) permission_denials: Vec<Value>,
}

/// The event; its keys are sorted, so that it does not begin with `type`, like the real one.
pub(super) fn result_event(session: &Session, ending: Ending, sums: &Sums) -> Value {
    let mut event = json!({
        "type": "result", "session_id": session.id, "uuid": new_uuid(),
        "duration_ms": sums.duration_ms, "duration_api_ms": sums.duration_ms,
        "total_cost_usd": sums.conversation.cost_usd, "usage": usage(sums.turn.usage),
        "modelUsage": {session.model.clone(): model_usage(session, sums.conversation)},
        "model_usage_since_last_result": {session.model.clone(): model_usage(session, sums.turn)},
        "permission_denials": sums.permission_denials, "num_turns": sums.num_turns,
        "queued_turn_count": sums.queued, "result_index": sums.result_index,
        "fast_mode_state": "off", "safety_stops": 0,
    });
    for (key, value) in ending_fields(ending) {
        event[key] = value;
    }
    event
}

fn ending_fields(ending: Ending) -> Vec<(&'static str, Value)> {
    match ending {
        Ending::Completed { text, stop_reason, subtype, is_error } => {
            let words = if subtype.starts_with("error") {
                ("errors", json!([text]))
            } else {
                ("result", json!(text))
            };
            vec![
                words,
                ("api_error_status", Value::Null),
                ("stop_reason", json!(stop_reason)),
                ("terminal_reason", json!("completed")),
                ("subtype", json!(subtype)),
                ("is_error", json!(is_error)),
            ]
        }
        Ending::Deferred(tool_use) => vec![
            ("result", json!("")),
            ("stop_reason", json!("tool_deferred")),
            ("terminal_reason", json!("tool_deferred")),
            ("deferred_tool_use", tool_use),
            ("subtype", json!("success")),
            ("is_error", json!(false)),
        ],
        Ending::Interrupted { during_tool } => vec![
            (
                "errors",
                json!(["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"]),
            ),
            ("stop_reason", if during_tool { json!("tool_use") } else { Value::Null }),
            ("terminal_reason", json!(if during_tool { "aborted_tools" } else { "aborted_streaming" })),
            ("subtype", json!("error_during_execution")),
            ("is_error", json!(true)),
        ],
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard",
    })
}

fn model_usage(session: &Session, totals: Totals) -> Value {
    json!({
        "inputTokens": totals.usage.input_tokens, "outputTokens": totals.usage.output_tokens,
        "cacheReadInputTokens": totals.usage.cache_read_input_tokens,
        "cacheCreationInputTokens": totals.usage.cache_creation_input_tokens,
        "webSearchRequests": 0, "costUSD": totals.cost_usd, "contextWindow": 1_000_000,
        "maxOutputTokens": 128_000, "canonicalModel": session.model, "provider": "firstParty",
    })
}
