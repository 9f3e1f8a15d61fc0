//! Sessions of the same store wherever they run: here, in another process, or nowhere just now.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{Act, By, Entry, Refusal, SessionId};
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::gateway::{Gateway, GatewayError};
use super::socket::{self, Sent};
use crate::stores::{Holder, Store, StoreError};

/// How often, and how long apart, a process that is just coming or going is tried again.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Every session of a store. Clones share it.
#[derive(Clone)]
pub struct Elsewhere {
    store: Arc<dyn Store>,
    gateway: Gateway,
}

/// Why something was not done in a session.
#[derive(Debug, Error)]
pub enum ActError {
    /// The session does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be done, or could not be stored.
    #[error("{0}")]
    Failed(String),
}

impl Elsewhere {
    /// The sessions of this store, some of which may run behind this gateway.
    pub fn new(store: Arc<dyn Store>, gateway: Gateway) -> Self {
        Self { store, gateway }
    }

    /// Every session there is, the oldest first.
    pub async fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        self.blocking(|store| store.list()).await
    }

    /// The facts of a session after this entry (0 for all).
    pub async fn read(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        let id = id.clone();
        self.blocking(move |store| store.read(&id, after)).await
    }

    /// Who runs a session now, if anybody does.
    pub async fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        let id = id.clone();
        self.blocking(move |store| store.holder(&id)).await
    }

    /// Does something in a session: here if it runs here, else through the process that runs it. One that nobody runs is
    /// taken up here, so that it goes on. When this returns, it is durable.
    pub async fn act(&self, id: &SessionId, by: &By, act: &Act) -> Result<(), ActError> {
        for _ in 0..TRIES {
            match self.gateway.submit(id, by.clone(), act.clone()).await {
                Err(GatewayError::NotHere(_)) => {}
                Err(GatewayError::Refused(refusal)) => return Err(refusal.into()),
                Err(error) => return Err(ActError::Failed(error.to_string())),
                Ok(()) => return Ok(()),
            }
            let holder = self.holder(id).await.map_err(|error| ActError::Failed(error.to_string()))?;
            match holder {
                None => match self.gateway.adopt(id).await {
                    Ok(()) => continue,
                    // Somebody was faster.
                    Err(GatewayError::Store(StoreError::Busy { .. })) => {}
                    Err(error) => return Err(ActError::Failed(error.to_string())),
                },
                Some(ref holder @ Holder { address: Some(ref address), .. }) => {
                    match socket::send_for(address, id, act, by).await {
                        Sent::Done => return Ok(()),
                        Sent::Refused(refusal) => return Err(refusal.into()),
                        Sent::Forbidden(why) | Sent::Failed(why) => return Err(ActError::Failed(why)),
                        Sent::Silent => return Err(ActError::Failed(socket::silence(holder, id).0)),
                        Sent::Nobody => {}
                    }
                }
                Some(Holder { address: None, .. }) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(ActError::Failed(format!("session {id} is held by another process that does not answer")))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.clone();
        let broken = |error| StoreError::Io {
            what: "read",
            place: "the sessions".into(),
            source: std::io::Error::other(error),
        };
        spawn_blocking(move || work(&*store)).await.map_err(broken)?
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}
