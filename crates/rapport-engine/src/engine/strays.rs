//! Containers that nobody needs any more (WORK-18): those of sessions whose work was applied or discarded are removed,
//! those that a killed host left running are ended, and those that were not used for long are removed, because all that
//! is needed to make them again is in the store. The container of a session that somebody holds is never touched.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rapport_core::{SessionId, WorkplaceState};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::conversation_store::WORK;
use crate::stores::{Store, StoreError};
use crate::workers::WorkerError;
use crate::workers::containers::{Containers, FoundContainer};

/// After which time an unused container is removed.
const UNUSED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often to look.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// What becomes of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Ended,
    Removed,
}

/// Looks at the containers of a project's sessions again and again.
pub async fn sweep_always(containers: Containers, store: Arc<dyn Store>, project: PathBuf) {
    loop {
        tokio::time::sleep(PAUSE).await;
        sweep(&containers, &store, &project).await;
    }
}

/// Ends and removes what nobody needs. What goes wrong is logged: nothing depends on it.
pub async fn sweep(containers: &Containers, store: &Arc<dyn Store>, project: &Path) {
    let (asked, of) = (containers.clone(), project.to_owned());
    let Ok(Ok(found)) = spawn_blocking(move || asked.of_project(&of)).await else {
        // Without an engine there is nothing to sweep.
        return;
    };
    for one in found {
        let fate = fate(&**store, &one).await.unwrap_or_else(|error| {
            warn!(%error, container = one.name, "a container could not be judged");
            Fate::Kept
        });
        if fate == Fate::Kept {
            continue;
        }
        info!(container = one.name, ?fate, "a container is not needed");
        let (containers, name) = (containers.clone(), one.name.clone());
        let done = spawn_blocking(move || carry_out(&containers, &one, fate)).await;
        if let Ok(Err(error)) = done {
            warn!(%error, container = name, "a container was not swept");
        }
    }
}

/// The containers of sessions that do not exist.
pub async fn strays(
    containers: &Containers,
    store: &dyn Store,
    project: &Path,
) -> Result<Vec<FoundContainer>, WorkerError> {
    let (asked, of) = (containers.clone(), project.to_owned());
    let found = spawn_blocking(move || asked.of_project(&of)).await;
    let found = found.map_err(|error| WorkerError::Start(std::io::Error::other(error)))??;
    let known = store.list().await.unwrap_or_default();
    Ok(found.into_iter().filter(|one| !known.contains(&one.session)).collect())
}

fn carry_out(containers: &Containers, found: &FoundContainer, fate: Fate) -> Result<(), WorkerError> {
    match fate {
        Fate::Kept => Ok(()),
        Fate::Ended => containers.end_found(found),
        Fate::Removed => containers.remove_found(found),
    }
}

async fn fate(store: &dyn Store, found: &FoundContainer) -> Result<Fate, StoreError> {
    let id: &SessionId = &found.session;
    let unused = if found.is_running { Fate::Ended } else { Fate::Kept };
    if !store.list().await?.contains(id) {
        // Its log is gone, and perhaps by mistake: a person decides about the work.
        return Ok(unused);
    }
    if store.holder(id).await?.is_some() {
        return Ok(Fate::Kept);
    }
    let entries = store.read(id, 0).await?;
    let session = store.replay(id, &entries)?;
    let state = session.view(id).workplace.map(|place| place.state);
    if matches!(state, Some(WorkplaceState::Applied | WorkplaceState::Discarded)) {
        return Ok(Fate::Removed);
    }
    let age = SystemTime::now().duration_since(found.made).unwrap_or_default();
    if age > UNUSED && !found.is_running && store.attached(id, WORK).await?.is_some() {
        return Ok(Fate::Removed);
    }
    Ok(unused)
}
