//! `work_status` and `system_status`: the state of one task, of all, and of this server.

use std::collections::BTreeMap;

use rapport_core::{By, SessionId};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

use crate::report::Report;
use crate::server::{Server, ToolReply};
use crate::tool_error::ToolError;
use crate::{ids, templates, words};

/// The number of recent tasks to list. With thousands of them, reading all takes too long.
const LISTED: usize = 50;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StatusArguments {
    task_id: Option<String>,
    /// The task whose parts are listed.
    plan_id: Option<String>,
    #[serde(default)]
    show_details: bool,
}

impl StatusArguments {
    /// Arguments that ask for the state of this task, or of all.
    pub(super) fn of(task_id: Option<String>) -> Self {
        Self { task_id, plan_id: None, show_details: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoArguments {}

/// The state of a task, or of all recent ones.
pub(crate) async fn status(
    server: &Server,
    lead: &By,
    arguments: StatusArguments,
) -> Result<ToolReply, ToolError> {
    let plan = arguments.plan_id.as_deref().map(ids::session).transpose()?;
    let Some(named) = arguments.task_id else { return list(server, plan.as_ref()).await };
    let report = server.report(&ids::session(&named)?).await?;
    server.note_told(lead, &report);
    let (mut text, mut data) = (words::report(&report, arguments.show_details), report.data());
    if arguments.show_details {
        if let Some((result, _)) = report.result(true) {
            data["result"] = json!(result);
            data["resultIsShortened"] = json!(false);
        }
        let recent = recent(server).await?;
        let parts: Vec<_> = recent.iter().filter(|part| part.parent() == Some(&report.view.id)).collect();
        if !parts.is_empty() {
            let lines: Vec<_> = parts.iter().map(|part| words::line(part)).collect();
            text = format!("{text}Its parts:\n{}\n", lines.join("\n"));
        }
        data["parts"] = parts.iter().map(|part| part.task_id()).collect();
    }
    Ok(ToolReply { text, data })
}

/// The recent tasks, or those among them that are parts of this plan.
async fn list(server: &Server, plan: Option<&SessionId>) -> Result<ToolReply, ToolError> {
    let mut recent = recent(server).await?;
    recent.retain(|report| plan.is_none() || report.parent() == plan || Some(&report.view.id) == plan);
    let lines: Vec<_> = recent.iter().map(words::line).collect();
    let text = match lines.is_empty() {
        true => "There are no tasks yet. Start one with task_worker.".to_owned(),
        false => lines.join("\n"),
    };
    let tasks: Vec<Value> = recent.iter().map(Report::data).collect();
    Ok(ToolReply { text, data: json!({ "success": true, "tasks": tasks }) })
}

/// The recent tasks, the newest first. Those that cannot be read are left out.
pub(super) async fn recent(server: &Server) -> Result<Vec<Report>, ToolError> {
    let all = server.sessions().list().await?;
    let mut recent = Vec::new();
    for id in all.iter().rev().take(LISTED) {
        recent.extend(server.report(id).await.ok());
    }
    Ok(recent)
}

/// The state of this server, and the number of recent tasks by status.
pub(crate) async fn system(server: &Server) -> Result<ToolReply, ToolError> {
    let setup = server.setup();
    let recent = recent(server).await?;
    let mut counts = BTreeMap::<&str, usize>::new();
    for report in &recent {
        *counts.entry(report.status().word()).or_default() += 1;
    }
    let person = recent.iter().filter(|report| report.waits_for_person()).count();
    let running = recent.iter().filter(|report| report.has_process()).count();
    let project = setup.project.display().to_string();
    let at = setup.project.clone();
    let templates = spawn_blocking(move || templates::names(&at)).await.unwrap_or_default();
    let at_work: Map<String, Value> = recent
        .iter()
        .filter(|report| !report.has_ended())
        .map(|report| (report.task_id(), report.session_data()))
        .collect();
    let tasks: Vec<_> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let tasks = if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") };
    let text = format!(
        "Rapport {}\nProject: {project}\nWorkers: {}\nRecent tasks: {tasks}\nWorker processes: {running}\nWaiting for a person: {person}\n",
        setup.version, setup.workers.usual
    );
    let data = json!({
        "success": true, "version": setup.version, "project": project, "worker": setup.workers.usual,
        "tasks": counts, "workersRunning": running, "waitingForPerson": person,
        "containerSessions": at_work, "templates": templates,
    });
    Ok(ToolReply { text, data })
}
