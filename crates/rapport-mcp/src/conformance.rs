//! Tools and a prompt that the protocol's conformance suite calls. Only tests have them, where
//! `RAPPORT_TRIAL_FIXTURES` names a directory. They are on the same server and transport as the tools of Rapport.
//! Those that are tasks are sessions with scripted agents that do what the suite expects; their state is in their
//! logs.

use std::path::PathBuf;

use rapport_core::{Act, By, Created, Purpose, Reply, SessionId};
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ClientResult, ContentBlock, ElicitRequest,
    ElicitResult, ElicitationAction, ErrorData, GetPromptResponse, GetPromptResult, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, JsonObject, ListPromptsResult,
    ProgressNotificationParam, Prompt, PromptMessage, Role, ServerCapabilities, ServerRequest, Tool,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use crate::person::PersonAtClient;
use crate::report::Report;
use crate::server::Server;
use crate::tasks;
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::tools::start;

/// Names the directory for the scripts of agents.
const VARIABLE: &str = "RAPPORT_TRIAL_FIXTURES";

const PROMPT: &str = "test_input_required_result_prompt";

/// The tools that answer at once.
const PLAIN: [&str; 6] = [
    "greet",
    "test_simple_text",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
];

/// The tools that show a form during a call, as in the older protocol.
const FORMS: [&str; 3] =
    ["test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums"];

/// The tools whose results ask for more input, as in the newer protocol.
const ASKING: [&str; 11] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "test_missing_capability",
    "test_streaming_elicitation",
    ASKING_TASK,
];

/// The tool that asks for more input, and then becomes a task.
const ASKING_TASK: &str = "test_tool_with_task";

/// The tools that are tasks.
const TASKS: [&str; 5] =
    ["slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input"];

/// The tools of the suite, in a process that serves them.
#[derive(Debug)]
pub(crate) struct Fixtures {
    /// The directory for the scripts of agents.
    scripts: PathBuf,
}

impl Fixtures {
    pub(crate) fn of_this_process() -> Option<Self> {
        std::env::var_os(VARIABLE).map(|scripts| Self { scripts: scripts.into() })
    }

    /// The capabilities of a server, with those that only the suite uses.
    pub(crate) fn declared(fixtures: Option<&Self>, mut own: ServerCapabilities) -> ServerCapabilities {
        if fixtures.is_some() {
            own.prompts = Some(Default::default());
        }
        own
    }

    /// The tools of a server, with those of the suite.
    pub(crate) fn beside(fixtures: Option<&Self>, mut own: Vec<Tool>) -> Vec<Tool> {
        if fixtures.is_some() {
            let names = PLAIN.into_iter().chain(FORMS).chain(ASKING).chain(TASKS);
            own.extend(names.map(|name| Tool::new(name, "Called by the conformance suite", schema(name))));
        }
        own
    }

    /// The person's replies, mapped to the fields of Rapport's forms: the suite fills in its own fields whatever form
    /// it gets.
    pub(crate) fn translated(fixtures: Option<&Self>, mut replies: InputResponses) -> InputResponses {
        if fixtures.is_some() {
            for reply in replies.values_mut().filter(|reply| reply["content"].is_object()) {
                reply["content"] = json!({ "words": reply["content"].to_string() });
            }
        }
        replies
    }

    pub(crate) fn prompts() -> ListPromptsResult {
        ListPromptsResult::with_all_items(vec![Prompt::new(
            PROMPT,
            Some("Read by the conformance suite"),
            None,
        )])
    }

