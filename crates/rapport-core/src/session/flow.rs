//! The flows, one for each aim of a session. A flow has the state that only it needs, and its own parts of `decide`,
//! `apply` and `wants`; everything else is in the shared part (`shared.rs`).

use jiff::Timestamp;

use super::agent_turns::Turn;
use super::chat::ChatFlow;
use super::messages::SAYING;
use super::progress::ProgressFlow;
use super::round::{Round, RoundItem};
use super::shared::Shared;
use super::turns::TurnsFlow;
use super::work::WorkFlow;
use crate::aim::Aim;
use crate::answer::{Answer, By};
use crate::created::Created;
use crate::event::{Changes, Event, TurnKind};
use crate::id::{CallId, TurnId};
use crate::input::{Act, Ask, World};
use crate::plan::Plan;
use crate::question::{Purpose, Question};
use crate::refusal::Refusal;
use crate::turn::FoundTurns;
use crate::view::{PhaseView, Status};
use crate::want::{Order, Want};

/// A session's flow, with the state that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Work(Box<WorkFlow>),
    Progress(Box<ProgressFlow>),
    Chat(Box<ChatFlow>),
    Turns(Box<TurnsFlow>),
}

impl Flow {
    pub(super) fn new(created: &Created) -> Self {
        match &created.aim {
            Aim::Work => Flow::Work(Box::new(WorkFlow::new(created))),
            Aim::Progress(aim) => Flow::Progress(Box::new(ProgressFlow::new(aim))),
            Aim::Chat => Flow::Chat(Box::default()),
            Aim::Files => Flow::Turns(Box::default()),
        }
    }

    pub(crate) fn rules(&self) -> &dyn FlowRules {
        match self {
            Flow::Work(flow) => &**flow,
            Flow::Progress(flow) => &**flow,
            Flow::Chat(flow) => &**flow,
            Flow::Turns(flow) => &**flow,
        }
    }

    pub(super) fn rules_mut(&mut self) -> &mut dyn FlowRules {
        match self {
            Flow::Work(flow) => &mut **flow,
            Flow::Progress(flow) => &mut **flow,
            Flow::Chat(flow) => &mut **flow,
            Flow::Turns(flow) => &mut **flow,
        }
    }

    pub(crate) fn work(&self) -> Option<&WorkFlow> {
        match self {
            Flow::Work(flow) => Some(flow),
            Flow::Progress(_) | Flow::Chat(_) | Flow::Turns(_) => None,
        }
    }

    pub(crate) fn turns(&self) -> Option<&TurnsFlow> {
        match self {
            Flow::Turns(flow) => Some(flow),
            Flow::Work(_) | Flow::Progress(_) | Flow::Chat(_) => None,
        }
    }
}

/// What differs between flows. A default method is for flows that have nothing to do there.
pub(crate) trait FlowRules {
    /// The first prompt of the agent and the kind of its turn; `None` if no turn begins by itself.
    fn first_turn(&self, created: &Created) -> Option<(TurnKind, String)>;

    /// The phase of the session, as people see it.
    fn phase(&self, shared: &Shared) -> PhaseView;

    /// The phase as a reason why something cannot be done now.
    fn phase_name(&self) -> &'static str;

    /// The status of a session that has not ended, if its agent does not determine it.
    fn status(&self, _: &Shared) -> Option<Status> {
        None
    }

    /// Decides an act that only some flows have.
    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal>;

    /// Decides an engine input that only some flows have. An input for which no want is open changes nothing.
    fn decide_world(&self, _: &Shared, _: &World) -> Result<Vec<Event>, Refusal> {
        Ok(Vec::new())
    }

    /// The facts that follow from the turn directories and are not in the log.
    fn found(&self, _: &Shared, _: &FoundTurns) -> Vec<Event> {
        Vec::new()
    }

    /// The fact that something besides the agent stopped when the process that held the session died.
    fn lost(&self, _: &Shared) -> Option<Event> {
        None
    }

    /// The facts that follow from an answer that is about to be stored.
    fn after_answer(
        &self,
        _: &Shared,
        _: (&Round, &RoundItem),
        _: &Answer,
        _: &By,
    ) -> Result<Vec<Event>, Refusal> {
        Ok(Vec::new())
    }

    /// The reply to the agent instead of asking; `None` if the question is asked.
    fn on_ask(&self, _: &Shared, _: &AskedCall<'_>) -> Option<Vec<Event>> {
        None
    }

    /// The facts that follow from the end of the agent's turn.
    fn after_turn(&self, _: &Shared, _: &Turn, _: &str, _: Timestamp) -> Vec<Event> {
        Vec::new()
    }

    /// The fact that follows from the passing of time alone.
    fn tick(&self, _: &Shared, _: Timestamp) -> Option<Event> {
        None
    }

    /// When the passing of time alone changes something in this flow, if ever.
    fn deadline(&self, _: &Shared) -> Option<Timestamp> {
        None
    }

    /// The fact that follows from a restart of the session.
    fn after_restart(&self, _: &Shared) -> Option<Event> {
        None
    }

    /// Whether answers can be changed because the plan waits for confirmation.
    fn is_confirming(&self, _: &Shared) -> bool {
        false
    }

