//! Applies each fact to the state. Nothing here can fail or refuse: a fact has happened.

use jiff::Timestamp;

use super::agent_turns::AgentTurns;
use super::agent_turns::{Declined, Message, Process};
use super::round::{Given, Round, RoundItem, State};
use super::shared::{Life, Shared};
use crate::activity::Activity;
use crate::event::{Asker, Ending, Event, TurnKind};
use crate::id::{CallId, QuestionId, RoundId, TurnId};
use crate::question::{FOR_SESSION, GO_ON, Purpose, Question};

impl Shared {
    /// Applies a fact to the state that all sessions share. The flow applies it afterwards.
    pub(super) fn apply(&mut self, fact: &Event, at: Timestamp) {
        self.routes.apply(fact, at, &self.created.terms.routing);
        self.offers.apply(fact);
        match fact {
            Event::TurnStarted { turn, kind, prompt, .. } => self.begin_turn(*turn, *kind, prompt),
            Event::PlanStarted { turn, conversation, .. } => {
                self.begin_turn(*turn, TurnKind::TurnPlan, "");
                self.turns.conversation = conversation.clone();
            }
            Event::Baselined { turn, baseline } => {
                self.record.apply(fact, &self.turns);
                self.turns.with(*turn, |t| t.baseline = Some(baseline.clone()));
            }
            Event::Connected { turn, conversation, model } => {
                self.turns.conversation = conversation.clone();
                self.turns.model = model.clone().or(self.turns.model.take());
                self.turns.alive(*turn);
                self.turns.with(*turn, |turn| {
                    turn.connected = true;
                    turn.unkept = None;
                });
            }
            Event::Said { turn, text } => self.turns.doing(*turn, Activity::words(text)),
            Event::Delayed { turn, why, is_unkept } => {
                self.turns.doing(*turn, Activity::Words(why.clone()));
                self.turns.with(*turn, |turn| turn.unkept = is_unkept.then(|| why.clone()));
            }
            Event::Used { turn, tool, what, kind } => {
                self.turns.doing(*turn, Activity::tool(tool, what, *kind));
                self.turns.with(*turn, |turn| turn.may_have_written |= kind.may_write());
            }
            Event::Asked { round, asker, questions } => self.open_round(*round, asker, questions, at),
            Event::Snapshotted { round, .. } => {
                self.record.apply(fact, &self.turns);
                self.rounds.with(*round, |round| round.snapshotted = true);
            }
            Event::AskedAgain { round, call, parkable } => self.reopen_round(*round, call, *parkable, at),
            Event::Declined { turn, call, reason, asked } => {
                let declined = Declined { call: call.clone(), reason: reason.clone(), asked: asked.clone() };
                self.turns.with(*turn, |t| {
                    t.refused += u32::from(!declined.asked.is_empty());
                    t.declined.push(declined);
                });
                self.unasked.extend(asked.iter().cloned());
            }
            Event::Answered { question, answer, by } => {
                let because = self.grounded.take().filter(|(grounded, _)| grounded == question);
                let because = because.map(|(_, because)| because);
                let given = Given { answer: answer.clone(), by: by.clone(), at, because };
                self.answered(question, given);
            }
            Event::Grounded { question, because } => {
                self.grounded = Some((question.clone(), because.clone()));
            }
            Event::Granted { question } => self.rounds.granted.push(question.clone()),
            Event::Revoked { rule, .. } => self.rules.retain(|known| known != rule),
            Event::HostRefused { host, .. } => self.hosts.apply_refused(host),
            Event::HostAllowed { host, .. } => self.hosts.apply_allowed(host),
            Event::TermsChanged { change, .. } => {
                self.created.terms = self.created.terms.changed(change);
                if change.budget_micros.is_some() {
                    self.spending.replace_budget();
                }
                if change.agent.is_some() {
                    self.created.agent.clone_from(&change.agent);
                    self.turns.agent_never_came = false;
                }
            }
            Event::Reopened { question, .. } => self.rounds.with_item(question, |item| {
                if let State::Answered(given) = &item.state {
                    item.state = State::Open { previous: Some(given.clone()) };
                }
            }),
            Event::Kept { question, .. } => self.rounds.with_item(question, |item| {
                if let State::Open { previous: Some(given) } = &item.state {
                    item.state = State::Answered(given.clone());
                }
            }),
            Event::Taken { call } => self.taken(call),
            Event::Closed { round, how } => self.close(*round, how),
            Event::Cooled { turn, call } => self.turns.set_process(*turn, Process::Cooling(call.clone())),
            Event::StayedHot { turn, beside, .. } => {
                self.turns.with(*turn, |turn| turn.kept_by = Some(*beside));
            }
            Event::Parked { turn, call } => self.gone(*turn, Process::Parked(call.clone())),
            Event::CutOff { turn, is_not_started, is_lost, .. } => {
                let is_in_vain = self.rounds.owes_an_answer(*turn);
                self.turns.with(*turn, |turn| turn.starts_in_vain += u32::from(is_in_vain));
                self.gone(*turn, Process::CutOff);
                self.turns.with(*turn, |turn| {
                    turn.is_not_started = *is_not_started;
                    turn.is_lost |= *is_lost;
                });
            }
            Event::Spent { usage, .. } => self.spending.spend(*usage, at),
            Event::TurnEnded { turn, result } => self.turns.with(*turn, |turn| {
                turn.process = Process::Over;
                turn.doing = None;
                turn.result = Some(result.clone());
            }),
            Event::Failed { reason } => {
                self.ends += 1;
                self.ended_at = Some(at);
                self.turns.agent_never_came |= !self.turns.was_connected();
                self.life = Life::Failed { reason: reason.clone() };
            }
            Event::Restarted { .. } => self.restarted(),
            Event::Heard { turn, text, id, by } => {
                self.turns.note_heard(id.as_ref());
                let (text, id, by) = (text.clone(), id.clone(), by.clone());
                let message = Message { text, id, by, at, is_read: false, is_withdrawn: false };
                turn.iter()
                    .for_each(|turn| self.turns.with(*turn, |turn| turn.messages.push(message.clone())));
            }
            Event::Unsaid { id } => self.turns.withdraw(id),
            Event::Interrupted { turn, by } => self.turns.with(*turn, |turn| {
                turn.stopped = Some(by.clone());
                turn.is_interrupted = true;
                turn.doing = None;
            }),
            Event::Read { turn, message } => self.turns.read(*turn, *message),
            Event::Queued { turn } => self.turns.with(*turn, |turn| turn.is_queued = true),
            Event::Stopped { turn, by } => self.turns.with(*turn, |turn| {
                turn.stopped = Some(by.clone());
                turn.is_interrupted = false;
                turn.doing = None;
            }),
            Event::ApplyRequested { .. }
            | Event::Applying { .. }
            | Event::Merged(_)
            | Event::NotApplied(_)
            | Event::Applied { .. }
            | Event::Discarded { .. }
            | Event::Cleared { .. } => self.handover.apply(fact),
            Event::Cancelled { .. } => {
                self.record.apply(fact, &self.turns);
                self.ends += 1;
                self.ended_at = Some(at);
                self.life = Life::Cancelled;
                if let Some(turn) = self.turns.last_mut() {
                    turn.process = Process::Over;
                }
            }
            // What this means for the session depends on the flow.
            Event::Reported { .. } => {
                self.record.apply(fact, &self.turns);
                self.ends += 1;
                self.ended_at = Some(at);
            }
            Event::WorkLeft { .. }
            | Event::WorkUndoStarted { .. }
            | Event::WorkUndoRefused { .. }
            | Event::WorkUndone { .. } => self.record.apply(fact, &self.turns),
            Event::Created(_)
            | Event::Routed { .. }
            | Event::LeadTold { .. }
            | Event::LeadInformed { .. }
            | Event::LeadAsks { .. }
            | Event::LeadReleased { .. }
            | Event::Drafted { .. }
            | Event::Offered { .. }
            | Event::AnswerRuled { .. }
            | Event::AnswerRuleKept { .. }
            | Event::Dropped { .. }
            | Event::Unchecked { .. }
            | Event::Unreadable { .. }
            | Event::Noted { .. }
            | Event::Unknown(_) => {}
            // Only flows apply these facts.
            Event::Outlined { .. }
            | Event::PlanProposed { .. }
            | Event::PlanSaved { .. }
            | Event::Checked { .. }
            | Event::PlanLeft { .. }
            | Event::Filed { .. }
            | Event::Sealed { .. }
            | Event::TurnFound(_)
            | Event::TurnGone { .. }
            | Event::ReplyAnswered { .. }
            | Event::ReplySkipped { .. }
            | Event::ReviewStarted { .. }
            | Event::PlanChecked { .. }
            | Event::PlanDiffers { .. }
            | Event::PlanAccepted { .. }
            | Event::PlanRestored { .. }
            | Event::Approved { .. }
            | Event::Skipped { .. }
            | Event::ActionAsked { .. }
            | Event::ActionEnded { .. }
            | Event::BatchPaused { .. }
            | Event::BatchResumed { .. }
            | Event::BatchEnded { .. }
            | Event::UndoStarted { .. }
            | Event::UndoRefused { .. }
            | Event::Undone { .. } => {}
        }
    }

