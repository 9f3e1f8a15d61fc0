//! The budget of a session: when it is used up, the turn is stopped, and a person is asked whether to go on.

use super::flow::FlowRules;
use super::shared::Shared;
use crate::answer::{Answer, By};
use crate::event::{Asker, Event};
use crate::id::QuestionId;
use crate::question::{Choice, GO_ON, Purpose, Question, STAY};

impl Shared {
    /// What the session may cost before a person is asked, in millionths of a US dollar.
    pub(crate) fn budget(&self) -> Option<u64> {
        self.raised_budget.or(self.created.terms.budget_micros)
    }

    /// Decides that the response that is being made has cost this much so far.
    pub(super) fn spent_so_far(&self, flow: &dyn FlowRules, cost_micros: u64) -> Vec<Event> {
        let is_stopped = self.turn().is_none_or(|turn| turn.stopped.is_some());
        let spent = self.usage.cost_micros.saturating_add(cost_micros);
        let Some(asked) = self.ask_about_budget(spent).filter(|_| !is_stopped) else { return Vec::new() };
        let by = By::Rule { name: "budget".into() };
        let Ok(stopped) = self.stop(flow, &by) else { return Vec::new() };
        stopped.into_iter().chain([asked]).collect()
    }

    /// The question whether to go on, if the budget is used up and nobody has been asked yet.
    pub(super) fn ask_about_budget(&self, spent: u64) -> Option<Event> {
        let budget = self.budget().filter(|budget| spent >= *budget)?;
        if self.open_budget_question().is_some() {
            return None;
        }
        let further = self.created.terms.budget_micros.unwrap_or(budget);
        let question = question(self.next_question(0), spent, budget, further);
        Some(Event::Asked { round: self.next_round(), asker: Asker::Rapport, questions: vec![question] })
    }

    /// The open question about the budget, if there is one.
    pub(super) fn open_budget_question(&self) -> Option<&QuestionId> {
        let asks = self.open_rounds().find(|round| round.is_about_budget())?;
        asks.items.first().map(|item| &item.question.id)
    }
}

/// What follows from the answer.
pub(super) fn after_answer(answer: &Answer, by: &By) -> Vec<Event> {
    answer.is(GO_ON).then(|| Event::Restarted { by: by.clone() }).into_iter().collect()
}

fn question(id: QuestionId, spent: u64, budget: u64, further: u64) -> Question {
    let raised = spent.saturating_add(further);
    Question {
        id,
        text: format!(
            "This session has cost about {}, and its budget is {}. Go on?",
            dollars(spent),
            dollars(budget)
        ),
        header: Some("Budget".into()),
        options: vec![
            Choice::described("Go on", GO_ON, &format!("Until it has cost {}", dollars(raised))),
            Choice::described("Leave it stopped", STAY, "The conversation is kept: rapport resume"),
        ],
        multi: false,
        free_text: false,
        purpose: Purpose::Budget { raised_micros: raised },
    }
}

fn dollars(micros: u64) -> String {
    format!("${:.2}", micros as f64 / 1e6)
}
