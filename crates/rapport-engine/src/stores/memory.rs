//! Sessions in memory, for tests: the same guarantees as on disk, except for durability.

#[cfg(debug_assertions)]
mod faults;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use tokio::sync::mpsc;

use super::{
    Attacher, Attachment, Changes, DocumentFolder, Holder, InspectedSession, Log, Reserved, Store,
    StoreError, Stored, folders_of, is_folder,
};
use crate::seals::Seal;

/// Sessions that exist as long as any clone of this.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: BTreeMap<SessionId, StoredSession>,
    /// Reserved names, each with the reservation by which it can be filled, unless that ended.
    reserved: BTreeMap<SessionId, Option<u64>>,
    reservations: u64,
    watchers: Vec<mpsc::UnboundedSender<SessionId>>,
    failing: bool,
}

#[derive(Debug, Default)]
struct StoredSession {
    entries: Vec<Entry>,
    holder: Option<Holder>,
    /// How often it was held: only the latest holder may write.
    holds: u64,
    beside: BTreeMap<String, Vec<u8>>,
    /// The result of checking its seals, if it is not trusted.
    foreign: Option<Seal>,
}

impl Memory {
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, id: &SessionId, hold: u64) -> Box<dyn Log> {
        Box::new(MemoryLog { store: self.clone(), id: id.clone(), hold })
    }
}

impl Shared {
    fn free_name(&self, words: &str, at: Timestamp) -> Result<SessionId, StoreError> {
        let is_free = |id: &SessionId| !self.sessions.contains_key(id) && !self.reserved.contains_key(id);
        let mut names = super::names(words, at).map(SessionId::new);
        names.find(is_free).ok_or_else(|| full("find a free name in", "memory".to_owned()))
    }

    /// Notifies the watchers of a session.
    fn tell(&mut self, id: &SessionId) {
        self.watchers.retain(|watcher| watcher.send(id.clone()).is_ok());
    }

    fn session(&mut self, id: &SessionId) -> Result<&mut StoredSession, StoreError> {
        self.sessions.get_mut(id).ok_or_else(|| StoreError::NotFound(id.clone()))
    }
}

impl Store for Memory {
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        async move {
            let mut shared = self.lock();
            let id = shared.free_name(words, at)?;
            let entry = Entry { seq: 1, at, facts };
            let session = StoredSession {
                entries: vec![entry.clone()],
                holder: Some(holder.clone()),
                holds: 1,
                ..StoredSession::default()
            };
            shared.sessions.insert(id.clone(), session);
            shared.tell(&id);
            let log = self.log(&id, 1);
            Ok((id, entry, log))
        }
        .boxed()
    }

    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>> {
        async move {
            let mut shared = self.lock();
            let id = shared.free_name(words, at)?;
            shared.reservations += 1;
            let reservation = shared.reservations;
            shared.reserved.insert(id.clone(), Some(reservation));
            let reserved: Box<dyn Reserved> = Box::new(ReservedName { store: self.clone(), id, reservation });
            Ok(reserved)
        }
        .boxed()
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        async move {
            let mut shared = self.lock();
            let session = shared.session(id)?;
            if let Some(seal) = session.foreign.clone().filter(|seal| !seal.counts()) {
                return Err(StoreError::NotOurs { id: id.clone(), seal });
            }
            if let Some(holder) = &session.holder {
                return Err(StoreError::Busy { id: id.clone(), holder: holder.clone() });
            }
            session.holder = Some(holder.clone());
            session.holds += 1;
            Ok((session.entries.clone(), self.log(id, session.holds)))
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move {
            let mut shared = self.lock();
            let entries = shared.session(id)?.entries.iter();
            Ok(entries.filter(|entry| entry.seq > after).cloned().collect())
        }
        .boxed()
    }

    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)> {
        async move {
            let entries = self.read(id, after).await?;
            let foreign = self.lock().session(id)?.foreign.clone();
            Ok((entries, foreign.unwrap_or(Seal::Ours)))
        }
        .boxed()
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        async move { Ok(self.lock().sessions.keys().cloned().collect()) }.boxed()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>> {
        async move { Ok(self.lock().session(id)?.holder.clone()) }.boxed()
    }

    fn watch(&self) -> Stored<'_, Changes> {
        async move {
            let (tell, changed) = mpsc::unbounded_channel();
            self.lock().watchers.push(tell);
            Ok(Changes::new(changed, ()))
        }
        .boxed()
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move {
            check_name(name)?;
            self.lock().session(id)?.beside.insert(name.to_owned(), content);
            Ok(())
        }
        .boxed()
    }

    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>> {
        async move {
            check_name(name)?;
            Ok(self.lock().session(id)?.beside.get(name).cloned())
        }
        .boxed()
    }

    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>> {
        async move {
            let mut shared = self.lock();
            let names = shared.session(id)?.beside.keys().map(String::as_str);
            Ok(folders_of(names, Timestamp::UNIX_EPOCH))
        }
        .boxed()
    }

    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        async move {
            let mut shared = self.lock();
            let beside = &mut shared.session(id)?.beside;
            if !is_folder(name, &documents) {
                return Err(not_a_name(name));
            }
            let below = format!("{name}/");
            if beside.keys().any(|there| there.starts_with(&below)) {
                return Ok(false);
            }
            beside.extend(
                documents.into_iter().map(|(document, content)| (format!("{below}{document}"), content)),
            );
            Ok(true)
        }
        .boxed()
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        async move {
            let is_document =
                |name: &String| matches!(Attachment::named(name), Some(Attachment::Document(_)));
            let shared = self.lock();
            let documented =
                shared.sessions.iter().filter(|(_, session)| session.beside.keys().any(is_document));
            Ok(documented.map(|(id, _)| id.clone()).collect())
        }
        .boxed()
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        async move {
            let shared = self.lock();
            let ended = shared.reserved.iter().filter(|(_, reservation)| reservation.is_none());
            Ok(ended.map(|(id, _)| id.clone()).collect())
        }
        .boxed()
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move {
            let mut shared = self.lock();
            match shared.reserved.get(id) {
                None => Err(StoreError::NotFound(id.clone())),
                Some(Some(_)) => Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN }),
                Some(None) => {
                    shared.reserved.remove(id);
                    Ok(())
                }
            }
        }
        .boxed()
    }

    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()> {
        async move {
            let mut shared = self.lock();
            shared.sessions.entry(id.clone()).or_insert_with(|| StoredSession {
                entries: vec![Entry { seq: 1, at, facts }],
                ..StoredSession::default()
            });
            shared.tell(id);
            Ok(())
        }
        .boxed()
    }

    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession> {
        async move {
            let (entries, seal) = self.sealed(id, 0).await?;
            let mut shared = self.lock();
            let beside = shared.session(id)?.beside.clone().into_iter();
            let is_plain = |name: &str| matches!(Attachment::named(name), Some(Attachment::Plain(_)));
            let attachments = beside.filter(|(name, _)| is_plain(name)).collect();
            Ok(InspectedSession { id: id.clone(), entries, attachments, seal, verifier: None })
        }
        .boxed()
    }

    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()> {
        async move {
            self.lock().session(&inspected.id)?.foreign = None;
            Ok(())
        }
        .boxed()
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        format!("{id} in memory")
    }
}

