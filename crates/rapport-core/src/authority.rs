//! Who may do what in a session. A person may do everything. A lead (an agent that answers for a person) informs and
//! steers the worker, but never decides what the worker may do: permissions, plans, forms of other programs, money,
//! and changes to the project are for a person.
//!
//! Whoever comes in through a channel has a [`Role`] there: a paired device, a Telegram user, the holder of an MCP token.
//! The roles are the same in all channels, and `rapport-door` enforces them in one place.

use serde::{Deserialize, Serialize};

use crate::answer::By;
use crate::created::{Created, Decider, Terms};
use crate::id::SessionId;
use crate::input::Act;
use crate::question::Purpose;
use crate::routing::Policy;

/// What a person may do who came in through a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See everything, answer and steer.
    Answer,
    /// See everything, and change nothing.
    Look,
}

impl Role {
    /// The role in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Answer => "may answer",
            Self::Look => "may only look",
        }
    }
}

/// What an act decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Information for the agent: the answer to a question of its own.
    Clarification,
    /// Whether the agent may use a tool.
    Permission,
    /// Whether the agent starts to work with its plan, or leaves plan mode.
    Plan,
    /// What an MCP server asks a person, which may be a secret.
    Form,
    /// What the session may cost, and the other terms that a person sets.
    Money,
    /// Changing an answer that was given.
    OtherAnswer,
    /// What the agent may reach: hosts, and rules that allow calls.
    Reach,
    /// A message to the agent.
    Message,
    /// Whether the agent continues: stop, cancel, restart.
    Course,
    /// Applying the work to the project.
    Application,
    /// Discarding the work.
    Rejection,
    /// Undoing changes to the project's files.
    Undoing,
    /// Plans of actions and their batches.
    Batches,
}

/// Whether a person, a lead, a model or a rule may decide about a matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// They may.
    Given,
    /// They may not; a person has to.
    NeedsPerson,
    /// They may not; their wish is stored, for a person to decide.
    AsksPerson,
}

impl Matter {
    /// All matters.
    pub const ALL: [Matter; 13] = [
        Matter::Clarification,
        Matter::Permission,
        Matter::Plan,
        Matter::Form,
        Matter::Money,
        Matter::OtherAnswer,
        Matter::Reach,
        Matter::Message,
        Matter::Course,
        Matter::Application,
        Matter::Rejection,
        Matter::Undoing,
        Matter::Batches,
    ];

    /// The matter of an answer to a question for this purpose.
    pub fn of_question(purpose: &Purpose) -> Self {
        match purpose {
            Purpose::Clarify | Purpose::Idle => Matter::Clarification,
            Purpose::Permission(_) => Matter::Permission,
            Purpose::LeavePlanMode { .. } | Purpose::Confirm => Matter::Plan,
            Purpose::Elicit(_) => Matter::Form,
            Purpose::Budget { .. } => Matter::Money,
        }
    }

    /// The matter of an act; `None` for an answer, also a drafted one, whose matter is that of its question.
    pub fn of_act(act: &Act) -> Option<Self> {
        Some(match act {
            Act::Answer { .. } | Act::Respond { .. } | Act::SendDraft { .. } => return None,
            // Only a person gives an earlier answer as their own, and only a person makes it a rule.
            Act::TakeOffer { .. } | Act::AlwaysAnswer { .. } => Matter::OtherAnswer,
            Act::Back | Act::Reopen { .. } | Act::Change { .. } | Act::Keep { .. } => Matter::OtherAnswer,
            Act::Revoke { .. } | Act::AllowHost { .. } => Matter::Reach,
            Act::ChangeTerms { .. } => Matter::Money,
            Act::Confirm => Matter::Plan,
            Act::PassOn { .. } | Act::AskPerson { .. } | Act::Say { .. } | Act::Unsay { .. } => {
                Matter::Message
            }
            Act::Stop | Act::Cancel { .. } | Act::Restart => Matter::Course,
            Act::Apply { .. } => Matter::Application,
            Act::Discard { .. } => Matter::Rejection,
            Act::UndoWork | Act::Undo { .. } => Matter::Undoing,
            Act::PlanTurn { .. }
            | Act::LeaveDraft
            | Act::Review { .. }
            | Act::Approve { .. }
            | Act::AnswerReply { .. }
            | Act::Skip { .. }
            | Act::AcceptPlan { .. }
            | Act::RestorePlan { .. }
            | Act::Pause
            | Act::GoOn { .. }
            | Act::AcceptChanges { .. } => Matter::Batches,
        })
    }

