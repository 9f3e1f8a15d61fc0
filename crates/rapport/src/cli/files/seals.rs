//! Finished turns stay as they are: each gets a seal, and every command looks whether it is broken.

use std::collections::BTreeMap;

use rapport_core::{Act, Session};

use super::held::Held;
use crate::channels::terminal::safe;
use crate::cli::output;
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::stores::blocking::wait;
use crate::turns::{CONTEXT_LOG, Folder, checksum};
use crate::wiring::Place;

/// What to do where a finished turn was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Changed {
    /// Not to build on it.
    Refuse,
    /// To build on it as it is.
    Accept,
}

impl Changed {
    /// As the flag says.
    pub(in crate::cli) fn from_flag(accept_changes: bool) -> Self {
        if accept_changes { Changed::Accept } else { Changed::Refuse }
    }
}

/// What of a session's finished turns is no longer as it was.
async fn broken(folder: &Folder, session: &Session) -> Result<Vec<String>, Failure> {
    let mut broken = Vec::new();
    for (turn, sums) in sealed(session) {
        let changed = checksum::broken(folder, turn, sums).await?;
        broken.extend(changed.iter().map(|what| format!("{what}, after its turn was finished")));
    }
    Ok(broken)
}

/// What of a session's turns, finished or not, is not Rapport's word: journals of batches that do not count, and what the agent
/// was shown, where it was changed before the turn was sealed.
async fn refused(place: &Place, folder: &Folder, session: &Session) -> Result<Vec<String>, Failure> {
    let (batches, turns) = (place.batches(), folder.turns().await?);
    let refused = turns.iter().flat_map(|turn| batches.refused(&folder.id, &turn.name.to_string()));
    let mut found: Vec<_> = refused.map(|error| format!("{error}; this journal does not count")).collect();
    for turn in session.file_turns().iter().filter(|turn| !session.sealed().contains_key(&turn.folder)) {
        if turn.shown.iter().zip(&checksum::shown(folder, &turn.folder).await?).any(|(was, is)| was != is) {
            let place = folder.place(&format!("{}/{CONTEXT_LOG}", turn.folder));
            found.push(format!("{place} was changed, after planning began"));
        }
    }
    Ok(found)
}

/// What of a session that nobody has to hold is not as Rapport left it. One without a log, from an older tool, has no seals.
pub(in crate::cli) fn broken_in(place: &Place, folder: &Folder) -> Result<Vec<String>, Failure> {
    let store = place.store();
    match store.sealed(&folder.id, 0) {
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        read => {
            let (entries, seal) = read?;
            let session = crate::cli::sessions::replay(&store, &folder.id, &entries)?;
            let mut found = wait(broken(folder, &session))?;
            // Of a session that does not count itself, nothing else does.
            if seal.counts() {
                found.extend(wait(refused(place, folder, &session))?);
            }
            Ok(found)
        }
    }
}

/// Warns of what is not as Rapport left it, on stderr.
pub(in crate::cli) fn warn(broken: &[String]) {
    for what in broken {
        output::warn(safe::line(what));
    }
}

/// Warns of what was changed, and refuses to build on it unless that is accepted: then it is sealed as it is now, so that it
/// is told once and not with every command from here on.
pub(in crate::cli) async fn check(held: &Held<'_>, changed: Changed) -> Outcome {
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
                .hint("Bring back what they were, from version control for example,")
                .hint(format!(
                    "or build on them as they are now with: rapport resume {} --accept-changes",
                    held.folder.id
                )))
        }
    }
}

/// The seals that hold. One without files is of a turn whose absence was accepted.
fn sealed(session: &Session) -> impl Iterator<Item = (&String, &BTreeMap<String, String>)> {
    session.sealed().iter().filter(|(_, files)| !files.is_empty())
}
