//! What a project's own file may say. Who clones a project has not read its settings, so those that name programs, servers,
//! secrets, variables or people, and those that loosen what is asked, count only where the person trusts the project.

use std::path::{Path, PathBuf};

use super::layer::{AgentLayer, ContextLayer, ExecutionLayer, Layer, QuestionsLayer, RoundsLayer};
use super::planner::PlannerLayer;
use super::telegram::TelegramLayer;
use super::worker::{WorkerLayer, WorkerName};

/// Takes out what only the person may say, and names it. This is the one place that decides it for every setting.
pub(super) fn set_aside(project: &mut Layer, home: &Layer) -> Vec<&'static str> {
    // Without "..", so that whoever adds a setting decides whether a project may say it.
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
    // A project may ask for more walls, not for fewer.
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

/// Whether one of these directories is the project's. `~` is the person's home, as they write it.
pub(super) fn is_listed(trusted: &[PathBuf], project: &Path, home: Option<&str>) -> bool {
    let whole = |path: &PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.clone(),
    };
    let Ok(project) = project.canonicalize() else { return false };
    trusted.iter().map(whole).any(|path| path.canonicalize().is_ok_and(|path| path == project))
}

/// How the person is told.
pub(super) fn warning(names: &[&str], file: &Path) -> String {
    let (what, verb) = match names {
        [one] => ((*one).to_owned(), "does"),
        [more @ .., last] => (format!("{} and {last}", more.join(", ")), "do"),
        [] => ("nothing".to_owned(), "does"),
    };
    format!(
        "{what} in {} {verb} not count: a project may not say that by itself\n  \
         Look at what it brings, and let it count if you trust it: rapport trust",
        file.display(),
    )
}
