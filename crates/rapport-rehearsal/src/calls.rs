//! The tool calls of one message: shown one after the other, and executed as the real CLI does. Read-only calls run
//! concurrently; a call that may change something waits for the calls before it, and the calls after it wait for it.

use std::time::Instant;

use serde_json::{Value, json};

use super::history::{HistoryPosition, OpenCall};
use super::placeholders::fill_value;
use super::player::{Player, Stop};
use super::result::Totals;
use super::scenario::Call;
use super::stream::{ASK_TOOL, Event, message, tool_use_block};
use super::tools::{self, Done};
use super::turn::Flow;

/// A tool call in progress.
pub(super) struct ToolCall {
    pub(super) place: HistoryPosition,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) kind: Kind,
    /// Whether the script asks for permission first.
    pub(super) permission: bool,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Ask,
    Write,
    Edit,
    Bash,
    Background,
    Agent(String),
    ExitPlan,
    /// Nothing is executed; this is the result.
    Pretended(String),
}

#[derive(Debug)]
pub(super) enum Stage {
    Fresh,
    Hook {
        request: String,
        deadline: Option<Instant>,
    },
    Permission {
        request: String,
    },
    Running {
        run: u64,
        pid: u32,
        decision: Value,
    },
    /// The result is on disk and waits to be printed.
    Finished {
        block: Value,
        extra: Value,
    },
    Printed,
    Deferred,
}

/// The result of a call that the host stopped before the tool ran.
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a \
file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/// The addition if the tool was running.
const STOPPED: &str = " Correction to the text above: this call was stopped while running, not refused before it ran. \
It may have run in part or in full, and its changes may have been written.";

