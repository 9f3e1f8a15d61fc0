//! Workers as tasks of the protocol (its extension `io.modelcontextprotocol/tasks`): the client polls a task, and
//! shows the person what the worker asks. A task is a session: its state is read from the log, whichever server
//! started it.
//!
//! A task ends once. The session may continue after that (a revision, another attempt); the task keeps its first
//! result.

use rapport_core::Act;
use rapport_door::DoorError;
use rmcp::model::{
    CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, ErrorData, InputResponses, JsonObject,
    Task, TaskPayload,
};
use serde::Serialize;
use serde_json::Value;

use crate::person::{self, PersonAtClient};
use crate::report::{Report, TaskStatus};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{ids, resumption, words};

/// How long a client should wait before it asks again, in milliseconds.
const POLL: u64 = 2_000;

/// The result of a call that starts a task.
pub(crate) fn created(report: &Report) -> CreateTaskResult {
    let payload = TaskPayload::Working;
    CreateTaskResult::new(detailed(report, payload).task)
}

/// The state of a task.
pub(crate) async fn get(person: &PersonAtClient<'_>, named: &str) -> Result<DetailedTask, ToolError> {
    let (report, ended) = find(person, named).await?;
    if let Some(ended) = ended {
        let payload = result(&ended);
        return Ok(detailed(&ended, payload));
    }
    // The server that ran it may have ended.
    resumption::one(person.server.sessions(), &report).await;
    let dialogs = person.dialogs(&report);
    let payload = match dialogs.is_empty() {
        true => TaskPayload::Working,
        false => TaskPayload::InputRequired { input_requests: person::requests(dialogs) },
    };
    Ok(detailed(&report, payload))
}

/// Records what the person replied. Replies to questions that are no longer open change nothing.
pub(crate) async fn update(
    person: &PersonAtClient<'_>,
    named: &str,
    replies: &InputResponses,
) -> Result<(), ToolError> {
    let (report, _) = find(person, named).await?;
    let own = format!("{}/", report.view.id);
    for (key, reply) in replies.iter().filter(|(key, _)| key.starts_with(&own)) {
        person.settle(key, &person::read(reply)).await?;
    }
    Ok(())
}

/// Cancels a task. A task that has ended stays as it is.
pub(crate) async fn cancel(person: &PersonAtClient<'_>, named: &str) -> Result<(), ToolError> {
    let (report, ended) = find(person, named).await?;
    if ended.is_some() {
        return Ok(());
    }
    let act = Act::Cancel { reason: Some("the client cancelled the task".into()) };
    match person.server.sessions().act(&report.view.id, person.lead, &act).await {
        // The task ended just before.
        Ok(_) | Err(DoorError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A task as it is now, and as it was when it ended, if it has.
async fn find(person: &PersonAtClient<'_>, named: &str) -> Result<(Report, Option<Report>), ToolError> {
    let (server, id) = (person.server, ids::session(named)?);
    let (report, ended) = Report::with_end(server.sessions(), &id, &server.setup().clock).await?;
    match report.is_led() {
        true => Ok((report, ended)),
        // Only sessions that a lead started are tasks.
        false => Err(ToolError::new(ToolErrorKind::Unknown, format!("there is no task {named}"))),
    }
}

fn detailed(report: &Report, payload: TaskPayload) -> DetailedTask {
    let (view, status) = (&report.view, payload.status());
    let task = Task::new(report.task_id(), status, view.created_at.to_string(), view.updated_at.to_string())
        .with_poll_interval_ms(POLL)
        .with_status_message(words::line(report));
    DetailedTask::new(task, payload)
}

/// The result of a task: that of the call, or a failure if no worker could start.
fn result(ended: &Report) -> TaskPayload {
    let words = words::report(ended, false);
    if ended.failed_to_start() {
        let error = ErrorData::internal_error(words, Some(ended.data()));
        return TaskPayload::Failed { error: object(&error) };
    }
    let text = ContentBlock::text(words);
    let mut result = match ended.status() {
        TaskStatus::Cancelled => return TaskPayload::Cancelled,
        TaskStatus::Failed => CallToolResult::error(vec![text]),
        TaskStatus::Started | TaskStatus::Running | TaskStatus::NeedsInput | TaskStatus::Completed => {
            CallToolResult::success(vec![text])
        }
    };
    result.structured_content = Some(ended.data());
    TaskPayload::Completed { result: object(&result) }
}

fn object(of: &impl Serialize) -> JsonObject {
    match serde_json::to_value(of) {
        Ok(Value::Object(object)) => object,
        // It was made from JSON, so it can be converted.
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// An error as the protocol has it for requests that are not tool calls.
pub(crate) fn error(trouble: &ToolError) -> ErrorData {
    let (message, data) = (trouble.message().to_owned(), Some(trouble.data()));
    match trouble.kind() {
        ToolErrorKind::Invalid | ToolErrorKind::Unknown => ErrorData::invalid_params(message, data),
        ToolErrorKind::NotNow | ToolErrorKind::NeedsPerson => ErrorData::invalid_request(message, data),
        ToolErrorKind::Failed => ErrorData::internal_error(message, data),
    }
}
