//! The flow for turns with directories: a plan of actions is made, checked, reviewed, run as a batch, reported, perhaps undone.
//!
//! Each turn has a stage of its own, because several can wait side by side (branches). The session does one thing at a time,
//! and that is its phase: drafting, writing the plan's file, checking it, running a batch, writing the report. `acts` decides
//! what people do, `ends` what the engine reports, `fold` folds the facts; this file derives the wants.

mod acts;
mod ends;
mod fold;

use super::{Phase, Session};
use crate::action_plan::{ActionPlan, Change};
use crate::turn::{FileBatch, FileTurn, TurnStage, UndoState};
use crate::want::{ActionReply, BatchOrder, Want};

/// What every plan of actions has, and an agent's closing remark has not.
const ACTION_PLAN: &str = "## Action Plan";

/// What a plan's file is called in its turn's directory.
pub(crate) const PLAN: &str = "plan.md";

impl Session {
    /// The turns of a session of files, in the order in which they became known.
    pub fn file_turns(&self) -> &[FileTurn] {
        &self.file_turns
    }

    /// The turn in this directory.
    pub fn file_turn(&self, folder: &str) -> Option<&FileTurn> {
        self.file_turns.iter().find(|turn| turn.folder == folder)
    }

    /// The turn that was made last.
    pub fn latest_turn(&self) -> Option<&FileTurn> {
        let made = |turn: &FileTurn| turn.origin.as_ref().map(|origin| origin.created);
        self.file_turns.iter().max_by_key(|turn| (made(turn), turn.folder.as_str()))
    }

    /// The turn whose plan waits for a person: to be reviewed, or to say how its batch goes on.
    pub fn review(&self) -> Option<&FileTurn> {
        let waits = |turn: &&FileTurn| {
            turn.origin.is_some() && matches!(turn.stage, TurnStage::Planned | TurnStage::Paused)
        };
        self.latest_turn().filter(waits).filter(|_| self.phase == Phase::Resting && !self.is_undoing())
    }

    /// The turn that the agent is planning, or was when it failed.
    pub fn drafting(&self) -> Option<&FileTurn> {
        self.file_turns.iter().find(|turn| turn.stage == TurnStage::Drafting)
    }

    /// The batch of this name, and its turn.
    pub fn batch(&self, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        self.file_turns.iter().find_map(|turn| {
            let batch = turn.batches.iter().find(|batch| batch.name == name)?;
            Some((turn, batch))
        })
    }

    /// A batch of which only a part is undone. Nothing is built on it before the rest is.
    pub fn half_undone(&self) -> Option<&FileBatch> {
        let half = |batch: &&FileBatch| matches!(batch.undo, UndoState::Stuck(_));
        self.file_turns.iter().flat_map(|turn| &turn.batches).find(half)
    }

    /// Whether a batch runs just now.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    fn running(&self, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        let is_it = matches!(&self.phase, Phase::Running { batch } if batch == name);
        self.batch(name).filter(|_| is_it)
    }

    fn batches(&self) -> impl Iterator<Item = (&FileTurn, &FileBatch)> {
        self.file_turns.iter().flat_map(|turn| turn.batches.iter().map(move |batch| (turn, batch)))
    }

    pub(crate) fn is_undoing(&self) -> bool {
        self.batches().any(|(_, batch)| matches!(batch.undo, UndoState::UnderWay(_)))
    }

    /// What is to be undone, whatever else became of the session.
    pub(super) fn undo_wanted(&self) -> Vec<Want> {
        let wanted = self.batches().filter_map(|(turn, batch)| match batch.undo {
            UndoState::UnderWay(later) => Some(Want::Undone {
                batch: batch.name.clone(),
                folder: turn.folder.clone(),
                approved_at: batch.approved_at,
                later,
                has_remembered: batch.has_remembered(),
                has_run: batch.is_ended || !batch.ended.is_empty(),
            }),
            UndoState::Not | UndoState::Stuck(_) | UndoState::Done(_) => None,
        });
        wanted.collect()
    }

    pub(super) fn turn_files_wanted(&self) -> Vec<Want> {
        match &self.phase {
            Phase::Filing => self.draft_to_file().into_iter().collect(),
            Phase::Checking { folder, restore } => self.check_wanted(folder, *restore).into_iter().collect(),
            Phase::Running { batch } => self.batch_wanted(batch),
            Phase::Concluding { folder } => self.report_wanted(folder).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The file that the last turn's plan is to be in, if it is not.
    fn draft_to_file(&self) -> Option<Want> {
        let turn = self.turns.last()?;
        let folder = self.file_turn(turn.folder.as_ref()?)?;
        Some(Want::Filed {
            turn: turn.id,
            path: format!("{}/{PLAN}", folder.folder),
            content: self.drafted().to_owned(),
            model: folder.model.clone(),
            cost_micros: folder.cost_micros,
        })
    }

    /// The plan in what the last turn said. An agent may say its plan and then that it has.
    fn drafted(&self) -> &str {
        let Some(turn) = self.turns.last() else { return "" };
        let result = turn.result.as_deref().unwrap_or_default();
        let said = turn.said.iter().rev().find(|said| said.contains(ACTION_PLAN));
        if result.contains(ACTION_PLAN) { result } else { said.map_or(result, String::as_str) }
    }

    fn check_wanted(&self, folder: &str, restore: bool) -> Option<Want> {
        let plan = self.file_turn(folder)?.plan.as_ref()?;
        let (folder, revision, plan) = (folder.to_owned(), plan.revision, plan.text.clone());
        Some(Want::PlanChecked { folder, revision, plan, restore })
    }

    fn batch_wanted(&self, name: &str) -> Vec<Want> {
        let Some((turn, batch)) = self.batch(name) else { return Vec::new() };
        let Some(plan) = &turn.plan else { return Vec::new() };
        let order = BatchOrder {
            batch: batch.name.clone(),
            folder: turn.folder.clone(),
            created: turn.origin.as_ref().map(|origin| origin.created),
            plan: plan.text.clone(),
            chosen: batch.chosen.clone(),
            approved_at: batch.approved_at,
            interrupted: batch.interrupted,
        };
        let waiting = batch.asked.iter().filter(|(action, _)| !batch.ended.contains_key(action));
        let replied = waiting.filter_map(|(action, question)| {
            let (round, item) = self.item(question)?;
            let reply = match (item.given(), &round.closed) {
                (Some(given), _) => ActionReply::Words(item.question.words(&given.answer)),
                (None, Some(how)) => ActionReply::Ended(how.to_string()),
                (None, None) => return None,
            };
            Some(Want::ActionReplied { batch: batch.name.clone(), action: *action, reply })
        });
        [Want::BatchRunning(order)].into_iter().chain(replied).collect()
    }

    fn report_wanted(&self, folder: &str) -> Option<Want> {
        let turn = self.file_turn(folder)?;
        let report = turn.report.clone()?;
        Some(Want::ReportFiled { folder: folder.to_owned(), report, memos: memos(turn) })
    }
}

/// What the last batch of a turn has remembered, once it is over.
fn memos(turn: &FileTurn) -> Vec<Change> {
    let Some(batch) = turn.batch().filter(|batch| batch.is_ended && batch.stands()) else {
        return Vec::new();
    };
    let plan = turn.plan.as_ref().and_then(|plan| ActionPlan::parse(&plan.text).ok());
    let all = plan.map(|plan| plan.memos).unwrap_or_default();
    let taken = all.into_iter().zip(&batch.chosen.memos).filter(|(_, left)| left.is_none());
    taken.map(|(memo, _)| memo).collect()
}
