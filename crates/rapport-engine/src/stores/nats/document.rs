//! The attachments of a session: one message each, which replaces the one before. Those with plain names are sealed.

use std::io::{self, Cursor};

use jiff::Timestamp;
use rapport_core::SessionId;

use super::cluster::{Body, Expected, Purpose, WriteReply};
use super::runtime::block;
use super::site::{NatsSite, ReadLog, unsealed};
use super::subjects::Subjects;
use crate::seals::{Chain, Seal};
use crate::stores::{Attachment, DocumentFolder, StoreError, folders_of, is_folder};

/// An attachment whose content is sealed and, if it is long, stored.
#[derive(Debug)]
pub(super) struct PreparedDocument {
    id: SessionId,
    name: String,
    body: Body,
    /// The head of the log that it is bound to, if it is sealed.
    bound: Option<Chain>,
}

impl NatsSite {
    /// Prepares an attachment. Nobody sees it yet.
    pub(super) async fn prepare(
        &self,
        id: &SessionId,
        name: &str,
        content: Vec<u8>,
    ) -> Result<PreparedDocument, StoreError> {
        let (content, bound) = match named(self, id, name)? {
            Attachment::Document(_) => (content, None),
            Attachment::Plain(_) => {
                let (sealing, name, place) = (self.sealing(id), name.to_owned(), self.whereabouts(id));
                let sealed = move || sealing.seal_kept(&name, &content).map_err(unsealed(place));
                let (content, bound) = block(sealed).await?;
                (content, Some(bound))
            }
        };
        let body = self.cluster.body(content).await?;
        Ok(PreparedDocument { id: id.clone(), name: name.to_owned(), body, bound })
    }

    /// Puts an attachment in the place of the one before.
    pub(super) async fn put(
        &self,
        prepared: PreparedDocument,
        expected: Option<&Expected>,
    ) -> Result<WriteReply, StoreError> {
        let PreparedDocument { id, name, body, bound } = prepared;
        let subject = self.subjects.document(&id, &name);
        let before = self.cluster.last(&self.cluster.sessions, &subject).await?;
        let written = self.cluster.write(&subject, expected, Purpose::Replace, &body).await?;
        if written != WriteReply::Refused {
            self.cluster.discard(before).await;
            if let Some(bound) = bound {
                let sealing = self.sealing(&id);
                block(move || {
                    sealing.remember_kept(&name, &bound);
                    Ok(())
                })
                .await?;
            }
        }
        Ok(written)
    }

    /// Stores an attachment for a caller that does not hold the session.
    pub(super) async fn attach(
        &self,
        id: &SessionId,
        name: &str,
        content: Vec<u8>,
    ) -> Result<(), StoreError> {
        named(self, id, name)?;
        self.find(id).await?;
        let prepared = self.prepare(id, name, content).await?;
        self.put(prepared, None).await.map(drop)
    }

    /// The attachment of this name; one with a plain name only if it is trusted.
    pub(super) async fn attached(&self, id: &SessionId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let is_plain = matches!(named(self, id, name)?, Attachment::Plain(_));
        self.find(id).await?;
        let Some(content) = content_of(self, id, name).await? else { return Ok(None) };
        if !is_plain {
            return Ok(Some(content));
        }
        let ReadLog { bytes, .. } = self.read_log(id).await?;
        let (sealing, name, place) = (self.sealing(id), name.to_owned(), self.whereabouts(id));
        let (content, checked) = block(move || {
            let checked = sealing.check_kept(&name, Cursor::new(&content)).map_err(unsealed(place))?;
            Ok((content, checked))
        })
        .await?;
        let seal = match checked.seal.counts() {
            true if checked.is_last_of(&bytes) => return Ok(Some(shortened(content, checked.length))),
            true => Seal::RolledBack,
            false => checked.seal,
        };
        Err(StoreError::NotOurs { id: id.clone(), seal })
    }

