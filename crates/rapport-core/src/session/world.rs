//! Decides the engine's inputs: lost processes, passing time, files that were written.

use jiff::Timestamp;

use super::{Phase, Process, Round, Session, Turn};
use crate::event::{Ending, Event, TurnKind};
use crate::id::CallId;
use crate::input::World;
use crate::refusal::Refusal;
use crate::want::Want;

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
            // Once it is answered the agent may have gone on: what was seen then is not the state at the question.
            World::Snapshot { round, state } => {
                let turn = self.turn().filter(|turn| turn.kind == TurnKind::Work && !self.is_failed());
                let mut waiting = turn.into_iter().flat_map(|turn| self.waited_for(turn));
                waiting
                    .find(|waiting| waiting.id == *round && !waiting.snapshotted)
                    .map(|_| Event::Snapshotted { round: *round, state: state.clone() })
                    .into_iter()
                    .collect()
            }
            World::Granted { question } => {
                let is_news = !self.granted.contains(question);
                is_news.then(|| Event::Granted { question: question.clone() }).into_iter().collect()
            }
            World::PlanSaved { revision, path } => {
                let plan = self.plan.as_ref().filter(|_| !self.phase.is_over());
                let plan = plan.filter(|plan| plan.saved < *revision && *revision <= plan.revision);
                let saved = plan.map(|_| Event::PlanSaved { revision: *revision, path: path.clone() });
                let is_newest = plan.is_some_and(|plan| plan.revision == *revision);
                let report = self.report_file().filter(|_| is_newest && self.phase == Phase::Reporting);
                saved.into_iter().chain(report).collect()
            }
            World::Report { changes } => {
                if self.phase != Phase::Reporting || !self.created.aim.is_work() {
                    return Err(Refusal::Stray { what: "a report".into() });
                }
                vec![Event::Reported { changes: changes.clone() }]
            }
            World::Merged { outcome } => self.merged(outcome),
            World::Applied { files } => self.applied(files),
            World::Cleared { left } => self.cleared(left.as_ref()),
            World::WorkUndone { outcome } => self.work_undone(outcome),
            World::QuestionRound { round, outcome } => self.take_round(*round, outcome)?,
            World::Filed { turn, path } => self.filed(*turn, path),
            World::Found(found) => self.found(found),
            World::PlanChecked { folder, revision, problems, differs } => {
                self.plan_checked(folder, *revision, problems, differs.as_ref())
            }
            World::BatchInvalid { batch, problems } => self.batch_invalid(batch, problems),
            World::BatchDiffers { batch, text } => self.batch_differs(batch, text),
            World::ActionAsks { batch, action, message } => self.action_asks(batch, *action, message),
            World::ActionEnded { batch, end } => self.action_ended(batch, end),
            World::BatchPaused { batch, reason, unsure } => self.batch_paused(batch, reason, *unsure),
            World::BatchEnded { batch, status, report, has_changes } => {
                self.batch_ended(batch, *status, report, *has_changes)
            }
            World::ReportFiled { folder, files } => self.report_filed(folder, files),
            World::Undone { batch, outcome } => self.undone(batch, outcome),
            World::Failed { reason } => {
                if let Some(fact) = self.not_applied(reason) {
                    return Ok(vec![fact]);
                }
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

    /// Whether a process of the agent may have been at work when somebody last wrote here.
    pub fn may_have_process(&self) -> bool {
        let is_wanted = || self.wants().iter().any(|want| matches!(want, Want::AgentRunning(_)));
        !self.lost().is_empty() || is_wanted()
    }

    fn lost(&self) -> Vec<Event> {
        self.lost_agent().into_iter().chain(self.lost_batch()).collect()
    }

    pub(super) fn lost_agent(&self) -> Vec<Event> {
        let turn = self.turn().filter(|turn| matches!(turn.process, Process::Running | Process::Cooling(_)));
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
        let agent_waits = !round.taken && self.turn().is_some_and(|turn| round.is_of(turn.id));
        let expire = self.created.terms.expire.filter(|_| agent_waits)?;
        round.asked_at.checked_add(expire).ok()
    }

    /// The round that a process waits for which could go meanwhile.
    fn coolable(&self) -> Option<&Round> {
        let turn = self.turn().filter(|turn| turn.process == Process::Running)?;
        self.only_waiting(turn).filter(|round| round.is_parkable() && !round.orphaned)
    }

    /// The open round that is all a turn waits for. With another call beside it the process must stay: of two calls
    /// put away, an agent asks only the last again. A decision that was told by message waits for nobody: it is for a call
    /// that the agent may make again.
    pub(crate) fn only_waiting(&self, turn: &Turn) -> Option<&Round> {
        let is_waited_for = |round: &&Round| round.is_open() || !round.orphaned;
        let mut pending = self.pending_rounds_of(turn.id).filter(is_waited_for);
        let only = pending.next().filter(|round| round.is_open())?;
        (pending.next().is_none() && turn.declined.is_empty()).then_some(only)
    }
}
