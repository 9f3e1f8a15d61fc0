//! A store without files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport::seals::Seal;
use rapport::stores::reach::{Reach, Sent};
use rapport::stores::{
    Attacher, Attachment, Changes, DocumentFolder, Holder, InspectedSession, Log, Reserved, Store,
    StoreError, Stored, folders_of, is_folder,
};
use rapport_core::{Act, By, Entry, Event, SessionId};
use tokio::sync::mpsc;

/// A store as a log service would be one: a single list of messages, leases that run out, objects beside them. It
/// knows no files, and is written with nothing but what a store can use.
#[derive(Clone, Default)]
pub(in crate::contract) struct Stream(Arc<Mutex<Service>>);

#[derive(Default)]
struct Service {
    messages: Vec<(SessionId, Entry)>,
    /// Who may write.
    leases: BTreeMap<SessionId, Holder>,
    /// Names that must not be given again. The maker of a session with such a name has the lease.
    reserved: BTreeSet<SessionId>,
    makers: u32,
    objects: BTreeMap<(SessionId, String), Vec<u8>>,
    watchers: Vec<mpsc::UnboundedSender<SessionId>>,
    /// What was sent to holders on other machines.
    sent: Vec<(String, SessionId, By, Act)>,
}

impl Service {
    fn of(&self, id: &SessionId) -> Result<Vec<Entry>, StoreError> {
        let messages = self.messages.iter().filter(|(of, _)| of == id);
        let entries: Vec<_> = messages.map(|(_, entry)| entry.clone()).collect();
        if entries.is_empty() { Err(StoreError::NotFound(id.clone())) } else { Ok(entries) }
    }

    fn free_name(&self, words: &str, at: Timestamp) -> SessionId {
        let is_free = |id: &SessionId| self.of(id).is_err() && !self.reserved.contains(id);
        rapport::stores::names(words, at).map(SessionId::new).find(is_free).unwrap()
    }

    /// Adds a message if the last one is the one that the writer knows.
    fn publish(&mut self, id: &SessionId, known: u64, entry: Entry) -> Result<Entry, StoreError> {
        if self.of(id).map_or(0, |entries| entries.len() as u64) != known {
            return Err(StoreError::Superseded { id: id.clone() });
        }
        self.messages.push((id.clone(), entry.clone()));
        self.watchers.retain(|watcher| watcher.send(id.clone()).is_ok());
        Ok(entry)
    }

    fn names(&self, id: &SessionId) -> impl Iterator<Item = &str> {
        self.objects.keys().filter(move |(of, _)| of == id).map(|(_, name)| name.as_str())
    }
}

impl Stream {
    pub(in crate::contract) fn end_lease(&self, id: &SessionId) {
        self.service().leases.remove(id);
    }

    /// What was sent to holders on other machines.
    pub(in crate::contract) fn sent(&self) -> Vec<(String, SessionId, By, Act)> {
        self.service().sent.clone()
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.0.lock().unwrap()
    }

    fn writer(&self, id: &SessionId, holder: &Holder, last: u64) -> Box<dyn Log> {
        Box::new(Writer { stream: self.clone(), id: id.clone(), holder: holder.clone(), last })
    }

    fn object(&self, id: &SessionId, name: &str) -> Result<(SessionId, String), StoreError> {
        let source = std::io::ErrorKind::InvalidInput.into();
        let named = Attachment::named(name);
        named.ok_or(StoreError::Io { what: "use", place: name.to_owned(), source })?;
        self.service().of(id)?;
        Ok((id.clone(), name.to_owned()))
    }
}

struct Writer {
    stream: Stream,
    id: SessionId,
    holder: Holder,
    last: u64,
}

impl Log for Writer {
    fn append(&mut self, at: Timestamp, facts: Vec<Event>) -> Stored<'_, Entry> {
        async move {
            let entry = Entry { seq: self.last + 1, at, facts };
            let entry = self.stream.service().publish(&self.id, self.last, entry)?;
            self.last = entry.seq;
            Ok(entry)
        }
        .boxed()
    }

    fn attacher(&self) -> Arc<dyn Attacher> {
        Arc::new(Lease { stream: self.stream.clone(), id: self.id.clone(), holder: self.holder.clone() })
    }
}

/// What shows whose turn it is to attach something.
struct Lease {
    stream: Stream,
    id: SessionId,
    holder: Holder,
}

impl Attacher for Lease {
    fn attach<'a>(&'a self, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move {
            let object = self.stream.object(&self.id, name)?;
            let mut service = self.stream.service();
            if service.leases.get(&self.id) != Some(&self.holder) {
                return Err(StoreError::Superseded { id: self.id.clone() });
            }
            service.objects.insert(object, content);
            Ok(())
        }
        .boxed()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut service = self.stream.service();
        if service.leases.get(&self.id) == Some(&self.holder) {
            service.leases.remove(&self.id);
        }
    }
}

struct Name {
    stream: Stream,
    id: SessionId,
    maker: Holder,
}

impl Reserved for Name {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn fill(
        self: Box<Self>,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'static, ()> {
        async move {
            let mut service = self.stream.service();
            if service.leases.get(&self.id) != Some(&self.maker) {
                return Err(StoreError::Superseded { id: self.id.clone() });
            }
            for (name, content) in attachments {
                service.objects.insert((self.id.clone(), name), content);
            }
            for entry in entries {
                service.publish(&self.id, entry.seq - 1, entry)?;
            }
            Ok(())
        }
        .boxed()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut service = self.stream.service();
        if service.leases.get(&self.id) == Some(&self.maker) {
            service.leases.remove(&self.id);
            service.reserved.remove(&self.id);
        }
    }
}

