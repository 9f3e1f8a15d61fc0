//! What is in flight in the agent's process, so that a call is parked only when it waits alone. The CLI continues with
//! anything else: it runs the other calls of the message, or begins another turn when a background task ends, and the
//! model then reads that the result of the parked call is missing.

use std::collections::{HashMap, HashSet};

use rapport_core::{Beside, CallId};

use crate::agents::claude::wire::{Line, Message, WireKind};

#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Whether the model has begun a message and not ended it: more calls may follow. The hook is called before the
    /// message ends.
    is_speaking: bool,
    /// Whether the model ended its last message, and nothing demands another one in this turn.
    has_spoken: bool,
    /// Calls of the agent itself without a result.
    calls: HashSet<String>,
    tasks: HashMap<String, Task>,
}

/// A background task.
#[derive(Debug)]
struct Task {
    is_command: bool,
    /// The call that started it, if the CLI says so.
    call: String,
    stage: Stage,
}

/// The stage of a task. When a task ends, the CLI queues that until the model is told; if a call is parked, the CLI
/// would begin another turn for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Ended,
    /// The next request to the model reports its end.
    Told,
}

impl Flight {
    /// Applies a line of the agent.
    pub(super) fn hear(&mut self, line: &Line<'_>) {
        let by_agent_itself = line.parent_tool_use_id.is_empty();
        match line.kind() {
            WireKind::Init => {
                self.has_spoken = false;
                self.is_told();
            }
            WireKind::Stream if by_agent_itself => {
                self.stream(line.event.as_ref().map_or("", |event| &event.kind))
            }
            WireKind::Assistant if by_agent_itself => self.calls(line),
            WireKind::User if by_agent_itself => self.results(line),
            WireKind::Background => self.background(line),
            WireKind::TaskStarted if line.is_backgrounded.0 != Some(false) => {
                self.started(&line.task_id, &line.task_type, &line.tool_use_id);
            }
            WireKind::TaskUpdated => {
                let status = line.patch.as_ref().map_or("", |patch| &patch.status);
                if !["", "running", "pending"].contains(&status) {
                    self.ended(&line.task_id);
                }
            }
            WireKind::TaskEnded => self.ended(&line.task_id),
            _ => {}
        }
    }

    /// What is in flight besides this call, if anything.
    pub(super) fn beside(&self, call: &CallId) -> Option<Beside> {
        let is_command = |is_command: bool| self.tasks.values().any(|task| task.is_command == is_command);
        if self.is_speaking || self.calls.iter().any(|other| other != call.as_str()) {
            return Some(Beside::Call);
        }
        let agent = is_command(false).then_some(Beside::Agent);
        agent.or_else(|| is_command(true).then_some(Beside::Command))
    }

    /// Whether sub-agents are running. Each of them ends, and the conversation then continues by itself; a command that
    /// was left running may never end.
    pub(super) fn has_agents_at_work(&self) -> bool {
        self.tasks.values().any(|task| !task.is_command && task.stage == Stage::Running)
    }

    /// Whether the stream shows that the model ended the last message of this turn.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Whether the stream shows that the model has begun a message and not ended it.
    pub(super) fn is_speaking(&self) -> bool {
        self.is_speaking
    }

    fn stream(&mut self, event: &str) {
        match event {
            "message_start" => {
                self.is_speaking = true;
                self.has_spoken = false;
                self.forget_told();
            }
            "message_stop" => {
                self.is_speaking = false;
                self.has_spoken = true;
            }
            _ => {}
        }
    }

    fn calls(&mut self, line: &Line<'_>) {
        self.forget_told();
        let blocks = line.message.iter().flat_map(Message::blocks).filter(|block| block.is_tool_use());
        self.calls.extend(blocks.map(|block| block.id.to_string()));
    }

    fn results(&mut self, line: &Line<'_>) {
        let blocks = line.message.iter().flat_map(Message::blocks).filter(|block| block.is_tool_result());
        let is_completed =
            line.tool_use_result.as_ref().is_some_and(|outcome| &*outcome.status == "completed");
        for block in blocks {
            self.calls.remove(&*block.tool_use_id);
            if is_completed || block.is_error.0 {
                self.returned(&block.tool_use_id);
            }
        }
        self.has_spoken = false;
        self.is_told();
    }

    /// Applies the list of all background tasks.
    fn background(&mut self, line: &Line<'_>) {
        let listed: Vec<_> = line.tasks.iter().filter_map(|task| task.as_ref()).collect();
        for task in &listed {
            self.started(&task.task_id, &task.task_type, "");
        }
        for (id, task) in &mut self.tasks {
            if task.stage == Stage::Running && !listed.iter().any(|listed| *listed.task_id == **id) {
                task.stage = Stage::Ended;
            }
        }
    }

    fn started(&mut self, id: &str, kind: &str, call: &str) {
        let task = Task { is_command: kind == "local_bash", call: call.to_owned(), stage: Stage::Running };
        self.tasks.entry(id.to_owned()).or_insert(task);
    }

    /// The call that started a sub-agent returned its reply, so it has ended. 2.1.61 reports the end of a sub-agent
    /// that the agent waited for only in this way.
    fn returned(&mut self, call: &str) {
        let of_call =
            |task: &&mut Task| task.call == call && !task.is_command && task.stage == Stage::Running;
        self.tasks.values_mut().filter(of_call).for_each(|task| task.stage = Stage::Ended);
    }

    fn ended(&mut self, id: &str) {
        if let Some(task) = self.tasks.get_mut(id).filter(|task| task.stage == Stage::Running) {
            task.stage = Stage::Ended;
        }
    }

    /// The next request is being made: it tells the model which tasks have ended.
    fn is_told(&mut self) {
        let ended = self.tasks.values_mut().filter(|task| task.stage == Stage::Ended);
        ended.for_each(|task| task.stage = Stage::Told);
    }

    fn forget_told(&mut self) {
        self.tasks.retain(|_, task| task.stage != Stage::Told);
    }
}
