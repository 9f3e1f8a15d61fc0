//! Decides the engine's inputs: lost processes, passing time, files that were written.

use jiff::Timestamp;

use super::agent_turns::AgentTurns;
use super::agent_turns::{Process, Turn};
use super::flow::FlowRules;
use super::round::Round;
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::event::{Ending, Event};
use crate::id::CallId;
use crate::input::World;
use crate::refusal::Refusal;

impl Shared {
    pub(super) fn decide_world(
        &self,
        flow: &dyn FlowRules,
        world: &World,
        now: Timestamp,
    ) -> Result<Vec<Event>, Refusal> {
        Ok(match world {
            World::Lost => self.lost(flow),
            World::Found(found) => {
                self.turns.lost_agent().into_iter().chain(flow.found(self, found)).collect()
            }
            World::Tick => self.tick(flow, now),
            World::Baseline { turn, baseline } => {
                let fact = || Event::Baselined { turn: *turn, baseline: baseline.clone() };
                flow.needs_baseline(self, *turn).then(fact).into_iter().collect()
            }
            World::Queued { turn } => {
                let is_news = |current: &&Turn| current.id == *turn && !current.is_queued;
                let is_wanted = self.is_going() && !self.is_stopped();
                let waits = self.turns.current().filter(|_| is_wanted).filter(is_news);
                waits.map(|_| Event::Queued { turn: *turn }).into_iter().collect()
            }
            World::Granted { question } => {
                let is_news = !self.rounds.granted.contains(question);
                is_news.then(|| Event::Granted { question: question.clone() }).into_iter().collect()
            }
            World::AnswerRuled { question } => self.offers.rule_kept(question),
            World::LeadTold { question, outcome } => self.lead_told(question, outcome),
            World::LeadInformed { end, outcome } => {
                let is_news = *end > self.routes.informed;
                let fact = || Event::LeadInformed { end: *end, failure: outcome.clone().err() };
                is_news.then(fact).into_iter().collect()
            }
            World::LeadAsks { question } => self.lead_asks(question),
            World::LeadReleased { question } => self.routes.lead_released(question),
            World::Merged { outcome } => self.handover.on_merged(outcome),
            World::Applied { files } => self.handover.on_applied(files),
            World::Cleared { left } => self.handover.on_cleared(left.as_ref()),
            World::WorkLeft { state } => self.record.work_left(state.as_ref()),
            World::WorkUndone { outcome } => self.record.on_undone(outcome),
            World::Failed { reason } => {
                if let Some(fact) = self.handover.not_applied(reason) {
                    return Ok(vec![fact]);
                }
                if !self.is_going() {
                    return Err(Refusal::Stray { what: "a failure".into() });
                }
                vec![Event::Failed { reason: reason.clone() }]
            }
            World::Snapshot { .. }
            | World::PlanSaved { .. }
            | World::Checked { .. }
            | World::Report { .. }
            | World::QuestionRound { .. }
            | World::Filed { .. }
            | World::PlanChecked { .. }
            | World::BatchInvalid { .. }
            | World::BatchDiffers { .. }
            | World::ActionAsks { .. }
            | World::ActionEnded { .. }
            | World::BatchPaused { .. }
            | World::BatchEnded { .. }
            | World::ReportFiled { .. }
            | World::TurnPrepared { .. }
            | World::Undone { .. } => flow.decide_world(self, world)?,
        })
    }

    /// When the passing of time alone changes something, if ever: a waiting process cools, a question expires or
    /// moves on.
    pub(super) fn deadline(&self, flow: &dyn FlowRules) -> Option<Timestamp> {
        if !self.is_going() {
            return None;
        }
        let cooling =
            self.coolable().and_then(|round| round.hot_since.checked_add(self.created.terms.hot).ok());
        let expiring = self.rounds.open().filter_map(|round| self.expiry(round));
        expiring.chain(cooling).chain(self.next_step()).chain(flow.deadline(self)).min()
    }

    /// The call that the process could park right now.
    pub(super) fn parkable_call(&self) -> Option<CallId> {
        self.coolable()?.call().cloned()
    }

    pub(super) fn lost(&self, flow: &dyn FlowRules) -> Vec<Event> {
        self.turns.lost_agent().into_iter().chain(flow.lost(self)).collect()
    }

    fn tick(&self, flow: &dyn FlowRules, now: Timestamp) -> Vec<Event> {
        if !self.is_going() {
            return Vec::new();
        }
        let expired = self.rounds.open().filter(|round| self.expiry(round).is_some_and(|at| at <= now));
        let mut facts: Vec<_> =
            expired.map(|round| Event::Closed { round: round.id, how: Ending::Expired }).collect();
        let due = |round: &&Round| {
            round.hot_since.checked_add(self.created.terms.hot).is_ok_and(|until| until <= now)
        };
        if facts.is_empty()
            && let (Some(round), Some(turn)) = (self.coolable().filter(due), self.turns.current())
            && let Some(call) = round.call()
        {
            facts.push(Event::Cooled { turn: turn.id, call: call.clone() });
        }
        let is_expired = facts.iter().any(|fact| matches!(fact, Event::Closed { .. }));
        // A question that expires now must not move on as well. After an expiry, the remaining questions move on at
        // the next tick.
        facts.extend(self.overdue(now).into_iter().filter(|_| !is_expired));
        facts.extend(flow.tick(self, now));
        facts
    }

    fn expiry(&self, round: &Round) -> Option<Timestamp> {
        let agent_waits = !round.taken && self.turns.current().is_some_and(|turn| round.is_of(turn.id));
        let expire = self.created.terms.expire.filter(|_| agent_waits)?;
        round.asked_at.checked_add(expire).ok()
    }

    /// The round whose process could be parked while it waits.
    fn coolable(&self) -> Option<&Round> {
        let turn = self.turns.current().filter(|turn| turn.process == Process::Running)?;
        self.rounds.only_waiting(turn).filter(|round| round.is_parkable() && !round.orphaned)
    }
}

impl AgentTurns {
    pub(super) fn lost_agent(&self) -> Vec<Event> {
        let turn =
            self.current().filter(|turn| matches!(turn.process, Process::Running | Process::Cooling(_)));
        turn.map(|turn| Event::cut_off(turn.id, "Rapport was stopped")).into_iter().collect()
    }
}

impl AskedRounds {
    /// The open round, if it is the only thing that a turn waits for. With another call in flight the process must
    /// stay: of two parked calls, an agent repeats only the last. A decision that was told by message does not count
    /// here, because it is for a call that the agent may make again.
    pub(crate) fn only_waiting(&self, turn: &Turn) -> Option<&Round> {
        let is_waited_for = |round: &&Round| round.is_open() || !round.orphaned;
        let mut pending = self.pending_of(turn.id).filter(is_waited_for);
        let only = pending.next().filter(|round| round.is_open())?;
        (pending.next().is_none() && turn.declined.is_empty()).then_some(only)
    }
}
