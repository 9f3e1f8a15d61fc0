//! A question that the agent asks in its reply, instead of with its tool (WORK-6). The session guesses this from the
//! form of the reply, so it does that only if the settings enable it, and only for a turn that changed nothing.

use super::WorkFlow;
use crate::answer::{Answer, By};
use crate::event::{Asker, Event, TurnKind};
use crate::prompt;
use crate::question::{Purpose, Question};
use crate::session::agent_turns::Turn;
use crate::session::round::{Round, RoundItem};
use crate::session::shared::Shared;
use crate::want::AnsweredQuestion;

/// A reply with at least this many characters is not a question.
const TOO_LONG: usize = 500;

/// Whether a reply looks like a question: it is short, has a question mark, and no code.
fn looks_like_one(reply: &str) -> bool {
    reply.contains('?') && !reply.contains("```") && reply.chars().count() < TOO_LONG
}

/// Whether a round was asked in a reply.
fn is_in_text(round: &Round) -> bool {
    round.asker == Asker::Rapport && round.is_clarifying()
}

impl WorkFlow {
    /// The question in the reply that ended a turn, if there is one. A turn that used a writing tool may have done
    /// its work, and may only be asking whether there is anything else.
    pub(super) fn ask_in_text(&self, shared: &Shared, turn: &Turn, reply: &str) -> Option<Event> {
        let asked = shared.rounds.iter().filter(|round| is_in_text(round)).count() as u64;
        let terms = &shared.created.terms;
        let may = terms.questions_in_text && asked < u64::from(terms.max_rounds);
        if !may || turn.may_have_written || !looks_like_one(reply) {
            return None;
        }
        let question = Question {
            id: shared.rounds.next_question(0),
            text: reply.trim().to_owned(),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        Some(Event::Asked {
            round: shared.rounds.next_id(),
            asker: Asker::Rapport,
            questions: vec![question],
        })
    }

    /// Whether these questions were asked in a reply.
    pub(super) fn are_in_text(asker: &Asker, questions: &[Question]) -> bool {
        *asker == Asker::Rapport && questions.iter().all(|question| question.purpose == Purpose::Clarify)
    }

    /// The turn in which the agent gets the answer to such a question, in the same conversation.
    pub(super) fn after_answer_in_text(
        &self,
        shared: &Shared,
        (round, item): (&Round, &RoundItem),
        answer: &Answer,
        by: &By,
    ) -> Option<Event> {
        let kind = if self.is_begun() { TurnKind::Work } else { TurnKind::Plan };
        let answered = AnsweredQuestion {
            because: None,
            question: item.question.text.clone(),
            answer: item.question.words(answer),
            by: by.clone(),
        };
        is_in_text(round).then(|| shared.turns.start(kind, prompt::answer_in_text(&answered)))
    }
}
