//! Applies facts about turns with directories to the state.

use jiff::Timestamp;

use crate::action_plan::{ActionPlan, Change};
use crate::event::{Asker, Event};
use crate::id::{QuestionId, TurnId};
use crate::report::Report;
use crate::session::agent_turns::Process;
use crate::session::shared::{Life, Shared};
use crate::turn::{ActionResult, FileBatch, FileTurn, FoundTurn, TurnOrigin, TurnPlan, TurnStage, UndoState};
use crate::want::NextTurn;

use super::{DraftedTurn, PLAN_FILE, TurnsFlow, TurnsPhase, reply, world};

/// The maximum number of problems to report.
const MOST_PROBLEMS: usize = 50;

impl TurnsFlow {
    /// Applies a fact, if it is about turns with directories.
    pub(super) fn fold(&mut self, shared: &mut Shared, fact: &Event, at: Timestamp) {
        match fact {
            Event::PlanStarted { turn, folder, asking, origin, shown, .. } => {
                let draft = DraftedTurn { folder: folder.clone(), asking: *asking };
                self.draft_started(*turn, draft, origin.as_ref());
                self.with_file_turn(folder, |turn| turn.shown.clone_from(shown));
            }
            Event::Connected { turn, model, .. } => {
                let model = model.clone();
                self.with_planned_by(*turn, |turn| turn.model = model.or(turn.model.take()));
            }
            Event::Said { text, .. } => self.said.push(text.clone()),
            Event::Spent { turn, usage } => {
                self.with_planned_by(*turn, |turn| turn.cost_micros += usage.cost_micros);
            }
            Event::TurnEnded { .. } => self.phase = TurnsPhase::Filing,
            Event::PlanLeft { folder, .. } => self.draft_left(shared, folder),
            Event::Filed { turn, .. } => self.plan_filed(shared, *turn),
            Event::Sealed { folder, files, .. } => {
                self.sealed.insert(folder.clone(), files.clone());
                self.turn_sealed(shared, folder, files.is_empty());
            }
            Event::TurnFound(found) => self.turn_found(shared, found),
            Event::TurnGone { folder } => self.turn_gone(shared, folder),
            Event::ReplyAnswered { folder, text, asking, is_size_agreed, .. } => {
                let words = reply::settle(&mut self.turns, folder).unwrap_or_default();
                self.phase = TurnsPhase::Preparing(NextTurn {
                    after: folder.clone(),
                    words,
                    answer: text.clone(),
                    asking: *asking,
                    is_size_agreed: *is_size_agreed,
                });
            }
            Event::ReplySkipped { folder, .. } => drop(reply::settle(&mut self.turns, folder)),
            Event::ReviewStarted { folder, .. } => self.check(folder, false),
            Event::PlanChecked { folder, problems, remarks, .. } => {
                self.with_file_turn(folder, |turn| {
                    turn.plan.iter_mut().for_each(|plan| plan.remarks.clone_from(remarks));
                });
                self.plan_was_checked(shared, folder, problems, at);
            }
            Event::PlanDiffers { folder, text } => {
                self.not_begun(shared, folder);
                self.with_file_turn(folder, |turn| turn.differs = Some(text.clone()));
            }
            Event::PlanAccepted { folder, .. } => {
                self.with_file_turn(folder, |turn| {
                    if let (Some(text), Some(plan)) = (turn.differs.take(), &mut turn.plan) {
                        *plan = TurnPlan::unchecked(text, plan.revision + 1, &plan.project);
                    }
                });
                self.check(folder, false);
            }
            Event::PlanRestored { folder, .. } => {
                self.with_file_turn(folder, |turn| turn.differs = None);
                self.check(folder, true);
            }
            Event::Approved { folder, batch, chosen, by, .. } => {
                self.with_file_turn(folder, |turn| {
                    turn.stage = TurnStage::Running;
                    turn.batches.push(FileBatch::approved(batch, at, chosen, Some(by)));
                });
                self.phase = TurnsPhase::Running { batch: batch.clone() };
            }
            Event::Skipped { folder, message, .. } => self.conclude(folder, |plan| Report {
                message: message.clone(),
                ..Report::skipped(plan, PLAN_FILE, at)
            }),
            Event::ActionAsked { batch, action, question } => self.with_batch(batch, |_, batch| {
                batch.asked.insert(*action, question.clone());
            }),
            Event::ActionEnded { batch, end } => {
                let failed = (end.result == ActionResult::Failed).then(|| self.in_brief(batch, end.action));
                self.with_batch(batch, |_, batch| {
                    batch.ended.insert(end.action, end.clone());
                    batch.failed.extend(failed.flatten().map(|name| (end.action, name)));
                    batch.unsure.take_if(|unsure| *unsure == end.action);
                });
            }
            Event::BatchPaused { batch, reason, unsure } => {
                self.with_batch(batch, |stage, batch| {
                    *stage = TurnStage::Paused;
                    batch.paused = Some(reason.clone());
                    batch.unsure = *unsure;
                });
                self.rest_if(
                    shared,
                    |phase| matches!(phase, TurnsPhase::Running { batch: running } if running == batch),
                );
            }
            Event::BatchResumed { batch, interrupted, .. } => {
                self.with_batch(batch, |stage, batch| {
                    *stage = TurnStage::Running;
                    batch.paused = None;
                    batch.unsure = None;
                    batch.interrupted = *interrupted;
                });
                self.phase = TurnsPhase::Running { batch: batch.clone() };
            }
            Event::BatchEnded { batch, status, report, has_changes } => {
                let folder = self.batch(batch).map(|(turn, _)| turn.folder.clone());
                self.with_batch(batch, |stage, batch| {
                    *stage = TurnStage::Ended;
                    batch.paused = None;
                    batch.unsure = None;
                    batch.is_ended = true;
                    batch.has_changes = *has_changes;
                });
                if let Some(folder) = folder {
                    self.with_file_turn(&folder, |turn| {
                        turn.status = Some(*status);
                        turn.report = Some(report.clone());
                        turn.approved_context = approved_context(turn);
                    });
                    self.phase = TurnsPhase::Concluding { folder };
                }
            }
            Event::UndoStarted { batch, later, by } => {
                self.with_batch(batch, |_, batch| {
                    batch.undo = UndoState::UnderWay(*later);
                    batch.undo_refused = None;
                    batch.undo_by = Some(by.clone());
                });
            }
            Event::UndoRefused { batch, problem } => self.with_batch(batch, |_, batch| {
                batch.undo =
                    if problem.is_partial { UndoState::Stuck(problem.clone()) } else { UndoState::Not };
                batch.undo_refused = Some(problem.clone());
            }),
            Event::Undone { batch, files } => self.with_batch(batch, |stage, batch| {
                batch.undo = UndoState::Done(files.clone());
                batch.paused = None;
                // A batch without a report can be approved again.
                if *stage == TurnStage::Paused {
                    *stage = TurnStage::Planned;
                }
            }),
            _ => {}
        }
    }

