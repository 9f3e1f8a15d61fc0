//! Which settings a project's own file may set. The tables of the sections decide most of it; this file decides what
//! needs a comparison with the person's own settings.

use std::path::{Path, PathBuf};

use rapport_settings::{May, Section as _};

use super::layer::Layer;
use crate::workers::WorkerKinds;

/// Removes the settings that the project may not set, and names them.
pub(super) fn set_aside(
    project: &mut Layer,
    home: &Layer,
    may: May,
    workers: &WorkerKinds,
) -> Vec<&'static str> {
    let mut names = Vec::new();
    // A project may ask for a stricter worker, not for a weaker one.
    let own = home.worker.kind.as_deref();
    let is_torn_down = may == May::Project && own.is_some_and(|kind| workers.is_wall(kind));
    if project.worker.kind.take_if(|kind| is_torn_down && !workers.is_wall(kind)).is_some() {
        names.push("worker");
    }
    project.set_aside(may, &mut names);
    names
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