    fn begin_turn(&mut self, id: TurnId, kind: TurnKind, prompt: &str) {
        self.life = Life::Going;
        self.handover.drop_request();
        self.record.begin_turn();
        self.turns.begin(id, kind, prompt);
    }

    fn restarted(&mut self) {
        self.handover.drop_request();
        if self.is_failed() {
            self.life = Life::Going;
        }
        let Some(turn) = self.turns.last_mut() else { return };
        turn.stopped = None;
        turn.is_interrupted = false;
        if turn.process == Process::CutOff {
            turn.refused = 0;
            turn.is_not_started = false;
            turn.is_lost = false;
            turn.starts_in_vain = 0;
            turn.process = Process::Running;
        }
    }

    fn open_round(&mut self, id: RoundId, asker: &Asker, questions: &[Question], at: Timestamp) {
        if let Asker::Agent { turn, .. } = asker {
            self.turns.alive(*turn);
            // The process only waits now.
            self.turns.with(*turn, |turn| turn.doing = None);
        }
        let item = |question: &Question| RoundItem { question: question.clone(), state: State::open() };
        self.rounds.push(Round {
            id,
            asker: asker.clone(),
            asked_at: at,
            hot_since: at,
            items: questions.iter().map(item).collect(),
            taken: false,
            orphaned: false,
            doubtful: false,
            spent: false,
            closed: None,
            snapshotted: false,
        });
    }

