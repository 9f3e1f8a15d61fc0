//! Earlier answers that are offered for questions of this session, and answers that a person wants given always.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::FlowRules;
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::answer::By;
use crate::earlier_answer::EarlierAnswer;
use crate::event::Event;
use crate::id::{QuestionId, SessionId};
use crate::question::Purpose;
use crate::refusal::Refusal;
use crate::routing::Class;
use crate::want::Want;

/// The offers of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    by_question: BTreeMap<QuestionId, EarlierAnswer>,
    /// Questions whose answers are to be kept as rules, with the person who said so, until they are.
    to_keep: BTreeMap<QuestionId, By>,
    kept: BTreeSet<QuestionId>,
}

impl Offers {
    /// The earlier answer that is offered for a question.
    pub(crate) fn of(&self, question: &QuestionId) -> Option<&EarlierAnswer> {
        self.by_question.get(question)
    }

    /// Applies a fact to the offers.
    pub(super) fn apply(&mut self, fact: &Event) {
        match fact {
            Event::Offered { question, earlier } => {
                self.by_question.insert(question.clone(), (**earlier).clone());
            }
            Event::AnswerRuled { question, by } => {
                self.to_keep.insert(question.clone(), by.clone());
            }
            Event::AnswerRuleKept { question } => {
                self.to_keep.remove(question);
                self.kept.insert(question.clone());
            }
            _ => {}
        }
    }

    /// The rule of a question was stored.
    pub(super) fn rule_kept(&self, question: &QuestionId) -> Vec<Event> {
        let is_awaited = self.to_keep.contains_key(question);
        is_awaited.then(|| Event::AnswerRuleKept { question: question.clone() }).into_iter().collect()
    }

    /// Decides that the answer to a question is given always in this project, to the same question.
    pub(super) fn rule_answer(
        &self,
        rounds: &AskedRounds,
        question: &QuestionId,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        let found = rounds.item(question);
        let (_, item) = found.ok_or_else(|| Refusal::UnknownQuestion { question: question.clone() })?;
        let refused = |why: String| Refusal::NotNow { what: "answering always so".into(), why };
        if item.given().is_none() {
            return Err(refused(format!("{question} has no answer yet")));
        }
        if item.question.purpose != Purpose::Clarify || Class::alone(&item.question) != Class::Clarification {
            return Err(refused(format!("{question} is decided by a person each time")));
        }
        if self.to_keep.contains_key(question) || self.kept.contains(question) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::AnswerRuled { question: question.clone(), by: by.clone() }])
    }

    /// The rules that have yet to be stored.
    pub(super) fn rules_wanted(&self, rounds: &AskedRounds) -> impl Iterator<Item = Want> {
        self.to_keep.iter().filter_map(|(question, by)| {
            let (_, item) = rounds.item(question)?;
            let (text, answer) = (item.question.text.clone(), item.given()?.answer.clone());
            Some(Want::AnswerRuled { question: question.clone(), text, answer, by: by.clone() })
        })
    }
}

impl Shared {
    /// Decides that a person gives the answer that is offered, as their own.
    pub(super) fn take_offer(
        &self,
        flow: &dyn FlowRules,
        question: &QuestionId,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        let (round, item) = self.rounds.answerable(Some(question))?;
        let Some(offer) = self.offers.of(question) else {
            let why = format!("no earlier answer fits {question}");
            return Err(Refusal::NotNow { what: "giving an earlier answer".into(), why });
        };
        self.answered_by(flow, (round, item), offer.answer.clone(), by)
    }
}

impl AskedRounds {
    /// The answers of people to clarifying questions of the session with this id, oldest first.
    pub(crate) fn clarifications(&self, id: &SessionId) -> Vec<EarlierAnswer> {
        let items = self.iter().flat_map(|round| &round.items);
        let given = items.filter_map(|item| {
            let given = item.given().filter(|given| matches!(given.by, By::Person { .. }))?;
            let is_clear = item.question.purpose == Purpose::Clarify
                && Class::alone(&item.question) == Class::Clarification;
            is_clear.then(|| EarlierAnswer {
                text: item.question.text.clone(),
                answer: given.answer.clone(),
                by: given.by.clone(),
                session: id.clone(),
                question: item.question.id.clone(),
                at: given.at,
            })
        });
        given.collect()
    }
}
