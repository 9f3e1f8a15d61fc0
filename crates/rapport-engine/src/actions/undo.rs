//! Undoes a batch's changes to files: all of them together, each to its state before the batch, which may be a symbolic
//! link, or a directory in the place of a file. Files that were changed since are not touched. The next undo completes
//! an interrupted one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::{LaterChanges, UndoneFiles};
use rapport_durable::{link_beside, put, remove, write_beside};
use thiserror::Error;

use super::batch::changes::note_interrupted;
use super::files::{Held, remove_empty, temporary};
use super::journal::{self, CommandChange, Fact, Intent, Journal, JournalError, SavedFile};
use super::outcome::Outcome;
use super::path_state::{PathState, is_link, is_same_mode, look};
use super::{ActionError, BatchSite};

/// The result of an undo. Paths are from the project's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Files whose previous content was restored.
    pub restored: Vec<String>,
    /// Files that the batch created and that were deleted.
    pub removed: Vec<String>,
    /// Files that were left alone, because they were changed after the batch.
    pub kept: Vec<String>,
    /// Restored or removed files that changed while a command ran, by the command or otherwise, and where a copy of
    /// that state is.
    pub set_aside: BTreeMap<String, PathBuf>,
    /// What cannot be undone, such as `other effects of EXECUTE cargo test`.
    pub remaining: Vec<String>,
}

impl Undone {
    /// Adds a restored file.
    fn add(&mut self, file: &File, journal: &Path) {
        let list = if file.before.is_some() { &mut self.restored } else { &mut self.removed };
        list.push(file.name.clone());
        let kept = file.after_command.iter().map(|digest| journal::path_of(journal, digest));
        self.set_aside.extend(kept.map(|path| (file.name.clone(), path)));
    }
}

impl From<Undone> for UndoneFiles {
    fn from(undone: Undone) -> Self {
        let Undone { restored, removed, kept, set_aside, remaining } = undone;
        let set_aside = set_aside.into_iter().map(|(file, path)| (file, path.display().to_string()));
        Self { restored, removed, kept, set_aside: set_aside.collect(), remaining }
    }
}

/// Why a batch was not undone.
#[derive(Debug, Error)]
pub enum UndoError {
    #[error(transparent)]
    Action(#[from] ActionError),
    /// Files were changed after the batch; nothing was undone.
    #[error("changed after the batch: {}", files.join(", "))]
    ChangedLater {
        /// The files, from the project's root.
        files: Vec<String>,
        /// Whether an earlier undo has undone part of the batch.
        is_begun: bool,
    },
    /// Part of the batch is undone; another undo continues from there.
    #[error("cannot restore {file}: {why}")]
    Stuck {
        /// The file that could not be restored.
        file: String,
        why: String,
    },
}

impl From<JournalError> for UndoError {
    fn from(error: JournalError) -> Self {
        ActionError::from(error).into()
    }
}

/// Undoes a batch. Blocks.
pub fn undo(site: &BatchSite, later: LaterChanges) -> Result<Undone, UndoError> {
    let root = site.project.canonicalize();
    let root = root.map_err(|error| ActionError::Project { path: site.project.clone(), error })?;
    if !Journal::is_in(&site.journal) {
        return Err(ActionError::NoBatch { path: site.journal.clone() }.into());
    }
    let mut journal = Journal::open(&site.journal, site.seals.clone(), site.clock.clone())?;
    if !journal.facts().iter().any(|fact| matches!(fact, Fact::UndoBegan { .. } | Fact::Undone)) {
        // The changes of an interrupted command are only known now.
        note_interrupted(&root, &mut journal)?;
    }
    let past = Past::read(journal.facts());
    if journal.facts().contains(&Fact::Undone) {
        return Ok(undone(journal.facts(), journal.directory()));
    }
    past.sweep(&root);
    let work = Work::plan(&root, &past, later)?;
    work.check_kept(&journal)?;
    begin(&mut journal, &past, &work)?;
    work.remove(&root)?;
    work.restore(&root, &journal, &past.id)?;
    remove_emptied(&root, past.directories.iter().map(|name| root.join(name)).collect());
    journal.note(Fact::Undone)?;
    Ok(work.combined_result(&past, &journal))
}

/// The result of a completed undo, from the facts of its journal: the process that did it may have been killed before
/// it reported the result.
pub fn undone(facts: &[Fact], journal: &Path) -> Undone {
    let past = Past::read(facts);
    let files = past.files.iter().filter(|file| !past.keep.contains(&file.name));
    let mut undone = Undone {
        kept: past.keep.iter().cloned().collect(),
        remaining: past.remaining(),
        ..Undone::default()
    };
    files.for_each(|file| undone.add(file, journal));
    undone
}

/// Records that the undo begins. The reserved disk space is released for it, in case the disk is full.
fn begin(journal: &mut Journal, past: &Past, work: &Work<'_>) -> Result<(), UndoError> {
    journal.release();
    if past.began && work.kept.iter().all(|file| past.keep.contains(file)) {
        return Ok(());
    }
    Ok(journal.note(Fact::UndoBegan { keep: work.kept.clone() })?)
}

/// What a batch did, as far as the undo needs it.
#[derive(Debug, Default)]
struct Past {
    id: String,
    files: Vec<File>,
    /// Directories that it created, outermost first.
    directories: Vec<String>,
    remaining: Vec<String>,
    /// Files that commands changed and of which no copy is kept.
    left: BTreeSet<String>,
    /// Temporary siblings of changes that began and did not end.
    half_written: Vec<(usize, String)>,
    /// Whether an undo began, and which files it was to leave alone.
    began: bool,
    keep: BTreeSet<String>,
}

/// A file that the batch changed.
#[derive(Debug)]
struct File {
    name: String,
    /// Its state before the batch.
    before: Option<SavedFile>,
    /// The states that the batch may have left; two if it is unknown whether the last change was made.
    ours: Vec<Option<LeftFile>>,
    /// Its digest after a command, if the content of the file changed while the command ran.
    after_command: Option<String>,
    /// Whether a command changed more than the content, so that a file with the previous content may still have to be
    /// restored.
    is_more_than_content: bool,
    /// Whether another program or a person changed it while the batch ran: then it is not only the batch's.
    mixed: bool,
}

/// A file or symbolic link as the batch left it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeftFile {
    sha256: String,
    /// `None` for a file with any permissions.
    mode: Option<u32>,
}

