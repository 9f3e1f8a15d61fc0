//! The changes of a session in the project itself as a diff: from the state before each stretch of work to the state
//! after it, or from the copies that its batches kept.

use std::io::Write;

use rapport_core::{Session, SessionId, Unrecorded};

use super::batch_diff;
use crate::workers::local::Directory;
use crate::workers::{WorkerError, Workplace as _, check_states};

/// Writes the changes of a session, until its end or until now. Blocks.
pub(super) fn diff(id: &SessionId, session: &Session, out: &mut dyn Write) -> Result<(), String> {
    if batch_diff::is_of_batches(session) {
        return batch_diff::diff(id, session, out);
    }
    match unrecorded(session) {
        Some(why) => Err(why.to_string()),
        None => of_stretches(session, out).map_err(|error| error.to_string()),
    }
}

/// Why the session's changes to the project are unknown, if they are.
pub fn unrecorded(session: &Session) -> Option<Unrecorded> {
    let stretches = session.stretches();
    match stretches.is_empty() {
        true => session.is_record_incomplete().then_some(Unrecorded::OlderVersion),
        false => stretches.iter().all(|stretch| stretch.from.is_none()).then_some(Unrecorded::NoRepository),
    }
}

/// Writes what applying the work of a removed workplace changed in the project; nothing if it was not applied. Blocks.
pub(super) fn applied(session: &Session, out: &mut dyn Write) -> Result<(), String> {
    let project = Directory::of_project(session.created());
    // Undoing it leads from `from`, the state after the work, to `to`.
    let mut undoable = session.undoable_work().into_iter();
    undoable
        .try_for_each(|undo| {
            check_states(&project, &[&undo.to, &undo.from])?;
            project.diff_to(&undo.to, &undo.from, out)
        })
        .map_err(|error: WorkerError| error.to_string())
}

fn of_stretches(session: &Session, out: &mut dyn Write) -> Result<(), WorkerError> {
    let project = Directory::at(session.project());
    session.stretches().iter().try_for_each(|stretch| match (&stretch.from, &stretch.to) {
        (None, _) => Ok(()),
        (Some(from), Some(to)) => {
            check_states(&project, &[from, to])?;
            project.diff_to(from, to, out)
        }
        (Some(from), None) => {
            check_states(&project, &[from])?;
            project.patch(Some(from), out)
        }
    })
}
