//! Sealed notes about documents that Rapport writes into a turn's folder before a fact records them: the agent's
//! context, or a plan that is run alone. The note holds their digests and is durable first. After a kill in between,
//! the documents are thus still known as Rapport's own, and not taken for documents that came from elsewhere, such as
//! with a pull.

use rapport_durable::digest;

use super::{Folder, TurnError};
use crate::stores::StoreError;

/// Notes the digest of a document before it is written. The note is durable when this returns.
pub(super) async fn note(folder: &Folder, turn: &str, content: &[u8]) -> Result<(), TurnError> {
    let mut note = noted(folder, turn).await?.unwrap_or_default();
    note.push_str(&digest(content));
    note.push('\n');
    folder.write(&name(turn), note.into_bytes()).await
}

/// The digests of the documents that Rapport wrote into a turn's folder; empty without a trusted note.
pub(super) async fn of(folder: &Folder, turn: &str) -> Result<Vec<String>, TurnError> {
    let note = noted(folder, turn).await?.unwrap_or_default();
    Ok(note.lines().map(str::to_owned).collect())
}

fn name(turn: &str) -> String {
    format!("turn-{turn}")
}

/// Ignores a note that this person's Rapport did not sign, and one without a log.
async fn noted(folder: &Folder, turn: &str) -> Result<Option<String>, TurnError> {
    match folder.read(&name(turn)).await {
        Err(TurnError::Store(StoreError::NotOurs { .. } | StoreError::NotFound(_))) => Ok(None),
        read => Ok(read?.and_then(|note| String::from_utf8(note).ok())),
    }
}
