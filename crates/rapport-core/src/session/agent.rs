//! Decides the agent's inputs: it asks, takes answers, speaks, uses tools, starts and ends.

use jiff::Timestamp;

use super::agent_turns::AgentTurns;
use super::agent_turns::{Process, Turn};
use super::flow::{AskedCall, FlowRules};
use super::round::{Round, RoundItem};
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::activity::ToolUse;
use crate::answer::{Answer, By, RuleSource};
use crate::event::{Asker, Beside, Ending, Event};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::{AgentDid, Ask, Leave, NewQuestion};
use crate::permission::{Permission, PermissionRemark, Rule};
use crate::prompt;
use crate::question::{ALLOW, Choice, DENY, FOR_PROJECT, FOR_SESSION, Purpose, Question};
use crate::refusal::Refusal;

/// The number of processes that are started to deliver an answer, before the session has to be restarted.
const MOST_STARTS: u32 = 3;

/// The number of declined questions after which an agent is considered stuck.
const MAX_REFUSED: u32 = 10;

impl Shared {
    pub(super) fn decide_agent(
        &self,
        flow: &dyn FlowRules,
        turn: TurnId,
        did: &AgentDid,
        now: Timestamp,
    ) -> Result<Vec<Event>, Refusal> {
        let current = self.turns.current().filter(|current| current.id == turn && !self.is_over());
        let Some(current) = current else {
            return Err(stray());
        };
        if self.is_failed() {
            return after_failure(turn, did);
        }
        Ok(match did {
            AgentDid::Connect { conversation, model } => {
                self.turns.connect(current, conversation, model.as_deref())
            }
            AgentDid::Say { text } => vec![Event::Said { turn, text: text.clone() }],
            AgentDid::Use { tool, what, kind } => {
                vec![Event::Used { turn, tool: tool.clone(), what: what.clone(), kind: *kind }]
            }
            AgentDid::Delay { why } => {
                vec![Event::Delayed { turn, why: why.clone(), is_unkept: false }]
            }
            AgentDid::Unkept { why } => vec![Event::Delayed { turn, why: why.clone(), is_unkept: true }],
            AgentDid::Babble { line } => vec![Event::Unreadable { turn, line: line.clone() }],
            AgentDid::Note { line } => vec![Event::Noted { turn, line: line.clone() }],
            AgentDid::Ask { call, ask, parkable } => self.ask(flow, current, (call, ask, *parkable)),
            AgentDid::MissHost { host } => self.hosts.miss(turn, host),
            AgentDid::Withdraw { call } => self.rounds.withdraw_call(current, call),
            AgentDid::Take { call } => self.rounds.take_call(current, call),
            AgentDid::Read { message } => read(current, *message),
            AgentDid::StayHot { call, beside } => stay_hot(current, call, *beside),
            AgentDid::SpendSoFar { cost_micros, today } => {
                self.spent_so_far(flow, *cost_micros, today.as_ref())
            }
            AgentDid::Spend { usage } => vec![Event::Spent { turn, usage: *usage }],
            AgentDid::Finish { result } => self.finish(flow, current, result, now),
            AgentDid::Leave(leave) => self.leave(flow, current, leave, now),
        })
    }

    fn ask(
        &self,
        flow: &dyn FlowRules,
        turn: &Turn,
        (call, ask, parkable): (&CallId, &Ask, bool),
    ) -> Vec<Event> {
        let asked_again = |round: &Round| Event::AskedAgain { round: round.id, call: call.clone(), parkable };
        if let Some(round) = self.rounds.of_call(turn.id, call) {
            // The same process repeats its own call.
            return round.orphaned.then(|| asked_again(round)).into_iter().collect();
        }
        if turn.has_declined(call) {
            return Vec::new();
        }
        // An agent that is being stopped asks no person.
        if turn.stopped.is_some() {
            return vec![decline(turn, call, prompt::STOPPED.into(), &[])];
        }
        let questions = self.rounds.questions_of(turn, ask);
        if let Some(round) = self.rounds.left_open(turn.id, &questions) {
            return vec![asked_again(round)];
        }
        if questions.is_empty() {
            return vec![decline(turn, call, prompt::NO_QUESTION.into(), &[])];
        }
        if let Some(facts) = flow.on_ask(self, &AskedCall { turn, call, ask, questions: &questions }) {
            return facts;
        }
        let round = self.rounds.next_id();
        let mut facts = self.rounds.supersede_orphans(turn.id, round);
        let asker = Asker::Agent { turn: turn.id, call: call.clone(), parkable };
        let own = own_tools(&questions).filter(|_| self.created.is_lead);
        let ruled = ruled(&questions, &self.rules, "this session");
        facts.push(Event::Asked { round, asker, questions });
        facts.extend(own.into_iter().chain(ruled).take(1));
        facts
    }