/// Holders on other machines read their acts from the service.
impl Reach for Stream {
    fn send<'a>(
        &'a self,
        holder: &'a Holder,
        id: &'a SessionId,
        by: &'a By,
        act: &'a Act,
    ) -> BoxFuture<'a, Sent> {
        let host = holder.host.clone().unwrap();
        self.service().sent.push((host, id.clone(), by.clone(), act.clone()));
        std::future::ready(Sent::Done).boxed()
    }
}

impl Store for Stream {
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        async move {
            let mut service = self.service();
            let id = service.free_name(words, at);
            let entry = service.publish(&id, 0, Entry { seq: 1, at, facts })?;
            service.leases.insert(id.clone(), holder.clone());
            let log = self.writer(&id, holder, 1);
            Ok((id, entry, log))
        }
        .boxed()
    }

    fn reach(&self) -> Option<Arc<dyn Reach>> {
        Some(Arc::new(self.clone()))
    }

    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>> {
        async move {
            let mut service = self.service();
            let id = service.free_name(words, at);
            service.reserved.insert(id.clone());
            service.makers += 1;
            let maker = Holder { pid: service.makers, ..Holder::UNKNOWN };
            service.leases.insert(id.clone(), maker.clone());
            let name: Box<dyn Reserved> = Box::new(Name { stream: self.clone(), id, maker });
            Ok(name)
        }
        .boxed()
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        async move {
            let mut service = self.service();
            let entries = service.of(id)?;
            if let Some(holder) = service.leases.get(id).cloned() {
                return Err(StoreError::Busy { id: id.clone(), holder });
            }
            service.leases.insert(id.clone(), holder.clone());
            let last = entries.len() as u64;
            Ok((entries, self.writer(id, holder, last)))
        }
        .boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move {
            let entries = self.service().of(id)?;
            Ok(entries.into_iter().filter(|entry| entry.seq > after).collect())
        }
        .boxed()
    }

    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)> {
        async move { Ok((self.read(id, after).await?, Seal::Ours)) }.boxed()
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        async move {
            let ids: BTreeSet<_> = self.service().messages.iter().map(|(id, _)| id.clone()).collect();
            Ok(ids.into_iter().collect())
        }
        .boxed()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>> {
        async move {
            let service = self.service();
            service.of(id)?;
            Ok(service.leases.get(id).cloned())
        }
        .boxed()
    }

    fn watch(&self) -> Stored<'_, Changes> {
        async move {
            let (tell, changed) = mpsc::unbounded_channel();
            self.service().watchers.push(tell);
            Ok(Changes::new(changed, ()))
        }
        .boxed()
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move {
            let object = self.object(id, name)?;
            self.service().objects.insert(object, content);
            Ok(())
        }
        .boxed()
    }

    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>> {
        async move {
            let object = self.object(id, name)?;
            Ok(self.service().objects.get(&object).cloned())
        }
        .boxed()
    }

    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>> {
        async move {
            let service = self.service();
            service.of(id)?;
            Ok(folders_of(service.names(id), Timestamp::UNIX_EPOCH))
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
            if !is_folder(name, &documents) {
                let source = std::io::ErrorKind::InvalidInput.into();
                return Err(StoreError::Io { what: "use", place: name.to_owned(), source });
            }
            let objects =
                documents.iter().map(|(document, _)| self.object(id, &format!("{name}/{document}")));
            let objects = objects.collect::<Result<Vec<_>, _>>()?;
            let mut service = self.service();
            if folders_of(service.names(id), Timestamp::UNIX_EPOCH).iter().any(|folder| folder.name == name) {
                return Ok(false);
            }
            service
                .objects
                .extend(objects.into_iter().zip(documents.into_iter().map(|(_, content)| content)));
            Ok(true)
        }
        .boxed()
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        async move {
            let service = self.service();
            let is_document = |name: &str| matches!(Attachment::named(name), Some(Attachment::Document(_)));
            let ids: BTreeSet<_> = service
                .objects
                .keys()
                .filter(|(_, name)| is_document(name))
                .map(|(id, _)| id.clone())
                .collect();
            Ok(ids.into_iter().collect())
        }
        .boxed()
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        async move {
            let service = self.service();
            let left = service.reserved.iter().filter(|id| !service.leases.contains_key(id));
            Ok(left.cloned().collect())
        }
        .boxed()
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move {
            let mut service = self.service();
            if !service.reserved.contains(id) {
                return Err(StoreError::NotFound(id.clone()));
            }
            if let Some(holder) = service.leases.get(id).cloned() {
                return Err(StoreError::Busy { id: id.clone(), holder });
            }
            service.reserved.remove(id);
            Ok(())
        }
        .boxed()
    }

    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()> {
        async move {
            let entry = Entry { seq: 1, at, facts };
            match self.service().publish(id, 0, entry) {
                Ok(_) | Err(StoreError::Superseded { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        }
        .boxed()
    }

    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession> {
        async move {
            let entries = self.read(id, 0).await?;
            let service = self.service();
            let is_plain = |name: &str| matches!(Attachment::named(name), Some(Attachment::Plain(_)));
            let objects = service.objects.iter().filter(|((of, name), _)| of == id && is_plain(name));
            let attachments = objects.map(|((_, name), content)| (name.clone(), content.clone())).collect();
            Ok(InspectedSession { id: id.clone(), entries, attachments, seal: Seal::Ours, verifier: None })
        }
        .boxed()
    }

    fn trust(&self, _: Arc<InspectedSession>) -> Stored<'_, ()> {
        async move { Ok(()) }.boxed()
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        format!("log.{id}")
    }
}
