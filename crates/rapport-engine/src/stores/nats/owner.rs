//! Who holds a session, or has reserved its name: one message per session, which names the lease of a process. It
//! counts as long as the servers know that lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt as _;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rapport_core::SessionId;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::timeout;

use super::cluster::{Body, Expected, Purpose, WriteReply};
use super::lease::{self, Lease, LeaseRecord};
use super::site::NatsSite;
use super::subjects::Subjects;
use crate::stores::{Holder, HostProcess, StoreError};

/// The header of a message that says that a lease has ended.
const ENDED: &str = "Nats-Marker-Reason";
/// How late the servers may notice that.
const LATE: Duration = Duration::from_secs(2);

/// What the servers know about the holder of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnerRecord {
    /// The lease of the process.
    pub(super) lease: String,
    /// The id of its host; missing if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    /// The name of its host.
    pub(super) name: String,
    pub(super) pid: u32,
    /// The namespace in which that id is meant, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    /// Whether it only reserved the name.
    #[serde(default)]
    pub(super) reserved: bool,
}

/// A session that this process holds, or whose name it reserved.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    pub(super) revision: u64,
    pub(super) lease: Arc<Lease>,
}

/// Who owns a name.
pub(super) enum Owner {
    /// Nobody; the last message about it has this number, or 0.
    Nobody(u64),
    /// A living process.
    Process(OwnerRecord),
    /// A process that is gone.
    Gone { record: OwnerRecord, revision: u64 },
}

impl NatsSite {
    /// The owner of a name, as the servers know it.
    pub(super) async fn owner(&self, id: &SessionId) -> Result<Owner, StoreError> {
        let found = self.cluster.last(&self.cluster.owners, &self.subjects.owner(id)).await?;
        let Some(found) = found else { return Ok(Owner::Nobody(0)) };
        let Ok(record) = serde_json::from_slice::<OwnerRecord>(&found.content) else {
            return Ok(Owner::Nobody(found.sequence));
        };
        if !self.has_died_here(&record) && self.has_lease(&record.lease).await? {
            return Ok(Owner::Process(record));
        }
        Ok(Owner::Gone { record, revision: found.sequence })
    }

    /// Whether a process of this host has died, with its agents. Its lease is of no use to anyone then.
    fn has_died_here(&self, record: &OwnerRecord) -> bool {
        let is_here = record.host.as_ref() == Some(&self.host.id);
        let is_meant = record.namespace.is_some() && record.namespace == pid_namespace();
        let Some(pid) = i32::try_from(record.pid).ok().filter(|pid| *pid > 0) else { return false };
        is_here && is_meant && matches!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH))
    }

    /// Waits until a session that is no longer used in this process has been released.
    pub(super) async fn settle(&self, id: &SessionId) {
        self.owned.settle(&self.subjects.owner(id)).await;
    }

    /// Waits until the servers no longer know this lease, or for as long as one lasts.
    pub(super) async fn lease_end(&self, lease: &str) -> Result<(), StoreError> {
        let subject = self.cluster.of_lease(lease::WORD, lease);
        let config = OrderedConfig {
            filter_subject: subject.clone(),
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..OrderedConfig::default()
        };
        let ended = async {
            let consumer =
                self.cluster.owners.create_consumer(config).await.map_err(|error| error.to_string())?;
            let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
            if !self.has_lease(lease).await.map_err(|error| error.to_string())? {
                return Ok(());
            }
            while let Some(message) = messages.next().await {
                let message = message.map_err(|error| error.to_string())?;
                if message.headers.as_ref().is_some_and(|headers| headers.get(ENDED).is_some()) {
                    break;
                }
            }
            Ok::<_, String>(())
        };
        match timeout(lease::LEASE + LATE, ended).await {
            Ok(Err(why)) => Err(self.cluster.unreachable("watch", &subject, &why)),
            Ok(Ok(())) | Err(_) => Ok(()),
        }
    }

    /// Whether the servers know this lease.
    pub(super) async fn has_lease(&self, lease: &str) -> Result<bool, StoreError> {
        let subject = self.cluster.of_lease(lease::WORD, lease);
        let found = self.cluster.last(&self.cluster.owners, &subject).await?;
        Ok(found.is_some_and(|found| !found.is_mark))
    }

    /// The processes that the servers know, by host, with what they hold here.
    pub(super) async fn hosts(&self) -> Result<Vec<HostProcess>, StoreError> {
        let owners = &self.cluster.owners;
        let mut held: HashMap<String, Vec<SessionId>> = HashMap::new();
        for subject in self.cluster.subjects(owners, &self.subjects.all_owners()).await? {
            let Some(owner) = self.cluster.last(owners, &subject).await? else { continue };
            let record = serde_json::from_slice::<OwnerRecord>(&owner.content);
            let record = record.ok().filter(|record| !record.reserved);
            if let (Some(record), Some(id)) = (record, Subjects::session(&subject)) {
                held.entry(record.lease).or_default().push(id);
            }
        }
        let mut hosts = Vec::new();
        for subject in self.cluster.subjects(owners, &self.cluster.of_lease(lease::WORD, "*")).await? {
            let Some(found) = self.cluster.last(owners, &subject).await?.filter(|found| !found.is_mark)
            else {
                continue;
            };
            let Ok(record) = serde_json::from_slice::<LeaseRecord>(&found.content) else { continue };
            let mut sessions =
                subject.rsplit('.').next().and_then(|lease| held.remove(lease)).unwrap_or_default();
            sessions.sort_unstable();
            hosts.push(HostProcess {
                is_here: record.host == self.host.id,
                host: record.name,
                host_id: record.host,
                pid: record.pid,
                since: record.since,
                load: record.load,
                held: record.sessions.max(sessions.len()),
                sessions,
            });
        }
        hosts.sort_unstable_by(|one, other| (&one.host, one.pid).cmp(&(&other.host, other.pid)));
        Ok(hosts)
    }

    /// Becomes the owner of a name, if the last message about it is this one.
    pub(super) async fn own(
        &self,
        id: &SessionId,
        last: u64,
        holder: &Holder,
        reserved: bool,
    ) -> Result<Option<Ownership>, StoreError> {
        let lease = self.leases.current().await?;
        let (host, name) = match &holder.host {
            Some(elsewhere) => (None, elsewhere.clone()),
            None => (Some(self.host.id.clone()), self.host.name.clone()),
        };
        let (pid, address) = (holder.pid, holder.address.clone());
        let namespace = pid_namespace().filter(|_| pid == std::process::id());
        let record = OwnerRecord { lease: lease.id.clone(), host, name, pid, namespace, address, reserved };
        let subject = self.subjects.owner(id);
        let expected = Expected { subject: subject.clone(), sequence: last };
        let content = Body::Whole(serde_json::to_vec(&record).unwrap_or_default());
        match self.cluster.write(&subject, Some(&expected), Purpose::Add, &content).await? {
            WriteReply::At(revision) => Ok(Some(Ownership { revision, lease })),
            WriteReply::Refused => Ok(None),
        }
    }

    /// Ends an ownership. If the servers cannot be reached, it ends with the lease of this process.
    pub(super) async fn disown(&self, ownership: &Ownership) {
        let _ = self.cluster.remove(&self.cluster.owners, ownership.revision).await;
    }

    /// The holder of a session, as others see it.
    pub(super) fn holder_of(&self, record: &OwnerRecord) -> Holder {
        let is_here = record.host.as_ref() == Some(&self.host.id);
        let host = (!is_here).then(|| record.name.clone());
        Holder { pid: record.pid, address: record.address.clone(), host }
    }
}

