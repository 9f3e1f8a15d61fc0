//! The journal of a batch, a write-ahead log: intents and results, one fact per line, each synced before anything
//! depends on it. Beside it are copies of the files before the changes, named by their content.
//!
//! ```text
//! journal.jsonl     the facts; append only, each line with a checksum
//! before/SHA256     files before they were changed
//! reserve           disk space that undoing can use when the disk is full
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outcome::TimedOutcome;
use super::path_state::is_link;
use crate::clock::Clock;
use crate::seals::{self, Seal, Sealing, Seals, Verifier};
use rapport_durable::{
    AppendLog, Flush, Reserve, checked_line, digest, open_own, private_folder, read_own, replace_private,
};

/// The latest format of lines. Each line has the oldest format that can express it: format 2 adds intents that leave no
/// file, `also`, and snapshots for the changes of commands; format 3 adds symbolic links, and changes of modes.
const FORMAT: u32 = 3;
/// The disk space to reserve before the first action: the most that an undo writes in addition to the files it
/// restores.
pub(super) const RESERVE: u64 = 16 * 1024;

/// One intent or result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A batch was approved.
    Started {
        /// Its unique id.
        id: String,
        /// The digest of its plan.
        plan: String,
        /// For each action, why it is skipped; `None` if it is to be run.
        skip: Vec<Option<String>>,
    },
    /// An action is about to run.
    Began {
        n: usize,
        /// A short description.
        what: String,
        intent: Option<Intent>,
        /// Whether it does more than the journal records ([`rapport_core::ActionKind::is_irreversible`]). It is
        /// stored, because the plan may have been removed when this is needed. Journals of older versions lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        irreversible: Option<bool>,
    },
    /// An action ended, successfully or not.
    Ended { n: usize, settled: TimedOutcome },
    /// A command changed files that earlier actions had changed; the current state belongs to the batch.
    Changed {
        /// The files, from the project's root, with their digests; `None` if a file no longer exists.
        files: BTreeMap<String, Option<String>>,
    },
    /// The state of the project's files before a command, as a Git tree.
    Snapshot {
        /// The index of the command's action, from 0.
        n: usize,
        /// The tree's name.
        tree: String,
    },
    /// A command's changes to files, compared with the state before it; they belong to the batch.
    CommandChanged {
        /// The index of the command's action, from 0.
        n: usize,
        /// The files, from the project's root.
        files: BTreeMap<String, CommandChange>,
        /// Paths that it also changed and of which no copy is kept: large files, and repositories of their own. An undo
        /// leaves them alone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// The batch has ended.
    Finished,
    /// The batch is about to be undone.
    UndoBegan {
        /// Files that an undo leaves alone, because they were changed later.
        keep: Vec<String>,
    },
    /// The batch was undone.
    Undone,
}

impl Fact {
    /// The oldest format that can express this fact.
    fn format(&self) -> u32 {
        match self {
            Fact::Began { intent: Some(intent), .. } if intent.all().any(|intent| intent.after.is_none()) => {
                2
            }
            Fact::CommandChanged { files, .. }
                if files.values().any(CommandChange::is_of_more_than_content) =>
            {
                3
            }
            Fact::Snapshot { .. } | Fact::CommandChanged { .. } => 2,
            _ => 1,
        }
    }

    /// Whether an action began that cannot be undone and that, if it was interrupted, may or may not have run.
    pub fn is_irreversible(&self) -> bool {
        match self {
            Fact::Began { irreversible: Some(irreversible), .. } => *irreversible,
            // Written by an older version: only the description tells, which begins with the name of the kind.
            Fact::Began { what, irreversible: None, .. } => {
                what.split(' ').next().is_some_and(|name| ["EXECUTE", "INVOKE"].contains(&name))
            }
            Fact::Started { .. }
            | Fact::Ended { .. }
            | Fact::Changed { .. }
            | Fact::Snapshot { .. }
            | Fact::CommandChanged { .. }
            | Fact::Finished
            | Fact::UndoBegan { .. }
            | Fact::Undone => false,
        }
    }
}

/// A command's change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChange {
    /// The file before; `None` if it did not exist.
    pub before: Option<SavedFile>,
    /// The digest of its content afterwards, which names its copy under `before/`; `None` if it was gone.
    pub after: Option<String>,
    /// Its mode afterwards, with the type of a symbolic link, if more than its content changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_mode: Option<u32>,
}