    /// Records that a turn is being planned, and no other one.
    fn draft_started(&mut self, turn: TurnId, draft: DraftedTurn, origin: Option<&TurnOrigin>) {
        self.phase = TurnsPhase::Planning;
        self.said = Vec::new();
        for other in self.turns.iter_mut().filter(|other| other.stage == TurnStage::Planning) {
            other.stage = TurnStage::Unplanned { is_ready: true };
        }
        if self.file_turn(&draft.folder).is_none() {
            self.turns.push(FileTurn::new(&draft.folder));
        }
        self.with_file_turn(&draft.folder, |turn| {
            turn.stage = TurnStage::Planning;
            turn.origin = origin.cloned().or(turn.origin.take());
        });
        self.drafts.insert(turn, draft);
    }

    /// Changes the turn that a turn of the agent plans.
    fn with_planned_by(&mut self, turn: TurnId, change: impl FnOnce(&mut FileTurn)) {
        if let Some(folder) = self.folder_of(turn).map(str::to_owned) {
            self.with_file_turn(&folder, change);
        }
    }

    fn draft_left(&mut self, shared: &mut Shared, folder: &str) {
        self.with_file_turn(folder, |turn| {
            turn.stage = TurnStage::Unplanned { is_ready: true };
        });
        self.end_agent_turn(shared, folder);
        self.leave_drafting(shared);
    }

    /// Records that nothing is being planned. If planning had failed, the session is active again.
    fn leave_drafting(&mut self, shared: &mut Shared) {
        let is_drafting = matches!(self.phase, TurnsPhase::Planning | TurnsPhase::Filing);
        if is_drafting && !shared.is_over() {
            self.phase = TurnsPhase::Resting;
            shared.life = Life::Going;
        }
    }

    fn end_agent_turn(&self, shared: &mut Shared, folder: &str) {
        let is_planning = |id: TurnId| self.folder_of(id) == Some(folder);
        if let Some(turn) = shared.turns.last_mut().filter(|turn| is_planning(turn.id)) {
            turn.process = Process::Over;
        }
    }