impl LeftFile {
    fn of_content(sha256: &Option<String>) -> Option<Self> {
        sha256.clone().map(|sha256| Self { sha256, mode: None })
    }
}

impl File {
    /// Whether the path is as it was before the batch.
    fn is_back(&self, now: &PathState) -> bool {
        let is_same = |image: &SavedFile| {
            let mode = if self.is_more_than_content { Some(image.mode) } else { None };
            is_as_left(
                now,
                &LeftFile { sha256: image.sha256.clone(), mode: mode.or_else(|| link_mode(image)) },
            )
        };
        self.before.as_ref().map_or(now.entry().is_none(), is_same)
    }

    /// Whether the path is as the batch left it.
    fn is_ours(&self, now: &PathState) -> bool {
        self.ours.iter().any(|left| left.as_ref().map_or(now.entry().is_none(), |left| is_as_left(now, left)))
    }
}

fn link_mode(image: &SavedFile) -> Option<u32> {
    is_link(image.mode).then_some(image.mode)
}

fn is_as_left(now: &PathState, left: &LeftFile) -> bool {
    let is_like = |mode: u32| left.mode.map_or(!is_link(mode), |left| is_same_mode(mode, left));
    now.entry().is_some_and(|entry| is_like(entry.mode)) && now.digest().as_ref() == Some(&left.sha256)
}

impl Past {
    /// What cannot be undone.
    fn remaining(&self) -> Vec<String> {
        let left = self.left.iter().map(|name| format!("{name}, of which no copy was kept"));
        self.remaining.iter().cloned().chain(left).collect()
    }

    fn read(facts: &[Fact]) -> Self {
        let mut past = Self::default();
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        for (at, fact) in facts.iter().enumerate() {
            match fact {
                Fact::Started { id, .. } => past.id.clone_from(id),
                Fact::Began { n, intent: Some(intent), .. } => {
                    intent.all().for_each(|intent| past.began_file(&mut files, *n, intent, &facts[at + 1..]));
                }
                Fact::Began { n, what, intent: None, .. } if fact.is_irreversible() => {
                    // If it is known what the command changed, that is undone.
                    let is_known =
                        |fact: &Fact| matches!(fact, Fact::CommandChanged { n: of, .. } if of == n);
                    let other = if facts.iter().any(is_known) { "other effects of " } else { "" };
                    past.remaining.push(format!("{other}{what}"));
                }
                Fact::Changed { files: changed } => {
                    for (name, digest) in changed {
                        if let Some(file) = files.get_mut(name) {
                            file.ours = vec![LeftFile::of_content(digest)];
                            file.after_command.clone_from(digest);
                        }
                    }
                }
                Fact::CommandChanged { files: changed, left, .. } => {
                    changed.iter().for_each(|(name, change)| command_changed(&mut files, name, change));
                    past.left.extend(left.iter().cloned());
                }
                Fact::UndoBegan { keep } => {
                    past.began = true;
                    past.keep.extend(keep.iter().cloned());
                }
                Fact::Began { intent: None, .. }
                | Fact::Snapshot { .. }
                | Fact::Ended { .. }
                | Fact::Finished
                | Fact::Undone => {}
            }
        }
        past.files = files.into_values().collect();
        past.remaining.dedup();
        past
    }