    /// The reply to an agent that has used up its rounds.
    pub(super) fn no_more_rounds(&self, asked: u32) -> Option<String> {
        let max = self.created.terms.max_rounds;
        (asked >= max).then(|| prompt::no_more_rounds(max))
    }

    fn leave(&self, flow: &dyn FlowRules, turn: &Turn, leave: &Leave, now: Timestamp) -> Vec<Event> {
        let id = turn.id;
        match leave {
            Leave::Finished { result } => self.finish(flow, turn, result, now),
            Leave::Deferred { call } => vec![Event::Parked { turn: id, call: call.clone() }],
            Leave::Stopped => vec![Event::cut_off(id, "it was stopped")],
            Leave::Failed { reason } => self.rounds.broke_off(turn, reason, false),
            Leave::NotStarted { reason } => self.rounds.broke_off(turn, reason, true),
            // The workplace died twice under the same step of the agent, so a third start would not help.
            Leave::Lost { reason } if turn.is_lost => self.rounds.broke_off(turn, reason, false),
            Leave::Lost { reason } => {
                vec![Event::CutOff { turn: id, reason: reason.clone(), is_not_started: false, is_lost: true }]
            }
        }
    }

    fn finish(&self, flow: &dyn FlowRules, turn: &Turn, result: &str, now: Timestamp) -> Vec<Event> {
        let mut facts =
            self.rounds.withdraw_open(|round| round.is_of(turn.id), "the agent finished without it");
        facts.push(Event::TurnEnded { turn: turn.id, result: result.into() });
        let after = flow.after_turn(self, turn, result, now);
        // Messages sent before the turn was stopped wait with it.
        let next = after.iter().any(|fact| matches!(fact, Event::TurnStarted { .. }));
        let stopped = turn.stopped.clone().filter(|_| next && !turn.is_interrupted);
        if !next {
            facts.extend(self.rounds.withdraw_open(Round::is_about_budget, "the agent has finished"));
        }
        facts.extend(after);
        facts.extend(stopped.map(|by| Event::Stopped { turn: self.turns.next_id(), by }));
        facts
    }
}

impl AgentTurns {
    pub(super) fn connect(
        &self,
        turn: &Turn,
        conversation: &ConversationId,
        model: Option<&str>,
    ) -> Vec<Event> {
        let known = self.iter().any(|turn| turn.connected);
        if known && *conversation != self.conversation {
            let reason = format!(
                "the agent resumed the wrong conversation: {conversation} instead of {}",
                self.conversation
            );
            return vec![Event::cut_off(turn.id, reason.clone()), Event::Failed { reason }];
        }
        if turn.connected && turn.process == Process::Running && !turn.is_queued {
            return Vec::new();
        }
        let model = model.map(str::to_owned);
        vec![Event::Connected { turn: turn.id, conversation: conversation.clone(), model }]
    }
}

impl AskedRounds {
    /// The round in which a lost process asked the same questions, so that no person is asked twice.
    pub(super) fn left_open(&self, turn: TurnId, questions: &[Question]) -> Option<&Round> {
        self.pending_of(turn).find(|round| {
            round.orphaned
                && round.items.len() == questions.len()
                && round.items.iter().zip(questions).all(|(item, new)| item.question.same_as(new))
        })
    }

