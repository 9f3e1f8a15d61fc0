//! Taking back what the work of a session did to the project's files, from the states that were noted: as it was before the work
//! began, and as the work left it.
//!
//! Two facts, so that a kill at any instant neither loses nor repeats it: it is wanted, it is done. What is done in between can be
//! done again: a path is only touched while it is as the work left it.

use super::Session;
use crate::answer::By;
use crate::event::Event;
use crate::input::Merged;
use crate::refusal::Refusal;
use crate::turn::{UndoProblem, UndoneFiles};
use crate::want::Want;

const UNDOING: &str = "undoing";

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkUndo {
    /// Nobody wants it.
    #[default]
    Not,
    /// It goes on.
    UnderWay(Merged),
    /// It was not possible, for this reason. Nothing was changed, unless it says that a part was.
    Refused(UndoProblem),
    /// It is done.
    Done(UndoneFiles),
}

impl Session {
    /// How far undoing the work has come.
    pub fn work_undo(&self) -> &WorkUndo {
        &self.work_undo
    }

    /// The states between which the work would be taken back: as it left the files, and as they were before. `None` where
    /// there is nothing to take back, or nobody can tell.
    pub fn undoable_work(&self) -> Option<Merged> {
        let states = if self.created.works_apart() {
            self.handover.applied().map(|merged| (merged.to.clone(), merged.from.clone()))
        } else {
            self.last_state.clone().zip(self.baseline().map(str::to_owned))
        };
        let (from, to) = states.filter(|(from, to)| from != to)?;
        Some(Merged { from, to, conflicts: Vec::new() })
    }

    /// Somebody wants the work undone. Done already, it stays as it came out.
    pub(super) fn undo_work(&self, by: &By) -> Result<Vec<Event>, Refusal> {
        match self.work_undo {
            WorkUndo::UnderWay(_) | WorkUndo::Done(_) => return Ok(Vec::new()),
            WorkUndo::Not | WorkUndo::Refused(_) => {}
        }
        if !self.created.aim.is_work() {
            return Err(not("this session worked on no task of its own"));
        }
        if !self.phase.is_over() {
            return Err(not("the session is not over; cancel it first"));
        }
        if self.created.works_apart() && self.handover.applied().is_none() {
            return Err(not("its work is not in the project; discard it instead"));
        }
        let Some(states) = self.undoable_work() else {
            return Err(not("no state of the files is known that its work changed"));
        };
        Ok(vec![Event::WorkUndoStarted { states, by: by.clone() }])
    }

    pub(super) fn work_undone(&self, outcome: &Result<UndoneFiles, UndoProblem>) -> Vec<Event> {
        let WorkUndo::UnderWay(_) = self.work_undo else { return Vec::new() };
        vec![match outcome {
            Ok(files) => Event::WorkUndone { files: files.clone() },
            Err(problem) => Event::WorkUndoRefused { problem: problem.clone() },
        }]
    }

    pub(super) fn apply_work_undo(&mut self, fact: &Event) {
        match fact {
            Event::WorkUndoStarted { states, .. } => self.work_undo = WorkUndo::UnderWay(states.clone()),
            Event::WorkUndoRefused { problem } => self.work_undo = WorkUndo::Refused(problem.clone()),
            Event::WorkUndone { files } => self.work_undo = WorkUndo::Done(files.clone()),
            _ => {}
        }
    }

    pub(super) fn work_undo_wanted(&self) -> Option<Want> {
        match &self.work_undo {
            WorkUndo::UnderWay(states) => Some(Want::WorkUndone(states.clone())),
            WorkUndo::Not | WorkUndo::Refused(_) | WorkUndo::Done(_) => None,
        }
    }
}

fn not(why: &str) -> Refusal {
    Refusal::NotNow { what: UNDOING.into(), why: why.to_owned() }
}