/// The namespace of process ids, if the system has some.
fn pid_namespace() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// What this process owns, until the servers have been told that it no longer does. Dropping a log returns at once; the
/// next user of the session in this process waits for the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnedHere(Arc<Mutex<HashMap<String, OwnedEntry>>>);

#[derive(Clone, Debug)]
struct OwnedEntry {
    /// Alive as long as the log, or the reserved name.
    used: Weak<()>,
    /// Closed when the servers have been told.
    released: watch::Receiver<()>,
}

impl OwnedHere {
    fn entries(&self) -> MutexGuard<'_, HashMap<String, OwnedEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the session of this subject. The first result belongs to its user; the second is dropped when the servers have been told.
    pub(super) fn add(&self, subject: String) -> (Arc<()>, OwnedGuard) {
        let used = Arc::new(());
        let (releasing, released) = watch::channel(());
        let entry = OwnedEntry { used: Arc::downgrade(&used), released };
        self.entries().insert(subject.clone(), entry);
        let used_by = Arc::downgrade(&used);
        let guard = OwnedGuard { here: self.clone(), subject, used: used_by, _releasing: releasing };
        (used, guard)
    }

    /// Waits until a session that is no longer used here has been released.
    async fn settle(&self, subject: &str) {
        let entry = self.entries().get(subject).filter(|entry| entry.used.strong_count() == 0).cloned();
        if let Some(mut entry) = entry {
            while entry.released.changed().await.is_ok() {}
        }
    }

    /// Waits until all sessions that are no longer used here have been released.
    pub(super) async fn settle_all(&self) {
        let subjects: Vec<_> = self.entries().keys().cloned().collect();
        for subject in subjects {
            self.settle(&subject).await;
        }
    }
}

/// Removes a session from what this process owns.
pub(super) struct OwnedGuard {
    here: OwnedHere,
    subject: String,
    used: Weak<()>,
    _releasing: watch::Sender<()>,
}

impl Drop for OwnedGuard {
    fn drop(&mut self) {
        let mut entries = self.here.entries();
        // The session may be held here again.
        if entries.get(&self.subject).is_some_and(|entry| entry.used.ptr_eq(&self.used)) {
            entries.remove(&self.subject);
        }
    }
}