    fn began_file(&mut self, files: &mut BTreeMap<String, File>, n: usize, intent: &Intent, later: &[Fact]) {
        let before = intent.before.as_ref().map(|image| image.sha256.clone());
        let file = files.entry(intent.file.clone()).or_insert_with(|| File {
            name: intent.file.clone(),
            before: intent.before.clone(),
            ours: vec![LeftFile::of_content(&before)],
            after_command: None,
            is_more_than_content: false,
            mixed: false,
        });
        let after = LeftFile::of_content(&intent.after);
        let next = later.iter().find(
            |fact| matches!(fact, Fact::Began { n: other, .. } | Fact::Ended { n: other, .. } if *other == n),
        );
        let is_before = |left: &Option<LeftFile>| left.as_ref().map(|left| &left.sha256) == before.as_ref();
        file.mixed |= !file.ours.iter().any(is_before);
        file.ours = vec![LeftFile::of_content(&before)];
        match next {
            Some(Fact::Ended { settled, .. }) => match settled.outcome {
                Outcome::Done { .. } => file.ours = vec![after],
                // The change may be in place although its last step, such as syncing, failed.
                Outcome::Failed { .. } | Outcome::Skipped { .. } => file.ours.push(after),
            },
            // The change was repeated after an interruption that had left the file unchanged.
            Some(_) => {}
            None => {
                file.ours.push(after);
                self.half_written.push((n, intent.file.clone()));
            }
        }
        let new = intent.directories.iter().filter(|name| !self.directories.contains(name));
        let new: Vec<_> = new.cloned().collect();
        self.directories.extend(new);
    }

    /// Removes temporary siblings that a kill left behind.
    fn sweep(&self, root: &Path) {
        for (n, file) in &self.half_written {
            let _ = remove(&temporary(&self.id, *n, &root.join(file)));
        }
        for file in &self.files {
            let _ = remove(&restoring(&self.id, &root.join(&file.name)));
        }
    }
}

/// Applies a command's change to a file. If the batch had changed it before, its state before the batch is already
/// known.
fn command_changed(files: &mut BTreeMap<String, File>, name: &str, change: &CommandChange) {
    let file = files.entry(name.to_owned()).or_insert_with(|| File {
        name: name.to_owned(),
        before: change.before.clone(),
        ours: Vec::new(),
        after_command: None,
        is_more_than_content: false,
        mixed: false,
    });
    let left = change.after.clone().map(|sha256| LeftFile { sha256, mode: change.after_mode });
    file.ours = vec![left];
    file.is_more_than_content |= change.after_mode.is_some();
    // The copy of a link has only its target, and that of an unchanged content is the file itself.
    let before = change.before.as_ref().map(|before| &before.sha256);
    let is_copy = !change.after_mode.is_some_and(is_link) && change.after.as_ref() != before;
    if is_copy {
        file.after_command.clone_from(&change.after);
    }
}

/// The name of the temporary sibling from which a file is restored. No action has this number.
fn restoring(id: &str, real: &Path) -> PathBuf {
    temporary(id, usize::MAX, real)
}

/// The files to restore, to delete and to leave alone.
#[derive(Debug, Default)]
struct Work<'a> {
    remove: Vec<&'a File>,
    restore: Vec<&'a File>,
    /// The files that an earlier undo restored.
    already: Vec<&'a File>,
    kept: Vec<String>,
}

impl<'a> Work<'a> {
    fn plan(root: &Path, past: &'a Past, later: LaterChanges) -> Result<Self, UndoError> {
        let mut work = Self::default();
        let mut restore = Vec::new();
        for file in &past.files {
            match look(root, &file.name) {
                Ok(now) if file.is_back(&now) => work.already.extend(past.began.then_some(file)),
                Ok(_) if file.mixed => work.kept.push(file.name.clone()),
                Ok(now) if file.is_ours(&now) && file.before.is_none() => work.remove.push(file),
                Ok(now) if file.is_ours(&now) => restore.push((file, now)),
                Ok(_) | Err(_) => work.kept.push(file.name.clone()),
            }
        }
        for (file, now) in restore {
            if work.makes_way(root, file, &now) {
                work.restore.push(file);
            } else {
                work.kept.push(file.name.clone());
            }
        }
        work.kept.sort();
        let unknown: Vec<_> = work.kept.iter().filter(|file| !past.keep.contains(*file)).cloned().collect();
        match later {
            LaterChanges::Refuse if !unknown.is_empty() => {
                Err(UndoError::ChangedLater { files: unknown, is_begun: past.began })
            }
            LaterChanges::Refuse | LaterChanges::Keep => Ok(work),
        }
    }

