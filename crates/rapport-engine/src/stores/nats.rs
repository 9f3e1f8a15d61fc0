//! Sessions that several machines share, on NATS JetStream. The servers replicate every entry before it counts; one
//! process at a time writes to a session, and acts reach it from any machine. `docs/many-machines.md` says how to run
//! it, and what is promised.
//!
//! All work runs on threads of its own (`runtime`), because commands that only wait have none.

mod cluster;
mod copy;
mod document;
#[cfg(debug_assertions)]
mod faults;
mod health;
mod lease;
mod log;
mod owner;
mod reach;
mod reserved;
mod restore;
mod runtime;
mod settings;
mod site;
mod subjects;
mod watch;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, slug};
use rapport_door::Diagnosis;
use rapport_durable::{hex, private_folder, replace_private};
use rapport_settings::Declared;
use tokio::sync::OnceCell;

use self::cluster::{Cluster, Expected, Purpose, WriteReply};
use self::lease::LeaseKeeper;
use self::owner::{OwnedHere, Owner};
use self::reach::{NatsReach, Recipients};
use self::runtime::block;
use self::settings::{NatsLayer, NatsSettings};
use self::site::{HostName, NatsSite, ReadLog};
use self::subjects::Subjects;
use self::watch::Watchers;
use super::reach::{Reach, Recipient};
use super::{
    Changes, CopyState, DocumentFolder, Holder, HostProcess, InspectedSession, Log, PIECE, Reserved, Store,
    StoreError, StoreKind, StoreSite, Stored,
};
use crate::seals::Seal;

/// The name of the store.
const NAME: &str = "nats";

/// How long the end of a process waits until the servers know that it holds nothing any more.
const LEAVING: Duration = Duration::from_secs(3);

/// Sessions on the servers of NATS.
#[derive(Clone, Debug)]
pub struct Nats {
    site: Arc<NatsSite>,
    connection: Arc<Connection>,
    watchers: Watchers,
}

/// The connection of this process to the servers, which all projects share.
#[derive(Debug)]
struct Connection {
    cluster: Arc<Cluster>,
    leases: Arc<LeaseKeeper>,
    owned: OwnedHere,
    recipients: Recipients,
    host: HostName,
}

/// All connections of this process, by their settings.
static CONNECTIONS: Mutex<Vec<(NatsSettings, LazyConnection)>> = Mutex::new(Vec::new());

type LazyConnection = Arc<OnceCell<Arc<Connection>>>;

/// Ends the leases of this process, once everything that it no longer uses is released: others can then hold its
/// sessions at once. To be called when the process ends. Blocks.
pub fn leave() {
    let connections = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let connections: Vec<_> = connections.iter().filter_map(|(_, made)| made.get().cloned()).collect();
    if let (false, Ok(runtime)) = (connections.is_empty(), runtime::handle()) {
        let leaving = async {
            for connection in connections {
                connection.owned.settle_all().await;
                connection.leases.end().await;
            }
        };
        // What is not released by then ends with the lease.
        let _ = runtime.block_on(async { tokio::time::timeout(LEAVING, leaving).await });
    }
}

impl Connection {
    /// The connection with these settings.
    async fn of(settings: &NatsSettings) -> Result<Arc<Self>, StoreError> {
        let made = {
            let mut connections = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
            match connections.iter().find(|(known, _)| known == settings) {
                Some((_, made)) => made.clone(),
                None => {
                    let made = Arc::new(OnceCell::new());
                    connections.push((settings.clone(), made.clone()));
                    made
                }
            }
        };
        made.get_or_try_init(|| Self::make(settings)).await.cloned()
    }

    async fn make(settings: &NatsSettings) -> Result<Arc<Self>, StoreError> {
        let home = settings.home.clone();
        let id = block(move || host_id(&home)).await?;
        let host = HostName { id, name: settings.host.clone() };
        let cluster = Arc::new(Cluster::connect(settings, host.clone()).await?);
        let recipients = Recipients::default();
        let leases = LeaseKeeper::start(cluster.clone(), host.clone(), recipients.clone())?;
        let owned = OwnedHere::default();
        Ok(Arc::new(Self { cluster, leases: Arc::new(leases), owned, recipients, host }))
    }
}

/// The id of this host, which is made once. Blocks.
fn host_id(home: &Path) -> Result<String, StoreError> {
    let path = home.join("host-id");
    let failed = |source| StoreError::Io { what: "write", place: path.display().to_string(), source };
    let read = || std::fs::read_to_string(&path).ok().map(|id| id.trim().to_owned());
    if let Some(id) = read().filter(|id| !id.is_empty()) {
        return Ok(id);
    }
    private_folder(home).map_err(failed)?;
    let id = hex::encode(&uuid::Uuid::new_v4().as_bytes()[..8]);
    replace_private(&path, format!("{id}\n").as_bytes()).map_err(failed)?;
    // Another process may have made it at the same moment.
    Ok(read().unwrap_or(id))
}

