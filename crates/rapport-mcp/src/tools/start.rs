//! `task_worker`: starts a worker.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_core::routing::Policy;
use rapport_core::{Assignment, By, Created, Origin, SessionId};
use rapport_door::LimitWish;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::person::PersonAtClient;
use crate::report::Report;
use crate::server::{ToolOutcome, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{CHANNEL, ids, tasks, templates, words};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartArguments {
    /// It may be left out if a template is named.
    task: Option<String>,
    task_description: Option<String>,
    work_folder: Option<String>,
    worker: Option<String>,
    questions: Option<Policy>,
    parent_task_id: Option<String>,
    return_mode: Option<ReturnMode>,
    template: Option<String>,
    #[serde(default)]
    blanks: BTreeMap<String, String>,
    container_config: Option<ContainerConfig>,
}

/// The limits of a worker's container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContainerConfig {
    memory: Option<String>,
    cpus: Option<Value>,
    timeout: Option<u64>,
}

impl ContainerConfig {
    fn wish(self) -> LimitWish {
        let cpus = self.cpus.map(|cpus| cpus.as_str().map_or_else(|| cpus.to_string(), str::to_owned));
        LimitWish { memory: self.memory, cpus, idle_ms: self.timeout }
    }
}

/// How much of the result the lead wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReturnMode {
    Summary,
    Full,
}

/// Starts a worker, and returns at once. If its questions are for the person, a client that follows tasks gets the
/// worker as a task.
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
        description: arguments.task_description.filter(|about| !about.trim().is_empty()),
        in_short: arguments.return_mode == Some(ReturnMode::Summary),
        template: template.clone(),
        ..Assignment::default()
    };
    if template.is_none() && !blanks.is_empty() {
        return Err(ToolError::invalid("blanks: they are filled in where a template is named"));
    }
    if template.is_none() && task.is_none() {
        return Err(ToolError::invalid("task: it may be left out only where a template is named"));
    }
    // It reads the project's repository, which blocks.
    let made = spawn_blocking(move || -> Result<_, ToolError> {
        refuse_elsewhere(&setup.project, work_folder.as_deref(), "workFolder")?;
        let task = match template {
            Some(name) => templates::task(&setup.project, &name, task.as_deref(), &blanks)?,
            None => task.unwrap_or_default(),
        };
        let made = (setup.workers.new)(task, worker.as_deref(), &wish)
            .map_err(|why| ToolError::new(ToolErrorKind::Invalid, why))?;
        let warnings = (setup.workers.warnings)(&made.worker);
        Ok((made, warnings))
    });
    let (made, warnings) =
        made.await.map_err(|error| ToolError::new(ToolErrorKind::Failed, error.to_string()))??;
    let assignment = Some(assignment).filter(|assignment| *assignment != Assignment::default());
    let report = begin(person, Created { assignment, ..made }, questions).await?;
    if questions == Policy::Ask && person.follows_tasks() {
        return Ok(ToolOutcome::Task(tasks::created(&report)));
    }
    server.note_told(lead, &report);
    let mut text = words::report(&report, false);
    for warning in &warnings {
        text = format!("{text}Warning: {warning}\n");
    }
    let text = format!("{text}Call next: wait {}\n", json!({ "taskId": report.task_id() }));
    let mut data = report.data();
    if !warnings.is_empty() {
        data["warnings"] = json!(warnings);
    }
    Ok(ToolOutcome::Replied(ToolReply { text, data }))
}

/// Starts a session on behalf of the client's model.
pub(crate) async fn begin(
    person: &PersonAtClient<'_>,
    made: Created,
    questions: Policy,
) -> Result<Report, ToolError> {
    let PersonAtClient { server, lead, .. } = *person;
    let By::Lead { name } = lead else {
        return Err(ToolError::new(ToolErrorKind::NeedsPerson, "only a lead starts workers over MCP"));
    };
    let origin = Some(Origin { channel: CHANNEL.into(), key: name.clone() });
    let mut created = Created { by: lead.clone(), origin, ..made };
    created.terms.apply = server.setup().apply;
    created.terms.questions = questions;
    created.lead = server.setup().lead.clone();
    let id = server.sessions().create(created, None).await?;
    server.report(&id).await
}

/// The task of which a new one is a part. A lead has to have started it.
async fn parent(person: &PersonAtClient<'_>, named: Option<&str>) -> Result<Option<SessionId>, ToolError> {
    let Some(named) = named else { return Ok(None) };
    let report = person.server.report(&ids::session(named)?).await?;
    report.refuse_foreign()?;
    Ok(Some(report.view.id))
}

/// Who answers what a worker asks. A lead may leave questions to the person, but may not take them from the person.
fn answerer(set: Policy, wanted: Option<Policy>) -> Result<Policy, ToolError> {
    match wanted {
        Some(wanted) if !wanted.is_within(set) && set == Policy::Ask => Err(ToolError::invalid(
            "questions: the person answers what workers ask here. They can change that with: rapport mcp --questions lead",
        )),
        Some(wanted) if !wanted.is_within(set) => {
            Err(ToolError::invalid(format!("questions: the person allows {} here, and not more", set.word())))
        }
        wanted => Ok(wanted.unwrap_or(set)),
    }
}

/// Refuses a directory outside of the project. Blocks.
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
