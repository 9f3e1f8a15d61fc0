//! Changes, deletes and moves files atomically, after the journal has their previous content. New content is first
//! written to a temporary sibling whose name is derived from the batch, so that after a kill the leftover can be found
//! and removed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rapport_core::check::project_path;
use rapport_durable::{HeldFolder, digest, put, put_new, remove, remove_if_empty, sync_above, write_beside};

use super::diff::unified;
use super::journal::{Fact, Intent, Journal, SavedFile};
use super::outcome::{Details, FileChange, Outcome};
use super::project::{PathError, Resolved, content, resolve};

/// What changing files needs.
#[derive(Debug)]
pub(super) struct JournaledFiles {
    /// The project's canonical path.
    pub(super) root: PathBuf,
    pub(super) journal: Journal,
    pub(super) id: String,
}

/// The state of a file, compared with an intended change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Before,
    After,
    Other,
}

/// A prepared change that is not made yet.
struct Prepared {
    resolved: Resolved,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
    mode: Option<u32>,
}

/// Changes the file at a path of the plan; `make` computes the new content from the old.
pub(super) fn change(
    journaled: &mut JournaledFiles,
    n: usize,
    what: String,
    path: &str,
    make: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String>,
) -> Outcome {
    let done =
        |change, diff| Outcome::Done { details: Details::File { path: path.to_owned(), change, diff } };
    let prepared = match prepare(journaled, path, make) {
        Ok(prepared) if prepared.before.as_ref() == Some(&prepared.after) => {
            return done(FileChange::Unchanged, None);
        }
        Ok(prepared) => prepared,
        Err(why) => return Outcome::failed(why),
    };
    if let Err(why) = intent(journaled, &prepared).and_then(|intent| note(journaled, n, what, intent)) {
        return Outcome::failed(why);
    }
    match make_it_so(journaled, n, path, &prepared) {
        Ok(()) => match &prepared.before {
            None => done(FileChange::Made, None),
            Some(before) => done(FileChange::Changed, unified(path, before, &prepared.after)),
        },
        Err(why) => Outcome::failed(why),
    }
}

pub(super) fn delete(journaled: &mut JournaledFiles, n: usize, what: String, path: &str) -> Outcome {
    let taken = (|| {
        let there = There::look(journaled, path)?;
        let gone = there.gone(journaled).map_err(|why| why.to_string())?;
        note(journaled, n, what, gone).map_err(|why| why.to_string())?;
        let held = Held::open(&journaled.root, &there.resolved.real)?;
        there.check_untouched(journaled, path)?;
        remove(&held.file).map_err(|error| cannot("delete", &there.resolved.real, error))
    })();
    settled(taken, path, FileChange::Deleted)
}

/// Moves a file to a path that does not exist.
pub(super) fn move_file(
    journaled: &mut JournaledFiles,
    n: usize,
    what: String,
    from: &str,
    to: &str,
) -> Outcome {
    let moved = (|| {
        let there = There::look(journaled, from)?;
        let target = free(journaled, to)?;
        let intent = moving(journaled, &there, &target).map_err(|why| why.to_string())?;
        note(journaled, n, what, intent).map_err(|why| why.to_string())?;
        let put = (|| {
            let (held, to_held) = (
                Held::open(&journaled.root, &there.resolved.real)?,
                Held::make(&journaled.root, &target.real)?,
            );
            there.check_untouched(journaled, from)?;
            free(journaled, to)?;
            put(&held.file, &to_held.file).map_err(|error| cannot("move", &there.resolved.real, error))?;
            sync_above(&held.file).map_err(|error| cannot("move", &there.resolved.real, error))
        })();
        if put.is_err() {
            remove_empty(&journaled.root, target.missing.iter().rev());
        }
        put
    })();
    settled(moved, to, FileChange::Moved)
}

fn settled(done: Result<(), String>, path: &str, change: FileChange) -> Outcome {
    match done {
        Ok(()) => Outcome::Done { details: Details::File { path: path.to_owned(), change, diff: None } },
        Err(why) => Outcome::failed(why),
    }
}

fn note(
    journaled: &mut JournaledFiles,
    n: usize,
    what: String,
    intent: Intent,
) -> Result<(), Box<dyn std::error::Error>> {
    let fact = Fact::Began { n, what, intent: Some(intent), irreversible: Some(false) };
    Ok(journaled.journal.note(fact)?)
}

/// An existing file at exactly the path that the plan names.
struct There {
    resolved: Resolved,
    content: Vec<u8>,
    mode: u32,
}

