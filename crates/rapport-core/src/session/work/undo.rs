//! Undoes the changes that a session's work made to the project's files, from the states recorded before and after each
//! stretch of work.
//!
//! Two facts, so that a kill at any instant neither loses nor repeats it: it is requested, it is done. The step between
//! them is idempotent: a path is touched only while it is as the work left it.

use super::{Stretch, Stretches, WorkFlow};
use crate::answer::By;
use crate::event::Event;
use crate::input::Merged;
use crate::refusal::Refusal;
use crate::session::shared::Shared;
use crate::turn::{UndoProblem, UndoneFiles};
use crate::want::Want;

/// Why changes can neither be shown nor undone.
pub const NOT_RECORDED: &str =
    "the project was not in a git repository, so the state of its files before the work was not recorded";

/// The progress of undoing the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkUndo {
    /// Nobody asked for it.
    #[default]
    Not,
    /// The files are being changed from the first of these states to the second, for each stretch of the work, the
    /// latest first.
    UnderWay(Vec<Merged>),
    /// It was not possible, for this reason. No file was changed, unless the reason says that some were.
    Refused(UndoProblem),
    /// It is done, for these files.
    Done(UndoneFiles),
}

impl WorkFlow {
    pub(crate) fn work_undo(&self) -> &WorkUndo {
        &self.undo
    }

    /// Whether the state in which a cancelled agent left the files is still to be recorded. Until then nothing can be
    /// undone.
    pub(crate) fn is_left_unnoted(&self) -> bool {
        self.is_left_unnoted
    }

    pub(super) fn work_left(&self, state: Option<&String>) -> Vec<Event> {
        self.is_left_unnoted.then(|| Event::WorkLeft { state: state.cloned() }).into_iter().collect()
    }

    /// The states between which the work would be undone, the latest stretch first: after the work, and before it.
    pub(crate) fn undoable(&self, shared: &Shared) -> Vec<Merged> {
        let states: Vec<_> = if shared.created.works_apart() {
            let applied = shared.handover.applied().into_iter();
            applied.map(|merged| (merged.to.clone(), merged.from.clone())).collect()
        } else {
            let known = |stretch: &Stretch| Some((stretch.to.clone()?, stretch.from.clone()?));
            self.stretches.all().rev().filter_map(known).collect()
        };
        let changed = states.into_iter().filter(|(from, to)| from != to);
        changed.map(|(from, to)| Merged { from, to, conflicts: Vec::new() }).collect()
    }

    /// Decides to undo the work. If it is undone already, nothing changes.
    pub(super) fn undo_work(&self, shared: &Shared, by: &By) -> Result<Vec<Event>, Refusal> {
        match self.undo {
            WorkUndo::UnderWay(_) | WorkUndo::Done(_) => return Ok(Vec::new()),
            WorkUndo::Not | WorkUndo::Refused(_) => {}
        }
        if !shared.is_over() {
            return Err(not("the session is not over; cancel it first"));
        }
        if shared.created.works_apart() && shared.handover.applied().is_none() {
            return Err(not("its work is not in the project; discard it instead"));
        }
        if self.is_left_unnoted {
            return Err(not("the state in which its agent left the files is still being recorded"));
        }
        let mut states = self.undoable(shared).into_iter();
        let Some(last) = states.next() else { return Err(not(self.why_nothing_is_undoable())) };
        Ok(vec![Event::WorkUndoStarted { states: last, earlier: states.collect(), by: by.clone() }])
    }

    fn why_nothing_is_undoable(&self) -> &'static str {
        match self.stretches.all().find(|stretch| stretch.from.is_none() || stretch.to.is_none()) {
            Some(Stretch { from: None, .. }) => NOT_RECORDED,
            Some(_) => "the state of the files after its work is unknown",
            None => "it changed no file",
        }
    }

    pub(super) fn work_undone(&self, outcome: &Result<UndoneFiles, UndoProblem>) -> Vec<Event> {
        let WorkUndo::UnderWay(_) = self.undo else { return Vec::new() };
        vec![match outcome {
            Ok(files) => Event::WorkUndone { files: files.clone() },
            Err(problem) => Event::WorkUndoRefused { problem: problem.clone() },
        }]
    }

    /// After a complete undo, the next work starts a new list of stretches.
    pub(super) fn forget_undone(&mut self) {
        if let WorkUndo::Done(_) = self.undo {
            self.stretches = Stretches::default();
            self.changes = None;
        }
        self.undo = WorkUndo::Not;
    }

    pub(super) fn undo_wanted(&self) -> Option<Want> {
        match &self.undo {
            WorkUndo::UnderWay(states) => Some(Want::WorkUndone(states.clone())),
            WorkUndo::Not | WorkUndo::Refused(_) | WorkUndo::Done(_) => None,
        }
    }
}

fn not(why: &str) -> Refusal {
    Refusal::NotNow { what: "undoing".into(), why: why.to_owned() }
}
