//! Finished turns stay as they are: each gets a seal, and every command looks whether it is broken.

use std::collections::BTreeMap;

use rapport_core::{Act, Entry, Event};

use super::held::Held;
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::stores::{Store as _, StoreError};
use crate::turns::{Folder, Standing, Turn, checksum};
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
pub(in crate::cli) fn broken(folder: &Folder, entries: &[Entry]) -> Result<Vec<String>, Failure> {
    let mut broken = Vec::new();
    for (turn, sums) in sealed(entries) {
        broken.extend(checksum::broken(&folder.path.join(turn), sums)?);
    }
    Ok(broken)
}

/// The same for a session that nobody has to hold.
pub(in crate::cli) fn broken_in(place: &Place, folder: &Folder) -> Result<Vec<String>, Failure> {
    broken(folder, &entries(place, folder)?)
}

/// What a session's log says. One without a log, from an older tool, says nothing, and has no seals.
pub(in crate::cli) fn entries(place: &Place, folder: &Folder) -> Result<Vec<Entry>, Failure> {
    match place.store().read(&folder.id, 0) {
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        read => Ok(read?),
    }
}

/// Warns of what was changed, on stderr.
pub(in crate::cli) fn warn(broken: &[String]) {
    for what in broken {
        eprintln!("rapport: {}, after its turn was finished", safe::line(what));
    }
}

/// Warns of what was changed, and refuses to build on it unless that is accepted: then it is sealed as it is now, so that it
/// is told once and not with every command from here on.
pub(in crate::cli) async fn check(held: &Held<'_>, changed: Changed) -> Outcome {
    let entries = held.entries()?;
    let broken = broken(&held.folder, &entries)?;
    warn(&broken);
    match changed {
        _ if broken.is_empty() => Ok(()),
        Changed::Accept => {
            for (turn, sums) in sealed(&entries) {
                let now = checksum::sums(&held.folder.path.join(turn))?;
                if now != *sums {
                    held.submit(Act::Seal { folder: turn.to_owned(), files: now }).await?;
                }
            }
            Ok(())
        }
        Changed::Refuse => {
            let message = format!("finished turns of {} were changed", held.folder.id);
            Err(Failure::new(Code::Refused, message)
                .hint("Bring back what they were, from version control for example,")
                .hint("or build on them as they are now with --accept-changes."))
        }
    }
}

/// Seals what is finished and is not sealed yet: a kill may have come in between.
pub(in crate::cli) async fn seal_finished(held: &Held<'_>) -> Outcome {
    let entries = held.entries()?;
    let known = sealed(&entries);
    for turn in held.folder.turns()? {
        if turn.standing() == Standing::Complete && !known.contains_key(turn.name.to_string().as_str()) {
            seal_turn(held, &turn).await?;
        }
    }
    Ok(())
}

/// Seals a turn.
pub(in crate::cli) async fn seal_turn(held: &Held<'_>, turn: &Turn) -> Outcome {
    held.submit(Act::Seal { folder: turn.name.to_string(), files: checksum::sums(&turn.path)? }).await
}

/// The latest seal of each turn. One without files is of a turn whose absence was accepted.
fn sealed(entries: &[Entry]) -> BTreeMap<&str, &BTreeMap<String, String>> {
    let facts = entries.iter().flat_map(|entry| &entry.facts);
    let seals = facts.filter_map(|fact| match fact {
        Event::Sealed { folder, files } => Some((folder.as_str(), files)),
        _ => None,
    });
    let mut latest: BTreeMap<_, _> = seals.collect();
    latest.retain(|_, files| !files.is_empty());
    latest
}