impl There {
    fn look(journaled: &JournaledFiles, path: &str) -> Result<Self, String> {
        let resolved = resolved(journaled, path)?;
        let is_itself = project_path(path).is_ok_and(|named| journaled.root.join(named) == resolved.real);
        if !is_itself {
            return Err(format!("{path} is behind a symbolic link"));
        }
        let content = content(path, &resolved).map_err(|error| error.to_string())?;
        let content = content.ok_or_else(|| format!("{path} does not exist"))?;
        let about = fs::metadata(&resolved.real).map_err(|error| cannot("look at", &resolved.real, error))?;
        Ok(Self { resolved, content, mode: about.mode() & 0o7777 })
    }

    /// The intent to record before the file is removed from its path.
    fn gone(&self, journaled: &mut JournaledFiles) -> Result<Intent, Box<dyn std::error::Error>> {
        let before = SavedFile { sha256: journaled.journal.keep(&self.content)?, mode: self.mode };
        let file = inside(&journaled.root, &self.resolved.real)?;
        Ok(Intent { file, before: Some(before), after: None, directories: Vec::new(), also: None })
    }

    fn check_untouched(&self, journaled: &JournaledFiles, path: &str) -> Result<(), String> {
        let now = Self::look(journaled, path)?;
        if now.content != self.content {
            return Err(format!("another program changed {path} at this very moment"));
        }
        Ok(())
    }
}

/// The intent to record before a file is moved.
fn moving(
    journaled: &mut JournaledFiles,
    there: &There,
    target: &Resolved,
) -> Result<Intent, Box<dyn std::error::Error>> {
    let gone = there.gone(journaled)?;
    let directories = target.missing.iter().map(|directory| inside(&journaled.root, directory));
    Ok(Intent {
        file: inside(&journaled.root, &target.real)?,
        before: None,
        after: Some(digest(&there.content)),
        directories: directories.collect::<Result<_, _>>()?,
        also: Some(Box::new(gone)),
    })
}

/// Resolves a path that must not exist yet.
fn free(journaled: &JournaledFiles, path: &str) -> Result<Resolved, String> {
    let resolved = resolved(journaled, path)?;
    if resolved.exists { Err(format!("{path} already exists")) } else { Ok(resolved) }
}

/// Resolves a path, and refuses the journal's own files.
fn resolved(journaled: &JournaledFiles, path: &str) -> Result<Resolved, String> {
    let resolved = resolve(&journaled.root, path).map_err(|error| error.to_string())?;
    let journal = journaled.journal.directory();
    let journal = journal.canonicalize().map_err(|error| cannot("find the journal in", journal, error))?;
    if resolved.real.starts_with(&journal) {
        return Err(PathError::Journal { path: path.to_owned() }.to_string());
    }
    Ok(resolved)
}

/// A path relative to the project's root.
fn inside(root: &Path, path: &Path) -> Result<String, String> {
    let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
    inside.map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8 text", path.display()))
}

fn prepare(
    journaled: &JournaledFiles,
    path: &str,
    make: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, String>,
) -> Result<Prepared, String> {
    let resolved = resolved(journaled, path)?;
    let before = content(path, &resolved).map_err(|error| error.to_string())?;
    let mode =
        before.as_ref().and_then(|_| fs::metadata(&resolved.real).ok()).map(|about| about.mode() & 0o7777);
    let after = make(before.as_deref())?;
    Ok(Prepared { resolved, before, after, mode })
}

fn intent(journaled: &mut JournaledFiles, change: &Prepared) -> Result<Intent, Box<dyn std::error::Error>> {
    let before = match (&change.before, change.mode) {
        (Some(before), Some(mode)) => Some(SavedFile { sha256: journaled.journal.keep(before)?, mode }),
        _ => None,
    };
    let directories = change.resolved.missing.iter().map(|directory| inside(&journaled.root, directory));
    Ok(Intent {
        file: inside(&journaled.root, &change.resolved.real)?,
        before,
        after: Some(digest(&change.after)),
        directories: directories.collect::<Result<_, _>>()?,
        also: None,
    })
}

/// Writes the change; on failure, removes the directories it created.
fn make_it_so(journaled: &JournaledFiles, n: usize, path: &str, change: &Prepared) -> Result<(), String> {
    let real = &change.resolved.real;
    let written = Held::make(&journaled.root, real).and_then(|held| {
        let temporary = temporary(&journaled.id, n, &held.file);
        let written = write_beside(&temporary, &change.after, change.mode.map(|mode| (mode, &*held.file)))
            .map_err(|error| cannot("write", real, error))
            .and_then(|()| check_untouched(&journaled.root, path, change))
            .and_then(|()| {
                let placed = match change.before {
                    Some(_) => put(&temporary, &held.file),
                    None => put_new(&temporary, &held.file),
                };
                placed.map_err(|error| cannot("write", real, error))
            });
        if written.is_err() {
            let _ = remove(&temporary);
        }
        written
    });
    if written.is_err() {
        remove_empty(&journaled.root, change.resolved.missing.iter().rev());
    }
    written
}

