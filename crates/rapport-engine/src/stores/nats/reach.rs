//! Acts for sessions that processes on other machines hold. They are requests to the subject of the holder's lease,
//! signed with the key of the sender's home: a client that may publish acts but has no known key is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Message, Request, RequestErrorKind};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use rapport_core::{Act, By, SessionId};
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;
use tracing::{debug, warn};

use super::cluster::Cluster;
use super::owner::Owner;
use super::runtime::{self, block};
use super::site::{NatsSite, unsealed};
use crate::seals::{Chain, Seal, Seals};
use crate::stores::reach::{Reach, Recipient, Sent};
use crate::stores::{Holder, StoreError};

/// How long a holder may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The word of the subjects of acts.
const WORD: &str = "act";

/// The scope of the seals of acts.
const SCOPE: &str = "act";

/// An act on its way to the holder of a session.
#[derive(Serialize, Deserialize)]
struct SentAct {
    /// The lease of the holder: a copy of the request is worth nothing to another process.
    to: String,
    /// The project, and which of its sessions.
    site: String,
    session: SessionId,
    by: By,
    act: Act,
}

/// Those in this process who take acts, by the sessions that they are for.
#[derive(Clone, Default)]
pub(super) struct Recipients(Arc<Mutex<RecipientMap>>);

type RecipientMap = HashMap<String, (Arc<dyn Recipient>, Arc<Seals>)>;

impl std::fmt::Debug for Recipients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().keys()).finish()
    }
}

impl Recipients {
    fn all(&self) -> MutexGuard<'_, RecipientMap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a recipient, until the result is dropped.
    pub(super) fn add(&self, site: &str, recipient: Arc<dyn Recipient>, seals: Arc<Seals>) -> RecipientGuard {
        self.all().insert(site.to_owned(), (recipient, seals));
        RecipientGuard { recipients: self.clone(), site: site.to_owned() }
    }

    /// Answers the acts that are sent to a lease, until the result is aborted.
    pub(super) async fn serve(&self, cluster: &Arc<Cluster>, lease: &str) -> Result<AbortHandle, String> {
        let subject = cluster.of_lease(WORD, lease);
        let acts = cluster.client().subscribe(subject).await.map_err(|error| error.to_string())?;
        // The holder is only named to others once it can be reached.
        cluster.client().flush().await.map_err(|error| error.to_string())?;
        let (recipients, cluster, lease) = (self.clone(), cluster.clone(), lease.to_owned());
        let serving = tokio::spawn(acts.for_each_concurrent(None, move |message| {
            let (recipients, cluster, lease) = (recipients.clone(), cluster.clone(), lease.clone());
            async move { recipients.answer(&cluster, &lease, message).await }
        }));
        Ok(serving.abort_handle())
    }

    async fn answer(&self, cluster: &Cluster, lease: &str, message: Message) {
        let Some(reply) = message.reply.clone() else { return };
        let sent = self.take(lease, message).await;
        let answer = serde_json::to_vec(&sent).unwrap_or_default();
        if let Err(error) = cluster.client().publish(reply, answer.into()).await {
            warn!(%error, "act not answered");
        }
    }

    async fn take(&self, lease: &str, message: Message) -> Sent {
        let line = message.payload.to_vec();
        let sent: SentAct = match serde_json::from_slice(&line) {
            Ok(sent) => sent,
            Err(error) => return Sent::Failed(format!("not understood: {error}")),
        };
        let recipient = self.all().get(&sent.site).cloned();
        let Some((recipient, seals)) = recipient.filter(|_| sent.to == lease) else { return Sent::Nobody };
        let seal = block(move || {
            let mut verifier = seals.verifier(SCOPE).map_err(unsealed(SCOPE.to_owned()))?;
            verifier.take(line.strip_suffix(b"\n").unwrap_or(&line));
            Ok(verifier.seal())
        });
        match seal.await {
            Ok(Seal::Ours | Seal::By(_)) => recipient.on_act(sent.session, sent.by, sent.act).await,
            Ok(seal) => {
                warn!(%seal, "act of an unknown host");
                Sent::Forbidden("the holder does not know the key of this host".into())
            }
            Err(error) => Sent::Failed(error.to_string()),
        }
    }
}

/// Removes a recipient.
pub(super) struct RecipientGuard {
    recipients: Recipients,
    site: String,
}

impl Drop for RecipientGuard {
    fn drop(&mut self) {
        self.recipients.all().remove(&self.site);
    }
}

/// The way to the holders of a project's sessions.
pub(super) struct NatsReach(pub(super) Arc<NatsSite>);

impl Reach for NatsReach {
    fn send<'a>(
        &'a self,
        _holder: &'a Holder,
        id: &'a SessionId,
        by: &'a By,
        act: &'a Act,
    ) -> BoxFuture<'a, Sent> {
        let (site, id, by, act) = (self.0.clone(), id.clone(), by.clone(), act.clone());
        async move {
            let sent = runtime::run(async move { site.send(id, by, act).await }).await;
            sent.unwrap_or_else(|error| Sent::Failed(error.to_string()))
        }
        .boxed()
    }
}

impl NatsSite {
    /// Sends an act to the holder of a session. If the holder has gone, this waits until its lease has ended, so that
    /// the session can be taken over.
    async fn send(&self, id: SessionId, by: By, act: Act) -> Result<Sent, StoreError> {
        let Owner::Process(owner) = self.owner(&id).await? else { return Ok(Sent::Nobody) };
        let sent =
            SentAct { to: owner.lease.clone(), site: self.subjects.site().to_owned(), session: id, by, act };
        let seals = self.seals.clone();
        let line = block(move || {
            let failed = |error: std::io::Error| unsealed(SCOPE.to_owned())(error);
            let object = serde_json::to_vec(&sent).map_err(|error| failed(error.into()))?;
            seals.seal(SCOPE, &Chain::START, object).map_err(failed)
        })
        .await?;
        let subject = self.cluster.of_lease(WORD, &owner.lease);
        let request = Request::new().payload(line.into()).timeout(Some(PATIENCE));
        match self.cluster.client().send_request(subject, request).await {
            Ok(answer) => Ok(serde_json::from_slice(&answer.payload).unwrap_or_else(|error| {
                Sent::Failed(format!("the holder's answer is not understood: {error}"))
            })),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                debug!(lease = owner.lease, "nobody answers");
                self.lease_end(&owner.lease).await?;
                Ok(Sent::Nobody)
            }
            Err(_) => Ok(Sent::Silent),
        }
    }
}
