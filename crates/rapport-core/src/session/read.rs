//! Read access to a session: its rounds in their current state, and everything else that channels show.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::flow::Flow;
use super::history::SessionHistory;
use super::{Life, Process, Round, Session, State, Stretch, Turn, WorkUndo};
use crate::activity::Activity;
use crate::answer::{Answer, By};
use crate::created::{AgentCommand, Created};
use crate::event::{Asker, Ending};
use crate::id::{QuestionId, RoundId, SessionId};
use crate::input::Merged;
use crate::message_queue::QueueTerms;
use crate::permission::Rule;
use crate::prompt;
use crate::question::Question;
use crate::routing::{Class, Grounding};
use crate::turn::{FileBatch, FileTurn, FoundTurns};
use crate::view::PhaseView;

/// The check sums of a session without turn directories.
static NOTHING_SEALED: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();

/// The current state of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundView<'a> {
    /// The id of the round.
    pub id: RoundId,
    /// Who asked.
    pub asker: &'a Asker,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// How it ended, if it ended without all its answers.
    pub closed: Option<&'a Ending>,
    /// Its questions, in order.
    pub items: Vec<QuestionView<'a>>,
}

/// The current state of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView<'a> {
    /// The question as it was asked.
    pub question: &'a Question,
    /// Its answer, and who gave it.
    pub given: Option<(&'a Answer, &'a By)>,
    /// The ground of the answer, if a lead gave it.
    pub because: Option<&'a Grounding>,
    /// The answer it had before it was reopened.
    pub previous: Option<&'a Answer>,
}

impl RoundView<'_> {
    /// Whether one of its questions still needs an answer.
    pub fn is_open(&self) -> bool {
        self.closed.is_none() && self.items.iter().any(|item| item.given.is_none())
    }
}

impl Session {
    /// What the session started from.
    pub fn created(&self) -> &Created {
        &self.shared.created
    }

    /// The project's directory.
    pub fn project(&self) -> &str {
        &self.shared.created.project
    }

    /// The message that asks the lead this question of the session with this id (LEAD-6).
    pub fn trigger(&self, id: &SessionId, question: &QuestionId) -> Option<String> {
        let (_, item) = self.shared.rounds.item(question)?;
        let created = &self.shared.created;
        let last_words = self.last_doing().map(ToString::to_string);
        Some(prompt::lead::trigger(
            id,
            &created.project,
            &created.task,
            &item.question,
            last_words.as_deref(),
        ))
    }

    /// The message that tells the lead of the session with this id that its work ended (LEAD-16).
    pub fn announcement(&self, id: &SessionId) -> String {
        let view = self.view(id);
        let created = &self.shared.created;
        let files = view.changes.as_ref().map(|changes| changes.files.len());
        let task = created.assignment.as_ref().and_then(|about| about.original_task.as_deref());
        prompt::lead::announcement(&prompt::lead::WorkEnd {
            session: id,
            project: &created.project,
            task: task.unwrap_or(&created.task),
            status: view.status,
            words: view.failure.as_deref().or(view.result.as_deref()),
            files,
            cost_micros: view.usage.cost_micros,
        })
    }

    /// The current class of a question.
    pub fn class_of(&self, question: &Question) -> Class {
        self.shared.routes.class_now(question, &self.shared.rounds)
    }

    /// The open questions that its lead was told of and still has to answer.
    pub fn with_lead(&self) -> Vec<QuestionId> {
        self.shared.with_lead()
    }

