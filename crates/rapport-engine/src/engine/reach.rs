//! Reaches the holders of sessions on this machine, each by its socket.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::{Act, By, SessionId};

use super::socket;
use crate::stores::Holder;
use crate::stores::reach::{Reach, Sent};

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
