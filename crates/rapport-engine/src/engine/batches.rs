//! A running batch: the approved actions of a plan, run by the executor beside the loop. To a session it is like an
//! agent's process: it reports its progress, gets the answers it waits for, and is stopped when no want needs it.
//!
//! The journal is the executor's own write-ahead log. Its content reaches the session as inputs, while the batch runs
//! and, after a crash, when the session is resumed.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rapport_core::{ActionPlan, ActionReply, BatchOrder, Chosen, SessionId, World};
use rapport_door::Doing;
use tokio::sync::{mpsc, watch};

use super::event_loop::Done;
use crate::actions::{ActionBatch, BatchOutcome, BatchSite, Choice, Live, Pending, Requester, Stop, Stopper};
use crate::clock::Clock;
use crate::config;
use crate::projects::memos;
use crate::stores::Store;
use crate::turns::batches::{Approved, BatchDir, action_end};
use crate::turns::report::{Carried, report};
use crate::turns::{PLAN, TurnError, Workshop, check};

/// The maximum number of output lines that wait to be shown. If a command writes faster than the reader reads, lines
/// are dropped.
const MOST_LINES: usize = 1000;

/// A batch that was started for a session.
pub(super) struct BatchRun {
    pub(super) name: String,
    stopper: Stopper,
    replies: watch::Sender<BTreeMap<usize, ActionReply>>,
    replied: HashSet<usize>,
    pub(super) ending: bool,
}

impl BatchRun {
    /// Gives an action its reply, once.
    pub(super) fn reply(&mut self, action: usize, reply: ActionReply) {
        if self.replied.insert(action) {
            self.replies.send_modify(|replies| drop(replies.insert(action, reply)));
        }
    }

    pub(super) fn end(&mut self) {
        self.ending = true;
        self.stopper.stop();
    }
}

/// Where a batch is run.
pub(super) struct BatchContext {
    pub(super) session: SessionId,
    /// The project, whose sessions share its memos.
    pub(super) project: PathBuf,
    /// The directory with the files: the project's, or a separate one.
    pub(super) directory: PathBuf,
    pub(super) store: Arc<dyn Store>,
    pub(super) workshop: Workshop,
    pub(super) clock: Clock,
    pub(super) done: mpsc::UnboundedSender<Done>,
}

/// Starts a batch, or resumes one.
pub(super) fn start(order: BatchOrder, context: BatchContext) -> BatchRun {
    let (stopper, stop) = Stop::new();
    let (replies, replied) = watch::channel(BTreeMap::new());
    let name = order.batch.clone();
    tokio::spawn(async move {
        let (id, done, batch) = (context.session.clone(), context.done.clone(), order.batch.clone());
        let world = Job { order, context }.run(&stop, replied).await;
        let _ = done.send(Done::Batch { id, batch, world });
    });
    BatchRun { name, stopper, replies, replied: HashSet::new(), ending: false }
}

struct Job {
    order: BatchOrder,
    context: BatchContext,
}

/// A batch that passed the checks.
struct Ready {
    plan: ActionPlan,
    /// The directory of its journal.
    journal: PathBuf,
    is_begun: bool,
}

impl Job {
    /// Runs the batch. The result is an input.
    async fn run(self, stop: &Stop, replied: watch::Receiver<BTreeMap<usize, ActionReply>>) -> World {
        let job = Arc::new(self);
        let there = match job.file().await {
            Ok(there) => there,
            Err(error) => return job.paused(error.to_string(), None),
        };
        let ready = {
            let job = job.clone();
            tokio::task::spawn_blocking(move || job.prepare(there)).await
        };
        let ready = match ready {
            Ok(Ok(Ok(ready))) => ready,
            Ok(Ok(Err(world))) => return world,
            Ok(Err(error)) => return job.paused(error.to_string(), None),
            Err(error) => return job.paused(error.to_string(), None),
        };
        let ran = job.perform(&ready, stop, replied).await;
        let told = {
            let job = job.clone();
            tokio::task::spawn_blocking(move || job.conclude(&ready, ran)).await
        };
        told.unwrap_or_else(|error| job.paused(error.to_string(), None))
    }

    fn paused(&self, reason: String, unsure: Option<usize>) -> World {
        World::BatchPaused { batch: self.order.batch.clone(), reason, unsure }
    }

    /// Checks whether it can begin. A batch that has not begun is checked again, because the project or the plan's
    /// file may have changed since the review.
    fn prepare(&self, there: Option<String>) -> Result<Result<Ready, World>, TurnError> {
        let BatchOrder { batch, folder, plan: text, chosen, approved_at, created, .. } = &self.order;
        let BatchContext { session, project, directory, workshop, .. } = &self.context;
        let found = workshop.batches.find(session, folder, *approved_at)?;
        let is_begun = found.as_deref().is_some_and(crate::actions::journal::Journal::is_in);
        let differs = there.filter(|there| there != text);
        match differs {
            Some(text) if !is_begun => return Ok(Err(World::BatchDiffers { batch: batch.clone(), text })),
            Some(_) => {
                let reason =
                    format!("{folder}/{PLAN} was changed while it was carried out; restore it first");
                return Ok(Err(self.paused(reason, None)));
            }
            None => {}
        }
        if !is_begun {
            let problems = check::checked(directory, workshop.plan_name(), text)?.problems;
            if !problems.is_empty() {
                return Ok(Err(World::BatchInvalid { batch: batch.clone(), problems }));
            }
            if chosen.memos.iter().any(Option::is_none) {
                // A broken file is reported before anything runs, rather than at the end when the memos are written.
                memos::read(&config::memos(project))?;
            }
        }
        let Ok(plan) = ActionPlan::parse_in(text, &directory.to_string_lossy()) else {
            return Ok(Err(self.paused("the plan cannot be read".into(), None)));
        };
        let turn = created.map(|created| created.to_string());
        let approved = Approved { at: *approved_at, turn, chosen: chosen.clone() };
        let journal = workshop.batches.open(session, folder, &approved)?;
        Ok(Ok(Ready { plan, journal, is_begun }))
    }

