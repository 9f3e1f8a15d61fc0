//! Implementations that do as little as the traits allow: what a new channel, agent, worker or store begins with.

use rapport::agents::{Abilities, Agent, Controls, Place, Report, RunId};
use rapport_core::Order;
use tokio::sync::mpsc;

/// An agent that never does anything.
pub(super) struct SilentAgent;

impl Agent for SilentAgent {
    fn start(&self, _: RunId, _: Order, _: Place, _: mpsc::Sender<Report>) -> Controls {
        Controls { commands: mpsc::unbounded_channel().0 }
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
}