/// Sessions on the servers of NATS, with the person's seals.
#[derive(Clone, Copy, Debug)]
pub struct NatsKind;

impl StoreKind for NatsKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_address(&self) -> bool {
        true
    }

    fn section(&self) -> Option<Declared> {
        Some(Declared::of::<NatsLayer>())
    }

    fn open(&self, site: StoreSite) -> Stored<'static, Arc<dyn Store>> {
        runtime::run(async move { Ok(Arc::new(Nats::open(site).await?) as Arc<dyn Store>) })
    }

    fn whereabouts(&self, site: &StoreSite, id: Option<&SessionId>) -> String {
        let servers = site.address.clone().unwrap_or_default();
        id.map_or_else(|| format!("NATS at {servers}"), |id| format!("{id} in NATS at {servers}"))
    }

    fn diagnose(&self, site: StoreSite) -> BoxFuture<'_, Diagnosis> {
        let place = self.whereabouts(&site, None);
        let found = runtime::run(async move {
            let store = Nats::open(site).await?;
            Ok((store.site.list().await?.len(), store.site.problems().await?))
        });
        async move {
            match found.await {
                Ok((count, problems)) if problems.is_empty() => {
                    Diagnosis::Good(format!("{count} in {place} ({NAME})"))
                }
                Ok((count, problems)) => {
                    let found = format!("{count} in {place} ({NAME}), but {}", problems.join("; "));
                    let advice = "See what the servers need: docs/many-machines.md".to_owned();
                    Diagnosis::Bad { found, advice }
                }
                Err(error) => Diagnosis::Bad { found: error.to_string(), advice: self.remedy().to_owned() },
            }
        }
        .boxed()
    }

    fn remedy(&self) -> &'static str {
        "Look whether two of the three servers run and can be reached from here, and at the settings under `nats`."
    }
}

impl Nats {
    /// The sessions of a site.
    async fn open(site: StoreSite) -> Result<Self, StoreError> {
        let (settings, subjects, site) = block(move || {
            let (settings, subjects) = NatsSettings::read(&site)?;
            Ok((settings, subjects, site))
        })
        .await?;
        let connection = Connection::of(&settings).await?;
        let shared = NatsSite {
            cluster: connection.cluster.clone(),
            leases: connection.leases.clone(),
            owned: connection.owned.clone(),
            host: connection.host.clone(),
            seals: Arc::new(site.seals.shared(&subjects.name())),
            subjects,
            project: Some(site.project),
            copies: site.root,
        };
        Ok(Self { site: Arc::new(shared), connection, watchers: Watchers::default() })
    }

    fn on_servers<T: Send + 'static, F: Future<Output = Result<T, StoreError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<NatsSite>) -> F,
    ) -> Stored<'static, T> {
        runtime::run(work(self.site.clone()))
    }
}

impl NatsSite {
    /// The sessions that have a log, by day.
    async fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        let subjects = self.cluster.subjects(&self.cluster.sessions, &self.subjects.all_logs()).await?;
        let ids = subjects.iter().filter_map(|subject| Subjects::session(subject));
        let mut ids: Vec<_> = ids.filter(|id| slug::is_name(id.as_str())).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.settle(id).await;
        self.find(id).await?;
        Ok(match self.owner(id).await? {
            Owner::Process(record) => Some(self.holder_of(&record)),
            Owner::Nobody(_) | Owner::Gone { .. } => None,
        })
    }

    /// Creates a log for a session without one.
    async fn enlist(&self, id: &SessionId, at: Timestamp, facts: Vec<Event>) -> Result<(), StoreError> {
        if !slug::is_name(id.as_str()) {
            return Err(StoreError::NotFound(id.clone()));
        }
        let (sealing, line) = self.sealed_lines(id, vec![Entry { seq: 1, at, facts }]).await?;
        let body = self.cluster.body(line.clone()).await?;
        let subject = self.subjects.log(id);
        let expected = Expected { subject: subject.clone(), sequence: 0 };
        match self.cluster.write(&subject, Some(&expected), Purpose::Add, &body).await? {
            WriteReply::Refused => Ok(()),
            WriteReply::At(_) => {
                let copy = self.copy_of(id);
                block(move || {
                    sealing.remember(rapport_durable::Flush::Now);
                    copy::catch_up(&copy, &line);
                    Ok(())
                })
                .await
            }
        }
    }

    async fn look(&self, id: &SessionId) -> Result<InspectedSession, StoreError> {
        let log = self.verified(id, 0).await?;
        let attachments = self.plain_attachments(id).await?;
        let seal = log.seal();
        Ok(InspectedSession {
            id: id.clone(),
            entries: log.entries,
            attachments,
            seal,
            verifier: log.verifier,
        })
    }

    async fn trust(&self, inspected: Arc<InspectedSession>) -> Result<(), StoreError> {
        let (seals, place) = (self.seals.clone(), self.whereabouts(&inspected.id));
        block(move || {
            let Some(verifier) = &inspected.verifier else { return Ok(()) };
            let attached: Vec<_> =
                inspected.attachments.iter().map(|(_, content)| content.as_slice()).collect();
            let trusted = seals.trust(verifier, &attached);
            trusted.map_err(|source| StoreError::Io { what: "record what is trusted in", place, source })
        })
        .await
    }
}

