//! The lease of this process: while the servers know it, its sessions are its own. It is renewed long before it ends.
//! A process that could not renew it for a while gives up its sessions before others may take them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};
use uuid::Uuid;

use super::cluster::{Body, Cluster, Expected, Purpose, WriteReply};
use super::reach::Recipients;
use super::runtime;
use super::site::HostName;
use crate::stores::StoreError;

/// How long the servers keep a lease that is not renewed. The longest time without appends that was measured, while
/// the servers chose another leader, was 5.8 s.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(3);
/// The pause after an attempt that failed.
const AGAIN: Duration = Duration::from_millis(500);
/// After this time without a renewal, the process gives up its sessions.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// The word of the subjects of leases.
pub(super) const WORD: &str = "lease";

/// What the servers know about a process that holds sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaseRecord {
    /// The id of its host, which is in the host's home.
    pub(super) host: String,
    /// The name of its host.
    pub(super) name: String,
    pub(super) pid: u32,
    /// When the lease began, by the clock of the host.
    pub(super) since: Timestamp,
    /// The number of sessions that it holds.
    pub(super) sessions: usize,
    /// The number of processes that run or wait to run on its machine, averaged over a minute, in hundredths.
    #[serde(default)]
    pub(super) load: Option<u32>,
}

/// A lease. It ends when the process ends, or when it could not be renewed.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) id: String,
    has_lapsed: watch::Receiver<bool>,
}

impl Lease {
    pub(super) fn is_live(&self) -> bool {
        !*self.has_lapsed.borrow() && self.has_lapsed.has_changed().is_ok()
    }

    /// Completes when the lease ends without having been released.
    pub(super) async fn lapse(&self) {
        let mut lapsed = self.has_lapsed.clone();
        if lapsed.wait_for(|lapsed| *lapsed).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Renews the lease of this process, and takes another one when it is needed.
#[derive(Debug)]
pub(super) struct LeaseKeeper {
    requests: mpsc::UnboundedSender<LeaseRequest>,
    /// The number of sessions that this process holds.
    pub(super) held: Arc<AtomicUsize>,
}

enum LeaseRequest {
    Current(oneshot::Sender<Result<Arc<Lease>, StoreError>>),
    End(oneshot::Sender<()>),
}

struct CurrentLease {
    lease: Arc<Lease>,
    lapsed: watch::Sender<bool>,
    record: LeaseRecord,
    subject: String,
    revision: u64,
    /// The servers keep the lease from this time on, at least.
    confirmed: Instant,
    next: Instant,
    /// Answers acts for the sessions of this lease.
    _serving: AbortOnDrop,
}

/// Ends a task on drop.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LeaseKeeper {
    /// Keeps the leases of this process. The first one is taken when it is needed.
    pub(super) fn start(
        cluster: Arc<Cluster>,
        host: HostName,
        recipients: Recipients,
    ) -> Result<Self, StoreError> {
        let (requests, received) = mpsc::unbounded_channel();
        let held = Arc::new(AtomicUsize::new(0));
        let counted = held.clone();
        runtime::handle()?.spawn(keep(cluster, host, recipients, counted, received));
        Ok(Self { requests, held })
    }

    /// The current lease; takes one if there is none.
    pub(super) async fn current(&self) -> Result<Arc<Lease>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let _ = self.requests.send(LeaseRequest::Current(answer));
        answered.await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable { store: super::NAME, why: "the lease of this process ended".into() })
        })
    }

    /// Ends the lease, if there is one.
    pub(super) async fn end(&self) {
        let (answer, answered) = oneshot::channel();
        let _ = self.requests.send(LeaseRequest::End(answer));
        let _ = answered.await;
    }
}

async fn keep(
    cluster: Arc<Cluster>,
    host: HostName,
    recipients: Recipients,
    held: Arc<AtomicUsize>,
    mut requests: mpsc::UnboundedReceiver<LeaseRequest>,
) {
    let mut current: Option<CurrentLease> = None;
    loop {
        let next = current.as_ref().map(|current| current.next);
        tokio::select! {
            request = requests.recv() => match request {
                Some(LeaseRequest::Current(answer)) => {
                    let taken = match &current {
                        Some(current) => Ok(current.lease.clone()),
                        None => {
                            let record = LeaseRecord {
                                host: host.id.clone(),
                                name: host.name.clone(),
                                pid: std::process::id(),
                                since: Timestamp::now(),
                                sessions: 0,
                                load: None,
                            };
                            take(&cluster, record, &recipients).await.map(|taken| {
                                let lease = taken.lease.clone();
                                current = Some(taken);
                                lease
                            })
                        }
                    };
                    let _ = answer.send(taken);
                }
                Some(LeaseRequest::End(answer)) => {
                    if let Some(current) = current.take() {
                        // If this fails, the servers end it later.
                        let _ = cluster.remove(&cluster.owners, current.revision).await;
                    }
                    let _ = answer.send(());
                }
                None => return,
            },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                if let Some(renewed) = &mut current {
                    renewed.record.sessions = held.load(Ordering::Relaxed);
                    renewed.record.load = load();
                    if !renew(&cluster, renewed).await {
                        warn!(lease = renewed.lease.id, "lease lost");
                        renewed.lapsed.send_replace(true);
                        current = None;
                    }
                }
            }
        }
    }
}

async fn take(
    cluster: &Arc<Cluster>,
    record: LeaseRecord,
    recipients: &Recipients,
) -> Result<CurrentLease, StoreError> {
    let id = Uuid::new_v4().simple().to_string();
    let subject = cluster.of_lease(WORD, &id);
    let serving = recipients.serve(cluster, &id).await;
    let serving = serving.map_err(|why| cluster.unreachable("subscribe to", &subject, &why))?;
    let expected = Expected { subject: subject.clone(), sequence: 0 };
    let began = Instant::now();
    let content = content(&record);
    let revision = match cluster.write(&subject, Some(&expected), Purpose::Lease(LEASE), &content).await? {
        WriteReply::At(revision) => revision,
        WriteReply::Refused => return Err(cluster.unreachable("write to", &subject, "the name is taken")),
    };
    info!(lease = id, "lease taken");
    let (lapsed, has_lapsed) = watch::channel(false);
    let lease = Arc::new(Lease { id, has_lapsed });
    let (confirmed, next, serving) = (began, began + RENEWED, AbortOnDrop(serving));
    Ok(CurrentLease { lease, lapsed, record, subject, revision, confirmed, next, _serving: serving })
}

/// Renews the lease; `false` if it is lost, or if it is time to give up.
async fn renew(cluster: &Cluster, current: &mut CurrentLease) -> bool {
    let began = Instant::now();
    let end = current.confirmed + GIVEN_UP;
    let expected = Expected { subject: current.subject.clone(), sequence: current.revision };
    let content = content(&current.record);
    let write = cluster.write(&current.subject, Some(&expected), Purpose::Lease(LEASE), &content);
    match tokio::time::timeout_at(end, write).await {
        Ok(Ok(WriteReply::At(revision))) => {
            current.revision = revision;
            current.confirmed = began;
            current.next = Instant::now() + RENEWED;
            true
        }
        Ok(Ok(WriteReply::Refused)) => false,
        Ok(Err(error)) => {
            warn!(%error, "lease not renewed");
            current.next = Instant::now() + AGAIN;
            current.next < end
        }
        Err(_) => false,
    }
}

fn content(record: &LeaseRecord) -> Body {
    // A record of numbers and texts can always be written.
    Body::Whole(serde_json::to_vec(record).unwrap_or_default())
}

/// The load of this machine, if the system tells it.
fn load() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    Some((load * 100.0) as u32)
}
