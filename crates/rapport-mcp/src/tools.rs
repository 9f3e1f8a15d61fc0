//! The tools: their names, their arguments, and which file carries out each.

mod answer;
mod digest;
mod logs;
mod project;
mod respond;
mod review;
mod session;
pub(crate) mod start;
mod status;
pub(crate) mod wait;

use rapport_core::routing::Class;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::person::PersonAtClient;
use crate::server::ToolOutcome;
use crate::tool_error::ToolError;

/// A call of a tool, with its arguments.
#[derive(Debug)]
pub(crate) enum ToolCall {
    Start(start::StartArguments),
    Status(status::StatusArguments),
    Answer(answer::AnswerArguments),
    Respond(respond::RespondArguments),
    Review(review::ReviewArguments),
    Apply(review::ApplyArguments),
    Reject(review::RejectArguments),
    Revise(review::ReviseArguments),
    ViewLog(logs::ViewArguments),
    ListLogs(logs::ListArguments),
    System(status::NoArguments),
    Wait(wait::WaitArguments),
    Project(project::ProjectArguments),
    StartSession(session::SessionArguments),
    SayToSession(session::SayArguments),
    SessionState(session::StateArguments),
    CancelSession(session::CancelArguments),
    Digest(digest::DigestArguments),
}

impl ToolCall {
    /// Parses a call; `None` if there is no such tool.
    pub(crate) fn read(name: &str, arguments: Value) -> Option<Result<Self, ToolError>> {
        Some(match name {
            "task_worker" => parse(name, arguments).map(Self::Start),
            "work_status" => parse(name, arguments).map(Self::Status),
            "answer_worker_question" => parse(name, arguments).map(Self::Answer),
            "claude_code_respond" => parse(name, arguments).map(Self::Respond),
            "review_changes" => parse(name, arguments).map(Self::Review),
            "apply_changes" => parse(name, arguments).map(Self::Apply),
            "reject_changes" => parse(name, arguments).map(Self::Reject),
            "request_revision" => parse(name, arguments).map(Self::Revise),
            "view_container_logs" => parse(name, arguments).map(Self::ViewLog),
            "list_container_logs" => parse(name, arguments).map(Self::ListLogs),
            "system_status" => parse(name, arguments).map(Self::System),
            "wait" => parse(name, arguments).map(Self::Wait),
            "project_context" => parse(name, arguments).map(Self::Project),
            "claude_code_start" => parse(name, arguments).map(Self::StartSession),
            "claude_code_say" => parse(name, arguments).map(Self::SayToSession),
            "claude_code_status" => parse(name, arguments).map(Self::SessionState),
            "claude_code_cancel" => parse(name, arguments).map(Self::CancelSession),
            "claude_code_digest" => parse(name, arguments).map(Self::Digest),
            _ => return None,
        })
    }

    pub(crate) async fn carry_out(self, person: &PersonAtClient<'_>) -> Result<ToolOutcome, ToolError> {
        let (server, lead) = (person.server, person.lead);
        let told = match self {
            Self::Start(arguments) => return start::start(person, arguments).await,
            Self::Status(arguments) => status::status(server, lead, arguments).await,
            Self::Answer(arguments) => answer::answer(server, lead, arguments).await,
            Self::Respond(arguments) => respond::respond(server, lead, arguments).await,
            Self::Review(arguments) => review::review(server, arguments).await,
            Self::Apply(arguments) => review::apply(server, lead, arguments).await,
            Self::Reject(arguments) => review::reject(server, lead, arguments).await,
            Self::Revise(arguments) => review::revise(server, lead, arguments).await,
            Self::ViewLog(arguments) => logs::view(server, arguments).await,
            Self::ListLogs(arguments) => logs::list(server, arguments).await,
            Self::System(_) => status::system(server).await,
            Self::Wait(arguments) => return wait::wait(person, arguments).await,
            Self::Project(arguments) => project::context(server, lead, arguments).await,
            Self::StartSession(arguments) => session::start(person, arguments).await,
            Self::SayToSession(arguments) => session::say(server, lead, arguments).await,
            Self::SessionState(arguments) => session::state(server, lead, arguments).await,
            Self::CancelSession(arguments) => session::cancel(server, lead, arguments).await,
            Self::Digest(arguments) => digest::digest(server, arguments).await,
        };
        told.map(ToolOutcome::Replied)
    }
}

