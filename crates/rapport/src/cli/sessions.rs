//! What the commands about sessions share: reading one, and acting on it wherever it runs.

use futures_util::TryStreamExt as _;
use rapport_core::{Act, Entry, Session, SessionId, View};
use rapport_door::Content;

use crate::engine::{Reached, Sessions, socket};
use crate::error::Failure;
use crate::stores::StoreError;
use crate::stores::blocking::BlockingStore;
use crate::wiring::Place;

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

/// What a session changed so far, as a diff to read.
pub(super) async fn diff(sessions: &dyn Sessions, id: &SessionId) -> Result<String, Failure> {
    let diff = sessions.read(id, Content::Diff).await?.try_concat().await?;
    Ok(String::from_utf8_lossy(&diff).into_owned())
}

/// What to do so that a session goes on after an act, if a person has to do anything.
pub(super) fn next_step(reached: Reached, id: &SessionId) -> Option<String> {
    (reached == Reached::Log).then(|| format!("No process runs it now. Go on with: rapport resume {id}"))
}
