//! Stretches of work: each goes from the state of the project's files before the agent worked to the state it left.
//! Follow-up work continues the last stretch, unless somebody else changed files in between: then it begins another
//! one, so that nobody else's changes are attributed to the work.

use super::WorkFlow;
use crate::event::{Changes, FileChange};

/// One stretch of work, between states by the worker's names for them; `None` if a state is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The state before the agent could change anything: a change may have been allowed while it planned.
    pub since: Option<String>,
    /// The state before the work itself.
    pub from: Option<String>,
    /// The state after it, or the last one recorded during it.
    pub to: Option<String>,
}

/// All stretches, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nobody works.
    #[default]
    Over,
    /// A change was allowed before the plan was confirmed.
    Planning,
    /// The work is in progress, and the state before it is recorded.
    Working,
}

impl Stretches {
    /// Records the state before a turn. What was done before the plan was confirmed is not undone: the work begins
    /// after it.
    pub(super) fn begin(&mut self, from: Option<String>, works: bool) {
        let continues = self.stage == Stage::Over
            && from.is_some()
            && self.all.last().is_some_and(|last| last.to == from);
        match self.all.last_mut() {
            Some(last) if self.stage != Stage::Over => last.from = from,
            _ if continues => {}
            _ => self.all.push(Stretch { since: from.clone(), from, to: None }),
        }
        self.stage = if works { Stage::Working } else { Stage::Planning };
    }

    /// Records a state during the work.
    pub(super) fn note(&mut self, state: Option<&String>) {
        if let (Some(last), Some(state)) = (self.all.last_mut(), state) {
            last.to = Some(state.clone());
        }
    }

    /// Ends the stretch with this state.
    pub(super) fn end(&mut self, state: Option<&String>) {
        self.note(state);
        self.stage = Stage::Over;
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.stage == Stage::Working
    }

    /// Whether the state before the current work is known.
    pub(super) fn is_noted(&self) -> bool {
        self.stage != Stage::Over && self.all.last().is_some_and(|last| last.from.is_some())
    }

    /// The state since which the changes of the last stretch are reported.
    pub(super) fn reported_since(&self) -> Option<&str> {
        self.all.last()?.since.as_deref()
    }

    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Stretch> {
        self.all.iter()
    }
}

impl WorkFlow {
    /// The stretches of the work, in order. The last one has no end while it is in progress.
    pub(crate) fn stretches(&self) -> Vec<Stretch> {
        let mut all = self.stretches.all.clone();
        if let Some(last) = all.last_mut().filter(|_| self.stretches.stage != Stage::Over) {
            last.to = None;
        }
        all
    }

    /// The changes of all stretches, given those of the last one.
    pub(super) fn all_changes(&self, last: Option<Changes>) -> Option<Changes> {
        let earlier = self.changes.as_ref().filter(|_| self.stretches.all.len() > 1);
        match (earlier, last) {
            (Some(earlier), Some(last)) => Some(joined(earlier, last)),
            (_, last) => last,
        }
    }
}

/// Merges the changes of one stretch with those of the next.
fn joined(earlier: &Changes, mut last: Changes) -> Changes {
    let mut files = earlier.files.clone();
    for file in last.files {
        match files.iter().position(|known| known.path == file.path) {
            Some(place) => match twice(&files[place], &file) {
                Some(both) => files[place] = both,
                None => drop(files.remove(place)),
            },
            None => files.push(file),
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    last.files = files;
    last.unknown = last.unknown.or_else(|| earlier.unknown.clone());
    last
}

/// The combined change of a file that was changed twice; `None` if the changes cancel out.
fn twice(first: &FileChange, then: &FileChange) -> Option<FileChange> {
    let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    let status = match (first.status.as_str(), then.status.as_str()) {
        ("added", "deleted") => return None,
        ("added", _) => "added",
        ("deleted", "added") => "modified",
        (_, then) => then,
    };
    Some(FileChange {
        path: then.path.clone(),
        status: status.into(),
        added: sum(first.added, then.added),
        removed: sum(first.removed, then.removed),
    })
}
