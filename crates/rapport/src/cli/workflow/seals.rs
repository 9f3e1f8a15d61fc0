//! Finished turns are immutable: each gets check sums, and every command verifies them.

use std::collections::BTreeMap;

use rapport_core::{Act, FileTurn, Session, TurnStage};

use super::open_session::OpenSession;
use crate::channels::terminal::terminal_text;
use crate::cli::output;
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::stores::blocking::wait;
use crate::turns::{CONTEXT_LOG, Folder, checksum};
use crate::wiring::Workspace;

/// What to do if a finished turn was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Changed {
    /// Refuse to build on it.
    Refuse,
    /// Accept it as it is.
    Accept,
}

impl Changed {
    pub(in crate::cli) fn from_flag(accept_changes: bool) -> Self {
        if accept_changes { Changed::Accept } else { Changed::Refuse }
    }
}

/// The changes to a session's finished turns.
async fn broken(folder: &Folder, session: &Session) -> Result<Vec<String>, Failure> {
    let mut broken = Vec::new();
    for (turn, sums) in sealed(session) {
        let changed = checksum::broken(folder, turn, sums).await?;
        broken.extend(changed.iter().map(|what| format!("{what}, after its turn was finished")));
    }
    Ok(broken)
}

/// What is not trusted in a session's turns, finished or not: journals of batches, and context logs that were changed
/// before the turn was complete.
async fn refused(place: &Workspace, folder: &Folder, session: &Session) -> Result<Vec<String>, Failure> {
    let (batches, turns) = (place.batches(), folder.turns().await?);
    let refused = turns.iter().flat_map(|turn| batches.refused(&folder.id, &turn.name.to_string()));
    let mut found: Vec<_> = refused.map(|error| format!("{error}; this journal is not trusted")).collect();
    let is_told = |turn: &&FileTurn| {
        // What waits to be planned is checked when the session is resumed.
        !matches!(turn.stage, TurnStage::Unplanned { .. }) && !session.sealed().contains_key(&turn.folder)
    };
    for turn in session.file_turns().iter().filter(is_told) {
        if turn.shown.iter().zip(&checksum::shown(folder, &turn.folder).await?).any(|(was, is)| was != is) {
            let place = folder.place(&format!("{}/{CONTEXT_LOG}", turn.folder));
            found.push(format!("{place} was changed, after planning began"));
        }
    }
    Ok(found)
}

/// Everything in a session that differs from what Rapport wrote, without holding it. One without a log, from an older
/// tool, has no check sums.
pub(in crate::cli) fn broken_in(place: &Workspace, folder: &Folder) -> Result<Vec<String>, Failure> {
    let store = place.store();
    match store.sealed(&folder.id, 0) {
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        read => {
            let (entries, seal) = read?;
            let session = crate::cli::sessions::replay(&store, &folder.id, &entries)?;
            let mut found = wait(broken(folder, &session))?;
            // In an untrusted session, nothing else is trusted either.
            if seal.counts() {
                found.extend(wait(refused(place, folder, &session))?);
            }
            Ok(found)
        }
    }
}

/// Warns of differences, on stderr.
pub(in crate::cli) fn warn(broken: &[String]) {
    for what in broken {
        output::warn(terminal_text::line(what));
    }
}

/// Warns of changes, and refuses to build on them unless that is accepted: then the check sums are updated, so that the
/// change is reported once and not with every command.
pub(in crate::cli) async fn check(held: &OpenSession<'_>, changed: Changed) -> Outcome {
    let session = held.session().await?;
    let broken = broken(&held.folder, &session).await?;
    warn(&broken);
    warn(&refused(held.place, &held.folder, &session).await?);
    match changed {
        _ if broken.is_empty() => Ok(()),
        Changed::Accept => {
            let mut turns = BTreeMap::new();
            for (turn, _) in sealed(&session) {
                turns.insert(turn.clone(), checksum::sums(&held.folder, turn).await?);
            }
            held.submit(Act::AcceptChanges { turns }).await
        }
        Changed::Refuse => {
            let message = format!("finished turns of {} were changed", held.folder.id);
            Err(Failure::new(Code::Refused, message)
                .hint("Restore them, for example from version control,")
                .hint(format!(
                    "or accept them as they are now with: rapport resume {} --accept-changes",
                    held.folder.id
                )))
        }
    }
}

/// The valid check sums. An empty set is of a turn whose absence was accepted.
fn sealed(session: &Session) -> impl Iterator<Item = (&String, &BTreeMap<String, String>)> {
    session.sealed().iter().filter(|(_, files)| !files.is_empty())
}
