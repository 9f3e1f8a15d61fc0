//! A store that is opened when it is used for the first time, because opening one can take a while, and can fail. If
//! it fails, the first use fails with that error, and the next use tries again.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId};
use tokio::sync::OnceCell;

use super::kinds::{StoreKind, StoreSite};
use super::reach::{Reach, Recipient};
use super::{
    AttachmentPieces, Changes, CopyState, DocumentFolder, Holder, HostProcess, InspectedSession, Log,
    Reserved, Store, StoreError, Stored,
};
use crate::seals::Seal;

pub(super) struct LazyStore {
    kind: Arc<dyn StoreKind>,
    site: StoreSite,
    opened: OnceCell<Arc<dyn Store>>,
}

impl LazyStore {
    pub(super) fn new(kind: Arc<dyn StoreKind>, site: StoreSite) -> Self {
        Self { kind, site, opened: OnceCell::new() }
    }

    async fn open(&self) -> Result<&dyn Store, StoreError> {
        let opened = self.opened.get_or_try_init(|| self.kind.open(self.site.clone())).await?;
        Ok(&**opened)
    }
}

impl Store for LazyStore {
    fn create<'a>(
        &'a self,
        words: &'a str,
        at: Timestamp,
        facts: Vec<Event>,
        holder: &'a Holder,
    ) -> Stored<'a, (SessionId, Entry, Box<dyn Log>)> {
        async move { self.open().await?.create(words, at, facts, holder).await }.boxed()
    }

    fn reserve<'a>(&'a self, words: &'a str, at: Timestamp) -> Stored<'a, Box<dyn Reserved>> {
        async move { self.open().await?.reserve(words, at).await }.boxed()
    }

    fn hold<'a>(&'a self, id: &'a SessionId, holder: &'a Holder) -> Stored<'a, (Vec<Entry>, Box<dyn Log>)> {
        async move { self.open().await?.hold(id, holder).await }.boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move { self.open().await?.read(id, after).await }.boxed()
    }

    fn sealed<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, (Vec<Entry>, Seal)> {
        async move { self.open().await?.sealed(id, after).await }.boxed()
    }

    fn raw<'a>(&'a self, id: &'a SessionId, from: usize) -> Stored<'a, Vec<u8>> {
        async move { self.open().await?.raw(id, from).await }.boxed()
    }

    fn counted<'a>(&'a self, id: &'a SessionId, after: u64) -> Stored<'a, Vec<Entry>> {
        async move { self.open().await?.counted(id, after).await }.boxed()
    }

    fn list(&self) -> Stored<'_, Vec<SessionId>> {
        async move { self.open().await?.list().await }.boxed()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<Holder>> {
        async move { self.open().await?.holder(id).await }.boxed()
    }

    fn begun_at<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Option<String>> {
        async move { self.open().await?.begun_at(id).await }.boxed()
    }

    fn hosts(&self) -> Stored<'_, Option<Vec<HostProcess>>> {
        async move { self.open().await?.hosts().await }.boxed()
    }

    fn copies(&self) -> Stored<'_, Option<Vec<(SessionId, CopyState)>>> {
        async move { self.open().await?.copies().await }.boxed()
    }

    fn restore<'a>(&'a self, id: &'a SessionId) -> Stored<'a, u64> {
        async move { self.open().await?.restore(id).await }.boxed()
    }

    fn take_in<'a>(
        &'a self,
        id: &'a SessionId,
        entries: Vec<Entry>,
        attachments: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        async move { self.open().await?.take_in(id, entries, attachments).await }.boxed()
    }

    fn set_copy_aside<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move { self.open().await?.set_copy_aside(id).await }.boxed()
    }

    fn give_away<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move { self.open().await?.give_away(id).await }.boxed()
    }

    /// A holder is known only from the store, which is open by then.
    fn reach(&self) -> Option<Arc<dyn Reach>> {
        self.opened.get()?.reach()
    }

    fn receive(&self, recipient: Arc<dyn Recipient>) -> Stored<'_, Option<Box<dyn Send>>> {
        async move { self.open().await?.receive(recipient).await }.boxed()
    }

    fn watch(&self) -> Stored<'_, Changes> {
        async move { self.open().await?.watch().await }.boxed()
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: Vec<u8>) -> Stored<'a, ()> {
        async move { self.open().await?.attach(id, name, content).await }.boxed()
    }

    fn attached<'a>(&'a self, id: &'a SessionId, name: &'a str) -> Stored<'a, Option<Vec<u8>>> {
        async move { self.open().await?.attached(id, name).await }.boxed()
    }

    fn attached_pieces<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
    ) -> Stored<'a, Option<AttachmentPieces>> {
        async move { self.open().await?.attached_pieces(id, name).await }.boxed()
    }

    fn folders<'a>(&'a self, id: &'a SessionId) -> Stored<'a, Vec<DocumentFolder>> {
        async move { self.open().await?.folders(id).await }.boxed()
    }

    fn new_folder<'a>(
        &'a self,
        id: &'a SessionId,
        name: &'a str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Stored<'a, bool> {
        async move { self.open().await?.new_folder(id, name, documents).await }.boxed()
    }

    fn documented(&self) -> Stored<'_, Vec<SessionId>> {
        async move { self.open().await?.documented().await }.boxed()
    }

    fn session_at<'a>(&'a self, path: &'a Path) -> Stored<'a, Option<SessionId>> {
        async move { self.open().await?.session_at(path).await }.boxed()
    }

    fn unfilled(&self) -> Stored<'_, Vec<SessionId>> {
        async move { self.open().await?.unfilled().await }.boxed()
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Stored<'a, ()> {
        async move { self.open().await?.release(id).await }.boxed()
    }

    fn enlist<'a>(&'a self, id: &'a SessionId, at: Timestamp, facts: Vec<Event>) -> Stored<'a, ()> {
        async move { self.open().await?.enlist(id, at, facts).await }.boxed()
    }

    fn look<'a>(&'a self, id: &'a SessionId) -> Stored<'a, InspectedSession> {
        async move { self.open().await?.look(id).await }.boxed()
    }

    fn trust(&self, inspected: Arc<InspectedSession>) -> Stored<'_, ()> {
        async move { self.open().await?.trust(inspected).await }.boxed()
    }

    fn whereabouts(&self, id: &SessionId) -> String {
        let opened = self.opened.get().map(|store| store.whereabouts(id));
        opened.unwrap_or_else(|| self.kind.whereabouts(&self.site, Some(id)))
    }
}
