//! Whether a tool call may run: the hook first, then the permission request, then the tool itself.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::calls::{Kind, Stage, ToolCall};
use super::decision::{HookDecision, Permission, answers_in, hook_decision, permission, question_texts};
use super::placeholders::{Answer, fill};
use super::player::{Player, Stop};
use super::stream::{Event, hook_callback, new_uuid};
use super::tools::{self, Done};

/// The error for an open request when the host has ended: the real CLI does not wait and continues without an answer.
const HOST_GONE: &str =
    "Tool permission request failed: Error: Tool permission stream closed before response received";

const NO_ANSWERS: &str = "The user did not answer the questions.";

const NO_ASKING: &str = "<tool_use_error>Error: No such tool available: AskUserQuestion. AskUserQuestion is disabled for \
this session, in subagents as well as here.</tool_use_error>";

impl Player {
    /// Starts a call.
    pub(super) fn begin(&mut self, tool: &mut ToolCall) -> Result<(), Stop> {
        if !self.is_live() {
            return self.begin_plain(tool);
        }
        if let Some(refused) = ambiguous(&tool.input).filter(|_| tool.kind == Kind::Ask) {
            return self.finish(tool, refused, json!({"non_execution_kind": "invalid-input"}));
        }
        let Some(hook) = self.host.hook_for(&tool.name).cloned() else {
            return self.ask_permission(tool);
        };
        let request = new_uuid();
        let shown = (tool.name.as_str(), &tool.input, tool.id.as_str());
        let body =
            hook_callback(&self.session, &self.transcript.path, &hook.callback, &self.turn.prompt_id, shown);
        self.emit(&Event::control_request(&request, body))?;
        let deadline = hook.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        tool.stage = Stage::Hook { request, deadline };
        Ok(())
    }

    /// Advances a call as far as possible.
    pub(super) fn advance(&mut self, tool: &mut ToolCall) -> Result<(), Stop> {
        match &tool.stage {
            Stage::Hook { request, deadline } => {
                let (request, deadline) = (request.clone(), *deadline);
                if let Some(response) = self.host.take_response(&request) {
                    return self.hook_answered(tool, &hook_decision(&response));
                }
                if deadline.is_some_and(|at| at <= Instant::now()) {
                    self.emit(&Event::control_cancel(&request))?;
                    let why = format!("Hook for {} timed out before it answered", tool.name);
                    return self.finish(tool, Done::error(why), rejected("hook"));
                }
                if self.host.eof { self.host_gone(tool) } else { Ok(()) }
            }
            Stage::Permission { request } => {
                let request = request.clone();
                match self.host.take_response(&request) {
                    Some(response) => self.permission_answered(tool, permission(&response)),
                    None if self.host.eof => self.host_gone(tool),
                    None => Ok(()),
                }
            }
            Stage::Running { run, decision, .. } => {
                let (run, decision) = (*run, decision.clone());
                match self.host.take_ended(run) {
                    Some(done) => self.finish(tool, done, decision),
                    None => Ok(()),
                }
            }
            Stage::Fresh | Stage::Finished { .. } | Stage::Printed | Stage::Deferred => Ok(()),
        }
    }

    fn begin_plain(&mut self, tool: &mut ToolCall) -> Result<(), Stop> {
        if !self.needs_permission(tool) {
            return self.perform(tool, accepted("config"));
        }
        self.deny(tool);
        let why = match tool.kind {
            Kind::Ask => NO_ASKING.to_owned(),
            Kind::Write
            | Kind::Edit
            | Kind::Bash
            | Kind::Background
            | Kind::Agent(_)
            | Kind::ExitPlan
            | Kind::Pretended(_) => {
                format!("Claude requested permissions to use {}, but you haven't granted it yet.", tool.name)
            }
        };
        self.finish(tool, Done::error(why), rejected("config"))
    }

    fn hook_answered(&mut self, tool: &mut ToolCall, decision: &HookDecision) -> Result<(), Stop> {
        match decision {
            HookDecision::Defer => {
                tool.stage = Stage::Deferred;
                Ok(self.transcript.deferred(&tool.open())?)
            }
            HookDecision::Deny(reason) => {
                self.deny(tool);
                self.finish(tool, Done::error(reason.clone()), rejected("hook"))
            }
            HookDecision::Pass => self.ask_permission(tool),
            HookDecision::Allow(input) => {
                let input = input.clone().unwrap_or_else(|| tool.input.clone());
                // A hook that allows a question without answering it leaves it to the user.
                if tool.kind == Kind::Ask && answers_in(&input).is_empty() {
                    return self.ask_permission(tool);
                }
                tool.input = input;
                self.perform(tool, accepted("hook"))
            }
        }
    }

