//! The tools: their names, what they take, and which file carries each out.

mod answering;
mod logs;
mod looking;
mod reviewing;
mod starting;
pub(crate) mod waiting;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::person::PersonAtClient;
use crate::server::ToolOutcome;
use crate::tool_error::ToolError;

/// A call of a tool, with its arguments.
#[derive(Debug)]
pub(crate) enum ToolCall {
    Start(starting::StartArguments),
    Status(looking::StatusArguments),
    Answer(answering::AnswerArguments),
    Review(reviewing::ReviewArguments),
    Apply(reviewing::ApplyArguments),
    Reject(reviewing::RejectArguments),
    Revise(reviewing::ReviseArguments),
    ViewLog(logs::ViewArguments),
    ListLogs(logs::ListArguments),
    System(looking::NoArguments),
    Wait(waiting::WaitArguments),
}

impl ToolCall {
    /// Reads a call; `None` if there is no such tool.
    pub(crate) fn read(name: &str, arguments: Value) -> Option<Result<Self, ToolError>> {
        Some(match name {
            "task_worker" => parse(name, arguments).map(Self::Start),
            "work_status" => parse(name, arguments).map(Self::Status),
            "answer_worker_question" => parse(name, arguments).map(Self::Answer),
            "review_changes" => parse(name, arguments).map(Self::Review),
            "apply_changes" => parse(name, arguments).map(Self::Apply),
            "reject_changes" => parse(name, arguments).map(Self::Reject),
            "request_revision" => parse(name, arguments).map(Self::Revise),
            "view_container_logs" => parse(name, arguments).map(Self::ViewLog),
            "list_container_logs" => parse(name, arguments).map(Self::ListLogs),
            "system_status" => parse(name, arguments).map(Self::System),
            "wait" => parse(name, arguments).map(Self::Wait),
            _ => return None,
        })
    }

    pub(crate) async fn carry_out(self, person: &PersonAtClient<'_>) -> Result<ToolOutcome, ToolError> {
        let (server, lead) = (person.server, person.lead);
        let told = match self {
            Self::Start(arguments) => return starting::start(person, arguments).await,
            Self::Status(arguments) => looking::status(server, lead, arguments).await,
            Self::Answer(arguments) => answering::answer(server, lead, arguments).await,
            Self::Review(arguments) => reviewing::review(server, arguments).await,
            Self::Apply(arguments) => reviewing::apply(server, lead, arguments).await,
            Self::Reject(arguments) => reviewing::reject(server, lead, arguments).await,
            Self::Revise(arguments) => reviewing::revise(server, lead, arguments).await,
            Self::ViewLog(arguments) => logs::view(server, arguments).await,
            Self::ListLogs(arguments) => logs::list(server, arguments).await,
            Self::System(_) => looking::system(server).await,
            Self::Wait(arguments) => return waiting::wait(person, arguments).await,
        };
        told.map(ToolOutcome::Told)
    }
}

fn parse<T: DeserializeOwned>(name: &str, arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::invalid(format!("the arguments of {name} are wrong: {error}")))
}

/// What a tool does to the world, for clients that ask before they call one.
#[derive(Clone, Copy)]
enum Effect {
    Looks,
    Acts,
    Discards,
}

