//! The lock of a session: one writer across processes. It names its holder.

use std::path::Path;

use rapport_core::SessionId;
use rapport_durable::{Lock, Taken};

use super::disk::io_error;
use crate::stores::{Holder, StoreError};

/// Takes the lock of a session, and writes the holder to it.
pub(super) fn take(id: &SessionId, path: &Path, holder: &Holder) -> Result<Lock, StoreError> {
    let who = serde_json::to_vec(holder).map_err(|error| io_error("write the lock", path)(error.into()))?;
    match Lock::take(path, &who).map_err(io_error("open the lock", path))? {
        Taken::Ours(lock) => Ok(lock),
        Taken::Theirs(who) => Err(StoreError::Busy { id: id.clone(), holder: parse(&who) }),
    }
}

/// The holder of a session's lock, if it is held.
pub(super) fn holder(path: &Path) -> Result<Option<Holder>, StoreError> {
    let who = Lock::holder(path).map_err(io_error("look at the lock", path))?;
    Ok(who.map(|who| parse(&who)))
}

fn parse(who: &[u8]) -> Holder {
    serde_json::from_slice(who).unwrap_or(Holder::UNKNOWN)
}