    fn ask_permission(&mut self, tool: &mut ToolCall) -> Result<(), Stop> {
        if !self.needs_permission(tool) {
            return self.perform(tool, accepted("config"));
        }
        let request = new_uuid();
        self.emit(&Event::control_request(&request, permission_request(&self.cwd, tool)))?;
        tool.stage = Stage::Permission { request };
        Ok(())
    }

    fn permission_answered(&mut self, tool: &mut ToolCall, answer: Permission) -> Result<(), Stop> {
        match answer {
            Permission::Allow { input, updates } => {
                self.remember(tool, &updates)?;
                tool.input =
                    input.filter(|_| tool.kind != Kind::ExitPlan).unwrap_or_else(|| tool.input.clone());
                self.perform(tool, accepted("user_temporary"))
            }
            Permission::Deny { message, interrupt } => {
                self.deny(tool);
                self.host.interrupted |= interrupt;
                self.finish(tool, Done::error(message), rejected("user_reject"))
            }
            Permission::Failed(error) => {
                let why = format!("Tool permission request failed: Error: {error}");
                self.finish(tool, Done::error(why), rejected("user_reject"))
            }
        }
    }

    fn host_gone(&mut self, tool: &mut ToolCall) -> Result<(), Stop> {
        self.finish(tool, Done::error(HOST_GONE), rejected("user_reject"))
    }

    /// Implements "always": the tool is not asked about again in this conversation.
    fn remember(&mut self, tool: &ToolCall, updates: &[Value]) -> Result<(), Stop> {
        if let Some(mode) = updates.iter().find_map(|update| update["mode"].as_str()) {
            self.session.permission_mode = mode.to_owned();
        }
        let asks_for_itself = matches!(tool.kind, Kind::Ask | Kind::ExitPlan);
        if !updates.is_empty() && !asks_for_itself {
            self.transcript.allow_tool(&tool.name)?;
        }
        Ok(())
    }

    fn needs_permission(&self, tool: &ToolCall) -> bool {
        let edits = matches!(tool.kind, Kind::Write | Kind::Edit);
        if matches!(tool.kind, Kind::Ask | Kind::ExitPlan) {
            return true;
        }
        let allowed = match self.session.permission_mode.as_str() {
            "bypassPermissions" => true,
            "acceptEdits" => edits,
            _ => false,
        };
        // In plan mode the CLI asks about every call that changes something.
        let changes = edits || matches!(tool.kind, Kind::Bash | Kind::Background);
        let is_asked_about = tool.permission || changes && self.session.permission_mode == "plan";
        is_asked_about
            && !allowed
            && !self.arguments.allowed_tools.contains(&tool.name)
            && !self.transcript.history.allowed_tools.contains(&tool.name)
    }

    fn perform(&mut self, tool: &mut ToolCall, decision: Value) -> Result<(), Stop> {
        let really = self.turn.entry.execute_tools.unwrap_or(true);
        let done = match tool.kind.clone() {
            Kind::Ask => answer(&tool.input),
            Kind::ExitPlan => return self.leave_plan_mode(tool, decision),
            Kind::Pretended(result) => {
                let result = fill(&result, &self.transcript.history.answers);
                Done::ok(result.clone(), json!(result))
            }
            Kind::Write if really => tools::write(&self.cwd, &tool.input),
            Kind::Edit if really => self.edit(tool)?,
            Kind::Bash if really => return self.start_command(tool, decision),
            Kind::Background => return self.start_in_background(tool, "local_bash", None, decision),
            Kind::Agent(command) => {
                return self.start_in_background(tool, "local_agent", Some(&command), decision);
            }
            Kind::Write => tools::written(tool.text("file_path"), tool.text("content"), None),
            Kind::Edit => tools::edited(&tool.input),
            Kind::Bash => tools::ran("", ""),
        };
        self.finish(tool, done, decision)
    }

    /// Records the file's new content before the edit: an edit that a kill interrupted is neither lost nor made twice.
    fn edit(&mut self, tool: &ToolCall) -> Result<Done, Stop> {
        let planned_before = self.transcript.history.planned_edits.get(&tool.place);
        if planned_before.is_some_and(|content| tools::holds(&self.cwd, &tool.input, content)) {
            return Ok(tools::edited(&tool.input));
        }
        match tools::plan_edit(&self.cwd, &tool.input) {
            Err(done) => Ok(done),
            Ok(planned) => {
                self.transcript.plan_edit(tool.place, &planned.content)?;
                Ok(tools::make_edit(&planned, &tool.input))
            }
        }
    }

    fn start_command(&mut self, tool: &mut ToolCall, decision: Value) -> Result<(), Stop> {
        self.runs += 1;
        match tools::start_bash(&self.cwd, &tool.input, self.runs, self.inbox.reports.clone()) {
            Ok(pid) => {
                tool.stage = Stage::Running { run: self.runs, pid, decision };
                Ok(())
            }
            Err(error) => self.finish(tool, Done::error(format!("cannot start a shell: {error}")), decision),
        }
    }

