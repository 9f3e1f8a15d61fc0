//! One writer per session, across processes. The kernel holds the lock and lets go of it when the process dies; the
//! lock file only says who it is, and stays behind. Looking who holds takes the lock too, shared and for an instant.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rapport_core::SessionId;
use rapport_durable::open_own;

use super::io_error;
use crate::stores::{Holder, StoreError};

/// How often to try again while somebody only looks, or has not said yet who they are.
const ATTEMPTS: usize = 50;
/// How long to wait in between.
const PAUSE: Duration = Duration::from_millis(1);

/// A session held for writing.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes hold, and says in the file who does.
    pub(super) fn take(id: &SessionId, path: &Path, holder: &Holder) -> Result<Self, StoreError> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = open_own(path, options).map_err(io_error("open the lock", path))?;
        for _ in 0..ATTEMPTS {
            if taken(file.try_lock()).map_err(io_error("take the lock", path))? {
                sign(&file, holder).map_err(io_error("write the lock", path))?;
                return Ok(Self { file });
            }
            if let Some(holder) = look(&file).map_err(io_error("look at the lock", path))? {
                return Err(StoreError::Busy { id: id.clone(), holder });
            }
            sleep(PAUSE);
        }
        Err(StoreError::Busy { id: id.clone(), holder: Holder::UNKNOWN })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlocked by name: a child that is just being started has a copy of the handle until it runs.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Who holds the lock now, if anybody does.
pub(super) fn holder(path: &Path) -> Result<Option<Holder>, StoreError> {
    match open_own(path, File::options().read(true)) {
        Ok(file) => look(&file).map_err(io_error("look at the lock", path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("open the lock", path)(error)),
    }
}

/// A holder takes the lock first and signs then, so an unreadable name is asked for again for a while.
fn look(file: &File) -> io::Result<Option<Holder>> {
    for _ in 0..ATTEMPTS {
        if taken(file.try_lock_shared())? {
            file.unlock()?;
            return Ok(None);
        }
        if let Some(holder) = signature(file)? {
            return Ok(Some(holder));
        }
        sleep(PAUSE);
    }
    Ok(Some(Holder::UNKNOWN))
}

fn taken(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn sign(file: &File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(&serde_json::to_vec(holder)?, 0)
}

fn signature(file: &File) -> io::Result<Option<Holder>> {
    let mut text = [0; 4096];
    let length = file.read_at(&mut text, 0)?;
    Ok(serde_json::from_slice(&text[..length]).ok())
}
