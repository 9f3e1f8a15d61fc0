//! Sessions that `rapport serve` runs for a person who does not wait for them (`--detach`): work, and leads that plan
//! it. They are stored without a process; `serve` resumes them, also after it was restarted or killed, and so it does
//! with what a detached lead began. The home has a note of each until it is over, so that `serve` need not read all
//! sessions to find them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use rapport_core::{Act, By, Created, Event, Origin, Session, SessionId};
use rapport_door::{DoorError, Seen, Sessions, StoreError, Update};
use rapport_durable::{digest, private_folder, remove, replace_private};
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use super::sessions::act;
use crate::cli::{runtime, screen};
use crate::clock::{self, Clock};
use crate::error::{Code, Failure, Outcome};
use crate::threads::off_thread;
use crate::wiring::{Workspace, refuse_agents};

/// The name of `serve` as the place where a session was begun.
const SERVE: &str = "serve";
/// How the note of a session begins that has no name yet; its conversation follows. No session is named so.
const UNNAMED: &str = "new-";
/// The length of the day at the beginning of a session's id.
const DAY: usize = "20260124".len();
/// The pauses before a session is tried again that another process holds: the one that began it is about to release it.
/// In a store on servers, the hold of a killed process on another machine, or a server that recovers, takes longer.
const PAUSES: [u64; 10] = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];

/// Stores a new session, for `serve` to run.
pub(super) fn begin(common: &Common, place: &Workspace, created: Created) -> Outcome {
    refuse_agents()?;
    let origin = Some(Origin { channel: SERVE.into(), key: "detached".into() });
    let id = store(place, Created { origin, ..created })?;
    if common.json {
        return say_json(&json!({ "session": id, "detached": true }));
    }
    say(format_args!(
        "Begun as {id}. A `rapport serve` of this project runs it, now or when it is started."
    ))?;
    say(format_args!("See what becomes of it with: rapport status {id}"))
}

/// Has `serve` run a lead, with this as its first message.
pub(super) fn begin_lead(common: &Common, place: &Workspace, created: Created) -> Outcome {
    refuse_agents()?;
    let id = store(place, created)?;
    tell_of_lead(common, &id)
}

/// Says something to a lead, and has `serve` run it. The note comes first: after a kill in between, `serve` finds a lead
/// that has nothing to do.
pub(super) fn tell_lead(common: &Common, place: &Workspace, lead: &SessionId, words: String) -> Outcome {
    refuse_agents()?;
    let notes = notes_of(place);
    note(&notes, lead.as_str())?;
    act(place, lead, &Act::Say { text: words, id: Some(format!("task:{}", clock::new_conversation())) })?;
    tell_of_lead(common, lead)
}

fn tell_of_lead(common: &Common, lead: &SessionId) -> Outcome {
    if common.json {
        return say_json(&json!({ "lead": lead, "detached": true }));
    }
    say(format_args!(
        "The lead {lead} plans it. A `rapport serve` of this project runs it, now or when it is started."
    ))?;
    say(format_args!(
        "Its questions come to you wherever you are asked, and with: rapport status {lead}\nTalk to it with: rapport chat"
    ))
}

/// Stores a new session with its note. The session has no name before it is stored; after a kill before its note is
/// written, `serve` looks for it because of the note without a name.
fn store(place: &Workspace, created: Created) -> Result<SessionId, Failure> {
    let (sessions, notes) = (place.sessions(), notes_of(place));
    let unnamed = unnamed_note(&created);
    let facts = Session::begin(created)?;
    let unnamed = note(&notes, &unnamed)?;
    let stored = runtime::small()?.block_on(sessions.import(facts, Clock::system().now()));
    if let Ok(id) = &stored {
        note(&notes, id.as_str())?;
    }
    // `serve` removes what is left of it.
    let _ = remove(&unnamed);
    Ok(stored?)
}

fn unnamed_note(created: &Created) -> String {
    format!("{UNNAMED}{}", created.conversation)
}

/// Writes a note, which is an empty file.
fn note(notes: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = notes.join(name);
    let written = private_folder(notes).and_then(|()| replace_private(&path, b""));
    written.map_err(|error| {
        Failure::new(Code::Store, format!("it cannot be noted in {}: {error}", notes.display()))
            .hint("Without a note, `rapport serve` does not run it: leave out --detach")
    })?;
    Ok(path)
}

/// The folder with a note for each detached session of a project.
pub(super) fn notes_of(place: &Workspace) -> PathBuf {
    let project = digest(place.project.as_os_str().as_encoded_bytes());
    place.home.join("detached").join(project)
}

/// Resumes the detached sessions of a project, those that are noted and those that begin later, for as long as it is
/// polled.
pub(super) async fn resume_all(sessions: Arc<dyn Sessions>, notes: PathBuf) {
    let Ok(mut seen) = sessions.watch().await else { return };
    let due = found(&*sessions, &notes).await;
    // Side by side: one that is held for a while does not keep the others waiting.
    let mut resuming: FuturesUnordered<_> =
        due.into_iter().map(|id| resume(&*sessions, id, &notes)).collect();
    loop {
        tokio::select! {
            Some(()) = resuming.next() => {}
            seen = seen.next() => {
                let Some(seen) = seen else { return };
                if may_be_due(&seen, &notes).await {
                    resuming.push(resume(&*sessions, seen.session, &notes));
                }
            }
        }
    }
}

