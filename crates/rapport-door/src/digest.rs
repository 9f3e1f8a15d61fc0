//! The digest of all sessions behind a door.

use jiff::Timestamp;
use rapport_core::Digest;

use crate::{DoorError, Sessions};

/// What leads did since this time in all sessions behind the door. A log that is not trusted, or cannot be read, is
/// left out.
pub async fn digest(sessions: &dyn Sessions, since: Timestamp) -> Result<Digest, DoorError> {
    let mut digest = Digest::new(since);
    for id in sessions.list().await? {
        if let Ok(entries) = sessions.entries(&id, 0).await {
            digest.add(&id, &entries);
        }
    }
    Ok(digest)
}