    fn plan_filed(&mut self, shared: &mut Shared, turn: TurnId) {
        let text = self.drafted(shared).to_owned();
        // The text is part of the plan now.
        self.said = Vec::new();
        shared.turns.with(turn, |turn| turn.result = Some(String::new()));
        let Some(folder) = self.folder_of(turn).map(str::to_owned) else {
            self.phase = TurnsPhase::Resting;
            return;
        };
        let project = shared.created.project.as_str();
        self.with_file_turn(&folder, |turn| {
            turn.plan = Some(TurnPlan::unchecked(text, 1, project));
            turn.differs = None;
            turn.problems = Vec::new();
            turn.stage = TurnStage::Planned;
        });
        // The log of an older version has neither the turn's origin nor the plan's result, but the directory has.
        match self.file_turn(&folder).and_then(|turn| turn.origin.as_ref()) {
            Some(_) => self.check(&folder, false),
            None => self.phase = TurnsPhase::Resting,
        }
    }

    fn check(&mut self, folder: &str, restore: bool) {
        self.with_file_turn(folder, |turn| turn.stage = TurnStage::Planned);
        self.phase = TurnsPhase::Checking { folder: folder.to_owned(), restore };
    }

    fn plan_was_checked(&mut self, shared: &Shared, folder: &str, problems: &[String], at: Timestamp) {
        self.not_begun(shared, folder);
        self.with_file_turn(folder, |turn| {
            turn.differs = None;
            turn.problems = problems.to_vec();
            let words = turn.plan.as_ref().map(|plan| &plan.text).filter(|text| ActionPlan::is_words(text));
            turn.words = words.filter(|_| !problems.is_empty()).cloned();
            turn.plan.iter_mut().for_each(|plan| plan.is_checked = true);
        });
        if !problems.is_empty() {
            let shown = &problems[..problems.len().min(MOST_PROBLEMS)];
            self.conclude(folder, |plan| Report::invalid(plan, PLAN_FILE, shown, at));
        }
    }

    /// Removes a batch that was approved and could not begin.
    fn not_begun(&mut self, shared: &Shared, folder: &str) {
        self.with_file_turn(folder, |turn| {
            if turn.stage == TurnStage::Running {
                turn.batches.pop();
                turn.stage = TurnStage::Planned;
            }
        });
        self.rest_if(shared, |phase| {
            matches!(phase, TurnsPhase::Checking { .. } | TurnsPhase::Running { .. })
        });
    }

    /// Ends a turn whose plan was not carried out, with a report that says so.
    fn conclude(&mut self, folder: &str, report: impl FnOnce(&ActionPlan) -> Report) {
        self.with_file_turn(folder, |turn| {
            let plan = turn.plan.as_ref().map_or_else(|| ActionPlan::unread(""), TurnPlan::shown);
            let report = report(&plan);
            turn.stage = TurnStage::Ended;
            turn.status = Some(report.status);
            turn.report = Some(report.to_string());
            turn.approved_context = Some(Vec::new());
        });
        self.phase = TurnsPhase::Concluding { folder: folder.to_owned() };
    }

    fn turn_sealed(&mut self, shared: &Shared, folder: &str, is_gone: bool) {
        if is_gone {
            self.turns.retain(|turn| turn.folder != folder);
        }
        self.with_file_turn(folder, |turn| {
            turn.stage = TurnStage::Complete;
            turn.plan = None;
            turn.report = None;
            turn.differs = None;
        });
        self.rest_if(shared, |phase| is_about(phase, folder));
    }

    fn turn_gone(&mut self, shared: &mut Shared, folder: &str) {
        self.end_agent_turn(shared, folder);
        let batches: Vec<_> =
            self.file_turn(folder).into_iter().flat_map(|turn| &turn.batches).cloned().collect();
        if self.drafting().is_some_and(|turn| turn.folder == folder) {
            self.leave_drafting(shared);
        }
        self.turns.retain(|turn| turn.folder != folder);
        self.rest_if(shared, |phase| match phase {
            TurnsPhase::Running { batch } => batches.iter().any(|gone| gone.name == *batch),
            phase => is_about(phase, folder),
        });
    }

