//! A store with injected faults, for the crash test. Debug builds only.
//!
//! `RAPPORT_TRIAL` configures it: `kill-before:7` and `kill-after:7` kill this process around its seventh append. With
//! `children` (as in `children,kill-after:7`) its children, the keepers, are killed with it. With `lag` every append is
//! acknowledged one append too early, which is the fault that the crash test has to catch.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::{Entry, Event, SessionId};

use super::blocking::wait;
use super::reach::{Reach, Recipient};
use super::{
    Attacher, AttachmentPieces, Changes, CopyState, DocumentFolder, Holder, HostProcess, InspectedSession,
    Log, Reserved, Store, Stored,
};
use crate::seals::Seal;

/// The store itself, or one with faults if they are configured.
pub fn wrap(store: Arc<dyn Store>) -> Arc<dyn Store> {
    match std::env::var("RAPPORT_TRIAL") {
        Ok(orders) => Arc::new(Trial { store, orders: Arc::new(Orders::parse(&orders)) }),
        Err(_) => store,
    }
}

#[derive(Debug, Default)]
struct Orders {
    before: Option<u64>,
    after: Option<u64>,
    lag: bool,
    children: bool,
    appends: AtomicU64,
}

impl Orders {
    fn parse(text: &str) -> Self {
        let number = |name: &str| text.split(',').find_map(|order| order.strip_prefix(name)?.parse().ok());
        Self {
            before: number("kill-before:"),
            after: number("kill-after:"),
            lag: text.split(',').any(|order| order == "lag"),
            children: text.split(',').any(|order| order == "children"),
            appends: AtomicU64::new(0),
        }
    }

    async fn append<T>(&self, append: impl Future<Output = T>) -> T {
        let this = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        self.die_if(self.before == Some(this));
        let appended = append.await;
        self.die_if(self.after == Some(this));
        appended
    }

    fn die_if(&self, due: bool) {
        if due && self.children {
            for child in children() {
                let _ = kill(child, Signal::SIGKILL);
            }
        }
        if due {
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }
}

fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<_> = lists.collect();
    let pids = lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|pid| pid.parse().ok());
    pids.map(Pid::from_raw).collect()
}

struct Trial {
    store: Arc<dyn Store>,
    orders: Arc<Orders>,
}

impl Store for Trial {
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        async move {
            let (id, entry, log) = self.orders.append(self.store.create(words, at, facts, holder)).await?;
            let last = entry.seq;
            Ok((id, entry, self.log(log, last)))
        }
        .boxed()
    }

    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>> {
        async move {
            let reserved = self.orders.append(self.store.reserve(words, at)).await?;
            let trial: Box<dyn Reserved> = Box::new(TrialReserved { reserved, orders: self.orders.clone() });
            Ok(trial)
        }
        .boxed()
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        async move {
            let (entries, log) = self.store.hold(id, holder).await?;
            let last = entries.last().map_or(0, |entry| entry.seq);
            Ok((entries, self.log(log, last)))
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        self.store.read(id, after)
    }

    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)> {
        self.store.sealed(id, after)
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        self.store.list()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>> {
        self.store.holder(id)
    }

    fn begun_at<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<String>> {
        self.store.begun_at(id)
    }

    fn hosts(&self) -> Stored<'_, Option<Vec<HostProcess>>> {
        self.store.hosts()
    }

    fn copies(&self) -> Stored<'_, Option<Vec<(SessionId, CopyState)>>> {
        self.store.copies()
    }

    fn restore<'a>(&'a self, id: &'a SessionId) -> Stored<'a, u64> {
        self.store.restore(id)
    }

    fn take_in<'a>(
        &'a self,
        id: &'a SessionId,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        self.store.take_in(id, entries, attachments)
    }

    fn set_copy_aside<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        self.store.set_copy_aside(id)
    }

    fn give_away<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        self.store.give_away(id)
    }

    fn reach(&self) -> Option<Arc<dyn Reach>> {
        self.store.reach()
    }

    fn receive(&self, recipient: Arc<dyn Recipient>) -> Stored<'_, Option<Box<dyn Send>>> {
        self.store.receive(recipient)
    }

    fn watch(&self) -> Stored<'_, Changes> {
        self.store.watch()
    }

    fn attach<'a>(&'a self, id: &'a SessionId, path: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        self.store.attach(id, path, content)
    }

    fn raw<'a>(&'a self, id: &'a SessionId, from: usize) -> Stored<'a, Vec<u8>> {
        self.store.raw(id, from)
    }

    fn attached<'a>(&'a self, id: &'a SessionId, path: &'a str) -> Stored<'a, Option<Vec<u8>>> {
        self.store.attached(id, path)
    }

    fn attached_pieces<'a>(
        &'a self,
        id: &'a SessionId,
        path: &'a str,
    ) -> Stored<'a, Option<AttachmentPieces>> {
        self.store.attached_pieces(id, path)
    }

    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>> {
        self.store.folders(id)
    }

    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        self.store.new_folder(id, name, documents)
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        self.store.documented()
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        self.store.unfilled()
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        self.store.release(id)
    }

    fn session_at<'a>(&'a self, path: &'a Path) -> Stored<'a, Option<SessionId>> {
        self.store.session_at(path)
    }

    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()> {
        self.orders.append(self.store.enlist(id, at, facts)).boxed()
    }

    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession> {
        self.store.look(id)
    }

    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()> {
        self.store.trust(inspected)
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        self.store.whereabouts(id)
    }
}

impl Trial {
    fn log(&self, log: Box<dyn Log>, last: u64) -> Box<dyn Log> {
        Box::new(TrialLog { log, orders: self.orders.clone(), last, held_back: None })
    }
}

struct TrialReserved {
    reserved: Box<dyn Reserved>,
    orders: Arc<Orders>,
}

impl Reserved for TrialReserved {
    fn id(&self) -> &SessionId {
        self.reserved.id()
    }

    fn fill(
        self: Box<Self>,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'static, ()> {
        async move {
            let filled = self.reserved.fill(entries, attachments);
            self.orders.append(filled).await
        }
        .boxed()
    }
}

struct TrialLog {
    log: Box<dyn Log>,
    orders: Arc<Orders>,
    last: u64,
    /// Acknowledged entries that are not written.
    held_back: Option<(Timestamp, Vec<Event>)>,
}

impl Log for TrialLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry> {
        let Self { log, orders, last, held_back } = self;
        let orders: &Orders = orders;
        let append = async move {
            if !orders.lag {
                return log.append(at, facts).await;
            }
            if let Some((at, facts)) = held_back.take() {
                log.append(at, facts).await?;
            }
            *last += 1;
            *held_back = Some((at, facts.clone()));
            Ok(Entry { seq: *last, at, facts })
        };
        orders.append(append).boxed()
    }

    fn loss(&self) -> Option<BoxFuture<'static, bool>> {
        self.log.loss()
    }

    fn attacher(&self) -> Arc<dyn Attacher> {
        self.log.attacher()
    }
}

impl Drop for TrialLog {
    fn drop(&mut self) {
        if let Some((at, facts)) = self.held_back.take() {
            let _ = wait(self.log.append(at, facts));
        }
    }
}
