//! `task_worker`: starts a worker.

use std::path::Path;

use rapport_core::{By, Created, Origin};
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::report::Report;
use crate::server::{Server, Told};
use crate::trouble::{Trouble, TroubleKind};
use crate::{CHANNEL, words};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartArguments {
    task: String,
    work_folder: Option<String>,
    worker: Option<String>,
}

/// Starts a worker, and returns at once.
pub(crate) async fn start(server: &Server, lead: &By, arguments: StartArguments) -> Result<Told, Trouble> {
    let setup = server.setup().clone();
    let StartArguments { task, work_folder, worker } = arguments;
    // Looks at the project's repository.
    let made = spawn_blocking(move || {
        refuse_elsewhere(&setup.project, work_folder.as_deref(), "workFolder")?;
        (setup.workers.new)(task, worker.as_deref()).map_err(|why| Trouble::new(TroubleKind::Invalid, why))
    });
    let made = made.await.map_err(|error| Trouble::new(TroubleKind::Failed, error.to_string()))??;
    let By::Lead { name } = lead else {
        return Err(Trouble::new(TroubleKind::NeedsPerson, "only a lead starts workers over MCP"));
    };
    let mut created = Created {
        by: lead.clone(),
        origin: Some(Origin { channel: CHANNEL.into(), key: name.clone() }),
        ..made
    };
    created.terms.apply = server.setup().apply;
    let id = server.sessions().create(created, None).await?;
    let report = Report::of(server.sessions(), &id).await?;
    server.note_told(lead, &report);
    let text = format!(
        "{}Call next: wait {}\n",
        words::report(&report, false),
        json!({ "taskId": report.task_id() })
    );
    Ok(Told { text, data: report.data() })
}

/// Refuses a directory that is not the project's. Blocks.
pub(super) fn refuse_elsewhere(project: &Path, named: Option<&str>, what: &str) -> Result<(), Trouble> {
    let Some(named) = named else { return Ok(()) };
    let found = project
        .join(named)
        .canonicalize()
        .map_err(|error| Trouble::invalid(format!("{what}: cannot use {named:?}: {error}")))?;
    if project.canonicalize().is_ok_and(|project| project == found) {
        return Ok(());
    }
    Err(Trouble::invalid(format!(
        "{what}: this server works in {}, not in {named:?}. The person can add a server for that directory: rapport mcp --project DIR",
        project.display()
    )))
}
