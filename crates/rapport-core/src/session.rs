//! One task from the first word to the result.
//!
//! A session is three functions: [`Session::decide`] says which facts follow from an input and changes nothing,
//! [`Session::apply_entry`] folds facts into the state and cannot fail, [`Session::wants`] says what should be true
//! of the world. For every input the engine decides, stores, applies, and makes the wants true. There is no recovery
//! code: after a crash it replays the log, puts in [`World::Lost`](crate::World), and continues in the same loop.
//!
//! The state has two parts. `shared.rs` has what all sessions do: questions and answers, the agent's process, the
//! workplace. `flow.rs` has one flow for each thing that a session can be for, and each flow only what the others do
//! not do: `work.rs`, `progress.rs`, `chat.rs`, `turns.rs`.

mod agent;
mod agent_turns;
mod apply;
mod budget;
mod chat;
mod flow;
mod handover;
mod history;
mod hosts;
mod messages;
mod offers;
mod people;
mod progress;
mod read;
mod round;
mod rounds;
mod routes;
mod shared;
mod stretch;
mod turns;
mod undo;
mod wants;
mod work;
mod world;

use jiff::Timestamp;

use crate::answer::By;
use crate::created::Created;
use crate::event::{Entry, Event};
use crate::id::{CallId, QuestionId, TurnId};
use crate::input::{Act, Input};
use crate::question::Reply;
use crate::question_round::QuestionRound;
use crate::refusal::Refusal;
use crate::want::Want;

use flow::Flow;

pub use agent::ruled_by_project;
pub use budget::SpentAt;
pub use history::{AgentTurnView, SessionHistory};
pub use read::{QuestionView, RoundView};
pub use stretch::Stretch;
pub use undo::{Unrecorded, WorkUndo};

pub(crate) use agent_turns::{Process, Turn};
pub(crate) use flow::FlowRules;
pub(crate) use round::{Given, Round, RoundItem, State};
pub(crate) use routes::Route;
pub(crate) use shared::{Life, Shared};

/// The maximum length of a task, in bytes.
pub const MAX_TASK: usize = 256 * 1024;

/// A session: the state that follows from its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(crate) shared: Shared,
    pub(crate) flow: Flow,
}

impl Session {
    /// The first facts of a session, or why they cannot begin one.
    pub fn begin(created: Created) -> Result<Vec<Event>, Refusal> {
        if created.task.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if created.task.len() > MAX_TASK {
            return Err(Refusal::TooLong { what: "task".into(), bytes: created.task.len(), limit: MAX_TASK });
        }
        let first = Flow::new(&created).rules().first_turn(&created);
        let turn =
            first.map(|(kind, prompt)| Event::TurnStarted { turn: TurnId(1), kind, prompt, mends: false });
        Ok([Event::Created(created)].into_iter().chain(turn).collect())
    }

    /// The first facts of a session that starts with a complete round, because an agent's reply contained one.
    pub fn begin_with(created: Created, first: &QuestionRound) -> Result<Vec<Event>, Refusal> {
        let mut facts = Self::begin(created)?;
        let entry = Entry { seq: 1, at: Timestamp::UNIX_EPOCH, facts: facts.clone() };
        let session = Self::open(&entry);
        let asked = session
            .iter()
            .filter_map(|session| session.flow.work().map(|flow| flow.after_round(&session.shared, first)));
        facts.extend(asked.flatten());
        let stops = session.iter().flat_map(|session| session.shared.first_stops(&facts, entry.at));
        let stops: Vec<_> = stops.collect();
        facts.extend(stops);
        Ok(facts)
    }

    /// The plan made from the answers so far, and the question whether to start with it.
    pub(crate) fn sum_up(&self) -> Vec<Event> {
        self.flow.work().map(|flow| flow.sum_up(&self.shared, None)).unwrap_or_default()
    }

    /// A session from the first entry of its log; `None` if that does not create one.
    pub fn open(first: &Entry) -> Option<Self> {
        let Some(Event::Created(created)) = first.facts.first() else {
            return None;
        };
        let mut session = Self { shared: Shared::new(created, first.at), flow: Flow::new(created) };
        session.apply_entry(first);
        Some(session)
    }

    /// A session from its whole log.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Option<Self> {
        let mut entries = entries.into_iter();
        let mut session = Self::open(entries.next()?)?;
        for entry in entries {
            session.apply_entry(entry);
        }
        Some(session)
    }

    /// Which facts follow from this input. Changes nothing.
    pub fn decide(&self, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
        let flow = self.flow.rules();
        let mut facts = match input {
            Input::Person { by, act: Act::Change { question, reply } } => {
                return self.change(question, reply, by, now);
            }
            Input::Person { by, act } => self.shared.decide_person(flow, by, act, now),
            Input::Agent { turn, did } => self.shared.decide_agent(flow, *turn, did, now),
            Input::World(world) => self.shared.decide_world(flow, world, now),
        }?;
        let stops = self.shared.first_stops(&facts, now);
        facts.extend(stops);
        Ok(facts)
    }

    /// Reopens a question and answers it, in the state that follows from reopening it. A question that is already
    /// reopened is only answered.
    fn change(
        &self,
        question: &QuestionId,
        reply: &Reply,
        by: &By,
        now: Timestamp,
    ) -> Result<Vec<Event>, Refusal> {
        let input = |act| Input::Person { by: by.clone(), act };
        let answer = input(Act::Answer { question: Some(question.clone()), reply: reply.clone() });
        if self.shared.rounds.is_being_changed(question) {
            return self.decide(&answer, now);
        }
        let mut facts = self.decide(&input(Act::Reopen { question: question.clone() }), now)?;
        let mut reopened = self.clone();
        reopened.apply_entry(&Entry { seq: self.shared.seq + 1, at: now, facts: facts.clone() });
        facts.extend(reopened.decide(&answer, now)?);
        Ok(facts)
    }

    /// Applies the facts of an entry to the state.
    pub fn apply_entry(&mut self, entry: &Entry) {
        for fact in &entry.facts {
            self.shared.apply(fact, entry.at);
            self.flow.rules_mut().apply(&mut self.shared, fact, entry.at);
        }
        self.shared.seq = entry.seq;
        self.shared.updated_at = entry.at;
    }

    /// What should be true of the world now. Each want is idempotent.
    pub fn wants(&self) -> Vec<Want> {
        self.shared.wants(self.flow.rules())
    }

    /// When passing time alone changes something, if ever: a waiting process cools, a question expires.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.shared.deadline(self.flow.rules())
    }

    /// The call that a process could park right now.
    pub fn parkable_call(&self) -> Option<CallId> {
        self.shared.parkable_call()
    }

    /// Whether a process of the agent may have been running when the log was last written.
    pub fn may_have_process(&self) -> bool {
        let runs = |want: &Want| matches!(want, Want::AgentRunning(_) | Want::Checked { .. });
        let is_wanted = || self.wants().iter().any(runs);
        !self.shared.lost(self.flow.rules()).is_empty() || is_wanted()
    }
}
