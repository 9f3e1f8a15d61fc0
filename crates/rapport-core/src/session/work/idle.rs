//! An agent whose turn ended without a result and without a question (LEAD-16). In a session with a lead, the lead and
//! then a person are asked whether it goes on; silence decides nothing.

use super::WorkFlow;
use crate::answer::Answer;
use crate::event::{Asker, Event, TurnKind};
use crate::prompt;
use crate::question::{Choice, FINISH, GO_ON, Purpose, Question};
use crate::session::shared::Shared;

impl WorkFlow {
    /// The question whether the agent goes on, if its work ended without a word.
    pub(super) fn ask_when_idle(&self, shared: &Shared, result: &str) -> Option<Event> {
        let is_idle = shared.created.lead.is_some() && self.is_begun() && result.trim().is_empty();
        let question = Question {
            id: shared.rounds.next_question(0),
            text: "The agent ended its turn without a result and without a question. Does it go on?".into(),
            header: Some("Idle".into()),
            options: vec![
                Choice::described("Go on", GO_ON, "The agent continues with the task"),
                Choice::described("It is done", FINISH, "The work is reported as it is"),
            ],
            multi: false,
            free_text: true,
            purpose: Purpose::Idle,
        };
        is_idle.then(|| Event::Asked {
            round: shared.rounds.next_id(),
            asker: Asker::Rapport,
            questions: vec![question],
        })
    }

    /// The turn that follows from the answer, unless the work is done.
    pub(super) fn after_idle(&self, shared: &Shared, answer: &Answer) -> Option<Event> {
        if answer.is(FINISH) {
            return None;
        }
        let words = answer.text.clone().unwrap_or_else(|| prompt::GO_ON.into());
        Some(shared.turns.start(TurnKind::Work, words))
    }

    /// Whether an answer takes the work as done.
    pub(super) fn is_finished_by(shared: &Shared, fact: &Event) -> bool {
        let Event::Answered { question, answer, .. } = fact else { return false };
        let asked = shared.rounds.item(question);
        answer.is(FINISH) && asked.is_some_and(|(_, item)| item.question.purpose == Purpose::Idle)
    }
}
