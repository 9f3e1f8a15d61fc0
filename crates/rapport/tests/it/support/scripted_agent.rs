//! An agent that is a function: a test or a measurement writes its behaviour where it needs it.

use rapport::agents::{
    Abilities, Agent, AgentContext, AgentReport, Command, Controls, Parking, Report, RunId,
};
use rapport_core::{AgentDid, Order};
use tokio::sync::mpsc;

/// An agent whose process is this function: it gets its order, a way to tell what it does, and what it is told.
pub(crate) struct ScriptedAgent<F>(pub(crate) F);

/// The commands that an agent gets.
pub(crate) type Commands = mpsc::UnboundedReceiver<Command>;

impl<F, Acting> Agent for ScriptedAgent<F>
where
    F: Fn(Order, Mouth, Commands) -> Acting + Send + Sync,
    Acting: Future<Output = ()> + Send + 'static,
{
    fn abilities(&self) -> Abilities {
        Abilities { parking: Parking::AtTheCall, listens: true, stays: true, ..Abilities::default() }
    }

    fn start(&self, run: RunId, order: Order, _: AgentContext, reports: mpsc::Sender<Report>) -> Controls {
        let (commands, told) = mpsc::unbounded_channel();
        tokio::spawn((self.0)(order, Mouth { run, reports }, told));
        Controls { commands }
    }
}

/// By which a scripted agent tells the engine what it does.
pub(crate) struct Mouth {
    run: RunId,
    reports: mpsc::Sender<Report>,
}

impl Mouth {
    pub(crate) async fn tell(&self, did: AgentDid) {
        // An engine that is gone needs to be told nothing.
        let _ = self.reports.send(Report { run: self.run, what: AgentReport::Did(did) }).await;
    }
}
