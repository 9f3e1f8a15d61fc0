//! One loop owns all sessions of this process and makes their wants true.
//!
//! For every input: decide, store (durable), apply, notify followers, make the wants true. Writing happens off the
//! loop, one entry at a time per session and many sessions side by side; an entry is not shown, and nothing depends
//! on it, before it is stored. A session is resumed by replaying its log and submitting `World::Lost`: the same loop
//! then restarts whatever should be running.

mod batch_before;
mod batch_diff;
mod batches;
mod checks;
pub mod claims;
mod conversation_store;
mod deadlines;
pub mod diff;
mod effects;
mod event_loop;
mod gateway;
mod grounds;
mod hosted_session;
mod kept_states;
mod leads;
mod pieces;
mod reach;
mod reconcile;
mod sessions;
mod slots;
pub mod socket;
mod spending;
pub mod strays;
mod turn_effects;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::agents::AgentsByName;
use crate::clock::Clock;
use crate::planners::Planner;
use crate::stores::{Holder, Store};
use crate::turns::Workshop;
use crate::workers::Worker;

pub use crate::stores::reach::{Reach, Sent};
pub use crate::workers::keeper::descent;
pub use batch_before::restore_before;
pub use claims::ChannelLease;
pub use conversation_store::CONVERSATION;
pub use gateway::{Follower, Gateway, GatewayError};
pub use kept_states::restore_states;
pub use rapport_door::{Doing, DoorError, Reached, Seen, Sessions, Update};
pub use sessions::ProjectSessions;
pub use slots::AgentSlots;
pub use spending::DailySpending;

/// What an engine consists of.
#[derive(Clone)]
pub struct Parts {
    /// The store of logs.
    pub store: Arc<dyn Store>,
    /// The agents, by name.
    pub agents: Arc<AgentsByName>,
    /// Makes rounds of questions, in sessions whose agent does not.
    pub planner: Arc<dyn Planner>,
    /// The workers, by name.
    pub worker: Arc<dyn Worker>,
    /// What turns with directories need, if this engine supports them.
    pub workshop: Option<Workshop>,
    pub clock: Clock,
    /// How other processes reach this one.
    pub holder: Holder,
    /// Rapport's home, which stores the permission rules of projects.
    pub home: PathBuf,
    pub limits: AgentLimits,
}

/// The limits that all agents of a person share.
#[derive(Clone, Debug, Default)]
pub struct AgentLimits {
    /// How many may work at the same time outside of the project's directory.
    pub slots: AgentSlots,
    /// Their daily budget, if there is one.
    pub daily: Option<DailySpending>,
}

/// A running engine. It stops when this is dropped; [`Engine::stop`] also waits until it has.
#[derive(Debug)]
pub struct Engine {
    gateway: Gateway,
    stop: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

impl Engine {
    /// Starts the loop.
    pub fn start(parts: Parts) -> Self {
        let (requests, incoming) = mpsc::channel(64);
        let (stop, stopped) = oneshot::channel();
        let running = gateway::Running::default();
        let gateway = Gateway::new(requests, running.clone());
        let event_loop = event_loop::EventLoop::new(parts, gateway.clone(), incoming, running);
        Self { gateway, stop, done: tokio::spawn(event_loop.run(stopped)) }
    }

    /// The gateway to it.
    pub fn gateway(&self) -> Gateway {
        self.gateway.clone()
    }

    /// Stops: waiting agents are parked, others are killed, and every session is released. Nothing is lost.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.done.await;
    }
}
