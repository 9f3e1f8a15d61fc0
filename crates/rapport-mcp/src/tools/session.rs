//! `claude_code_start`, `claude_code_say`, `claude_code_status` and `claude_code_cancel`: a lead starts an agent with
//! what is known about its project, and steers it.

use std::path::{Component, Path};

use rapport_core::{Act, Assignment, By, Created, Enrichment};
use rapport_door::LimitWish;
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{project, start, status};
use crate::person::PersonAtClient;
use crate::server::{Server, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};
use crate::{ids, words};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionArguments {
    project: String,
    prompt: String,
    context: Option<GivenContext>,
    working_dir: Option<String>,
    #[serde(default)]
    worktree: bool,
}

/// The context that a lead adds to the task.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GivenContext {
    original_task: Option<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    requirements: Vec<String>,
    #[serde(default)]
    answers: Vec<GivenAnswer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenAnswer {
    question: String,
    answer: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SayArguments {
    session_id: String,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StateArguments {
    session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CancelArguments {
    session_id: String,
    reason: Option<String>,
}

/// Starts an agent with an enriched task, and returns at once (LEAD-24).
pub(crate) async fn start(
    person: &PersonAtClient<'_>,
    arguments: SessionArguments,
) -> Result<ToolReply, ToolError> {
    let PersonAtClient { server, lead, .. } = *person;
    let setup = server.setup().clone();
    if arguments.prompt.trim().is_empty() {
        return Err(ToolError::invalid("prompt: say what to do"));
    }
    let named = project::named(server, Some(&arguments.project)).await?;
    let path = server.projects().resolve(&named).await?;
    let context = server.projects().load(&named).await?.context;
    let given = arguments.context.unwrap_or_default();
    let mut enrichment = Enrichment {
        notes: given.notes,
        requirements: given.requirements,
        answers: given.answers.into_iter().map(|one| (one.question, one.answer)).collect(),
    };
    if let Some(directory) = arguments.working_dir.as_deref() {
        enrichment.notes.push(format!("Work in {}", inside(&path, directory)?));
    }
    let task = enrichment.prompt(&arguments.prompt, Some(&context));
    let worker = arguments.worktree.then_some("worktree");
    let questions = setup.questions;
    let made = spawn_blocking(move || -> Result<_, ToolError> {
        start::refuse_elsewhere(&setup.project, path.to_str(), "project")?;
        (setup.workers.new)(task, worker, &LimitWish::default())
            .map_err(|why| ToolError::new(ToolErrorKind::Invalid, why))
    });
    let made = made.await.map_err(|error| ToolError::new(ToolErrorKind::Failed, error.to_string()))??;
    // LEAD-30: people who answer a question later see the context with which the work started.
    let assignment = Assignment {
        description: Some(words::shorten(given.original_task.as_deref().unwrap_or(&arguments.prompt))),
        original_task: Some(given.original_task.unwrap_or(arguments.prompt)),
        context: enrichment.context(Some(&context)),
        requirements: enrichment.numbered(),
        ..Assignment::default()
    };
    let report = start::begin(person, Created { assignment: Some(assignment), ..made }, questions).await?;
    server.note_told(lead, &report);
    let id = &report.view.id;
    let text = format!(
        "Claude Code session {id} started in {}.\n{}Call next: wait {}\n",
        context.name,
        words::report(&report, false),
        json!({ "taskId": report.task_id() })
    );
    Ok(ToolReply { text, data: report.data() })
}

/// A directory of a project, relative to the project. A path that leads out of the project is refused.
fn inside(project: &Path, directory: &str) -> Result<String, ToolError> {
    let path = Path::new(directory.trim());
    let path = path.strip_prefix(project).unwrap_or(path);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    match is_plain {
        true => Ok(path.display().to_string()),
        false => {
            Err(ToolError::invalid(format!("workingDir: {directory:?} is not a directory of the project")))
        }
    }
}

/// Sends a message to the agent of a session.
pub(crate) async fn say(server: &Server, lead: &By, arguments: SayArguments) -> Result<ToolReply, ToolError> {
    if arguments.message.trim().is_empty() {
        return Err(ToolError::invalid("message: there is nothing in it"));
    }
    let act = Act::Say { text: arguments.message, id: None };
    done(server, lead, &arguments.session_id, &act, "said").await
}

/// The state of a session, or of all recent ones.
pub(crate) async fn state(
    server: &Server,
    lead: &By,
    arguments: StateArguments,
) -> Result<ToolReply, ToolError> {
    status::status(server, lead, status::StatusArguments::of(arguments.session_id)).await
}

/// Ends a session.
pub(crate) async fn cancel(
    server: &Server,
    lead: &By,
    arguments: CancelArguments,
) -> Result<ToolReply, ToolError> {
    let act = Act::Cancel { reason: arguments.reason };
    done(server, lead, &arguments.session_id, &act, "cancelled").await
}

/// Carries out an act of a lead in a session that a lead started, and reports its state.
async fn done(
    server: &Server,
    lead: &By,
    named: &str,
    act: &Act,
    what: &str,
) -> Result<ToolReply, ToolError> {
    let id = ids::session(named)?;
    let before = server.report(&id).await?;
    before.refuse_foreign()?;
    let acted = server.sessions().act(&id, lead, act).await;
    let after = server.report(&id).await?;
    acted.map_err(|error| ToolError::from(error).about(after.data()))?;
    server.note_told(lead, &after);
    let text = format!("{what}: {id}\n{}", words::report(&after, false));
    Ok(ToolReply { text, data: after.data() })
}