impl Store for Nats {
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        let (words, holder) = (words.to_owned(), holder.clone());
        self.on_servers(move |site| async move {
            let (id, entry, log) = site.create(&words, at, facts, &holder).await?;
            Ok((id, entry, Box::new(log) as Box<dyn Log>))
        })
    }

    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>> {
        let words = words.to_owned();
        self.on_servers(move |site| async move {
            Ok(Box::new(site.reserve(&words, at).await?) as Box<dyn Reserved>)
        })
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        let (id, holder) = (id.clone(), holder.clone());
        self.on_servers(move |site| async move {
            let (entries, log) = site.hold(&id, &holder).await?;
            Ok((entries, Box::new(log) as Box<dyn Log>))
        })
    }

    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.entries(&id, after).await })
    }

    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            let log = site.verified(&id, after).await?;
            let seal = log.seal();
            Ok((log.entries, seal))
        })
    }

    fn raw<'a>(&'a self, id: &'a SessionId, from: usize) -> Stored<'a, Vec<u8>> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            let ReadLog { bytes, .. } = site.read_log(&id).await?;
            Ok(bytes.into_iter().skip(from).take(PIECE).collect())
        })
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_servers(|site| async move { site.list().await })
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.holder(&id).await })
    }

    fn begun_at<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<String>> {
        let id = id.clone();
        self.on_servers(move |site| async move {
            let first = site.cluster.first(&site.subjects.log(&id)).await?;
            let host = first.and_then(|first| first.host).filter(|host| host.id != site.host.id);
            Ok(host.map(|host| host.name))
        })
    }

    fn hosts(&self) -> Stored<'_, Option<Vec<HostProcess>>> {
        self.on_servers(|site| async move { site.hosts().await.map(Some) })
    }

    fn take_in<'a>(
        &'a self,
        id: &'a SessionId,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.take_in(&id, entries, attachments).await })
    }

    fn set_copy_aside<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        let copy = self.site.copy_of(id);
        runtime::run(async move { block(move || copy::set_aside(&copy)).await })
    }

    fn give_away<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.give_away(&id).await })
    }

    fn copies(&self) -> Stored<'_, Option<Vec<(SessionId, CopyState)>>> {
        self.on_servers(|site| async move { site.copies().await.map(Some) })
    }

    fn restore<'a>(&'a self, id: &'a SessionId) -> Stored<'a, u64> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.restore(&id).await })
    }

    fn reach(&self) -> Option<Arc<dyn Reach>> {
        Some(Arc::new(NatsReach(self.site.clone())))
    }

    fn receive(&self, recipient: Arc<dyn Recipient>) -> Stored<'_, Option<Box<dyn Send>>> {
        let site = &self.site;
        let guard = self.connection.recipients.add(site.subjects.site(), recipient, site.seals.clone());
        async move { Ok(Some(Box::new(guard) as Box<dyn Send>)) }.boxed()
    }

    fn watch(&self) -> Stored<'_, Changes> {
        let watchers = self.watchers.clone();
        self.on_servers(move |site| async move { watchers.watch(&site.cluster, &site.subjects).await })
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_servers(move |site| async move { site.attach(&id, &name, content).await })
    }

    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_servers(move |site| async move { site.attached(&id, &name).await })
    }

    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.folders(&id).await })
    }

    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        let (id, name) = (id.clone(), name.to_owned());
        self.on_servers(move |site| async move { site.new_folder(&id, &name, documents).await })
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_servers(|site| async move { site.documented().await })
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        self.on_servers(|site| async move { site.unfilled().await })
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.release(&id).await })
    }

    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.enlist(&id, at, facts).await })
    }

    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession> {
        let id = id.clone();
        self.on_servers(move |site| async move { site.look(&id).await })
    }

    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()> {
        self.on_servers(move |site| async move { site.trust(inspected).await })
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        self.site.whereabouts(id)
    }
}
