//! What tests do to the sessions on the servers. Not in release builds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rapport_core::SessionId;

use super::cluster::{Body, Purpose};
use super::owner::{Owner, OwnerRecord};
use super::site::NatsSite;
use super::{Nats, runtime};
use crate::stores::{StoreError, StoreSite, Stored};

/// Whether holders write without a condition.
static IS_UNFENCED: AtomicBool = AtomicBool::new(false);

/// Whether holders write under the condition that nobody else has written.
pub(super) fn is_fenced() -> bool {
    !IS_UNFENCED.load(Ordering::SeqCst)
}

impl Nats {
    /// Opens the sessions of a site.
    pub fn opened(site: StoreSite) -> Stored<'static, Self> {
        runtime::run(Self::open(site))
    }

    /// The same sessions, each in the project in which it was begun.
    #[must_use]
    pub fn where_begun(self) -> Self {
        let site = NatsSite { project: None, ..(*self.site).clone() };
        Self { site: Arc::new(site), ..self }
    }

    /// Ends the hold of a session, or of a reserved name, without the holder noticing: as if its lease had ended.
    pub fn end_hold(&self, id: &SessionId) -> Stored<'static, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            if let Owner::Process(record) = site.owner(&id).await? {
                let record = OwnerRecord { lease: "ended".into(), ..record };
                let body = Body::Whole(serde_json::to_vec(&record).unwrap_or_default());
                site.cluster.write(&site.subjects.owner(&id), None, Purpose::Add, &body).await?;
            }
            Ok::<_, StoreError>(())
        })
    }

    /// Lets holders write without a condition, or no longer: the fault that a checker of logs has to catch.
    pub fn set_fencing(&self, is_on: bool) {
        IS_UNFENCED.store(!is_on, Ordering::SeqCst);
    }

    /// Adds a line to a log as it is, as another program might.
    pub fn add_line(&self, id: &SessionId, line: Vec<u8>) -> Stored<'static, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            site.cluster
                .write(&site.subjects.log(&id), None, Purpose::Add, &Body::Whole(line))
                .await
                .map(drop)
        })
    }

    /// Deletes the streams by hand.
    pub fn delete_streams(&self) -> Stored<'static, ()> {
        self.on_servers(|site| async move {
            let jetstream = async_nats::jetstream::new(site.cluster.client().clone());
            for stream in ["rapport", "rapport-owners"] {
                let deleted = jetstream.delete_stream(stream).await;
                deleted.map_err(|error| site.cluster.unreachable("delete", stream, &error.to_string()))?;
            }
            Ok(())
        })
    }

    /// Removes the messages of a log after its first ones from the servers, as if the servers had lost them.
    pub fn forget_after(&self, id: &SessionId, kept: usize) -> Stored<'static, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            let subject = site.subjects.log(&id);
            let last = site.find(&id).await?;
            for message in site.cluster.all(&subject, last).await?.into_iter().skip(kept) {
                site.cluster.remove(&site.cluster.sessions, message.sequence).await?;
            }
            Ok::<_, StoreError>(())
        })
    }
}
