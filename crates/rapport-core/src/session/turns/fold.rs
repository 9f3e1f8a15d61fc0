//! Folds facts about turns with directories into the state.

use jiff::Timestamp;

use crate::action_plan::ActionPlan;
use crate::event::{Asker, Event};
use crate::id::{ConversationId, QuestionId, TurnId};
use crate::report::{Overall, Report};
use crate::session::{Phase, Process, Session};
use crate::turn::{FileBatch, FileTurn, FoundTurn, TurnOrigin, TurnPlan, TurnStage, UndoState};

/// More problems than this are not reported.
const MOST_PROBLEMS: usize = 50;

impl Session {
    /// Folds a fact in that is about turns in directories. Others are for others.
    pub(in crate::session) fn apply_to_turns(&mut self, fact: &Event, at: Timestamp) {
        match fact {
            Event::DraftLeft { folder, .. } => self.draft_left(folder),
            Event::Filed { turn, .. } => self.plan_filed(*turn),
            Event::Sealed { folder, files, .. } => self.turn_sealed(folder, files.is_empty()),
            Event::TurnFound(found) => self.turn_found(found),
            Event::TurnGone { folder } => self.turn_gone(folder),
            Event::ReviewStarted { folder, .. } => self.check(folder, false),
            Event::PlanChecked { folder, problems, .. } => self.plan_was_checked(folder, problems, at),
            Event::PlanDiffers { folder, text } => {
                self.not_begun(folder);
                self.with_file_turn(folder, |turn| turn.differs = Some(text.clone()));
            }
            Event::PlanAccepted { folder, .. } => {
                self.with_file_turn(folder, |turn| {
                    if let (Some(text), Some(plan)) = (turn.differs.take(), &mut turn.plan) {
                        *plan = TurnPlan { text, revision: plan.revision + 1, is_checked: false };
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
                self.phase = Phase::Running { batch: batch.clone() };
            }
            Event::Skipped { folder, message, .. } => self.conclude(folder, at, Overall::Skipped, |report| {
                report.message.clone_from(message);
            }),
            Event::ActionAsked { batch, action, question } => self.with_batch(batch, |_, batch| {
                batch.asked.insert(*action, question.clone());
            }),
            Event::ActionEnded { batch, end } => self.with_batch(batch, |_, batch| {
                batch.ended.insert(end.action, end.clone());
                batch.unsure.take_if(|unsure| *unsure == end.action);
            }),
            Event::BatchPaused { batch, reason, unsure } => {
                self.with_batch(batch, |stage, batch| {
                    *stage = TurnStage::Paused;
                    batch.paused = Some(reason.clone());
                    batch.unsure = *unsure;
                });
                self.rest_if(|phase| matches!(phase, Phase::Running { batch: running } if running == batch));
            }
            Event::BatchResumed { batch, interrupted, .. } => {
                self.with_batch(batch, |stage, batch| {
                    *stage = TurnStage::Running;
                    batch.paused = None;
                    batch.unsure = None;
                    batch.interrupted = *interrupted;
                });
                self.phase = Phase::Running { batch: batch.clone() };
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
                    });
                    self.phase = Phase::Concluding { folder };
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
                // What was not reported yet can be approved anew.
                if *stage == TurnStage::Paused {
                    *stage = TurnStage::Planned;
                }
            }),
            _ => {}
        }
    }

    /// A turn is being planned. Another one that was is no longer.
    pub(in crate::session) fn draft_started(
        &mut self,
        turn: TurnId,
        folder: &str,
        conversation: &ConversationId,
        origin: Option<&TurnOrigin>,
    ) {
        self.conversation = conversation.clone();
        for other in self.file_turns.iter_mut().filter(|other| other.stage == TurnStage::Drafting) {
            other.stage = TurnStage::Unplanned { is_ready: true };
        }
        if self.file_turn(folder).is_none() {
            self.file_turns.push(FileTurn::new(folder));
        }
        self.with_file_turn(folder, |turn| {
            turn.stage = TurnStage::Drafting;
            turn.origin = origin.cloned().or(turn.origin.take());
        });
        self.with_turn(turn, |turn| turn.folder = Some(folder.to_owned()));
    }

