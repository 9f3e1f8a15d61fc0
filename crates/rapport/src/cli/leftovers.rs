//! What an interrupted `rapport branch` left behind: worktrees and reserved names that no session uses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::screen::word;
use crate::config;
use crate::stores::blocking::wait;
use crate::wiring::{Place, SessionKind};
use crate::workers::worktree;

/// What no session uses. A branch that is being made at this moment looks the same.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    pub(super) worktrees: Vec<PathBuf>,
    /// The directories of reserved names.
    pub(super) names: Vec<PathBuf>,
}

impl Leftovers {
    /// Looks for them. What cannot be read is left out.
    pub(super) fn find(place: &Place) -> Self {
        let sessions = sessions(place);
        let inside = worktree::prefix(&place.project).unwrap_or_default();
        let is_used = |name: &str, root: &Path| {
            let there = Place { project: root.join(&inside), ..place.clone() };
            sessions.contains(name) || !self::sessions(&there).is_empty()
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
    pub(super) fn removal(&self, place: &Place) -> Vec<String> {
        let remove = |path: &PathBuf| format!("rm -r {}", word(&path.display().to_string()));
        let all = self.worktrees.iter().chain(&self.names).map(remove);
        let project = word(&place.project.display().to_string());
        let prune = (!self.worktrees.is_empty()).then(|| format!("git -C {project} worktree prune"));
        all.chain(prune).collect()
    }
}

/// The names of all sessions of a project.
fn sessions(place: &Place) -> BTreeSet<String> {
    let listed = place.store().list().unwrap_or_default();
    let documented = place.folders().unwrap_or_default().into_iter().map(|folder| folder.id);
    listed.into_iter().chain(documented).map(|id| id.to_string()).collect()
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
