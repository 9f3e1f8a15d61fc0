//! Which settings a project's own file may set. Somebody who clones a project has not read its settings, so those that
//! name programs, servers, secrets, variables or people, and those that relax what is asked, take effect only if the
//! person trusts the project.

use std::path::{Path, PathBuf};

use super::layer::{AgentLayer, ContextLayer, ExecutionLayer, Layer, QuestionsLayer, RoundsLayer};
use super::planner::PlannerLayer;
use super::telegram::TelegramLayer;
use super::worker::{WorkerLayer, WorkerName};

/// Removes the settings that only the person may set, and names them. This is the only place that decides it.
pub(super) fn set_aside(project: &mut Layer, home: &Layer) -> Vec<&'static str> {
    // Without "..", so that whoever adds a setting has to decide whether a project may set it.
    let Layer {
        agent,
        rounds,
        questions,
        planner,
        telegram,
        preview_command,
        research_command,
        worker,
        context,
        execution,
        terminal: _,
        trusted,
    } = project;
    let AgentLayer { name, command, hot: _, silence: _, permission_mode, channel, env } = agent;
    let PlannerLayer { via, model: _, base_url, timeout: _, api_key } = planner;
    let RoundsLayer { max } = rounds;
    let QuestionsLayer { expire } = questions;
    let ContextLayer { max_file_bytes: _, max_tokens } = context;
    let ExecutionLayer { timeout: _, env: commands } = execution;
    let WorkerLayer { kind, network, allow } = worker;
    // A project may ask for a stricter worker, not for a weaker one.
    let is_torn_down = home.worker.kind.is_some_and(WorkerName::is_wall);
    let kind = kind.take_if(|kind| is_torn_down && !kind.is_wall());
    let said = [
        ("agent.name", name.take().is_some()),
        ("agent.command", command.take().is_some()),
        ("agent.permission_mode", permission_mode.take().is_some()),
        ("agent.channel", channel.take().is_some()),
        ("agent.env", env.take().is_some()),
        ("rounds.max", max.take().is_some()),
        ("questions.expire", expire.take().is_some()),
        ("context.max_tokens", max_tokens.take().is_some()),
        ("planner.via", via.take().is_some()),
        ("planner.base_url", base_url.take().is_some()),
        ("planner.api_key", api_key.take().is_some()),
        ("telegram", std::mem::take(telegram) != TelegramLayer::default()),
        ("preview_command", preview_command.take().is_some()),
        ("research_command", research_command.take().is_some()),
        ("worker", kind.is_some()),
        ("worker.network", network.take().is_some()),
        ("worker.allow", allow.take().is_some()),
        ("execution.env", commands.take().is_some()),
        ("trusted", trusted.take().is_some()),
    ];
    said.into_iter().filter(|(_, is_said)| *is_said).map(|(name, _)| name).collect()
}

/// Whether one of these directories is the project's. `~` stands for the person's home.
pub(super) fn is_listed(trusted: &[PathBuf], project: &Path, home: Option<&str>) -> bool {
    let whole = |path: &PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.clone(),
    };
    let Ok(project) = project.canonicalize() else { return false };
    trusted.iter().map(whole).any(|path| path.canonicalize().is_ok_and(|path| path == project))
}

/// The warning for the person.
pub(super) fn warning(names: &[&str], file: &Path) -> String {
    let (what, verb) = match names {
        [one] => ((*one).to_owned(), "is"),
        [more @ .., last] => (format!("{} and {last}", more.join(", ")), "are"),
        [] => ("nothing".to_owned(), "is"),
    };
    format!(
        "{what} in {} {verb} ignored: a project may not set that by itself\n  \
         Look at what it brings, and decide whether to trust it: rapport trust",
        file.display(),
    )
}