    /// The file turn that a turn of the agent plans.
    pub(in crate::session) fn with_planned_by(&mut self, turn: TurnId, change: impl FnOnce(&mut FileTurn)) {
        let folder = self.turns.iter().find(|known| known.id == turn).and_then(|turn| turn.folder.clone());
        if let Some(folder) = folder {
            self.with_file_turn(&folder, change);
        }
    }

    fn draft_left(&mut self, folder: &str) {
        self.with_file_turn(folder, |turn| turn.stage = TurnStage::Unplanned { is_ready: true });
        self.end_agent_turn(folder);
        self.rest_if(|phase| match phase {
            Phase::Failed { was, .. } => matches!(**was, Phase::Clarifying | Phase::Filing),
            phase => matches!(phase, Phase::Clarifying | Phase::Filing),
        });
    }

    fn end_agent_turn(&mut self, folder: &str) {
        if let Some(turn) = self.turns.last_mut().filter(|turn| turn.folder.as_deref() == Some(folder)) {
            turn.process = Process::Over;
        }
    }

    fn plan_filed(&mut self, turn: TurnId) {
        let text = self.drafted().to_owned();
        let folder = self.turns.iter().find(|known| known.id == turn).and_then(|turn| turn.folder.clone());
        self.with_turn(turn, |turn| {
            // It is the plan's from here on.
            turn.said = Vec::new();
            turn.result = Some(String::new());
        });
        let Some(folder) = folder else {
            self.phase = Phase::Resting;
            return;
        };
        self.with_file_turn(&folder, |turn| {
            turn.plan = Some(TurnPlan { text, revision: 1, is_checked: false });
            turn.differs = None;
            turn.problems = Vec::new();
            turn.stage = TurnStage::Planned;
        });
        // A log of an older version says neither where the turn comes from nor what became of the plan: the directory does.
        match self.file_turn(&folder).and_then(|turn| turn.origin.as_ref()) {
            Some(_) => self.check(&folder, false),
            None => self.phase = Phase::Resting,
        }
    }

    fn check(&mut self, folder: &str, restore: bool) {
        self.with_file_turn(folder, |turn| turn.stage = TurnStage::Planned);
        self.phase = Phase::Checking { folder: folder.to_owned(), restore };
    }

    fn plan_was_checked(&mut self, folder: &str, problems: &[String], at: Timestamp) {
        self.not_begun(folder);
        self.with_file_turn(folder, |turn| {
            turn.differs = None;
            turn.problems = problems.to_vec();
            turn.plan.iter_mut().for_each(|plan| plan.is_checked = true);
        });
        if !problems.is_empty() {
            let told: Vec<_> = problems.iter().take(MOST_PROBLEMS).cloned().collect();
            self.conclude(folder, at, Overall::ValidationFailed, |report| report.problems = told);
        }
    }

    /// A batch that was approved and could not begin is none.
    fn not_begun(&mut self, folder: &str) {
        self.with_file_turn(folder, |turn| {
            if turn.stage == TurnStage::Running {
                turn.batches.pop();
                turn.stage = TurnStage::Planned;
            }
        });
        self.rest_if(|phase| matches!(phase, Phase::Checking { .. } | Phase::Running { .. }));
    }

    /// Nothing of a plan is done, and that is reported.
    fn conclude(&mut self, folder: &str, at: Timestamp, status: Overall, tell: impl FnOnce(&mut Report)) {
        let reason = match status {
            Overall::Skipped => "the plan was skipped",
            _ => "the plan is not valid",
        };
        self.with_file_turn(folder, |turn| {
            let text = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
            let plan = ActionPlan::parse(text).unwrap_or_else(|_| ActionPlan::unread(text));
            let mut report = Report::nothing_done(&plan, super::PLAN, status, reason, at);
            tell(&mut report);
            turn.stage = TurnStage::Ended;
            turn.status = Some(status);
            turn.report = Some(report.to_string());
        });
        self.phase = Phase::Concluding { folder: folder.to_owned() };
    }

