//! Reaches the holders of sessions: on this machine by their sockets, on another machine through the store.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rapport_core::{Act, By, SessionId};

use tokio::task::spawn_blocking;

use super::claims::AGENTS_ANSWER_NOTHING;
use super::gateway::{Gateway, GatewayError};
use super::socket;
use crate::stores::reach::{Recipient, Sent};
use crate::stores::{Holder, Store};
use crate::workers::keeper::descent;

#[derive(Clone)]
pub(super) struct Holders {
    store: Arc<dyn Store>,
}

impl Holders {
    /// The holders of this store's sessions.
    pub(super) fn of(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Submits an act of a person to the holder of a session.
    pub(super) async fn send(&self, holder: &Holder, id: &SessionId, by: &By, act: &Act) -> Sent {
        // A store that is opened at its first use knows the way only after that.
        let far = self.store.reach();
        match (&holder.host, &holder.address, far) {
            (None, Some(address), _) => socket::send_for(address, id, act, by).await,
            // The holder cannot see this process, so it is checked here.
            (Some(_), _, Some(far)) => {
                match spawn_blocking(|| descent::is_of_an_agent(std::process::id())).await {
                    Ok(false) => far.send(holder, id, by, act).await,
                    Ok(true) => Sent::Forbidden(AGENTS_ANSWER_NOTHING.into()),
                    Err(error) => Sent::Failed(error.to_string()),
                }
            }
            (None, None, _) | (Some(_), _, None) => Sent::Nobody,
        }
    }
}

/// Acts from other machines. Their hosts have checked for whom they speak.
impl Recipient for Gateway {
    fn on_act(&self, id: SessionId, by: By, act: Act) -> BoxFuture<'static, Sent> {
        let gateway = self.clone();
        async move {
            match gateway.submit(&id, by, act).await {
                Ok(()) => Sent::Done,
                Err(GatewayError::Refused(refusal)) => Sent::Refused(refusal),
                Err(GatewayError::NotHere(_) | GatewayError::Closed) => Sent::Nobody,
                Err(error @ (GatewayError::Store(_) | GatewayError::Broken(_))) => {
                    Sent::Failed(error.to_string())
                }
            }
        }
        .boxed()
    }
}
