//! Decides the acts of people that every session accepts: answer, go back, edit, revoke, change the terms, stop,
//! cancel, restart, apply, discard, undo.

use std::borrow::Cow;

use jiff::Timestamp;

use super::agent::decline;
use super::agent_turns::{Process, Turn};
use super::budget;
use super::flow::FlowRules;
use super::round::{Round, RoundItem, State};
use super::rounds::AskedRounds;
use super::routes::Responded;
use super::shared::{Life, Shared};
use crate::answer::{Answer, By};
use crate::authority::{Authority, Matter, authority, may_act};
use crate::created::TermsChange;
use crate::event::{Asker, Event};
use crate::id::QuestionId;
use crate::input::Act;
use crate::permission::Rule;
use crate::prompt;
use crate::question::{Purpose, Reply};
use crate::refusal::Refusal;
use crate::routing::Grounding;

impl Shared {
    pub(super) fn decide_person(
        &self,
        flow: &dyn FlowRules,
        by: &By,
        act: &Act,
        now: Timestamp,
    ) -> Result<Vec<Event>, Refusal> {
        if let Some(matter) = Matter::of_act(act) {
            self.permit(by, matter, None)?;
        }
        match act {
            Act::Answer { question, reply } => self.answer(flow, (question.as_ref(), reply, None), by, now),
            Act::Respond { question, reply, because, .. } => {
                self.answer(flow, (Some(question), reply, because.as_deref()), by, now)
            }
            Act::SendDraft { question } => self.send_draft(flow, question, by),
            Act::TakeOffer { question } => self.take_offer(flow, question, by),
            Act::AlwaysAnswer { question } => self.offers.rule_answer(&self.rounds, question, by),
            Act::AskPerson { question } => Ok(self.lead_asks(question)),
            Act::PassOn { question, class, reason } => self.pass_on(question, *class, reason),
            Act::Back => self.rounds.back(by),
            Act::Reopen { question } => self.reopen(flow, question, by),
            Act::Keep { question } => self.rounds.keep(question, by),
            Act::Revoke { rule } => self.revoke(rule, by),
            Act::AllowHost { host } => self.allow_host(host, by),
            Act::ChangeTerms { change } => Ok(self.change_terms(change, by)),
            Act::Cancel { reason } => self.cancel(flow, by, reason.clone()),
            Act::Apply { with_conflicts, end, to } => self.apply_work(flow, by, (*with_conflicts, to), *end),
            Act::Discard { reason, end } => self.discard_work(by, reason.as_deref(), *end),
            Act::UndoWork => self.undo_work(flow, by),
            Act::Restart => self.restart(flow, by),
            Act::Stop => self.stop(flow, by),
            // The session's first message, delivered again.
            Act::Say { id: Some(id), .. } if self.created.request.as_ref() == Some(id) => Ok(Vec::new()),
            Act::Say { id, .. } if !self.turns.has_heard(id.as_ref()) => {
                self.routes.check_message(&self.created, by, now)?;
                flow.decide_act(self, by, act)
            }
            // The session as a whole turns this into two acts.
            Act::Change { question, .. } => self.reopen(flow, question, by),
            // The remaining acts belong to certain flows; a flow refuses those that it does not have.
            act => flow.decide_act(self, by, act),
        }
    }

