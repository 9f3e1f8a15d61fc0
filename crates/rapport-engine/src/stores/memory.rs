//! Sessions in memory, for tests: the same promises as on disk, as far as memory can keep them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use tokio::sync::mpsc;

use super::{Changes, Holder, Log, Reserved, Store, StoreError};
use crate::seals::Seal;

/// Sessions that last as long as any clone of this.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: BTreeMap<SessionId, Kept>,
    reserved: BTreeSet<SessionId>,
    watchers: Vec<mpsc::UnboundedSender<SessionId>>,
    failing: bool,
}

#[derive(Debug, Default)]
struct Kept {
    entries: Vec<Entry>,
    holder: Option<Holder>,
    beside: BTreeMap<String, Vec<u8>>,
    /// Whose word it is, where it is not this program's.
    foreign: Option<Seal>,
}

impl Memory {
    /// No sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the next append to any session fail, as on a full disk. The one after that works again.
    pub fn fail_next_append(&self) {
        self.lock().failing = true;
    }

    /// Makes a session somebody else's word, as if it had come with a clone.
    pub fn disown(&self, id: &SessionId, seal: Seal) {
        if let Ok(kept) = self.lock().kept(id) {
            kept.foreign = Some(seal);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, id: &SessionId) -> Box<dyn Log> {
        Box::new(MemoryLog { store: self.clone(), id: id.clone() })
    }
}

impl Shared {
    fn free_name(&self, words: &str, at: Timestamp) -> Result<SessionId, StoreError> {
        let is_free = |id: &SessionId| !self.sessions.contains_key(id) && !self.reserved.contains(id);
        let mut names = super::names(words, at).map(SessionId::new);
        names.find(is_free).ok_or_else(|| full("find a free name in", "memory".to_owned()))
    }

    /// Tells those who watch that a session changed.
    fn tell(&mut self, id: &SessionId) {
        self.watchers.retain(|watcher| watcher.send(id.clone()).is_ok());
    }

    fn kept(&mut self, id: &SessionId) -> Result<&mut Kept, StoreError> {
        self.sessions.get_mut(id).ok_or_else(|| StoreError::NotFound(id.clone()))
    }
}

impl Store for Memory {
    fn create(
        &self,
        words: &str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &Holder,
    ) -> Result<(SessionId, Entry, Box<dyn Log>), StoreError> {
        let mut shared = self.lock();
        let id = shared.free_name(words, at)?;
        let entry = Entry { seq: 1, at, facts };
        let kept = Kept { entries: vec![entry.clone()], holder: Some(holder.clone()), ..Kept::default() };
        shared.sessions.insert(id.clone(), kept);
        shared.tell(&id);
        let log = self.log(&id);
        Ok((id, entry, log))
    }

    fn reserve(&self, words: &str, at: Timestamp) -> Result<Box<dyn Reserved>, StoreError> {
        let mut shared = self.lock();
        let id = shared.free_name(words, at)?;
        shared.reserved.insert(id.clone());
        Ok(Box::new(ReservedName { store: self.clone(), id }))
    }

    fn hold(&self, id: &SessionId, holder: &Holder) -> Result<(Vec<Entry>, Box<dyn Log>), StoreError> {
        let mut shared = self.lock();
        let kept = shared.kept(id)?;
        if let Some(seal) = kept.foreign.clone().filter(|seal| !seal.counts()) {
            return Err(StoreError::NotOurs { id: id.clone(), seal });
        }
        if let Some(holder) = &kept.holder {
            return Err(StoreError::Busy { id: id.clone(), holder: holder.clone() });
        }
        kept.holder = Some(holder.clone());
        Ok((kept.entries.clone(), self.log(id)))
    }

    fn read(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        let mut shared = self.lock();
        let entries = shared.kept(id)?.entries.iter();
        Ok(entries.filter(|entry| entry.seq > after).cloned().collect())
    }

    fn sealed(&self, id: &SessionId, after: u64) -> Result<(Vec<Entry>, Seal), StoreError> {
        let entries = self.read(id, after)?;
        let foreign = self.lock().kept(id)?.foreign.clone();
        Ok((entries, foreign.unwrap_or(Seal::Ours)))
    }

    fn list(&self) -> Result<Vec<SessionId>, StoreError> {
        Ok(self.lock().sessions.keys().cloned().collect())
    }

    fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        Ok(self.lock().kept(id)?.holder.clone())
    }

    fn watch(&self) -> Result<Changes, StoreError> {
        let (tell, changed) = mpsc::unbounded_channel();
        self.lock().watchers.push(tell);
        Ok(Changes::new(changed, ()))
    }

    fn keep(&self, id: &SessionId, name: &str, content: &[u8]) -> Result<(), StoreError> {
        self.lock().kept(id)?.beside.insert(name.to_owned(), content.to_owned());
        Ok(())
    }

    fn kept(&self, id: &SessionId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.lock().kept(id)?.beside.get(name).cloned())
    }

    fn attach(&self, id: &SessionId, path: &str, content: &[u8]) -> Result<(), StoreError> {
        self.keep(id, &format!("/{path}"), content)
    }

    fn attached(&self, id: &SessionId, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.kept(id, &format!("/{path}"))
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        format!("{id} in memory")
    }
}

/// A name that nobody else gets.
#[derive(Debug)]
struct ReservedName {
    store: Memory,
    id: SessionId,
}

impl Reserved for ReservedName {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn fill(self: Box<Self>, entries: &[Entry], kept: &[(&str, &[u8])]) -> Result<(), StoreError> {
        let beside = kept.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect();
        let session = Kept { entries: entries.to_vec(), beside, ..Kept::default() };
        let mut shared = self.store.lock();
        shared.sessions.insert(self.id.clone(), session);
        shared.tell(&self.id);
        Ok(())
    }
}

impl Drop for ReservedName {
    fn drop(&mut self) {
        self.store.lock().reserved.remove(&self.id);
    }
}

/// A session held for writing.
#[derive(Debug)]
struct MemoryLog {
    store: Memory,
    id: SessionId,
}

impl Log for MemoryLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Result<Entry, StoreError> {
        let mut shared = self.store.lock();
        if std::mem::take(&mut shared.failing) {
            return Err(full("write to", self.store.whereabouts(&self.id)));
        }
        let entries = &mut shared.kept(&self.id)?.entries;
        let entry = Entry { seq: entries.len() as u64 + 1, at, facts };
        entries.push(entry.clone());
        shared.tell(&self.id);
        Ok(entry)
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if let Ok(kept) = self.store.lock().kept(&self.id) {
            kept.holder = None;
        }
    }
}

fn full(what: &'static str, place: String) -> StoreError {
    StoreError::Io { what, place, source: io::ErrorKind::StorageFull.into() }
}