    /// What it took so far.
    pub fn history(&self) -> SessionHistory<'_> {
        SessionHistory { shared: &self.shared }
    }

    /// Whether its cost is limited.
    pub fn has_budget(&self) -> bool {
        self.shared.spending.budget(&self.shared.created.terms).is_some()
    }

    /// The number of log entries that are applied.
    pub fn seq(&self) -> u64 {
        self.shared.seq
    }

    /// The number of times that its work has ended, with any outcome.
    pub fn ends(&self) -> u32 {
        self.shared.ends
    }

    /// When it began and when it last changed.
    pub fn times(&self) -> (Timestamp, Timestamp) {
        (self.shared.created_at, self.shared.updated_at)
    }

    /// All rounds, oldest first.
    pub fn rounds(&self) -> impl Iterator<Item = RoundView<'_>> {
        self.shared.rounds.iter().map(|round| RoundView {
            id: round.id,
            asker: &round.asker,
            asked_at: round.asked_at,
            closed: round.closed.as_ref(),
            items: round.items.iter().map(|item| look(&item.question, &item.state)).collect(),
        })
    }

    /// Answered questions whose answers the agent has not received, because the session failed before.
    pub fn undelivered(&self) -> Vec<QuestionView<'_>> {
        self.undelivered_rounds()
            .flat_map(|round| &round.items)
            .map(|item| look(&item.question, &item.state))
            .collect()
    }

    pub(crate) fn undelivered_rounds(&self) -> impl Iterator<Item = &Round> {
        let turn = self.shared.turns.last().filter(|_| self.shared.is_failed());
        turn.into_iter().flat_map(|turn| self.shared.rounds.undelivered(turn.id))
    }

    /// The hosts that its agent may reach.
    pub fn allowed_hosts(&self) -> &[String] {
        &self.shared.hosts.allowed
    }

    /// The rules that allow calls without asking.
    pub fn rules(&self) -> &[Rule] {
        &self.shared.rules
    }

    /// Whether the session can no longer change.
    pub fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    /// Whether it failed, and waits to be restarted.
    pub fn is_failed(&self) -> bool {
        self.shared.is_failed()
    }

    /// Whether the agent was stopped. Nothing continues until a message comes or it is restarted.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        match &self.shared.life {
            Life::Failed { reason } => Some(reason),
            Life::Going | Life::Completed | Life::Cancelled => None,
        }
    }

    /// Its current phase.
    pub fn phase(&self) -> PhaseView {
        match () {
            () if self.is_over() => PhaseView::Ended,
            () if self.is_stopped() => PhaseView::Resting,
            () => self.flow.rules().phase(&self.shared),
        }
    }

    /// The agent that the session is bound to. If that agent never connected, the session is bound to none, because the
    /// settings may have been corrected since.
    pub fn agent(&self) -> Option<&AgentCommand> {
        self.shared.created.agent.as_ref().filter(|_| !self.shared.turns.agent_never_came)
    }

    /// Whether an agent ever connected.
    pub fn was_connected(&self) -> bool {
        self.shared.turns.was_connected()
    }

    /// Whether the agent has begun its turn and its process has ended, so that only an agent that can be resumed can
    /// continue the turn.
    pub fn needs_resuming(&self) -> bool {
        let is_gone = |turn: &Turn| matches!(turn.process, Process::CutOff | Process::Parked(_));
        let turn = self.shared.turns.current().filter(|turn| turn.connected && turn.stopped.is_none());
        self.shared.is_going() && turn.is_some_and(is_gone)
    }

    /// Whether a turn of the agent is in progress.
    pub fn has_turn(&self) -> bool {
        self.shared.is_going() && self.shared.turns.current().is_some_and(|turn| turn.stopped.is_none())
    }

    /// The agent's last activity in the current turn.
    pub fn last_doing(&self) -> Option<&Activity> {
        self.shared.turns.current().and_then(|turn| turn.doing.as_ref())
    }

    /// Whether the state of the files before its work is recorded, or known to be unavailable.
    pub fn has_worked(&self) -> bool {
        self.shared.turns.iter().any(|turn| turn.baseline.is_some())
    }

    /// The stretches of the work, in order: the state of the project's files before each, and the state after it. The
    /// diff shows the changes between these states. An undo goes back to the former and never further, because
    /// earlier changes may be a person's own. The last stretch has no end while it is in progress.
    pub fn stretches(&self) -> Vec<Stretch> {
        self.shared.record.stretches()
    }

    /// The command by which the finished work is being checked, if it is.
    pub fn being_checked(&self) -> Option<&str> {
        self.flow.work()?.being_checked(&self.shared).map(|(_, command)| command)
    }

    /// Whether the state in which the agent left the files has yet to be recorded. Until then nothing can be undone.
    pub fn is_left_unnoted(&self) -> bool {
        self.shared.record.is_left_unnoted
    }

    /// Whether files may have changed without a record, so that an empty diff means nothing.
    pub fn is_record_incomplete(&self) -> bool {
        self.shared.record.is_incomplete
    }

    /// Whether nothing continues by itself, so that the work so far can be undone.
    pub fn rests(&self) -> bool {
        self.flow.rules().rests(&self.shared)
    }

    /// The states between which the work would be undone, the latest stretch first: after the work, and before it.
    /// Empty if there is nothing to undo, or if the states are unknown.
    pub fn undoable_work(&self) -> Vec<Merged> {
        self.shared.undoable()
    }

    /// The progress of undoing the work.
    pub fn work_undo(&self) -> &WorkUndo {
        &self.shared.record.undo
    }

    /// The plan's folder and file name, if known.
    pub fn plan_name(&self) -> Option<(&str, &str)> {
        let plan = self.flow.rules().plan().map(|plan| (plan.goal.as_str(), plan.description.as_str()));
        plan.or_else(|| self.flow.work()?.outlined())
    }

    /// The plan in the agent's words.
    pub fn plan_text(&self) -> Option<&str> {
        self.flow.rules().plan().map(|plan| plan.text.as_str())
    }

    /// Whether an answer came after the plan was proposed, so that the plan may be outdated.
    pub fn is_plan_behind(&self) -> bool {
        self.flow.rules().plan().is_some_and(|plan| plan.is_behind)
    }

    /// The plan's path, from the project's root, if its file is up to date.
    pub fn plan_path(&self) -> Option<&str> {
        let plan = self.flow.rules().plan().filter(|plan| plan.saved == plan.revision)?;
        plan.path.as_deref()
    }

    /// Where the plan was last saved, in its current form or before an answer changed it.
    pub fn last_plan_path(&self) -> Option<&str> {
        self.flow.rules().plan()?.path.as_deref()
    }

    /// How messages reach the agent of a conversation while it works: now, and when the conversation began.
    pub fn queue_terms(&self) -> (QueueTerms, QueueTerms) {
        (self.shared.created.terms.queue, self.shared.queue_at_start)
    }

    /// The number of messages that wait for the agent.
    pub fn queued(&self) -> usize {
        let in_turn = self.shared.turns.current().map_or(0, |turn| turn.unread().count());
        match &self.flow {
            Flow::Chat(flow) => flow.queued() + in_turn,
            Flow::Work(_) | Flow::Progress(_) | Flow::Turns(_) => in_turn,
        }
    }

    /// The turns that have directories, in the order in which they became known.
    pub fn file_turns(&self) -> &[FileTurn] {
        self.flow.turns().map_or(&[], |flow| flow.file_turns())
    }

    /// The turns whose directories contain something that is neither in a fact nor written by Rapport.
    pub fn unknown_turns(&self, found: &FoundTurns) -> Vec<String> {
        self.flow.turns().map_or_else(Vec::new, |flow| flow.unknown_turns(found))
    }

    /// The turn in this directory.
    pub fn file_turn(&self, folder: &str) -> Option<&FileTurn> {
        self.flow.turns()?.file_turn(folder)
    }

    /// The latest turn.
    pub fn latest_turn(&self) -> Option<&FileTurn> {
        self.flow.turns()?.latest_turn()
    }

    /// The turn whose plan waits for a person: for review, or for a decision on its paused batch.
    pub fn review(&self) -> Option<&FileTurn> {
        self.flow.turns()?.review(&self.shared)
    }

    /// The turn to which the agent replied in words, if nothing was planned since: the reply waits for an answer.
    pub fn reply(&self) -> Option<&FileTurn> {
        self.flow.turns()?.reply(&self.shared)
    }

    /// The turn that the agent is planning, or was planning when it failed.
    pub fn drafting(&self) -> Option<&FileTurn> {
        self.flow.turns()?.drafting()
    }

    /// The batch with this name, and its turn.
    pub fn batch(&self, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        self.flow.turns()?.batch(name)
    }

    /// A partially undone batch. Nothing may build on it until the rest is undone.
    pub fn half_undone(&self) -> Option<&FileBatch> {
        self.flow.turns()?.half_undone()
    }

    /// Whether a batch is running.
    pub fn is_running(&self) -> bool {
        self.flow.turns().is_some_and(|flow| flow.is_running(&self.shared))
    }

    /// Check sums of the files of complete turns, by directory.
    pub fn sealed(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        self.flow.turns().map_or(&NOTHING_SEALED, |flow| flow.sealed())
    }
}

fn look<'a>(question: &'a Question, state: &'a State) -> QuestionView<'a> {
    match state {
        State::Answered(given) => {
            let because = given.because.as_ref();
            QuestionView { question, given: Some((&given.answer, &given.by)), because, previous: None }
        }
        State::Open { previous } => {
            let previous = previous.as_ref().map(|given| &given.answer);
            QuestionView { question, given: None, because: None, previous }
        }
    }
}