impl CommandChange {
    fn is_of_more_than_content(&self) -> bool {
        self.after_mode.is_some() || self.before.as_ref().is_some_and(|before| is_link(before.mode))
    }
}

/// An action's intended change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The file, from the project's root, without symbolic links.
    pub file: String,
    /// The file before; `None` if it does not exist.
    pub before: Option<SavedFile>,
    /// The digest of its new content; `None` if it will be deleted.
    pub after: Option<String>,
    /// Directories to create, from the project's root, outermost first.
    pub directories: Vec<String>,
    /// The other file that changes at the same time: for a move, the old path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Box<Intent>>,
}

impl Intent {
    /// Every file that changes.
    pub fn all(&self) -> impl Iterator<Item = &Intent> {
        std::iter::successors(Some(self), |intent| intent.also.as_deref())
    }
}

/// A file before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    /// The digest of its content, which names its copy under `before/`. The content of a symbolic link is its target.
    pub sha256: String,
    /// Its permissions; for a symbolic link, with the type of one.
    pub mode: u32,
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The operating system reported an error.
    #[error("cannot {doing} {}: {error}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// It differs from what was written.
    #[error("line {line} of {} is damaged: {what}", path.display())]
    Damaged {
        /// The journal, or a file beside it.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A newer program wrote it.
    #[error("{} has format {found}, and this program knows up to {FORMAT}", path.display())]
    Newer { path: PathBuf, found: u32 },
    /// It is not trusted here: nothing is run or undone for it.
    #[error("the batch in {} {seal}", path.display())]
    NotOurs {
        path: PathBuf,
        /// The result of checking its signature.
        seal: Seal,
    },
    /// Another process has the journal's lock.
    #[error("another process is working on the batch in {}", path.display())]
    Busy { path: PathBuf },
}

/// An open journal, locked against other writers.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    path: PathBuf,
    log: AppendLog,
    facts: Vec<Fact>,
    reserve: Reserve,
    sealing: Sealing,
    clock: Clock,
}

impl Journal {
    /// Opens the journal in this directory, and creates both if necessary. The unfinished end of a previous writer is
    /// truncated. With a person's seals, a journal that they do not trust is refused and not changed.
    pub fn open(directory: &Path, seals: Option<Arc<Seals>>, clock: Clock) -> Result<Self, JournalError> {
        private_folder(directory).map_err(io_error("create the directory", directory))?;
        let path = directory.join("journal.jsonl");
        let mut log = AppendLog::open_or_create(&path).map_err(io_error("open", &path))?;
        if !log.try_lock().map_err(io_error("lock", &path))? {
            return Err(JournalError::Busy { path: directory.to_owned() });
        }
        let mut sealing = Sealing::new(seals, scope(directory));
        let mut verifier = sealing.verifier().map_err(io_error("check the seals of", &path))?;
        let bytes = log.read().map_err(io_error("read", &path))?;
        let (facts, good) =
            scan(&path, &bytes, |line| verifier.iter_mut().for_each(|verifier| verifier.take(line)))?;
        let seal = seals::verdict(verifier.as_ref());
        match facts.is_empty() {
            // An earlier journal of this name may have been removed.
            true => sealing.begin().map_err(io_error("begin the seals of", &path))?,
            false if !seal.counts() => {
                return Err(JournalError::NotOurs { path: directory.to_owned(), seal });
            }
            false => sealing
                .resume(verifier.as_ref(), || log.sync())
                .map_err(io_error("check the seals of", &path))?,
        }
        log.accept(good).map_err(io_error("cut off the unfinished end of", &path))?;
        let reserve = Reserve::at(directory.join("reserve"));
        Ok(Self { directory: directory.to_owned(), path, log, facts, reserve, sealing, clock })
    }

    /// Reads the journal without locking it; a writer may still be appending.
    pub fn read(directory: &Path) -> Result<Vec<Fact>, JournalError> {
        let path = directory.join("journal.jsonl");
        let bytes = read_own(&path).map_err(io_error("read", &path))?;
        scan(&path, &bytes, |_| ()).map(|(facts, _)| facts)
    }

