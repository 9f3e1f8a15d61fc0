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
use crate::actions::path_state::{PathEntry, PathState, is_link, is_same_mode, look};
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
    let content = match before {
        Some(image) => copy(batch, image).map_err(cannot)?,
        None => Vec::new(),
    };
    let now = now(project, file).map_err(cannot)?;
    let modes = match (before.as_ref().map(|image| image.mode), now.as_ref().map(|now| now.mode)) {
        (Some(old), Some(new)) if !is_same_mode(old, new) => {
            format!("old mode {}\nnew mode {}\n", git_mode(old), git_mode(new))
        }
        _ => String::new(),
    };
    let now = now.map(|now| now.content).unwrap_or_default();
    if content == now && modes.is_empty() {
        return Ok(String::new());
    }
    let Some(diff) = whole(file, &content, &now) else {
        return Ok(format!("{modes}Binary file {file} differs\n"));
    };
    if modes.is_empty() {
        return Ok(diff);
    }
    let header = format!("--- {file}\n+++ {file}\n");
    let lines = diff.strip_prefix(&header).unwrap_or(&diff);
    Ok(format!("{header}{modes}{lines}"))
}

/// A mode as git writes it.
fn git_mode(mode: u32) -> &'static str {
    match mode {
        mode if is_link(mode) => "120000",
        mode if mode & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

/// The copy of a file or of a link's target that a batch kept. The journal that names it may not be trusted.
pub(super) fn copy(batch: &Path, image: &SavedFile) -> io::Result<Vec<u8>> {
    check_name(&image.sha256)?;
    durable::read_file(&batch.join("before").join(&image.sha256), LARGEST)
}

/// The file or link at a path that a journal names, which may not be trusted; `None` if there is neither.
fn now(project: &Path, file: &str) -> io::Result<Option<PathEntry>> {
    check_name(file)?;
    match look(project, file).map_err(io::Error::other)? {
        PathState::Entry(entry) => Ok(Some(entry)),
        PathState::Nothing | PathState::Behind(_) | PathState::Directory => Ok(None),
    }
}

fn check_name(name: &str) -> io::Result<()> {
    if Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(());
    }
    Err(io::Error::other("its name leads elsewhere"))
}
