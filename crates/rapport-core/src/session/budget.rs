//! The budget of a session, and the daily one of all sessions together: when one is used up, the turn is stopped, and
//! a person is asked whether to continue.

use jiff::Timestamp;

use super::flow::FlowRules;
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::answer::{Answer, By, RuleSource};
use crate::created::Terms;
use crate::event::{Asker, Event, Usage};
use crate::id::QuestionId;
use crate::input::DayBudget;
use crate::question::{Choice, GO_ON, Purpose, Question, STAY};

/// The maximum number of reports of usage that are kept. If there are more, neighbours are added up.
const MOST_REPORTS: usize = 512;

/// The usage that a process reported, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpentAt {
    /// When it was reported.
    pub at: Timestamp,
    /// Tokens and money.
    pub usage: Usage,
}

/// The cost of a session so far, and its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    pub(crate) usage: Usage,
    /// The reports of usage, oldest first.
    reports: Vec<SpentAt>,
    /// The higher budget that a person agreed to when the first was used up, in millionths of a US dollar.
    raised: Option<u64>,
    /// The higher daily budget that a person agreed to for this session, and the day.
    raised_day: Option<(String, u64)>,
}

impl Spending {
    /// Applies a report of usage.
    pub(super) fn spend(&mut self, usage: Usage, at: Timestamp) {
        self.usage += usage;
        if self.reports.len() >= MOST_REPORTS {
            self.reports = self.reports.chunks(2).map(joined).collect();
        }
        self.reports.push(SpentAt { at, usage });
    }

    /// The reports of usage, oldest first.
    pub(super) fn reports(&self) -> &[SpentAt] {
        &self.reports
    }

    /// Applies the consent to a higher budget: of this day, or of the session.
    pub(super) fn raise(&mut self, micros: u64, day: Option<&str>) {
        match day {
            Some(day) => self.raised_day = Some((day.to_owned(), micros)),
            None => self.raised = Some(micros),
        }
    }

    /// How much the session may cost before a person is asked, in millionths of a US dollar.
    pub(crate) fn budget(&self, terms: &Terms) -> Option<u64> {
        self.raised.or(terms.budget_micros)
    }

    /// Whether the session has cost as much as its budget allows.
    pub(super) fn is_used_up(&self, terms: &Terms) -> bool {
        self.budget(terms).is_some_and(|budget| self.usage.cost_micros >= budget)
    }

    /// The terms have a new budget, which replaces the raised one.
    pub(super) fn replace_budget(&mut self) {
        self.raised = None;
    }
}

/// Several reports as one, at the time of the last.
fn joined(reports: &[SpentAt]) -> SpentAt {
    let (first, rest) = reports.split_at(1);
    rest.iter().fold(first[0], |mut sum, next| {
        sum.usage += next.usage;
        SpentAt { at: next.at, ..sum }
    })
}

impl Shared {
    /// Decides that the response in progress has cost this much so far.
    pub(super) fn spent_so_far(
        &self,
        flow: &dyn FlowRules,
        cost_micros: u64,
        today: Option<&DayBudget>,
    ) -> Vec<Event> {
        let is_stopped = self.turns.current().is_none_or(|turn| turn.stopped.is_some());
        let spent = self.spending.usage.cost_micros.saturating_add(cost_micros);
        let asked = self.ask_about_budget(spent).or_else(|| self.ask_about_day(today?));
        let Some(asked) = asked.filter(|_| !is_stopped) else { return Vec::new() };
        let by = By::rule(RuleSource::Budget, "budget");
        let Ok(stopped) = self.stop(flow, &by) else { return Vec::new() };
        stopped.into_iter().chain([asked]).collect()
    }

    /// The question whether to continue, if the budget is used up and the person has not been asked yet.
    pub(super) fn ask_about_budget(&self, spent: u64) -> Option<Event> {
        let budget = self.spending.budget(&self.created.terms).filter(|budget| spent >= *budget)?;
        if self.rounds.open_budget_question().is_some() {
            return None;
        }
        let raised_micros = spent.saturating_add(self.created.terms.budget_micros.unwrap_or(budget));
        let text = format!(
            "This session has cost about {}, and its budget is {}. Go on?",
            dollars(spent),
            dollars(budget)
        );
        let until = format!("Until it has cost {}", dollars(raised_micros));
        Some(self.rounds.budget_question(&text, &until, Purpose::Budget { raised_micros, day: None }))
    }

    /// The question whether to continue although the daily budget is used up, if the person has not been asked yet.
    fn ask_about_day(&self, today: &DayBudget) -> Option<Event> {
        let raised = self.spending.raised_day.as_ref().filter(|(day, _)| *day == today.day);
        let budget = raised.map_or(today.limit_micros, |(_, raised)| *raised);
        if today.spent_micros < budget || self.rounds.open_budget_question().is_some() {
            return None;
        }
        let raised_micros = today.spent_micros.saturating_add(today.limit_micros);
        let text = format!(
            "All sessions together have cost about {} today, and the budget of a day is {}. Go on with this one?",
            dollars(today.spent_micros),
            dollars(budget)
        );
        let until = format!("Today, until all have cost {}", dollars(raised_micros));
        Some(self.rounds.budget_question(
            &text,
            &until,
            Purpose::Budget { raised_micros, day: Some(today.day.clone()) },
        ))
    }
}

impl AskedRounds {
    pub(super) fn budget_question(&self, text: &str, until: &str, purpose: Purpose) -> Event {
        let question = Question {
            id: self.next_question(0),
            text: text.into(),
            header: Some("Budget".into()),
            options: vec![
                Choice::described("Go on", GO_ON, until),
                Choice::described("Leave it stopped", STAY, "The conversation is kept: rapport resume"),
            ],
            multi: false,
            free_text: false,
            purpose,
        };
        Event::Asked { round: self.next_id(), asker: Asker::Rapport, questions: vec![question] }
    }

    /// The open question about the budget, if there is one.
    pub(super) fn open_budget_question(&self) -> Option<&QuestionId> {
        let asks = self.open().find(|round| round.is_about_budget())?;
        asks.items.first().map(|item| &item.question.id)
    }
}

/// The facts that follow from the answer to such a question.
pub(super) fn after_answer(answer: &Answer, by: &By) -> Vec<Event> {
    answer.is(GO_ON).then(|| Event::Restarted { by: by.clone() }).into_iter().collect()
}

fn dollars(micros: u64) -> String {
    format!("${:.2}", micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_reports_are_added_up_and_none_is_lost() {
        let mut spending = Spending::default();
        let second = |number: i64| Timestamp::from_second(number).unwrap_or(Timestamp::UNIX_EPOCH);
        for number in 1..=5000 {
            spending.spend(Usage { cost_micros: 2, output: 1, ..Usage::default() }, second(number));
        }
        let reports = spending.reports();
        assert!(reports.len() <= MOST_REPORTS, "{}", reports.len());
        assert_eq!(reports.iter().map(|report| report.usage.cost_micros).sum::<u64>(), 10_000);
        assert_eq!(spending.usage.output, 5000);
        assert_eq!(reports.last().map(|report| report.at), Some(second(5000)));
        assert!(reports.is_sorted_by_key(|report| report.at));
    }
}
