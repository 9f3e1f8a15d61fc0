//! Brings the project from one state of its files to another: applies work, or takes it back. Each file is complete before it gets
//! its name, a path is only touched while it is as it was seen, and what fails puts back what it did.
//!
//! Applying is all or nothing, also across a kill: a note written ahead ([`WriteAhead`]) says which paths are about to be written,
//! so that whoever continues can tell what was written from what a person changed since, and can put it back.

mod index;
mod placing;
mod steps;
mod write_ahead;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rapport_core::{FileChange, Merged, UndoneFiles};

use super::git::git;
use super::local::{self, Directory};
use super::worktree::lock;
use super::{WorkerError, Workplace as _};
use placing::{Placing, Stamp};
use steps::{Entry, Step, steps};
use write_ahead::Before;

pub(super) use write_ahead::WriteAhead;

/// A project, and where it is in its repository.
struct Place<'a> {
    project: &'a Directory,
    top: PathBuf,
    inside: PathBuf,
}

impl<'a> Place<'a> {
    fn of(project: &'a Directory) -> Result<Self, WorkerError> {
        Ok(Self { project, top: local::top(project.directory())?, inside: project.inside()? })
    }

    /// What differs between two states, as far as they hold what the session may change: in the repository itself, and
    /// repositories within it.
    fn steps(&self, states: &Merged) -> Result<(Vec<Step>, Vec<Step>), WorkerError> {
        let steps = steps(&self.top, &states.from, &states.to)?.into_iter();
        let covered = steps.filter(|step| self.project.covers(&self.inside, &step.path));
        Ok(covered.partition(|step| !step.is_of_a_repository()))
    }

    /// What differs by now from the state that these steps begin at, by path.
    fn since(&self, from: &str, steps: &[Step]) -> Result<BTreeMap<PathBuf, Entry>, WorkerError> {
        let paths: Vec<_> = steps.iter().map(|step| step.path.clone()).collect();
        let now = self.project.state_with(&paths)?;
        Ok(steps::steps(&self.top, from, &now)?.into_iter().map(|step| (step.path, step.new)).collect())
    }

    /// How a path is named to a person.
    fn name(&self, path: &Path) -> String {
        local::seen_from(&self.inside, path)
    }
}

/// Puts what was merged into the project: all of it, or nothing where the project was changed meanwhile. Whoever calls this holds
/// the lock.
pub(super) fn take_over(
    project: &Directory,
    merged: &Merged,
    note: &WriteAhead,
) -> Result<Vec<FileChange>, WorkerError> {
    let place = Place::of(project)?;
    let placing = Placing::new(&place, merged)?;
    let begun = match note.read(merged)? {
        // What was changed after that is a change to the applied work.
        Before::Complete => return project.files_between(&merged.from, &merged.to),
        Before::Begun(paths) => paths,
        Before::Nothing => BTreeSet::new(),
    };
    let (steps, _) = place.steps(merged)?;
    // Before the state is read: what changes after that is seen by its stamp.
    let stamps: Vec<_> = steps.iter().map(|step| Stamp::of(&place.top, step)).collect();
    let since = place.since(&merged.from, &steps)?;
    let is_done = |step: &Step| since.get(&step.path) == Some(&step.new);
    let changed = changed(&place, &steps, &since);
    let (done, due): (Vec<_>, Vec<_>) = steps.into_iter().zip(stamps).partition(|(step, _)| is_done(step));
    let ours = done.into_iter().filter(|(step, _)| begun.contains(&step.path)).collect();
    let mut placing = placing.continuing(begun, ours);
    let placed = if changed.is_empty() {
        place_all(&mut placing, due, merged, note)
    } else {
        Err(WorkerError::ChangedMeanwhile { files: changed })
    };
    if let Err(error) = placed {
        let error = placing.go_back(error);
        note.clear()?;
        return Err(error);
    }
    project.files_between(&merged.from, &merged.to)
}