/// All tools, as clients list them.
pub(crate) fn all(workers: &[&str]) -> Vec<Tool> {
    let diff = ("diffId", json!({ "type": "string", "description": "The id of the diff: diff-..." }));
    let task = |about: &str| ("taskId", json!({ "type": "string", "description": about }));
    vec![
        tool(
            "task_worker",
            "Start a worker: a coding agent in a workplace of its own, where it cannot change the project. Returns at once \
             with a task id. The worker clarifies the task, makes a plan that a person confirms, and works. Call wait next.",
            Effect::Acts,
            &[
                (
                    "task",
                    json!({ "type": "string", "description": "What to do, with everything the worker has to know" }),
                ),
                (
                    "workFolder",
                    json!({
                        "type": "string",
                        "description": "The project's directory. May be left out: this server works in one project",
                    }),
                ),
                (
                    "worker",
                    json!({
                        "type": "string", "enum": workers,
                        "description": "The kind of workplace. May be left out: then the person's setting counts",
                    }),
                ),
                (
                    "parentTaskId",
                    json!({ "type": "string", "description": "The task that this one is a part of: task-..." }),
                ),
                (
                    "returnMode",
                    json!({
                        "type": "string", "enum": ["summary", "full"],
                        "description": "How much of its result you are told at its end (default: full)",
                    }),
                ),
                (
                    "template",
                    json!({
                        "type": "string",
                        "description": "The name of a template of the project; system_status lists them. The task goes into its \
                                        blank {{task}}, or to its end",
                    }),
                ),
                (
                    "blanks",
                    json!({
                        "type": "object", "additionalProperties": { "type": "string" },
                        "description": "What to fill into the blanks of the template, by their names",
                    }),
                ),
                (
                    "containerConfig",
                    json!({
                        "type": "object", "additionalProperties": false,
                        "description": "What a worker in a container may use, if that is less than the person's settings allow",
                        "properties": {
                            "memory": { "type": "string", "description": "Such as 512m or 2g" },
                            "cpus": { "type": "string", "description": "The number of processors" },
                            "timeout": {
                                "type": "integer", "minimum": 0,
                                "description": "How long the container keeps running while its worker waits, in milliseconds",
                            },
                        },
                    }),
                ),
                (
                    "questions",
                    json!({
                        "type": "string", "enum": ["person", "lead"],
                        "description": "Who answers what the worker asks: the person alone, or you as well. May be left out: then the \
                                        person's setting counts",
                    }),
                ),
            ],
            &["task"],
        ),
        tool(
            "work_status",
            "The state of a task: status, what it asks and how to answer, its result and diff. Without a task: all recent ones.",
            Effect::Looks,
            &[
                task("The task: task-..."),
                (
                    "showDetails",
                    json!({ "type": "boolean", "description": "Also the whole task and all answers" }),
                ),
            ],
            &[],
        ),
        tool(
            "answer_worker_question",
            "Answer what a worker asks, or tell a stopped or failed one how to go on (an empty answer: as it was). It continues in the same \
             conversation. Permissions, plans and secrets are refused: a person decides those.",
            Effect::Acts,
            &[
                task("The task that asks: task-..."),
                (
                    "answer",
                    json!({
                        "description": "The label, value or number of an option, or own words. A list where several may be \
                                        chosen. An object from question id to answer where several questions are open",
                        "anyOf": [
                            { "type": "string" },
                            { "type": "number" },
                            { "type": "array", "items": { "type": "string" } },
                            { "type": "object" },
                        ],
                    }),
                ),
                (
                    "questionId",
                    json!({ "type": "string", "description": "The question, where several are open: q1" }),
                ),
            ],
            &["taskId", "answer"],
        ),
        tool(
            "review_changes",
            "The changes that a worker made, as a diff. Without a diff: all that wait for a decision.",
            Effect::Looks,
            &[
                diff.clone(),
                (
                    "showContent",
                    json!({ "type": "boolean", "description": "Whether to show the diff itself (default: true)" }),
                ),
                (
                    "format",
                    json!({
                        "type": "string", "enum": ["summary", "detailed"],
                        "description": "summary lists the files only (default: detailed)",
                    }),
                ),
            ],
            &[],
        ),
        tool(
            "apply_changes",
            "Apply a worker's changes to the project: all of them or, if there are conflicts, none. Unless the person \
             allowed it beforehand, this asks the person to apply them.",
            Effect::Acts,
            &[
                diff.clone(),
                (
                    "targetWorkspace",
                    json!({
                        "type": "string", "description": "The project's directory. May be left out",
                    }),
                ),
                (
                    "confirm",
                    json!({
                        "type": "boolean", "description": "false only says what would be applied (default: true)",
                    }),
                ),
                (
                    "withConflicts",
                    json!({
                        "type": "boolean", "description": "Apply it with conflict markers in the files (default: false)",
                    }),
                ),
            ],
            &["diffId"],
        ),
        tool(
            "reject_changes",
            "Throw a worker's changes away. This removes its workplace and ends the task.",
            Effect::Discards,
            &[diff.clone(), ("reason", json!({ "type": "string", "description": "Why, for the record" }))],
            &["diffId"],
        ),
        tool(
            "request_revision",
            "Have a worker change its work: it continues in the same conversation and workplace, and its next end has a \
             new diff id.",
            Effect::Acts,
            &[
                diff,
                ("feedback", json!({ "type": "string", "description": "What to change" })),
                (
                    "preserveCorrectParts",
                    json!({
                        "type": "boolean", "description": "Whether to keep what is right (default: true)",
                    }),
                ),
                (
                    "additionalContext",
                    json!({ "type": "string", "description": "What else the worker has to know" }),
                ),
            ],
            &["diffId", "feedback"],
        ),
        tool(
            "view_container_logs",
            "What happened in a task, line by line, and all its questions with their answers.",
            Effect::Looks,
            &[
                (
                    "identifier",
                    json!({ "type": "string", "description": "A task (task-...), a diff (diff-...) or a session" }),
                ),
                (
                    "tail",
                    json!({ "type": "integer", "minimum": 0, "description": "How many lines, from the end (default: 200)" }),
                ),
                (
                    "filter",
                    json!({ "type": "string", "description": "Only lines that contain this, in any case" }),
                ),
            ],
            &["identifier"],
        ),
        tool(
            "list_container_logs",
            "The logs of tasks that there are.",
            Effect::Looks,
            &[
                (
                    "limit",
                    json!({ "type": "integer", "minimum": 0, "description": "How many (default: 20)" }),
                ),
                (
                    "sortBy",
                    json!({ "type": "string", "enum": ["newest", "oldest", "size"], "description": "Which come first (default: newest)" }),
                ),
            ],
            &[],
        ),
        tool(
            "system_status",
            "This server: its version, project and kind of workplace, and how many tasks there are in which status.",
            Effect::Looks,
            &[],
            &[],
        ),
        tool(
            "wait",
            "Wait until something changes that you have not been told: a worker asks, finishes, fails, or a person decided. \
             Reports progress meanwhile, and shows the person what only they may decide, where this client has dialogs. \
             Without a task: for any task of this server.",
            Effect::Looks,
            &[
                task("The task to wait for: task-..."),
                (
                    "seconds",
                    json!({
                        "type": "integer", "minimum": 0,
                        "description": "How long to wait at most (default: 300, at most 3600)",
                    }),
                ),
            ],
            &[],
        ),
    ]
}

