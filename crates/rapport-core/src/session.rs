//! One task from the first word to the result.
//!
//! A session is three functions: [`Session::decide`] says which facts follow from an input and changes nothing,
//! [`Session::apply`] folds a fact into the state and cannot fail, [`Session::wants`] says what should be true of the world.
//! For every input the engine decides, stores, applies, and makes the wants true. There is no recovery code: after a crash it
//! replays the log, puts in [`World::Lost`](crate::World), and continues in the same loop.

mod agent;
mod apply;
mod asked;
mod chat;
mod handover;
mod people;
mod planner;
mod progress;
mod read;
mod turns;
mod undo_work;
mod wants;
mod world;

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use crate::aim::{Aim, Asking};
use crate::answer::{Answer, By};
use crate::elicitation::Consent;
use crate::event::{Asker, Beside, Changes, Clarifier, Created, Ending, Entry, Event, TurnKind, Usage};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::Input;
use crate::permission::{Permission, Rule};
use crate::plan::Plan;
use crate::question::{Purpose, Question};
use crate::refusal::Refusal;
use crate::turn::FileTurn;
use crate::{prompt, slug};

pub use agent::ruled_by_project;
pub use read::{QuestionView, RoundView};
pub use undo_work::WorkUndo;

/// The longest task that is taken, in bytes.
pub const MAX_TASK: usize = 256 * 1024;

/// A session: the state that follows from its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(crate) created: Created,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) seq: u64,
    pub(crate) phase: Phase,
    pub(crate) conversation: ConversationId,
    pub(crate) model: Option<String>,
    pub(crate) rounds: asked::AskedRounds,
    pub(crate) turns: Vec<Turn>,
    pub(crate) plan: Option<Plan>,
    /// What the plan is to be called, where a planner has said so.
    pub(crate) outline: Option<Outline>,
    /// What somebody said and the agent was not told yet, in order.
    pub(crate) heard: Vec<String>,
    /// Ids of recent messages, for de-duplication.
    pub(crate) heard_lately: VecDeque<String>,
    /// Check sums of turns that are complete, by directory and file.
    pub(crate) sealed: BTreeMap<String, BTreeMap<String, String>>,
    /// Turns in directories, in a session of files.
    pub(crate) file_turns: Vec<FileTurn>,
    /// What the agent wanted to ask and was told to do without, in order.
    pub(crate) unasked: Vec<String>,
    /// What is allowed in it without asking.
    pub(crate) rules: Vec<Rule>,
    /// Questions whose answer holds for the project, and is kept for it.
    pub(crate) granted: Vec<QuestionId>,
    pub(crate) usage: Usage,
    pub(crate) changes: Option<Changes>,
    /// It failed before the agent it was begun with ever connected: nothing binds it to that agent.
    pub(crate) agent_never_came: bool,
    pub(crate) handover: handover::Handover,
    /// The state of the files as it was last noted since the work began.
    pub(crate) last_state: Option<String>,
    pub(crate) work_undo: WorkUndo,
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The agent asks and makes a plan.
    Clarifying,
    /// The plan is there; somebody has to confirm it.
    Confirming,
    /// The agent does it.
    Working,
    /// The work is done; what it changed is being found out.
    Reporting,
    /// A plan of actions is made; it is being written to its file.
    Filing,
    /// Whether a plan of actions can be carried out is being found out.
    Checking {
        /// The turn's directory.
        folder: String,
        /// Whether the plan's file is to be written again first.
        restore: bool,
    },
    /// What was approved of a plan is being done.
    Running {
        /// The batch.
        batch: String,
    },
    /// A turn is over; its report is being written.
    Concluding {
        /// The turn's directory.
        folder: String,
    },
    /// Nothing goes on by itself: somebody can begin a turn, or review the plan of one.
    Resting,
    /// It cannot go on by itself.
    Failed { reason: String, was: Box<Phase> },
    /// Done.
    Completed,
    /// Somebody ended it.
    Cancelled,
}

