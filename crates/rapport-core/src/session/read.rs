//! Read access to a session: its rounds as they stand, and everything else that channels show.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::flow::Flow;
use super::{Life, Session, State, Stretch, WorkUndo};
use crate::answer::{Answer, By};
use crate::event::{AgentCommand, Asker, Created, Ending};
use crate::id::RoundId;
use crate::input::Merged;
use crate::permission::Rule;
use crate::question::Question;
use crate::turn::{FileBatch, FileTurn, FoundTurns};
use crate::view::PhaseView;

/// The check sums of a session without turns in directories.
static NOTHING_SEALED: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();

/// A round as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundView<'a> {
    /// The id of the round.
    pub id: RoundId,
    /// Who asked.
    pub asker: &'a Asker,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// How it ended, if it did without all its answers.
    pub closed: Option<&'a Ending>,
    /// Its questions, in order.
    pub items: Vec<QuestionView<'a>>,
}

/// A question as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView<'a> {
    /// The question as it was asked.
    pub question: &'a Question,
    /// Its answer, and who gave it.
    pub given: Option<(&'a Answer, &'a By)>,
    /// The answer it had before it was opened again.
    pub previous: Option<&'a Answer>,
}

impl RoundView<'_> {
    /// Whether somebody still has to answer something in it.
    pub fn is_open(&self) -> bool {
        self.closed.is_none() && self.items.iter().any(|item| item.given.is_none())
    }
}

impl Session {
    /// What it started from.
    pub fn created(&self) -> &Created {
        &self.shared.created
    }

    /// The project's directory.
    pub fn project(&self) -> &str {
        &self.shared.created.project
    }

    /// How many entries of the log are in here.
    pub fn seq(&self) -> u64 {
        self.shared.seq
    }

    /// When it began, and when something last happened.
    pub fn times(&self) -> (Timestamp, Timestamp) {
        (self.shared.created_at, self.shared.updated_at)
    }

