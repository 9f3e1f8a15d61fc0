//! The state of the project's files before a command, and the command's changes to them, according to Git. Thus an undo
//! reverts what commands did to tracked and untracked files.
//!
//! Another program or a person may have changed a file while the command ran, so a copy of every file's state
//! afterwards is kept too.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_durable::executable_like;

use crate::actions::files::JournaledFiles;
use crate::actions::journal::{CommandChange, Fact, Journal, JournalError, SavedFile};
use crate::actions::path_state::{PathEntry, entry_at, is_link, is_same_mode, look};
use crate::workers::local::Directory;
use crate::workers::{EarlierFile, WorkerError, Workplace as _, visit_changed};

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
    let Some(now) = there.snapshot()? else {
        return Ok(Ok(Fact::CommandChanged { n, files: BTreeMap::new(), left: Vec::new() }));
    };
    let mut copies = Copies { root, journal, size: 0, files: BTreeMap::new(), left: Vec::new() };
    let mut kept = Ok(());
    visit_changed(&there, tree, &now, &mut |path, earlier| {
        if kept.is_ok() {
            kept = copies.add(path, earlier);
        }
    })?;
    let Copies { files, left, .. } = copies;
    Ok(kept.map(|()| Fact::CommandChanged { n, files, left }))
}

/// Copies of what a command changed, before and after.
struct Copies<'a> {
    root: &'a Path,
    journal: &'a mut Journal,
    /// The size of all copies, in bytes.
    size: usize,
    files: BTreeMap<String, CommandChange>,
    left: Vec<String>,
}

impl Copies<'_> {
    fn add(&mut self, path: String, earlier: EarlierFile<'_>) -> Result<(), JournalError> {
        let before = match earlier {
            EarlierFile::Absent => Ok(None),
            EarlierFile::CheckedOut(file) => entry_at(file),
            EarlierFile::Repository => return self.leave(path),
        };
        // Git's own name of a path that is not text leads to another path.
        let (Ok(before), Ok(after), false) = (before, look(self.root, &path), path.contains('\u{FFFD}'))
        else {
            return self.leave(path);
        };
        let after = after.entry();
        self.size +=
            [before.as_ref(), after].into_iter().flatten().map(|entry| entry.content.len()).sum::<usize>();
        if self.size > 2 * MOST {
            return self.leave(path);
        }
        let change = keep(self.journal, before, after)?;
        self.files.insert(path, change);
        Ok(())
    }

    fn leave(&mut self, path: String) -> Result<(), JournalError> {
        self.left.push(path);
        Ok(())
    }
}

fn keep(
    journal: &mut Journal,
    before: Option<PathEntry>,
    after: Option<&PathEntry>,
) -> Result<CommandChange, JournalError> {
    let is_file = |entry: &&PathEntry| !is_link(entry.mode);
    // Git records only whether a file can be executed. All other permissions are those of the file now, if there is one.
    let mode = |before: &PathEntry| match after.filter(is_file).filter(|_| is_file(&before)) {
        Some(after) => executable_like(after.mode, before.mode),
        None => before.mode,
    };
    // Of a file that begins or ceases to exist, the mode says nothing, unless it is that of a link.
    let is_more_than_content = match (&before, after) {
        (Some(before), Some(after)) => is_link(after.mode) || !is_same_mode(before.mode, after.mode),
        (None, Some(after)) => is_link(after.mode),
        (_, None) => false,
    };
    let saved = before
        .as_ref()
        .map(|before| Ok(SavedFile { sha256: journal.keep(&before.content)?, mode: mode(before) }));
    let saved = saved.transpose()?;
    let after_mode = after.filter(|_| is_more_than_content).map(|after| after.mode);
    let after = after.map(|after| journal.keep(&after.content)).transpose()?;
    Ok(CommandChange { before: saved, after, after_mode })
}
