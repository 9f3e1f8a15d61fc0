//! Counts the sessions that work in the same directory as another.

use rapport_core::{Aim, SessionId, Status, View};

use crate::{DoorError, Holder, Sessions};

/// The number of recent sessions to look at: with thousands of them, looking at all takes too long.
const LOOKED_AT: usize = 100;

/// How many other sessions with a running process work in the same directory as this one.
pub(crate) async fn count<S: Sessions + ?Sized>(sessions: &S, id: &SessionId) -> Result<usize, DoorError> {
    let this = sessions.view(id).await?;
    if this.workplace.is_some() {
        return Ok(0);
    }
    let mut beside = 0;
    for other in sessions.list().await?.iter().rev().take(LOOKED_AT).filter(|other| *other != id) {
        if !matches!(sessions.holder(other).await, Ok(Some(Holder { address: Some(_), .. }))) {
            continue;
        }
        // A session that cannot be read is skipped, so that it does not hide the others.
        let is_there = |view: &View| view.project == this.project && view.workplace.is_none();
        let view = sessions.view(other).await;
        beside += usize::from(view.is_ok_and(|view| is_there(&view) && is_at_work(&view)));
    }
    Ok(beside)
}

/// Whether a running session changes files, or will once it is answered. A plan that waits for review changes
/// nothing.
fn is_at_work(view: &View) -> bool {
    match view.status {
        Status::Started | Status::Running => true,
        Status::NeedsInput => view.aim != Aim::Files,
        Status::Idle | Status::Completed | Status::Failed | Status::Cancelled => false,
    }
}
