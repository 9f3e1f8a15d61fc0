//! Undoes what the work of a session did to the project's files, from the states that were noted: before the work began, and
//! after it.
//!
//! Two facts, so that a kill at any instant neither loses nor repeats it: it is requested, it is done. What happens in between is
//! idempotent: a path is only touched while it is as the work left it.

use super::WorkFlow;
use crate::answer::By;
use crate::event::Event;
use crate::input::Merged;
use crate::refusal::Refusal;
use crate::session::shared::Shared;
use crate::turn::{UndoProblem, UndoneFiles};
use crate::want::Want;

/// How far undoing the work has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkUndo {
    /// Nobody asked for it.
    #[default]
    Not,
    /// The files are being brought from the first of these states to the second.
    UnderWay(Merged),
    /// It was not possible, for this reason. Nothing was changed, unless it says that a part was.
    Refused(UndoProblem),
    /// It is done, for these files.
    Done(UndoneFiles),
}

impl WorkFlow {
    pub(crate) fn work_undo(&self) -> &WorkUndo {
        &self.undo
    }

    /// Whether the state in which a cancelled agent left the files is still to be noted. Until then nothing can be undone.
    pub(crate) fn is_left_unnoted(&self) -> bool {
        self.is_left_unnoted
    }

    /// The state of the files as it was last noted since the work began.
    pub(crate) fn last_state(&self) -> Option<&str> {
        self.last_state.as_deref()
    }

    pub(super) fn work_left(&self, state: Option<&String>) -> Vec<Event> {
        self.is_left_unnoted.then(|| Event::WorkLeft { state: state.cloned() }).into_iter().collect()
    }

    /// The states between which the work would be undone: as it left the files, and as they were before.
    pub(crate) fn undoable(&self, shared: &Shared) -> Option<Merged> {
        let states = if shared.created.works_apart() {
            shared.handover.applied().map(|merged| (merged.to.clone(), merged.from.clone()))
        } else {
            self.last_state.clone().zip(shared.baseline().map(str::to_owned))
        };
        let (from, to) = states.filter(|(from, to)| from != to)?;
        Some(Merged { from, to, conflicts: Vec::new() })
    }

    /// Somebody wants the work undone. If it is already, it stays as it came out.
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
            return Err(not("the state in which its agent left the files is still to be noted"));
        }
        let Some(states) = self.undoable(shared) else {
            return Err(not("no state of the files is known that its work changed"));
        };
        Ok(vec![Event::WorkUndoStarted { states, by: by.clone() }])
    }

    pub(super) fn work_undone(&self, outcome: &Result<UndoneFiles, UndoProblem>) -> Vec<Event> {
        let WorkUndo::UnderWay(_) = self.undo else { return Vec::new() };
        vec![match outcome {
            Ok(files) => Event::WorkUndone { files: files.clone() },
            Err(problem) => Event::WorkUndoRefused { problem: problem.clone() },
        }]
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
