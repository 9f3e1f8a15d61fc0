//! Decides the engine's inputs for turns: the content of the directories, whether a plan can be carried out, the
//! progress of a batch, written reports, undone batches. An input for which no want is open changes nothing.

use std::collections::BTreeMap;

use crate::event::{Asker, Event};
use crate::id::TurnId;
use crate::input::NewQuestion;
use crate::input::World;
use crate::session::round::Round;
use crate::session::shared::Shared;
use crate::turn::{
    ActionEnd, FileBatch, FileTurn, FoundBatch, FoundTurn, FoundTurns, TurnStage, UndoProblem, UndoState,
    UndoneFiles,
};

/// The reason why a batch pauses if its process died.
pub(super) const STOPPED: &str = "Rapport was stopped";

use super::{TurnsFlow, TurnsPhase};

impl TurnsFlow {
    pub(super) fn filed(&self, shared: &Shared, turn: TurnId, path: &str) -> Vec<Event> {
        let is_filing = self.phase == TurnsPhase::Filing && shared.is_going();
        let is_due = is_filing && shared.turns.last().is_some_and(|last| last.id == turn);
        is_due.then(|| Event::Filed { turn, path: path.into() }).into_iter().collect()
    }

    /// The turns whose directories contain something that is neither in a fact nor written by Rapport: it came from
    /// elsewhere, with a `git pull` for example. It is not used before a person has seen it.
    pub(crate) fn unknown_turns(&self, found: &FoundTurns) -> Vec<String> {
        let is_unknown = |found: &&FoundTurn| !found.is_ours && self.is_untold(found);
        found.turns.iter().filter(is_unknown).map(|found| found.folder.clone()).collect()
    }

    /// Whether a directory contains something that would take effect and that no fact mentions.
    fn is_untold(&self, found: &FoundTurn) -> bool {
        let Some(known) = self.file_turn(&found.folder) else { return found.says_anything() };
        let is_ready = found.is_ready || known.stage == TurnStage::Unplanned { is_ready: true };
        let is_unplanned = matches!(known.stage, TurnStage::Unplanned { .. });
        known.origin.is_none() && found.says_anything()
            || found.is_complete && !matches!(known.stage, TurnStage::Ended | TurnStage::Complete)
            || is_unplanned && (found.plan.is_some() || is_ready && found.shown != known.shown)
    }

    /// The facts that follow from the directories and are not in the log, after the session was replayed.
    pub(super) fn found_turns(&self, shared: &Shared, found: &FoundTurns) -> Vec<Event> {
        let mut facts = Vec::new();
        for turn in &found.turns {
            match self.file_turn(&turn.folder) {
                Some(known) if !is_news(known, turn) => facts.extend(self.found_batches(known, turn)),
                _ => facts.push(Event::TurnFound(turn.clone())),
            }
            if turn.is_complete
                && !self.sealed.contains_key(&turn.folder)
                && !self.is_concluding(&turn.folder)
            {
                let (folder, files) = (turn.folder.clone(), turn.files.clone());
                facts.push(Event::Sealed { folder, files, by: None });
            }
        }
        let there = found.folders();
        let gone =
            |turn: &&FileTurn| turn.stage != TurnStage::Complete && !there.contains(turn.folder.as_str());
        for turn in self.turns.iter().filter(gone) {
            let is_asked_there = |round: &Round| {
                self.drafts.iter().any(|(id, draft)| round.is_of(*id) && draft.folder == turn.folder)
            };
            facts.extend(shared.rounds.withdraw_open(is_asked_there, "the directory of its turn is gone"));
            facts.push(Event::TurnGone { folder: turn.folder.clone() });
        }
        facts
    }

    fn is_concluding(&self, folder: &str) -> bool {
        self.file_turn(folder).is_some_and(|turn| turn.stage == TurnStage::Ended)
    }

    /// The facts that follow from the journal of an unfinished batch and are not in the log.
    fn found_batches(&self, known: &FileTurn, found: &FoundTurn) -> Vec<Event> {
        let Some(batch) = known.batch().filter(|batch| !batch.is_ended && batch.stands()) else {
            return Vec::new();
        };
        let found = found.batches.iter().find(|found| found.approved_at == batch.approved_at);
        let ended = found.into_iter().flat_map(|found| &found.ended);
        let new = ended.filter(|end| !batch.ended.contains_key(&end.action));
        let mut facts: Vec<_> =
            new.map(|end| Event::ActionEnded { batch: batch.name.clone(), end: end.clone() }).collect();
        let unsure = found.and_then(|found: &FoundBatch| found.unsure);
        if known.stage == TurnStage::Running || known.stage == TurnStage::Paused && unsure != batch.unsure {
            let reason = batch.paused.clone().unwrap_or_else(|| STOPPED.into());
            facts.push(Event::BatchPaused { batch: batch.name.clone(), reason, unsure });
        }
        facts
    }

    /// Decides the result of checking a plan.
    pub(super) fn plan_checked(
        &self,
        shared: &Shared,
        (folder, revision): (&str, u32),
        fact: Event,
        differs: Option<&String>,
    ) -> Vec<Event> {
        let is_checking = matches!(&self.phase, TurnsPhase::Checking { folder: due, .. } if due == folder);
        let plan = self.file_turn(folder).and_then(|turn| turn.plan.as_ref());
        if !is_checking || !shared.is_going() || plan.is_none_or(|plan| plan.revision != revision) {
            return Vec::new();
        }
        match differs {
            Some(text) => vec![Event::PlanDiffers { folder: folder.to_owned(), text: text.clone() }],
            None => vec![fact],
        }
    }