impl Phase {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Phase::Completed | Phase::Cancelled)
    }

    fn name(&self) -> &'static str {
        match self {
            Phase::Clarifying => "the agent is still clarifying the task",
            Phase::Confirming => "the plan waits for confirmation",
            Phase::Working => "the agent is working",
            Phase::Reporting => "the work is being reported",
            Phase::Filing => "the plan is being written",
            Phase::Checking { .. } => "the plan is being checked",
            Phase::Running { .. } => "what was approved is being done",
            Phase::Concluding { .. } => "the report is being written",
            Phase::Resting => "nothing is going on",
            Phase::Failed { .. } => "the session has failed",
            Phase::Completed => "the session is completed",
            Phase::Cancelled => "the session is cancelled",
        }
    }
}

/// What a plan is to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) goal: String,
    pub(crate) description: String,
}

/// A batch of questions asked together, and answered into one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) id: RoundId,
    pub(crate) asker: Asker,
    pub(crate) asked_at: Timestamp,
    /// When the process that waits began to wait; later than `asked_at` if it asked again.
    pub(crate) hot_since: Timestamp,
    pub(crate) items: Vec<Item>,
    /// The asker has the reply.
    pub(crate) taken: bool,
    /// The process that asked is gone. If it had the reply, that may be gone with it.
    pub(crate) orphaned: bool,
    /// The process that took the reply was cut off later. What it had not put on disk by then is gone.
    pub(crate) doubtful: bool,
    /// It allowed something, and the process that was told so is gone: it may have been done, and is not allowed again.
    pub(crate) spent: bool,
    pub(crate) closed: Option<Ending>,
    /// The state of the project at it was noted, as far as it could be.
    pub(crate) snapshotted: bool,
}

impl Round {
    /// Whether somebody still has to answer something in it.
    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none() && !self.is_declined() && self.items.iter().any(|item| item.given().is_none())
    }

    /// Whether an MCP server is told that it gets nothing, whatever else it wanted to know.
    fn is_declined(&self) -> bool {
        let declines = |item: &Item| {
            let action = item.given().map(|given| Consent::of(&given.answer));
            item.question.purpose.field().is_some() && action.is_some_and(|action| action != Consent::Accept)
        };
        self.items.iter().any(declines)
    }

    /// Whether its asker still waits for something.
    fn is_pending(&self) -> bool {
        !self.taken && !self.spent && !self.is_dropped()
    }

    /// Whether it lets a call run.
    pub(crate) fn allows_a_call(&self) -> bool {
        let given = self.items.first().and_then(Item::given);
        self.permission().is_some() && given.is_some_and(|given| given.answer.allows())
    }

    /// The permission it is about, if it is.
    pub(crate) fn permission(&self) -> Option<&Permission> {
        match &self.items.first()?.question.purpose {
            Purpose::Permission(asked) => Some(asked),
            Purpose::Clarify | Purpose::Elicit(_) | Purpose::LeavePlanMode { .. } | Purpose::Confirm => None,
        }
    }

    /// Whether it ended in a way that leaves nothing to reply.
    fn is_dropped(&self) -> bool {
        matches!(self.closed, Some(Ending::Withdrawn(_) | Ending::Superseded(_)))
    }

    /// The answer to one of its questions. One that is being changed stands until it is, or until that is too late.
    fn standing<'a>(&self, item: &'a Item) -> Option<&'a Given> {
        match &item.state {
            State::Answered(given) => Some(given),
            State::Open { previous } => previous.as_ref().filter(|_| self.closed.is_none()),
        }
    }

    fn call(&self) -> Option<&CallId> {
        match &self.asker {
            Asker::Agent { call, .. } => Some(call),
            Asker::Rapport | Asker::Planner => None,
        }
    }

    /// Whether this call waits for it, or had its reply.
    fn is_called(&self, call: &CallId) -> bool {
        self.call() == Some(call) && !self.is_dropped() && !self.spent
    }

    pub(crate) fn is_of(&self, turn: TurnId) -> bool {
        matches!(self.asker, Asker::Agent { turn: asking, .. } if asking == turn)
    }

    fn is_parkable(&self) -> bool {
        matches!(self.asker, Asker::Agent { parkable: true, .. })
    }

    pub(crate) fn is_clarifying(&self) -> bool {
        self.items.iter().all(|item| item.question.purpose == Purpose::Clarify)
    }
}