    fn turn_sealed(&mut self, folder: &str, is_gone: bool) {
        if is_gone {
            self.file_turns.retain(|turn| turn.folder != folder);
        }
        self.with_file_turn(folder, |turn| {
            turn.stage = TurnStage::Complete;
            turn.plan = None;
            turn.report = None;
            turn.differs = None;
        });
        self.rest_if(|phase| match phase {
            Phase::Concluding { folder: due } | Phase::Checking { folder: due, .. } => due == folder,
            _ => false,
        });
    }

    fn turn_gone(&mut self, folder: &str) {
        self.end_agent_turn(folder);
        let batches: Vec<_> =
            self.file_turn(folder).into_iter().flat_map(|turn| &turn.batches).cloned().collect();
        let was_drafting = self.drafting().is_some_and(|turn| turn.folder == folder);
        self.file_turns.retain(|turn| turn.folder != folder);
        self.rest_if(|phase| match phase {
            Phase::Concluding { folder: due } | Phase::Checking { folder: due, .. } => due == folder,
            Phase::Running { batch } => batches.iter().any(|gone| gone.name == *batch),
            Phase::Clarifying | Phase::Filing => was_drafting,
            Phase::Failed { was, .. } => was_drafting && matches!(**was, Phase::Clarifying | Phase::Filing),
            _ => false,
        });
    }

    /// What the directory tells beside the facts. A plan that the facts know stays as they have it.
    fn turn_found(&mut self, found: &FoundTurn) {
        if self.file_turn(&found.folder).is_none() {
            self.file_turns.push(FileTurn::new(&found.folder));
        }
        let asked = self.asked_by_header();
        self.with_file_turn(&found.folder, |turn| {
            turn.origin = Some(found.origin.clone());
            if let TurnStage::Unplanned { .. } = turn.stage {
                turn.stage = TurnStage::Unplanned { is_ready: found.is_ready };
                if let Some(text) = &found.plan {
                    turn.plan = Some(TurnPlan { text: text.clone(), revision: 1, is_checked: false });
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
                batch.paused = Some("Rapport was stopped".into());
                turn.stage = TurnStage::Paused;
            }
        });
        let is_over = self.file_turn(&found.folder).is_some_and(|turn| turn.stage != TurnStage::Planned);
        self.rest_if(|phase| {
            is_over && matches!(phase, Phase::Checking { folder, .. } if *folder == found.folder)
        });
    }

    /// What Rapport itself asked and nobody withdrew, by its header.
    fn asked_by_header(&self) -> Vec<(String, QuestionId)> {
        let rounds =
            self.rounds.iter().filter(|round| round.asker == Asker::Rapport && round.closed.is_none());
        let items = rounds.flat_map(|round| &round.items);
        items.filter_map(|item| Some((item.question.header.clone()?, item.question.id.clone()))).collect()
    }

    fn rest_if(&mut self, is_over: impl FnOnce(&Phase) -> bool) {
        if is_over(&self.phase) {
            self.phase = Phase::Resting;
        }
    }

    fn with_file_turn(&mut self, folder: &str, change: impl FnOnce(&mut FileTurn)) {
        if let Some(turn) = self.file_turns.iter_mut().find(|turn| turn.folder == folder) {
            change(turn);
        }
    }

    fn with_batch(&mut self, name: &str, change: impl FnOnce(&mut TurnStage, &mut FileBatch)) {
        for turn in &mut self.file_turns {
            if let Some(batch) = turn.batches.iter_mut().find(|batch| batch.name == name) {
                return change(&mut turn.stage, batch);
            }
        }
    }
}

/// The action of a batch that asked a question. Logs of older versions say so only in the question's header.
fn asked_by(batch: &str, header: &str, question: &QuestionId) -> Option<(usize, QuestionId)> {
    let number: usize = header.strip_prefix(batch)?.strip_prefix(" action ")?.parse().ok()?;
    Some((number.checked_sub(1)?, question.clone()))
}
