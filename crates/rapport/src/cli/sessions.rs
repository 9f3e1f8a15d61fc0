//! Common parts of the commands about sessions: reading one, and acting on it wherever it runs.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use rapport_core::{Act, Entry, Session, SessionId, View};
use rapport_door::Content;

use super::session_choice::Known;
use crate::cli::runtime;
use crate::engine::{self, DoorError, Reached, Sessions, socket};
use crate::error::{Code, Failure};
use crate::stores::StoreError;
use crate::stores::blocking::BlockingStore;
use crate::wiring::{SessionKind, Workspace};

/// The interval at which a followed session's process is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A session's state, from its log.
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

/// Gives the repository what git removed of the states of this session's work, as far as the session has it.
pub(super) fn restore_states(place: &Workspace, known: &Known) -> Result<(), Failure> {
    let store = place.store_in(&SessionKind::Sessions);
    runtime::small()?.block_on(engine::restore_states(&store, &known.id, &known.session));
    Ok(())
}

/// Submits an act as the person at this terminal: to the process that runs the session, or, if none does, directly to
/// its log. It is durable when this returns. Returns whether a process continues with it.
pub(super) fn act(place: &Workspace, id: &SessionId, act: &Act) -> Result<Reached, Failure> {
    Ok(submit(place, id, act)?)
}

/// The same, with the reason as the door gives it.
pub(super) fn submit(place: &Workspace, id: &SessionId, act: &Act) -> Result<Reached, DoorError> {
    let runtime = runtime::small();
    let runtime = runtime.map_err(|error| DoorError::Failed(error.to_string()))?;
    runtime.block_on(place.sessions().act(id, &socket::person_here(), act))
}

/// Follows a session until it has this outcome. `None` if no process runs it, so that nothing more happens.
pub(super) async fn until<T>(
    sessions: &dyn Sessions,
    id: &SessionId,
    outcome: &impl Fn(&Session) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let entries = sessions.entries(id, 0).await?;
    let mut session = Session::replay(&entries).ok_or_else(|| StoreError::NotFound(id.clone()))?;
    let after = session.seq();
    let look = |entries: &[Entry]| {
        entries.iter().for_each(|entry| session.apply_entry(entry));
        outcome(&session)
    };
    until_seen(sessions, id, after, look).await
}

/// The same for an outcome that is seen in the entries after this one. `look` gets each of them once.
pub(super) async fn until_seen<T>(
    sessions: &dyn Sessions,
    id: &SessionId,
    mut after: u64,
    mut look: impl FnMut(&[Entry]) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let mut updates = sessions.follow(id, after).await?;
    loop {
        let is_held = sessions.holder(id).await?.is_some();
        // Read after that, so that all entries of the last holder are included.
        let entries = sessions.entries(id, after).await?;
        after = entries.last().map_or(after, |entry| entry.seq);
        let found = look(&entries);
        if found.is_some() || !is_held {
            return Ok(found);
        }
        // The end of a process changes no log, so it is checked periodically.
        if let Ok(None) = tokio::time::timeout(LOOK_AGAIN, updates.next()).await {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// The error if the process that should have completed something has ended.
pub(super) fn gone(id: &SessionId) -> Failure {
    Failure::new(Code::Interrupted, format!("the process that ran {id} is gone"))
        .hint("Nothing is lost. Repeat the command: it continues from there.")
}

pub(super) async fn diff(sessions: &dyn Sessions, id: &SessionId) -> Result<String, Failure> {
    let diff = sessions.read(id, Content::Diff).await?.try_concat().await?;
    Ok(String::from_utf8_lossy(&diff).into_owned())
}

/// What a person has to do so that a session continues after an act, if anything.
pub(super) fn next_step(reached: Reached, id: &SessionId) -> Option<String> {
    (reached == Reached::Log).then(|| format!("No process runs it now. Go on with: rapport resume {id}"))
}
