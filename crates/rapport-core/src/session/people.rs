//! Decides people's acts: answer, go back, edit, confirm, cancel, restart.

use super::{Item, Phase, Process, Round, Session, State};
use crate::answer::{Answer, By};
use crate::event::{Asker, Ending, Event, TurnKind};
use crate::id::QuestionId;
use crate::input::Act;
use crate::permission::Rule;
use crate::prompt;
use crate::question::{CANCEL, CONFIRM, Purpose, Reply};
use crate::refusal::Refusal;

impl Session {
    pub(super) fn decide_person(&self, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Answer { question, reply } => self.answer(question.as_ref(), reply, by),
            Act::Back => self.back(by),
            Act::Reopen { question } => self.reopen(question, by),
            Act::Keep { question } => self.keep(question, by),
            Act::Revoke { rule } => self.revoke(rule, by),
            Act::Confirm => self.confirm(by),
            Act::Cancel { reason } => self.cancel(by, reason.clone()),
            Act::Apply { with_conflicts } => self.apply_work(by, *with_conflicts),
            Act::Discard => self.discard_work(by),
            Act::UndoWork => self.undo_work(by),
            Act::Restart => self.restart(by),
            Act::Say { text, id } => self.say(by, text, id.as_ref()),
            Act::Draft { folder, conversation, asking, origin } => {
                self.start_draft(by, folder, conversation, *asking, origin.as_ref())
            }
            Act::LeaveDraft => self.leave_draft(by),
            Act::Review { folder } => self.start_review(by, folder),
            Act::Approve { folder, revision, chosen } => self.approve(by, folder, *revision, chosen),
            Act::Skip { folder, message } => self.skip(by, folder, message.as_ref()),
            Act::AcceptPlan { folder, text } => self.accept_plan(by, folder, text),
            Act::RestorePlan { folder } => self.restore_plan(by, folder),
            Act::Pause => self.pause(by),
            Act::GoOn { batch, interrupted } => self.go_on(by, batch, *interrupted),
            Act::Undo { batch, later } => self.undo(by, batch, *later),
            Act::AcceptChanges { turns } => self.accept_changes(by, turns),
        }
    }

    fn answer(&self, question: Option<&QuestionId>, reply: &Reply, by: &By) -> Result<Vec<Event>, Refusal> {
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
        let answer = item.question.resolve(reply)?;
        let consequence = match item.question.purpose {
            Purpose::Confirm => self.after_confirmation(&answer, by)?,
            Purpose::Clarify => self.after_planned_answer(round, item),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } | Purpose::Elicit(_) => Vec::new(),
        };
        let answered = Event::Answered { question: id.clone(), answer, by: by.clone() };
        Ok([vec![answered], consequence].concat())
    }

    fn revoke(&self, rule: &Rule, by: &By) -> Result<Vec<Event>, Refusal> {
        if !self.rules.contains(rule) {
            return Err(Refusal::NoSuchRule { rule: rule.to_string() });
        }
        Ok(vec![Event::Revoked { rule: rule.clone(), by: by.clone() }])
    }

    fn only_open(&self) -> Result<(&Round, &Item), Refusal> {
        let open: Vec<_> = self
            .open_rounds()
            .flat_map(|round| {
                round.items.iter().filter(|i| i.given().is_none()).map(move |item| (round, item))
            })
            .collect();
        // While an answer is being changed, that question is the one in hand; the confirmation comes after it.
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

    fn after_confirmation(&self, answer: &Answer, by: &By) -> Result<Vec<Event>, Refusal> {
        if answer.is(CANCEL) {
            return Ok(self.end(|round| round.call().is_some(), by, None));
        }
        let being_changed = self.open_rounds().find(|round| round.is_clarifying());
        if let Some(item) = being_changed.and_then(|round| round.items.iter().find(|i| i.given().is_none())) {
            let why = format!("{} is being changed, answer or keep it first", item.question.id);
            return Err(Refusal::NotNow { what: "confirming".into(), why });
        }
        let (kind, prompt) = match &answer.text {
            Some(wish) => (TurnKind::Plan, self.replan_prompt(wish)),
            None => (TurnKind::Work, self.work_prompt()),
        };
        Ok(vec![Event::TurnStarted { turn: self.next_turn(), kind, prompt, mends: false }])
    }

    /// An agent that made no plan yet is told everything; another knows it.
    fn replan_prompt(&self, wish: &str) -> String {
        if self.turns.is_empty() {
            return prompt::plan_with_wish(&self.created.task, self.clarified(), wish);
        }
        prompt::replan(wish, self.turns.len())
    }

    fn work_prompt(&self) -> String {
        let plan = self.plan.as_ref().map_or("", |plan| plan.text.as_str());
        prompt::work(&self.created.task, self.clarified(), plan)
    }

    fn confirm(&self, by: &By) -> Result<Vec<Event>, Refusal> {
        let waiting = self.open_rounds().flat_map(|round| &round.items);
        let mut waiting = waiting.filter(|item| item.question.purpose == Purpose::Confirm);
        match waiting.find(|item| item.given().is_none()) {
            Some(item) => self.answer(Some(&item.question.id), &Reply::Words(vec![CONFIRM.into()]), by),
            None => Err(self.not_now("confirming")),
        }
    }

    fn back(&self, by: &By) -> Result<Vec<Event>, Refusal> {
        let unfinished = self.open_rounds().find(|round| !round.taken && round.items.len() > 1);
        let previous = unfinished.and_then(|round| {
            let current = round.items.iter().position(|item| item.given().is_none())?;
            round.items[..current].last()
        });
        let previous = previous.ok_or(Refusal::NothingBefore)?;
        Ok(vec![Event::Reopened { question: previous.question.id.clone(), by: by.clone() }])
    }

    fn reopen(&self, question: &QuestionId, by: &By) -> Result<Vec<Event>, Refusal> {
        let (round, item) =
            self.item(question).ok_or_else(|| Refusal::UnknownQuestion { question: question.clone() })?;
        let too_late = |why: &str| Refusal::TooLateToChange { question: question.clone(), why: why.into() };
        if item.given().is_none() {
            return Err(too_late("it has no answer yet"));
        }
        if item.question.purpose != Purpose::Clarify || round.closed.is_some() {
            return Err(too_late("it is decided"));
        }
        if self.phase != Phase::Confirming && !round.is_open() {
            let why = match round.asker {
                Asker::Planner => "the next round is being made from it",
                Asker::Agent { .. } | Asker::Rapport => "the agent works with it",
            };
            return Err(too_late(why));
        }
        Ok(vec![Event::Reopened { question: question.clone(), by: by.clone() }])
    }

    fn keep(&self, question: &QuestionId, by: &By) -> Result<Vec<Event>, Refusal> {
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

    fn cancel(&self, by: &By, reason: Option<String>) -> Result<Vec<Event>, Refusal> {
        if self.phase.is_over() {
            return Err(self.not_now("cancelling"));
        }
        Ok(self.end(|_| true, by, reason))
    }

    /// Ends it, whatever is going on.
    pub(super) fn ended_by(&self, by: &By) -> Vec<Event> {
        self.end(|_| true, by, None)
    }

    fn end(&self, unanswered: impl Fn(&Round) -> bool, by: &By, reason: Option<String>) -> Vec<Event> {
        let mut facts = self.withdraw_open(unanswered, "the session was cancelled");
        facts.push(Event::Cancelled { by: by.clone(), reason });
        facts
    }

    fn restart(&self, by: &By) -> Result<Vec<Event>, Refusal> {
        let cut_off = self.turn().is_some_and(|turn| turn.process == Process::CutOff);
        if !self.is_failed() && !cut_off || !self.handover.is_open() {
            return Err(self.not_now("restarting"));
        }
        let restarted = Event::Restarted { by: by.clone() };
        Ok([restarted].into_iter().chain(self.try_file_again()).collect())
    }

    pub(super) fn withdraw_open(&self, which: impl Fn(&Round) -> bool, why: &str) -> Vec<Event> {
        let open = self.open_rounds().filter(|round| which(round));
        open.map(|round| Event::Closed { round: round.id, how: Ending::Withdrawn(why.into()) }).collect()
    }

    pub(super) fn not_now(&self, what: &'static str) -> Refusal {
        Refusal::NotNow { what: what.into(), why: self.phase.name().into() }
    }
}

pub(super) fn not_ended(round: &Round, question: &QuestionId) -> Result<(), Refusal> {
    match &round.closed {
        Some(how) => Err(Refusal::QuestionEnded { question: question.clone(), how: how.to_string() }),
        None => Ok(()),
    }
}
