//! Compares the logs on the servers with this host's copies, and fills the servers again from them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rapport_core::{SessionId, slug};

use super::cluster::{Expected, Purpose, WriteReply};
use super::copy;
use super::owner::Owner;
use super::runtime::block;
use super::site::{NatsSite, unsealed};
use crate::seals;
use crate::stores::files::scan::scan;
use crate::stores::{CopyState, Holder, StoreError};

impl NatsSite {
    /// The state of every log that is on the servers or copied here.
    pub(super) async fn copies(&self) -> Result<Vec<(SessionId, CopyState)>, StoreError> {
        let mut ids: BTreeSet<_> = self.list().await?.into_iter().collect();
        let folder = self.copies.clone();
        ids.extend(block(move || Ok(copied(&folder))).await?);
        let mut states = Vec::new();
        for id in ids {
            let state = copy_state(self, &id).await?;
            states.push((id, state));
        }
        Ok(states)
    }

    /// Fills the servers with what this host's copy has and they lack. Returns the number of entries.
    pub(super) async fn restore(&self, id: &SessionId) -> Result<u64, StoreError> {
        let Some(copy) = read_copy(self, id).await? else { return Ok(0) };
        check_copy(self, id, copy.clone()).await?;
        let last = match self.owner(id).await? {
            Owner::Process(record) => {
                return Err(StoreError::Busy { id: id.clone(), holder: self.holder_of(&record) });
            }
            Owner::Nobody(last) | Owner::Gone { revision: last, .. } => last,
        };
        let Some(ownership) = self.own(id, last, &Holder::this_process(None), false).await? else {
            return Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN });
        };
        let restored = fill_again(self, id, &copy).await;
        self.disown(&ownership).await;
        restored
    }
}

async fn copy_state(site: &NatsSite, id: &SessionId) -> Result<CopyState, StoreError> {
    let copy = read_copy(site, id).await?;
    let log = match verified_only(site, id).await {
        Err(StoreError::NotFound(_)) => {
            return Ok(match copy {
                Some(copy) => CopyState::Ahead { missing: lines(&copy) },
                None => CopyState::NoCopy,
            });
        }
        Err(StoreError::NotOurs { seal, .. }) => return Ok(CopyState::NotTrusted(seal)),
        Err(StoreError::Damaged { line, what, .. }) => return Ok(CopyState::Damaged { line, what }),
        log => log?,
    };
    Ok(match copy {
        None => CopyState::NoCopy,
        Some(copy) if copy == log => CopyState::Same,
        Some(copy) if log.starts_with(&copy) => CopyState::Behind { missing: lines(&log) - lines(&copy) },
        Some(copy) if copy.starts_with(&log) => CopyState::Ahead { missing: lines(&copy) - lines(&log) },
        Some(copy) => CopyState::Differs { line: first_difference(&log, &copy) },
    })
}

/// The trusted lines of a log, which are not copied.
async fn verified_only(site: &NatsSite, id: &SessionId) -> Result<Vec<u8>, StoreError> {
    let (sealing, place) = (site.sealing(id), site.whereabouts(id));
    let verifier = block(move || sealing.verifier().map_err(unsealed(place))).await?;
    let log = site.read_log(id).await?;
    let (place, named) = (site.whereabouts(id), id.clone());
    block(move || {
        let mut verifier = verifier;
        scan(Path::new(&place), &log.bytes, 0, |line| {
            verifier.iter_mut().for_each(|verifier| verifier.take(line));
        })?;
        match seals::verdict(verifier.as_ref()) {
            // The home remembers a later head: this is what `Ahead` says, if there is a copy.
            seals::Seal::RolledBack => Ok(log.bytes),
            seal if !seal.counts() => Err(StoreError::NotOurs { id: named, seal }),
            _ => Ok(log.bytes),
        }
    })
    .await
}

async fn read_copy(site: &NatsSite, id: &SessionId) -> Result<Option<Vec<u8>>, StoreError> {
    let path = site.copy_of(id);
    block(move || match std::fs::read(&path) {
        Ok(mut bytes) => {
            // A line that a kill cut off is no line.
            bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
            Ok((!bytes.is_empty()).then_some(bytes))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Io { what: "read", place: path.display().to_string(), source }),
    })
    .await
}

/// Fails unless all lines of a copy are trusted.
async fn check_copy(site: &NatsSite, id: &SessionId, copy: Vec<u8>) -> Result<(), StoreError> {
    let (sealing, path, id) = (site.sealing(id), site.copy_of(id), id.clone());
    block(move || {
        let place = path.display().to_string();
        let mut verifier = sealing.verifier().map_err(unsealed(place))?;
        scan(&path, &copy, 0, |line| verifier.iter_mut().for_each(|verifier| verifier.take(line)))?;
        let seal = seals::verdict(verifier.as_ref());
        if seal.counts() { Ok(()) } else { Err(StoreError::NotOurs { id, seal }) }
    })
    .await
}

async fn fill_again(site: &NatsSite, id: &SessionId, copy: &[u8]) -> Result<u64, StoreError> {
    let (log, last) = match site.read_log(id).await {
        Ok(log) => (log.bytes, log.last),
        Err(StoreError::NotFound(_)) => (Vec::new(), 0),
        Err(error) => return Err(error),
    };
    let Some(missing) = copy.strip_prefix(log.as_slice()) else {
        let line = first_difference(&log, copy);
        let what = "this host's copy differs from the log on the servers".to_owned();
        return Err(StoreError::Damaged { place: site.whereabouts(id), line, what });
    };
    if missing.is_empty() {
        return Ok(0);
    }
    let subject = site.subjects.log(id);
    let expected = Expected { subject: subject.clone(), sequence: last };
    let body = site.cluster.body(missing.to_vec()).await?;
    match site.cluster.write(&subject, Some(&expected), Purpose::Add, &body).await? {
        WriteReply::At(_) => Ok(lines(missing)),
        WriteReply::Refused => Err(StoreError::Superseded { id: id.clone() }),
    }
}

/// The sessions that have a copy. Blocks.
fn copied(folder: &PathBuf) -> Vec<SessionId> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().join(copy::FILE).is_file());
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| slug::is_name(name)).map(SessionId::new).collect()
}

fn lines(log: &[u8]) -> u64 {
    log.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The number of the first line that differs, from 1.
fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let mut pairs = one.split(|byte| *byte == b'\n').zip(other.split(|byte| *byte == b'\n'));
    pairs.position(|(one, other)| one != other).map_or(1, |position| position + 1)
}
