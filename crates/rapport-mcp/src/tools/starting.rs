//! `task_worker`: starts a worker.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_core::{Assignment, By, Created, Decider, Origin, SessionId};
use rapport_door::ContainerWish;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::person::PersonAtClient;
use crate::report::Report;
use crate::server::{Told, ToolOutcome};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{CHANNEL, ids, tasks, templates, words};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartArguments {
    task: String,
    work_folder: Option<String>,
    worker: Option<String>,
    questions: Option<Decider>,
    parent_task_id: Option<String>,
    return_mode: Option<ReturnMode>,
    template: Option<String>,
    #[serde(default)]
    blanks: BTreeMap<String, String>,
    container_config: Option<ContainerConfig>,
}

/// What the container of a worker may use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContainerConfig {
    memory: Option<String>,
    cpus: Option<Value>,
    timeout: Option<u64>,
}

impl ContainerConfig {
    fn wish(self) -> ContainerWish {
        let cpus = self.cpus.map(|cpus| cpus.as_str().map_or_else(|| cpus.to_string(), str::to_owned));
        ContainerWish { memory: self.memory, cpus, idle_ms: self.timeout }
    }
}

/// How much of the result the lead wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReturnMode {
    Summary,
    Full,
}

/// Starts a worker, and returns at once. Where the person answers its questions, a client that follows tasks gets it as one.
pub(crate) async fn start(
    person: &PersonAtClient<'_>,
    arguments: StartArguments,
) -> Result<ToolOutcome, ToolError> {
    let PersonAtClient { server, lead, .. } = *person;
    let setup = server.setup().clone();
    let StartArguments { task, work_folder, worker, template, blanks, container_config, .. } = arguments;
    let wish = container_config.map(ContainerConfig::wish).unwrap_or_default();
    let questions = answerer(setup.questions, arguments.questions)?;
    let assignment = Assignment {
        parent: parent(person, arguments.parent_task_id.as_deref()).await?,
        in_short: arguments.return_mode == Some(ReturnMode::Summary),
        template: template.clone(),
    };
    if template.is_none() && !blanks.is_empty() {
        return Err(ToolError::invalid("blanks: they are filled in where a template is named"));
    }
    // Looks at the project's repository.
    let made = spawn_blocking(move || {
        refuse_elsewhere(&setup.project, work_folder.as_deref(), "workFolder")?;
        let task = match template {
            Some(name) => templates::task(&setup.project, &name, &task, &blanks)?,
            None => task,
        };
        (setup.workers.new)(task, worker.as_deref(), &wish)
            .map_err(|why| ToolError::new(ToolErrorKind::Invalid, why))
    });
    let made = made.await.map_err(|error| ToolError::new(ToolErrorKind::Failed, error.to_string()))??;
    let By::Lead { name } = lead else {
        return Err(ToolError::new(ToolErrorKind::NeedsPerson, "only a lead starts workers over MCP"));
    };
    let mut created = Created {
        by: lead.clone(),
        origin: Some(Origin { channel: CHANNEL.into(), key: name.clone() }),
        assignment: Some(assignment).filter(|assignment| *assignment != Assignment::default()),
        ..made
    };
    created.terms.apply = server.setup().apply;
    created.terms.questions = questions;
    let id = server.sessions().create(created, None).await?;
    let report = Report::of(server.sessions(), &id).await?;
    if questions == Decider::Person && person.follows_tasks() {
        return Ok(ToolOutcome::Task(tasks::created(&report)));
    }
    server.note_told(lead, &report);
    let text = format!(
        "{}Call next: wait {}\n",
        words::report(&report, false),
        json!({ "taskId": report.task_id() })
    );
    Ok(ToolOutcome::Told(Told { text, data: report.data() }))
}

/// The task that a new one is a part of: one that a lead began.
async fn parent(person: &PersonAtClient<'_>, named: Option<&str>) -> Result<Option<SessionId>, ToolError> {
    let Some(named) = named else { return Ok(None) };
    let report = Report::of(person.server.sessions(), &ids::session(named)?).await?;
    report.refuse_foreign()?;
    Ok(Some(report.view.id))
}

/// Who answers what a worker asks. A lead may leave it to the person, and may not take it from them.
fn answerer(set: Decider, wanted: Option<Decider>) -> Result<Decider, ToolError> {
    match (set, wanted) {
        (Decider::Person, Some(Decider::Lead)) => Err(ToolError::invalid(
            "questions: the person answers what workers ask here. They can change that with: rapport mcp --questions lead",
        )),
        (set, wanted) => Ok(wanted.unwrap_or(set)),
    }
}

/// Refuses a directory that is not the project's. Blocks.
pub(super) fn refuse_elsewhere(project: &Path, named: Option<&str>, what: &str) -> Result<(), ToolError> {
    let Some(named) = named else { return Ok(()) };
    let found = project
        .join(named)
        .canonicalize()
        .map_err(|error| ToolError::invalid(format!("{what}: cannot use {named:?}: {error}")))?;
    if project.canonicalize().is_ok_and(|project| project == found) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{what}: this server works in {}, not in {named:?}. The person can add a server for that directory: rapport mcp --project DIR",
        project.display()
    )))
}