/// A question and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) question: Question,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has answered, or somebody wants to answer anew.
    Open { previous: Option<Given> },
    /// Somebody has.
    Answered(Given),
}

/// An answer, who gave it and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) at: Timestamp,
}

impl Item {
    pub(crate) fn given(&self) -> Option<&Given> {
        match &self.state {
            State::Answered(given) => Some(given),
            State::Open { .. } => None,
        }
    }

    /// The answer in words, whether it stands or is being changed.
    pub(crate) fn last_words(&self) -> Option<String> {
        let given = match &self.state {
            State::Answered(given) => given,
            State::Open { previous } => previous.as_ref()?,
        };
        Some(self.question.words(&given.answer))
    }
}

/// One turn of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) kind: TurnKind,
    pub(crate) prompt: String,
    /// The directory it has, in a session of files, and whether it may ask.
    pub(crate) folder: Option<String>,
    pub(crate) asking: Asking,
    pub(crate) process: Process,
    pub(crate) connected: bool,
    /// `None` until it is noted; then the name of the state, if the worker has one.
    pub(crate) baseline: Option<Option<String>>,
    /// Calls that get no answer; until the agent has been told.
    pub(crate) declined: Vec<Declined>,
    /// How often it asked in vain.
    pub(crate) refused: u32,
    /// What the agent said, where that is to become a file.
    pub(crate) said: Vec<String>,
    /// Whether a plan was proposed in it.
    pub(crate) proposed: bool,
    /// Whether it is the last try at a file that the turn before got wrong.
    pub(crate) mends: bool,
    pub(crate) doing: Option<String>,
    /// What keeps a process that was to be parked.
    pub(crate) kept_by: Option<Beside>,
    pub(crate) result: Option<String>,
}

/// A call that gets no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declined {
    pub(crate) call: CallId,
    /// What the agent is told.
    pub(crate) reason: String,
    /// What it wanted to know.
    pub(crate) asked: Vec<String>,
}

/// What is known about the agent's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// It should be there.
    Running,
    /// It should be there no longer, once it has put this call away.
    Cooling(CallId),
    /// It ended cleanly and will ask this call again.
    Parked(CallId),
    /// It is gone in the middle of something.
    CutOff,
    /// The turn is over.
    Over,
}

impl Session {
    /// The first facts of a session, or why there is no session in it.
    pub fn begin(created: Created) -> Result<Vec<Event>, Refusal> {
        if created.task.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if created.task.len() > MAX_TASK {
            return Err(Refusal::TooLong { what: "task".into(), bytes: created.task.len(), limit: MAX_TASK });
        }
        let first = match (&created.aim, created.terms.clarifier) {
            (Aim::Files, _) | (Aim::Work, Clarifier::Planner) => None,
            (Aim::Chat, _) => Some((TurnKind::Chat, created.task.clone())),
            (Aim::Work, Clarifier::Agent) | (Aim::Progress(_), _) => {
                Some((TurnKind::Plan, prompt::first(&created)))
            }
        };
        let turn =
            first.map(|(kind, prompt)| Event::TurnStarted { turn: TurnId(1), kind, prompt, mends: false });
        Ok([Event::Created(created)].into_iter().chain(turn).collect())
    }

