//! Sessions that `rapport serve` runs for a person who does not wait for them (`--detach`). They are stored without a
//! process; `serve` resumes them, also after it was restarted or killed. The home has a note of each until it is over,
//! so that `serve` need not read all sessions to find them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rapport_core::{Created, Event, Origin, Session, SessionId};
use rapport_door::{DoorError, Sessions, StoreError, Update};
use rapport_durable::{digest, private_folder, remove, replace_private};
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use crate::cli::runtime;
use crate::clock::Clock;
use crate::error::{Code, Failure, Outcome};
use crate::threads::off_thread;
use crate::wiring::{Workspace, refuse_agents};

/// The name of `serve` as the place where a session was begun.
const SERVE: &str = "serve";
/// The pauses before a session is tried again that another process holds: the one that began it is about to release it.
/// In a store on servers, the hold of a killed process on another machine, or a server that recovers, takes longer.
const PAUSES: [u64; 10] = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];

/// Stores a new session, for `serve` to run.
pub(super) fn begin(common: &Common, place: &Workspace, created: Created) -> Outcome {
    refuse_agents()?;
    let origin = Some(Origin { channel: SERVE.into(), key: "detached".into() });
    let facts = Session::begin(Created { origin, ..created })?;
    let sessions = place.sessions();
    let id = runtime::small()?.block_on(sessions.import(facts, Clock::system().now()))?;
    let notes = notes_of(place);
    let noted = private_folder(&notes).and_then(|()| replace_private(&notes.join(id.as_str()), b""));
    noted.map_err(|error| {
        let why = format!("{id} is stored, but cannot be noted in {}: {error}", notes.display());
        Failure::new(Code::Store, why).hint(format!("Run it here with: rapport resume {id}"))
    })?;
    if common.json {
        return say_json(&json!({ "session": id, "detached": true }));
    }
    say(format_args!(
        "Begun as {id}. A `rapport serve` of this project runs it, now or when it is started."
    ))?;
    say(format_args!("See what becomes of it with: rapport status {id}"))
}

/// The folder with a note, an empty file, for each detached session of a project.
pub(super) fn notes_of(place: &Workspace) -> PathBuf {
    let project = digest(place.project.as_os_str().as_encoded_bytes());
    place.home.join("detached").join(project)
}

/// Resumes the detached sessions of a project, those that are noted and those that begin later, for as long as it is
/// polled.
pub(super) async fn resume_all(sessions: Arc<dyn Sessions>, notes: PathBuf) {
    let Ok(mut seen) = sessions.watch().await else { return };
    let folder = notes.clone();
    let noted = off_thread(move || noted(&folder)).await.flatten().unwrap_or_default();
    // Side by side: one that is held for a while does not keep the others waiting.
    let mut resuming: FuturesUnordered<_> =
        noted.into_iter().map(|id| resume(&*sessions, id, &notes)).collect();
    loop {
        tokio::select! {
            Some(()) = resuming.next() => {}
            seen = seen.next() => {
                let Some(seen) = seen else { return };
                let is_begun = |update: &Update| match update {
                    Update::Entry(entry) => entry.facts.iter().any(is_detached),
                    Update::Progress(_) | Update::Action(_) | Update::Lost(_) => false,
                };
                if seen.updates.iter().any(is_begun) {
                    resuming.push(resume(&*sessions, seen.session, &notes));
                }
            }
        }
    }
}

fn noted(notes: &Path) -> io::Result<Vec<SessionId>> {
    let names = std::fs::read_dir(notes)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    Ok(names.iter().filter_map(|name| name.to_str().map(SessionId::new)).collect())
}

fn is_detached(fact: &Event) -> bool {
    let Event::Created(created) = fact else { return false };
    created.origin.as_ref().is_some_and(|origin| origin.channel == SERVE)
}

/// Resumes a session that is detached and goes on, if no process runs it. A log that is damaged or not trusted starts
/// no agent, and a failed session waits until a person tries it again.
async fn resume(sessions: &dyn Sessions, id: SessionId, notes: &Path) {
    let id = &id;
    for pause in PAUSES {
        let view = match sessions.view(id).await {
            Ok(view) => view,
            Err(error) => {
                tracing::info!(session = %id, why = rapport_door::variant(&error), "not read");
                tokio::time::sleep(Duration::from_millis(pause)).await;
                continue;
            }
        };
        let is_detached = view.origin.as_ref().is_some_and(|origin| origin.channel == SERVE);
        if !is_detached || super::screen::is_over(&view) {
            let note = notes.join(id.as_str());
            // It is tried again at the next start.
            let _ = off_thread(move || remove(&note)).await;
            return;
        }
        // A process without an address only writes something; resuming waits for it.
        let is_run = matches!(sessions.holder(id).await, Ok(Some(holder)) if holder.address.is_some());
        if !is_run {
            match sessions.resume(id).await {
                Ok(()) => {
                    tracing::info!(session = %id, "resumed");
                    return;
                }
                // The `serve` of that machine resumes it.
                Err(DoorError::Store(StoreError::Elsewhere { .. })) => return,
                Err(error) => {
                    tracing::info!(session = %id, why = rapport_door::variant(&error), "not resumed");
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}
