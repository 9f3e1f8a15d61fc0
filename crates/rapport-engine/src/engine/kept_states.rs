//! Keeps the states of the project's files that undoing and showing the work need, as attachments of the session. They
//! are not referred to in the repository, where refs of many sessions would pile up, be pushed, and outlive their
//! sessions.
//!
//! An attachment is stored before the fact that names its states. That of a stretch of work is named after the state
//! before it, and each later state of the stretch replaces it. Until there is one, another has the state before the work.

use std::sync::Arc;

use rapport_core::{Created, Merged, Session, SessionId, Stretch, World};
use tracing::warn;

use super::effects::unblocked;
use crate::stores::{Attacher, Store};
use crate::workers::local::Directory;
use crate::workers::{WorkerError, check_states, pack_before, pack_between, unpack};

/// The name of the attachment with the state before the last work. There is only one, because most turns of a long
/// conversation change nothing.
const BEFORE: &str = "states-before";

/// The states of one session.
pub(super) struct KeptStates {
    pub(super) store: Arc<dyn Store>,
    pub(super) session: SessionId,
    pub(super) project: Directory,
}

impl KeptStates {
    /// Keeps the state that an effect recorded during the work of a session in the project itself.
    pub(super) async fn keep_recorded(
        &self,
        attacher: &dyn Attacher,
        created: &Created,
        stretch: Option<&Stretch>,
        recorded: &World,
    ) {
        if created.works_apart() {
            return;
        }
        let state = match recorded {
            World::Baseline { baseline, .. } => {
                // The last stretch may continue, and its states are kept.
                let is_kept = stretch.is_some_and(|last| last.to == *baseline);
                if let Some(state) = baseline.clone().filter(|_| !is_kept) {
                    self.keep_before(attacher, state).await;
                }
                return;
            }
            World::Snapshot { state, .. } | World::WorkLeft { state } => state.as_ref(),
            World::Report { changes } => changes.as_ref().and_then(|changes| changes.result.as_ref()),
            _ => None,
        };
        if let (Some(from), Some(to)) = (stretch.and_then(|last| last.from.as_ref()), state) {
            self.keep(attacher, from, to).await;
        }
    }

    async fn keep_before(&self, attacher: &dyn Attacher, state: String) {
        let project = self.project.clone();
        let pack = unblocked(move || pack_before(&project, &state).map_err(|error| error.to_string())).await;
        attach(attacher, BEFORE, pack).await;
    }

    /// Keeps what differs between two states.
    pub(super) async fn keep(&self, attacher: &dyn Attacher, from: &str, to: &str) {
        if from == to {
            return;
        }
        self.restore(&[(from, to)]).await;
        let (project, from, to, name) = (self.project.clone(), from.to_owned(), to.to_owned(), name(from));
        let pack =
            unblocked(move || pack_between(&project, &from, &to).map_err(|error| error.to_string())).await;
        attach(attacher, &name, pack).await;
    }

    /// Gives the repository what it lacks of these states, as far as that was kept. Whoever needs more of them reports
    /// that.
    pub(super) async fn restore(&self, states: &[(&str, &str)]) {
        for (from, to) in states {
            let (project, both) = (self.project.clone(), [(*from).to_owned(), (*to).to_owned()]);
            let checked = unblocked(move || {
                let checked = check_states(&project, &[&both[0], &both[1]]);
                Ok(matches!(checked, Err(WorkerError::StateGone { .. })))
            });
            if !checked.await.unwrap_or(false) {
                continue;
            }
            for name in [name(from), name(to), BEFORE.to_owned()] {
                if let Ok(Some(pack)) = self.store.attached(&self.session, &name).await {
                    let project = self.project.clone();
                    let unpacked =
                        unblocked(move || unpack(&project, &pack).map_err(|error| error.to_string()));
                    if let Err(error) = unpacked.await {
                        warn!(%error, "a kept state was not restored");
                    }
                }
            }
        }
    }
}

/// Without it, the state can be used until git removes it.
async fn attach(attacher: &dyn Attacher, name: &str, pack: Result<Option<Vec<u8>>, String>) {
    let attached = match pack {
        Ok(None) => return,
        Ok(Some(pack)) => attacher.attach(name, pack).await.map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    if let Err(error) = attached {
        warn!(%error, "a state of the files was not kept");
    }
}

/// The name of the attachment for the states of a stretch, which begins with this one.
fn name(from: &str) -> String {
    format!("states-{from}")
}

/// Gives the repository of a session's project what it lacks of the states of the session's work, as far as that was
/// kept.
pub async fn restore_states(store: &Arc<dyn Store>, id: &SessionId, session: &Session) {
    let project = Directory::of_project(session.created());
    let kept = KeptStates { store: store.clone(), session: id.clone(), project };
    let undoable = session.undoable_work();
    let stretches = session.stretches();
    // The first of two stretches may be unchanged, and the last has no end while it is in progress.
    let begun = stretches.iter().filter_map(|stretch| stretch.from.as_deref());
    let begun = begun.filter(|_| !session.created().works_apart()).map(|from| (from, from));
    let states: Vec<_> = undoable.iter().map(of_undo).chain(begun).collect();
    kept.restore(&states).await;
}

/// The states before and after the work.
pub(super) fn of_undo(undo: &Merged) -> (&str, &str) {
    (&undo.to, &undo.from)
}
