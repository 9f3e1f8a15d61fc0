//! The state of the project's files before a command, and the command's changes to them, according to Git. Thus an undo
//! reverts what commands did to tracked and untracked files.
//!
//! Another program or a person may have changed a file while the command ran, so a copy of every file's state
//! afterwards is kept too.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_durable::digest;

use crate::actions::files::{JournaledFiles, content_of};
use crate::actions::journal::{CommandChange, Fact, Journal, JournalError, SavedFile};
use crate::workers::local::{Directory, Recorded};
use crate::workers::{WorkerError, Workplace as _};

/// The maximum size of one command's changes to keep, in bytes; twice, for the states before and after.
const MOST: usize = 64 * 1024 * 1024;

/// Whether the project has a Git repository, so that changes by commands can be undone.
pub(crate) fn has_history(project: &Path) -> bool {
    Directory::at(project).has_history()
}

/// Records the state before command `n`, unless it is known from an interrupted run. A project without Git has none.
pub(in crate::actions) fn note_state(journaled: &mut JournaledFiles, n: usize) {
    if unsettled(journaled.journal.facts()).any(|(begun, _)| begun == n) {
        return;
    }
    if let Ok(Some(tree)) = Directory::at(&journaled.root).snapshot() {
        // Without it, the command's changes stay when the batch is undone, as in a project without Git.
        let _: Result<(), JournalError> = journaled.journal.note(Fact::Snapshot { n, tree });
    }
}

/// Records the changes of commands whose changes are not recorded yet.
pub(in crate::actions) fn note_command_changes(
    root: &Path,
    journal: &mut Journal,
) -> Result<(), JournalError> {
    let due: Vec<_> = unsettled(journal.facts()).map(|(n, tree)| (n, tree.to_owned())).collect();
    for (n, tree) in due {
        let fact = match changes(root, journal, n, &tree) {
            Ok(fact) => fact?,
            Err(_) => {
                tracing::warn!("Git does not tell what a command changed");
                continue;
            }
        };
        journal.note(fact)?;
    }
    Ok(())
}

/// The commands whose changes are not recorded, and the state before each.
fn unsettled(facts: &[Fact]) -> impl Iterator<Item = (usize, &str)> {
    facts.iter().enumerate().filter_map(|(at, fact)| {
        let Fact::Snapshot { n, tree } = fact else { return None };
        let is_settled = |fact: &Fact| matches!(fact, Fact::CommandChanged { n: other, .. } if other == n);
        (!facts[at..].iter().any(is_settled)).then_some((*n, tree.as_str()))
    })
}

/// The differences between a state and the current files.
fn changes(
    root: &Path,
    journal: &mut Journal,
    n: usize,
    tree: &str,
) -> Result<Result<Fact, JournalError>, WorkerError> {
    let there = Directory::at(root);
    let (mut files, mut left, mut kept) = (BTreeMap::new(), Vec::new(), 0);
    let now = there.snapshot()?;
    let changed = now.map(|now| there.files_between(tree, &now)).transpose()?.unwrap_or_default();
    for path in changed.into_iter().map(|file| file.path) {
        let before = match there.file_at(tree, &path)? {
            Recorded::Nothing => Some(None),
            Recorded::File { content, mode } => Some(Some((content, mode))),
            Recorded::Other => None,
        };
        let (Some(before), Ok(after)) = (before, content_of(root, &path)) else {
            left.push(path);
            continue;
        };
        kept += before.as_ref().map_or(0, |(content, _)| content.len()) + after.as_ref().map_or(0, Vec::len);
        if kept > 2 * MOST {
            left.push(path);
            continue;
        }
        match keep(journal, before, after.as_deref()) {
            Ok(change) => drop(files.insert(path, change)),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(Fact::CommandChanged { n, files, left }))
}

fn keep(
    journal: &mut Journal,
    before: Option<(Vec<u8>, u32)>,
    after: Option<&[u8]>,
) -> Result<CommandChange, JournalError> {
    let before =
        before.map(|(content, mode)| Ok(SavedFile { sha256: journal.keep(&content)?, mode })).transpose()?;
    if let Some(after) = after {
        journal.keep(after)?;
    }
    Ok(CommandChange { before, after: after.map(digest) })
}
