//! The sessions of one project on the servers: reading and verifying their logs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{Entry, SessionId, slug};

use super::cluster::Cluster;
use super::copy;
use super::lease::LeaseKeeper;
use super::owner::OwnedHere;
use super::runtime::block;
use super::subjects::Subjects;
use crate::seals::{self, Seal, Sealing, Seals, Verifier};
use crate::stores::StoreError;
use crate::stores::files::home::at_home;
use crate::stores::files::scan::{Scan, scan};

/// A machine, as others know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostName {
    /// Its id, which no other host has.
    pub(super) id: String,
    /// Its name for people.
    pub(super) name: String,
}

/// The sessions of one project.
#[derive(Clone, Debug)]
pub(super) struct NatsSite {
    pub(super) cluster: Arc<Cluster>,
    pub(super) leases: Arc<LeaseKeeper>,
    pub(super) owned: OwnedHere,
    pub(super) host: HostName,
    pub(super) subjects: Subjects,
    pub(super) seals: Arc<Seals>,
    /// Where the sessions work, wherever they were begun.
    pub(super) project: Option<PathBuf>,
    /// Where this host copies the logs.
    pub(super) copies: PathBuf,
}

/// A log as it is on the servers.
#[derive(Debug)]
pub(super) struct ReadLog {
    /// Its lines, with their ends.
    pub(super) bytes: Vec<u8>,
    /// The number of the last message of its subject.
    pub(super) last: u64,
}

/// A log that was read and verified.
#[derive(Debug)]
pub(super) struct VerifiedLog {
    pub(super) bytes: Vec<u8>,
    /// The requested entries.
    pub(super) entries: Vec<Entry>,
    /// The number of entries.
    pub(super) count: u64,
    pub(super) verifier: Option<Verifier>,
    pub(super) last: u64,
}

impl VerifiedLog {
    pub(super) fn seal(&self) -> Seal {
        seals::verdict(self.verifier.as_ref())
    }
}

impl NatsSite {
    pub(super) fn whereabouts(&self, id: &SessionId) -> String {
        self.subjects.log(id)
    }

    pub(super) fn sealing(&self, id: &SessionId) -> Sealing {
        Sealing::new(Some(self.seals.clone()), format!("session {id}"))
    }

    /// Fails if there is no such session.
    pub(super) async fn find(&self, id: &SessionId) -> Result<u64, StoreError> {
        let missing = || StoreError::NotFound(id.clone());
        if !slug::is_name(id.as_str()) {
            return Err(missing());
        }
        let last = self.cluster.last(&self.cluster.sessions, &self.subjects.log(id)).await?;
        last.map(|last| last.sequence).ok_or_else(missing)
    }

    /// The whole log.
    pub(super) async fn read_log(&self, id: &SessionId) -> Result<ReadLog, StoreError> {
        let last = self.find(id).await?;
        let mut bytes = Vec::new();
        for message in self.cluster.all(&self.subjects.log(id), last).await? {
            if !message.is_mark {
                bytes.extend(self.cluster.content(message).await?);
            }
        }
        if bytes.is_empty() {
            return Err(StoreError::NotFound(id.clone()));
        }
        Ok(ReadLog { bytes, last })
    }

    /// The entries after this one, and the verifier of the whole log. What was read is copied to this host.
    pub(super) async fn verified(&self, id: &SessionId, after: u64) -> Result<VerifiedLog, StoreError> {
        let (sealing, place) = (self.sealing(id), self.whereabouts(id));
        // The verifier has to be there before the log is read: its head must not be ahead.
        let verifier = block(move || sealing.verifier().map_err(unsealed(place))).await?;
        let ReadLog { bytes, last } = self.read_log(id).await?;
        let (place, project, copy) = (self.whereabouts(id), self.project.clone(), self.copy_of(id));
        block(move || {
            let mut verifier = verifier;
            let Scan { entries, last: count, .. } = scan(Path::new(&place), &bytes, after, |line| {
                verifier.iter_mut().for_each(|verifier| verifier.take(line));
            })?;
            let entries = at_home(entries, project.as_deref());
            if seals::verdict(verifier.as_ref()).counts() {
                copy::catch_up(&copy, &bytes);
            }
            Ok(VerifiedLog { bytes, entries, count, verifier, last })
        })
        .await
    }

    /// The entries after this one, trusted or not.
    pub(super) async fn entries(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, StoreError> {
        let ReadLog { bytes, .. } = self.read_log(id).await?;
        let (place, project) = (self.whereabouts(id), self.project.clone());
        block(move || {
            let scanned = scan(Path::new(&place), &bytes, after, |_| ())?;
            Ok(at_home(scanned.entries, project.as_deref()))
        })
        .await
    }

    /// The file with this host's copy of a log.
    pub(super) fn copy_of(&self, id: &SessionId) -> PathBuf {
        self.copies.join(id.as_str()).join(copy::FILE)
    }
}

/// Says that the seals of a log cannot be checked.
pub(super) fn unsealed(place: String) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { what: "check the seals of", place, source }
}
