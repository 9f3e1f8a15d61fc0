//! Derives the wants from the facts.

use super::agent_turns::AgentTurns;
use super::agent_turns::{Process, Turn};
use super::flow::FlowRules;
use super::round::{Round, RoundItem};
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::event::Ending;
use crate::id::CallId;
use crate::question::{FOR_PROJECT, Purpose};
use crate::want::{AnsweredQuestion, CallReply, Order, Want};
use crate::{elicitation, prompt};

impl Shared {
    pub(super) fn wants(&self, flow: &dyn FlowRules) -> Vec<Want> {
        if let Some(want) = self.handover.wanted(flow) {
            return self.lead_wants().chain([want]).collect();
        }
        let mut wants: Vec<_> =
            self.lead_wants().chain(self.record.wanted()).chain(flow.wants_always(self)).collect();
        wants.extend(self.offers.rules_wanted(&self.rounds));
        if !self.is_going() {
            return wants;
        }
        wants.extend(flow.wants(self));
        if let Some(turn) = self.turns.current()
            && flow.prepare(self, turn, &mut wants)
        {
            self.turn_wants(flow, turn, &mut wants);
        }
        wants.extend(self.rounds.grants_wanted());
        wants
    }

    fn turn_wants(&self, flow: &dyn FlowRules, turn: &Turn, wants: &mut Vec<Want>) {
        if self.rounds.needs_baseline(turn) {
            wants.push(Want::Baseline(turn.id));
        }
        if !self.rounds.should_run(turn) {
            return;
        }
        let replies = self.rounds.replies(turn);
        let mut order = Order {
            turn: turn.id,
            kind: turn.kind,
            conversation: self.turns.conversation.clone(),
            prompt: turn.prompt.clone(),
            sent_before: self.turns.sent_before(turn),
            system: None,
            folder: None,
            tools: false,
            linger: None,
            replies: self.rounds.doubtful_answers(turn).chain(replies.iter().cloned()).collect(),
            messages: turn.sent_messages().collect(),
        };
        flow.complete(self, &mut order);
        if !self.hosts.allowed.is_empty() {
            wants.push(Want::HostsAllowed(self.hosts.allowed.clone()));
        }
        wants.push(Want::AgentRunning(order));
        if let Process::Cooling(call) = &turn.process
            && self.rounds.only_waiting(turn).is_some_and(|round| round.call() == Some(call))
        {
            wants.push(Want::AgentParked { turn: turn.id, call: call.clone() });
        }
        wants.extend(replies.into_iter().map(|(call, reply)| Want::Replied { turn: turn.id, call, reply }));
    }
}

impl AskedRounds {
    /// Rules for the project that have yet to be saved. The agent is told afterwards.
    pub(super) fn grants_wanted(&self) -> impl Iterator<Item = Want> {
        let rounds = self.current().filter(|round| round.is_pending() && !self.is_kept(round));
        rounds.filter_map(|round| {
            let (rule, item) = (round.permission()?.rule.clone()?, round.items.first()?);
            Some(Want::Granted { question: item.question.id.clone(), rule, by: item.given()?.by.clone() })
        })
    }

    /// Whether the project's rule is saved, if the answer to this round grants one.
    pub(super) fn is_kept(&self, round: &Round) -> bool {
        let for_project = |item: &&RoundItem| item.given().is_some_and(|given| given.answer.is(FOR_PROJECT));
        let question = round.items.first().filter(for_project);
        question.is_none_or(|item| self.granted.contains(&item.question.id))
    }

    /// Whether the agent's process should exist. A process that is gone is started again once everything it asked is
    /// answered: until then waiting costs nothing.
    pub(super) fn should_run(&self, turn: &Turn) -> bool {
        if turn.stopped.is_some() {
            return false;
        }
        match turn.process {
            Process::Running | Process::Cooling(_) => true,
            Process::Parked(_) | Process::CutOff => {
                let is_answered = self.open_of(turn.id).next().is_none();
                is_answered && self.grants_wanted().next().is_none() && !self.needs_baseline(turn)
            }
            Process::Over => false,
        }
    }