    pub(super) fn supersede_orphans(&self, turn: TurnId, by: RoundId) -> Vec<Event> {
        let orphans = self.open_of(turn).filter(|round| round.orphaned);
        orphans.map(|round| Event::Closed { round: round.id, how: Ending::Superseded(by) }).collect()
    }

    /// The number of rounds that the agent or a planner asked.
    pub(crate) fn count_asked(&self) -> u32 {
        let is_asked = |round: &&Round| !matches!(round.asker, Asker::Rapport) && round.is_clarifying();
        let asked = self.iter().filter(is_asked);
        asked.count() as u32
    }

    pub(super) fn questions_of(&self, turn: &Turn, ask: &Ask) -> Vec<Question> {
        match ask {
            Ask::Questions(drafts) => self.named(drafts),
            Ask::Permission(asked) => vec![permission(self.next_question(0), self.remarked(turn, asked))],
            Ask::LeavePlanMode { plan } => vec![leave_plan_mode(self.next_question(0), plan)],
        }
    }

    /// A permission with Rapport's remarks. Before the plan is confirmed no rule is offered: a call is allowed once
    /// or not at all.
    pub(super) fn remarked(&self, turn: &Turn, asked: &Permission) -> Permission {
        let mut asked = asked.clone();
        let is_same = |before: &Permission| {
            (&before.tool, &before.what, &before.parts) == (&asked.tool, &asked.what, &asked.parts)
        };
        let mut maybe_done =
            self.iter().filter(|round| round.spent || round.doubtful && round.allows_a_call());
        if maybe_done.any(|round| round.permission().is_some_and(is_same)) {
            asked.remarks.push(PermissionRemark::MayHaveRun);
        }
        if turn.is_before_the_plan() {
            asked.remarks.push(PermissionRemark::BeforeThePlan);
            asked.rule = None;
        }
        asked
    }

    /// Questions with their ids. Empty ones are dropped.
    pub(super) fn named(&self, drafts: &[NewQuestion]) -> Vec<Question> {
        let drafts = drafts.iter().filter(|draft| !draft.text.trim().is_empty());
        drafts.enumerate().map(|(n, draft)| from_draft(self.next_question(n), draft)).collect()
    }

    /// The id of the next question, with `further` new ones before it.
    pub(super) fn next_question(&self, further: usize) -> QuestionId {
        let asked = self.iter().flat_map(|round| &round.items);
        let asked = asked.filter(|item| item.question.purpose != Purpose::Confirm).count();
        QuestionId::new(format!("q{}", asked + further + 1))
    }

    pub(super) fn withdraw_call(&self, turn: &Turn, call: &CallId) -> Vec<Event> {
        let round = self.of_call(turn.id, call).filter(|round| round.closed.is_none() && !round.taken);
        let how = Ending::Withdrawn("the agent no longer asks".into());
        round.map(|round| Event::Closed { round: round.id, how }).into_iter().collect()
    }

    pub(super) fn take_call(&self, turn: &Turn, call: &CallId) -> Vec<Event> {
        // The agent continued without an answer although the question was open; the log must say so.
        if let Some(round) = self.of_call(turn.id, call).filter(|round| !round.taken) {
            if round.is_open() {
                let how = Ending::Withdrawn("the agent continued without an answer".into());
                return vec![Event::Closed { round: round.id, how }];
            }
            return vec![Event::Taken { call: call.clone() }];
        }
        turn.has_declined(call).then(|| Event::Taken { call: call.clone() }).into_iter().collect()
    }

    /// With an open question the session waits, and the answer resumes the agent. A process that ended before it had
    /// an answer is started again a few times, because the answer was acknowledged and must not be lost. Otherwise
    /// the session has failed.
    pub(super) fn broke_off(&self, turn: &Turn, reason: &str, is_not_started: bool) -> Vec<Event> {
        let cut_off =
            Event::CutOff { turn: turn.id, reason: reason.to_owned(), is_not_started, is_lost: false };
        let waits = self.open_of(turn.id).next().is_some();
        let tries_again = turn.starts_in_vain.saturating_add(1) < MOST_STARTS && self.owes_an_answer(turn.id);
        let failed = (!waits && !tries_again).then(|| Event::Failed { reason: reason.to_owned() });
        [cut_off].into_iter().chain(failed).collect()
    }

