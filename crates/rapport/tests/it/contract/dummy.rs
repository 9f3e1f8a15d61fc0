//! Implementations that do as little as the traits allow: a starting point for a new channel, agent, worker or store.

mod stream;

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use rapport::agents::{Abilities, Agent, AgentContext, AgentReport, Command, Controls, Report, RunId};
use rapport_core::{Act, AgentDid, By, Leave, OpenQuestion, Order, SessionId};
use rapport_door::{Channel, ChannelError, Served, Sessions};
use tokio::sync::{mpsc, watch};

pub(super) use stream::Stream;

/// An agent that never does anything.
pub(super) struct SilentAgent;

impl Agent for SilentAgent {
    fn start(&self, _: RunId, _: Order, _: AgentContext, _: mpsc::Sender<Report>) -> Controls {
        Controls { commands: mpsc::unbounded_channel().0 }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

/// An agent that does nothing either, and shows what it is told, process by process.
pub(super) struct WatchedAgent(mpsc::UnboundedSender<mpsc::UnboundedReceiver<Command>>);

impl WatchedAgent {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<mpsc::UnboundedReceiver<Command>>) {
        let (started, runs) = mpsc::unbounded_channel();
        (Self(started), runs)
    }
}

impl Agent for WatchedAgent {
    fn start(&self, _: RunId, _: Order, _: AgentContext, _: mpsc::Sender<Report>) -> Controls {
        let (commands, told) = mpsc::unbounded_channel();
        self.0.send(told).unwrap();
        Controls { commands }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

/// An agent that answers what it is shown with a plan: what it is shown has to hold these words.
pub(super) struct PlanningAgent {
    pub(super) words: &'static str,
    pub(super) plan: String,
}

impl Agent for PlanningAgent {
    fn start(
        &self,
        run: RunId,
        order: Order,
        place: AgentContext,
        reports: mpsc::Sender<Report>,
    ) -> Controls {
        let (words, plan) = (self.words, self.plan.clone());
        tokio::spawn(async move {
            let shown = place.conversation_store.shown().await.unwrap().unwrap_or_default();
            let is_shown = String::from_utf8_lossy(&shown).contains(words);
            let leave = match is_shown {
                true => Leave::Finished { result: plan },
                false => Leave::Failed { reason: format!("it was not shown {words:?}") },
            };
            let connect = AgentDid::Connect { conversation: order.conversation, model: Some("dummy".into()) };
            for did in [connect, AgentDid::Leave(leave)] {
                reports.send(Report { run, what: AgentReport::Did(did) }).await.unwrap();
            }
        });
        Controls { commands: mpsc::unbounded_channel().0 }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}

/// A channel whose people are the test: what it shows is a list, and what they say comes through a queue.
pub(super) struct DummyChannel {
    shown: watch::Sender<BTreeMap<SessionId, Vec<OpenQuestion>>>,
    said: mpsc::UnboundedReceiver<(SessionId, Act)>,
}

/// The people of a [`DummyChannel`].
pub(super) struct DummyPeople {
    /// What they see: the open questions of every session.
    pub(super) shown: watch::Receiver<BTreeMap<SessionId, Vec<OpenQuestion>>>,
    /// What they do.
    pub(super) says: mpsc::UnboundedSender<(SessionId, Act)>,
}

impl DummyChannel {
    pub(super) const NAME: &str = "dummy";

    /// A channel, and its people.
    pub(super) fn open() -> (Self, DummyPeople) {
        let (shown, seen) = watch::channel(BTreeMap::new());
        let (says, said) = mpsc::unbounded_channel();
        (Self { shown, said }, DummyPeople { shown: seen, says })
    }

    async fn show(&self, sessions: &dyn Sessions, id: &SessionId) -> Result<(), ChannelError> {
        let open = sessions.view(id).await?.questions;
        self.shown.send_modify(|shown| drop(shown.insert(id.clone(), open)));
        Ok(())
    }

    async fn serve(mut self, served: Served) -> Result<(), ChannelError> {
        let mut stop = served.clone();
        let by = By::Person { channel: Self::NAME.into(), id: "anna".into() };
        let mut seen = served.sessions.watch().await?;
        for id in served.sessions.list().await? {
            self.show(&*served.sessions, &id).await?;
        }
        loop {
            tokio::select! {
                Some(seen) = seen.next() => self.show(&*served.sessions, &seen.session).await?,
                Some((id, act)) = self.said.recv() => drop(served.sessions.act(&id, &by, &act).await?),
                () = stop.stopped() => return Ok(()),
            }
        }
    }
}

impl Channel for DummyChannel {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn run(self: Box<Self>, served: Served) -> BoxFuture<'static, Result<(), ChannelError>> {
        Box::pin(self.serve(served))
    }
}