    fn leave_plan_mode(&mut self, tool: &mut ToolCall, decision: Value) -> Result<(), Stop> {
        if self.session.permission_mode == "plan" {
            self.session.permission_mode = "default".to_owned();
        }
        let said = "User has approved exiting plan mode. You can now proceed.";
        self.finish(tool, Done::ok(said, json!({"plan": null, "isAgent": false})), decision)?;
        self.emit(&Event::status(&self.session))
    }

    fn deny(&mut self, tool: &ToolCall) {
        self.turn.permission_denials.push(json!({
            "tool_name": tool.name, "tool_use_id": tool.id, "tool_input": tool.input,
        }));
    }
}

impl ToolCall {
    fn text(&self, key: &str) -> &str {
        self.input[key].as_str().unwrap_or_default()
    }
}

/// The result of a question, in the words of the real tool. Free text is distinguished from offered options.
fn answer(input: &Value) -> Done {
    let answers = answers_in(input);
    let pairs: Vec<String> =
        answers.iter().map(|(question, answer)| format!("\"{question}\"=\"{answer}\"")).collect();
    let pairs = pairs.join(", ");
    let said = if answers.is_empty() {
        NO_ANSWERS.to_owned()
    } else if answers.iter().all(|answer| is_offered(input, answer)) {
        format!(
            "Your questions have been answered: {pairs}. You can now continue with these answers in mind."
        )
    } else {
        format!(
            "The user answered: {pairs}. Read the answers carefully — they may request clarification, changes, \
             or that you not proceed — and follow what they actually say."
        )
    };
    Done::ok(said, json!({"questions": input["questions"], "answers": input["answers"]}))
}

/// Whether an answer is one of its question's options, or several if several may be chosen.
fn is_offered(input: &Value, (asked, answer): &Answer) -> bool {
    let questions = input["questions"].as_array().into_iter().flatten();
    let Some(question) = questions.into_iter().find(|question| question["question"] == **asked) else {
        return false;
    };
    let options = || question["options"].as_array().into_iter().flatten();
    let offered = |answer: &str| options().any(|option| option["label"] == *answer);
    let several = question["multiSelect"] == true;
    offered(answer) || several && answer.split(", ").all(offered)
}

/// The real tool's error for questions whose answers could not be told apart. They are not shown.
fn ambiguous(input: &Value) -> Option<Done> {
    let labels = |question: &Value| -> Vec<String> {
        let options = question["options"].as_array().into_iter().flatten();
        options.filter_map(|option| option["label"].as_str().map(str::to_owned)).collect()
    };
    let mut questions = input["questions"].as_array().into_iter().flatten();
    if all_differ(question_texts(input)) && questions.all(|question| all_differ(labels(question))) {
        return None;
    }
    let message = "Question texts must be unique, option labels must be unique within each question";
    let issues = json!([{"code": "custom", "path": [], "message": message}]);
    let issues = serde_json::to_string_pretty(&issues).unwrap_or_default();
    Some(Done::error(format!("<tool_use_error>InputValidationError: {issues}</tool_use_error>")))
}

fn all_differ(words: Vec<String>) -> bool {
    let count = words.len();
    words.into_iter().collect::<HashSet<_>>().len() == count
}

fn permission_request(cwd: &Path, tool: &ToolCall) -> Value {
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": tool.name, "display_name": tool.name,
        "input": tool.input, "tool_use_id": tool.id,
    });
    match tool.kind {
        Kind::Ask => request["requires_user_interaction"] = json!(true),
        Kind::ExitPlan => {
            request["requires_user_interaction"] = json!(true);
            // As recorded: the plan was shown with the tool use and is not repeated here.
            request["input"] = json!({});
        }
        Kind::Write | Kind::Edit => {
            let path = Path::new(tool.text("file_path"));
            request["description"] = json!(path.strip_prefix(cwd).unwrap_or(path));
            request["permission_suggestions"] =
                json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
        }
        Kind::Bash | Kind::Background | Kind::Agent(_) | Kind::Pretended(_) => {
            let mut rule = json!({"toolName": tool.name});
            if matches!(tool.kind, Kind::Bash | Kind::Background) {
                rule["ruleContent"] = tool.input["command"].clone();
            }
            let description = tool.input["description"].as_str().unwrap_or(&tool.name);
            request["description"] = json!(description);
            request["permission_suggestions"] = json!([
                {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"},
            ]);
        }
    }
    request
}

fn accepted(source: &str) -> Value {
    json!({"permission_decision": {"decision": "accept", "source": source}})
}

fn rejected(source: &str) -> Value {
    let decision = json!({"decision": "reject", "source": source});
    json!({"non_execution_kind": "permission-rule", "permission_decision": decision})
}
