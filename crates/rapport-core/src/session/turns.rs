//! The flow for turns with directories: a plan of actions is made, checked, reviewed, run as a batch, reported, and
//! possibly undone.
//!
//! Each turn has its own stage, because several can wait side by side (branches). The session does one thing at a time,
//! which is its phase: drafting, writing the plan's file, checking it, running a batch, writing the report. `acts`
//! decides people's acts, `reply` what becomes of a reply in words, `world` the engine's reports, `facts` applies the
//! facts; this file derives the wants.

mod acts;
mod facts;
mod reply;
mod world;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::agent::{decline, refuse_questions};
use super::flow::{AskedCall, FlowRules, stray, unknown_act};
use super::shared::{Life, Shared};
use crate::action_plan::{ActionPlan, Change};
use crate::aim::Asking;
use crate::answer::By;
use crate::created::Created;
use crate::event::{Event, TurnKind};
use crate::id::TurnId;
use crate::input::{Act, Ask, World};
use crate::prompt;
use crate::refusal::Refusal;
use crate::turn::{FileBatch, FileTurn, FoundTurns, TurnStage, UndoState};
use crate::view::{PhaseView, Status};
use crate::want::{ActionReply, BatchOrder, NextTurn, Order, Want};

/// The name of a plan's file in its turn's directory.
pub(crate) const PLAN_FILE: &str = "plan.md";

/// The state of a session of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnsFlow {
    phase: TurnsPhase,
    turns: Vec<FileTurn>,
    /// Check sums of complete turns, by directory and file.
    sealed: BTreeMap<String, BTreeMap<String, String>>,
    /// The turn directory that each turn of the agent plans.
    drafts: BTreeMap<TurnId, DraftedTurn>,
    /// The agent's texts of its last turn, one of which may contain the plan.
    said: Vec<String>,
}

/// The session's current activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum TurnsPhase {
    /// A turn can be begun, or the plan of one reviewed.
    #[default]
    Resting,
    /// A reply in words was answered; what the agent will be shown in the next turn is gathered.
    Preparing(NextTurn),
    /// The agent makes a plan of actions.
    Planning,
    /// The plan is being written to its file.
    Filing,
    /// The plan is being checked.
    Checking {
        /// The turn's directory, from the session's.
        folder: String,
        /// Whether the plan's file is to be rewritten first.
        restore: bool,
    },
    /// The approved actions are running.
    Running { batch: String },
    /// A turn is over; its report is being written.
    Concluding { folder: String },
}

/// A turn that an agent plans.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DraftedTurn {
    folder: String,
    asking: Asking,
}

impl TurnsFlow {
    /// The turns, in the order in which they became known.
    pub(crate) fn file_turns(&self) -> &[FileTurn] {
        &self.turns
    }

    /// Check sums of the files of turns that are complete, by directory.
    pub(crate) fn sealed(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.sealed
    }

    /// The turn in this directory.
    pub(crate) fn file_turn(&self, folder: &str) -> Option<&FileTurn> {
        self.turns.iter().find(|turn| turn.folder == folder)
    }

    /// The latest turn.
    pub(crate) fn latest_turn(&self) -> Option<&FileTurn> {
        let made = |turn: &FileTurn| turn.origin.as_ref().map(|origin| origin.created);
        self.turns.iter().max_by_key(|turn| (made(turn), turn.folder.as_str()))
    }

    /// The turn whose plan waits for a person: for review, or for a decision on its paused batch.
    pub(crate) fn review(&self, shared: &Shared) -> Option<&FileTurn> {
        let waits = |turn: &&FileTurn| {
            turn.origin.is_some() && matches!(turn.stage, TurnStage::Planned | TurnStage::Paused)
        };
        self.latest_turn().filter(waits).filter(|_| self.is_resting(shared) && !self.is_undoing())
    }

    /// The turn to which the agent replied in words, if nothing was planned since: the reply waits for an answer.
    pub(crate) fn reply(&self, shared: &Shared) -> Option<&FileTurn> {
        let waits = |turn: &&FileTurn| {
            turn.stage == TurnStage::Complete && turn.words.is_some() && !turn.is_reply_settled
        };
        self.latest_turn().filter(waits).filter(|_| self.is_resting(shared) && !self.is_undoing())
    }

