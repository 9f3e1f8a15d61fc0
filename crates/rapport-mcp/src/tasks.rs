//! Workers as tasks of the protocol (its extension `io.modelcontextprotocol/tasks`): the client polls a task, and shows the person what
//! the worker asks. A task is a session and nothing else; every state of it is read from the log, whichever server began it.
//!
//! A task ends once. The session may go on after that (a revision, another attempt); the task keeps the result that it ended with.

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

/// What a client gets instead of a result, when it begins a task.
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
    // The server that ran it may be gone.
    resumption::one(person.server.sessions(), &report).await;
    let dialogs = person.dialogs(&report);
    let payload = match dialogs.is_empty() {
        true => TaskPayload::Working,
        false => TaskPayload::InputRequired { input_requests: person::requests(dialogs) },
    };
    Ok(detailed(&report, payload))
}

/// Records what the person replied. Replies to what is not asked any more change nothing.
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

/// Cancels a task. One that has ended stays as it is.
pub(crate) async fn cancel(person: &PersonAtClient<'_>, named: &str) -> Result<(), ToolError> {
    let (report, ended) = find(person, named).await?;
    if ended.is_some() {
        return Ok(());
    }
    let act = Act::Cancel { reason: Some("the client cancelled the task".into()) };
    match person.server.sessions().act(&report.view.id, person.lead, &act).await {
        // It ended just now.
        Ok(_) | Err(DoorError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A task as it is, and as it ended, if it has.
async fn find(person: &PersonAtClient<'_>, named: &str) -> Result<(Report, Option<Report>), ToolError> {
    let (report, ended) = Report::with_end(person.server.sessions(), &ids::session(named)?).await?;
    match report.is_led() {
        true => Ok((report, ended)),
        // A session of somebody else is no task.
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

/// What a task ended with: what a call would have said, or that there is nothing to be said because no worker could begin.
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
        // It is made of JSON.
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// A failure as the protocol has it for requests that are no calls of tools.
pub(crate) fn error(trouble: &ToolError) -> ErrorData {
    let (message, data) = (trouble.message().to_owned(), Some(trouble.data()));
    match trouble.kind() {
        ToolErrorKind::Invalid | ToolErrorKind::Unknown => ErrorData::invalid_params(message, data),
        ToolErrorKind::NotNow | ToolErrorKind::NeedsPerson => ErrorData::invalid_request(message, data),
        ToolErrorKind::Failed => ErrorData::internal_error(message, data),
    }
}