    pub(crate) fn prompt(person: &PersonAtClient<'_>, name: &str) -> Result<GetPromptResponse, ErrorData> {
        if name != PROMPT {
            return Err(ErrorData::invalid_params(format!("there is no prompt {name:?}"), None));
        }
        if let Some(asks) = asks(person, name)? {
            return Ok(asks.into());
        }
        let words = received_replies(person);
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, words)]).into())
    }

    /// Carries out a call; `None` if it is not one of the suite's tools.
    pub(crate) async fn call(
        &self,
        person: &PersonAtClient<'_>,
        name: &str,
        arguments: &Value,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        Some(match name {
            _ if PLAIN.contains(&name) => Ok(plain(person, name, arguments).await),
            _ if FORMS.contains(&name) => fill_in(person, name, arguments).await.map(says),
            _ if TASKS.contains(&name) => self.task(person, name, arguments).await,
            _ if ASKING.contains(&name) => match asks(person, name) {
                Ok(Some(asks)) => Ok(asks.into()),
                Ok(None) if name == ASKING_TASK => self.task(person, name, &json!(person.replies)).await,
                Ok(None) => Ok(says(received_replies(person))),
                Err(error) => Err(error),
            },
            _ => return None,
        })
    }

    /// Runs a call as a session that the client follows as a task.
    async fn task(
        &self,
        person: &PersonAtClient<'_>,
        name: &str,
        arguments: &Value,
    ) -> Result<CallToolResponse, ErrorData> {
        if !capabilities(person).supports_tasks() {
            return match name {
                "slow_compute" => Ok(says(format!("computed {}", arguments["label"]))),
                _ => Err(missing(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }))),
            };
        }
        let begun = self.begin(person, name, arguments).await;
        let report = begun.map_err(|trouble| tasks::error(&trouble))?;
        let (server, by) = (person.server.clone(), person.person());
        tokio::spawn(agree(server, report.view.id.clone(), by));
        Ok(tasks::created(&report).into())
    }

    async fn begin(
        &self,
        person: &PersonAtClient<'_>,
        name: &str,
        arguments: &Value,
    ) -> Result<Report, ToolError> {
        let failed = |why: String| ToolError::new(ToolErrorKind::Failed, why);
        let script = self.scripts.join(format!("{}.json", Uuid::new_v4()));
        let (workers, task) = (person.server.setup().workers.clone(), name.to_owned());
        let (written, scenario) = (script.clone(), scenario(name, arguments).to_string());
        let made = tokio::task::spawn_blocking(move || {
            rapport_durable::replace(&written, scenario.as_bytes()).map_err(|error| error.to_string())?;
            (workers.new)(task, None, &Default::default())
        });
        let mut made: Created = made.await.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
        if let Some(agent) = &mut made.agent {
            // The settings name a scripted agent, whose last argument is its script.
            agent.command.pop();
            agent.command.push(script.display().to_string());
            if name == "protocol_error_job" {
                agent.command = vec![script.with_extension("missing").display().to_string()];
            }
        }
        start::begin(person, made, rapport_core::routing::Policy::Ask).await
    }
}

/// Confirms the plan of a session, as its person would.
async fn agree(server: Server, session: SessionId, by: By) {
    let mut changes = server.changes().subscribe();
    loop {
        let Ok(report) = server.report(&session).await else { return };
        let plan = report.view.questions.iter().find(|open| matches!(open.purpose, Purpose::Confirm));
        if let Some(plan) = plan {
            let act = Act::Answer { question: Some(plan.id.clone()), reply: Reply::Choices(vec![0]) };
            let agreed = server.sessions().act(&session, &by, &act).await;
            tracing::debug!(%session, ?agreed, "agreed to the plan");
            return;
        }
        if report.has_ended() || changed(&mut changes, &session).await.is_none() {
            return;
        }
    }
}

/// Waits until a session changes; `None` if the watch ended.
async fn changed(
    changes: &mut tokio::sync::broadcast::Receiver<SessionId>,
    session: &SessionId,
) -> Option<()> {
    loop {
        match changes.recv().await {
            Ok(changed) if changed == *session => return Some(()),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return Some(()),
            Err(RecvError::Closed) => return None,
        }
    }
}

/// What the agent of a task does.
fn scenario(name: &str, arguments: &Value) -> Value {
    let question = |text: &str| json!({ "question": text });
    let ask = |questions: Value| json!([{ "ask": { "questions": questions } }]);
    let steps = match name {
        "slow_compute" => json!([{ "delay": arguments["seconds"].as_u64().unwrap_or(0) * 1000 }]),
        "confirm_delete" => ask(json!([question(&format!("Delete {}?", arguments["filename"]))])),
        "multi_input" => ask(json!([question("Which name?"), question("Really?")])),
        _ => json!([]),
    };
    let plan = match name {
        "failing_job" => json!({ "steps": steps, "subtype": "error_during_execution", "is_error": true }),
        _ => json!({ "steps": steps, "result": format!("# {name}\n\n1. Do it.") }),
    };
    let work = json!({ "result": format!("Done: {arguments}") });
    json!({ "version": 1, "name": name, "invocations": [plan, work] })
}

async fn plain(person: &PersonAtClient<'_>, name: &str, arguments: &Value) -> CallToolResponse {
    match name {
        "greet" => says(format!("Hello, {}!", arguments["name"].as_str().unwrap_or_default())),
        "test_error_handling" => {
            CallToolResult::error(vec![ContentBlock::text("This tool fails on purpose.")]).into()
        }
        "test_tool_with_progress" => {
            if let Some(token) = person.context.meta.get_progress_token() {
                for done in [0.0, 50.0, 100.0] {
                    let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
                    // A client that disconnected does not need the progress.
                    let _ = person.context.peer.notify_progress(progress).await;
                }
            }
            says("There was progress.")
        }
        _ => says("This is a simple text."),
    }
}