    /// Whether a person or a lead gave an answer that the agent does not have. A rule does not count, because it
    /// answers again.
    pub(super) fn owes_an_answer(&self, turn: TurnId) -> bool {
        let by_rule =
            |item: &RoundItem| item.given().is_some_and(|given| matches!(given.by, By::Rule { .. }));
        self.undelivered(turn).any(|round| !round.items.iter().all(by_rule))
    }

    /// The answered rounds whose answers the agent does not have.
    pub(super) fn undelivered(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        let is_answered = |round: &&Round| round.items.iter().all(|item| item.given().is_some());
        self.pending_of(turn).filter(is_answered)
    }
}

/// The engine stops an agent that failed. Whatever it still does is ignored, because it may be in another
/// conversation.
fn after_failure(turn: TurnId, did: &AgentDid) -> Result<Vec<Event>, Refusal> {
    match did {
        AgentDid::Spend { usage } => Ok(vec![Event::Spent { turn, usage: *usage }]),
        AgentDid::Leave(_) => Ok(vec![Event::cut_off(turn, "it was stopped after a failure")]),
        AgentDid::Connect { .. }
        | AgentDid::Say { .. }
        | AgentDid::Use { .. }
        | AgentDid::Delay { .. }
        | AgentDid::Unkept { .. }
        | AgentDid::MissHost { .. }
        | AgentDid::Babble { .. }
        | AgentDid::Finish { .. }
        | AgentDid::SpendSoFar { .. }
        | AgentDid::Note { .. } => Err(stray()),
        AgentDid::Ask { .. }
        | AgentDid::Withdraw { .. }
        | AgentDid::Take { .. }
        | AgentDid::Read { .. }
        | AgentDid::StayHot { .. } => Err(stray()),
    }
}

fn read(turn: &Turn, message: u32) -> Vec<Event> {
    let sent = (message as usize).checked_sub(1).and_then(|index| turn.messages.get(index));
    let is_news = sent.is_some_and(|message| !message.is_read);
    is_news.then_some(Event::Read { turn: turn.id, message }).into_iter().collect()
}

fn stay_hot(turn: &Turn, call: &CallId, beside: Beside) -> Vec<Event> {
    let is_news = turn.process == Process::Cooling(call.clone()) && turn.kept_by != Some(beside);
    is_news.then(|| Event::StayedHot { turn: turn.id, call: call.clone(), beside }).into_iter().collect()
}

pub(super) fn decline(turn: &Turn, call: &CallId, reason: String, questions: &[Question]) -> Event {
    let asked = questions.iter().map(|question| question.text.clone()).collect();
    Event::Declined { turn: turn.id, call: call.clone(), reason, asked }
}

/// Declines questions that the flow does not allow. An agent that keeps asking is considered stuck.
pub(super) fn refuse_questions(asked: &AskedCall<'_>, reason: String) -> Vec<Event> {
    if asked.turn.refused >= MAX_REFUSED {
        return vec![Event::Failed { reason: prompt::progress::KEEPS_ASKING.into() }];
    }
    vec![decline(asked.turn, asked.call, reason, asked.questions)]
}

fn stray() -> Refusal {
    Refusal::Stray { what: "what the agent did".into() }
}

fn from_draft(id: QuestionId, draft: &NewQuestion) -> Question {
    let named = draft.options.iter().filter(|option| !option.label.trim().is_empty());
    let options: Vec<_> = named.map(with_value).collect();
    Question {
        id,
        text: draft.text.trim().into(),
        header: draft.header.clone().filter(|header| !header.trim().is_empty()),
        multi: draft.multi,
        // A question without options can only be answered in words.
        free_text: draft.free_text || options.is_empty(),
        options,
        purpose: draft.field.as_deref().cloned().map_or(Purpose::Clarify, Purpose::Elicit),
    }
}

