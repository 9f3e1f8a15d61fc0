//! The event loop: it owns all sessions of the process.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use rapport_core::{
    Act, AgentDid, Aim, Created, DayBudget, Entry, Event, FoundTurns, Input, Offerable, Purpose,
    QuestionRound, Refusal, Rule, Session, SessionId, TurnId, World, ruled_by_project,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error, info, info_span, warn};

use super::Parts;
use super::deadlines::Deadlines;
use super::effects::Effect;
use super::gateway::{AnswerTo, Follower, Gateway, GatewayError, GatewayRequest, Running};
use super::hosted_session::{Access, AgentRun, EndedProcess, Hosted, Incoming};
use super::leads;
use super::slots::AgentSlot;
use super::spending::DailySpending;
use rapport_door::{Doing, Seal, Seen, Update, variant};

use crate::agents::{AgentReport, Command, Parking, Patience, Report, RunId};
use crate::projects::earlier_answers::{AnswerRules, EarlierAnswers};
use crate::projects::grants::Grants;
use crate::stores::{Log, Store, StoreError};
use crate::turns::{Folder, TurnError, Workshop, discovery};
use crate::workers::keeper::mark;
use crate::workers::{WorkerError, Workplace};

/// How long agents may take to park when the engine stops, before they are killed.
const PARKING_TIME: Duration = Duration::from_secs(5);
/// How long to wait after that. A driver that does not end must not keep the program running.
const LAST_PATIENCE: Duration = Duration::from_secs(15);
/// The pause between attempts to resume a session whose hold was lost.
const BEFORE_RESUMING: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The maximum sleep, because the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);

pub(super) struct EventLoop {
    pub(super) parts: Parts,
    /// The gateway to this loop, for tasks that act in its sessions.
    pub(super) gateway: Gateway,
    requests: mpsc::Receiver<GatewayRequest>,
    reports: mpsc::Receiver<Report>,
    pub(super) reports_to: mpsc::Sender<Report>,
    /// Entries that are being appended, each with its log. They are polled here and not in tasks of their own:
    /// questions and answers pass through these, and every task in between would cost two thread switches.
    storing: FuturesUnordered<BoxFuture<'static, Done>>,
    /// The sessions whose holds may be lost without a write that shows it; with whether they were.
    losses: FuturesUnordered<BoxFuture<'static, (SessionId, bool)>>,
    done: mpsc::UnboundedReceiver<Done>,
    pub(super) done_to: mpsc::UnboundedSender<Done>,
    pub(super) sessions: HashMap<SessionId, Hosted>,
    pub(super) runs: HashMap<RunId, SessionId>,
    running: Running,
    watchers: Vec<mpsc::UnboundedSender<Seen>>,
    deadlines: Deadlines,
    /// The sessions to let go once nothing is in progress in them.
    released: HashSet<SessionId>,
    pub(super) last_run: u64,
    pub(super) stopping: bool,
}

/// The result of a task off the loop.
pub(super) enum Done {
    Resumed {
        id: SessionId,
        session: Box<Session>,
        found: Option<FoundTurns>,
        log: Box<dyn Log>,
        answer: Resumption,
    },
    Stored {
        id: SessionId,
        log: Box<dyn Log>,
        outcome: Result<Entry, StoreError>,
        incoming: Incoming,
    },
    Effect {
        id: SessionId,
        effect: Effect,
        world: World,
    },
    Opened {
        id: SessionId,
        outcome: Result<Arc<dyn Workplace>, WorkerError>,
    },
    Closed {
        id: SessionId,
        outcome: Result<(), WorkerError>,
    },
    /// A lead's answer whose ground was looked up.
    Grounded {
        id: SessionId,
        incoming: Incoming,
    },
    /// An input from a running batch.
    World {
        id: SessionId,
        world: World,
    },
    /// The activity of an action; some may be dropped.
    Doing {
        id: SessionId,
        doing: Doing,
        shown: Option<Arc<()>>,
    },
    Batch {
        id: SessionId,
        batch: String,
        world: World,
    },
    /// A session got its slot in the limit of agents, or why it cannot get one.
    SlotTaken {
        id: SessionId,
        outcome: std::io::Result<AgentSlot>,
    },
    /// The cost so far of the response that an agent is writing.
    Cost {
        run: RunId,
        cost_micros: u64,
        today: Option<DayBudget>,
    },
    /// A check has ended; without an input if it was stopped.
    Check {
        id: SessionId,
        turn: TurnId,
        world: Option<World>,
    },
}

