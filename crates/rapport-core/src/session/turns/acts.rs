//! Decides people's acts on a turn: plan it, review its plan, approve or skip it, resume a batch, undo it.

use std::collections::BTreeMap;

use crate::answer::{By, MAX_TEXT};
use crate::event::Event;
use crate::input::Act;
use crate::refusal::Refusal;
use crate::session::flow::{FlowRules as _, unknown_act};
use crate::session::round::RoundItem;
use crate::session::shared::Shared;
use crate::turn::{Chosen, FileBatch, FileTurn, Interrupted, LaterChanges, TurnStage, UndoState};

use super::{PLAN_FILE, TurnsFlow, TurnsPhase};

impl TurnsFlow {
    /// Decides to have a turn planned. A failed turn can be planned again, with another prompt or in another directory;
    /// its open questions are withdrawn.
    pub(super) fn start_draft(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        let Act::PlanTurn { folder, conversation, asking, origin, shown } = act else {
            return unknown_act(self, shared, act);
        };
        let failed_draft = self.is_failed_draft(shared);
        if !self.is_resting(shared) && !failed_draft {
            return Err(self.not_now(shared, "planning"));
        }
        self.nothing_is_undone("planning")?;
        let is_planned =
            |turn: &FileTurn| !matches!(turn.stage, TurnStage::Unplanned { .. } | TurnStage::Planning);
        if self.file_turn(folder).is_some_and(is_planned) {
            return Err(refused("planning", format!("turn {folder} has a plan")));
        }
        let left = shared.rounds.withdraw_open(|_| failed_draft, "another plan is made instead");
        let restarted = failed_draft.then(|| Event::Restarted { by: by.clone() });
        let started = Event::PlanStarted {
            turn: shared.turns.next_id(),
            folder: folder.clone(),
            conversation: conversation.clone(),
            asking: *asking,
            origin: origin.clone(),
            shown: shown.clone(),
        };
        Ok(left.into_iter().chain(restarted).chain([started]).collect())
    }

    /// Decides to abandon the plan that is being made.
    pub(super) fn leave_draft(&self, shared: &Shared, by: &By) -> Result<Vec<Event>, Refusal> {
        let Some(turn) = self.drafting().filter(|_| !shared.is_over()) else {
            return Err(self.not_now(shared, "abandoning the plan"));
        };
        let mut facts =
            shared.rounds.withdraw_open(|round| round.call().is_some(), "something else is planned instead");
        facts.push(Event::PlanLeft { folder: turn.folder.clone(), by: by.clone() });
        Ok(facts)
    }

    /// Decides to review a plan.
    pub(super) fn start_review(&self, shared: &Shared, by: &By, folder: &str) -> Result<Vec<Event>, Refusal> {
        self.planned(shared, "reviewing", folder)?;
        Ok(vec![Event::ReviewStarted { folder: folder.to_owned(), by: by.clone() }])
    }

    /// Decides to approve a plan. The person must have seen the current revision, and the selection must fit it, so
    /// that nothing is approved unseen.
    pub(super) fn approve(
        &self,
        shared: &Shared,
        by: &By,
        folder: &str,
        revision: u32,
        chosen: &Chosen,
    ) -> Result<Vec<Event>, Refusal> {
        const WHAT: &str = "approving";
        let turn = self.planned(shared, WHAT, folder)?;
        if turn.differs.is_some() {
            return Err(refused(
                WHAT,
                format!("{folder}/{} was changed; accept or restore it first", PLAN_FILE),
            ));
        }
        let plan = turn.plan.as_ref().filter(|plan| plan.revision == revision);
        let Some(plan) = plan else {
            return Err(refused(WHAT, "the plan has changed since; look at it again".into()));
        };
        let Ok(parsed) = plan.read() else {
            return Err(refused(WHAT, "the plan cannot be read; look at it again".into()));
        };
        let fits = (chosen.context.len(), chosen.memos.len(), chosen.actions.len())
            == (parsed.context.as_ref().map_or(0, Vec::len), parsed.memos.len(), parsed.actions.len());
        if !fits {
            return Err(refused(WHAT, "the selection does not fit the plan".into()));
        }
        if !chosen.is_any() && !parsed.actions.is_empty() {
            return Err(refused(WHAT, "no item of the plan is selected; skip it instead".into()));
        }
        Ok(vec![Event::Approved {
            folder: folder.to_owned(),
            batch: turn.next_batch(),
            revision,
            chosen: chosen.clone(),
            by: by.clone(),
        }])
    }

    /// Decides to skip a plan.
    pub(super) fn skip(
        &self,
        shared: &Shared,
        by: &By,
        folder: &str,
        message: Option<&String>,
    ) -> Result<Vec<Event>, Refusal> {
        self.planned(shared, "skipping", folder)?;
        if let Some(message) = message.filter(|message| message.len() > MAX_TEXT) {
            return Err(Refusal::TooLong { what: "message".into(), bytes: message.len(), limit: MAX_TEXT });
        }
        Ok(vec![Event::Skipped { folder: folder.to_owned(), message: message.cloned(), by: by.clone() }])
    }

    /// Decides to accept the plan as it was changed in its file.
    pub(super) fn accept_plan(
        &self,
        shared: &Shared,
        by: &By,
        folder: &str,
        text: &str,
    ) -> Result<Vec<Event>, Refusal> {
        const WHAT: &str = "accepting the plan";
        let turn = self.planned(shared, WHAT, folder)?;
        if turn.differs.as_deref() != Some(text) {
            return Err(refused(WHAT, "the file has changed since you saw it".into()));
        }
        Ok(vec![Event::PlanAccepted { folder: folder.to_owned(), by: by.clone() }])
    }

