//! Input from the host: control requests are answered at once, the rest waits until the player asks for it.

use std::collections::VecDeque;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::inbox::AgentInput;
use super::player::{Player, Stop};
use super::stream::Event;
use super::tools::Done;
use rapport_core::prompt::END_OF_MESSAGE;

/// Unprocessed input from the host, and its hooks.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) initialized: bool,
    pub(super) hooks: Vec<Hook>,
    pub(super) messages: VecDeque<Message>,
    pub(super) eof: bool,
    pub(super) interrupted: bool,
    /// Whether everything but the end of stdin is ignored.
    pub(super) hung: bool,
    /// Whether a deferred call is about to be resumed; the response to `initialize` says so.
    pub(super) is_resuming: bool,
    responses: Vec<(String, Value)>,
    ended: Vec<(u64, Done)>,
}

/// A user message, with the uuid that the host gave it.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) uuid: Option<String>,
}

/// A `PreToolUse` hook that the host registered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hook {
    matcher: String,
    pub(super) callback: String,
    pub(super) timeout: Option<Duration>,
}

impl Host {
    /// The first hook that wants to see this tool.
    pub(super) fn hook_for(&self, tool: &str) -> Option<&Hook> {
        self.hooks.iter().find(|hook| hook.matches(tool))
    }

    /// The response to a request; returned once.
    pub(super) fn take_response(&mut self, request: &str) -> Option<Value> {
        let index = self.responses.iter().position(|(id, _)| id == request)?;
        Some(self.responses.remove(index).1)
    }

    /// The result of a command; returned once.
    pub(super) fn take_ended(&mut self, run: u64) -> Option<Done> {
        let index = self.ended.iter().position(|(id, _)| *id == run)?;
        Some(self.ended.remove(index).1)
    }
}

impl Hook {
    fn matches(&self, tool: &str) -> bool {
        matches!(self.matcher.as_str(), "" | "*") || self.matcher.split('|').any(|name| name.trim() == tool)
    }
}

impl Player {
    /// Waits for one event, or until the deadline.
    pub(super) fn pump(&mut self, deadline: Option<Instant>) -> Result<(), Stop> {
        let happened = match deadline {
            None => self.inbox.happened.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => self.inbox.happened.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match happened {
            Ok(happened) => self.handle(happened),
            // This process holds a sender itself, so the channel never closes.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    /// Handles pending events without waiting.
    pub(super) fn pump_ready(&mut self) -> Result<(), Stop> {
        while let Ok(happened) = self.inbox.happened.try_recv() {
            self.handle(happened)?;
        }
        Ok(())
    }

    fn handle(&mut self, happened: AgentInput) -> Result<(), Stop> {
        match happened {
            AgentInput::Eof => self.host.eof = true,
            AgentInput::Ran { run, done } => {
                if !self.task_ended(run)? {
                    self.host.ended.push((run, done));
                }
            }
            AgentInput::Line(_) if self.host.hung => {}
            AgentInput::Line(line) => self.hear(&line)?,
        }
        Ok(())
    }

    fn hear(&mut self, line: &Value) -> Result<(), Stop> {
        match line["type"].as_str() {
            Some("user") => {
                let text = message_text(&line["message"]["content"]);
                let uuid = line["uuid"].as_str().map(str::to_owned);
                self.host.messages.push_back(Message { text, uuid });
            }
            Some("control_request") => self.control(&line["request_id"], &line["request"])?,
            Some("control_response") => {
                let response = line["response"].clone();
                let id = response["request_id"].as_str().unwrap_or_default().to_owned();
                self.host.responses.push((id, response));
            }
            // Hosts may send kinds that are unknown here.
            _ => {}
        }
        Ok(())
    }

    fn control(&mut self, id: &Value, request: &Value) -> Result<(), Stop> {
        match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(id, request),
            "interrupt" => {
                self.host.interrupted = self.turn.running;
                self.output.event(&Event::control_success(id, json!({"still_queued": []})))
            }
            "set_permission_mode" => {
                self.session.permission_mode = request["mode"].as_str().unwrap_or("default").to_owned();
                self.output.event(&Event::control_success(id, json!({"mode": self.session.permission_mode})))
            }
            "set_model" => self.output.event(&Event::control_success(id, json!({}))),
            other => {
                let error = format!("Unsupported control request subtype: {other}");
                self.output.event(&Event::control_error(id, &error))
            }
        }
    }

    fn initialize(&mut self, id: &Value, request: &Value) -> Result<(), Stop> {
        self.host.initialized = true;
        self.host.hooks = hooks(&request["hooks"]["PreToolUse"]);
        let state = if self.host.is_resuming { "running" } else { "idle" };
        if self.host.is_resuming {
            self.output.event(&Event::command_lifecycle(&self.session))?;
        }
        let with_hooks = request["hooks"].is_object();
        self.output.event(&Event::initialized(id, &self.session, with_hooks, state))
    }
}

fn hooks(list: &Value) -> Vec<Hook> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| {
            Some(Hook {
                matcher: item["matcher"].as_str().unwrap_or_default().to_owned(),
                callback: item["hookCallbackIds"][0].as_str()?.to_owned(),
                timeout: item["timeout"]
                    .as_f64()
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            })
        })
        .collect()
}

/// The text of a message: one or several blocks, without the block that only ends it.
pub(super) fn message_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.filter(|text| *text != END_OF_MESSAGE).collect()
}
