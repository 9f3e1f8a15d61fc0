//! What Rapport itself brings about or finds out: lost processes, passing time, files written.

use jiff::Timestamp;

use super::{Phase, Process, Round, Session};
use crate::event::{Ending, Event};
use crate::id::CallId;
use crate::input::World;
use crate::refusal::Refusal;

impl Session {
    pub(super) fn decide_world(&self, world: &World, now: Timestamp) -> Result<Vec<Event>, Refusal> {
        Ok(match world {
            World::Lost => self.lost(),
            World::Tick => self.tick(now),
            World::Baseline { turn, baseline } => {
                let current = self.turn().filter(|current| current.id == *turn && current.baseline.is_none());
                current
                    .map(|_| Event::Baselined { turn: *turn, baseline: baseline.clone() })
                    .into_iter()
                    .collect()
            }
            World::PlanSaved { revision, path } => {
                let unsaved =
                    self.plan.as_ref().filter(|plan| plan.saved < *revision && *revision <= plan.revision);
                unsaved
                    .map(|_| Event::PlanSaved { revision: *revision, path: path.clone() })
                    .into_iter()
                    .collect()
            }
            World::Report { changes } => {
                if self.phase != Phase::Reporting {
                    return Err(Refusal::Stray { what: "a report".into() });
                }
                vec![Event::Reported { changes: changes.clone() }]
            }
            World::Failed { reason } => {
                if self.phase.is_over() || self.is_failed() {
                    return Err(Refusal::Stray { what: "a failure".into() });
                }
                vec![Event::Failed { reason: reason.clone() }]
            }
        })
    }

    /// When time alone changes something, if ever: a waiting process cools, a question expires.
    pub fn deadline(&self) -> Option<Timestamp> {
        if self.phase.is_over() || self.is_failed() {
            return None;
        }
        let cooling =
            self.coolable().and_then(|round| round.hot_since.checked_add(self.created.terms.hot).ok());
        let expiring = self.open_rounds().filter_map(|round| self.expiry(round));
        expiring.chain(cooling).min()
    }

    /// The call a process could put away right now, and end.
    pub fn parkable_call(&self) -> Option<CallId> {
        self.coolable()?.call().cloned()
    }

    fn lost(&self) -> Vec<Event> {
        let turn = self.turn().filter(|turn| matches!(turn.process, Process::Running | Process::Cooling(_)));
        let turn = turn.filter(|_| !self.phase.is_over() && !self.is_failed());
        let reason = "Rapport was stopped";
        turn.map(|turn| Event::CutOff { turn: turn.id, reason: reason.into() }).into_iter().collect()
    }

    fn tick(&self, now: Timestamp) -> Vec<Event> {
        if self.phase.is_over() || self.is_failed() {
            return Vec::new();
        }
        let expired = self.open_rounds().filter(|round| self.expiry(round).is_some_and(|at| at <= now));
        let mut facts: Vec<_> =
            expired.map(|round| Event::Closed { round: round.id, how: Ending::Expired }).collect();
        let due = |round: &&Round| {
            round.hot_since.checked_add(self.created.terms.hot).is_ok_and(|until| until <= now)
        };
        if facts.is_empty()
            && let (Some(round), Some(turn)) = (self.coolable().filter(due), self.turn())
            && let Some(call) = round.call()
        {
            facts.push(Event::Cooled { turn: turn.id, call: call.clone() });
        }
        facts
    }

    fn expiry(&self, round: &Round) -> Option<Timestamp> {
        let agent_waits = round.call().is_some() && !round.taken;
        let expire = self.created.terms.expire.filter(|_| agent_waits)?;
        round.asked_at.checked_add(expire).ok()
    }

    /// The one round a running process waits for. With another beside it the process must stay: of two calls put away,
    /// an agent asks only the last again.
    fn coolable(&self) -> Option<&Round> {
        let turn = self.turn().filter(|turn| turn.process == Process::Running)?;
        let mut pending = self.pending_rounds_of(turn.id);
        let only = pending.next()?;
        (pending.next().is_none() && only.is_open() && only.is_parkable() && !only.orphaned).then_some(only)
    }
}
