//! Finds what an interrupted `rapport branch` left behind: worktrees, with the files beside them, and reserved names
//! that no session uses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rapport_core::SessionId;

use super::screen::word;
use crate::config;
use crate::stores::blocking::wait;
use crate::wiring::{SessionKind, Workspace};
use crate::workers::{self, worktrees};

/// What no session uses. The worktree of a branch that is just being made looks the same.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    pub(super) worktrees: Vec<PathBuf>,
    /// Reserved names whose sessions were never created.
    pub(super) names: Vec<SessionId>,
}

impl Leftovers {
    /// Finds them. What cannot be read is left out, because it may be in use.
    pub(super) fn find(place: &Workspace) -> Self {
        let Some(sessions) = sessions(place) else { return Self::default() };
        let inside = workers::prefix(&place.project).unwrap_or_default();
        let is_used = |name: &str, root: &Path| {
            let there = Workspace { project: root.join(&inside), ..place.clone() };
            sessions.contains(name)
                || sessions.contains(worktrees::session_of(name))
                || self::sessions(&there).is_none_or(|sessions| !sessions.is_empty())
        };
        let all = folders(&config::worktrees(&place.project)).into_iter();
        let unused = all.filter(|(name, path)| !is_used(name, path));
        let names = wait(place.store_in(&SessionKind::Sessions).unfilled()).unwrap_or_default();
        Self { worktrees: unused.map(|(_, path)| path).collect(), names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.worktrees.is_empty() && self.names.is_empty()
    }

    /// The commands that remove them.
    pub(super) fn removal(&self, place: &Workspace) -> Vec<String> {
        let remove = |path: &&PathBuf| format!("rm -r {}", word(&path.display().to_string()));
        let project = word(&place.project.display().to_string());
        // The worktree of a reserved name is removed with it.
        let is_named = |path: &&PathBuf| self.names.iter().any(|name| path.ends_with(name.as_str()));
        let unnamed: Vec<_> = self.worktrees.iter().filter(|path| !is_named(path)).collect();
        let worktrees = unnamed.iter().map(remove);
        let prune = (!unnamed.is_empty()).then(|| format!("git -C {project} worktree prune"));
        let names = self.names.iter().map(|id| format!("rapport discard {id} --project {project}"));
        worktrees.chain(prune).chain(names).collect()
    }
}

/// The names of all sessions of a project; `None` if they cannot be read.
fn sessions(place: &Workspace) -> Option<BTreeSet<String>> {
    let listed = place.store().list().ok()?;
    let documented = place.folders().ok()?.into_iter().map(|folder| folder.id);
    Some(listed.into_iter().chain(documented).map(|id| id.to_string()).collect())
}

/// The directories in a directory, sorted by name.
fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let named = folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    let mut all: Vec<_> = named.collect();
    all.sort_unstable();
    all
}
