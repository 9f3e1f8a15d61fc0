//! Records how sessions end, as soon as they do. Ends that a kill prevented from being recorded are recorded when the
//! project is next loaded.

use std::collections::HashMap;
use std::sync::Arc;

use rapport_core::{Entry, PastOutcome, Session, SessionId};
use rapport_door::{ProjectError, Seen, Sessions, Update, variant};
use tokio::sync::mpsc;
use tracing::warn;

use super::known_projects::KnownProjects;

/// Records each end of a session that this process runs, until the watch ends. Other processes do the same for their
/// own sessions.
pub async fn record(
    known: KnownProjects,
    sessions: Arc<dyn Sessions>,
    mut seen: mpsc::UnboundedReceiver<Seen>,
) {
    // Sessions that have not ended, as far as their facts were seen.
    let mut open: HashMap<SessionId, Session> = HashMap::new();
    while let Some(seen) = seen.recv().await {
        let entries = seen.updates.into_iter().filter_map(|update| match update {
            Update::Entry(entry) => Some(entry),
            Update::Progress(_) | Update::Action(_) | Update::Lost(_) => None,
        });
        let entries: Vec<Entry> = entries.collect();
        if entries.is_empty() {
            continue;
        }
        let id = seen.session;
        let session = match open.remove(&id) {
            Some(mut session) => {
                let new = entries.iter().filter(|entry| entry.seq > session.seq()).collect::<Vec<_>>();
                new.into_iter().for_each(|entry| session.apply_entry(entry));
                Some(session)
            }
            // The log is read, because the watch may have begun after the session.
            None => sessions.entries(&id, 0).await.ok().and_then(|entries| Session::replay(&entries)),
        };
        let Some(session) = session else { continue };
        if PastOutcome::of(session.status()).is_none() {
            open.insert(id, session);
            continue;
        }
        if let Err(error) = known.record_session(&*sessions, &id).await {
            warn!(session = %id, why = kind(&error), "its end was not written down");
        }
    }
}

/// The kind of an error, for logging: its message may quote text of others.
fn kind(error: &ProjectError) -> String {
    variant(error)
}