    /// The turn that the agent is planning, or was planning when it failed.
    pub(crate) fn drafting(&self) -> Option<&FileTurn> {
        self.turns.iter().find(|turn| turn.stage == TurnStage::Planning)
    }

    /// The batch with this name, and its turn.
    pub(crate) fn batch(&self, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        self.turns.iter().find_map(|turn| {
            let batch = turn.batches.iter().find(|batch| batch.name == name)?;
            Some((turn, batch))
        })
    }

    /// A partially undone batch. Nothing may build on it until the rest is undone.
    pub(crate) fn half_undone(&self) -> Option<&FileBatch> {
        let half = |batch: &&FileBatch| matches!(batch.undo, UndoState::Stuck(_));
        self.turns.iter().flat_map(|turn| &turn.batches).find(half)
    }

    /// Whether a batch is running.
    pub(crate) fn is_running(&self, shared: &Shared) -> bool {
        self.running(shared).is_some()
    }

    /// Whether nothing is in progress, so that something can be begun.
    fn is_resting(&self, shared: &Shared) -> bool {
        self.phase == TurnsPhase::Resting && shared.is_going()
    }

    /// The name of the running batch.
    fn running(&self, shared: &Shared) -> Option<&str> {
        match &self.phase {
            TurnsPhase::Running { batch } if shared.is_going() => Some(batch),
            _ => None,
        }
    }

    /// The batch with this name and its turn, if it is running.
    fn running_batch(&self, shared: &Shared, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        self.batch(name).filter(|_| self.running(shared) == Some(name))
    }

    /// The directory of the turn that a turn of the agent plans.
    fn folder_of(&self, turn: TurnId) -> Option<&str> {
        self.drafts.get(&turn).map(|draft| draft.folder.as_str())
    }

    fn batches(&self) -> impl Iterator<Item = (&FileTurn, &FileBatch)> {
        self.turns.iter().flat_map(|turn| turn.batches.iter().map(move |batch| (turn, batch)))
    }

    fn is_undoing(&self) -> bool {
        self.batches().any(|(_, batch)| matches!(batch.undo, UndoState::UnderWay(_)))
    }

    /// The want that the plan of the last turn is in its file.
    fn draft_to_file(&self, shared: &Shared) -> Option<Want> {
        let turn = shared.turns.last()?;
        let folder = self.file_turn(self.folder_of(turn.id)?)?;
        Some(Want::Filed {
            turn: turn.id,
            path: format!("{}/{PLAN_FILE}", folder.folder),
            content: self.drafted(shared).to_owned(),
            model: folder.model.clone(),
            cost_micros: folder.cost_micros,
        })
    }

    /// The plan in the agent's texts. The agent may write the plan first, and then remark that it has made one.
    fn drafted<'a>(&'a self, shared: &'a Shared) -> &'a str {
        let result = shared.turns.last().and_then(|turn| turn.result.as_deref()).unwrap_or_default();
        let is_plan = |text: &str| !text.trim().is_empty() && !ActionPlan::is_words(text);
        let said = self.said.iter().rev().map(String::as_str).find(|said| is_plan(said));
        if is_plan(result) { result } else { said.unwrap_or(result) }
    }

    fn check_wanted(&self, folder: &str, restore: bool) -> Option<Want> {
        let plan = self.file_turn(folder)?.plan.as_ref()?;
        let (folder, revision, plan) = (folder.to_owned(), plan.revision, plan.text.clone());
        Some(Want::PlanChecked { folder, revision, plan, restore })
    }

