//! `project_context`: what is known about a project, for a lead that plans work there.

use std::path::Path;

use rapport_core::{By, LearningKind, Stale};
use rapport_door::{ContextUpdate, KnownProject, LoadedProject, ProjectError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Server, ToolReply};
use crate::tool_error::{ToolError, ToolErrorKind};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectArguments {
    project: Option<String>,
    action: ProjectAction,
    path: Option<String>,
    #[serde(default)]
    force_refresh: bool,
    #[serde(default)]
    preferences: Vec<String>,
    #[serde(default)]
    conventions: Vec<String>,
    session_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProjectAction {
    Load,
    Explore,
    Update,
    List,
}

/// Loads, explores, updates or lists what is known (LEAD-23).
pub(crate) async fn context(
    server: &Server,
    lead: &By,
    arguments: ProjectArguments,
) -> Result<ToolReply, ToolError> {
    let projects = server.projects();
    if arguments.action == ProjectAction::List {
        return Ok(listed(&projects.list().await?));
    }
    let project = named(server, arguments.path.as_deref().or(arguments.project.as_deref())).await?;
    match arguments.action {
        ProjectAction::List => Ok(listed(&projects.list().await?)),
        ProjectAction::Explore => Ok(project_reply("explored", &projects.explore(&project).await?)),
        ProjectAction::Load => {
            let loaded = projects.load(&project).await?;
            match &loaded.stale {
                _ if arguments.force_refresh => {
                    Ok(project_reply("explored", &projects.explore(&project).await?))
                }
                Some(Stale::NeverExplored) => Ok(project_reply("needs_exploring", &loaded)),
                Some(_) => Ok(project_reply("stale", &loaded)),
                None => Ok(project_reply("loaded", &loaded)),
            }
        }
        ProjectAction::Update => {
            let preferences = arguments.preferences.into_iter().map(|text| (LearningKind::Preference, text));
            let conventions = arguments.conventions.into_iter().map(|text| (LearningKind::Convention, text));
            let learnings: Vec<_> = preferences.chain(conventions).collect();
            if learnings.is_empty() {
                return Err(ToolError::invalid(
                    "update: give preferences or conventions, each as a short text",
                ));
            }
            let update = ContextUpdate { learnings, from: arguments.session_id };
            Ok(project_reply("proposed", &projects.update(&project, lead, &update).await?))
        }
    }
}

/// The project that a lead names: this server's own, or one that the person made known. A model may not read any
/// other directory.
pub(super) async fn named(server: &Server, named: Option<&str>) -> Result<String, ToolError> {
    let setup = server.setup();
    let own = setup.project.display().to_string();
    let Some(named) = named.map(str::trim).filter(|named| !named.is_empty() && *named != ".") else {
        return Ok(own);
    };
    let known = server.projects().list().await?;
    if known.iter().any(|one| one.name == named || one.path == named) {
        return Ok(named.to_owned());
    }
    if named == own || setup.project.file_name().is_some_and(|name| name == named) {
        return Ok(own);
    }
    // The name may be that of a directory in one of the places that the person configured.
    if !Path::new(named).is_absolute() {
        return Ok(named.to_owned());
    }
    Err(ToolError::new(
        ToolErrorKind::NeedsPerson,
        format!(
            "{named:?} is not a project that the person made known. They can with: rapport project add NAME DIR"
        ),
    ))
}

fn listed(all: &[KnownProject]) -> ToolReply {
    let line = |one: &KnownProject| {
        let state = match (&one.problem, one.is_missing, &one.stale) {
            (Some(problem), _, _) => format!(" (cannot be read: {problem})"),
            (None, true, _) => " (its directory is gone)".to_owned(),
            (None, false, Some(stale)) => format!(" ({stale})"),
            (None, false, None) => String::new(),
        };
        format!("{}  {}{state}", one.name, one.path)
    };
    let lines: Vec<_> = all.iter().map(line).collect();
    let text = match lines.is_empty() {
        true => "No project is known yet. Explore this server's own with the action explore.".to_owned(),
        false => lines.join("\n"),
    };
    ToolReply { text, data: json!({ "success": true, "status": "listed", "projects": all }) }
}

fn project_reply(status: &str, loaded: &LoadedProject) -> ToolReply {
    let context = &loaded.context;
    let mut lines = vec![format!("{} ({status})", context.name)];
    match status {
        "needs_exploring" => {
            lines.push("Nothing is known about it yet. Call project_context with the action explore.".into());
        }
        _ => {
            let stale = loaded.stale.as_ref();
            lines.extend(stale.map(|why| format!("This may no longer hold: {why}. Explore it again.")));
            lines.extend(context.bullets().into_iter().map(|line| format!("- {line}")));
            // Preferences are listed with their ids, because an answer can cite one as its ground.
            let preferences = context.preferences.iter();
            lines.extend(preferences.map(|one| format!("Ground preference:{}: {}", one.id, one.text)));
        }
    }
    if loaded.is_missing {
        lines.push(
            "Its directory is gone. The person can say where it is with: rapport project add NAME DIR".into(),
        );
    }
    if status == "proposed" {
        lines.push("What you proposed holds once the person consents: rapport project learn".into());
    }
    lines.extend(loaded.remarks.iter().map(|remark| format!("Note: {remark}")));
    let mut data = serde_json::to_value(loaded).unwrap_or(Value::Null);
    data["success"] = json!(true);
    data["status"] = json!(status);
    data["needsExploring"] = json!(loaded.stale.is_some());
    ToolReply { text: lines.join("\n"), data }
}

impl From<ProjectError> for ToolError {
    fn from(error: ProjectError) -> Self {
        let kind = match &error {
            ProjectError::Unknown { .. } | ProjectError::NoLearning { .. } | ProjectError::Missing { .. } => {
                ToolErrorKind::Unknown
            }
            ProjectError::Wrong(_) | ProjectError::Taken { .. } => ToolErrorKind::Invalid,
            ProjectError::NeedsPerson(_) | ProjectError::Forbidden(_) => ToolErrorKind::NeedsPerson,
            ProjectError::Broken { .. }
            | ProjectError::Newer { .. }
            | ProjectError::Io { .. }
            | ProjectError::Failed(_) => ToolErrorKind::Failed,
        };
        let trouble = Self::new(kind, error.to_string());
        match error {
            ProjectError::Unknown { known, .. } if !known.is_empty() => {
                trouble.and(&format!("There are: {}", known.join(", ")))
            }
            _ => trouble,
        }
    }
}
