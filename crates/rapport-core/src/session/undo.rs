//! Undoes the changes that a session's work made to the project's files, from the states recorded before and after each
//! stretch of work.
//!
//! An undo is two facts, so that a kill at any instant neither loses nor repeats it: it is requested, it is done. The
//! step between them is idempotent: a path is touched only while it is as the work left it.

use std::fmt;

use super::flow::FlowRules;
use super::shared::Shared;
use super::stretch::{Stretch, Stretches, WorkRecord};
use crate::aim::Aim;
use crate::answer::By;
use crate::event::Event;
use crate::input::Merged;
use crate::refusal::Refusal;
use crate::turn::{UndoProblem, UndoneFiles};
use crate::want::Want;

const UNDOING: &str = "undoing";

/// Why changes can neither be shown nor undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrecorded {
    /// The project was in no git repository before the work.
    NoRepository,
    /// The conversation was run by a version that did not record changes.
    OlderVersion,
}

impl Unrecorded {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoRepository => {
                "the project was not in a git repository, so the state of its files before the work was not recorded"
            }
            Self::OlderVersion => {
                "the version of Rapport that ran it did not record what conversations change"
            }
        }
    }
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The progress of undoing the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkUndo {
    /// It was not requested.
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

impl Shared {
    /// The states between which the work would be undone, the latest stretch first: after the work, and before it.
    pub(crate) fn undoable(&self) -> Vec<Merged> {
        let states: Vec<_> = if self.created.works_apart() {
            let applied = self.handover.applied().into_iter();
            applied.map(|merged| (merged.to.clone(), merged.from.clone())).collect()
        } else {
            let known = |stretch: &Stretch| Some((stretch.to.clone()?, stretch.from.clone()?));
            self.record.stretches.all().rev().filter_map(known).collect()
        };
        let changed = states.into_iter().filter(|(from, to)| from != to);
        changed.map(|(from, to)| Merged { from, to, ..Merged::default() }).collect()
    }

    /// Decides to undo the work. Nothing changes if that is already done or in progress.
    pub(super) fn undo_work(&self, flow: &dyn FlowRules, by: &By) -> Result<Vec<Event>, Refusal> {
        match self.record.undo {
            WorkUndo::UnderWay(_) | WorkUndo::Done(_) => return Ok(Vec::new()),
            WorkUndo::Not | WorkUndo::Refused(_) => {}
        }
        if !flow.rests(self) {
            return Err(match self.created.aim {
                Aim::Chat => flow.not_now(self, UNDOING),
                Aim::Work | Aim::Progress(_) | Aim::Files => not("the session is not over; cancel it first"),
            });
        }
        if self.created.works_apart() && self.handover.applied().is_none() {
            return Err(not("its work is not in the project; discard it instead"));
        }
        if self.record.is_left_unnoted {
            return Err(not("the state in which its agent left the files is still being recorded"));
        }
        let mut states = self.undoable().into_iter();
        let Some(last) = states.next() else {
            return Err(not(self.record.why_nothing_is_undoable(&self.created.aim)));
        };
        Ok(vec![Event::WorkUndoStarted { states: last, earlier: states.collect(), by: by.clone() }])
    }
}

impl WorkRecord {
    /// Why there is nothing to undo.
    fn why_nothing_is_undoable(&self, aim: &Aim) -> &'static str {
        let mut stretches = self.stretches.all();
        match stretches.find(|stretch| stretch.from.is_none() || stretch.to.is_none()) {
            Some(Stretch { from: None, .. }) => Unrecorded::NoRepository.as_str(),
            Some(_) => "the state of the files after its work is unknown",
            None if self.is_incomplete => Unrecorded::OlderVersion.as_str(),
            None if *aim == Aim::Files => "its batches are undone one by one",
            None => "it changed no file",
        }
    }

    pub(super) fn on_undone(&self, outcome: &Result<UndoneFiles, UndoProblem>) -> Vec<Event> {
        let WorkUndo::UnderWay(_) = self.undo else { return Vec::new() };
        vec![match outcome {
            Ok(files) => Event::WorkUndone { files: files.clone() },
            Err(problem) => Event::WorkUndoRefused { problem: problem.clone() },
        }]
    }

    /// Refuses what would change files while the work is being undone.
    pub(super) fn refuse_while_undoing(&self, what: &'static str) -> Result<(), Refusal> {
        match self.undo {
            WorkUndo::UnderWay(_) => {
                Err(Refusal::NotNow { what: what.into(), why: "its work is being undone".into() })
            }
            WorkUndo::Not | WorkUndo::Refused(_) | WorkUndo::Done(_) => Ok(()),
        }
    }

    /// Refuses to apply work that was undone, or is being undone: its workplace is gone, and the files do not have it.
    pub(super) fn refuse_undone(&self, what: &'static str) -> Result<(), Refusal> {
        self.refuse_while_undoing(what)?;
        match self.undo {
            WorkUndo::Done(_) => {
                Err(Refusal::NotNow { what: what.into(), why: "its work was undone".into() })
            }
            WorkUndo::Not | WorkUndo::UnderWay(_) | WorkUndo::Refused(_) => Ok(()),
        }
    }

    pub(super) fn undo_wanted(&self) -> Option<Want> {
        match &self.undo {
            WorkUndo::UnderWay(states) => Some(Want::WorkUndone(states.clone())),
            WorkUndo::Not | WorkUndo::Refused(_) | WorkUndo::Done(_) => None,
        }
    }
}

impl WorkRecord {
    /// Another turn begins. After a complete undo, its work starts a new list of stretches.
    pub(super) fn begin_turn(&mut self) {
        if let WorkUndo::Done(_) = self.undo {
            self.stretches = Stretches::default();
            self.is_incomplete = false;
        }
        self.undo = WorkUndo::Not;
        self.is_left_unnoted = false;
    }
}

fn not(why: &str) -> Refusal {
    Refusal::NotNow { what: UNDOING.into(), why: why.to_owned() }
}