/// An option without a value gets its label as the value, because an empty answer is invalid.
fn with_value(option: &Choice) -> Choice {
    let value = if option.value.trim().is_empty() { &option.label } else { &option.value };
    Choice { value: value.clone(), ..option.clone() }
}

fn permission(id: QuestionId, asked: Permission) -> Question {
    let once = Choice::described("Allow once", ALLOW, "This call, with exactly what is shown");
    let always = asked.rule.iter().flat_map(|rule| {
        let rule = rule.offered_with(&asked);
        let session = format!("{rule}, until the session ends; `rapport revoke` withdraws it");
        let project =
            format!("{rule}, in every session here, kept in Rapport's home; `rapport revoke` withdraws it");
        [
            Choice::described("Allow for this session", FOR_SESSION, &session),
            Choice::described("Allow for this project", FOR_PROJECT, &project),
        ]
    });
    let deny = Choice::described("Deny", DENY, "Refuses the call; a typed text says what to do instead");
    Question {
        id,
        text: format!("May the agent use {}: {}?", asked.tool, asked.what),
        header: Some("Permission".into()),
        options: [once].into_iter().chain(always).chain([deny]).collect(),
        multi: false,
        free_text: true,
        purpose: Purpose::Permission(asked),
    }
}

/// The answer to a lead that wants to use Rapport's own tools: yes, because the tools themselves check what it may
/// do.
fn own_tools(questions: &[Question]) -> Option<Event> {
    let [question] = questions else { return None };
    let Purpose::Permission(asked) = &question.purpose else { return None };
    let by = By::rule(RuleSource::OwnTools, "a lead may use Rapport's own tools");
    let answer = Answer { values: vec![ALLOW.into()], text: None };
    let question = question.id.clone();
    (asked.kind == ToolUse::Own).then_some(Event::Answered { question, answer, by })
}

/// The answers that rules give to questions that were just asked. No rule allows anything before the plan is confirmed,
/// because such questions offer no rule.
fn ruled(questions: &[Question], rules: &[Rule], scope: &str) -> Vec<Event> {
    let ruled = questions.iter().filter_map(|question| {
        let Purpose::Permission(asked) = &question.purpose else { return None };
        let rule = rules.iter().find(|rule| rule.covers(asked)).filter(|_| asked.rule.is_some())?;
        let by = By::rule(RuleSource::Granted, format!("{rule} for {scope}"));
        let answer = Answer { values: vec![ALLOW.into()], text: None };
        Some(Event::Answered { question: question.id.clone(), answer, by })
    });
    ruled.collect()
}

/// The answers that the project's rules add to facts that are about to be stored. A rule answers in the entry that
/// asks, so that no person is asked.
pub fn ruled_by_project(facts: &[Event], rules: &[Rule]) -> Vec<Event> {
    let is_answered = |id: &QuestionId| {
        facts.iter().any(|fact| matches!(fact, Event::Answered { question, .. } if question == id))
    };
    let asked = facts.iter().filter_map(|fact| match fact {
        Event::Asked { questions, .. } => Some(questions),
        _ => None,
    });
    let open = asked.flatten().filter(|question| !is_answered(&question.id));
    ruled(&open.cloned().collect::<Vec<_>>(), rules, "this project")
}

fn leave_plan_mode(id: QuestionId, plan: &str) -> Question {
    Question {
        id,
        text: "The agent has made a plan of its own. May it go ahead?".into(),
        header: Some("Plan".into()),
        options: vec![
            Choice::described("Go ahead", ALLOW, "The agent leaves plan mode and works"),
            Choice::described(
                "Not yet",
                DENY,
                "The agent keeps planning; type a text to tell it what to change",
            ),
        ],
        multi: false,
        free_text: true,
        purpose: Purpose::LeavePlanMode { plan: plan.into() },
    }
}
