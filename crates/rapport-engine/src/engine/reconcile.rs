//! Makes wants true: starts, informs, parks and ends agents, and runs effects.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use rapport_core::{
    BatchOrder, CallId, CallReply, Created, Input, Order, SentMessage, SessionId, TurnId, Want, WorkCheck,
    World,
};
use rapport_door::variant;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;
use tracing::{debug, info, info_span};

use super::batches::{self, BatchContext};
use super::checks::{self, CheckContext};
use super::conversation_store::{Conversation, WORK};
use super::effects::{self, Effect, EffectContext};
use super::event_loop::{Done, EventLoop};
use super::hosted_session::{Access, AgentRun, Hosted, Incoming};
use super::slots;
use crate::agents::{AgentContext, Command, Parking, Patience, RunId};
use crate::stores::Store;
use crate::workers::keeper::mark::Mark;
use crate::workers::{Worker, WorkerError, Workplace};

impl EventLoop {
    /// Makes the wants of a session true. Idempotent.
    pub(super) fn reconcile(&mut self, id: &SessionId) {
        self.note_deadline(id);
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        if hosted.broken.is_some() {
            if hosted.run.is_none() && hosted.check.is_none() {
                hosted.slot = None;
            }
            return;
        }
        if self.stopping {
            return self.note_left(id);
        }
        if let Some(reason) = self.cannot_resume(id) {
            return self.enqueue(id, Incoming::new(Input::World(World::Failed { reason })));
        }
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        let (mut order, mut batch, mut check) = (None, None, None);
        let mut wants = hosted.session.wants();
        let works = wants.iter().find_map(works_on);
        if hosted.workplace.open().is_none() && wants.iter().any(effects::needs_workplace) {
            // A workplace takes resources too, so it is opened only when the agent has its slot.
            if works.is_none_or(|turn| self.has_slot(id, turn)) {
                self.open_workplace(id);
            }
            wants.retain(|want| !effects::needs_workplace(want));
        }
        for want in wants {
            match want {
                Want::AgentRunning(wanted) => order = Some(wanted),
                Want::Replied { turn, call, reply } => {
                    if let Some(run) = self.run_of(id, turn) {
                        run.reply(call, reply);
                    }
                }
                Want::AgentParked { turn, call } => {
                    if let Some(run) = self.run_of(id, turn) {
                        run.tell(Command::Park { call, patience: Patience::Wait });
                    }
                }
                Want::HostsAllowed(hosts) => {
                    let hosted = self.sessions.get(id);
                    if let Some(workplace) = hosted.and_then(|hosted| hosted.workplace.open()) {
                        workplace.allow(&hosts);
                    }
                }
                Want::BatchRunning(wanted) => {
                    batch = Some(wanted.batch.clone());
                    self.batch(id, wanted);
                }
                Want::ActionReplied { batch, action, reply } => {
                    let hosted = self.sessions.get_mut(id);
                    if let Some(run) =
                        hosted.and_then(|hosted| hosted.batch.as_mut()).filter(|run| run.name == batch)
                    {
                        run.reply(action, reply);
                    }
                }
                Want::LeadTold { .. } | Want::LeadReleased { .. } => self.reach_lead(id, &want),
                Want::LeadInformed { lead, end } => self.inform_lead(id, lead, end),
                Want::Checked { turn, command } => {
                    check = Some(turn);
                    self.check(id, turn, command);
                }
                Want::QuestionRound(_)
                | Want::TurnPrepared(_)
                | Want::PlanChecked { .. }
                | Want::ReportFiled { .. }
                | Want::Undone { .. }
                | Want::Baseline(_)
                | Want::Snapshot(_)
                | Want::PlanSaved(_)
                | Want::Report { .. }
                | Want::Merged { .. }
                | Want::Applied { .. }
                | Want::Granted { .. }
                | Want::AnswerRuled { .. }
                | Want::Filed { .. } => self.effect(id, want),
                // Only after the agent has ended, or while it waits for another turn.
                Want::Cleared | Want::WorkLeft | Want::WorkUndone(_) => {
                    let rests = |hosted: &Hosted| hosted.run.as_ref().is_none_or(|run| run.resting);
                    let is_idle = |hosted: &Hosted| rests(hosted) && hosted.check.is_none();
                    if self.sessions.get(id).is_some_and(is_idle) {
                        self.effect(id, want);
                    }
                }
            }
        }
        // No check of another turn may run, and no agent beside a check.
        let hosted = self.sessions.get(id);
        let stale = hosted.and_then(|hosted| hosted.check.as_ref());
        if let Some(run) = stale.filter(|run| Some(run.turn) != check) {
            run.end();
        }
        if self.sessions.get(id).is_some_and(|hosted| hosted.check.is_none()) {
            self.reconcile_agent(id, order);
        }
        let hosted = self.sessions.get_mut(id);
        let is_idle = |hosted: &&mut Hosted| hosted.run.is_none() && hosted.check.is_none();
        if let Some(hosted) = hosted.filter(is_idle).filter(|_| works.is_none()) {
            hosted.slot = None;
        }
        // No other batch may run.
        let hosted = self.sessions.get_mut(id);
        if let Some(run) =
            hosted.and_then(|hosted| hosted.batch.as_mut()).filter(|run| Some(&run.name) != batch.as_ref())
        {
            run.end();
        }
        self.leave_workplace(id);
    }