    /// A session from the first entry of its log; `None` if that does not create one.
    pub fn open(first: &Entry) -> Option<Self> {
        let Some(Event::Created(created)) = first.facts.first() else {
            return None;
        };
        let mut session = Self {
            conversation: created.conversation.clone(),
            created: created.clone(),
            created_at: first.at,
            updated_at: first.at,
            seq: 0,
            phase: if created.aim.rests() { Phase::Resting } else { Phase::Clarifying },
            model: None,
            rounds: asked::AskedRounds::default(),
            turns: Vec::new(),
            plan: None,
            outline: None,
            heard: Vec::new(),
            heard_lately: created.request.iter().cloned().collect(),
            sealed: BTreeMap::new(),
            file_turns: Vec::new(),
            unasked: Vec::new(),
            rules: Vec::new(),
            granted: Vec::new(),
            usage: Usage::default(),
            changes: None,
            agent_never_came: false,
            handover: handover::Handover::default(),
            last_state: None,
            work_undo: WorkUndo::Not,
        };
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
        match input {
            Input::Person { by, act } => self.decide_person(by, act),
            Input::Agent { turn, did } => self.decide_agent(*turn, did),
            Input::World(world) => self.decide_world(world, now),
        }
    }

    /// Folds the facts of an entry in.
    pub fn apply_entry(&mut self, entry: &Entry) {
        for fact in &entry.facts {
            self.apply(fact, entry.at);
        }
        self.seq = entry.seq;
        self.updated_at = entry.at;
    }

    /// How many entries of the log are in here.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// What is allowed in it without asking.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The project's directory.
    pub fn project(&self) -> &str {
        &self.created.project
    }

    /// Check sums of the files of turns that are complete, by directory.
    pub fn sealed(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.sealed
    }

    /// Whether nothing can happen here any more.
    pub fn is_over(&self) -> bool {
        self.phase.is_over()
    }

    /// Whether it waits for somebody to restart it.
    pub fn is_failed(&self) -> bool {
        matches!(self.phase, Phase::Failed { .. })
    }

    pub(crate) fn turn(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.process != Process::Over)
    }

    pub(crate) fn open_rounds(&self) -> impl Iterator<Item = &Round> {
        self.rounds.current().filter(|round| round.is_open())
    }

    fn open_rounds_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.open_rounds().filter(move |round| round.is_of(turn))
    }

    fn pending_rounds_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.rounds.current().filter(move |round| round.is_of(turn) && round.is_pending())
    }

    /// Rounds at which the agent still is. One that was cut off and let go on without an answer is past them.
    pub(crate) fn waited_for(&self, turn: &Turn) -> impl Iterator<Item = &Round> {
        let is_there = turn.process == Process::Running;
        self.open_rounds_of(turn.id).filter(move |round| !(is_there && round.orphaned))
    }

    /// The round that is replied to by this call of this turn.
    fn round_of_call(&self, turn: TurnId, call: &CallId) -> Option<&Round> {
        self.rounds.iter().find(|round| round.is_of(turn) && round.is_called(call))
    }

    fn item(&self, question: &QuestionId) -> Option<(&Round, &Item)> {
        self.rounds.item(question)
    }

    fn next_round(&self) -> RoundId {
        RoundId(self.rounds.len() as u32 + 1)
    }

    fn next_turn(&self) -> TurnId {
        TurnId(self.turns.len() as u32 + 1)
    }

    /// Questions with what was answered, oldest first.
    pub(crate) fn clarified(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(_, item)| Some((&item.question, item.given()?)))
    }

    /// Questions with the answers that stand, oldest first: what a plan is made of.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(round, item)| Some((&item.question, round.standing(item)?)))
    }

    fn clarifying(&self) -> impl Iterator<Item = (&Round, &Item)> {
        let items = self.rounds.iter().flat_map(|round| round.items.iter().map(move |item| (round, item)));
        items.filter(|(_, item)| item.question.purpose == Purpose::Clarify)
    }

    /// The names of the plan's folder and file, from what the agent wrote and what was asked for.
    fn plan_names(&self, text: &str) -> (String, String) {
        let heading = text.lines().find_map(|line| line.trim().strip_prefix("# "));
        let heading =
            heading.map(|title| title.trim_start_matches("Plan:").trim()).filter(|title| !title.is_empty());
        let first_words = || self.created.task.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let goal = heading.map_or_else(first_words, str::to_owned);
        (slug::part(&goal), slug::part(&self.created.task))
    }
}
