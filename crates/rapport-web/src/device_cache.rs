//! The devices, cached. The cache reads the file again whenever its stamp changed, so that a device that another
//! process revokes is refused from the next request on.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use crate::devices::{DeviceError, DeviceList, Devices};

/// The inode, times and size of the file. Every change replaces the file, so they change with it.
type Stamp = (u64, i64, i64, u64);

/// The stamp of the file, and its content.
type Known = (Stamp, Arc<DeviceList>);

/// The devices, as of the last read of their file. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct DeviceCache {
    pub(crate) devices: Devices,
    known: Arc<Mutex<Option<Known>>>,
}

impl DeviceCache {
    pub(crate) fn new(devices: Devices) -> Self {
        Self { devices, known: Arc::default() }
    }

    /// The devices now.
    pub(crate) async fn current(&self) -> Result<Arc<DeviceList>, DeviceError> {
        let own = self.clone();
        self.blocking(move || own.read()).await
    }

    /// Runs a blocking function on a thread for such functions.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, DeviceError> + Send + 'static,
    ) -> Result<T, DeviceError> {
        let path = self.devices.path().display().to_string();
        let broken = |error: tokio::task::JoinError| DeviceError::Io { path, source: error.into() };
        spawn_blocking(work).await.unwrap_or_else(|error| Err(broken(error)))
    }

    fn read(&self) -> Result<Arc<DeviceList>, DeviceError> {
        let stamp = std::fs::metadata(self.devices.path())
            .ok()
            .map(|file| (file.ino(), file.mtime(), file.mtime_nsec(), file.len()));
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Some(stamp), Some((of, list))) = (stamp, known)
            && of == stamp
        {
            return Ok(list);
        }
        let list = Arc::new(self.devices.load()?);
        let known = stamp.map(|stamp| (stamp, list.clone()));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::authority::Role;

    use super::*;

    #[tokio::test]
    async fn what_another_process_changes_counts_at_once() {
        let home = tempfile::tempdir().unwrap();
        let cache = DeviceCache::new(Devices::of(home.path()));
        assert_eq!(cache.current().await.unwrap().devices.len(), 0);
        let (other, now) = (Devices::of(home.path()), jiff::Timestamp::UNIX_EPOCH);
        let token = other.pair(&other.invite(Role::Look, now).unwrap(), "phone", now).unwrap();
        assert!(cache.current().await.unwrap().find(&token).is_some());
        other.revoke("phone").unwrap();
        assert!(cache.current().await.unwrap().find(&token).is_none());
    }
}
