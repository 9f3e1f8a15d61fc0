//! Sealed notes about documents that Rapport writes into a turn's directory before a fact records them: the agent's context,
//! or a plan that is run alone. The note holds their digests and is durable first. After a kill in between, the documents
//! are thus still known as Rapport's own, and not taken for documents that came from elsewhere, such as with a pull.

use rapport_core::SessionId;
use rapport_durable::{hex, sha256_of};

use crate::stores::blocking::BlockingStore;
use crate::stores::{Store, StoreError};

/// Notes the digest of a document, given in pieces, before it is written. The note is durable when this returns.
pub async fn note(store: &dyn Store, id: &SessionId, turn: &str, pieces: &[&[u8]]) -> Result<(), StoreError> {
    let name = name(turn);
    let mut note = noted(store.attached(id, &name).await)?.unwrap_or_default();
    note.push_str(&hex::encode(&sha256_of(pieces)));
    note.push('\n');
    store.attach(id, &name, note.into_bytes()).await
}

/// The digests of the documents that Rapport wrote into a turn's directory; empty without a trusted note.
pub(super) fn of(store: &BlockingStore, id: &SessionId, turn: &str) -> Result<Vec<String>, StoreError> {
    let note = noted(store.attached(id, &name(turn)))?.unwrap_or_default();
    Ok(note.lines().map(str::to_owned).collect())
}

fn name(turn: &str) -> String {
    format!("turn-{turn}")
}

/// Ignores a note that this person's Rapport did not sign, and one without a log.
fn noted(read: Result<Option<Vec<u8>>, StoreError>) -> Result<Option<String>, StoreError> {
    match read {
        Err(StoreError::NotOurs { .. } | StoreError::NotFound(_)) => Ok(None),
        read => Ok(read?.and_then(|note| String::from_utf8(note).ok())),
    }
}
