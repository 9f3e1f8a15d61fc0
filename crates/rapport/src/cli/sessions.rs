//! What the commands about sessions share: reading one, and acting on it wherever it runs.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use rapport_core::{Act, Entry, Session, SessionId, View};
use rapport_door::Content;

use crate::engine::{Reached, Sessions, socket};
use crate::error::{Code, Failure};
use crate::stores::StoreError;
use crate::stores::blocking::BlockingStore;
use crate::wiring::Place;

/// How long apart it is looked whether a process still is at a session that is followed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A session as it stands in its log.
pub(super) fn view(store: &BlockingStore, id: &SessionId) -> Result<View, Failure> {
    Ok(replay(store, id, &store.read(id, 0)?)?.view(id))
}

pub(super) fn replay(
    store: &BlockingStore,
    id: &SessionId,
    entries: &[Entry],
) -> Result<Session, StoreError> {
    store.replay(id, entries)
}

/// Does something in a session, as the person at this terminal: through the process that runs it, or, if none does, in its
/// log directly. Either way it is durable when this returns. Says whether a process is there to carry on with it.
pub(super) fn act(place: &Place, id: &SessionId, act: &Act) -> Result<Reached, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(place.sessions().act(id, &socket::person_here(), act))?)
}

/// Follows a session until it has this outcome. `None` where no process is at it any more, so that nothing more comes.
pub(super) async fn until<T>(
    sessions: &dyn Sessions,
    id: &SessionId,
    outcome: &impl Fn(&Session) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let entries = sessions.entries(id, 0).await?;
    let mut session = Session::replay(&entries).ok_or_else(|| StoreError::NotFound(id.clone()))?;
    let mut updates = sessions.follow(id, session.seq()).await?;
    loop {
        let is_held = sessions.holder(id).await?.is_some();
        // Read after that, so that all is there that the last holder wrote.
        for entry in sessions.entries(id, session.seq()).await? {
            session.apply_entry(&entry);
        }
        let found = outcome(&session);
        if found.is_some() || !is_held {
            return Ok(found);
        }
        // The end of a process changes no log, so it is looked for now and then.
        if let Ok(None) = tokio::time::timeout(LOOK_AGAIN, updates.next()).await {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// The process that was to see something through is gone.
pub(super) fn gone(id: &SessionId) -> Failure {
    Failure::new(Code::Interrupted, format!("the process that was at {id} is gone"))
        .hint("Nothing is lost. Give the same command again: it goes on from there.")
}

/// What a session changed so far, as a diff to read.
pub(super) async fn diff(sessions: &dyn Sessions, id: &SessionId) -> Result<String, Failure> {
    let diff = sessions.read(id, Content::Diff).await?.try_concat().await?;
    Ok(String::from_utf8_lossy(&diff).into_owned())
}

/// What to do so that a session goes on after an act, if a person has to do anything.
pub(super) fn next_step(reached: Reached, id: &SessionId) -> Option<String> {
    (reached == Reached::Log).then(|| format!("No process runs it now. Go on with: rapport resume {id}"))
}