    /// Reads the journal for a person who decides whether to trust it, and returns the verifier as well.
    pub fn look(directory: &Path, seals: &Seals) -> Result<(Vec<Fact>, Verifier), JournalError> {
        let path = directory.join("journal.jsonl");
        let mut verifier =
            seals.verifier(&scope(directory)).map_err(io_error("check the seals of", &path))?;
        let bytes = read_own(&path).map_err(io_error("read", &path))?;
        let (facts, _) = scan(&path, &bytes, |line| verifier.take(line))?;
        Ok((facts, verifier))
    }

    /// Reads the journal without locking it, if it is trusted: with a person's seals, a journal of others is refused.
    /// A writer may still be appending.
    pub fn counted(directory: &Path, seals: Option<&Seals>) -> Result<Vec<Fact>, JournalError> {
        let Some(seals) = seals else { return Self::read(directory) };
        let (facts, verifier) = Self::look(directory, seals)?;
        match verifier.seal() {
            seal if seal.counts() => Ok(facts),
            seal => Err(JournalError::NotOurs { path: directory.to_owned(), seal }),
        }
    }

    /// Whether a writer has the journal's lock.
    pub fn is_held(directory: &Path) -> bool {
        AppendLog::is_locked(&directory.join("journal.jsonl")).unwrap_or(false)
    }

    /// Whether this directory contains a batch. A kill in the middle of its first line leaves a journal of a batch
    /// that never began.
    pub fn is_in(directory: &Path) -> bool {
        let Ok(journal) = open_own(&directory.join("journal.jsonl")) else { return false };
        let mut first = Vec::new();
        let read = BufReader::new(journal).read_until(b'\n', &mut first);
        read.is_ok() && first.ends_with(b"\n")
    }

    /// All facts, in order.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends a fact. It is durable when this returns; if it fails, nothing was appended.
    pub fn note(&mut self, fact: Fact) -> Result<(), JournalError> {
        let object = object(self.facts.len() as u64 + 1, self.clock.now(), &fact)
            .map_err(|error| io_error("write to", &self.path)(error.into()))?;
        let line = self.sealing.line(object).map_err(io_error("seal a fact of", &self.path))?;
        self.log.append(&line).map_err(|error| io_error("write to", &self.path)(io::Error::other(error)))?;
        self.facts.push(fact);
        self.sealing.advance(&line);
        self.sealing.remember(Flush::Later);
        Ok(())
    }

    /// Stores a copy of a file before it is changed, and reserves the disk space that restoring it needs.
    pub(super) fn keep(&mut self, content: &[u8]) -> Result<String, JournalError> {
        let sha256 = digest(content);
        let folder = self.directory.join("before");
        let kept = self.path_of(&sha256);
        self.reserve(content.len() as u64 + RESERVE)?;
        if fs::metadata(&kept).is_ok_and(|kept| kept.len() == content.len() as u64) {
            return Ok(sha256);
        }
        private_folder(&folder).map_err(io_error("create the directory", &folder))?;
        // The original may be a file that only its owner may read.
        replace_private(&kept, content).map_err(io_error("store the previous content in", &kept))?;
        Ok(sha256)
    }

    /// The content of a file before the batch in this directory; `None` if no action of it was to change the file.
    pub fn before(directory: &Path, file: &str) -> Result<Option<Option<Vec<u8>>>, JournalError> {
        let facts = Self::read(directory)?;
        let intents = facts.iter().filter_map(|fact| match fact {
            Fact::Began { intent, .. } => intent.as_ref(),
            _ => None,
        });
        let Some(first) = intents.flat_map(Intent::all).find(|intent| intent.file == file) else {
            return Ok(None);
        };
        Ok(Some(first.before.as_ref().map(|image| kept(directory, &image.sha256)).transpose()?))
    }

    /// The path of a stored copy.
    pub(super) fn path_of(&self, sha256: &str) -> PathBuf {
        path_of(&self.directory, sha256)
    }

    /// The content of a stored copy, checked against its digest.
    pub(super) fn kept(&self, sha256: &str) -> Result<Vec<u8>, JournalError> {
        kept(&self.directory, sha256)
    }

    /// Grows the reserve of disk space to this size.
    pub(super) fn reserve(&mut self, size: u64) -> Result<(), JournalError> {
        self.reserve.grow(size).map_err(|error| io_error("set space aside in", self.reserve.path())(error))
    }

    /// Frees the reserve of disk space.
    pub(super) fn release(&mut self) {
        self.reserve.release();
    }
}

