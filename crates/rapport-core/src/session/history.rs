//! What a session took so far: the turns of its agent, their cost, and the time in which it waited for answers.

use jiff::{SignedDuration, Timestamp};

use super::budget::SpentAt;
use super::shared::Shared;
use super::{Process, Round, RoundItem};
use crate::event::TurnKind;
use crate::id::TurnId;

/// What a session took so far.
#[derive(Clone, Copy, Debug)]
pub struct SessionHistory<'a> {
    pub(super) shared: &'a Shared,
}

/// A turn of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentTurnView {
    /// Its id.
    pub id: TurnId,
    /// What it is for.
    pub kind: TurnKind,
    /// Whether it is over.
    pub is_over: bool,
}

impl<'a> SessionHistory<'a> {
    /// When its work last ended, with any outcome.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.shared.ended_at
    }

    /// The usage that its processes reported, oldest first. Neighbours are added up if there are very many.
    pub fn spending(&self) -> &'a [SpentAt] {
        self.shared.spending.reports()
    }

    /// The turns of its agent, oldest first.
    pub fn turns(&self) -> impl Iterator<Item = AgentTurnView> + use<'a> {
        let view = |turn: &super::Turn| AgentTurnView {
            id: turn.id,
            kind: turn.kind,
            is_over: turn.process == Process::Over,
        };
        self.shared.turns.iter().map(view)
    }

    /// How long questions waited for their answers. Time in which several waited counts once.
    pub fn waited(&self) -> SignedDuration {
        let answered =
            |round: &Round| round.items.iter().filter_map(RoundItem::given).map(|given| given.at).max();
        let spans = self.shared.rounds.iter().filter_map(|round| Some((round.asked_at, answered(round)?)));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        let (mut waited, mut until) = (SignedDuration::ZERO, Timestamp::MIN);
        for (from, to) in spans {
            waited += to.duration_since(from.max(until)).max(SignedDuration::ZERO);
            until = until.max(to);
        }
        waited
    }
}
