//! Read access to a session: its rounds as they stand, and everything else that channels show.

use jiff::Timestamp;

use super::{Phase, Session, State};
use crate::answer::{Answer, By};
use crate::event::{AgentCommand, Asker, Created, Ending};
use crate::id::RoundId;
use crate::question::Question;
use crate::view::{self, PhaseView};

/// A round as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundView<'a> {
    /// Which one.
    pub id: RoundId,
    /// Who wants to know.
    pub asker: &'a Asker,
    /// Since when.
    pub asked_at: Timestamp,
    /// How it ended, if it did without all its answers.
    pub closed: Option<&'a Ending>,
    /// Its questions.
    pub items: Vec<QuestionView<'a>>,
}

/// A question as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView<'a> {
    /// The question.
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
    /// Every round there was, oldest first.
    pub fn rounds(&self) -> impl Iterator<Item = RoundView<'_>> {
        self.rounds.iter().map(|round| RoundView {
            id: round.id,
            asker: &round.asker,
            asked_at: round.asked_at,
            closed: round.closed.as_ref(),
            items: round.items.iter().map(|item| look(&item.question, &item.state)).collect(),
        })
    }

    /// What it started from.
    pub fn created(&self) -> &Created {
        &self.created
    }

    /// The agent that the session is bound to. One that never came up binds nobody: the settings may have been mended.
    pub fn agent(&self) -> Option<&AgentCommand> {
        self.created.agent.as_ref().filter(|_| !self.agent_never_came)
    }

    /// When it began, and when something last happened.
    pub fn times(&self) -> (Timestamp, Timestamp) {
        (self.created_at, self.updated_at)
    }

    /// What it is at.
    pub fn phase(&self) -> PhaseView {
        if self.review().is_some() {
            return PhaseView::Reviewing;
        }
        view::phase(&self.phase)
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        match &self.phase {
            Phase::Failed { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// The plan's folder and name, as far as they are known.
    pub fn plan_name(&self) -> Option<(&str, &str)> {
        let plan = self.plan.as_ref().map(|plan| (plan.goal.as_str(), plan.description.as_str()));
        plan.or(self.outline.as_ref().map(|outline| (outline.goal.as_str(), outline.description.as_str())))
    }

    /// What an agent says about its plan.
    pub fn plan_text(&self) -> Option<&str> {
        self.plan.as_ref().map(|plan| plan.text.as_str())
    }

    /// Where the plan is, from the project's root, if its file has what was agreed on so far.
    pub fn plan_path(&self) -> Option<&str> {
        let plan = self.plan.as_ref().filter(|plan| plan.saved == plan.revision)?;
        plan.path.as_deref()
    }

    /// How many messages wait until the agent is told.
    pub fn queued(&self) -> usize {
        self.heard.len()
    }

    /// Whether an agent was ever heard of in it.
    pub fn was_connected(&self) -> bool {
        self.turns.iter().any(|turn| turn.connected)
    }

    /// The state of the files before its work: the earliest that was noted, because something may have been allowed, and written,
    /// while it was planned. Reports, diffs and undoing all begin there.
    pub fn baseline(&self) -> Option<&str> {
        self.turns.iter().find_map(|turn| turn.baseline.as_ref()?.as_deref())
    }

    /// Whether its work began: the state of the files before it is known, or known to be unknown.
    pub fn has_worked(&self) -> bool {
        self.turns.iter().any(|turn| turn.baseline.is_some())
    }

    /// Whether a turn of the agent is going on.
    pub fn has_turn(&self) -> bool {
        !self.phase.is_over() && !self.is_failed() && self.turn().is_some()
    }

    /// What the agent did last, in the turn that goes on.
    pub fn last_doing(&self) -> Option<&str> {
        self.turn().and_then(|turn| turn.doing.as_deref())
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