/// The path of a stored copy in this journal's directory.
pub(super) fn path_of(directory: &Path, sha256: &str) -> PathBuf {
    directory.join("before").join(sha256)
}

/// The content of a stored copy, checked against its digest.
fn kept(directory: &Path, sha256: &str) -> Result<Vec<u8>, JournalError> {
    let path = path_of(directory, sha256);
    let content = read_own(&path).map_err(io_error("read", &path))?;
    if digest(&content) != sha256 {
        let what = "its content does not match its name".to_owned();
        return Err(JournalError::Damaged { path, line: 1, what });
    }
    Ok(content)
}

fn object(seq: u64, at: Timestamp, fact: &Fact) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Line<'a> {
        v: u32,
        seq: u64,
        at: Timestamp,
        #[serde(flatten)]
        fact: &'a Fact,
    }
    serde_json::to_vec(&Line { v: fact.format(), seq, at, fact })
}

/// Parses the facts in these bytes, and returns their length. Bytes after the last newline were never acknowledged.
fn scan(path: &Path, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(Vec<Fact>, u64), JournalError> {
    let mut facts = Vec::new();
    let mut good = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        facts.push(decode(path, whole, facts.len() + 1)?);
        each(whole);
        good += line.len() as u64;
    }
    Ok((facts, good))
}

fn decode(path: &Path, line: &[u8], number: usize) -> Result<Fact, JournalError> {
    #[derive(Deserialize)]
    struct Head {
        v: u32,
        seq: usize,
    }
    let damaged = |what: String| JournalError::Damaged { path: path.to_owned(), line: number, what };
    if !checked_line::is_intact(line) {
        return Err(damaged("its checksum is wrong".to_owned()));
    }
    let head: Head = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
    if head.v > FORMAT {
        return Err(JournalError::Newer { path: path.to_owned(), found: head.v });
    }
    if head.seq != number {
        return Err(damaged(format!("it is fact {} where fact {number} belongs", head.seq)));
    }
    let fact = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
    if has_names(&fact) { Ok(fact) } else { Err(damaged("it contains an invalid name".to_owned())) }
}

/// Whether strings that become part of a path have the form of our names: hex digits of a digest, or of a random id.
fn has_names(fact: &Fact) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_digest = |text: &String| text.len() == 64 && is_hex(text);
    match fact {
        Fact::Started { id, .. } => id.len() == 32 && is_hex(id),
        Fact::Began { intent: Some(intent), .. } => intent.all().all(|intent| {
            intent.before.as_ref().is_none_or(|image| is_digest(&image.sha256))
                && intent.after.as_ref().is_none_or(is_digest)
        }),
        Fact::Changed { files } => files.values().flatten().all(is_digest),
        Fact::Snapshot { tree, .. } => matches!(tree.len(), 40 | 64) && is_hex(tree),
        Fact::CommandChanged { files, .. } => files.values().all(|change| {
            let before = change.before.as_ref().map(|image| &image.sha256);
            before.into_iter().chain(&change.after).all(is_digest)
        }),
        Fact::Began { intent: None, .. }
        | Fact::Ended { .. }
        | Fact::Finished
        | Fact::UndoBegan { .. }
        | Fact::Undone => true,
    }
}

/// The scope of a journal's seals: the name of its directory.
fn scope(directory: &Path) -> String {
    format!("batch {}", directory.file_name().unwrap_or_default().to_string_lossy())
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> JournalError {
    move |error| JournalError::Io { doing, path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(what: &str, irreversible: Option<bool>) -> Fact {
        Fact::Began { n: 0, what: what.into(), intent: None, irreversible }
    }

    #[test]
    fn what_cannot_be_undone_is_a_field_and_not_the_first_word() {
        assert!(began("RUN make", Some(true)).is_irreversible());
        assert!(!began("EXECUTE", Some(false)).is_irreversible());
        assert!(!Fact::Finished.is_irreversible());
    }

    #[test]
    fn a_journal_of_an_older_version_tells_it_by_the_name_of_the_kind() {
        for (what, expected) in [("EXECUTE make", true), ("INVOKE Tester", true), ("READ EXECUTE.md", false)]
        {
            let old = serde_json::json!({ "fact": "began", "n": 0, "what": what, "intent": null });
            let fact: Fact = serde_json::from_value(old).unwrap();
            assert_eq!(fact, began(what, None));
            assert_eq!(fact.is_irreversible(), expected, "{what}");
        }
    }
}
