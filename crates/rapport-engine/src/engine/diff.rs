//! The changes of a session as a diff: from its own workplace, or, if it works in the project, from the state before
//! each stretch of work to the state after it, or from the copies that its batches kept.

use rapport_core::{NOT_RECORDED, Session, SessionId, Stretch};

use super::batch_diff;
use crate::workers::local::Directory;
use crate::workers::{Worker, WorkerError, Workplace as _};

/// The changes of a session, until its end or until now; if its workplace is gone, as the store has them. Blocks.
pub(super) fn diff(
    worker: &dyn Worker,
    id: &SessionId,
    session: &Session,
    stored: Option<Vec<u8>>,
) -> Result<String, String> {
    if batch_diff::is_of_batches(session) {
        return batch_diff::diff(id, session);
    }
    if !session.created().works_apart() && is_unrecorded(session) {
        return Err(NOT_RECORDED.into());
    }
    let work = match session.created().works_apart() {
        true => apart(worker, id, session, stored),
        false => in_project(session),
    };
    work.map_err(|error| error.to_string())
}

/// Whether there was work, and the state of the files before it is unknown.
fn is_unrecorded(session: &Session) -> bool {
    let stretches = session.stretches();
    !stretches.is_empty() && stretches.iter().all(|stretch| stretch.from.is_none())
}

fn apart(
    worker: &dyn Worker,
    id: &SessionId,
    session: &Session,
    stored: Option<Vec<u8>>,
) -> Result<String, WorkerError> {
    let found = match (worker.find(id, session.created()), stored) {
        (Err(WorkerError::WorkplaceGone { .. }), Some(stored)) => {
            return Ok(String::from_utf8_lossy(&stored).into_owned());
        }
        (found, _) => found?,
    };
    found.map_or(Ok(String::new()), |workplace| workplace.patch(None))
}

fn in_project(session: &Session) -> Result<String, WorkerError> {
    let project = Directory::at(session.project());
    let patch = |stretch: &Stretch| match (&stretch.from, &stretch.to) {
        (None, _) => Ok(String::new()),
        (Some(from), Some(to)) => project.diff(from, to),
        (Some(from), None) => project.patch(Some(from)),
    };
    session.stretches().iter().map(patch).collect()
}