    /// Whether removing the files that the batch created makes way for a file: they may be in a directory in its place, or
    /// in the place of its directory.
    fn makes_way(&self, root: &Path, file: &File, now: &PathState) -> bool {
        let is_removed = |name: &str| self.remove.iter().any(|removed| removed.name == name);
        match now {
            PathState::Nothing | PathState::Entry(_) => true,
            PathState::Behind(obstacle) => is_removed(obstacle),
            PathState::Directory => {
                let within = Within::of(&root.join(&file.name));
                let name =
                    |path: &PathBuf| path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned);
                within.is_ok_and(|within| {
                    within.others.iter().all(|path| name(path).is_some_and(|name| is_removed(&name)))
                })
            }
        }
    }

    /// Checks that all copies exist: restoring only some of the files would be useless.
    fn check_kept(&self, journal: &Journal) -> Result<(), JournalError> {
        let images = self.restore.iter().filter_map(|file| file.before.as_ref());
        images.map(|image| journal.kept(&image.sha256)).try_for_each(|kept| kept.map(drop))
    }

    /// The combined result of this undo and of an interrupted one before.
    fn combined_result(&self, past: &Past, journal: &Journal) -> Undone {
        let mut undone = Undone { kept: self.kept.clone(), remaining: past.remaining(), ..Undone::default() };
        for file in self.remove.iter().chain(&self.restore).chain(&self.already) {
            undone.add(file, journal.directory());
        }
        undone.restored.sort();
        undone.removed.sort();
        undone
    }

    /// Deletes created files first, because that frees space for the rest.
    fn remove(&self, root: &Path) -> Result<(), UndoError> {
        for file in &self.remove {
            let held = Held::open(root, &root.join(&file.name)).map_err(stuck(file))?;
            check_ours(root, file)?;
            remove(&held.file).map_err(stuck(file))?;
        }
        Ok(())
    }

    fn restore(&self, root: &Path, journal: &Journal, id: &str) -> Result<(), UndoError> {
        for file in &self.restore {
            let Some(image) = &file.before else { continue };
            put_back(root, id, file, image.mode, &journal.kept(&image.sha256)?)?;
        }
        Ok(())
    }
}

fn put_back(root: &Path, id: &str, file: &File, mode: u32, content: &[u8]) -> Result<(), UndoError> {
    let real = root.join(&file.name);
    if let Ok(PathState::Directory) = look(root, &file.name) {
        // Everything else in it was removed before. If something is there now, the file cannot be put there.
        let within = Within::of(&real).map_err(stuck(file))?;
        remove_emptied(root, within.directories);
    }
    let held = Held::make(root, &real).map_err(stuck(file))?;
    let temporary = restoring(id, &held.file);
    let written = if is_link(mode) {
        link_beside(&temporary, Path::new(OsStr::from_bytes(content)))
    } else {
        write_beside(&temporary, content, Some((mode, &held.file)))
    };
    let written = written.map_err(stuck(file)).and_then(|()| check_ours(root, file));
    if let Err(error) = written {
        let _ = remove(&temporary);
        return Err(error);
    }
    put(&temporary, &held.file).map_err(stuck(file))
}

/// What is in a directory, however deep.
struct Within {
    /// The directory itself, and those below it.
    directories: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

impl Within {
    fn of(directory: &Path) -> std::io::Result<Self> {
        let mut within = Self { directories: vec![directory.to_owned()], others: Vec::new() };
        let mut next = 0;
        while let Some(directory) = within.directories.get(next).cloned() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let is_directory = entry.file_type()?.is_dir();
                let list = if is_directory { &mut within.directories } else { &mut within.others };
                list.push(entry.path());
            }
            next += 1;
        }
        Ok(within)
    }
}

/// Checks right before the file is touched that it was not changed since it was compared.
fn check_ours(root: &Path, file: &File) -> Result<(), UndoError> {
    let why = match look(root, &file.name) {
        Ok(now) if file.is_ours(&now) => return Ok(()),
        Ok(_) => "another program changed it at this very moment".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(UndoError::Stuck { file: file.name.clone(), why })
}

/// Removes directories, innermost first. A directory that contains something else stays.
fn remove_emptied(root: &Path, mut directories: Vec<PathBuf>) {
    directories.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
    for directory in &directories {
        remove_empty(root, std::iter::once(directory));
    }
}

fn stuck<E: std::fmt::Display>(file: &File) -> impl Fn(E) -> UndoError {
    move |error| UndoError::Stuck { file: file.name.clone(), why: error.to_string() }
}
