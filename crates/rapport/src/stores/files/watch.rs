//! Tells which sessions change, whoever writes them.

use std::path::Path;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rapport_core::SessionId;
use tokio::sync::mpsc;

use super::{Files, LOG, dirs, io_error};
use crate::stores::StoreError;

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    _watcher: RecommendedWatcher,
}

impl Files {
    /// Tells of every session whose log changes from now on. It may tell too often, and of none that was changed twice
    /// at once more than once.
    pub fn watch(&self) -> Result<(Watch, mpsc::UnboundedReceiver<SessionId>), StoreError> {
        dirs::make_all(&self.root)?;
        let (tell, changed) = mpsc::unbounded_channel();
        let root = self.root.clone();
        let failed = |error: notify::Error| io_error("watch", &self.root)(std::io::Error::other(error));
        let seen = move |event: Result<Event, notify::Error>| {
            // One that was missed is seen with the next change.
            let Ok(event) = event else { return };
            if event.kind.is_access() {
                return;
            }
            for id in event.paths.iter().filter_map(|path| session(&root, path)) {
                let _ = tell.send(id);
            }
        };
        let mut watcher = notify::recommended_watcher(seen).map_err(failed)?;
        watcher.watch(&self.root, RecursiveMode::Recursive).map_err(failed)?;
        Ok((Watch { _watcher: watcher }, changed))
    }
}

/// The session whose log, or whose whole directory, this is.
fn session(root: &Path, path: &Path) -> Option<SessionId> {
    let mut parts = path.strip_prefix(root).ok()?.iter();
    let name = parts.next()?.to_str()?;
    let within = parts.next();
    let is_log = within.is_none_or(|file| file == LOG);
    is_log.then(|| SessionId::new(name))
}
