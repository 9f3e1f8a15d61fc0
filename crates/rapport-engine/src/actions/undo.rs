//! Taking back what a batch did to files: all of them together, each to what it was before the batch. What somebody
//! changed since is not touched. An undo that was cut off is finished by the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rapport_core::{LaterChanges, UndoneFiles};
use rapport_durable::{folder, put, remove, sync_above, write_beside};
use thiserror::Error;

use super::batch::snapshot::note_command_changes;
use super::files::{digest_of, remove_empty, temporary};
use super::journal::{self, CommandChange, Fact, Image, Intent, Journal, JournalError};
use super::outcome::Outcome;
use super::{ActionError, Place};

/// What was undone. Paths are from the project's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Files that are as they were before.
    pub restored: Vec<String>,
    /// Files that were made, and are gone.
    pub removed: Vec<String>,
    /// Files that stay as they are, because they were changed after the batch.
    pub kept: Vec<String>,
    /// Of these, files that were changed while a command ran, by it or by somebody else, and where they are as they were then.
    pub set_aside: BTreeMap<String, PathBuf>,
    /// What was done and cannot be undone, such as `EXECUTE cargo test`.
    pub remaining: Vec<String>,
}

impl Undone {
    /// Adds a file that was brought back.
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
    /// Nothing was done.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// Files were changed after the batch; nothing was done.
    #[error("changed after the batch: {}", files.join(", "))]
    ChangedLater {
        /// Which, from the project's root.
        files: Vec<String>,
        /// Whether an undo before this one has undone a part.
        is_begun: bool,
    },
    /// A part is undone; doing it again goes on from there.
    #[error("cannot bring back {file}: {why}")]
    Stuck {
        /// The file that could not be restored.
        file: String,
        /// Why.
        why: String,
    },
}

impl From<JournalError> for UndoError {
    fn from(error: JournalError) -> Self {
        ActionError::from(error).into()
    }
}

