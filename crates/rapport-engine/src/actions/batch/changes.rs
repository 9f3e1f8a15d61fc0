//! Records what a command did to files that the batch had changed before, such as formatting them. These changes
//! belong to the batch, so that an undo reverts them too. But another program or a person may have made them while
//! the command ran, so a copy of the files' current state is kept as well.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_durable::digest;

use super::snapshot::note_command_changes;
use crate::actions::files::{JournaledFiles, content_of};
use crate::actions::journal::{Fact, Journal, JournalError};
use crate::actions::outcome::Outcome;

/// Records what a command did that has ended, or that a person decided not to wait for.
pub(in crate::actions) fn note_changes(journaled: &mut JournaledFiles) {
    let JournaledFiles { root, journal, .. } = journaled;
    // Without this record, an undo takes these changes for those of others, and asks.
    let _: Result<(), JournalError> = note_own_files(root, journal);
    // The same for all files that Git knows.
    let _: Result<(), JournalError> = note_command_changes(root, journal);
}

/// Records the changes of a command that was killed together with the batch before they were recorded.
pub(in crate::actions) fn note_interrupted(root: &Path, journal: &mut Journal) -> Result<(), JournalError> {
    if journal.facts().iter().any(|fact| is_interrupted(fact, journal.facts())) {
        note_own_files(root, journal)?;
    }
    note_command_changes(root, journal)
}

fn is_interrupted(fact: &Fact, facts: &[Fact]) -> bool {
    let Fact::Began { n, intent: None, .. } = fact else { return false };
    let is_end = |fact: &Fact| matches!(fact, Fact::Ended { n: ended, .. } if ended == n);
    fact.is_irreversible() && !facts.iter().any(is_end)
}

/// Records the current state of files that the batch had changed before.
fn note_own_files(root: &Path, journal: &mut Journal) -> Result<(), JournalError> {
    let expected = expected_files(journal.facts());
    let now = expected.into_iter().filter_map(|(file, expected)| {
        let now = content_of(root, &file).ok()?;
        if now.as_deref().map(digest) == expected {
            return None;
        }
        let kept = now.map(|content| journal.keep(&content)).transpose().ok()?;
        Some((file, kept))
    });
    let files: BTreeMap<_, _> = now.collect();
    if files.is_empty() { Ok(()) } else { journal.note(Fact::Changed { files }) }
}

/// The files that the batch changed, with the digests that the journal expects.
fn expected_files(facts: &[Fact]) -> BTreeMap<String, Option<String>> {
    let mut files = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Began { n, intent: Some(intent), .. } => {
                let done = facts.iter().any(|fact| {
                    matches!(fact, Fact::Ended { n: ended, settled } if ended == n
                        && matches!(settled.outcome, Outcome::Done { .. }))
                });
                if done {
                    files.extend(intent.all().map(|intent| (intent.file.clone(), intent.after.clone())));
                }
            }
            Fact::Changed { files: changed } => files.extend(changed.clone()),
            Fact::CommandChanged { files: changed, .. } => {
                files.extend(changed.iter().map(|(file, change)| (file.clone(), change.after.clone())));
            }
            _ => {}
        }
    }
    files
}