    /// Decides that a batch could not begin.
    pub(super) fn batch_invalid(&self, shared: &Shared, batch: &str, problems: &[String]) -> Vec<Event> {
        let Some((turn, _)) = self.running_batch(shared, batch) else { return Vec::new() };
        let revision = turn.plan.as_ref().map_or(0, |plan| plan.revision);
        let (folder, problems) = (turn.folder.clone(), problems.to_vec());
        vec![Event::PlanChecked { folder, revision, problems, remarks: Vec::new() }]
    }

    pub(super) fn batch_differs(&self, shared: &Shared, batch: &str, text: &str) -> Vec<Event> {
        let Some((turn, _)) = self.running_batch(shared, batch) else { return Vec::new() };
        vec![Event::PlanDiffers { folder: turn.folder.clone(), text: text.to_owned() }]
    }

    /// Decides a question of an action. After a kill the action repeats it, and no person is asked twice.
    pub(super) fn action_asks(
        &self,
        shared: &Shared,
        batch: &str,
        action: usize,
        message: &str,
    ) -> Vec<Event> {
        let Some((_, running)) = self.running_batch(shared, batch) else { return Vec::new() };
        if running.asked.contains_key(&action) {
            return Vec::new();
        }
        let draft = NewQuestion { text: message.to_owned(), free_text: true, ..NewQuestion::default() };
        let questions = shared.rounds.named(&[draft]);
        let Some(question) = questions.first().map(|question| question.id.clone()) else { return Vec::new() };
        vec![
            Event::Asked { round: shared.rounds.next_id(), asker: Asker::Rapport, questions },
            Event::ActionAsked { batch: batch.to_owned(), action, question },
        ]
    }

    pub(super) fn action_ended(&self, batch: &str, end: &ActionEnd) -> Vec<Event> {
        let known = self.batch(batch).filter(|(turn, _)| is_open(turn, batch));
        let is_new = known.is_some_and(|(_, known)| !known.ended.contains_key(&end.action));
        is_new.then(|| Event::ActionEnded { batch: batch.to_owned(), end: end.clone() }).into_iter().collect()
    }

    /// Decides that a batch stopped early. A person who stopped it may not know yet that a command was interrupted.
    pub(super) fn batch_paused(&self, batch: &str, reason: &str, unsure: Option<usize>) -> Vec<Event> {
        let Some((turn, known)) = self.batch(batch).filter(|(turn, _)| is_open(turn, batch)) else {
            return Vec::new();
        };
        let is_news = turn.stage == TurnStage::Running || unsure.is_some() && unsure != known.unsure;
        let reason = known.paused.clone().unwrap_or_else(|| reason.to_owned());
        is_news.then(|| Event::BatchPaused { batch: batch.to_owned(), reason, unsure }).into_iter().collect()
    }

    pub(super) fn batch_ended(&self, shared: &Shared, batch: &str, ended: &World) -> Vec<Event> {
        let World::BatchEnded { status, report, has_changes, .. } = ended else { return Vec::new() };
        // The batch may have ended at the moment when it was paused.
        let is_due = self.batch(batch).is_some_and(|(turn, _)| is_open(turn, batch));
        let is_free = self.running(shared) == Some(batch) || self.is_resting(shared);
        let ended = || Event::BatchEnded {
            batch: batch.to_owned(),
            status: *status,
            report: report.clone(),
            has_changes: *has_changes,
        };
        (is_due && is_free).then(ended).into_iter().collect()
    }

    pub(super) fn report_filed(
        &self,
        shared: &Shared,
        folder: &str,
        files: &BTreeMap<String, String>,
    ) -> Vec<Event> {
        let is_due = matches!(&self.phase, TurnsPhase::Concluding { folder: due } if due == folder);
        let (folder, files) = (folder.to_owned(), files.clone());
        (is_due && shared.is_going())
            .then_some(Event::Sealed { folder, files, by: None })
            .into_iter()
            .collect()
    }

    pub(super) fn undone(&self, batch: &str, outcome: &Result<UndoneFiles, UndoProblem>) -> Vec<Event> {
        let known = self.batch(batch).map(|(_, batch)| batch);
        if !known.is_some_and(|batch: &FileBatch| matches!(batch.undo, UndoState::UnderWay(_))) {
            return Vec::new();
        }
        let batch = batch.to_owned();
        vec![match outcome {
            Ok(files) => Event::Undone { batch, files: files.clone() },
            Err(problem) => Event::UndoRefused { batch, problem: problem.clone() },
        }]
    }
}

/// Whether this is the latest batch of a turn, and has not ended.
fn is_open(turn: &FileTurn, batch: &str) -> bool {
    matches!(turn.stage, TurnStage::Running | TurnStage::Paused)
        && turn.batch().is_some_and(|latest| latest.name == batch && latest.stands())
}

/// Whether a directory contains something that no fact mentions: the origin of the turn, or a plan that was put
/// there.
fn is_news(known: &FileTurn, found: &FoundTurn) -> bool {
    known.origin.is_none()
        || matches!(known.stage, TurnStage::Unplanned { .. })
            && (found.plan.is_some() || found.is_complete || found.is_ready && found.shown != known.shown)
}
