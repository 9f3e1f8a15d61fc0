//! The flow for rounds that a planner makes before any agent runs: when the next round is wanted, and what follows from it.

use jiff::Timestamp;

use super::{Item, Phase, Round, Session};
use crate::event::{Asker, Clarifier, Created, Entry, Event};
use crate::question_round::{Brief, QuestionRound};
use crate::refusal::Refusal;
use crate::slug;
use crate::want::Want;

impl Session {
    /// The facts of a session whose first round is there already: an agent's reply was one.
    pub fn begin_with(created: Created, first: &QuestionRound) -> Result<Vec<Event>, Refusal> {
        let mut facts = Self::begin(created)?;
        let entry = Entry { seq: 1, at: Timestamp::UNIX_EPOCH, facts: facts.clone() };
        if let Some(session) = Self::open(&entry) {
            facts.extend(session.after_round(first));
        }
        Ok(facts)
    }

    /// The round that is to be made now, if one is.
    pub(super) fn round_wanted(&self) -> Option<Want> {
        self.is_planning().then(|| Want::QuestionRound(self.brief()))
    }

    /// What follows from a round that was made, or could not be.
    pub(super) fn take_round(
        &self,
        round: u32,
        outcome: &Result<QuestionRound, String>,
    ) -> Result<Vec<Event>, Refusal> {
        if !self.is_planning() || self.is_failed() || round != self.brief().round {
            return Err(Refusal::Stray { what: "a round of questions".into() });
        }
        Ok(match outcome {
            Ok(made) => self.after_round(made),
            // Without a single question there is nothing to go on with.
            Err(reason) if round == 1 => vec![Event::Failed { reason: reason.clone() }],
            Err(reason) => [vec![Event::Unchecked { reason: reason.clone() }], self.sum_up(None)].concat(),
        })
    }

    /// What follows from an answer: the plan, if it was the last of the last round.
    pub(super) fn after_planned_answer(&self, round: &Round, answered: &Item) -> Vec<Event> {
        let others = round.items.iter().filter(|item| item.question.id != answered.question.id);
        let is_last = others.into_iter().all(|item| item.given().is_some());
        let is_new = self.plan.is_none() && matches!(round.asker, Asker::Planner);
        if is_new && is_last && self.is_at_the_cap() { self.sum_up(None) } else { Vec::new() }
    }

    fn after_round(&self, made: &QuestionRound) -> Vec<Event> {
        let questions = self.named(&made.questions);
        if made.done || questions.is_empty() || self.is_at_the_cap() {
            return self.sum_up(Some(made));
        }
        let outlined = self.outline.is_none().then(|| {
            let (goal, description) = self.names(Some(made));
            Event::Outlined { goal, description }
        });
        let asked = Event::Asked { round: self.next_round(), asker: Asker::Planner, questions };
        outlined.into_iter().chain([asked]).collect()
    }

    /// Whether as many rounds were asked as there may be.
    fn is_at_the_cap(&self) -> bool {
        self.rounds_asked() >= self.created.terms.max_rounds
    }

    /// The plan is what was answered; somebody has to confirm it.
    pub(crate) fn sum_up(&self, made: Option<&QuestionRound>) -> Vec<Event> {
        let (goal, description) = self.names(made);
        let proposed = Event::PlanProposed { goal, description, text: String::new() };
        vec![proposed, self.ask_for_confirmation()]
    }

    fn names(&self, made: Option<&QuestionRound>) -> (String, String) {
        if let Some(outline) = &self.outline {
            return (outline.goal.clone(), outline.description.clone());
        }
        let (goal, description) = self.plan_names("");
        let named = |name: Option<&String>, otherwise: String| {
            name.map(|name| slug::part(name)).filter(|name| !name.is_empty()).unwrap_or(otherwise)
        };
        let goal = named(made.and_then(|made| made.goal.as_ref()), goal);
        (goal, named(made.and_then(|made| made.description.as_ref()), description))
    }

    fn is_planning(&self) -> bool {
        self.created.terms.clarifier == Clarifier::Planner
            && self.phase == Phase::Clarifying
            && self.turns.is_empty()
            && self.open_rounds().next().is_none()
    }

    fn brief(&self) -> Brief {
        let answered = self.clarified();
        Brief {
            task: self.created.task.clone(),
            round: self.rounds_asked() + 1,
            max_rounds: self.created.terms.max_rounds,
            answered: answered.map(|(q, given)| (q.text.clone(), q.words(&given.answer))).collect(),
        }
    }
}
