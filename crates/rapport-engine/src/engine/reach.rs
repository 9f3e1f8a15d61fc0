//! How an act gets to the process that holds a session. A store says who that is; where it is on this machine, a socket
//! leads there, and for stores that machines share there can be another way.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::{Act, By, Refusal, SessionId};

use super::socket;
use crate::stores::Holder;

/// A way to the processes that hold sessions.
pub trait Reach: Send + Sync {
    /// Has the holder of a session do something in it, in somebody's name.
    fn send<'a>(
        &'a self,
        holder: &'a Holder,
        id: &'a SessionId,
        by: &'a By,
        act: &'a Act,
    ) -> BoxFuture<'a, Sent>;
}

/// What became of something that was sent.
#[derive(Debug)]
pub enum Sent {
    /// It is stored.
    Done,
    /// The session does not take it.
    Refused(Refusal),
    /// This process may not do that, or not in that name.
    Forbidden(String),
    /// The holder could not do it.
    Failed(String),
    /// The holder is there and says nothing. What was sent may still count.
    Silent,
    /// There is nobody at that address, or they do not hold the session, or no way leads there. Nothing was done.
    Nobody,
}

/// The sockets of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sockets;

impl Reach for Sockets {
    fn send<'a>(
        &'a self,
        holder: &'a Holder,
        id: &'a SessionId,
        by: &'a By,
        act: &'a Act,
    ) -> BoxFuture<'a, Sent> {
        async move {
            match (&holder.host, &holder.address) {
                (None, Some(address)) => socket::send_for(address, id, act, by).await,
                _ => Sent::Nobody,
            }
        }
        .boxed()
    }
}