    fn batch_wanted(&self, shared: &Shared, name: &str) -> Vec<Want> {
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
            let (round, item) = shared.rounds.item(question)?;
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

impl FlowRules for TurnsFlow {
    fn first_turn(&self, _: &Created) -> Option<(TurnKind, String)> {
        None
    }

    fn phase(&self, shared: &Shared) -> PhaseView {
        match self.phase {
            TurnsPhase::Resting if self.review(shared).is_some() => PhaseView::Reviewing,
            TurnsPhase::Resting => PhaseView::Resting,
            TurnsPhase::Preparing(_) | TurnsPhase::Planning => PhaseView::Clarifying,
            TurnsPhase::Filing | TurnsPhase::Checking { .. } | TurnsPhase::Concluding { .. } => {
                PhaseView::Reporting
            }
            TurnsPhase::Running { .. } => PhaseView::Working,
        }
    }

    fn phase_name(&self) -> &'static str {
        match self.phase {
            TurnsPhase::Resting => "nothing is running",
            TurnsPhase::Preparing(_) => "the next turn is being prepared",
            TurnsPhase::Planning => "the agent is still clarifying the task",
            TurnsPhase::Filing => "the plan is being written",
            TurnsPhase::Checking { .. } => "the plan is being checked",
            TurnsPhase::Running { .. } => "the approved actions are running",
            TurnsPhase::Concluding { .. } => "the report is being written",
        }
    }

    fn status(&self, shared: &Shared) -> Option<Status> {
        match self.phase {
            TurnsPhase::Resting if self.review(shared).or(self.reply(shared)).is_some() => {
                Some(Status::NeedsInput)
            }
            TurnsPhase::Resting if self.is_undoing() => Some(Status::Running),
            TurnsPhase::Resting => Some(Status::Idle),
            TurnsPhase::Running { .. } => Some(Status::Running),
            TurnsPhase::Preparing(_)
            | TurnsPhase::Planning
            | TurnsPhase::Filing
            | TurnsPhase::Checking { .. }
            | TurnsPhase::Concluding { .. } => None,
        }
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        if let (Some(why), Some(what)) = (shared.handover.decided(), changing(act)) {
            return Err(Refusal::NotNow { what: what.into(), why: why.into() });
        }
        match act {
            Act::PlanTurn { .. } => self.start_draft(shared, by, act),
            Act::LeaveDraft => self.leave_draft(shared, by),
            Act::Review { folder } => self.start_review(shared, by, folder),
            Act::Approve { folder, revision, chosen } => self.approve(shared, by, folder, *revision, chosen),
            Act::AnswerReply { folder, .. } => {
                self.nothing_is_undone(reply::ANSWERING)?;
                match self.reply(shared).filter(|turn| turn.folder == *folder) {
                    Some(_) => {
                        let drafted = self.drafts.values().rev().find(|draft| draft.folder == *folder);
                        reply::answered(act, drafted.map(|draft| draft.asking).unwrap_or_default(), by)
                    }
                    None if self.is_resting(shared) => Err(reply::none_waits(folder)),
                    None => Err(self.not_now(shared, reply::ANSWERING)),
                }
            }
            Act::Skip { folder, .. } if self.reply(shared).is_some_and(|turn| turn.folder == *folder) => {
                Ok(vec![Event::ReplySkipped { folder: folder.clone(), by: by.clone() }])
            }
            Act::Skip { folder, message } => self.skip(shared, by, folder, message.as_ref()),
            Act::AcceptPlan { folder, text } => self.accept_plan(shared, by, folder, text),
            Act::RestorePlan { folder } => self.restore_plan(shared, by, folder),
            Act::Pause => self.pause(shared, by),
            Act::GoOn { batch, interrupted } => self.go_on(shared, by, batch, *interrupted),
            Act::Undo { batch, later } => self.undo(shared, by, batch, *later),
            Act::AcceptChanges { turns } => Ok(self.accept_changes(by, turns)),
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, shared: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        Ok(match world {
            World::Filed { turn, path } => self.filed(shared, *turn, path),
            World::TurnPrepared { .. } => match &self.phase {
                TurnsPhase::Preparing(next) if shared.is_going() => {
                    reply::prepared(next, shared.turns.next_id(), world)
                }
                _ => Vec::new(),
            },
            World::PlanChecked { folder, revision, problems, remarks, differs } => {
                let fact = Event::PlanChecked {
                    folder: folder.clone(),
                    revision: *revision,
                    problems: problems.clone(),
                    remarks: remarks.clone(),
                };
                self.plan_checked(shared, (folder, *revision), fact, differs.as_ref())
            }
            World::BatchInvalid { batch, problems } => self.batch_invalid(shared, batch, problems),
            World::BatchDiffers { batch, text } => self.batch_differs(shared, batch, text),
            World::ActionAsks { batch, action, message } => self.action_asks(shared, batch, *action, message),
            World::ActionEnded { batch, end } => self.action_ended(batch, end),
            World::BatchPaused { batch, reason, unsure } => self.batch_paused(batch, reason, *unsure),
            World::BatchEnded { batch, .. } => self.batch_ended(shared, batch, world),
            World::ReportFiled { folder, files } => self.report_filed(shared, folder, files),
            World::Undone { batch, outcome } => self.undone(batch, outcome),
            world => return stray(world),
        })
    }

    fn found(&self, shared: &Shared, found: &FoundTurns) -> Vec<Event> {
        self.found_turns(shared, found)
    }

    fn lost(&self, shared: &Shared) -> Option<Event> {
        let batch = self.running(shared)?.to_owned();
        Some(Event::BatchPaused { batch, reason: world::STOPPED.into(), unsure: None })
    }

    /// While it plans, the agent changes nothing, and asks only if it may. Rounds are counted for each turn
    /// separately.
    fn on_ask(&self, shared: &Shared, asked: &AskedCall<'_>) -> Option<Vec<Event>> {
        if !matches!(asked.ask, Ask::Questions(_)) {
            return Some(vec![decline(asked.turn, asked.call, prompt::ONLY_DRAFTING.into(), &[])]);
        }
        let turn = asked.turn.id;
        let reason = match self.drafts.get(&turn).map_or(Asking::default(), |draft| draft.asking) {
            Asking::Assume => Some(prompt::progress::DO_ASSUME.into()),
            Asking::Adaptive => {
                let rounds = shared.rounds.iter().filter(|round| round.is_of(turn));
                shared.no_more_rounds(rounds.count() as u32)
            }
        };
        Some(refuse_questions(asked, reason.filter(|_| asked.clarifies())?))
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, at: Timestamp) {
        self.fold(shared, fact, at);
        if let Event::Applied { .. } = fact {
            // The workplace is removed, so nothing can follow.
            shared.life = Life::Completed;
        }
    }

    fn rests(&self, shared: &Shared) -> bool {
        shared.is_over() || (self.is_resting(shared) && !self.is_undoing())
    }

    fn has_work_to_decide(&self, shared: &Shared) -> bool {
        let has_changed = self.batches().any(|(_, batch)| batch.has_changes && batch.stands());
        shared.is_over() || (self.rests(shared) && has_changed)
    }

    /// The batches to undo.
    fn wants_always(&self, _: &Shared) -> Vec<Want> {
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

    fn wants(&self, shared: &Shared) -> Vec<Want> {
        match &self.phase {
            TurnsPhase::Resting | TurnsPhase::Planning => Vec::new(),
            TurnsPhase::Preparing(next) => vec![Want::TurnPrepared(next.clone())],
            TurnsPhase::Filing => self.draft_to_file(shared).into_iter().collect(),
            TurnsPhase::Checking { folder, restore } => {
                self.check_wanted(folder, *restore).into_iter().collect()
            }
            TurnsPhase::Running { batch } => self.batch_wanted(shared, batch),
            TurnsPhase::Concluding { folder } => self.report_wanted(folder).into_iter().collect(),
        }
    }

    fn complete(&self, _: &Shared, order: &mut Order) {
        order.folder = self.folder_of(order.turn).map(str::to_owned);
    }
}

/// How an act that changes files or turns of a session is called in a refusal; `None` for other acts.
fn changing(act: &Act) -> Option<&'static str> {
    match act {
        Act::PlanTurn { .. } => Some("planning"),
        Act::AnswerReply { .. } => Some(reply::ANSWERING),
        Act::Approve { .. } => Some("approving"),
        Act::GoOn { .. } => Some("resuming a batch"),
        Act::Undo { .. } => Some("undoing a batch"),
        _ => None,
    }
}

/// The approved memos of a turn's last batch, once that has ended.
fn memos(turn: &FileTurn) -> Vec<Change> {
    let Some(batch) = turn.batch().filter(|batch| batch.is_ended && batch.stands()) else {
        return Vec::new();
    };
    let plan = turn.plan.as_ref().and_then(|plan| plan.read().ok());
    let all = plan.map(|plan| plan.memos).unwrap_or_default();
    let taken = all.into_iter().zip(&batch.chosen.memos).filter(|(_, left)| left.is_none());
    taken.map(|(memo, _)| memo).collect()
}
