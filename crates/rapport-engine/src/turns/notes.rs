//! What Rapport writes into a turn's directory before the facts tell of it: what the agent is to be shown, or a plan that is run
//! alone. Before it does, it notes the digests beside the log, under its seal. So after a kill in between, what is in the
//! directory is still known as its own, and told from what came from elsewhere, with a pull for example.

use rapport_core::SessionId;
use rapport_durable::{hex, sha256_of};

use crate::stores::blocking::BlockingStore;
use crate::stores::{Store, StoreError};

/// Notes what is about to be written into the directory of a turn, in pieces. Durable when this returns.
pub async fn note(store: &dyn Store, id: &SessionId, turn: &str, pieces: &[&[u8]]) -> Result<(), StoreError> {
    let name = name(turn);
    let mut note = noted(store.attached(id, &name).await)?.unwrap_or_default();
    note.push_str(&hex::encode(&sha256_of(pieces)));
    note.push('\n');
    store.attach(id, &name, note.into_bytes()).await
}

/// The digests of what Rapport wrote into the directory of a turn. None where there is no note that counts.
pub(super) fn of(store: &BlockingStore, id: &SessionId, turn: &str) -> Result<Vec<String>, StoreError> {
    let note = noted(store.attached(id, &name(turn)))?.unwrap_or_default();
    Ok(note.lines().map(str::to_owned).collect())
}

fn name(turn: &str) -> String {
    format!("turn-{turn}")
}

/// A note of somebody else says nothing, and neither does one beside no log.
fn noted(read: Result<Option<Vec<u8>>, StoreError>) -> Result<Option<String>, StoreError> {
    match read {
        Err(StoreError::NotOurs { .. } | StoreError::NotFound(_)) => Ok(None),
        read => Ok(read?.and_then(|note| String::from_utf8(note).ok())),
    }
}
