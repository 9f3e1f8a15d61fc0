//! Reaches the holders of sessions: on this machine by their sockets, on another machine through the store.

use std::sync::Arc;

use rapport_core::{Act, By, SessionId};

use super::socket;
use crate::stores::reach::{Reach, Sent};
use crate::stores::{Holder, Store};

#[derive(Clone)]
pub(super) struct Holders {
    far: Option<Arc<dyn Reach>>,
}

impl Holders {
    /// The holders of this store's sessions.
    pub(super) fn of(store: &dyn Store) -> Self {
        Self { far: store.reach() }
    }

    /// Submits an act of a person to the holder of a session.
    pub(super) async fn send(&self, holder: &Holder, id: &SessionId, by: &By, act: &Act) -> Sent {
        match (&holder.host, &holder.address, &self.far) {
            (None, Some(address), _) => socket::send_for(address, id, act, by).await,
            (Some(_), _, Some(far)) => far.send(holder, id, by, act).await,
            (None, None, _) | (Some(_), _, None) => Sent::Nobody,
        }
    }
}