    /// Every round there was, oldest first.
    pub fn rounds(&self) -> impl Iterator<Item = RoundView<'_>> {
        self.shared.rounds.iter().map(|round| RoundView {
            id: round.id,
            asker: &round.asker,
            asked_at: round.asked_at,
            closed: round.closed.as_ref(),
            items: round.items.iter().map(|item| look(&item.question, &item.state)).collect(),
        })
    }

    /// The hosts that somebody lets its agent reach.
    pub fn allowed_hosts(&self) -> &[String] {
        &self.shared.hosts.allowed
    }

    /// What is allowed in it without asking.
    pub fn rules(&self) -> &[Rule] {
        &self.shared.rules
    }

    /// Whether nothing can happen here any more.
    pub fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    /// Whether it waits for somebody to restart it.
    pub fn is_failed(&self) -> bool {
        self.shared.is_failed()
    }

    /// Whether somebody stopped the agent. Then nothing goes on before somebody says what to do, or restarts it.
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

    /// What it is at.
    pub fn phase(&self) -> PhaseView {
        match () {
            () if self.is_over() => PhaseView::Ended,
            () if self.is_stopped() => PhaseView::Resting,
            () => self.flow.rules().phase(&self.shared),
        }
    }

    /// The agent that the session is bound to. One that never came up binds nobody: the settings may have been mended.
    pub fn agent(&self) -> Option<&AgentCommand> {
        self.shared.created.agent.as_ref().filter(|_| !self.shared.agent_never_came)
    }

    /// Whether an agent was ever heard of in it.
    pub fn was_connected(&self) -> bool {
        self.shared.was_connected()
    }

    /// Whether a turn of the agent is going on.
    pub fn has_turn(&self) -> bool {
        self.shared.is_going() && self.shared.turn().is_some_and(|turn| turn.stopped.is_none())
    }

    /// What the agent did last, in the turn that goes on.
    pub fn last_doing(&self) -> Option<&str> {
        self.shared.turn().and_then(|turn| turn.doing.as_deref())
    }

    /// Whether the state of the files before its work is noted, or known to be unknown.
    pub fn has_worked(&self) -> bool {
        self.shared.turns.iter().any(|turn| turn.baseline.is_some())
    }

    /// The stretches of the work, in order: the state of the project's files before it, and the state it left. The diff shows
    /// what changed in between, and undoing goes back there: never further, because what came before may be a person's own work.
    /// The last one has no end while it is under way.
    pub fn stretches(&self) -> Vec<Stretch> {
        self.flow.work().map(|flow| flow.stretches()).unwrap_or_default()
    }

    /// Whether the state in which a cancelled agent left the files is still to be noted. Until then nothing can be undone.
    pub fn is_left_unnoted(&self) -> bool {
        self.flow.work().is_some_and(|flow| flow.is_left_unnoted())
    }

    /// The states between which the work would be undone, the latest stretch first: as it left the files, and as they were
    /// before. Empty where there is nothing to undo, or nobody can tell.
    pub fn undoable_work(&self) -> Vec<Merged> {
        self.flow.work().map(|flow| flow.undoable(&self.shared)).unwrap_or_default()
    }

    /// How far undoing the work has come.
    pub fn work_undo(&self) -> &WorkUndo {
        self.flow.work().map_or(&WorkUndo::Not, |flow| flow.work_undo())
    }

    /// The plan's folder and name, as far as they are known.
    pub fn plan_name(&self) -> Option<(&str, &str)> {
        let plan = self.flow.rules().plan().map(|plan| (plan.goal.as_str(), plan.description.as_str()));
        plan.or_else(|| self.flow.work()?.outlined())
    }

    /// What an agent says about its plan.
    pub fn plan_text(&self) -> Option<&str> {
        self.flow.rules().plan().map(|plan| plan.text.as_str())
    }

    /// Whether an answer came after the plan was proposed, so that it may not fit.
    pub fn is_plan_behind(&self) -> bool {
        self.flow.rules().plan().is_some_and(|plan| plan.is_behind)
    }

    /// Where the plan is, from the project's root, if its file has what was agreed on so far.
    pub fn plan_path(&self) -> Option<&str> {
        let plan = self.flow.rules().plan().filter(|plan| plan.saved == plan.revision)?;
        plan.path.as_deref()
    }

    /// How many messages wait until the agent is told.
    pub fn queued(&self) -> usize {
        let in_turn = self.shared.turn().map_or(0, |turn| turn.unread().count());
        match &self.flow {
            Flow::Chat(flow) => flow.queued() + in_turn,
            Flow::Work(_) | Flow::Progress(_) | Flow::Turns(_) => in_turn,
        }
    }

    /// The turns of a session of files, in the order in which they became known.
    pub fn file_turns(&self) -> &[FileTurn] {
        self.flow.turns().map_or(&[], |flow| flow.file_turns())
    }

    /// The turns whose directories say something that neither the facts say nor Rapport wrote.
    pub fn unknown_turns(&self, found: &FoundTurns) -> Vec<String> {
        self.flow.turns().map_or_else(Vec::new, |flow| flow.unknown_turns(found))
    }

    /// The turn in this directory.
    pub fn file_turn(&self, folder: &str) -> Option<&FileTurn> {
        self.flow.turns()?.file_turn(folder)
    }

    /// The turn that was made last.
    pub fn latest_turn(&self) -> Option<&FileTurn> {
        self.flow.turns()?.latest_turn()
    }

    /// The turn whose plan waits for a person: to be reviewed, or to say how its batch goes on.
    pub fn review(&self) -> Option<&FileTurn> {
        self.flow.turns()?.review(&self.shared)
    }

    /// The turn that the agent is planning, or was when it failed.
    pub fn drafting(&self) -> Option<&FileTurn> {
        self.flow.turns()?.drafting()
    }

    /// The batch of this name, and its turn.
    pub fn batch(&self, name: &str) -> Option<(&FileTurn, &FileBatch)> {
        self.flow.turns()?.batch(name)
    }

    /// A batch of which only a part is undone. Nothing is built on it before the rest is.
    pub fn half_undone(&self) -> Option<&FileBatch> {
        self.flow.turns()?.half_undone()
    }

    /// Whether a batch runs just now.
    pub fn is_running(&self) -> bool {
        self.flow.turns().is_some_and(|flow| flow.is_running(&self.shared))
    }

    /// Check sums of the files of turns that are complete, by directory.
    pub fn sealed(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        self.flow.turns().map_or(&NOTHING_SEALED, |flow| flow.sealed())
    }
}

fn look<'a>(question: &'a Question, state: &'a State) -> QuestionView<'a> {
    match state {
        State::Answered(given) => {
            QuestionView { question, given: Some((&given.answer, &given.by)), previous: None }
        }
        State::Open { previous } => {
            QuestionView { question, given: None, previous: previous.as_ref().map(|given| &given.answer) }
        }
    }
}
