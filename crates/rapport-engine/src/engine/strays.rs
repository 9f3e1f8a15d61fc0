//! Cleans up workplaces that workers keep outside of the project and that are no longer needed (WORK-18). Those of
//! sessions whose work was applied or discarded are cleared. Those that a killed host left running are stopped. Those
//! that were not used for long are released, because their worker can make them again from what is stored. Before a
//! workplace is stopped or released, its work is stored: with its session or, if that does not exist, as a patch in
//! Rapport's home. The workplace of a session that another process holds is not touched.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use rapport_core::{By, Created, SessionId, WorkplaceState};
use rapport_durable::{self as durable, FolderLock};
use thiserror::Error;
use tokio::task::{JoinError, spawn_blocking};
use tracing::{info, warn};

use super::conversation_store::WORK;
use crate::clock::{Clock, new_conversation};
use crate::stores::{Attacher, Holder, Store, StoreError};
use crate::workers::{StoredWorkplace, Worker, WorkerError, file_error};

/// The time after which an unused workplace is released.
const UNUSED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often to clean up.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// Why workplaces could not be listed or cleaned up.
#[derive(Debug, Error)]
pub enum StraysError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the attempt was interrupted: {0}")]
    Lost(#[from] JoinError),
}

/// What happens to a workplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Stopped,
    Released,
    Cleared,
}

/// Cleans up the workplaces of a project's sessions.
#[derive(Clone)]
pub struct Sweeper {
    pub worker: Arc<dyn Worker>,
    /// The store of the sessions with such workplaces.
    pub store: Arc<dyn Store>,
    pub project: PathBuf,
    /// Rapport's home, for the work of sessions that do not exist.
    pub home: PathBuf,
    pub holder: Holder,
    pub clock: Clock,
}

impl Sweeper {
    /// Cleans up at intervals. Failures are only logged, because nothing depends on it.
    pub async fn always(self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            self.sweep().await;
        }
    }

    /// Cleans up every workplace once, unless another process is doing that.
    pub async fn sweep(&self) {
        let (worker, project) = (self.worker.clone(), self.project.clone());
        let found = spawn_blocking(move || {
            let alone = if worker.may_keep(&project) { sweep_alone(&project) } else { None };
            match alone {
                Some(alone) => worker.kept(&project).map(|found| (found, Some(alone))),
                None => Ok((Vec::new(), None)),
            }
        });
        // If the container engine cannot be reached, there is nothing to clean up.
        let Ok(Ok((found, _alone))) = found.await else { return };
        for stored in found {
            let name = stored.name.clone();
            if let Err(error) = self.look_after(stored).await {
                warn!(%error, place = name, "a place was not looked after");
            }
        }
    }

    async fn look_after(&self, stored: StoredWorkplace) -> Result<(), StraysError> {
        let is_unused =
            stored.unused_since.is_some_and(|since| self.clock.now().duration_since(since) > UNUSED);
        if !self.store.list().await?.contains(&stored.session) {
            // The session's log is missing, perhaps by mistake, so a person has to decide about the work.
            let fate = if stored.is_running && !stored.is_visited { Fate::Stopped } else { Fate::Kept };
            return self.carry_out(stored, None, fate).await;
        }
        // Skips a workplace in use, and a session that is not trusted.
        let (entries, log) = match self.store.hold(&stored.session, &self.holder).await {
            Err(StoreError::Busy { .. } | StoreError::NotOurs { .. }) => return Ok(()),
            held => held?,
        };
        let session = self.store.replay(&stored.session, &entries)?;
        let is_running = stored.is_running && self.still_runs(&stored, session.created()).await?;
        let stored = StoredWorkplace { is_running, ..stored };
        let state = session.view(&stored.session).workplace.map(|workplace| workplace.state);
        let fate = match state {
            _ if stored.is_visited => Fate::Kept,
            Some(WorkplaceState::Applied | WorkplaceState::Discarded) => Fate::Cleared,
            _ if stored.is_running => Fate::Stopped,
            _ if is_unused => Fate::Released,
            _ => Fate::Kept,
        };
        let done = self.carry_out(stored, Some((session.created().clone(), log.attacher())), fate).await;
        // The lock on the session excluded other users of the workplace until here.
        drop(log);
        done
    }

    /// Whether a workplace that ran when workplaces were listed still runs. Another process may have stopped it since;
    /// reading its work would start it again.
    async fn still_runs(&self, stored: &StoredWorkplace, created: &Created) -> Result<bool, StraysError> {
        let (worker, session, created) = (self.worker.clone(), stored.session.clone(), created.clone());
        let now = spawn_blocking(move || worker.now(&session, &created)).await??;
        Ok(now.is_some_and(|now| now.is_running))
    }

    /// Carries out the decision. The caller holds the session, if it exists.
    async fn carry_out(
        &self,
        stored: StoredWorkplace,
        session: Option<(Created, Arc<dyn Attacher>)>,
        fate: Fate,
    ) -> Result<(), StraysError> {
        if fate == Fate::Kept {
            return Ok(());
        }
        info!(place = stored.name, ?fate, "a place is not needed");
        if let Fate::Stopped | Fate::Released = fate {
            let created =
                session.as_ref().map_or_else(|| self.without_log(&stored), |(created, _)| created.clone());
            let work = work(self.worker.clone(), stored.session.clone(), created).await?;
            match (&session, work) {
                (Some((_, attacher)), Some(work)) => attacher.attach(WORK, work).await?,
                (None, Some(work)) if !work.is_empty() => self.store_patch(&stored, work).await?,
                (_, Some(_) | None) => {}
            }
        }
        let (worker, created) = (self.worker.clone(), session.map(|(created, _)| created));
        let done = spawn_blocking(move || match (fate, created) {
            (Fate::Cleared, Some(created)) => worker.clear(&stored.session, &created),
            (Fate::Stopped, _) => worker.stop(&stored),
            (Fate::Released, Some(_)) => worker.release(&stored),
            (Fate::Kept | Fate::Released | Fate::Cleared, _) => Ok(()),
        });
        Ok(done.await??)
    }

    /// What is needed of the first fact of a session to find its workplace, if the session's log is missing.
    fn without_log(&self, stored: &StoredWorkplace) -> Created {
        let by = By::written_rule("what is left running is stopped");
        let project = self.project.to_string_lossy().into_owned();
        Created {
            worker: stored.worker.into(),
            ..Created::new(String::new(), project, new_conversation(), by)
        }
    }

    async fn store_patch(&self, stored: &StoredWorkplace, work: Vec<u8>) -> Result<(), StraysError> {
        let path = stray_patch(&self.home, stored);
        let write = move || {
            let folder = path.parent().unwrap_or(&path);
            let written =
                durable::private_folder(folder).and_then(|()| durable::replace_private(&path, &work));
            written.map_err(file_error("write", &path))
        };
        Ok(spawn_blocking(write).await??)
    }
}

