//! Rounds of questions that a planner makes before any agent runs: when the next round is wanted, and what follows
//! from it.

use super::{WorkFlow, WorkPhase, ask_for_confirmation, plan_names};
use crate::created::Clarifier;
use crate::event::{Asker, Event};
use crate::question_round::{Brief, QuestionRound};
use crate::refusal::Refusal;
use crate::session::round::{Round, RoundItem};
use crate::session::shared::Shared;
use crate::slug;
use crate::want::Want;

impl WorkFlow {
    /// The round to make now, if any.
    pub(super) fn round_wanted(&self, shared: &Shared) -> Option<Want> {
        self.is_planning(shared).then(|| Want::QuestionRound(brief(shared)))
    }

    /// The facts that follow from a round, or from the failure to make one.
    pub(super) fn take_round(
        &self,
        shared: &Shared,
        round: u32,
        outcome: &Result<QuestionRound, String>,
    ) -> Result<Vec<Event>, Refusal> {
        if !self.is_planning(shared) || round != brief(shared).round {
            return Err(Refusal::Stray { what: "a round of questions".into() });
        }
        Ok(match outcome {
            Ok(made) => self.after_round(shared, made),
            // Without a single question no plan can be made.
            Err(reason) if round == 1 => vec![Event::Failed { reason: reason.clone() }],
            Err(reason) => {
                [vec![Event::Unchecked { reason: reason.clone() }], self.sum_up(shared, None)].concat()
            }
        })
    }

    /// The facts that follow from an answer: the plan, if it was the last answer of the last round.
    pub(super) fn after_planned_answer(
        &self,
        shared: &Shared,
        round: &Round,
        answered: &RoundItem,
    ) -> Vec<Event> {
        let others = round.items.iter().filter(|item| item.question.id != answered.question.id);
        let is_last = others.into_iter().all(|item| item.given().is_some());
        let is_new = self.plan.is_none() && matches!(round.asker, Asker::Planner);
        if is_new && is_last && is_at_the_cap(shared) { self.sum_up(shared, None) } else { Vec::new() }
    }

    pub(crate) fn after_round(&self, shared: &Shared, made: &QuestionRound) -> Vec<Event> {
        let questions = shared.rounds.named(&made.questions);
        if made.done || questions.is_empty() || is_at_the_cap(shared) {
            return self.sum_up(shared, Some(made));
        }
        let outlined = self.outline.is_none().then(|| {
            let (goal, description) = self.names(shared, Some(made));
            Event::Outlined { goal, description }
        });
        let asked = Event::Asked { round: shared.rounds.next_id(), asker: Asker::Planner, questions };
        outlined.into_iter().chain([asked]).collect()
    }

    /// Makes the plan from the answers, and asks to confirm it.
    pub(crate) fn sum_up(&self, shared: &Shared, made: Option<&QuestionRound>) -> Vec<Event> {
        let (goal, description) = self.names(shared, made);
        let proposed = Event::PlanProposed { goal, description, text: String::new() };
        vec![proposed, ask_for_confirmation(shared)]
    }

    fn names(&self, shared: &Shared, made: Option<&QuestionRound>) -> (String, String) {
        if let Some(outline) = &self.outline {
            return (outline.goal.clone(), outline.description.clone());
        }
        let (goal, description) = plan_names(&shared.created.task, "");
        let named = |name: Option<&String>, otherwise: String| {
            name.map(|name| slug::part(name)).filter(|name| !name.is_empty()).unwrap_or(otherwise)
        };
        let goal = named(made.and_then(|made| made.goal.as_ref()), goal);
        (goal, named(made.and_then(|made| made.description.as_ref()), description))
    }

    fn is_planning(&self, shared: &Shared) -> bool {
        self.clarifier == Clarifier::Planner
            && self.phase == WorkPhase::Clarifying
            && shared.is_going()
            && shared.turns.is_empty()
            && shared.rounds.open().next().is_none()
    }
}

/// Whether the maximum number of rounds was asked.
fn is_at_the_cap(shared: &Shared) -> bool {
    shared.rounds.count_asked() >= shared.created.terms.max_rounds
}

fn brief(shared: &Shared) -> Brief {
    let answered = shared.rounds.clarified();
    Brief {
        task: shared.created.task.clone(),
        round: shared.rounds.count_asked() + 1,
        max_rounds: shared.created.terms.max_rounds,
        answered: answered.map(|(q, given)| (q.text.clone(), q.words(&given.answer))).collect(),
    }
}