impl Player {
    /// Executes the calls that have no result yet.
    pub(super) fn play_calls(&mut self, calls: &[Call]) -> Result<Flow, Stop> {
        let mut batch = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let place = HistoryPosition { call: index, ..self.turn.place };
            if self.transcript.history.is_finished(place) {
                continue;
            }
            let tool = self.prepare(call, place, calls.len());
            self.show(&tool)?;
            batch.push(tool);
            self.begin_all(&mut batch)?;
        }
        self.end_message()?;
        self.settle(batch)
    }

    /// Starts the calls that do not have to wait for another.
    fn begin_all(&mut self, batch: &mut [ToolCall]) -> Result<(), Stop> {
        for place in 0..batch.len() {
            let (before, after) = batch.split_at_mut(place);
            let waits = before
                .iter()
                .any(|tool| !tool.is_settled() && (tool.is_exclusive() || after[0].is_exclusive()));
            if matches!(after[0].stage, Stage::Fresh) && !waits {
                self.begin(&mut after[0])?;
            }
        }
        Ok(())
    }

    /// Makes a deferred call again: same id, not shown again.
    pub(super) fn repeat_deferred(&mut self, call: OpenCall) -> Result<Flow, Stop> {
        let scripted = self.entry(call.place.entry).steps.get(call.place.step).and_then(|step| step.calls());
        let scripted = scripted.and_then(|calls| calls.get(call.place.call).cloned());
        let (kind, permission) = match &scripted {
            Some(scripted) => (kind_of(scripted), wants_permission(scripted)),
            None => (if call.name == ASK_TOOL { Kind::Ask } else { Kind::Pretended(String::new()) }, false),
        };
        let OpenCall { place, id, name, input } = call;
        let mut tool = ToolCall { place, id, name, input, kind, permission, stage: Stage::Fresh };
        self.begin(&mut tool)?;
        let flow = self.settle(vec![tool])?;
        if flow == Flow::Next {
            self.transcript.note("step_done", place)?;
        }
        Ok(flow)
    }

    /// Puts a result on disk; it is printed once the calls after it have started.
    pub(super) fn finish(&mut self, tool: &mut ToolCall, done: Done, mut meta: Value) -> Result<(), Stop> {
        let mut block = json!({"type": "tool_result", "tool_use_id": tool.id, "content": done.content});
        if done.is_error || tool.kind == Kind::Bash {
            block["is_error"] = json!(done.is_error);
        }
        self.transcript.tool_result(block.clone(), &done.result)?;
        meta["id"] = json!(tool.id);
        let extra = json!({"tool_use_result": done.result, "tool_result_meta": [meta]});
        tool.stage = Stage::Finished { block, extra };
        Ok(())
    }

    fn prepare(&self, call: &Call, place: HistoryPosition, of: usize) -> ToolCall {
        let (name, input, id) = self.named(call);
        let base = id.unwrap_or_else(|| scripted_id(place, of));
        ToolCall {
            place,
            id: self.transcript.history.fresh_id(&base),
            name,
            input: fill_value(&input, &self.transcript.history.answers),
            kind: kind_of(call),
            permission: wants_permission(call),
            stage: Stage::Fresh,
        }
    }

    /// The tool's name, its input in the real format, and the id from the script.
    fn named(&self, call: &Call) -> (String, Value, Option<String>) {
        let path = |path: &str| tools::absolute(&self.cwd, path);
        let (name, input, id) = match call {
            Call::Ask(ask) => (ASK_TOOL, json!({"questions": ask.questions}), &ask.id),
            Call::Write(write) => {
                ("Write", json!({"file_path": path(&write.path), "content": write.content}), &write.id)
            }
            Call::Edit(edit) => {
                let input = json!({"file_path": path(&edit.path), "old_string": edit.find, "new_string": edit.replace});
                ("Edit", input, &edit.id)
            }
            Call::Bash(bash) => {
                let description = bash.description.as_deref().unwrap_or(&bash.command);
                let mut input = json!({"command": bash.command, "description": description});
                if bash.background {
                    input["run_in_background"] = json!(true);
                }
                ("Bash", input, &bash.id)
            }
            Call::Agent(agent) => {
                let input = json!({
                    "description": agent.prompt, "prompt": agent.prompt, "subagent_type": "general-purpose",
                    "run_in_background": true,
                });
                ("Agent", input, &agent.id)
            }
            Call::Tool(tool) => {
                let input = if tool.input.is_null() { json!({}) } else { tool.input.clone() };
                (tool.name.as_str(), input, &tool.id)
            }
            Call::ExitPlan(plan) => ("ExitPlanMode", json!({"plan": plan.plan}), &plan.id),
        };
        (name.to_owned(), input, id.clone())
    }

    fn show(&mut self, tool: &ToolCall) -> Result<(), Stop> {
        self.pace()?;
        let id = self.respond()?;
        let usage = Totals::per_response(&self.turn.entry).usage;
        // Older CLIs, which denied questions, had the stop reason here; the current one does not.
        let stop_reason = if self.is_live() { None } else { Some("tool_use") };
        let block = tool_use_block(&tool.id, &tool.name, &tool.input);
        let message = message(&id, &self.session.model, usage, block, stop_reason);
        self.transcript.assistant(tool.place, message.clone())?;
        self.emit_at_once(&Event::assistant(&self.session, message))
    }

    /// Waits until every call is decided and done, then prints the results.
    fn settle(&mut self, mut batch: Vec<ToolCall>) -> Result<Flow, Stop> {
        loop {
            for tool in &mut batch {
                self.advance(tool)?;
            }
            self.begin_all(&mut batch)?;
            self.print_results(&mut batch)?;
            if self.host.interrupted {
                return self.abort(batch);
            }
            if batch.iter().all(ToolCall::is_settled) {
                break;
            }
            self.pump(batch.iter().filter_map(ToolCall::deadline).min())?;
        }
        self.print_results(&mut batch)?;
        let deferred = batch.iter().rfind(|tool| matches!(tool.stage, Stage::Deferred)).map(ToolCall::open);
        self.turn.message_id = None;
        Ok(match deferred {
            Some(call) => Flow::Deferred(json!({"id": call.id, "name": call.name, "input": call.input})),
            None => Flow::Next,
        })
    }

    fn abort(&mut self, mut batch: Vec<ToolCall>) -> Result<Flow, Stop> {
        for tool in &mut batch {
            let said = match &tool.stage {
                Stage::Finished { .. } | Stage::Printed | Stage::Deferred => continue,
                Stage::Hook { request, .. } | Stage::Permission { request } => {
                    let cancel = Event::control_cancel(request);
                    self.emit(&cancel)?;
                    REJECTED.to_owned()
                }
                Stage::Running { pid, .. } => {
                    stop_command(*pid);
                    format!("{REJECTED}{STOPPED}")
                }
                Stage::Fresh => REJECTED.to_owned(),
            };
            let done = Done { content: said, is_error: true, result: json!("User rejected tool use") };
            self.finish(tool, done, json!({"non_execution_kind": "user-rejected"}))?;
        }
        self.print_results(&mut batch)?;
        self.turn.message_id = None;
        Ok(Flow::Interrupted { during_tool: true })
    }

    fn print_results(&mut self, batch: &mut [ToolCall]) -> Result<(), Stop> {
        for tool in batch {
            if let Stage::Finished { block, extra } = &tool.stage {
                self.turn.user_events += 1;
                let printed = Event::user(&self.session, json!([block]), extra.clone());
                tool.stage = Stage::Printed;
                self.emit(&printed)?;
            }
        }
        Ok(())
    }
}

