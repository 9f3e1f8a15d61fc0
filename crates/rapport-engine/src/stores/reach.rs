//! How an act reaches the process that holds a session. A store names the holder. On this machine a socket leads
//! there (`engine/reach.rs`); a store that several machines share can provide a way to the others.

use futures_util::future::BoxFuture;
use rapport_core::{Act, By, Refusal, SessionId};

use serde::{Deserialize, Serialize};

use super::Holder;

/// A way to reach the processes that hold sessions.
pub trait Reach: Send + Sync {
    /// Submits an act of a person to the holder of a session.
    fn send<'a>(
        &'a self,
        holder: &'a Holder,
        id: &'a SessionId,
        by: &'a By,
        act: &'a Act,
    ) -> BoxFuture<'a, Sent>;
}

/// A process that holds sessions, as other machines reach it.
pub trait Recipient: Send + Sync {
    /// Takes an act that was sent from another machine. The sender is known to be one of this person's or of a team
    /// mate's hosts.
    fn on_act(&self, id: SessionId, by: By, act: Act) -> BoxFuture<'static, Sent>;
}

/// The outcome of a submitted act.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    Done,
    /// The session refused it.
    Refused(Refusal),
    /// This process may not do that, or not for that person.
    Forbidden(String),
    /// The holder failed to do it.
    Failed(String),
    /// The holder exists but does not respond. The act may still take effect.
    Silent,
    /// No process is at that address, or it does not hold the session, or it cannot be reached. Nothing was done.
    Nobody,
}
