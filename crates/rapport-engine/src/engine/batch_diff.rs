//! The changes of a session's batches as a diff: from the copy that the first batch to change a file kept, to the
//! current file. A batch that was undone changed nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use rapport_core::{FileBatch, FileTurn, Session, SessionId, UndoState};
use rapport_durable as durable;

use crate::actions::diff::whole;
use crate::actions::journal::{Fact, SavedFile};
use crate::turns::TurnError;
use crate::turns::batches::{BatchDir, Batches, Naming};

/// The maximum size of a file to compare, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A file before the first batch that changed it: that batch's directory, and its copy of the file.
pub(super) type FileBefore = (PathBuf, Option<SavedFile>);

/// Writes the diff, file by file. Blocks.
pub(super) fn diff(id: &SessionId, session: &Session, out: &mut dyn Write) -> Result<(), String> {
    let project = Path::new(session.project());
    let changed = changed(id, session, None).map_err(|error| error.to_string())?;
    changed.iter().try_for_each(|(file, before)| {
        let diff = of_file(project, file, before)?;
        out.write_all(diff.as_bytes()).map_err(|error| error.to_string())
    })
}

/// Whether a batch of this session changed files and was not undone.
pub(super) fn is_of_batches(session: &Session) -> bool {
    batches(session).next().is_some()
}

fn batches(session: &Session) -> impl Iterator<Item = (&FileTurn, &FileBatch)> {
    let all =
        session.file_turns().iter().flat_map(|turn| turn.batches.iter().map(move |batch| (turn, batch)));
    all.filter(|(_, batch)| batch.has_changes && !matches!(batch.undo, UndoState::Done(_)))
}

/// The files changed by batches that were approved at this time or later, each as it was before.
pub(super) fn changed(
    id: &SessionId,
    session: &Session,
    since: Option<Timestamp>,
) -> Result<BTreeMap<String, FileBefore>, TurnError> {
    let known = Batches::of(Path::new(session.project()), Naming::ByTurn);
    let is_since = |(_, batch): &(_, &FileBatch)| since.is_none_or(|since| batch.approved_at >= since);
    let mut batches: Vec<_> = batches(session).filter(is_since).collect();
    batches.sort_by_key(|(_, batch)| batch.approved_at);
    let mut changed = BTreeMap::new();
    for (turn, batch) in batches {
        let Some(path) = known.find(id, &turn.folder, batch.approved_at)? else {
            let what = format!(
                "the journal of turn {} is missing, so the previous content of its files is unknown",
                turn.folder
            );
            let place = crate::config::batches(Path::new(session.project())).display().to_string();
            return Err(TurnError::Wrong { place, what });
        };
        for fact in BatchDir::read(path.clone())?.facts {
            if let Fact::CommandChanged { files, .. } = &fact {
                for (file, change) in files {
                    let before = || (path.clone(), change.before.clone());
                    changed.entry(file.clone()).or_insert_with(before);
                }
            }
            if let Fact::Began { intent: Some(intent), .. } = fact {
                for intent in intent.all() {
                    let before = || (path.clone(), intent.before.clone());
                    changed.entry(intent.file.clone()).or_insert_with(before);
                }
            }
        }
    }
    Ok(changed)
}

fn of_file(project: &Path, file: &str, (batch, before): &FileBefore) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot compare {file}: {error}");
    let before = match before {
        Some(image) => read(&batch.join("before"), &image.sha256).map_err(cannot)?,
        None => Vec::new(),
    };
    let now = read(project, file).map_err(cannot)?;
    if before == now {
        return Ok(String::new());
    }
    Ok(whole(file, &before, &now).unwrap_or_else(|| format!("Binary file {file} differs\n")))
}

/// Reads a file by a name from a journal, which may not be trusted; empty if it does not exist.
pub(super) fn read(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("its name leads elsewhere"));
    }
    match durable::read_file(&folder.join(name), LARGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}