/// Shows a form to the person at a client of the older protocol.
async fn fill_in(person: &PersonAtClient<'_>, name: &str, arguments: &Value) -> Result<String, ErrorData> {
    let one = |values: &[&str]| json!({ "type": "string", "enum": values });
    let titled = |titles: &[(&str, &str)]| {
        titles.iter().map(|(value, title)| json!({ "const": value, "title": title })).collect::<Vec<_>>()
    };
    let options = ["option1", "option2", "option3"];
    let values = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
    let properties = match name {
        "test_elicitation_sep1034_defaults" => json!({
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        }),
        "test_elicitation_sep1330_enums" => json!({
            "untitledSingle": one(&options),
            "titledSingle": { "type": "string", "oneOf": titled(&values) },
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": one(&options) },
            "titledMulti": { "type": "array", "items": { "anyOf": titled(&values) } },
        }),
        _ => json!({ "username": { "type": "string" }, "email": { "type": "string" } }),
    };
    let message = arguments["message"].as_str().unwrap_or("Please fill this in.");
    let request = elicitation(message, &properties)?;
    let options = PeerRequestOptions::no_options();
    let sent =
        person.context.peer.send_cancellable_request(ServerRequest::ElicitRequest(request), options).await;
    let sent = sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    match sent.rx.await {
        Ok(Ok(ClientResult::ElicitResult(result))) => Ok(format!("The person replied {}", json!(result))),
        other => Err(ErrorData::internal_error(format!("no reply: {other:?}"), None)),
    }
}

fn elicitation(message: &str, properties: &Value) -> Result<ElicitRequest, ErrorData> {
    let schema = json!({ "type": "object", "properties": properties });
    let request = json!({
        "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema },
    });
    serde_json::from_value(request).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// The inputs that a call asks for, round by round, by their names.
fn rounds(name: &str) -> Vec<Vec<(&'static str, Value)>> {
    let form = |message: &str, field: &str, kind: &str| {
        let schema =
            json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
        json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
    };
    let sample = |text: &str| {
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
    };
    let named = ("user_name", form("What is your name?", "name", "string"));
    let capital = ("capital_question", sample("What is the capital of France?"));
    let roots = ("client_roots", json!({ "method": "roots/list", "params": {} }));
    match name {
        "test_input_required_result_sampling" | "test_missing_capability" => vec![vec![capital]],
        "test_input_required_result_list_roots" => vec![vec![roots]],
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            vec![vec![("confirm", form("Please confirm", "ok", "boolean"))]]
        }
        "test_input_required_result_multiple_inputs" => {
            vec![vec![named, ("greeting", sample("Greet somebody")), roots]]
        }
        "test_input_required_result_multi_round" => vec![
            vec![("step1", form("What is your name?", "name", "string"))],
            vec![("step2", form("Which colour?", "color", "string"))],
        ],
        "test_input_required_result_capabilities" => vec![vec![named, capital]],
        PROMPT => vec![vec![("user_context", form("In which context?", "context", "string"))]],
        _ => vec![vec![named]],
    }
}

/// The inputs that a call asks for now; `None` if it has all. A client is asked only for what it declared.
fn asks(person: &PersonAtClient<'_>, name: &str) -> Result<Option<InputRequiredResult>, ErrorData> {
    let rounds = rounds(name);
    let asked = usize::try_from(person.round).ok().and_then(|round| rounds.get(round));
    let has_all = asked.is_some_and(|asked| {
        asked.iter().all(|(key, request)| person.replies.get(*key).is_some_and(|reply| fits(request, reply)))
    });
    let round = if has_all { person.round + 1 } else { person.round };
    let Some(next) = usize::try_from(round).ok().and_then(|round| rounds.get(round)) else { return Ok(None) };
    let declared = capabilities(person);
    let possible = next.iter().filter(|(_, request)| is_declared(&declared, request));
    let requests: InputRequests = possible
        .filter_map(|(key, request)| {
            Some(((*key).to_owned(), serde_json::from_value::<InputRequest>(request.clone()).ok()?))
        })
        .collect();
    if requests.is_empty() {
        return Err(missing(json!({ "sampling": {} })));
    }
    Ok(Some(InputRequiredResult::new(Some(requests), Some(person.server.seal().seal(round)))))
}

/// Whether a reply has the shape that its request demands.
fn fits(request: &Value, reply: &Value) -> bool {
    match request["method"].as_str() {
        Some("elicitation/create") => serde_json::from_value::<ElicitResult>(reply.clone())
            .is_ok_and(|result| result.action == ElicitationAction::Accept),
        Some("roots/list") => reply["roots"].is_array(),
        _ => reply["role"].is_string(),
    }
}

fn is_declared(client: &ClientCapabilities, request: &Value) -> bool {
    match request["method"].as_str() {
        Some("elicitation/create") => client.elicitation.is_some(),
        Some("roots/list") => client.roots.is_some(),
        _ => client.sampling.is_some(),
    }
}

fn capabilities(person: &PersonAtClient<'_>) -> ClientCapabilities {
    person.context.client_capabilities().unwrap_or_default()
}

fn missing(required: Value) -> ErrorData {
    let required = serde_json::from_value(required).unwrap_or_default();
    ErrorData::missing_required_client_capability(required)
}

fn received_replies(person: &PersonAtClient<'_>) -> String {
    format!("state-ok: {}", json!(person.replies))
}

fn says(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// The input schema of a tool: any object, except for the one tool whose schema has to arrive unchanged.
fn schema(name: &str) -> JsonObject {
    let schema = match name {
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": {
                "$anchor": "addressDef", "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            } },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }),
        _ => json!({ "type": "object" }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}