    /// The matter in words, as the subject of a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Matter::Clarification => "answering the agent",
            Matter::Permission => "giving a permission",
            Matter::Plan => "agreeing to a plan",
            Matter::Form => "filling in a form",
            Matter::Money => "going on over budget",
            Matter::OtherAnswer => "changing an answer",
            Matter::Reach => "changing what the agent may reach",
            Matter::Message => "sending the agent a message",
            Matter::Course => "deciding whether the agent goes on",
            Matter::Application => "applying the work",
            Matter::Rejection => "discarding the work",
            Matter::Undoing => "undoing changes",
            Matter::Batches => "deciding about a plan of actions",
        }
    }
}

/// Whether `by` may decide about a matter, in a session with these terms.
pub fn authority(by: &By, matter: Matter, terms: &Terms) -> Authority {
    match by {
        By::Person { .. } => Authority::Given,
        By::Lead { .. } => of_lead(matter, terms),
        By::Model { .. } => of_model(matter, terms),
        By::Rule { .. } => of_rule(matter),
    }
}

/// Whether `by` may act at all in a session. If the session names a lead, only this lead and the lead that began the
/// session may act, among all leads. Otherwise a lead may act only in sessions that a lead began, not in those of a
/// person. A lead of Rapport's own, which is named after its session, may act only where it began or leads, because
/// its policy does not apply elsewhere.
pub fn may_act(by: &By, created: &Created) -> bool {
    match (by, &created.lead) {
        (By::Person { .. } | By::Model { .. } | By::Rule { .. }, _) => true,
        (By::Lead { name }, Some(lead)) => name == lead.as_str() || *by == created.by,
        (By::Lead { name }, None) if SessionId::is_in(name) => *by == created.by,
        (By::Lead { .. }, None) => matches!(created.by, By::Lead { .. }),
    }
}

fn of_lead(matter: Matter, terms: &Terms) -> Authority {
    match matter {
        Matter::Message | Matter::Course | Matter::Rejection => Authority::Given,
        // The question's class and the limits decide what it may do with an answer (`routing`).
        Matter::Clarification => match terms.questions {
            Policy::Ask => Authority::NeedsPerson,
            Policy::Assist | Policy::Auto | Policy::Trust => Authority::Given,
        },
        Matter::Application => match terms.apply {
            Decider::Lead => Authority::Given,
            Decider::Person => Authority::AsksPerson,
        },
        Matter::Permission
        | Matter::Plan
        | Matter::Form
        | Matter::Money
        | Matter::OtherAnswer
        | Matter::Reach
        | Matter::Undoing
        | Matter::Batches => Authority::NeedsPerson,
    }
}

/// A model is asked for one answer, and may decide nothing else.
fn of_model(matter: Matter, terms: &Terms) -> Authority {
    match matter {
        Matter::Clarification if terms.questions == Policy::Trust => Authority::Given,
        Matter::Clarification
        | Matter::Permission
        | Matter::Plan
        | Matter::Form
        | Matter::Money
        | Matter::OtherAnswer
        | Matter::Reach
        | Matter::Message
        | Matter::Course
        | Matter::Application
        | Matter::Rejection
        | Matter::Undoing
        | Matter::Batches => Authority::NeedsPerson,
    }
}

/// A person wrote the rule, so it answers only what that person could foresee: not a form, whose fields are unknown
/// beforehand.
fn of_rule(matter: Matter) -> Authority {
    match matter {
        Matter::Clarification | Matter::Permission | Matter::Plan | Matter::Message | Matter::Course => {
            Authority::Given
        }
        Matter::Form
        | Matter::Money
        | Matter::OtherAnswer
        | Matter::Reach
        | Matter::Application
        | Matter::Rejection
        | Matter::Undoing
        | Matter::Batches => Authority::NeedsPerson,
    }
}
