//! `rapport store migrate`: takes sessions from another store into the one that the settings name. Each session is
//! taken in as a whole before it is removed from the other store. After a kill in between both have it, and doing it
//! again completes it.

use rapport_core::{Entry, SessionId};
use serde::Serialize;

use super::Common;
use super::output::{say, say_json};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::stores::{Holder, SESSION_CONTEXT, Store, StoreError};
use crate::wiring::{SessionKind, Workspace, refuse_agents};

/// What became of one session.
#[derive(Serialize)]
struct Migration {
    session: SessionId,
    moved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Takes all sessions of the store `from` into the store of the settings.
pub(super) fn migrate(common: &Common, from: &str) -> Outcome {
    refuse_agents()?;
    let place = Workspace::find(common)?;
    let wrong =
        |why: String| Failure::new(Code::Usage, why).hint("For example: rapport store migrate --from files");
    let stored_by = place.stores.find(from).map_err(wrong)?;
    if stored_by.name() == place.stored_by.name() {
        return Err(wrong(format!(
            "the setting `store` names {from} as well; it has to name where they are to go"
        )));
    }
    let source = Workspace { stored_by, ..place.clone() }.store_in(&SessionKind::Sessions);
    let target = place.store_in(&SessionKind::Sessions);
    let mut done = Vec::new();
    for session in wait(source.list())? {
        let moved = migrate_one(&*source, &*target, &session);
        let why = moved.as_ref().err().map(|failure| failure.message.clone());
        if !common.json {
            let words = why
                .as_ref()
                .map_or("moved".to_owned(), |why| format!("not moved: {}", terminal_text::line(why)));
            say(format_args!("{}  {words}", terminal_text::line(session.as_str())))?;
        }
        done.push(Migration { session, moved: moved.is_ok(), why });
    }
    if common.json {
        say_json(&done)?;
    } else {
        say(format_args!(
            "{} of {} sessions moved",
            done.iter().filter(|one| one.moved).count(),
            done.len()
        ))?;
    }
    match done.iter().filter(|one| !one.moved).count() {
        0 => Ok(()),
        left => {
            Err(Failure::new(Code::Store, format!("{left} sessions were not moved, and stay where they are")))
        }
    }
}

fn migrate_one(source: &dyn Store, target: &dyn Store, id: &SessionId) -> Result<(), Failure> {
    // While it is held, no process runs it or writes to it.
    let (entries, log) = wait(source.hold(id, &Holder::this_process(None)))?;
    let attachments = attachments(source, id)?;
    // A copy is where the log of files is to be.
    wait(source.set_copy_aside(id))?;
    if !wait(target.take_in(id, entries.clone(), attachments))? && !is_same(target, id, &entries)? {
        let what = format!("there is another session {id} in {}", target.whereabouts(id));
        return Err(Failure::new(Code::Store, what));
    }
    drop(log);
    wait(source.give_away(id))?;
    // Reading it makes this machine's copy, where there is to be one.
    wait(target.counted(id, 0))?;
    Ok(())
}

/// Whether the other store has taken it in before.
fn is_same(target: &dyn Store, id: &SessionId, entries: &[Entry]) -> Result<bool, StoreError> {
    Ok(wait(target.read(id, 0))? == entries)
}

/// Everything that is attached to a session.
fn attachments(source: &dyn Store, id: &SessionId) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut all = wait(source.look(id))?.attachments;
    let mut names = vec![SESSION_CONTEXT.to_owned()];
    for folder in wait(source.folders(id))? {
        names.extend(folder.documents.iter().map(|document| format!("{}/{document}", folder.name)));
    }
    for name in names {
        let content = wait(source.attached(id, &name))?;
        all.extend(content.map(|content| (name, content)));
    }
    Ok(all)
}