    /// The attachments with plain names, without their seals, trusted or not.
    pub(super) async fn plain_attachments(
        &self,
        id: &SessionId,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut found = Vec::new();
        for name in attachment_names(self, id).await? {
            if !matches!(Attachment::named(&name), Some(Attachment::Plain(_))) {
                continue;
            }
            let Some(content) = content_of(self, id, &name).await? else { continue };
            let (sealing, place) = (self.sealing(id), self.whereabouts(id));
            found.push(
                block(move || {
                    let checked =
                        sealing.check_kept(&name, Cursor::new(&content)).map_err(unsealed(place))?;
                    Ok((name, shortened(content, checked.length)))
                })
                .await?,
            );
        }
        Ok(found)
    }

    pub(super) async fn folders(&self, id: &SessionId) -> Result<Vec<DocumentFolder>, StoreError> {
        self.find(id).await?;
        let names = attachment_names(self, id).await?;
        Ok(folders_of(names.iter().map(String::as_str), Timestamp::UNIX_EPOCH))
    }

    /// Creates a folder. The message that reserves its name comes first, so that of two callers one creates it.
    pub(super) async fn new_folder(
        &self,
        id: &SessionId,
        name: &str,
        documents: Vec<(String, Vec<u8>)>,
    ) -> Result<bool, StoreError> {
        if !is_folder(name, &documents) {
            return Err(outside(self, id, name));
        }
        if self.folders(id).await?.iter().any(|folder| folder.name == name) {
            return Ok(false);
        }
        let subject = self.subjects.folder(id, name);
        let expected = Expected { subject: subject.clone(), sequence: 0 };
        let nothing = Body::Whole(Vec::new());
        if self.cluster.write(&subject, Some(&expected), Purpose::Add, &nothing).await? == WriteReply::Refused
        {
            return Ok(false);
        }
        for (document, content) in documents {
            self.attach(id, &format!("{name}/{document}"), content).await?;
        }
        Ok(true)
    }

    /// All sessions with documents.
    pub(super) async fn documented(&self) -> Result<Vec<SessionId>, StoreError> {
        let subjects = self.cluster.subjects(&self.cluster.sessions, &self.subjects.all_documents()).await?;
        let is_document = |subject: &str| {
            let name = Subjects::attachment(subject);
            name.is_some_and(|name| matches!(Attachment::named(&name), Some(Attachment::Document(_))))
        };
        let with_documents = subjects.iter().filter(|subject| is_document(subject));
        let mut ids: Vec<_> = with_documents.filter_map(|subject| Subjects::session(subject)).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

/// The stored content of an attachment.
async fn content_of(site: &NatsSite, id: &SessionId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let subject = site.subjects.document(id, name);
    match site.cluster.last(&site.cluster.sessions, &subject).await? {
        Some(found) => Ok(Some(site.cluster.content(found).await?)),
        None => Ok(None),
    }
}

async fn attachment_names(site: &NatsSite, id: &SessionId) -> Result<Vec<String>, StoreError> {
    let subjects = site.cluster.subjects(&site.cluster.sessions, &site.subjects.documents(id)).await?;
    let mut names: Vec<_> = subjects.iter().filter_map(|subject| Subjects::attachment(subject)).collect();
    names.sort_unstable();
    Ok(names)
}

fn named<'a>(site: &NatsSite, id: &SessionId, name: &'a str) -> Result<Attachment<'a>, StoreError> {
    Attachment::named(name).ok_or_else(|| outside(site, id, name))
}

fn outside(site: &NatsSite, id: &SessionId, name: &str) -> StoreError {
    let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a path within the session");
    StoreError::Io { what: "use", place: format!("{}/{name}", site.whereabouts(id)), source }
}

/// Content without its seal.
fn shortened(mut content: Vec<u8>, length: u64) -> Vec<u8> {
    content.truncate(usize::try_from(length).unwrap_or(content.len()));
    content
}