fn parse<T: DeserializeOwned>(name: &str, arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::invalid(format!("the arguments of {name} are wrong: {error}")))
}

/// What a tool changes, for clients that ask before they call one.
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
                    json!({
                        "type": "string",
                        "description": "What to do, with everything the worker has to know. May be left out where a template \
                                        is named",
                    }),
                ),
                (
                    "taskDescription",
                    json!({ "type": "string", "description": "What it is about, in a few words for lists" }),
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
                        "type": "string", "enum": ["ask", "assist", "auto", "trust", "person", "lead"],
                        "description": "Who answers what the worker asks: the person alone (ask), you draft and the person sends \
                                        (assist), you with a ground (auto), you (trust). May be left out: then the person's \
                                        setting counts; you may leave more to the person, not less",
                    }),
                ),
            ],
            &[],
        ),
        tool(
            "work_status",
            "The state of a task: status, what it asks and how to answer, its result and diff. Without a task: all recent ones.",
            Effect::Looks,
            &[
                task("The task: task-..."),
                (
                    "planId",
                    json!({ "type": "string", "description": "A task whose parts to list: task-..." }),
                ),
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
            "claude_code_respond",
            "Claude Code: answer a question that reached you as [Claude Code Question - Session <id>]. Use it when you lead \
             the session and the project, a preference or an earlier answer decides the question. Returns sent, drafted \
             (the person sends it), needs_person, or not_found (answered meanwhile, or no such question).",
            Effect::Acts,
            &[
                (
                    "sessionId",
                    json!({ "type": "string", "description": "The session that asks, as in the message" }),
                ),
                (
                    "response",
                    json!({ "type": "string", "description": "The label of an option, or own words" }),
                ),
                (
                    "question",
                    json!({ "type": "string", "description": "The question: q1. May be left out: then the oldest" }),
                ),
                (
                    "ground",
                    json!({
                        "type": "string",
                        "description": "What the answer rests on: preference:ID, answer:SESSION/QUESTION, or \
                                        file:PATH:LINES of a file that you have read. Without one it is a draft",
                    }),
                ),
                (
                    "answers",
                    json!({
                        "type": "array",
                        "description": "Several answers at once, each with its own result",
                        "items": {
                            "type": "object", "additionalProperties": false, "required": ["response"],
                            "properties": {
                                "question": { "type": "string" },
                                "response": { "type": "string" },
                                "ground": { "type": "string" },
                            },
                        },
                    }),
                ),
                (
                    "askingUser",
                    json!({
                        "type": "boolean",
                        "description": "You ask the person about it first, and need ten minutes more",
                    }),
                ),
                (
                    "passOn",
                    json!({
                        "type": "object", "additionalProperties": false, "required": ["reason"],
                        "description": "Leave the question to the person, instead of a response: you do not know, or it is not for you",
                        "properties": {
                            "reason": { "type": "string", "description": "Why, in words for the person" },
                            "class": {
                                "type": "string", "enum": Class::ALL.map(Class::word),
                                "description": "What is at stake, if that is more than a clarification",
                            },
                        },
                    }),
                ),
            ],
            &["sessionId"],
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
    .into_iter()
    .chain(for_leads())
    .collect()
}

/// The tools of a lead that knows projects. They keep the names that assistants know already.
fn for_leads() -> Vec<Tool> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let texts = |about: &str| json!({ "type": "array", "items": { "type": "string" }, "description": about });
    let session = ("sessionId", text("The session, as claude_code_start names it"));
    let project = ("project", text("The project: its name, or the path of its directory"));
    vec![
        tool(
            "project_context",
            "What is known about a project: its stack, directories, conventions, instructions and what the person wants \
             kept in mind. Call it with the action load before you plan work there; if it needs exploring, call it with the \
             action explore. update proposes learnings, which hold once the person consents; list names the projects.",
            Effect::Acts,
            &[
                project.clone(),
                (
                    "action",
                    json!({
                        "type": "string", "enum": ["load", "explore", "update", "list"],
                        "description": "load reads what is known, explore looks at the project's files again, update adds \
                                        learnings, list names all projects",
                    }),
                ),
                ("path", text("The directory of the project, if it has no name yet")),
                (
                    "forceRefresh",
                    json!({ "type": "boolean", "description": "load: explore it again, whatever is known (default: false)" }),
                ),
                ("preferences", texts("update: what the person wants kept in mind, in their words")),
                ("conventions", texts("update: how things are done in the project")),
                ("sessionId", text("update: the session that this was learned in")),
            ],
            &["action"],
        ),
        tool(
            "claude_code_start",
            "Start Claude Code on a task in a project. Use it when the person wants code written, changed or looked into, after \
             you have loaded the project's context and asked what is unclear. What is known about the project is added to the \
             prompt. It works in a place of its own, may ask, and makes a plan that the person confirms. Returns at once; call \
             wait next.",
            Effect::Acts,
            &[
                project,
                ("prompt", text("What to do, with everything that is not in the project's context")),
                (
                    "context",
                    json!({
                        "type": "object", "additionalProperties": false,
                        "description": "What you found out before; it is kept with the session",
                        "properties": {
                            "originalTask": { "type": "string", "description": "The task in the person's words" },
                            "notes": { "type": "array", "items": { "type": "string" }, "description": "What you decided while planning" },
                            "requirements": { "type": "array", "items": { "type": "string" }, "description": "What the work has to fulfil" },
                            "answers": {
                                "type": "array", "description": "What you asked the person, and what they answered",
                                "items": {
                                    "type": "object", "additionalProperties": false, "required": ["question", "answer"],
                                    "properties": { "question": { "type": "string" }, "answer": { "type": "string" } },
                                },
                            },
                        },
                    }),
                ),
                ("workingDir", text("The directory of the project that the work is about")),
                (
                    "worktree",
                    json!({
                        "type": "boolean",
                        "description": "Work in a git worktree, whatever kind of place is usual (default: false)",
                    }),
                ),
            ],
            &["project", "prompt"],
        ),
        tool(
            "claude_code_say",
            "Say something to a running Claude Code session: it reads it at its next step, or goes on with it when it is done. \
             This answers no question.",
            Effect::Acts,
            &[session.clone(), ("message", text("What to say"))],
            &["sessionId", "message"],
        ),
        tool(
            "claude_code_status",
            "The state of a Claude Code session: status, what it asks, its result, and the context that it was started with. \
             Without a session: all recent ones.",
            Effect::Looks,
            std::slice::from_ref(&session),
            &[],
        ),
        tool(
            "claude_code_cancel",
            "End a Claude Code session. Its agent is stopped; what it did so far stays in its workplace.",
            Effect::Discards,
            &[session, ("reason", text("Why, for the record"))],
            &["sessionId"],
        ),
        tool(
            "claude_code_digest",
            "What leads did while the person was away: what they answered and on which ground, what they drafted and passed \
             on, and what that cost. Use it to report to the person; only the person overrules.",
            Effect::Looks,
            &[(
                "hours",
                json!({ "type": "integer", "minimum": 1, "description": "How far to look back (default: 24)" }),
            )],
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
    let tool = Tool::new(name, about, schema).with_annotations(hints);
    match name.strip_prefix("claude_code_") {
        Some(verb) => tool.with_title(format!("Claude Code: {verb}")),
        None => tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that fits a schema.
    fn value(schema: &Value) -> Value {
        match schema["type"].as_str() {
            Some("boolean") => json!(true),
            Some("integer") => json!(1),
            Some("object") => {
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                required.map(|name| (name.to_owned(), value(&schema["properties"][name]))).collect()
            }
            Some("array") if schema["items"]["type"] == "object" => json!([]),
            Some("array") => json!(["x"]),
            _ => match schema["enum"].as_array() {
                Some(choices) => choices[0].clone(),
                None => json!("x"),
            },
        }
    }

    /// Every listed tool can be called, and takes the arguments that it lists.
    #[test]
    fn every_listed_tool_is_known_and_takes_what_it_lists() {
        for tool in all(&["worktree"]) {
            let schema = &*tool.input_schema;
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
