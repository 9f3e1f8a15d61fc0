//! Answers that were given before to the same question. They are offered to a person, who may give them again; they
//! answer by themselves only where a person said that the question is always answered so in the project.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, By, RuleSource};
use crate::event::{Asker, Event};
use crate::id::{QuestionId, SessionId};
use crate::question::{Purpose, Question};
use crate::routing::{Class, tokens};
use crate::session::Session;

/// An answer that a person gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierAnswer {
    /// The text of the question.
    pub text: String,
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub by: By,
    /// The session in which it was given.
    pub session: SessionId,
    /// The question there.
    pub question: QuestionId,
    /// When it was given.
    pub at: Timestamp,
}

impl EarlierAnswer {
    /// Whether it answers this question: the same words are asked, and the answer is possible there.
    pub fn fits(&self, question: &Question) -> bool {
        question.purpose == Purpose::Clarify
            && question.accepts(&self.answer)
            && tokens(&self.text) == tokens(&question.text)
    }

    /// The answers of people in a session that may be offered later, oldest first.
    pub fn all_of(id: &SessionId, session: &Session) -> Vec<Self> {
        session.shared.rounds.clarifications(id)
    }
}

/// A question that is about to be stored, for which an earlier answer may be offered.
#[derive(Clone, Debug)]
pub struct Offerable {
    question: Question,
    /// Whether a rule may answer it. A question that was asked before in its session was not helped by its answer.
    takes_rule: bool,
    /// The answer that it got before in its own session.
    here: Option<EarlierAnswer>,
}

impl Offerable {
    /// The questions that facts ask for an agent, and that an earlier answer may decide by their class. The facts are
    /// not stored yet.
    pub fn all_in(facts: &[Event], id: &SessionId, session: &Session) -> Vec<Self> {
        let is_answered = |id: &QuestionId| {
            facts.iter().any(|fact| matches!(fact, Event::Answered { question, .. } if question == id))
        };
        let asked = facts.iter().filter_map(|fact| match fact {
            Event::Asked { asker: Asker::Agent { .. }, questions, .. } => Some(questions),
            _ => None,
        });
        let open = asked
            .flatten()
            .filter(|question| question.purpose == Purpose::Clarify && !is_answered(&question.id));
        let offerable = open.filter_map(|question| {
            let takes_rule = match session.class_of(question) {
                Class::Clarification => true,
                Class::AskedBefore => false,
                _ => return None,
            };
            let before = || session.shared.rounds.clarifications(id).into_iter().rev();
            let here = (!takes_rule).then(|| before().find(|known| known.fits(question))).flatten();
            Some(Self { question: question.clone(), takes_rule, here })
        });
        offerable.collect()
    }

    /// The fact that earlier answers add: a rule answers the question in the entry that asks it, any other earlier
    /// answer is only offered.
    pub fn offered(self, earlier: &[EarlierAnswer], rules: &[EarlierAnswer]) -> Option<Event> {
        let newest =
            |known: &[EarlierAnswer]| known.iter().rev().find(|known| known.fits(&self.question)).cloned();
        let question = self.question.id.clone();
        if let Some(rule) = newest(rules).filter(|_| self.takes_rule) {
            let by = By::rule(RuleSource::Answer, format!("always answer so here, by {}", rule.by));
            return Some(Event::Answered { question, answer: rule.answer, by });
        }
        let earlier = self.here.clone().or_else(|| newest(earlier))?;
        Some(Event::Offered { question, earlier: Box::new(earlier) })
    }
}