    /// Applies what a directory contains besides the facts. A known plan keeps its text from the facts.
    fn turn_found(&mut self, shared: &Shared, found: &FoundTurn) {
        if self.file_turn(&found.folder).is_none() {
            self.turns.push(FileTurn::new(&found.folder));
        }
        let (asked, project) = (asked_by_header(shared), shared.created.project.as_str());
        self.with_file_turn(&found.folder, |turn| {
            turn.origin = Some(found.origin.clone());
            if turn.shown.is_none() {
                turn.shown.clone_from(&found.shown);
            }
            if let TurnStage::Unplanned { .. } = turn.stage {
                turn.stage = TurnStage::Unplanned { is_ready: found.is_ready };
                turn.shown.clone_from(&found.shown);
                if let Some(text) = &found.plan {
                    turn.plan = Some(TurnPlan::unchecked(text.clone(), 1, project));
                    turn.stage = TurnStage::Planned;
                }
            }
            if found.is_complete {
                turn.stage = TurnStage::Complete;
                turn.status = found.status;
                turn.plan = None;
            }
            if turn.batches.is_empty() {
                for batch in &found.batches {
                    let name = turn.next_batch();
                    let mut batch = FileBatch::found(&name, batch);
                    batch.asked =
                        asked.iter().filter_map(|(header, id)| asked_by(&name, header, id)).collect();
                    turn.batches.push(batch);
                }
            }
            let was_running = turn.stage == TurnStage::Planned && turn.batch().is_some_and(FileBatch::stands);
            if let Some(batch) = turn.batches.last_mut().filter(|_| was_running) {
                batch.paused = Some(world::STOPPED.into());
                turn.stage = TurnStage::Paused;
            }
        });
        let is_over = self.file_turn(&found.folder).is_some_and(|turn| turn.stage != TurnStage::Planned);
        self.rest_if(shared, |phase| {
            is_over && matches!(phase, TurnsPhase::Checking { folder, .. } if *folder == found.folder)
        });
    }

    /// Ends the current phase of an active session, if it matches.
    fn rest_if(&mut self, shared: &Shared, is_over: impl FnOnce(&TurnsPhase) -> bool) {
        if shared.is_going() && is_over(&self.phase) {
            self.phase = TurnsPhase::Resting;
        }
    }

    fn with_file_turn(&mut self, folder: &str, change: impl FnOnce(&mut FileTurn)) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.folder == folder) {
            change(turn);
        }
    }

    /// What an action of a batch does, in brief.
    fn in_brief(&self, batch: &str, action: usize) -> Option<String> {
        let plan = self.batch(batch)?.0.plan.as_ref()?.read().ok()?;
        plan.actions.get(action).map(|action| action.kind.in_brief())
    }

    fn with_batch(&mut self, name: &str, change: impl FnOnce(&mut TurnStage, &mut FileBatch)) {
        for turn in &mut self.turns {
            if let Some(batch) = turn.batches.iter_mut().find(|batch| batch.name == name) {
                return change(&mut turn.stage, batch);
            }
        }
    }
}

/// Whether the current phase is about the plan or the report of this turn.
fn is_about(phase: &TurnsPhase, folder: &str) -> bool {
    match phase {
        TurnsPhase::Concluding { folder: due } | TurnsPhase::Checking { folder: due, .. } => due == folder,
        TurnsPhase::Resting
        | TurnsPhase::Preparing(_)
        | TurnsPhase::Planning
        | TurnsPhase::Filing
        | TurnsPhase::Running { .. } => false,
    }
}

/// The questions that Rapport itself asked and that were not withdrawn, by header.
fn asked_by_header(shared: &Shared) -> Vec<(String, QuestionId)> {
    let rounds = shared.rounds.iter().filter(|round| round.asker == Asker::Rapport && round.closed.is_none());
    let items = rounds.flat_map(|round| &round.items);
    items.filter_map(|item| Some((item.question.header.clone()?, item.question.id.clone()))).collect()
}

/// The action of a batch that asked a question. Logs of older versions only have it in the question's header.
fn asked_by(batch: &str, header: &str, question: &QuestionId) -> Option<(usize, QuestionId)> {
    let number: usize = header.strip_prefix(batch)?.strip_prefix(" action ")?.parse().ok()?;
    Some((number.checked_sub(1)?, question.clone()))
}

/// The changes of the Active Context that the last batch of a turn was approved with, if its plan can be read.
fn approved_context(turn: &FileTurn) -> Option<Vec<Change>> {
    let (plan, batch) = (turn.plan.as_ref()?.read().ok()?, turn.batch()?);
    let all = plan.context.unwrap_or_default();
    let taken = all.into_iter().zip(&batch.chosen.context).filter(|(_, left)| left.is_none());
    Some(taken.map(|(change, _)| change).collect())
}