    /// Refuses what only a person may decide. An act that becomes a request to a person passes.
    fn permit(&self, by: &By, matter: Matter, question: Option<&QuestionId>) -> Result<(), Refusal> {
        let refused = |what: Cow<'static, str>| Refusal::NeedsPerson {
            what,
            by: by.clone(),
            question: question.cloned(),
        };
        let began = &self.created.by;
        // A lead may not discard work that a person began.
        let is_others = matter == Matter::Rejection && self.created.lead.is_some();
        let is_others = is_others && matches!((by, began), (By::Lead { .. }, By::Person { .. }));
        match authority(by, matter, &self.created.terms) {
            Authority::NeedsPerson => Err(refused(matter.in_words().into())),
            Authority::Given | Authority::AsksPerson if !may_act(by, &self.created) => {
                Err(refused(format!("acting in a session that {began} began").into()))
            }
            Authority::Given | Authority::AsksPerson if is_others => Err(refused(matter.in_words().into())),
            Authority::Given | Authority::AsksPerson => Ok(()),
        }
    }

    /// Decides an answer to a question, or to the only open one; with its ground, if a lead gives it.
    pub(super) fn answer(
        &self,
        flow: &dyn FlowRules,
        (question, reply, because): (Option<&QuestionId>, &Reply, Option<&Grounding>),
        by: &By,
        now: Timestamp,
    ) -> Result<Vec<Event>, Refusal> {
        let (round, item) = self.rounds.answerable(question)?;
        let id = &item.question.id;
        self.permit(by, Matter::of_question(&item.question.purpose), Some(id))?;
        if !matches!(by, By::Lead { .. }) {
            return self.answered_by(flow, (round, item), item.question.resolve(reply)?, by);
        }
        self.check_class(&item.question, by)?;
        let answer = item.question.resolve(reply)?;
        match self.respond(item, answer, because, by, now)? {
            Responded::Draft(facts) => Ok(facts),
            Responded::Answer(answer, because) => {
                let grounded = because.map(|because| Event::Grounded { question: id.clone(), because });
                let answered = self.answered_by(flow, (round, item), answer, by)?;
                Ok(grounded.into_iter().chain(answered).collect())
            }
        }
    }

    /// Decides an answer that does not come from a lead.
    pub(super) fn confirm(
        &self,
        flow: &dyn FlowRules,
        question: &QuestionId,
        reply: &Reply,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        let (round, item) = self.rounds.answerable(Some(question))?;
        self.permit(by, Matter::of_question(&item.question.purpose), Some(question))?;
        self.answered_by(flow, (round, item), item.question.resolve(reply)?, by)
    }

    /// Decides that a person sends a lead's draft as their own answer.
    fn send_draft(
        &self,
        flow: &dyn FlowRules,
        question: &QuestionId,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        let (round, item) = self.rounds.answerable(Some(question))?;
        if !matches!(by, By::Person { .. }) {
            let (what, by) = ("sending a draft".into(), by.clone());
            return Err(Refusal::NeedsPerson { what, by, question: Some(question.clone()) });
        }
        let draft = self.routes.draft_of(question)?;
        self.answered_by(flow, (round, item), draft.answer.clone(), by)
    }

    pub(super) fn answered_by(
        &self,
        flow: &dyn FlowRules,
        (round, item): (&Round, &RoundItem),
        answer: Answer,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        let consequence = match item.question.purpose {
            Purpose::Confirm | Purpose::Clarify | Purpose::Idle => {
                flow.after_answer(self, (round, item), &answer, by)?
            }
            Purpose::Budget { .. } => budget::after_answer(&answer, by),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } | Purpose::Elicit(_) => Vec::new(),
        };
        let answered = Event::Answered { question: item.question.id.clone(), answer, by: by.clone() };
        Ok([vec![answered], consequence].concat())
    }

    fn revoke(&self, rule: &Rule, by: &By) -> Result<Vec<Event>, Refusal> {
        if !self.rules.contains(rule) {
            return Err(Refusal::NoSuchRule { rule: rule.to_string() });
        }
        Ok(vec![Event::Revoked { rule: rule.clone(), by: by.clone() }])
    }

    /// The facts of a change of terms. The terms of a cancelled session do not change, and terms that are already in
    /// effect are not a change.
    fn change_terms(&self, change: &TermsChange, by: &By) -> Vec<Event> {
        let terms = &self.created.terms;
        let is_same_agent = change.agent.is_none() || change.agent == self.created.agent;
        if self.life == Life::Cancelled || terms.changed(change) == *terms && is_same_agent {
            return Vec::new();
        }
        vec![Event::TermsChanged { change: change.clone(), by: by.clone() }]
    }

    fn reopen(&self, flow: &dyn FlowRules, question: &QuestionId, by: &By) -> Result<Vec<Event>, Refusal> {
        let (round, item) = self
            .rounds
            .item(question)
            .ok_or_else(|| Refusal::UnknownQuestion { question: question.clone() })?;
        let too_late = |why: &str| Refusal::TooLateToChange { question: question.clone(), why: why.into() };
        if item.given().is_none() {
            return Err(too_late("it has no answer yet"));
        }
        if item.question.purpose != Purpose::Clarify || round.closed.is_some() {
            return Err(too_late("the decision has taken effect"));
        }
        if !flow.is_confirming(self) && !round.is_open() {
            let why = match round.asker {
                _ if self.is_over() => "the session is over",
                Asker::Planner if self.turns.is_empty() => "the next round is being made from it",
                Asker::Agent { .. } if !round.taken => "it is on its way to the agent",
                Asker::Planner | Asker::Agent { .. } | Asker::Rapport => "the agent already works with it",
            };
            return Err(too_late(why));
        }
        Ok(vec![Event::Reopened { question: question.clone(), by: by.clone() }])
    }

    fn cancel(&self, flow: &dyn FlowRules, by: &By, reason: Option<String>) -> Result<Vec<Event>, Refusal> {
        if self.is_over() {
            return Err(flow.not_now(self, "cancelling"));
        }
        Ok(self.end(|_| true, by, reason))
    }

    /// The facts that end the session.
    pub(super) fn ended_by(&self, by: &By) -> Vec<Event> {
        self.end(|_| true, by, None)
    }

    pub(super) fn end(
        &self,
        unanswered: impl Fn(&Round) -> bool,
        by: &By,
        reason: Option<String>,
    ) -> Vec<Event> {
        let mut facts = self.rounds.withdraw_open(unanswered, "the session was cancelled");
        facts.push(Event::Cancelled { by: by.clone(), reason, is_unnoted: self.is_unnoted() });
        facts
    }

    /// Stops the current turn. Its open questions are withdrawn; its answers reach the agent when it resumes.
    pub(super) fn stop(&self, flow: &dyn FlowRules, by: &By) -> Result<Vec<Event>, Refusal> {
        let Some(turn) = self.turns.current().filter(|_| self.is_going()) else {
            return Err(flow.not_now(self, "stopping"));
        };
        if turn.stopped.is_some() && !turn.is_interrupted {
            return Ok(Vec::new());
        }
        let stopped = Event::Stopped { turn: turn.id, by: by.clone() };
        Ok([self.rounds.withdraw_for_stop(turn), vec![stopped]].concat())
    }

    /// Interrupts a turn, which continues as soon as its process has ended. A turn without a process continues at once.
    pub(super) fn interrupt(&self, turn: &Turn, by: &By) -> Vec<Event> {
        if turn.stopped.is_some() {
            return Vec::new();
        }
        let has_process = matches!(turn.process, Process::Running | Process::Cooling(_));
        let interrupted = has_process.then(|| Event::Interrupted { turn: turn.id, by: by.clone() });
        self.rounds.withdraw_for_stop(turn).into_iter().chain(interrupted).collect()
    }

    fn restart(&self, flow: &dyn FlowRules, by: &By) -> Result<Vec<Event>, Refusal> {
        let can = |turn: &Turn| turn.process == Process::CutOff || turn.stopped.is_some();
        let can_restart = !self.is_over() && self.turns.current().is_some_and(can);
        if !self.is_failed() && !can_restart || !self.handover.is_open() {
            return Err(flow.not_now(self, "restarting"));
        }
        if let Some(question) = self.rounds.open_budget_question() {
            let why = format!("{question} asks whether to go on over budget");
            return Err(Refusal::NotNow { what: "restarting".into(), why });
        }
        if let Some(asked) =
            self.ask_about_budget(self.spending.usage.cost_micros).filter(|_| self.is_stopped())
        {
            return Ok(vec![asked]);
        }
        let restarted = Event::Restarted { by: by.clone() };
        Ok([restarted].into_iter().chain(flow.after_restart(self)).collect())
    }
}

