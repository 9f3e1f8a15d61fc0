//! Background tasks: commands and agents. As with the real CLI, the model is told of their end with its next request;
//! if there is none, the end begins another turn, even if a call was deferred and its answer is still to come.

use serde_json::{Value, json};

use super::calls::ToolCall;
use super::history::HistoryPosition;
use super::host::Message;
use super::player::{Player, Stop};
use super::stream::Event;
use super::tools::{self, Done};

/// The running tasks, and those whose end the model has not been told.
#[derive(Debug, Default)]
pub(super) struct Background {
    tasks: Vec<Task>,
    notices: Vec<String>,
}

#[derive(Debug)]
struct Task {
    run: u64,
    call: String,
    kind: &'static str,
}

impl Task {
    fn id(&self) -> String {
        format!("task{}", self.run)
    }
}

impl Background {
    /// Whether a task is running, or has ended without the model being told.
    pub(super) fn is_busy(&self) -> bool {
        !self.tasks.is_empty() || !self.notices.is_empty()
    }
}

impl Player {
    /// Starts a task; its call ends at once.
    pub(super) fn start_in_background(
        &mut self,
        tool: &mut ToolCall,
        kind: &'static str,
        command: Option<&str>,
        decision: Value,
    ) -> Result<(), Stop> {
        self.runs += 1;
        let input = command.map_or_else(|| tool.input.clone(), |command| json!({"command": command}));
        if let Err(error) = tools::start_bash(&self.cwd, &input, self.runs, self.inbox.reports.clone()) {
            return self.finish(tool, Done::error(format!("cannot start a shell: {error}")), decision);
        }
        let task = Task { run: self.runs, call: tool.id.clone(), kind };
        let (id, said) = match kind {
            "local_bash" => (task.id(), format!("Command running in background with ID: {}.", task.id())),
            _ => (task.id(), "Async agent launched successfully.".to_owned()),
        };
        self.background.tasks.push(task);
        self.tell_tasks()?;
        let started = json!({
            "task_id": id, "tool_use_id": tool.id, "task_type": kind, "is_backgrounded": true,
        });
        self.output.event(&Event::task(&self.session, "task_started", started))?;
        self.finish(tool, Done::ok(said.clone(), json!(said)), decision)
    }

    /// Handles the end of a run. Returns whether it was a task.
    pub(super) fn task_ended(&mut self, run: u64) -> Result<bool, Stop> {
        let Some(place) = self.background.tasks.iter().position(|task| task.run == run) else {
            return Ok(false);
        };
        let task = self.background.tasks.remove(place);
        let (id, call) = (task.id(), &task.call);
        let updated = json!({"task_id": id, "patch": {"status": "completed"}});
        self.output.event(&Event::task(&self.session, "task_updated", updated))?;
        let ended = json!({"task_id": id, "tool_use_id": call, "status": "completed"});
        self.output.event(&Event::task(&self.session, "task_notification", ended))?;
        self.tell_tasks()?;
        self.background
            .notices
            .push(format!("<task-notification>\n<task-id>{id}</task-id>\n</task-notification>"));
        Ok(true)
    }

    fn tell_tasks(&mut self) -> Result<(), Stop> {
        let told = |task: &Task| json!({"task_id": task.id(), "task_type": task.kind});
        let tasks: Vec<_> = self.background.tasks.iter().map(told).collect();
        self.output.event(&Event::task(&self.session, "background_tasks_changed", json!({"tasks": tasks})))
    }

    /// Tells the model which tasks have ended, with its next input.
    pub(super) fn take_notices(&mut self) -> Result<(), Stop> {
        for notice in std::mem::take(&mut self.background.notices) {
            self.transcript.message(&notice, None)?;
            self.emit(&Event::user(&self.session, json!(notice), json!({})))?;
        }
        Ok(())
    }

    /// Begins another turn for tasks that ended after a turn, without a new message.
    pub(super) fn play_notice(&mut self) -> Result<bool, Stop> {
        let Some(ended) = self.last_ended().filter(|_| !self.background.notices.is_empty()) else {
            return Ok(false);
        };
        let text = std::mem::take(&mut self.background.notices).join("\n");
        self.say_result_again(ended, &Message { text, uuid: None })?;
        Ok(true)
    }

    /// A call was deferred while a task was running: when the task ends, the rest is played without the answer.
    pub(super) fn go_on_without_answer(&mut self) -> Result<(), Stop> {
        if !self.background.is_busy() {
            return Ok(());
        }
        while self.background.notices.is_empty() {
            self.pump(None)?;
        }
        let place = self.turn.place;
        self.begin_turn(place);
        self.transcript.note("step_done", place)?;
        self.emit(&Event::init(&self.session))?;
        self.take_notices()?;
        self.play_from(HistoryPosition { step: place.step + 1, call: 0, ..place })
    }
}