/// Whether what was seen of a session is a reason to resume it: it is noted, and began, or was sent a message.
async fn may_be_due(seen: &Seen, notes: &Path) -> bool {
    let facts = seen.updates.iter().flat_map(|update| match update {
        Update::Entry(entry) => entry.facts.as_slice(),
        Update::Progress(_) | Update::Action(_) | Update::Lost(_) => &[],
    });
    let (mut begun, mut may_go_on) = (None, false);
    for fact in facts {
        match fact {
            Event::Created(created) => begun = Some(unnamed_note(created)),
            // Another process may have stored a message for a lead.
            Event::Heard { .. } => may_go_on = true,
            _ => {}
        }
    }
    may_go_on |= begun.is_some();
    if let Some(unnamed) = begun
        && has_note(notes, unnamed).await
    {
        // The process that began it may be killed before it does that.
        write_note(notes, &seen.session).await;
    }
    may_go_on && has_note(notes, seen.session.to_string()).await
}

async fn has_note(notes: &Path, name: String) -> bool {
    let note = notes.join(name);
    off_thread(move || note.exists()).await.unwrap_or_default()
}

/// Writes the note of a session. Without it, the session is not resumed after the next start.
async fn write_note(notes: &Path, id: &SessionId) {
    let (folder, name) = (notes.to_owned(), id.to_string());
    if !off_thread(move || note(&folder, &name).is_ok()).await.unwrap_or_default() {
        tracing::warn!(session = %id, "not noted");
    }
}

/// The detached sessions of a project that are to be resumed: those that are noted, those of which a killed process had
/// noted only that it begins one, and those that a detached lead began.
async fn found(sessions: &dyn Sessions, notes: &Path) -> Vec<SessionId> {
    let folder = notes.to_owned();
    let Ok(noted) = off_thread(move || noted(&folder)).await.flatten() else {
        return Vec::new();
    };
    let since = noted.iter().map(|(_, day)| day.as_str()).min().unwrap_or_default().to_owned();
    let (unnamed, names): (BTreeSet<String>, BTreeSet<String>) =
        noted.into_iter().map(|(name, _)| name).partition(|name| name.starts_with(UNNAMED));
    let mut due: Vec<SessionId> = Vec::new();
    let mut leads = BTreeSet::new();
    for id in names.into_iter().map(SessionId::new) {
        if sessions.view(&id).await.is_ok_and(|view| view.is_lead) {
            leads.insert(id.clone());
        }
        due.push(id);
    }
    if unnamed.is_empty() && leads.is_empty() {
        return due;
    }
    let mut at_work: BTreeSet<SessionId> = BTreeSet::new();
    for id in sessions.list().await.unwrap_or_default() {
        if id.as_str().get(..DAY).is_none_or(|day| *day < *since) || due.contains(&id) {
            continue;
        }
        let session = sessions.entries(&id, 0).await.ok().and_then(|entries| Session::replay(&entries));
        let Some(session) = session.filter(|session| !screen::is_over(&session.view(&id))) else { continue };
        let created = session.created();
        let began = |lead: &SessionId| matches!(&created.by, By::Lead { name } if name == lead.as_str());
        let lead = created.lead.clone().filter(|lead| leads.contains(lead) && began(lead));
        if lead.is_none() && !unnamed.contains(&unnamed_note(created)) {
            continue;
        }
        if lead.is_none() {
            write_note(notes, &id).await;
        }
        at_work.extend(lead);
        due.push(id);
    }
    // A lead that rests, and whose sessions are all over, is no longer detached.
    for lead in leads.difference(&at_work) {
        if sessions.view(lead).await.is_ok_and(|view| screen::is_over(&view)) {
            forget(notes, lead.as_str()).await;
        }
    }
    for name in &unnamed {
        forget(notes, name).await;
    }
    due
}

async fn forget(notes: &Path, name: &str) {
    let note = notes.join(name);
    // It is tried again at the next start.
    let _ = off_thread(move || remove(&note)).await;
}

/// The names of the notes, each with a day before it was written.
fn noted(notes: &Path) -> io::Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(notes)? {
        let entry = entry?;
        let written = Timestamp::try_from(entry.metadata()?.modified()?).unwrap_or(Timestamp::UNIX_EPOCH);
        let before = written.checked_sub(SignedDuration::from_hours(24)).unwrap_or(Timestamp::UNIX_EPOCH);
        if let Ok(name) = entry.file_name().into_string() {
            all.push((name, before.strftime("%Y%m%d").to_string()));
        }
    }
    Ok(all)
}

/// Resumes a detached session that goes on, if no process runs it. A log that is damaged or not trusted starts no agent,
/// and a failed session waits until a person tries it again.
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
        if screen::is_over(&view) {
            // The sessions of a lead may go on while it rests.
            if !view.is_lead {
                forget(notes, id.as_str()).await;
            }
            return;
        }
        let holder = sessions.holder(id).await.ok().flatten();
        if holder.as_ref().is_some_and(|holder| holder.is_this_process()) {
            return;
        }
        // A process without an address only writes something; resuming waits for it.
        if holder.is_none_or(|holder| holder.address.is_none()) {
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