/// A file whose directory is held, so that the directory cannot be replaced by a symbolic link while the file is
/// changed.
pub(super) struct Held {
    _directory: HeldFolder,
    /// Its path while the directory is held.
    pub(super) file: PathBuf,
}

impl Held {
    /// Holds the directory of a file, by its path without symbolic links.
    pub(super) fn open(root: &Path, real: &Path) -> Result<Self, String> {
        Self::by(HeldFolder::open, root, real).map_err(|error| cannot("reach", real, error))
    }

    /// The same, and creates missing directories.
    pub(super) fn make(root: &Path, real: &Path) -> Result<Self, String> {
        Self::by(HeldFolder::make, root, real).map_err(|error| cannot("create the directory of", real, error))
    }

    fn by(hold: fn(&Path, &Path) -> io::Result<HeldFolder>, root: &Path, real: &Path) -> io::Result<Self> {
        let (folder, name) = real.parent().zip(real.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
        let directory = hold(root, folder)?;
        Ok(Self { file: directory.at(name), _directory: directory })
    }
}

/// Checks that since this change was prepared, the file was not changed and no directory was replaced by a symbolic
/// link.
fn check_untouched(root: &Path, path: &str, change: &Prepared) -> Result<(), String> {
    let now = resolve(root, path).map_err(|error| error.to_string())?;
    let content = content(path, &now).map_err(|error| error.to_string())?;
    if now.real != change.resolved.real || content != change.before {
        return Err(format!("another program changed {path} at this very moment"));
    }
    Ok(())
}

/// The name of the temporary sibling that is renamed into place.
pub(super) fn temporary(id: &str, n: usize, real: &Path) -> PathBuf {
    real.with_file_name(format!(".rapport-{id}-{n}"))
}

/// The state of a file, compared with an intended change; of both files if two change.
pub(super) fn state(root: &Path, intent: &Intent) -> Result<State, PathError> {
    let mut states = intent.all().map(|intent| state_of_one(root, intent));
    let Some(first) = states.next() else { return Ok(State::Other) };
    let first = first?;
    states.try_fold(first, |all, state| Ok(if state? == all { all } else { State::Other }))
}

fn state_of_one(root: &Path, intent: &Intent) -> Result<State, PathError> {
    let now = digest_of(root, &intent.file)?;
    let before = intent.before.as_ref().map(|image| &image.sha256);
    Ok(match now.as_ref() {
        now if now == intent.after.as_ref() => State::After,
        now if now == before => State::Before,
        _ => State::Other,
    })
}

/// The result of a change that was made without its end being recorded.
pub(super) fn made(journaled: &JournaledFiles, path: String, intent: &Intent) -> Details {
    if intent.after.is_none() || intent.also.is_some() {
        let change = if intent.also.is_some() { FileChange::Moved } else { FileChange::Deleted };
        return Details::File { path, change, diff: None };
    }
    let Some(image) = &intent.before else {
        return Details::File { path, change: FileChange::Made, diff: None };
    };
    let before = journaled.journal.kept(&image.sha256).ok();
    let after = fs::read(journaled.root.join(&intent.file)).ok();
    let diff = before.zip(after).and_then(|(before, after)| unified(&path, &before, &after));
    Details::File { path, change: FileChange::Changed, diff }
}

/// The digest of a file, by its path from the root without symbolic links; `None` if it does not exist.
pub(super) fn digest_of(root: &Path, file: &str) -> Result<Option<String>, PathError> {
    Ok(content_of(root, file)?.map(|content| digest(&content)))
}

pub(super) fn content_of(root: &Path, file: &str) -> Result<Option<Vec<u8>>, PathError> {
    let resolved = resolve(root, file)?;
    if resolved.real != root.join(file) {
        return Err(PathError::NotAFile { path: file.to_owned(), what: "behind a symbolic link now" });
    }
    content(file, &resolved)
}

/// Removes empty directories below the root, and stops at the first that is not empty.
pub(super) fn remove_empty<'a>(root: &Path, directories: impl Iterator<Item = &'a PathBuf>) {
    for directory in directories {
        let removed = Held::open(root, directory)
            .is_ok_and(|held| remove_if_empty(&held.file) && sync_above(&held.file).is_ok());
        if !removed {
            return;
        }
    }
}

fn cannot(what: &str, path: &Path, error: io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