    /// Why the agent cannot continue its turn, if its process has ended and it cannot be resumed.
    fn cannot_resume(&self, id: &SessionId) -> Option<String> {
        let hosted = self.sessions.get(id).filter(|hosted| hosted.run.is_none())?;
        if !hosted.session.needs_resuming() {
            return None;
        }
        let agent = self.parts.agents.find(hosted.session.agent()).ok()?;
        let name = hosted.session.agent().map_or("this agent", |agent| agent.name.as_str());
        (agent.abilities().parking == Parking::Never).then(|| {
            format!("the agent's process ended in the middle of its turn, and {name} cannot be resumed")
        })
    }

    /// Leaves the workplace while nothing happens there, because it may be removed. WORK-16: if the session has
    /// ended, its work is stored, so the workplace is also closed, off the loop, because whatever still runs there
    /// wastes resources.
    fn leave_workplace(&mut self, id: &SessionId) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        if !hosted.is_idle() || !hosted.effects.is_empty() || hosted.is_storing() {
            return;
        }
        hosted.workplace.leave();
        if !hosted.session.is_over() && !hosted.session.is_failed() {
            let asked = || hosted.session.view(id).questions.into_iter().map(|open| open.asked_at).max();
            if matches!(hosted.workplace, Access::Left(_))
                && let Some(asked) = asked()
                && let Some(workplace) = hosted.workplace.rest()
            {
                rest(workplace, self.parts.clock.now().duration_since(asked));
            }
            return;
        }
        let Some(workplace) = hosted.workplace.close() else { return };
        hosted.effects.insert(Effect::Close);
        let (done, id) = (self.done_to.clone(), id.clone());
        tokio::spawn(async move {
            let closed = spawn_blocking(move || workplace.close()).await;
            let outcome = closed.unwrap_or_else(|error| Err(WorkerError::Start(io::Error::other(error))));
            let _ = done.send(Done::Closed { id, outcome });
        });
    }

    /// Records the state that a cancelled agent left. This is the only effect that is started while the engine stops:
    /// later, the agent's changes could not be distinguished from others.
    fn note_left(&mut self, id: &SessionId) {
        let Some(hosted) = self.sessions.get(id) else { return };
        if !hosted.notes_left() || hosted.run.is_some() || hosted.check.is_some() {
            return;
        }
        if hosted.workplace.open().is_none() {
            return self.open_workplace(id);
        }
        self.effect(id, Want::WorkLeft);
    }

    /// Runs the wanted batch. A batch that was told to stop has to end first.
    fn batch(&mut self, id: &SessionId, order: BatchOrder) {
        let Some(hosted) = self.sessions.get_mut(id).filter(|hosted| hosted.batch.is_none()) else { return };
        let Some(workplace) = hosted.workplace.open() else { return };
        let Some(workshop) = self.parts.workshop.clone() else {
            let world = World::BatchPaused {
                batch: order.batch,
                reason: "this engine does not support turns with directories".into(),
                unsure: None,
            };
            let _ = self.done_to.send(Done::World { id: id.clone(), world });
            return;
        };
        info!(parent: &hosted.span, batch = order.batch, "batch started");
        hosted.batch = Some(batches::start(
            order,
            BatchContext {
                session: id.clone(),
                project: PathBuf::from(hosted.session.project()),
                directory: workplace.directory().to_owned(),
                store: self.parts.store.clone(),
                workshop,
                clock: self.parts.clock.clone(),
                done: self.done_to.clone(),
            },
        ));
    }

    /// Runs the wanted check. The agent that did the work, and a check that was told to stop, have to end first.
    fn check(&mut self, id: &SessionId, turn: TurnId, command: String) {
        if !self.has_slot(id, turn) {
            return;
        }
        let is_idle = |hosted: &&mut Hosted| hosted.check.is_none() && hosted.run.is_none();
        let Some(hosted) = self.sessions.get_mut(id).filter(is_idle) else { return };
        let (Some(workplace), Some(workshop)) = (hosted.workplace.open().cloned(), &self.parts.workshop)
        else {
            let problem = Some("this engine does not support commands".to_owned());
            let check = WorkCheck { command, problem, ..WorkCheck::default() };
            let world = World::Checked { turn, check };
            let _ = self.done_to.send(Done::World { id: id.clone(), world });
            return;
        };
        info!(parent: &hosted.span, turn = turn.0, "check started");
        let context = CheckContext {
            session: id.clone(),
            workplace,
            attacher: hosted.attacher.clone(),
            config: workshop.config.clone(),
            done: self.done_to.clone(),
        };
        hosted.check = Some(checks::start(turn, command, context));
    }

    /// The process of this turn, if there is one.
    fn run_of(&mut self, id: &SessionId, turn: TurnId) -> Option<&mut AgentRun> {
        self.sessions.get_mut(id)?.run.as_mut().filter(|run| run.turn == turn)
    }

    /// Whether a session has its slot in the limit of agents. If not, it waits for one off the loop, and its wants
    /// are derived again once it has one. A fact says meanwhile that it waits.
    fn has_slot(&mut self, id: &SessionId, turn: TurnId) -> bool {
        let Some(hosted) = self.sessions.get_mut(id) else { return false };
        let slots = self.parts.limits.slots.clone();
        let is_limited = slots.are_limited() && hosted.session.created().works_apart();
        if !is_limited || hosted.slot.is_some() || hosted.run.is_some() {
            return true;
        }
        if !hosted.effects.insert(Effect::TakeSlot) {
            return false;
        }
        let (done, id, clock) = (self.done_to.clone(), id.clone(), self.parts.clock.clone());
        tokio::spawn(async move {
            let (mut ticket, mut is_told) = (None, false);
            let outcome = loop {
                let (slots, now) = (slots.clone(), clock.now());
                let taken = spawn_blocking(move || {
                    let taken = slots.take(&mut ticket, now);
                    (taken, ticket)
                });
                let (taken, kept) = match taken.await {
                    Ok(taken) => taken,
                    Err(error) => break Err(io::Error::other(error)),
                };
                ticket = kept;
                match taken {
                    Ok(Some(slot)) => break Ok(slot),
                    Ok(None) => {}
                    Err(error) => break Err(error),
                }
                let queued = Done::World { id: id.clone(), world: World::Queued { turn } };
                // If the channel is closed, the engine was dropped, and the session with it.
                if done.is_closed() || (!is_told && done.send(queued).is_err()) {
                    return;
                }
                is_told = true;
                sleep(slots::PAUSE).await;
            };
            let _ = done.send(Done::SlotTaken { id, outcome });
        });
        false
    }

    /// Opens the workplace of a session off the loop, unless that is in progress. Then its wants are derived again.
    fn open_workplace(&mut self, id: &SessionId) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        // A workplace that is being closed is opened afterwards; otherwise closing would end the processes that were
        // just started there.
        if hosted.effects.contains(&Effect::Close) || !hosted.effects.insert(Effect::Open) {
            return;
        }
        let (worker, created) = (self.parts.worker.clone(), hosted.session.created().clone());
        let known = hosted.workplace.known().cloned();
        let (done, id, store) = (self.done_to.clone(), id.clone(), self.parts.store.clone());
        tokio::spawn(async move {
            let outcome = open(worker, store, id.clone(), created, known).await;
            let _ = done.send(Done::Opened { id, outcome });
        });
    }

    /// Runs an effect off the loop, unless it is in progress.
    fn effect(&mut self, id: &SessionId, want: Want) {
        let (Some(effect), Some(hosted)) = (Effect::of(&want), self.sessions.get_mut(id)) else { return };
        if !hosted.effects.insert(effect.clone()) {
            return;
        }
        let context = EffectContext {
            session: id.clone(),
            created: hosted.session.created().clone(),
            workplace: hosted.workplace.open().cloned(),
            worker: self.parts.worker.clone(),
            store: self.parts.store.clone(),
            attacher: hosted.attacher.clone(),
            workshop: self.parts.workshop.clone(),
            home: self.parts.home.clone(),
            clock: self.parts.clock.clone(),
            stretch: hosted.session.stretches().pop(),
        };
        debug!(parent: &hosted.span, effect = variant(&effect), "effect begun");
        let (done, id) = (self.done_to.clone(), id.clone());
        let tell = move |world| drop(done.send(Done::Effect { id, effect, world }));
        if let Want::QuestionRound(brief) = want {
            let (round, next) = (brief.round, self.parts.planner.next(brief));
            tokio::spawn(async move {
                let outcome = next.await.map_err(|error| error.to_string());
                tell(World::QuestionRound { round, outcome });
            });
        } else {
            tokio::spawn(async move { tell(effects::run(want, context).await) });
        }
    }

    /// Runs the wanted agent, and no other.
    fn reconcile_agent(&mut self, id: &SessionId, order: Option<Order>) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        match (&mut hosted.run, order) {
            (Some(run), Some(order)) if run.turn == order.turn => {
                // An agent that cannot read messages while it works gets them in its next turn.
                if run.abilities.listens {
                    order.messages.into_iter().for_each(|message| run.say(message));
                }
            }
            // The idle process of the previous turn continues with this one.
            (Some(run), Some(order)) if run.resting && !run.ending && order.linger.is_some() => {
                run.turn = order.turn;
                run.resting = false;
                run.replied.clear();
                run.last_message = 0;
                run.tell(Command::Next { prompt: order.prompt });
                order.messages.into_iter().for_each(|message| run.say(message));
            }
            (Some(run), None) if run.resting && !hosted.session.is_over() => {}
            (Some(run), _) => run.end(),
            (None, None) => {}
            (None, Some(mut order)) => {
                let Some(workplace) = hosted.workplace.open().cloned() else { return };
                if !self.has_slot(id, order.turn) {
                    return;
                }
                let Some(hosted) = self.sessions.get_mut(id) else { return };
                let agent = match self.parts.agents.find(hosted.session.agent()) {
                    Ok(agent) => agent,
                    Err(reason) => {
                        let failed = Incoming::new(Input::World(World::Failed { reason }));
                        return self.enqueue(id, failed);
                    }
                };
                let abilities = agent.abilities();
                order.linger = order.linger.filter(|_| abilities.stays);
                self.last_run += 1;
                let run = RunId(self.last_run);
                let (turn, replies) = (order.turn, order.replies.clone());
                // The messages in its order are part of the prompt.
                let last_message = order.messages.last().map_or(0, |last| last.number);
                let drafted = order.folder.as_deref().and_then(|folder| hosted.session.file_turn(folder));
                let digest = drafted.and_then(|turn| turn.shown.clone());
                let context = AgentContext {
                    workplace,
                    conversation_store: Arc::new(Conversation::of(
                        self.parts.store.clone(),
                        hosted.attacher.clone(),
                        id.clone(),
                        &order,
                        digest,
                    )),
                    mark: Mark::of(id),
                    reached_at: self.parts.holder.address.clone(),
                };
                let span = info_span!(parent: &hosted.span, "run", run = run.0, turn = turn.0);
                let controls = span.in_scope(|| {
                    info!("agent started");
                    agent.start(run, order, context, self.reports_to.clone())
                });
                let replied = HashSet::new();
                let mut run = AgentRun {
                    id: run,
                    turn,
                    controls,
                    abilities,
                    replied,
                    last_message,
                    resting: false,
                    ending: false,
                    span,
                };
                for (call, reply) in replies {
                    run.reply(call, reply);
                }
                self.runs.insert(run.id, id.clone());
                hosted.run = Some(run);
            }
        }
    }
}