fn place_all(
    placing: &mut Placing<'_>,
    due: Vec<(Step, Stamp)>,
    merged: &Merged,
    note: &WriteAhead,
) -> Result<(), WorkerError> {
    placing.prepare(&due)?;
    note.begin(merged, placing.paths().chain(due.iter().map(|(step, _)| step.path.as_path())))?;
    placing.place(due)?;
    note.complete(merged)
}

/// The files that are neither as they were nor as they will be, or are in the way.
fn changed(place: &Place<'_>, steps: &[Step], since: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    // A directory goes with the last file in it.
    let goes = |folder: &Path| {
        let is_below = |step: &Step| step.path != folder && step.path.starts_with(folder);
        steps.iter().any(|step| step.new.is_absent() && is_below(step))
    };
    // What git cannot take in is in no state, and may be in the way.
    let is_in_the_way = |step: &Step| {
        let found = place.top.join(&step.path).symlink_metadata();
        step.old.is_absent() && found.is_ok_and(|found| !(found.is_dir() && goes(&step.path)))
    };
    let is_done = |step: &Step| since.get(&step.path) == Some(&step.new);
    let is_changed = |step: &Step| since.contains_key(&step.path) || is_in_the_way(step);
    let changed = steps.iter().filter(|step| !is_done(step) && is_changed(step));
    changed.map(|step| place.name(&step.path)).collect()
}

/// Brings the project back from one state to the one before, path by path. What is as it was left is brought back; what somebody
/// changed since stays, and is listed. Done twice, it is the same as done once.
pub fn take_back(project: &Directory, states: &Merged) -> Result<UndoneFiles, WorkerError> {
    local::is_there(project.directory())?;
    let _lock = lock(project.directory())?;
    let place = Place::of(project)?;
    for state in [&states.from, &states.to] {
        let tree = format!("{}^{{tree}}", local::named(state)?);
        git(&place.top, None, &["cat-file", "-e", &tree])
            .map_err(|_| WorkerError::StateGone { state: state.clone() })?;
    }
    let (steps, repositories) = place.steps(states)?;
    let stamps: Vec<_> = steps.iter().map(|step| Stamp::of(&place.top, step)).collect();
    let since = place.since(&states.from, &steps)?;
    let mut undone = UndoneFiles::default();
    let (mut due, mut done_before) = (Vec::new(), Vec::new());
    for (step, stamp) in steps.iter().cloned().zip(stamps) {
        let name = place.name(&step.path);
        match since.get(&step.path) {
            Some(now) if *now != step.new => {
                undone.kept.push(name);
                continue;
            }
            Some(_) => done_before.push(name.clone()),
            None => due.push((step.clone(), stamp)),
        }
        if step.new.is_absent() { undone.removed.push(name) } else { undone.restored.push(name) }
    }
    let mut placing = Placing::new(&place, states)?;
    placing
        .prepare(&due)
        .and_then(|()| placing.place(due))
        .map_err(|error| half_done(placing.go_back(error), done_before))?;
    let is_kept = |step: &Step| undone.kept.contains(&place.name(&step.path));
    let taken_back: Vec<_> = steps.iter().filter(|step| !is_kept(step)).collect();
    let repositories = repositories.iter().map(|step| place.name(&step.path));
    undone.remaining = repositories.map(|name| format!("{name} (a repository of its own)")).collect();
    undone.remaining.extend(index::unstage(&place, &taken_back));
    Ok(undone)
}

/// An error that also names what an earlier try has done.
fn half_done(error: WorkerError, done_before: Vec<String>) -> WorkerError {
    match error {
        error if done_before.is_empty() => error,
        WorkerError::HalfDone { why, mut files } => {
            files.extend(done_before);
            WorkerError::HalfDone { why, files }
        }
        error => WorkerError::HalfDone { why: Box::new(error), files: done_before },
    }
}

#[cfg(test)]
mod tests;
