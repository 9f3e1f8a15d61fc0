//! A store that dies, or lies, on purpose: what the crash test runs Rapport on. Debug builds only.
//!
//! `RAPPORT_TRIAL` says when: `kill-before:7` and `kill-after:7` kill this process around its seventh append. With
//! `children` (as in `children,kill-after:7`) its children, the keepers, are killed at the same blow. With `lag` every
//! append is acknowledged one append too early, which is the fault the crash test has to catch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::{Entry, Event, SessionId};

use super::{Changes, Holder, Log, Looked, Reserved, Store, StoreError};
use crate::seals::Seal;

/// The store itself, or one that dies when it is told to.
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
    /// Whether its children die with it.
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

    fn append<T>(&self, append: impl FnOnce() -> T) -> T {
        let this = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        self.die_if(self.before == Some(this));
        let appended = append();
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
    fn create(
        &self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(SessionId, Entry, Box<dyn Log>), StoreError> {
        let (id, entry, log) = self.orders.append(|| self.store.create(words, at, facts, holder))?;
        let last = entry.seq;
        Ok((id, entry, self.log(log, last)))
    }

    fn reserve(&self, words: &str, at: Timestamp) -> Result<Box<dyn Reserved>, StoreError> {
        let reserved = self.orders.append(|| self.store.reserve(words, at))?;
        Ok(Box::new(TrialReserved { reserved, orders: self.orders.clone() }))
    }

    fn hold(&self, id: &SessionId, holder: &Holder) -> Result<(Vec<Entry>, Box<dyn Log>), StoreError> {
        let (entries, log) = self.store.hold(id, holder)?;
        let last = entries.last().map_or(0, |entry| entry.seq);
        Ok((entries, self.log(log, last)))
    }

    fn read(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        self.store.read(id, after)
    }

    fn sealed(&self, id: &SessionId, after: u64) -> Result<(Vec<Entry>, Seal), StoreError> {
        self.store.sealed(id, after)
    }

    fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        self.store.list()
    }

    fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.store.holder(id)
    }

    fn watch(&self) -> Result<Changes, StoreError> {
        self.store.watch()
    }

    fn attach(&self, id: &SessionId, path: &str, content: &[u8]) -> Result<(), StoreError> {
        self.store.attach(id, path, content)
    }

    fn attached(&self, id: &SessionId, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.attached(id, path)
    }

    fn enlist(&self, id: &SessionId, at: Timestamp, facts: Vec<Event>) -> Result<(), StoreError> {
        self.orders.append(|| self.store.enlist(id, at, facts))
    }

    fn look(&self, id: &SessionId) -> Result<Looked, StoreError> {
        self.store.look(id)
    }

    fn trust(&self, looked: &Looked) -> Result<(), StoreError> {
        self.store.trust(looked)
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

    fn fill(self: Box<Self>, entries: &[Entry], attachments: &[(&str, &[u8])]) -> Result<(), StoreError> {
        let reserved = self.reserved;
        self.orders.append(|| reserved.fill(entries, attachments))
    }
}

struct TrialLog {
    log: Box<dyn Log>,
    orders: Arc<Orders>,
    last: u64,
    /// Acknowledged, and not written.
    held_back: Option<(Timestamp, Vec<Event>)>,
}

impl Log for TrialLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError> {
        let orders = self.orders.clone();
        orders.append(|| {
            if !self.orders.lag {
                return self.log.append(at, facts);
            }
            if let Some((at, facts)) = self.held_back.take() {
                self.log.append(at, facts)?;
            }
            self.last += 1;
            self.held_back = Some((at, facts.clone()));
            Ok(Entry { seq: self.last, at, facts })
        })
    }
}

impl Drop for TrialLog {
    fn drop(&mut self) {
        if let Some((at, facts)) = self.held_back.take() {
            let _ = self.log.append(at, facts);
        }
    }
}