impl AskedRounds {
    /// Withdraws what the agent of a turn asks, because its process ends.
    fn withdraw_for_stop(&self, turn: &Turn) -> Vec<Event> {
        let open = self.open_of(turn.id);
        let declined =
            open.filter_map(|round| Some(decline(turn, round.call()?, prompt::STOPPED.into(), &[])));
        let mut facts = self.withdraw_open(|round| round.is_of(turn.id), "the agent was stopped");
        facts.extend(declined);
        facts
    }

    /// A question that can be answered.
    pub(super) fn answerable(&self, question: Option<&QuestionId>) -> Result<(&Round, &RoundItem), Refusal> {
        let (round, item) = match question {
            Some(id) => self.item(id).ok_or_else(|| Refusal::UnknownQuestion { question: id.clone() })?,
            None => self.only_open()?,
        };
        let id = &item.question.id;
        if let State::Answered(given) = &item.state {
            let answer = item.question.words(&given.answer);
            return Err(Refusal::AlreadyAnswered { question: id.clone(), answer, by: given.by.clone() });
        }
        not_ended(round, id)?;
        Ok((round, item))
    }

    pub(super) fn only_open(&self) -> Result<(&Round, &RoundItem), Refusal> {
        let open: Vec<_> = self
            .open()
            .flat_map(|round| {
                round.items.iter().filter(|i| i.given().is_none()).map(move |item| (round, item))
            })
            .collect();
        // While an answer is being changed, a reply without an id is for that question, not for the confirmation after
        // it.
        let in_hand: Vec<_> =
            open.iter().copied().filter(|(_, i)| i.question.purpose != Purpose::Confirm).collect();
        match (open.as_slice(), in_hand.as_slice()) {
            ([], _) => Err(Refusal::NothingOpen),
            ([only], _) | (_, [only]) => Ok(*only),
            (all, _) => Err(Refusal::WhichQuestion {
                count: all.len(),
                open: all.iter().map(|(_, item)| item.question.id.clone()).collect(),
            }),
        }
    }