    /// Decides to discard the changes in the plan's file.
    pub(super) fn restore_plan(&self, shared: &Shared, by: &By, folder: &str) -> Result<Vec<Event>, Refusal> {
        const WHAT: &str = "restoring the plan";
        if self.planned(shared, WHAT, folder)?.differs.is_none() {
            return Err(refused(WHAT, "nobody changed it".into()));
        }
        Ok(vec![Event::PlanRestored { folder: folder.to_owned(), by: by.clone() }])
    }

    /// Decides to pause the running batch.
    pub(super) fn pause(&self, shared: &Shared, by: &By) -> Result<Vec<Event>, Refusal> {
        let Some(batch) = self.running(shared) else {
            return Err(self.not_now(shared, "stopping a batch"));
        };
        let reason = format!("{by} stopped it");
        Ok(vec![Event::BatchPaused { batch: batch.to_owned(), reason, unsure: None }])
    }

    /// Decides to resume a batch.
    pub(super) fn go_on(
        &self,
        shared: &Shared,
        by: &By,
        batch: &str,
        interrupted: Interrupted,
    ) -> Result<Vec<Event>, Refusal> {
        const WHAT: &str = "resuming a batch";
        let (turn, _) = self.known_batch(WHAT, batch)?;
        if !self.is_resting(shared) {
            return Err(self.not_now(shared, WHAT));
        }
        let is_latest = turn.batch().is_some_and(|latest| latest.name == batch && latest.stands());
        if turn.stage != TurnStage::Paused || !is_latest {
            return Err(refused(WHAT, format!("batch {batch} is not paused")));
        }
        self.nothing_is_undone(WHAT)?;
        Ok(vec![Event::BatchResumed { batch: batch.to_owned(), interrupted, by: by.clone() }])
    }

    /// Decides to undo a batch, even of a session that is over. Its open questions are withdrawn.
    pub(super) fn undo(
        &self,
        shared: &Shared,
        by: &By,
        batch: &str,
        later: LaterChanges,
    ) -> Result<Vec<Event>, Refusal> {
        const WHAT: &str = "undoing";
        let (_, known) = self.known_batch(WHAT, batch)?;
        if self.running(shared) == Some(batch) {
            return Err(self.not_now(shared, WHAT));
        }
        match known.undo {
            UndoState::Done(_) => return Err(refused(WHAT, format!("batch {batch} is already undone"))),
            UndoState::UnderWay(_) => {
                return Err(refused(WHAT, format!("batch {batch} is already being undone")));
            }
            UndoState::Not | UndoState::Stuck(_) => {}
        }
        let mut facts = withdraw_asked(shared, known);
        facts.push(Event::UndoStarted { batch: batch.to_owned(), later, by: by.clone() });
        Ok(facts)
    }

    /// Decides to accept changed files of complete turns.
    pub(super) fn accept_changes(
        &self,
        by: &By,
        turns: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Vec<Event> {
        let changed = turns
            .iter()
            .filter(|(folder, files)| self.sealed.get(*folder).is_some_and(|sealed| sealed != *files));
        let sealed = |(folder, files): (&String, &BTreeMap<String, String>)| Event::Sealed {
            folder: folder.clone(),
            files: files.clone(),
            by: Some(by.clone()),
        };
        changed.map(sealed).collect()
    }

    /// The turn in this directory, if its plan waits and nothing else is in progress.
    fn planned(&self, shared: &Shared, what: &'static str, folder: &str) -> Result<&FileTurn, Refusal> {
        let turn =
            self.file_turn(folder).ok_or_else(|| refused(what, format!("there is no turn {folder}")))?;
        if !self.is_resting(shared) {
            return Err(self.not_now(shared, what));
        }
        self.nothing_is_undone(what)?;
        match turn.stage {
            TurnStage::Planned => Ok(turn),
            TurnStage::Unplanned { .. } | TurnStage::Planning => {
                Err(refused(what, format!("turn {folder} has no plan yet")))
            }
            TurnStage::Running | TurnStage::Paused => {
                Err(refused(what, format!("the plan of turn {folder} is already approved")))
            }
            TurnStage::Ended | TurnStage::Complete => Err(refused(what, format!("turn {folder} is over"))),
        }
    }

    fn known_batch(&self, what: &'static str, batch: &str) -> Result<(&FileTurn, &FileBatch), Refusal> {
        self.batch(batch).ok_or_else(|| refused(what, format!("there is no batch {batch}")))
    }

    /// Refuses to build on a partially undone batch.
    pub(super) fn nothing_is_undone(&self, what: &'static str) -> Result<(), Refusal> {
        let half = self.batches().find_map(|(_, batch)| match &batch.undo {
            UndoState::UnderWay(_) => Some(format!("batch {} is being undone", batch.name)),
            UndoState::Stuck(problem) => {
                Some(format!("undoing batch {} was interrupted: {}", batch.name, problem.reason))
            }
            UndoState::Not | UndoState::Done(_) => None,
        });
        half.map_or(Ok(()), |why| Err(refused(what, why)))
    }

    /// Whether the session failed while planning, or while what the agent is shown was gathered.
    fn is_failed_draft(&self, shared: &Shared) -> bool {
        let plans =
            matches!(self.phase, TurnsPhase::Preparing(_) | TurnsPhase::Planning | TurnsPhase::Filing);
        shared.is_failed() && plans
    }
}

fn withdraw_asked(shared: &Shared, batch: &FileBatch) -> Vec<Event> {
    let is_asked = |item: &RoundItem| batch.asked.values().any(|asked| *asked == item.question.id);
    shared
        .rounds
        .withdraw_open(|round| round.items.iter().any(is_asked), "its batch no longer needs an answer")
}

fn refused(what: &'static str, why: String) -> Refusal {
    Refusal::NotNow { what: what.into(), why }
}
