//! What a project's own file may say. Who clones a project has not read its settings, so those that name programs, servers,
//! secrets, variables, permissions or who may answer do not count where the file came along with the project, unless the
//! person's own file trusts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::layer::{AgentLayer, Layer};
use super::planner::PlannerLayer;
use super::telegram::TelegramLayer;

/// How git says that it does not have a file.
const NOT_TRACKED: i32 = 1;

/// Takes out what only the person may say, and names it.
pub(super) fn set_aside(project: &mut Layer) -> Vec<&'static str> {
    // Without "..", so that whoever adds a setting decides whether a project may say it.
    let Layer {
        agent,
        rounds: _,
        questions: _,
        planner,
        telegram,
        preview_command,
        research_command,
        context: _,
        execution: _,
        trusted,
    } = project;
    let AgentLayer { command, hot: _, silence: _, permission_mode, channel: _, env } = agent;
    let PlannerLayer { via: _, model: _, base_url, timeout: _, api_key } = planner;
    let said = [
        ("agent.command", command.take().is_some()),
        ("agent.permission_mode", permission_mode.take().is_some()),
        ("agent.env", env.take().is_some()),
        ("planner.base_url", base_url.take().is_some()),
        ("planner.api_key", api_key.take().is_some()),
        ("telegram", std::mem::take(telegram) != TelegramLayer::default()),
        ("preview_command", preview_command.take().is_some()),
        ("research_command", research_command.take().is_some()),
        ("trusted", trusted.take().is_some()),
    ];
    said.into_iter().filter(|(_, is_said)| *is_said).map(|(name, _)| name).collect()
}

/// Whether a file came along with its project: git has it, or cannot say that it has not.
pub(super) fn came_along(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return true };
    if !folder.ancestors().any(|directory| directory.join(".git").exists()) {
        return false;
    }
    let mut git = Command::new("git");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(variable);
    }
    // Nothing that the repository names is started to find that out.
    git.current_dir(folder)
        .args(["-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"])
        .arg(name);
    let said = git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.map_or(true, |said| said.code() != Some(NOT_TRACKED))
}

/// Whether one of these directories is the project's. `~` is the person's home, as they write it.
pub(super) fn is_trusted(trusted: &[PathBuf], project: &Path, home: Option<&str>) -> bool {
    let whole = |path: &PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.clone(),
    };
    let Ok(project) = project.canonicalize() else { return false };
    trusted.iter().map(whole).any(|path| path.canonicalize().is_ok_and(|path| path == project))
}

/// How the person is told.
pub(super) fn warning(names: &[&str], file: &Path, project: &Path, home_file: &Path) -> Option<String> {
    let (what, verb) = match names {
        [] => return None,
        [one] => ((*one).to_owned(), "is"),
        [more @ .., last] => (format!("{} and {last}", more.join(", ")), "are"),
    };
    Some(format!(
        "{what} in {} {verb} passed over: it came with the project, which may not say that by itself\n  \
         If you trust it, add its directory to {}: trusted: [{:?}]",
        file.display(),
        home_file.display(),
        project.display().to_string(),
    ))
}