    /// Whether the state of the project must be recorded before the agent does something that was allowed during
    /// planning.
    pub(super) fn needs_baseline(&self, turn: &Turn) -> bool {
        let is_planning = turn.is_before_the_plan() && turn.baseline.is_none();
        is_planning && self.pending_of(turn.id).any(Round::allows_a_call)
    }

    /// Answers that a process had taken when it was cut off. The driver finds out whether its transcript contains
    /// them.
    pub(super) fn doubtful_answers(&self, turn: &Turn) -> impl Iterator<Item = (CallId, CallReply)> {
        let rounds = self.iter().filter(|round| round.is_of(turn.id) && round.doubtful);
        let replied = rounds.filter_map(|round| Some((round.call()?.clone(), reply(round)?)));
        replied.filter(|(_, reply)| matches!(reply, CallReply::Answers(_)))
    }

    pub(super) fn replies(&self, turn: &Turn) -> Vec<(CallId, CallReply)> {
        let declined = turn.declined.iter().map(|declined| {
            let asked =
                if declined.asked.is_empty() { "your question".to_owned() } else { declined.asked.join(" ") };
            (declined.call.clone(), CallReply::Deny { asked, message: declined.reason.clone() })
        });
        let may_be_told =
            |round: &&Round| self.is_kept(round) && !(round.allows_a_call() && self.needs_baseline(turn));
        let answered = self.pending_of(turn.id).filter(|round| !round.is_open());
        let rounds = answered.filter(may_be_told);
        let replied = rounds.filter_map(|round| Some((round.call()?.clone(), reply(round)?)));
        declined.chain(replied).collect()
    }
}

impl AgentTurns {
    pub(super) fn sent_before(&self, turn: &Turn) -> usize {
        self.iter().filter(|other| other.id < turn.id && other.prompt == turn.prompt).count()
    }
}

fn reply(round: &Round) -> Option<CallReply> {
    let first = round.items.first()?;
    match round.closed {
        Some(Ending::Expired) => return Some(expired(round)),
        Some(Ending::Withdrawn(_) | Ending::Superseded(_)) => return None,
        None => {}
    }
    match first.question.purpose {
        Purpose::Clarify => {
            round.items.iter().map(answered_question).collect::<Option<_>>().map(CallReply::Answers)
        }
        Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => decision(first),
        Purpose::Elicit(_) => elicited(round),
        Purpose::Confirm | Purpose::Budget { .. } | Purpose::Idle => None,
    }
}

fn elicited(round: &Round) -> Option<CallReply> {
    let answered = round.items.iter().filter_map(|item| Some((&item.question, &item.given()?.answer)));
    let (action, content) = elicitation::reply(answered);
    let questions = round.items.iter().filter_map(answered_question).collect();
    (!round.is_open()).then_some(CallReply::Elicited { questions, action, content })
}

/// The reply to an expired round, including the answers that were given.
fn expired(round: &Round) -> CallReply {
    let answered: Vec<_> = round.items.iter().filter_map(answered_question).collect();
    let open = round.items.iter().filter(|item| item.given().is_none());
    let asked = open.map(|item| item.question.text.as_str()).collect::<Vec<_>>().join(" ");
    CallReply::Deny { asked, message: prompt::nobody_answered(&answered) }
}

fn answered_question(item: &RoundItem) -> Option<AnsweredQuestion> {
    let given = item.given()?;
    Some(AnsweredQuestion {
        question: item.question.text.clone(),
        answer: item.question.words(&given.answer),
        by: given.by.clone(),
        because: given.because.clone(),
    })
}

fn decision(item: &RoundItem) -> Option<CallReply> {
    let given = item.given()?;
    let asked = item.question.text.clone();
    if given.answer.allows() {
        return Some(CallReply::Allow { asked });
    }
    let answered = answered_question(item)?;
    let message = match &given.answer.text {
        Some(words) => AnsweredQuestion { answer: words.clone(), ..answered }.attributed(),
        None => AnsweredQuestion { answer: prompt::DENIED.into(), ..answered }.attributed(),
    };
    Some(CallReply::Deny { asked, message })
}
