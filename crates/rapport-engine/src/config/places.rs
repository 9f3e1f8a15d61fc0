//! Locates Rapport's home, and the project of a directory.

use std::path::{Path, PathBuf};

/// Rapport's home: `$RAPPORT_HOME`, else `$RELAY_DIR`, else `~/.rapport`. `None` if there is no `$HOME` either.
pub fn home(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named =
        ["RAPPORT_HOME", "RELAY_DIR"].iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    let named = named.map(PathBuf::from);
    named
        .or_else(|| env("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".rapport")))
}

/// The project of a directory: the nearest parent that Rapport or git knows, else the directory itself. Rapport's own
/// home is not a project. The worktree of a session belongs to the session's project, because it is removed with
/// everything in it.
pub fn project(directory: &Path, home: &Path) -> PathBuf {
    let outer = directory.ancestors().find_map(around_worktree);
    let directory = outer.as_deref().unwrap_or(directory);
    let known = |dir: &&Path| {
        [".rapport", ".teddy"]
            .iter()
            .map(|name| dir.join(name))
            .any(|folder| folder.is_dir() && folder != home)
            || dir.join(".git").exists()
    };
    directory.ancestors().find(known).unwrap_or(directory).to_owned()
}

/// The project that has this directory as the worktree of a session.
fn around_worktree(directory: &Path) -> Option<PathBuf> {
    let worktrees = directory.parent().filter(|folder| folder.ends_with("worktrees"))?;
    let ours =
        worktrees.parent().filter(|folder| folder.ends_with(".rapport") || folder.ends_with(".teddy"))?;
    let session = ours.join("sessions").join(directory.file_name()?);
    session.is_dir().then(|| ours.parent().map(Path::to_owned))?
}

/// The first symbolic link among Rapport's paths in a project that leads out of it. It came with the project.
pub fn link_outward(project: &Path) -> Option<PathBuf> {
    let real = project.canonicalize().ok()?;
    let leads_out = |path: &PathBuf| {
        let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        is_link && !path.canonicalize().is_ok_and(|target| target.starts_with(&real))
    };
    [".rapport", ".teddy"].iter().map(|name| project.join(name)).find_map(|folder| {
        if leads_out(&folder) {
            return Some(folder);
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).find(leads_out)
    })
}

/// Rapport's directory in a project. That of an older tool is used if it exists.
pub(super) fn rapport_folder(project: &Path) -> PathBuf {
    let (ours, older) = (project.join(".rapport"), project.join(".teddy"));
    if !ours.exists() && older.is_dir() { older } else { ours }
}