    /// Whether nothing continues by itself, so that the work so far can be undone.
    fn rests(&self, shared: &Shared) -> bool {
        shared.is_over()
    }

    /// Whether there is work to decide about: to apply it, or to discard it.
    fn has_work_to_decide(&self, shared: &Shared) -> bool {
        shared.is_over()
    }

    /// Whether the state of the files before this turn is still to be recorded.
    fn needs_baseline(&self, shared: &Shared, turn: TurnId) -> bool {
        shared.turns.current().is_some_and(|current| current.id == turn && current.baseline.is_none())
    }

    /// Applies a fact, after the shared part has.
    fn apply(&mut self, shared: &mut Shared, fact: &Event, at: Timestamp);

    /// The wants of this flow in every state of the session.
    fn wants_always(&self, _: &Shared) -> Vec<Want> {
        Vec::new()
    }

    /// The wants of this flow while the session has not ended, besides its agent.
    fn wants(&self, _: &Shared) -> Vec<Want> {
        Vec::new()
    }

    /// Adds the preconditions for running the agent of this turn. Returns whether the agent may already run.
    fn prepare(&self, _: &Shared, _: &Turn, _: &mut Vec<Want>) -> bool {
        true
    }

    /// Completes the order that starts the agent.
    fn complete(&self, _: &Shared, _: &mut Order) {}

    /// The plan that a person confirms, or the progress file.
    fn plan(&self) -> Option<&Plan> {
        None
    }

    /// What the session changed, once that is known.
    fn changes(&self) -> Option<&Changes> {
        None
    }

    /// The result of the session, in words.
    fn result(&self, _: &Shared) -> Option<String> {
        None
    }

    /// The refusal of something that the current state does not allow.
    fn not_now(&self, shared: &Shared, what: &'static str) -> Refusal {
        let stopped = shared.is_stopped().then_some("the agent was stopped");
        let why = shared.life.in_the_way().or(stopped).unwrap_or_else(|| self.phase_name());
        Refusal::NotNow { what: what.into(), why: why.into() }
    }
}

/// A call by which the agent asks.
pub(crate) struct AskedCall<'a> {
    pub(super) turn: &'a Turn,
    pub(super) call: &'a CallId,
    pub(super) ask: &'a Ask,
    pub(super) questions: &'a [Question],
}

impl AskedCall<'_> {
    /// Whether the agent asks for information only.
    pub(super) fn clarifies(&self) -> bool {
        self.questions.iter().all(|question| question.purpose == Purpose::Clarify)
    }
}

/// Handles an input that the flow does not have. The result of a want that no longer exists is ignored.
pub(super) fn stray(world: &World) -> Result<Vec<Event>, Refusal> {
    match world {
        World::Report { .. } => Err(Refusal::Stray { what: "a report".into() }),
        World::QuestionRound { .. } => Err(Refusal::Stray { what: "a round of questions".into() }),
        _ => Ok(Vec::new()),
    }
}

/// Refuses an act that the flow does not support.
pub(super) fn unknown_act(flow: &dyn FlowRules, shared: &Shared, act: &Act) -> Result<Vec<Event>, Refusal> {
    const NO_TURNS: &str = "this session has no plans of actions";
    let (what, why) = match act {
        Act::PlanTurn { .. } => ("planning", None),
        Act::LeaveDraft => ("abandoning the plan", None),
        Act::Review { .. } => ("reviewing", Some(NO_TURNS)),
        Act::Approve { .. } => ("approving", Some(NO_TURNS)),
        Act::Skip { .. } => ("skipping", Some(NO_TURNS)),
        Act::AnswerReply { .. } => ("answering the reply", Some(NO_TURNS)),
        Act::AcceptPlan { .. } => ("accepting the plan", Some(NO_TURNS)),
        Act::RestorePlan { .. } => ("restoring the plan", Some(NO_TURNS)),
        Act::Pause => ("stopping a batch", None),
        Act::GoOn { .. } => ("resuming a batch", Some(NO_TURNS)),
        Act::Undo { .. } => ("undoing", Some(NO_TURNS)),
        Act::AcceptChanges { .. } => ("accepting changes", Some(NO_TURNS)),
        Act::Say { .. } => (SAYING, None),
        Act::Unsay { .. } => ("taking a message back", None),
        Act::Confirm => ("confirming", None),
        Act::Answer { .. }
        | Act::Respond { .. }
        | Act::SendDraft { .. }
        | Act::TakeOffer { .. }
        | Act::AlwaysAnswer { .. }
        | Act::PassOn { .. }
        | Act::AskPerson { .. }
        | Act::Back
        | Act::Reopen { .. }
        | Act::Change { .. }
        | Act::Keep { .. }
        | Act::Revoke { .. }
        | Act::AllowHost { .. }
        | Act::ChangeTerms { .. }
        | Act::Cancel { .. }
        | Act::Apply { .. }
        | Act::Discard { .. }
        | Act::UndoWork
        | Act::Stop
        | Act::Restart => ("this", None),
    };
    Err(match why {
        Some(why) => Refusal::NotNow { what: what.into(), why: why.into() },
        None => flow.not_now(shared, what),
    })
}