impl ToolCall {
    fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Finished { .. } | Stage::Printed | Stage::Deferred)
    }

    /// Whether nothing else may run concurrently.
    fn is_exclusive(&self) -> bool {
        match self.kind {
            Kind::Write | Kind::Edit | Kind::Bash | Kind::Background | Kind::ExitPlan => true,
            Kind::Ask | Kind::Agent(_) | Kind::Pretended(_) => false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Hook { deadline, .. } => *deadline,
            Stage::Fresh
            | Stage::Permission { .. }
            | Stage::Running { .. }
            | Stage::Finished { .. }
            | Stage::Printed
            | Stage::Deferred => None,
        }
    }

    pub(super) fn open(&self) -> OpenCall {
        OpenCall {
            place: self.place,
            id: self.id.clone(),
            name: self.name.clone(),
            input: self.input.clone(),
        }
    }
}

fn kind_of(call: &Call) -> Kind {
    match call {
        Call::Ask(_) => Kind::Ask,
        Call::Write(_) => Kind::Write,
        Call::Edit(_) => Kind::Edit,
        Call::Bash(bash) if bash.background => Kind::Background,
        Call::Bash(_) => Kind::Bash,
        Call::Agent(agent) => Kind::Agent(agent.command.clone()),
        Call::ExitPlan(_) => Kind::ExitPlan,
        Call::Tool(tool) => Kind::Pretended(tool.result.clone()),
    }
}

fn wants_permission(call: &Call) -> bool {
    match call {
        Call::Ask(_) | Call::ExitPlan(_) => true,
        Call::Write(write) => write.permission,
        Call::Edit(edit) => edit.permission,
        Call::Bash(bash) => bash.permission,
        Call::Tool(tool) => tool.permission,
        Call::Agent(_) => false,
    }
}

/// `toolu_0203` for the third step of the second entry; concurrent calls get a letter.
fn scripted_id(place: HistoryPosition, of: usize) -> String {
    let id = format!("toolu_{:02}{:02}", place.entry + 1, place.step + 1);
    match u8::try_from(place.call) {
        Ok(call) if of > 1 => format!("{id}{}", char::from(b'a'.saturating_add(call))),
        _ => id,
    }
}

fn stop_command(pid: u32) {
    if let Ok(pid) = i32::try_from(pid) {
        // It may have ended by itself in the meantime.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
}
