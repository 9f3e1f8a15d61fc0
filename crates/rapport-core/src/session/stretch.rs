//! The record of the work of every flow in which files change: stretches, each from the state of the project's files
//! before it to the state after it. Follow-up work continues the last stretch, unless the files changed in between:
//! then it begins another stretch, so that changes of others are not attributed to the work. `undo.rs` undoes the
//! work.

use super::agent_turns::Turn;
use super::shared::Shared;
use super::undo::WorkUndo;
use crate::event::{ChangeStatus, Changes, Event, FileChange};
use crate::want::Want;

/// One stretch of work, between states by the worker's names for them; `None` if a state is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The state before the agent could change anything: a person may have allowed a change while it planned.
    pub since: Option<String>,
    /// The state before the work itself.
    pub from: Option<String>,
    /// The state after it, or the last one recorded during it.
    pub to: Option<String>,
}

/// The record of the work, and of undoing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkRecord {
    pub(super) stretches: Stretches,
    /// Whether the state in which the agent left the files has yet to be recorded. Until then nothing can be undone.
    pub(super) is_left_unnoted: bool,
    /// Whether an agent could change files without a record: older programs recorded no conversations.
    pub(super) is_incomplete: bool,
    pub(super) undo: WorkUndo,
}

/// All stretches, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No work is in progress.
    #[default]
    Over,
    /// A change was allowed before the plan was confirmed.
    Planning,
    /// The work is in progress, and the state before it is recorded.
    Working,
}

impl Stretches {
    /// Records the state before a turn. Changes from before the plan was confirmed are not undone: the work begins
    /// after them.
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

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets the last stretch if it changed nothing: a conversation may last for months.
    pub(super) fn drop_unchanged(&mut self) {
        self.all.pop_if(|last| last.from.is_some() && last.from == last.to);
    }
}

impl WorkRecord {
    /// The stretches, in order. The last one has no end while it is in progress.
    pub(crate) fn stretches(&self) -> Vec<Stretch> {
        let mut all = self.stretches.all.clone();
        if let Some(last) = all.last_mut().filter(|_| self.stretches.stage != Stage::Over) {
            last.to = None;
        }
        all
    }

    /// The agent's turn is over, and the state that it left has to be recorded.
    pub(super) fn leave(&mut self) {
        self.is_incomplete |= !self.stretches.is_under_way();
        self.is_left_unnoted = self.stretches.is_noted();
        if !self.is_left_unnoted {
            self.stretches.end(None);
        }
    }

    /// The changes of all stretches, given those of the earlier ones and of the last one.
    pub(super) fn joined_changes(&self, earlier: Option<&Changes>, last: Option<Changes>) -> Option<Changes> {
        let earlier = earlier.filter(|_| self.stretches.all.len() > 1);
        match (earlier, last) {
            (Some(earlier), Some(last)) => Some(joined(earlier, last)),
            (_, last) => last,
        }
    }
}

impl Shared {
    /// Whether the agent may have changed files of the project since their state was last recorded. An agent that
    /// waits alone for an answer has changed nothing since the state at that question was recorded. Work in a
    /// separate workplace does not change the project.
    pub(super) fn is_unnoted(&self) -> bool {
        let turn = self.turns.current();
        let is_noted = |round: &super::Round| round.snapshotted;
        let is_known = turn.is_some_and(|turn| {
            self.rounds.only_waiting(turn).is_some_and(is_noted) && turn.kept_by.is_none()
        });
        self.record.stretches.is_noted() && !self.created.works_apart() && !is_known
    }
}

impl WorkRecord {
    pub(super) fn apply(&mut self, fact: &Event, turns: &[Turn]) {
        match fact {
            Event::Baselined { turn, baseline } => {
                // A file that Rapport writes for the agent after its turn is work, too.
                let works = turns.iter().any(|known| known.id == *turn && known.may_work());
                self.stretches.begin(baseline.clone(), works);
            }
            Event::Snapshotted { state, .. } => self.stretches.note(state.as_ref()),
            Event::Reported { changes } => {
                self.stretches.end(changes.as_ref().and_then(|changes| changes.result.as_ref()));
            }
            Event::Cancelled { is_unnoted: true, .. } => self.is_left_unnoted = true,
            Event::Cancelled { .. } => self.stretches.end(None),
            Event::WorkLeft { state } => {
                self.is_left_unnoted = false;
                self.stretches.end(state.as_ref());
            }
            Event::WorkUndoStarted { states, earlier, .. } => {
                self.undo = WorkUndo::UnderWay([vec![states.clone()], earlier.clone()].concat());
            }
            Event::WorkUndoRefused { problem } => self.undo = WorkUndo::Refused(problem.clone()),
            Event::WorkUndone { files } => self.undo = WorkUndo::Done(files.clone()),
            _ => {}
        }
    }

    pub(super) fn work_left(&self, state: Option<&String>) -> Vec<Event> {
        let left = self.is_left_unnoted.then(|| Event::WorkLeft { state: state.cloned() });
        left.into_iter().collect()
    }

    /// The wants of the record in every state of the session.
    pub(super) fn wanted(&self) -> impl Iterator<Item = Want> {
        self.is_left_unnoted.then_some(Want::WorkLeft).into_iter().chain(self.undo_wanted())
    }
}

/// Merges the changes of one stretch with those of the next.
fn joined(earlier: &Changes, mut last: Changes) -> Changes {
    let mut files = earlier.files.clone();
    for file in last.files {
        match files.iter().position(|known| known.path == file.path) {
            Some(index) => match twice(&files[index], &file) {
                Some(both) => files[index] = both,
                None => drop(files.remove(index)),
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
    let status = match (&first.status, &then.status) {
        (ChangeStatus::Added, ChangeStatus::Deleted) => return None,
        (ChangeStatus::Added, _) => ChangeStatus::Added,
        (ChangeStatus::Deleted, ChangeStatus::Added) => ChangeStatus::Modified,
        (_, then) => then.clone(),
    };
    Some(FileChange {
        path: then.path.clone(),
        status,
        added: sum(first.added, then.added),
        removed: sum(first.removed, then.removed),
    })
}