/// The file with the work of a workplace whose session does not exist. It is written before the workplace is stopped.
pub fn stray_patch(home: &Path, stored: &StoredWorkplace) -> PathBuf {
    // The name comes from the container engine.
    let name: String = stored.name.chars().map(|c| if c == '/' { '_' } else { c }).collect();
    home.join("strays").join(format!("{name}.patch"))
}

/// Locks the workplaces of a project against other sweepers; `None` if another process has the lock.
fn sweep_alone(project: &Path) -> Option<FolderLock> {
    FolderLock::take(project).ok().flatten()
}

/// The work in a workplace, if there is one with work.
async fn work(
    worker: Arc<dyn Worker>,
    session: SessionId,
    created: Created,
) -> Result<Option<Vec<u8>>, StraysError> {
    let read = move || match worker.find(&session, &created) {
        Ok(Some(workplace)) => {
            let work = workplace.work();
            // If reading the work started the workplace, it has to end before the session is free: later its next
            // host may be using it.
            workplace.close()?;
            work
        }
        Ok(None) | Err(WorkerError::WorkplaceGone { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    Ok(spawn_blocking(read).await??)
}

/// Workplaces that no process looks after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Their sessions do not exist.
    pub without_session: Vec<StoredWorkplace>,
    /// They run, although no process runs their sessions, and nobody is in them.
    pub without_host: Vec<StoredWorkplace>,
}

/// The workplaces of a project that no process looks after.
pub async fn strays(
    worker: Arc<dyn Worker>,
    store: &dyn Store,
    project: &Path,
) -> Result<Strays, StraysError> {
    let of = project.to_owned();
    let found = spawn_blocking(move || worker.kept(&of)).await??;
    let known = store.list().await?;
    let mut strays = Strays::default();
    for stored in found {
        if !known.contains(&stored.session) {
            strays.without_session.push(stored);
        } else if stored.is_running && !stored.is_visited && store.holder(&stored.session).await?.is_none() {
            strays.without_host.push(stored);
        }
    }
    Ok(strays)
}