/// The turn for which something is to run in the workplace, if this want needs that.
fn works_on(want: &Want) -> Option<TurnId> {
    match want {
        Want::AgentRunning(order) => Some(order.turn),
        Want::Checked { turn, .. } | Want::Baseline(turn) => Some(*turn),
        _ => None,
    }
}

/// Opens a workplace: the one that this process knows, if it still exists. A workplace that was removed is made again
/// from the stored work.
async fn open(
    worker: Arc<dyn Worker>,
    store: Arc<dyn Store>,
    id: SessionId,
    created: Created,
    known: Option<Arc<dyn Workplace>>,
) -> Result<Arc<dyn Workplace>, WorkerError> {
    let lost = |error: JoinError| WorkerError::Start(io::Error::other(error));
    if let Some(workplace) = known {
        let found = workplace.clone();
        // An error does not tell whether the workplace still exists, so only a clear "no" counts.
        if !matches!(spawn_blocking(move || found.is_there()).await.map_err(lost)?, Ok(false)) {
            return Ok(workplace);
        }
    }
    let work = store.attached(&id, WORK).await.ok().flatten();
    let (opening, session, first, has_work) = (worker.clone(), id.clone(), created.clone(), work.is_some());
    let open = move || match opening.find(&session, &first) {
        // A new workplace would lack the stored work.
        Ok(None) if has_work => {
            Err(WorkerError::WorkplaceGone { directory: PathBuf::from(session.as_str()) })
        }
        _ => opening.open(&session, &first),
    };
    let opened = spawn_blocking(open).await.map_err(lost)?;
    let (Err(WorkerError::WorkplaceGone { .. }), Some(work)) = (&opened, work) else { return opened };
    info!(session = %id, "workplace restored from the store");
    spawn_blocking(move || worker.restore(&id, &created, &work)).await.map_err(lost)?
}