/// Undoes the batch of this place. May block.
pub fn undo(place: &Place, later: LaterChanges) -> Result<Undone, UndoError> {
    let root = place.project.canonicalize();
    let root = root.map_err(|error| ActionError::Project { path: place.project.clone(), error })?;
    if !Journal::is_in(&place.journal) {
        return Err(ActionError::NoBatch { path: place.journal.clone() }.into());
    }
    let mut journal = Journal::open(&place.journal, place.seals.clone(), place.clock.clone())?;
    if !journal.facts().iter().any(|fact| matches!(fact, Fact::UndoBegan { .. } | Fact::Undone)) {
        // A command that was cut off: what it did is only known by now.
        note_command_changes(&root, &mut journal)?;
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
    remove_emptied(&root, &past.directories);
    journal.note(Fact::Undone)?;
    Ok(work.told(&past, &journal))
}

/// What came of an undo that was carried to its end, from the facts in this journal: whoever did it may have been killed before
/// it could tell.
pub fn undone(facts: &[Fact], journal: &Path) -> Undone {
    let past = Past::read(facts);
    let files = past.files.iter().filter(|file| !past.keep.contains(&file.name));
    let mut undone = Undone {
        kept: past.keep.union(&past.left).cloned().collect(),
        remaining: past.remaining.clone(),
        ..Undone::default()
    };
    files.for_each(|file| undone.add(file, journal));
    undone
}

/// Notes that files are about to be brought back. The space that was set aside is what a full disk has for it.
fn begin(journal: &mut Journal, past: &Past, work: &Work<'_>) -> Result<(), UndoError> {
    journal.release();
    if past.began && work.kept.iter().all(|file| past.keep.contains(file)) {
        return Ok(());
    }
    Ok(journal.note(Fact::UndoBegan { keep: work.kept.clone() })?)
}

/// What a batch did, as far as undoing has to know.
#[derive(Debug, Default)]
struct Past {
    id: String,
    files: Vec<File>,
    /// Directories that were made, outermost first.
    directories: Vec<String>,
    remaining: Vec<String>,
    /// Files that commands changed, and that are not kept.
    left: BTreeSet<String>,
    /// What may lie beside files: begun and not ended.
    half_written: Vec<(usize, String)>,
    /// Whether an undo was begun, and which files it was to leave alone.
    began: bool,
    keep: BTreeSet<String>,
}

/// A file that the batch changed.
#[derive(Debug)]
struct File {
    name: String,
    /// As it was before the batch.
    before: Option<Image>,
    /// What the batch made of it; two where it is not known how far it came.
    ours: Vec<Option<String>>,
    /// What it was after a command that changed it, or during which somebody did.
    after_command: Option<String>,
    /// Whether somebody else changed it while the batch ran: then it is theirs too.
    mixed: bool,
}

impl Past {
    fn read(facts: &[Fact]) -> Self {
        let mut past = Self::default();
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        for (at, fact) in facts.iter().enumerate() {
            match fact {
                Fact::Started { id, .. } => past.id.clone_from(id),
                Fact::Began { n, intent: Some(intent), .. } => {
                    intent.all().for_each(|intent| past.began_file(&mut files, *n, intent, &facts[at + 1..]));
                }
                Fact::Began { what, intent: None, .. } => {
                    past.remaining.extend(fact.is_irreversible().then(|| what.clone()));
                }
                Fact::Changed { files: changed } => {
                    for (name, digest) in changed {
                        if let Some(file) = files.get_mut(name) {
                            file.ours = vec![digest.clone()];
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
                Fact::Snapshot { .. } | Fact::Ended { .. } | Fact::Finished | Fact::Undone => {}
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
            ours: vec![before.clone()],
            after_command: None,
            mixed: false,
        });
        let after = intent.after.clone();
        let next = later.iter().find(
            |fact| matches!(fact, Fact::Began { n: other, .. } | Fact::Ended { n: other, .. } if *other == n),
        );
        file.mixed |= !file.ours.contains(&before);
        file.ours = vec![before];
        match next {
            Some(Fact::Ended { settled, .. }) => match settled.outcome {
                Outcome::Done { .. } => file.ours = vec![after],
                // Where the last step failed, such as syncing, it is there all the same.
                Outcome::Failed { .. } | Outcome::Skipped { .. } => file.ours.push(after),
            },
            // Begun again: it was found as it was before.
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

    /// Removes what a kill left beside files.
    fn sweep(&self, root: &Path) {
        for (n, file) in &self.half_written {
            let _ = remove(&temporary(&self.id, *n, &root.join(file)));
        }
        for file in &self.files {
            let _ = remove(&restoring(&self.id, &root.join(&file.name)));
        }
    }
}

/// Takes in what a command did to a file. Of one that the batch had changed before, it is known how it was before the batch.
fn command_changed(files: &mut BTreeMap<String, File>, name: &str, change: &CommandChange) {
    let file = files.entry(name.to_owned()).or_insert_with(|| File {
        name: name.to_owned(),
        before: change.before.clone(),
        ours: Vec::new(),
        after_command: None,
        mixed: false,
    });
    file.ours = vec![change.after.clone()];
    file.after_command.clone_from(&change.after);
}

/// The name under which a file is written before it takes its place again. No action has this number.
fn restoring(id: &str, real: &Path) -> PathBuf {
    temporary(id, usize::MAX, real)
}

/// What is to be done.
#[derive(Debug, Default)]
struct Work<'a> {
    remove: Vec<&'a File>,
    restore: Vec<&'a File>,
    /// What an undo before this one brought back.
    already: Vec<&'a File>,
    kept: Vec<String>,
}

impl<'a> Work<'a> {
    fn plan(root: &Path, past: &'a Past, later: LaterChanges) -> Result<Self, UndoError> {
        let mut work = Self::default();
        for file in &past.files {
            let before = file.before.as_ref().map(|image| image.sha256.clone());
            let now = digest_of(root, &file.name);
            match now {
                Ok(now) if now == before => work.already.extend(past.began.then_some(file)),
                Ok(_) if file.mixed => work.kept.push(file.name.clone()),
                Ok(now) if file.ours.contains(&now) && file.before.is_none() => work.remove.push(file),
                Ok(now) if file.ours.contains(&now) => work.restore.push(file),
                Ok(_) | Err(_) => work.kept.push(file.name.clone()),
            }
        }
        let unknown: Vec<_> = work.kept.iter().filter(|file| !past.keep.contains(*file)).cloned().collect();
        match later {
            LaterChanges::Refuse if !unknown.is_empty() => {
                Err(UndoError::ChangedLater { files: unknown, is_begun: past.began })
            }
            LaterChanges::Refuse | LaterChanges::Keep => Ok(work),
        }
    }

    /// Whether everything is there that it takes: half of the files as they were would be of no use.
    fn check_kept(&self, journal: &Journal) -> Result<(), JournalError> {
        let images = self.restore.iter().filter_map(|file| file.before.as_ref());
        images.map(|image| journal.kept(&image.sha256)).try_for_each(|kept| kept.map(drop))
    }

    /// All that is undone now, whether by this undo or by one before that was cut off.
    fn told(&self, past: &Past, journal: &Journal) -> Undone {
        let kept = self.kept.iter().chain(&past.left).cloned().collect();
        let mut undone = Undone { kept, remaining: past.remaining.clone(), ..Undone::default() };
        for file in self.remove.iter().chain(&self.restore).chain(&self.already) {
            undone.add(file, journal.directory());
        }
        undone.restored.sort();
        undone.removed.sort();
        undone
    }

    /// First what was made, because that gives space for the rest.
    fn remove(&self, root: &Path) -> Result<(), UndoError> {
        for file in &self.remove {
            check_ours(root, file)?;
            remove(&root.join(&file.name)).map_err(stuck(file))?;
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
    let temporary = restoring(id, &real);
    folder(real.parent().unwrap_or(root)).map_err(stuck(file))?;
    if let Err(error) = write_beside(&temporary, content, Some((mode, &real))) {
        let _ = remove(&temporary);
        return Err(stuck(file)(error));
    }
    check_ours(root, file)?;
    put(&temporary, &real).map_err(stuck(file))
}

/// Right before it is touched: nobody else changed it since it was looked at.
fn check_ours(root: &Path, file: &File) -> Result<(), UndoError> {
    match digest_of(root, &file.name) {
        Ok(now) if file.ours.contains(&now) => Ok(()),
        Ok(_) => {
            let why = "somebody changed it at this very moment".to_owned();
            Err(UndoError::Stuck { file: file.name.clone(), why })
        }
        Err(error) => Err(UndoError::Stuck { file: file.name.clone(), why: error.to_string() }),
    }
}

/// Innermost first; what somebody put something into stays.
fn remove_emptied(root: &Path, directories: &[String]) {
    let mut directories: Vec<_> = directories.iter().map(|name| root.join(name)).collect();
    directories.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
    for directory in &directories {
        for removed in remove_empty(std::iter::once(directory)) {
            let _ = sync_above(removed);
        }
    }
}

fn stuck(file: &File) -> impl Fn(io::Error) -> UndoError {
    move |error| UndoError::Stuck { file: file.name.clone(), why: error.to_string() }
}