/// The request that is answered once a session is resumed.
pub(super) enum Resumption {
    Created(Entry, AnswerTo<SessionId>),
    Adopted(AnswerTo<()>),
}

impl EventLoop {
    pub(super) fn new(
        parts: Parts,
        gateway: Gateway,
        requests: mpsc::Receiver<GatewayRequest>,
        running: Running,
    ) -> Self {
        let (reports_to, reports) = mpsc::channel(256);
        let (done_to, done) = mpsc::unbounded_channel();
        Self {
            parts,
            gateway,
            requests,
            reports,
            reports_to,
            storing: FuturesUnordered::new(),
            losses: FuturesUnordered::new(),
            done,
            done_to,
            sessions: HashMap::new(),
            runs: HashMap::new(),
            running,
            watchers: Vec::new(),
            deadlines: Deadlines::default(),
            released: HashSet::new(),
            last_run: 0,
            stopping: false,
        }
    }

    pub(super) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        loop {
            let wake = self.next_wake();
            tokio::select! {
                Some(request) = self.requests.recv() => self.on_request(request),
                Some(report) = self.reports.recv() => self.on_report(report),
                Some(stored) = self.storing.next() => self.on_done(stored),
                Some(done) = self.done.recv() => self.on_done(done),
                Some((id, is_lost)) = self.losses.next() => if is_lost { self.on_loss(&id) },
                () = sleep_until(wake) => self.on_tick(),
                _ = &mut stop => break,
            }
            self.let_released_go();
        }
        self.shut_down().await;
    }

    fn on_request(&mut self, request: GatewayRequest) {
        match request {
            GatewayRequest::Create { created, first, answer } => self.create(*created, first, answer),
            GatewayRequest::Adopt { session, answer } => {
                self.released.remove(&session);
                self.adopt(session, answer);
            }
            GatewayRequest::Submit { session, by, act, answer } => {
                let needs_ground = matches!(act, Act::Respond { ground: Some(_), .. });
                let input = Input::Person { by, act };
                let incoming = Incoming { answer: Some(answer), ..Incoming::new(input.clone()) };
                if needs_ground {
                    self.look_up_ground(&session, input, incoming);
                } else {
                    self.enqueue(&session, incoming);
                }
            }
            GatewayRequest::Follow { session, after, answer } => self.follow(&session, after, answer),
            GatewayRequest::View { session, answer } => {
                let view = self.hosted(&session).map(|hosted| hosted.session.view(&session));
                let _ = answer.send(view);
            }
            GatewayRequest::Watch { answer } => {
                let (watcher, seen) = mpsc::unbounded_channel();
                self.watchers.push(watcher);
                let _ = answer.send(Ok(seen));
            }
            // Its last effect, or the process of its agent, may just be ending.
            GatewayRequest::LetGo { session } => drop(self.released.insert(session)),
        }
    }

    fn hosted(&self, id: &SessionId) -> Result<&Hosted, GatewayError> {
        let hosted = self.sessions.get(id).ok_or_else(|| GatewayError::NotHere(id.clone()))?;
        match &hosted.broken {
            Some(error) => Err(gone(id, error)),
            None => Ok(hosted),
        }
    }

    fn create(&self, created: Created, first: Option<QuestionRound>, answer: AnswerTo<SessionId>) {
        let (store, holder, now, done) = (
            self.parts.store.clone(),
            self.parts.holder.clone(),
            self.parts.clock.now(),
            self.done_to.clone(),
        );
        tokio::spawn(async move {
            let words = created.original_task().to_owned();
            let begin = async {
                let created = leads::with_lead(&*store, created).await?;
                let facts = match &first {
                    Some(batch) => Session::begin_with(created, batch)?,
                    None => Session::begin(created)?,
                };
                let (id, entry, log) = store.create(&words, now, facts, &holder).await?;
                let session = store.replay(&id, std::slice::from_ref(&entry))?;
                Ok((id, entry, Box::new(session), log))
            };
            match begin.await {
                Ok((id, entry, session, log)) => {
                    let answer = Resumption::Created(entry, answer);
                    let _ = done.send(Done::Resumed { id, session, found: None, log, answer });
                }
                Err(error) => drop(answer.send(Err(error))),
            }
        });
    }

    fn adopt(&self, id: SessionId, answer: AnswerTo<()>) {
        if let Some(hosted) = self.sessions.get(&id) {
            // A session that was taken over can be resumed here once its agent has ended.
            let ending = hosted.broken.clone().filter(|error| is_superseded(error));
            let _ = answer.send(ending.map_or(Ok(()), |error| Err(GatewayError::Broken(error))));
            return;
        }
        let (store, holder, done) =
            (self.parts.store.clone(), self.parts.holder.clone(), self.done_to.clone());
        let workshop = self.parts.workshop.clone();
        tokio::spawn(async move {
            let hold = async {
                // Its files are on that machine. It is not even held, so that the other one can hold it.
                if let Some(host) = store.begun_at(&id).await? {
                    return Err(StoreError::Elsewhere { id: id.clone(), host }.into());
                }
                let (entries, log) = store.hold(&id, &holder).await?;
                let (session, found) = prepare_resume(id.clone(), store, entries, workshop).await?;
                Ok((Box::new(session), found, log))
            };
            match hold.await {
                Ok((session, found, log)) => {
                    let answer = Resumption::Adopted(answer);
                    let _ = done.send(Done::Resumed { id, session, found, log, answer });
                }
                Err(error) => drop(answer.send(Err(error))),
            }
        });
    }

    /// Entries from the store, then live ones from the loop; together each exactly once.
    fn follow(&mut self, id: &SessionId, after: u64, answer: AnswerTo<Follower>) {
        if let Err(error) = self.hosted(id) {
            let _ = answer.send(Err(error));
            return;
        }
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        let (to_live, live) = mpsc::unbounded_channel();
        hosted.followers.push(to_live);
        let (store, id, until) = (self.parts.store.clone(), id.clone(), hosted.session.seq());
        tokio::spawn(async move {
            let past = store.read(&id, after).await.map_err(GatewayError::from);
            let _ = answer.send(past.map(|past| Follower::new(past, live, after, until)));
        });
    }

    fn on_report(&mut self, report: Report) {
        let Some(id) = self.runs.get(&report.run).cloned() else { return };
        let Some(hosted) = self.sessions.get_mut(&id) else { return };
        let mut did = match report.what {
            AgentReport::Progress(progress) => return self.tell(&id, Update::Progress(progress)),
            AgentReport::Cost(cost_micros) => match (&self.parts.limits.daily, hosted.session.has_budget()) {
                (Some(daily), _) => return self.sum_up_day(&id, report.run, cost_micros, daily.clone()),
                (None, true) => AgentDid::SpendSoFar { cost_micros, today: None },
                (None, false) => return,
            },
            AgentReport::Did(did) => did,
        };
        let Some(run) = hosted.run.as_ref().filter(|run| run.id == report.run) else { return };
        let turn = run.turn;
        // An agent that cannot be parked keeps its process, and the fact records that.
        if let AgentDid::Ask { parkable, .. } = &mut did {
            *parkable &= run.abilities.parking != Parking::Never;
        }
        if let (AgentDid::Finish { .. }, Some(run)) = (&did, &mut hosted.run) {
            run.resting = true;
        }
        let ended = matches!(did, AgentDid::Leave(_)).then_some(EndedProcess::Agent(report.run));
        if let (AgentDid::Leave(leave), Some(run)) = (&did, &hosted.run) {
            info!(parent: &run.span, how = variant(leave), "agent ended");
        }
        self.enqueue(&id, Incoming { ended, ..Incoming::new(Input::Agent { turn, did }) });
    }

    /// Adds up the cost of all sessions today, off the loop. The result comes back as a cost.
    fn sum_up_day(&self, id: &SessionId, run: RunId, cost_micros: u64, daily: DailySpending) {
        let Some(hosted) = self.sessions.get(id) else { return };
        let (store, id, now) = (self.parts.store.clone(), id.clone(), self.parts.clock.now());
        let (project, done) = (hosted.session.project().to_owned(), self.done_to.clone());
        tokio::spawn(async move {
            let entries = store.read(&id, 0).await.unwrap_or_default();
            let sum = move || daily.note(&project, &id, &entries, cost_micros, now);
            let today = match tokio::task::spawn_blocking(sum).await {
                Ok(Ok(today)) => Some(today),
                Ok(Err(error)) => {
                    warn!(%error, "what was spent today is unknown");
                    None
                }
                Err(_) => None,
            };
            let _ = done.send(Done::Cost { run, cost_micros, today });
        });
    }

    fn on_done(&mut self, done: Done) {
        match done {
            Done::SlotTaken { id, outcome } => {
                let Some(hosted) = self.sessions.get_mut(&id) else { return };
                hosted.effects.remove(&Effect::TakeSlot);
                match outcome {
                    _ if hosted.broken.is_some() => self.forget_superseded(&id),
                    Ok(slot) => {
                        hosted.slot = Some(slot);
                        self.reconcile(&id);
                    }
                    Err(error) => {
                        let reason = format!("cannot get a slot for the agent: {error}");
                        self.enqueue(&id, Incoming::new(Input::World(World::Failed { reason })));
                    }
                }
            }
            Done::Cost { run, cost_micros, today } => {
                let Some(id) = self.runs.get(&run).cloned() else { return };
                let current = self.sessions.get(&id).and_then(|hosted| hosted.run.as_ref());
                let Some(turn) = current.filter(|current| current.id == run).map(|run| run.turn) else {
                    return;
                };
                let did = AgentDid::SpendSoFar { cost_micros, today };
                self.enqueue(&id, Incoming::new(Input::Agent { turn, did }));
            }
            Done::Resumed { id, session, found, log, answer } => {
                let span = info_span!("session", %id);
                info!(parent: &span, seq = session.seq(), "session resumed");
                if let Some(loss) = log.loss() {
                    let lost = id.clone();
                    self.losses.push(loss.map(|is_lost| (lost, is_lost)).boxed());
                }
                self.sessions.insert(id.clone(), Hosted::new(*session, log, span));
                self.running.insert(id.clone());
                match answer {
                    Resumption::Created(entry, answer) => {
                        self.tell(&id, Update::Entry(entry));
                        let _ = answer.send(Ok(id.clone()));
                        self.reconcile(&id);
                    }
                    Resumption::Adopted(answer) => {
                        let world = found.map_or(World::Lost, World::Found);
                        let incoming = Incoming::new(Input::World(world));
                        // The caller that resumed it sees its state from here on.
                        self.enqueue(&id, Incoming { answer: Some(answer), is_vital: true, ..incoming });
                    }
                }
            }
            Done::Stored { id, log, outcome, incoming } => self.on_stored(&id, log, outcome, incoming),
            Done::Opened { id, outcome } => {
                let Some(hosted) = self.sessions.get_mut(&id) else { return };
                hosted.effects.remove(&Effect::Open);
                match outcome {
                    _ if hosted.broken.is_some() => self.forget_superseded(&id),
                    Ok(workplace) => {
                        hosted.workplace = Access::Open(workplace);
                        self.reconcile(&id);
                    }
                    Err(error) => {
                        warn!(parent: &hosted.span, %error, "workplace not opened");
                        let world = if hosted.notes_left() {
                            World::WorkLeft { state: None }
                        } else {
                            World::Failed { reason: error.to_string() }
                        };
                        self.enqueue(&id, Incoming::new(Input::World(world)));
                    }
                }
            }
            Done::Closed { id, outcome } => {
                let Some(hosted) = self.sessions.get_mut(&id) else { return };
                hosted.effects.remove(&Effect::Close);
                if let Err(error) = outcome {
                    // The workplace stops by itself later.
                    warn!(parent: &hosted.span, %error, "workplace not closed");
                }
                self.reconcile(&id);
                self.forget_superseded(&id);
            }
            Done::Effect { id, effect, world } => {
                if let Some(hosted) = self.sessions.get_mut(&id) {
                    hosted.effects.remove(&effect);
                    debug!(parent: &hosted.span, effect = variant(&effect), came_to = variant(&world), "effect ended");
                }
                self.enqueue(&id, Incoming::new(Input::World(world)));
                self.forget_superseded(&id);
            }
            Done::Grounded { id, incoming } => self.enqueue(&id, incoming),
            Done::World { id, world } => self.enqueue(&id, Incoming::new(Input::World(world))),
            Done::Doing { id, doing, shown } => {
                self.tell(&id, Update::Action(doing));
                drop(shown);
            }
            Done::Batch { id, batch, world } => {
                let ended = Some(EndedProcess::Batch(batch));
                self.enqueue(&id, Incoming { ended, ..Incoming::new(Input::World(world)) });
            }
            Done::Check { id, turn, world } => {
                let ended = Some(EndedProcess::Check(turn));
                match world {
                    Some(world) => {
                        self.enqueue(&id, Incoming { ended, ..Incoming::new(Input::World(world)) })
                    }
                    None => {
                        self.forget_ended(&id, ended);
                        self.reconcile(&id);
                    }
                }
            }
        }
    }

    fn on_tick(&mut self) {
        for (at, id) in self.deadlines.due(self.parts.clock.now(), Instant::now()) {
            // A deadline fires once: if the session is storing an entry, or can no longer store one, it would wake
            // the loop without pause. The next deadline is noted when this tick is decided.
            if let Some(reached) = self.sessions.get_mut(&id).and_then(|hosted| hosted.deadline.take()) {
                self.deadlines.remove(&id, reached);
            }
            self.enqueue(&id, Incoming { reached: Some(at), ..Incoming::new(Input::World(World::Tick)) });
        }
    }

    pub(super) fn enqueue(&mut self, id: &SessionId, incoming: Incoming) {
        if let Err(error) = self.hosted(id) {
            if let Some(answer) = incoming.answer {
                let _ = answer.send(Err(error));
            }
            return self.forget_ended(id, incoming.ended);
        }
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        hosted.inbox.push_back(incoming);
        self.decide_pending(id);
    }

    /// Decides pending inputs one by one, until one has to be stored or none is left.
    fn decide_pending(&mut self, id: &SessionId) {
        loop {
            let now = self.parts.clock.now();
            let Some(hosted) = self.sessions.get_mut(id) else { return };
            if hosted.log.is_none() {
                return;
            }
            let Some(incoming) = hosted.inbox.pop_front() else { break };
            // A deadline that was reached counts as past, whatever the wall clock says.
            let decided_at = incoming.reached.map_or(now, |reached| reached.max(now));
            match hosted.session.decide(&incoming.input, decided_at) {
                Ok(facts) if facts.is_empty() => self.on_settled(id, incoming, Ok(())),
                Ok(facts) => {
                    let Some(mut log) = hosted.log.take() else { return };
                    let id = id.clone();
                    let rules = project_rules(&facts, &self.parts.home, hosted.session.project());
                    let earlier = Earlier::of(&facts, &id, &hosted.session, &self.parts.home);
                    let stored = async move {
                        let facts = with_earlier(with_ruled(facts, rules).await, earlier).await;
                        let outcome = log.append(now, facts).await;
                        Done::Stored { id, log, outcome, incoming }
                    };
                    self.storing.push(stored.boxed());
                    return;
                }
                Err(refusal) => self.on_settled(id, incoming, Err(refusal)),
            }
        }
        self.reconcile(id);
    }

    fn on_stored(
        &mut self,
        id: &SessionId,
        log: Box<dyn Log>,
        outcome: Result<Entry, StoreError>,
        incoming: Incoming,
    ) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        match outcome {
            // Another process writes now, so the log is released.
            Err(StoreError::Superseded { .. }) => drop(log),
            // The hold was lost meanwhile.
            _ if hosted.broken.is_some() => drop(log),
            _ => hosted.log = Some(log),
        }
        match outcome {
            Ok(entry) => {
                hosted.session.apply_entry(&entry);
                debug!(parent: &hosted.span, seq = entry.seq, facts = kinds(&entry.facts), "stored");
                self.note_lead_asks(id, &entry.facts);
                self.tell(id, Update::Entry(entry));
                self.on_settled(id, incoming, Ok(()));
                // Pending inputs may be stored before the wants are derived again; if there are none,
                // `decide_pending` derives them.
                if self.sessions.get(id).is_some_and(|hosted| !hosted.inbox.is_empty()) {
                    self.reconcile(id);
                }
            }
            Err(error) => self.on_not_stored(id, error, incoming),
        }
        self.decide_pending(id);
    }

    /// Handles a failed append. The person who acted gets the error and may retry. If the input is vital, or no
    /// caller waits for it, nothing more happens in this session: its agent is killed, and the next process that
    /// resumes the session finds everything up to here. If another process has taken the session over, it is no
    /// longer run here.
    fn on_not_stored(&mut self, id: &SessionId, error: StoreError, incoming: Incoming) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        error!(parent: &hosted.span, %error, "not stored");
        let error = match incoming.answer {
            Some(answer) if !incoming.is_vital && !is_superseded(&error) => {
                let _ = answer.send(Err(error.into()));
                return;
            }
            answer => {
                let error = Arc::new(error);
                answer.map(|answer| answer.send(Err(gone(id, &error))));
                error
            }
        };
        let is_shared = self.sessions.get(id).is_some_and(|hosted| hosted.is_shared);
        self.give_up(id, &error);
        self.forget_ended(id, incoming.ended);
        self.forget_superseded(id);
        if is_shared && is_superseded(&error) {
            // Another machine wrote to a session that works on this one, while this one could not be reached.
            tokio::spawn(resume_later(self.gateway.clone(), id.clone()));
        }
    }

    /// Handles the loss of a session whose hold ended without a write: another process may hold it, so its agent is
    /// killed and nothing more is written.
    fn on_loss(&mut self, id: &SessionId) {
        // A refused write may have shown it before.
        if let Some(hosted) = self.sessions.get_mut(id).filter(|hosted| hosted.broken.is_none()) {
            warn!(parent: &hosted.span, "hold lost");
            // While an entry is being stored, its log is dropped with the outcome.
            hosted.log = None;
            self.give_up(id, &Arc::new(StoreError::Superseded { id: id.clone() }));
            self.forget_superseded(id);
        }
        tokio::spawn(resume_later(self.gateway.clone(), id.clone()));
    }

    /// Does nothing more in a session: kills what runs for it, and refuses what waits.
    fn give_up(&mut self, id: &SessionId, error: &Arc<StoreError>) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        hosted.broken = Some(error.clone());
        if is_superseded(error) {
            hosted.tell(&Update::Lost(error.to_string()));
        }
        hosted.followers.clear();
        self.running.remove(id);
        let undecided: Vec<_> = hosted.inbox.drain(..).collect();
        if let Some(run) = &mut hosted.run {
            run.kill();
        }
        if let Some(batch) = &mut hosted.batch {
            batch.end();
        }
        if let Some(check) = &hosted.check {
            check.end();
        }
        for Incoming { answer, ended, .. } in undecided {
            answer.map(|answer| answer.send(Err(gone(id, error))));
            self.forget_ended(id, ended);
        }
    }

    /// Drops a session that another process runs, once its agent, batch and effects here have ended: they must not
    /// interfere if the session is resumed here.
    fn forget_superseded(&mut self, id: &SessionId) {
        let is_over = |hosted: &Hosted| {
            hosted.broken.as_deref().is_some_and(is_superseded)
                && hosted.is_idle()
                // A planner that is still making a round changes nothing.
                && hosted.effects.iter().all(|effect| matches!(effect, Effect::QuestionRound(_)))
        };
        if self.sessions.get(id).is_some_and(is_over) {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: &SessionId) {
        let deadline = self.sessions.remove(id).and_then(|hosted| hosted.deadline);
        if let Some(deadline) = deadline {
            self.deadlines.remove(id, deadline);
        }
        self.running.remove(id);
    }

    fn on_settled(&mut self, id: &SessionId, incoming: Incoming, outcome: Result<(), Refusal>) {
        self.forget_ended(id, incoming.ended);
        if let (Err(refusal), Some(hosted)) = (&outcome, self.sessions.get(id)) {
            debug!(parent: &hosted.span, refusal = variant(refusal), "refused");
        }
        if let Some(answer) = incoming.answer {
            let _ = answer.send(outcome.map_err(GatewayError::from));
        }
    }

    fn forget_ended(&mut self, id: &SessionId, ended: Option<EndedProcess>) {
        if let Some(EndedProcess::Agent(run)) = &ended {
            self.runs.remove(run);
        }
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        let gone = match ended {
            None => return,
            Some(EndedProcess::Agent(run)) => hosted.run.take_if(|there| there.id == run).is_some(),
            Some(EndedProcess::Batch(name)) => hosted.batch.take_if(|there| there.name == name).is_some(),
            Some(EndedProcess::Check(turn)) => hosted.check.take_if(|there| there.turn == turn).is_some(),
        };
        if gone {
            hosted.workplace.leave();
            self.forget_superseded(id);
        }
    }

    /// Notifies the followers of this session, and the watchers of all.
    fn tell(&mut self, id: &SessionId, update: Update) {
        self.watchers.retain(|watcher| {
            watcher.send(Seen { session: id.clone(), updates: vec![update.clone()] }).is_ok()
        });
        if let Some(hosted) = self.sessions.get_mut(id) {
            hosted.tell(&update);
        }
    }

    /// Releases a session in which nothing is in progress and nothing will start by itself.
    /// Lets sessions go that were released and in which nothing is in progress. If an agent or a batch was started
    /// meanwhile, the release is void: whoever started it releases the session again.
    fn let_released_go(&mut self) {
        for id in self.released.iter().cloned().collect::<Vec<_>>() {
            let Some(hosted) = self.sessions.get(&id) else {
                self.released.remove(&id);
                continue;
            };
            if !hosted.session.wants().is_empty() {
                self.released.remove(&id);
                continue;
            }
            let is_quiet = hosted.is_idle() && hosted.inbox.is_empty() && hosted.log.is_some();
            if is_quiet && hosted.effects.is_empty() {
                debug!(parent: &hosted.span, "session let go");
                self.released.remove(&id);
                self.remove(&id);
            }
        }
    }

    pub(super) fn note_deadline(&mut self, id: &SessionId) {
        let Some(hosted) = self.sessions.get_mut(id) else { return };
        let deadline = hosted.session.deadline();
        if deadline == hosted.deadline.map(|known| known.at) {
            return;
        }
        if let Some(old) = hosted.deadline.take() {
            self.deadlines.remove(id, old);
        }
        let (wall, steady) = (self.parts.clock.now(), Instant::now());
        hosted.deadline = deadline.map(|at| self.deadlines.insert(id, at, wall, steady));
    }

    fn next_wake(&self) -> Instant {
        let now = Instant::now();
        let wait = self.deadlines.next(self.parts.clock.now(), now).unwrap_or(LONGEST_SLEEP);
        now + wait.min(LONGEST_SLEEP)
    }

    async fn shut_down(mut self) {
        info!(sessions = self.sessions.len(), "engine stops");
        self.stopping = true;
        for hosted in self.sessions.values_mut() {
            let parkable = hosted.session.parkable_call();
            if let Some(run) = &mut hosted.run {
                match parkable {
                    Some(call) => run.tell(Command::Park { call, patience: Patience::None }),
                    None => run.end(),
                }
            }
            if let Some(batch) = &mut hosted.batch {
                batch.end();
            }
            if let Some(check) = &hosted.check {
                check.end();
            }
        }
        if tokio::time::timeout(PARKING_TIME, self.settle()).await.is_err() {
            self.sessions.values_mut().filter_map(|hosted| hosted.run.as_mut()).for_each(AgentRun::end);
            let _ = tokio::time::timeout(LAST_PATIENCE, self.settle()).await;
        }
    }

    /// Waits until no agent is left, its final state is recorded, and no append is in progress.
    async fn settle(&mut self) {
        while self.is_busy() {
            tokio::select! {
                Some(report) = self.reports.recv() => self.on_report(report),
                Some(stored) = self.storing.next() => self.on_done(stored),
                Some(done) = self.done.recv() => self.on_done(done),
                else => return,
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.sessions.values().any(|hosted| {
            let closes = hosted.effects.contains(&Effect::Close);
            !hosted.is_idle() || hosted.is_storing() || hosted.notes_left() || closes
        })
    }
}

/// Resumes a session whose hold was lost, as soon as its store can be used again and no other process holds it. The
/// servers of a store that is recovering may not have the session at first, or not all of it.
async fn resume_later(gateway: Gateway, id: SessionId) {
    let mut pause = BEFORE_RESUMING;
    loop {
        match gateway.adopt(&id).await {
            Ok(()) | Err(GatewayError::Closed) => return,
            Err(GatewayError::Store(StoreError::Elsewhere { .. })) => return,
            Err(error) => warn!(session = %id, %error, "not resumed yet"),
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

fn is_superseded(error: &StoreError) -> bool {
    matches!(error, StoreError::Superseded { .. })
}

/// Why this process does nothing more with a session. If another process runs it, the caller can ask that one.
fn gone(id: &SessionId, error: &Arc<StoreError>) -> GatewayError {
    if is_superseded(error) { GatewayError::NotHere(id.clone()) } else { GatewayError::Broken(error.clone()) }
}

/// The kinds of these facts, for logging.
fn kinds(facts: &[Event]) -> String {
    facts.iter().map(|fact| variant(fact)).collect::<Vec<_>>().join(" ")
}

/// Prepares to resume a session: finds its turns, and kills leftover processes of its agent.
async fn prepare_resume(
    id: SessionId,
    store: Arc<dyn Store>,
    entries: Vec<Entry>,
    workshop: Option<Workshop>,
) -> Result<(Session, Option<FoundTurns>), GatewayError> {
    let (replayed, session) = (store.clone(), id.clone());
    let session = on_thread(move || Ok(replayed.replay(&session, &entries)?)).await?;
    let Some(workshop) = workshop.filter(|_| session.created().aim == Aim::Files) else {
        return on_thread(move || {
            end_left_behind(&id, &session);
            Ok((session, None))
        })
        .await;
    };
    let cannot_look = cannot_look(store.whereabouts(&id));
    let turns = discovery::turns(&Folder::new(store, &id)).await.map_err(&cannot_look)?;
    on_thread(move || {
        let found = discovery::with_batches(&id, turns, &workshop.batches).map_err(&cannot_look)?;
        let seal = discovery::seal(Seal::Ours, &session, &found);
        if !seal.counts() {
            return Err(StoreError::NotOurs { id, seal }.into());
        }
        end_left_behind(&id, &session);
        Ok((session, Some(found)))
    })
    .await
}

fn end_left_behind(id: &SessionId, session: &Session) {
    if session.may_have_process() {
        mark::end_left_behind(id);
    }
}

/// Why the turns of a session cannot be read. An error of the store is passed on.
fn cannot_look(place: String) -> impl Fn(TurnError) -> StoreError {
    move |error| match error {
        TurnError::Store(error) => error,
        error => StoreError::Io {
            what: "look at the turns in",
            place: place.clone(),
            source: std::io::Error::other(error),
        },
    }
}

/// Runs a blocking part of resuming a session on another thread.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GatewayError> + Send + 'static,
) -> Result<T, GatewayError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let (what, place) = ("resume", "a session".to_owned());
        Err(StoreError::Io { what, place, source: std::io::Error::other(error) }.into())
    })
}

/// The rules of the project, if these facts ask for something that a rule may allow.
fn project_rules(facts: &[Event], home: &Path, project: &str) -> Option<Grants> {
    let asks = |fact: &Event| {
        matches!(fact, Event::Asked { questions, .. }
        if questions.iter().any(|question| matches!(question.purpose, Purpose::Permission { .. })))
    };
    facts.iter().any(asks).then(|| Grants::of(home, Path::new(project)))
}

/// The facts, and the answers that the project's rules give to their questions.
async fn with_ruled(facts: Vec<Event>, rules: Option<Grants>) -> Vec<Event> {
    let Some(rules) = rules else { return facts };
    let asked = facts.clone();
    // If the rules give no answer, a person is asked.
    let ruled = tokio::task::spawn_blocking(move || ruled(&asked, &rules)).await.unwrap_or_default();
    facts.into_iter().chain(ruled).collect()
}

/// The answers that the project's rules give. Rules that cannot be read allow nothing, so a person is asked.
fn ruled(facts: &[Event], grants: &Grants) -> Vec<Event> {
    let rules: Vec<Rule> = grants.list().unwrap_or_default().into_iter().map(|grant| grant.rule).collect();
    ruled_by_project(facts, &rules)
}

/// What earlier answers may add to facts that are about to be stored.
struct Earlier {
    offerable: Vec<Offerable>,
    home: PathBuf,
    project: PathBuf,
}

impl Earlier {
    /// `None` if these facts ask nothing that was perhaps answered before.
    fn of(facts: &[Event], id: &SessionId, session: &Session, home: &Path) -> Option<Self> {
        let offerable = Offerable::all_in(facts, id, session);
        let (home, project) = (home.to_owned(), PathBuf::from(session.project()));
        (!offerable.is_empty()).then_some(Self { offerable, home, project })
    }

    /// The facts that earlier answers add. Answers that cannot be read are not offered. Blocks.
    fn offered(self) -> Vec<Event> {
        let answers = EarlierAnswers::of(&self.home, &self.project).list().unwrap_or_default();
        let rules = AnswerRules::of(&self.home, &self.project).list().unwrap_or_default();
        self.offerable.into_iter().filter_map(|one| one.offered(&answers, &rules)).collect()
    }
}

/// The facts, and what earlier answers add to them.
async fn with_earlier(facts: Vec<Event>, earlier: Option<Earlier>) -> Vec<Event> {
    let Some(earlier) = earlier else { return facts };
    let added = tokio::task::spawn_blocking(move || earlier.offered()).await;
    facts.into_iter().chain(added.unwrap_or_default()).collect()
}