fn tool(
    name: &'static str,
    about: &'static str,
    effect: Effect,
    properties: &[(&str, Value)],
    required: &[&str],
) -> Tool {
    let properties: JsonObject =
        properties.iter().map(|(name, about)| ((*name).to_owned(), about.clone())).collect();
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("required".into(), json!(required));
    schema.insert("additionalProperties".into(), json!(false));
    let hints = ToolAnnotations::new().open_world(false);
    let hints = match effect {
        Effect::Looks => hints.read_only(true),
        Effect::Acts => hints.read_only(false).destructive(false),
        Effect::Discards => hints.read_only(false).destructive(true),
    };
    Tool::new(name, about, schema).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is listed can be called, and its arguments are those that are read.
    #[test]
    fn every_listed_tool_is_known_and_takes_what_it_lists() {
        for tool in all(&["worktree"]) {
            let schema = &*tool.input_schema;
            let value = |schema: &Value| match schema["type"].as_str() {
                Some("boolean") => json!(true),
                Some("integer") => json!(1),
                Some("object") => json!({}),
                _ => match schema["enum"].as_array() {
                    Some(choices) => choices[0].clone(),
                    None => json!("x"),
                },
            };
            let properties = schema["properties"].as_object().unwrap();
            let all: JsonObject =
                properties.iter().map(|(name, schema)| (name.clone(), value(schema))).collect();
            ToolCall::read(&tool.name, Value::Object(all.clone())).unwrap().unwrap();
            for required in schema["required"].as_array().unwrap() {
                let mut less = all.clone();
                less.remove(required.as_str().unwrap()).unwrap();
                let missing = ToolCall::read(&tool.name, Value::Object(less)).unwrap().unwrap_err();
                assert!(missing.message().contains(required.as_str().unwrap()), "{}", missing.message());
            }
            let mut more = all;
            more.insert("surprise".into(), json!(1));
            assert!(ToolCall::read(&tool.name, Value::Object(more)).unwrap().is_err(), "{}", tool.name);
        }
        assert!(ToolCall::read("rm", json!({})).is_none());
    }
}