    /// The content of the plan's file. A missing file is written again with the report.
    async fn file(&self) -> Result<Option<String>, TurnError> {
        let path = format!("{}/{PLAN}", self.order.folder);
        let there = self.context.store.attached(&self.context.session, &path).await?;
        Ok(there.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn perform(
        &self,
        ready: &Ready,
        stop: &Stop,
        replied: watch::Receiver<BTreeMap<usize, ActionReply>>,
    ) -> Result<BatchOutcome, String> {
        let BatchContext { directory, workshop, .. } = &self.context;
        let seals = workshop.seals.clone();
        let clock = self.context.clock.clone();
        let site = BatchSite { project: directory.clone(), journal: ready.journal.clone(), seals, clock };
        let batch = ActionBatch { plan: &ready.plan, site: &site, config: &workshop.config };
        let requester = SessionRequester { job: self, replied };
        let waiting = Arc::new(());
        let mut observer = |live: Live<'_>| self.tell(&live, &waiting);
        let ran = if ready.is_begun {
            batch.resume(self.order.interrupted, &requester, &mut observer, stop).await
        } else {
            batch.run(&choices(&self.order.chosen), &requester, &mut observer, stop).await
        };
        ran.map_err(|error| error.to_string())
    }

    /// Reports the activity of an action, and submits its end.
    fn tell(&self, live: &Live<'_>, waiting: &Arc<()>) {
        let (doing, shown) = match live {
            Live::Started { n, .. } => (Doing::Started(*n), None),
            Live::Output { .. } if Arc::strong_count(waiting) > MOST_LINES => return,
            Live::Output { n, line } => (Doing::Output(*n, (*line).to_owned()), Some(waiting.clone())),
            Live::Ended { n, settled, .. } => (Doing::Ended(action_end(*n, settled)), None),
        };
        let id = self.context.session.clone();
        if let (Live::Ended { is_final: true, .. }, Doing::Ended(end)) = (live, &doing) {
            self.put(World::ActionEnded { batch: self.order.batch.clone(), end: end.clone() });
        }
        let _ = self.context.done.send(Done::Doing { id, doing, shown });
    }

    fn put(&self, world: World) {
        let _ = self.context.done.send(Done::World { id: self.context.session.clone(), world });
    }

    fn conclude(&self, ready: &Ready, ran: Result<BatchOutcome, String>) -> World {
        let journal = BatchDir::read(ready.journal.clone());
        let unsure = journal.as_ref().ok().and_then(BatchDir::unsure);
        let ran = match ran {
            Ok(ran) if !ran.unfinished => ran,
            Ok(_) if unsure.is_some() => return self.paused("a command was interrupted".into(), unsure),
            Ok(_) => return self.paused("it was stopped".into(), None),
            Err(reason) => return self.paused(reason, unsure),
        };
        let report = report(&Carried {
            plan: &ready.plan,
            at: self.context.workshop.plan_name(),
            chosen: &self.order.chosen,
            approved_at: self.order.approved_at,
            ended_at: self.context.clock.now(),
            ran: &ran,
            is_alone: self.context.workshop.batches.are_alone(),
        });
        World::BatchEnded {
            batch: self.order.batch.clone(),
            status: report.status,
            report: report.to_string(),
            has_changes: journal.is_ok_and(|journal| journal.has_changes()),
        }
    }
}

fn choices(chosen: &Chosen) -> Vec<Choice> {
    let choice = |left: &Option<String>| match left {
        None => Choice::Run,
        Some(reason) => Choice::Skip { reason: reason.clone() },
    };
    chosen.actions.iter().map(choice).collect()
}

/// Asks a person through the session, so that they can answer from anywhere.
struct SessionRequester<'a> {
    job: &'a Job,
    replied: watch::Receiver<BTreeMap<usize, ActionReply>>,
}

impl Requester for SessionRequester<'_> {
    fn ask<'a>(&'a self, n: usize, message: &'a str) -> Pending<'a> {
        let (batch, message) = (self.job.order.batch.clone(), message.to_owned());
        self.job.put(World::ActionAsks { batch, action: n, message });
        let mut replied = self.replied.clone();
        Box::pin(async move {
            let reply = replied.wait_for(|replies| replies.contains_key(&n)).await;
            match reply.ok().and_then(|replies| replies.get(&n).cloned()) {
                Some(ActionReply::Words(words)) => Ok(words),
                Some(ActionReply::Ended(why)) => Err(why),
                // The engine was dropped, which cancels this task.
                None => std::future::pending().await,
            }
        })
    }

    fn research<'a>(&'a self, _: usize, queries: &'a [String]) -> Pending<'a> {
        self.job.context.workshop.helpers.research(queries)
    }

    fn invoke<'a>(&'a self, _: usize, agent: &'a str, message: &'a str) -> Pending<'a> {
        self.job.context.workshop.helpers.invoke(agent, message)
    }
}