    pub(super) fn back(&self, by: &By) -> Result<Vec<Event>, Refusal> {
        let unfinished = self.open().find(|round| !round.taken && round.items.len() > 1);
        let previous = unfinished.and_then(|round| {
            let current = round.items.iter().position(|item| item.given().is_none())?;
            round.items[..current].last()
        });
        let previous = previous.ok_or(Refusal::NothingBefore)?;
        Ok(vec![Event::Reopened { question: previous.question.id.clone(), by: by.clone() }])
    }

    /// Whether a question was answered, and was reopened to change the answer.
    pub(super) fn is_being_changed(&self, question: &QuestionId) -> bool {
        let state = self.item(question).map(|(_, item)| &item.state);
        matches!(state, Some(State::Open { previous: Some(_) }))
    }

    pub(super) fn keep(&self, question: &QuestionId, by: &By) -> Result<Vec<Event>, Refusal> {
        let (round, item) =
            self.item(question).ok_or_else(|| Refusal::UnknownQuestion { question: question.clone() })?;
        not_ended(round, question)?;
        match &item.state {
            State::Open { previous: Some(_) } => {
                Ok(vec![Event::Kept { question: question.clone(), by: by.clone() }])
            }
            State::Open { previous: None } | State::Answered(_) => {
                let why = format!("{question} is not being changed");
                Err(Refusal::NotNow { what: "keeping an answer".into(), why })
            }
        }
    }
}

fn not_ended(round: &Round, question: &QuestionId) -> Result<(), Refusal> {
    match &round.closed {
        Some(how) => Err(Refusal::QuestionEnded { question: question.clone(), how: how.to_string() }),
        None => Ok(()),
    }
}