    fn reopen_round(&mut self, id: RoundId, call: &CallId, parkable: bool, at: Timestamp) {
        let turn = self.rounds.with(id, |round| {
            round.hot_since = at;
            round.orphaned = false;
            round.doubtful = false;
            round.taken = false;
            let Asker::Agent { turn, call: waiting, parkable: can_park } = &mut round.asker else {
                return None;
            };
            *waiting = call.clone();
            *can_park = parkable;
            Some(*turn)
        });
        if let Some(turn) = turn.flatten() {
            self.turns.alive(turn);
        }
    }

    fn answered(&mut self, question: &QuestionId, given: Given) {
        let (for_session, goes_on) = (given.answer.is(FOR_SESSION), given.answer.is(GO_ON));
        self.rounds.with_item(question, |item| item.state = State::Answered(given));
        match self.rounds.item(question).map(|(_, item)| &item.question.purpose) {
            Some(Purpose::Permission(asked)) if for_session => {
                let rule = asked.rule.clone().filter(|rule| !self.rules.contains(rule));
                self.rules.extend(rule);
            }
            Some(Purpose::Budget { raised_micros, day }) if goes_on => {
                let (micros, day) = (*raised_micros, day.clone());
                self.spending.raise(micros, day.as_deref());
            }
            _ => {}
        }
    }

    fn close(&mut self, id: RoundId, how: &Ending) {
        let call = self.rounds.with(id, |round| {
            round.closed = Some(how.clone());
            round.call().cloned()
        });
        if let Some(call) = call.flatten() {
            self.turns.warm(&call);
        }
    }

    fn taken(&mut self, call: &CallId) {
        self.rounds.with_call(call, |round| round.taken = true);
        if let Some(turn) = self.turns.last_mut() {
            turn.declined.retain(|declined| declined.call != *call);
            turn.is_lost = false;
            turn.starts_in_vain = 0;
        }
        self.turns.warm(call);
    }

    fn gone(&mut self, turn: TurnId, process: Process) {
        let cut_off = process == Process::CutOff;
        let put_away = if let Process::Parked(call) = &process { Some(call.clone()) } else { None };
        self.turns.set_process(turn, process);
        self.turns.with(turn, |turn| {
            turn.doing = None;
            turn.kept_by = None;
            turn.is_queued = false;
            if turn.is_interrupted {
                (turn.stopped, turn.is_interrupted) = (None, false);
            }
        });
        self.rounds.lose_process(turn, cut_off, put_away.as_ref());
    }
}

impl AgentTurns {
    /// A message of the current turn was withdrawn, if the agent has not read it.
    pub(super) fn withdraw(&mut self, id: &str) {
        let messages = self.last_mut().map(|turn| &mut turn.messages);
        let named = messages.into_iter().flatten().filter(|message| message.id.as_deref() == Some(id));
        named.for_each(|message| message.is_withdrawn = true);
    }

    pub(super) fn read(&mut self, turn: TurnId, message: u32) {
        self.with(turn, |turn| {
            let index = (message as usize).checked_sub(1);
            if let Some(sent) = index.and_then(|index| turn.messages.get_mut(index)) {
                sent.is_read = true;
            }
        });
    }

    /// A process that was to be parked for this call stays, because the call no longer waits.
    pub(super) fn warm(&mut self, call: &CallId) {
        if let Some(turn) = self.last_mut().filter(|turn| turn.process == Process::Cooling(call.clone())) {
            turn.process = Process::Running;
            turn.kept_by = None;
        }
    }

    pub(super) fn doing(&mut self, turn: TurnId, what: Activity) {
        self.alive(turn);
        self.with(turn, |turn| turn.doing = Some(what));
    }

    /// Anything the agent does proves that its process exists. A cooling process stays cooling until it ends.
    pub(super) fn alive(&mut self, turn: TurnId) {
        self.with(turn, |turn| {
            turn.is_queued = false;
            if matches!(turn.process, Process::Parked(_) | Process::CutOff) {
                turn.process = Process::Running;
            }
        });
    }

    pub(super) fn set_process(&mut self, turn: TurnId, process: Process) {
        self.with(turn, |turn| turn.process = process);
    }
}