/// A reserved name.
#[derive(Debug)]
struct ReservedName {
    store: Memory,
    id: SessionId,
    reservation: u64,
}

impl Reserved for ReservedName {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn fill(
        self: Box<Self>,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'static, ()> {
        async move {
            let beside = attachments.into_iter().collect();
            let session = StoredSession { entries, beside, ..StoredSession::default() };
            let mut shared = self.store.lock();
            if shared.reserved.get(&self.id) != Some(&Some(self.reservation)) {
                return Err(StoreError::Superseded { id: self.id.clone() });
            }
            shared.sessions.insert(self.id.clone(), session);
            shared.tell(&self.id);
            Ok(())
        }
        .boxed()
    }
}

impl Drop for ReservedName {
    fn drop(&mut self) {
        let mut shared = self.store.lock();
        if shared.reserved.get(&self.id) == Some(&Some(self.reservation)) {
            shared.reserved.remove(&self.id);
        }
    }
}

/// A session held for writing.
#[derive(Debug)]
struct MemoryLog {
    store: Memory,
    id: SessionId,
    hold: u64,
}

impl Log for MemoryLog {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry> {
        async move {
            let mut shared = self.store.lock();
            if std::mem::take(&mut shared.failing) {
                return Err(full("write to", self.store.whereabouts(&self.id)));
            }
            let session = shared.session(&self.id)?;
            if session.holds != self.hold {
                return Err(StoreError::Superseded { id: self.id.clone() });
            }
            let entries = &mut session.entries;
            let entry = Entry { seq: entries.len() as u64 + 1, at, facts };
            entries.push(entry.clone());
            shared.tell(&self.id);
            Ok(entry)
        }
        .boxed()
    }

    fn attacher(&self) -> Arc<dyn Attacher> {
        Arc::new(MemoryAttacher { store: self.store.clone(), id: self.id.clone(), hold: self.hold })
    }
}

/// Stores attachments of a session for its latest holder.
struct MemoryAttacher {
    store: Memory,
    id: SessionId,
    hold: u64,
}

impl Attacher for MemoryAttacher {
    fn attach<'a>(&'a self, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move {
            check_name(name)?;
            let mut shared = self.store.lock();
            let session = shared.session(&self.id)?;
            if session.holds != self.hold || session.holder.is_none() {
                return Err(StoreError::Superseded { id: self.id.clone() });
            }
            session.beside.insert(name.to_owned(), content);
            Ok(())
        }
        .boxed()
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        if let Ok(session) = self.store.lock().session(&self.id)
            && session.holds == self.hold
        {
            session.holder = None;
        }
    }
}

fn check_name(name: &str) -> Result<(), StoreError> {
    Attachment::named(name).map(drop).ok_or_else(|| not_a_name(name))
}

fn not_a_name(name: &str) -> StoreError {
    let outside = io::Error::new(io::ErrorKind::InvalidInput, "it is not a path within the session");
    StoreError::Io { what: "use", place: name.to_owned(), source: outside }
}

fn full(what: &'static str, place: String) -> StoreError {
    StoreError::Io { what, place, source: io::ErrorKind::StorageFull.into() }
}
