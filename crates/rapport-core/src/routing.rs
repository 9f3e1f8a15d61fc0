//! Who is asked what, in which order, for how long: the class of each question, the policies of a session, and the
//! chain from its lead to a person. `docs/routing.md` has the same as tables, and a test compares them.
//!
//! The class follows from what asks (`routing/class.rs`) and from a table of words (`routing/words.rs`). A lead may
//! only raise it. Passing time moves a question on to the next recipient; it never answers one.

mod class;
mod ground;
mod words;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::id::SessionId;

pub use class::{Class, Earlier};
pub use ground::{Ground, Grounding, NoGround};
pub use words::{ROWS, WordRow, tokens};

/// How many answers in a row a lead may give in a session before a person has to act there.
pub const MOST_IN_A_ROW: u32 = 5;
/// How much more time a lead gets that asks its own person.
pub const ASKING_TIME: SignedDuration = SignedDuration::from_mins(10);
/// The maximum number of leads above a session.
const DEEPEST: usize = 8;

/// What a lead may do with those questions of a session that it may answer by their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Nothing: only people are asked.
    #[serde(alias = "person")]
    Ask,
    /// It drafts; a person sends the draft.
    Assist,
    /// It answers with a ground; without one it drafts.
    Auto,
    /// It answers without a ground, because the task is its own: an assistant began the session.
    #[serde(alias = "lead")]
    Trust,
}

impl Policy {
    /// All policies, from the strictest.
    pub const ALL: [Self; 4] = [Self::Ask, Self::Assist, Self::Auto, Self::Trust];

    /// Its name in settings and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Assist => "assist",
            Self::Auto => "auto",
            Self::Trust => "trust",
        }
    }

    /// The policy of this name. The names of older versions are known: `person` and `lead`.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "person" => Some(Self::Ask),
            "lead" => Some(Self::Trust),
            word => Self::ALL.into_iter().find(|policy| policy.word() == word),
        }
    }

    /// Whether it gives a lead at most the rights of another policy.
    pub fn is_within(self, other: Self) -> bool {
        let strictness = |policy| Self::ALL.into_iter().position(|known| known == policy);
        strictness(self) <= strictness(other)
    }

    /// Whether the lead answers by itself, so that its answers are limited in number.
    pub(crate) fn has_limits(self) -> bool {
        matches!(self, Self::Auto | Self::Trust)
    }

    pub(crate) fn is_trust(&self) -> bool {
        *self == Self::Trust
    }
}

/// The times and limits of routing, fixed for a whole session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoutingTerms {
    /// How long the lead has for a question before a person is asked.
    pub lead_time: SignedDuration,
    /// How many answers a lead may give in an hour.
    pub per_hour: u32,
    /// How long the person has before others are asked as well; `None` if no others are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person_time: Option<SignedDuration>,
}

impl Default for RoutingTerms {
    fn default() -> Self {
        Self { lead_time: SignedDuration::from_mins(1), per_hour: 20, person_time: None }
    }
}

impl RoutingTerms {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Who is asked a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// The lead of the session.
    Lead,
    /// The person of the session.
    Person,
    /// All others who may answer, in addition.
    Others,
}

/// One step of a question's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Who is asked.
    pub who: Recipient,
    /// How long; `None` for until it is answered.
    pub time: Option<SignedDuration>,
}

/// The route of a question of this class. It ends with a step without a time limit, because silence never decides.
pub fn chain(class: Class, policy: Policy, terms: &RoutingTerms) -> Vec<Stop> {
    let asks_lead = policy != Policy::Ask && !class.is_for_people();
    let lead = asks_lead.then_some(Stop { who: Recipient::Lead, time: Some(terms.lead_time) });
    let person = Stop { who: Recipient::Person, time: terms.person_time };
    let others = terms.person_time.map(|_| Stop { who: Recipient::Others, time: None });
    lead.into_iter().chain([person]).chain(others).collect()
}

/// Why a question was routed to its recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hop {
    /// The recipient is the first in the chain.
    First,
    /// Its class is for people.
    ForPeople,
    /// The previous recipient did not answer in time.
    TimeOver,
    /// The lead passed it on.
    PassedOn {
        /// Why, in its words.
        reason: String,
    },
    /// The lead drafted an answer, which a person sends or replaces.
    Drafted,
    /// The lead has reached a limit of answers.
    LimitReached(Limit),
    /// The lead could not be told.
    LeadGone {
        /// Why, in words for a person.
        reason: String,
    },
}

impl Hop {
    /// The reason in words, after "because".
    pub fn in_words(&self) -> String {
        match self {
            Hop::First => "it comes first".into(),
            Hop::ForPeople => "only people decide that".into(),
            Hop::TimeOver => "the time for an answer is over".into(),
            Hop::PassedOn { reason } => format!("the lead passed it on: {reason}"),
            Hop::Drafted => "the lead drafted an answer".into(),
            Hop::LimitReached(limit) => limit.in_words().into(),
            Hop::LeadGone { reason } => format!("the lead could not be told: {reason}"),
        }
    }
}

/// A limit on a lead's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Too many in a row, without an act of a person.
    InARow,
    /// Too many in an hour.
    PerHour,
}

impl Limit {
    fn in_words(self) -> &'static str {
        match self {
            Limit::InARow => "the lead answered five times in a row",
            Limit::PerHour => "the lead gave as many answers as it may in an hour",
        }
    }
}

/// Checks that a session may have this lead: sessions and their leads form a tree. `lead_of` returns the lead of each
/// session.
pub fn check_tree(
    session: Option<&SessionId>,
    lead: &SessionId,
    lead_of: impl Fn(&SessionId) -> Option<SessionId>,
) -> Result<(), NoTree> {
    let mut above = lead.clone();
    for _ in 0..DEEPEST {
        if session == Some(&above) {
            return Err(NoTree::Cycle(lead.clone()));
        }
        match lead_of(&above) {
            Some(next) => above = next,
            None => return Ok(()),
        }
    }
    Err(NoTree::TooDeep(lead.clone()))
}

/// Why a session cannot have a lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTree {
    /// The lead is led by the session itself.
    #[error("{0} cannot lead this session, because this session leads it")]
    Cycle(SessionId),
    /// Too many leads are above it, or they lead one another.
    #[error("{0} cannot lead this session: at most 8 leads stand one above the other")]
    TooDeep(SessionId),
}