impl AgentRun {
    pub(super) fn tell(&self, command: Command) {
        debug!(parent: &self.span, command = variant(&command), "agent told");
        // If the driver has ended, its last report is pending.
        let _ = self.controls.commands.send(command);
    }

    /// Sends the reply to a call, once.
    fn reply(&mut self, call: CallId, reply: CallReply) {
        if self.replied.insert(call.clone()) {
            self.tell(Command::Reply { call, reply });
        }
    }

    /// Sends a message, once.
    fn say(&mut self, message: SentMessage) {
        if message.number > self.last_message {
            self.last_message = message.number;
            self.tell(Command::Say(message));
        }
    }

    pub(super) fn kill(&mut self) {
        self.ending = true;
        self.tell(Command::Kill);
    }

    pub(super) fn end(&mut self) {
        if !self.ending {
            self.ending = true;
            self.tell(Command::Stop);
        }
    }
}

/// WORK-17: tells a workplace that was left how long its session has waited for an answer. Nothing depends on it.
fn rest(workplace: Arc<dyn Workplace>, waited: SignedDuration) {
    let waited = Duration::try_from(waited).unwrap_or_default();
    drop(spawn_blocking(move || {
        if let Err(error) = workplace.rest(waited) {
            tracing::warn!(%error, "a workplace was not told since when its session waits");
        }
    }));
}
