//! The name of a session before the session exists. Its owner is recorded as that of a session is, so that a name that
//! a killed process left behind can be told from one in use.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use rapport_core::{Entry, SessionId, slug};
use rapport_durable::Flush;
use tokio::sync::oneshot;

use super::cluster::{Expected, Purpose, WriteReply};
use super::copy;
use super::owner::{Owner, Ownership};
use super::runtime::{self, block};
use super::site::NatsSite;
use super::subjects::Subjects;
use crate::stores::{Holder, Reserved, StoreError, Stored, names};

/// A reserved name. It is released on drop, unless a session was made.
pub(super) struct ReservedSubject {
    site: Arc<NatsSite>,
    id: SessionId,
    ownership: Ownership,
    /// Dropping it releases the name.
    _release: oneshot::Sender<()>,
    _used: Arc<()>,
}

impl NatsSite {
    pub(super) async fn reserve(
        self: Arc<Self>,
        words: &str,
        at: Timestamp,
    ) -> Result<ReservedSubject, StoreError> {
        for name in names(words, at) {
            let id = SessionId::new(name);
            self.settle(&id).await;
            if self.find(&id).await.is_ok() {
                continue;
            }
            let Some(ownership) = self.own(&id, 0, &Holder::this_process(None), true).await? else {
                continue;
            };
            if self.find(&id).await.is_ok() {
                // It was created in between.
                self.disown(&ownership).await;
                continue;
            }
            let (used, guard) = self.owned.add(self.subjects.owner(&id));
            let (release, released) = oneshot::channel();
            let (site, owned) = (self.clone(), ownership.clone());
            tokio::spawn(async move {
                // Nothing is ever sent.
                let _: Result<(), _> = released.await;
                site.disown(&owned).await;
                drop(guard);
            });
            return Ok(ReservedSubject { site: self, id, ownership, _release: release, _used: used });
        }
        Err(self.cluster.unreachable("find a free name in", &self.subjects.name(), "all are taken"))
    }

    /// Stores a whole session under its reserved name: the attachments first, then all entries in one message.
    async fn fill(
        &self,
        id: &SessionId,
        ownership: &Ownership,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let superseded = || StoreError::Superseded { id: id.clone() };
        for (name, content) in attachments {
            let prepared = self.prepare(id, &name, content).await?;
            self.put(prepared, None).await?;
        }
        let (sealing, lines) = self.sealed_lines(id, entries).await?;
        let body = self.cluster.body(lines.clone()).await?;
        let owner = self.cluster.last(&self.cluster.owners, &self.subjects.owner(id)).await?;
        if !ownership.lease.is_live() || owner.map(|owner| owner.sequence) != Some(ownership.revision) {
            return Err(superseded());
        }
        let subject = self.subjects.log(id);
        let expected = Expected { subject: subject.clone(), sequence: 0 };
        match self.cluster.write(&subject, Some(&expected), Purpose::Add, &body).await? {
            WriteReply::Refused => Err(superseded()),
            WriteReply::At(_) => {
                let copy = self.copy_of(id);
                block(move || {
                    sealing.remember(Flush::Now);
                    copy::catch_up(&copy, &lines);
                    Ok(())
                })
                .await
            }
        }
    }

    /// Stores a whole session of another store under its own name.
    pub(super) async fn take_in(
        &self,
        id: &SessionId,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Result<bool, StoreError> {
        if !slug::is_name(id.as_str()) {
            return Err(StoreError::NotFound(id.clone()));
        }
        self.settle(id).await;
        if self.find(id).await.is_ok() {
            return Ok(false);
        }
        let last = match self.owner(id).await? {
            Owner::Process(record) => {
                return Err(StoreError::Busy { id: id.clone(), holder: self.holder_of(&record) });
            }
            Owner::Nobody(last) | Owner::Gone { revision: last, .. } => last,
        };
        let Some(ownership) = self.own(id, last, &Holder::this_process(None), true).await? else {
            return Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN });
        };
        let filled = self.fill(id, &ownership, entries, attachments).await;
        self.disown(&ownership).await;
        filled.map(|()| true)
    }

    /// Removes a session that another store has taken in. Its log goes last, so that a kill in between leaves a
    /// session that can be given away again.
    pub(super) async fn give_away(&self, id: &SessionId) -> Result<(), StoreError> {
        self.settle(id).await;
        self.find(id).await?;
        if let Owner::Process(record) = self.owner(id).await? {
            return Err(StoreError::Busy { id: id.clone(), holder: self.holder_of(&record) });
        }
        for matching in [self.subjects.documents(id), self.subjects.folders(id), self.subjects.log(id)] {
            self.cluster.purge(&matching).await?;
        }
        Ok(())
    }

    /// The names that were reserved by processes that are gone.
    pub(super) async fn unfilled(&self) -> Result<Vec<SessionId>, StoreError> {
        let owners = self.cluster.subjects(&self.cluster.owners, &self.subjects.all_owners()).await?;
        let filled: BTreeSet<_> = self.list().await?.into_iter().collect();
        let names = owners.iter().filter_map(|subject| Subjects::session(subject));
        let mut unfilled = BTreeSet::new();
        for id in names.filter(|id| !filled.contains(id)) {
            self.settle(&id).await;
            if matches!(self.owner(&id).await?, Owner::Gone { record, .. } if record.reserved) {
                unfilled.insert(id);
            }
        }
        Ok(unfilled.into_iter().collect())
    }

    /// Releases a name that was reserved and never filled.
    pub(super) async fn release(&self, id: &SessionId) -> Result<(), StoreError> {
        self.settle(id).await;
        if self.find(id).await.is_ok() {
            return Err(StoreError::NotFound(id.clone()));
        }
        match self.owner(id).await? {
            Owner::Process(record) => {
                Err(StoreError::Busy { id: id.clone(), holder: self.holder_of(&record) })
            }
            // Only this message is removed: another process may reserve the name at the same moment.
            Owner::Gone { record, revision } if record.reserved => {
                self.cluster.remove(&self.cluster.owners, revision).await
            }
            Owner::Gone { .. } | Owner::Nobody(_) => Err(StoreError::NotFound(id.clone())),
        }
    }
}

impl Reserved for ReservedSubject {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn fill(
        self: Box<Self>,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'static, ()> {
        async move {
            let site = self.site.clone();
            let (id, ownership) = (self.id.clone(), self.ownership.clone());
            let filled = async move { site.fill(&id, &ownership, entries, attachments).await };
            let filled = runtime::run(filled).await;
            let (site, id) = (self.site.clone(), self.id.clone());
            // The session is there; nobody holds it once the name is released.
            drop(self);
            runtime::run(async move {
                site.settle(&id).await;
                Ok(())
            })
            .await?;
            filled
        }
        .boxed()
    }
}
