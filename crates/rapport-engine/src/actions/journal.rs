//! The journal of a batch: what was about to be done and what was done, one fact per line, each synced before anything
//! follows from it. Beside it, the files as they were before, named by their content.
//!
//! ```text
//! journal.jsonl     the facts; append only, each line with a checksum
//! before/SHA256     files as they were
//! reserve           space that undoing can count on when the disk is full
//! ```

use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::outcome::Settled;
use crate::clock::Clock;
use crate::seals::{self, Seal, Sealing, Seals, Verifier};
use rapport_durable::{
    AppendLog, Flush, Reserve, checked_line, digest, open_own, private_folder, read_own, replace_private,
};

/// The latest format of lines. A line has the oldest that can say what it says: in 2, an intent may leave no file, and has `also`, and what
/// commands did is known by snapshots.
const FORMAT: u32 = 2;
/// The least that is set aside, before anything is done: what undoing writes at most beside the files it restores.
pub(super) const RESERVE: u64 = 16 * 1024;

/// One thing that was about to be done, or was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A batch was approved.
    Started {
        /// Its name, unlike any other.
        id: String,
        /// What it carries out, as a digest.
        plan: String,
        /// For each action, why it is not to be done; nothing where it is.
        skip: Vec<Option<String>>,
    },
    /// An action is about to be done.
    Began {
        /// Which, from 0.
        n: usize,
        /// What it is, in words.
        what: String,
        /// What it will change.
        intent: Option<Intent>,
        /// Whether it does more than is noted here ([`rapport_core::ActionKind::is_irreversible`]): the plan may be gone when
        /// somebody asks. Journals of older versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        irreversible: Option<bool>,
    },
    /// An action was done, or failed.
    Ended {
        /// Which, from 0.
        n: usize,
        /// How.
        settled: Settled,
    },
    /// A command of the batch changed files that actions before it had changed: what they are now is the batch's doing.
    Changed {
        /// The files, from the project's root, and the digest of what they are; nothing where they are gone.
        files: BTreeMap<String, Option<String>>,
    },
    /// The state of the project's files before a command, as a Git tree.
    Snapshot {
        /// Which action the command is, from 0.
        n: usize,
        /// The tree's name.
        tree: String,
    },
    /// What a command did to files, compared with the state before it: that is the batch's doing.
    CommandChanged {
        /// Which action the command is, from 0.
        n: usize,
        /// The files, from the project's root.
        files: BTreeMap<String, CommandChange>,
        /// Files that it changed as well, and that are not kept: links, and what is too large. They stay as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// Nothing more is to be done.
    Finished,
    /// The batch is about to be undone.
    UndoBegan {
        /// Files that stay as they are, because they were changed later.
        keep: Vec<String>,
    },
    /// It was undone.
    Undone,
}

impl Fact {
    /// The oldest format that can say this.
    fn format(&self) -> u32 {
        match self {
            Fact::Began { intent: Some(intent), .. } if intent.all().any(|intent| intent.after.is_none()) => {
                2
            }
            Fact::Snapshot { .. } | Fact::CommandChanged { .. } => 2,
            _ => 1,
        }
    }

    /// Whether an action began that can neither be undone nor, where it was cut off, be known to have happened.
    pub fn is_irreversible(&self) -> bool {
        match self {
            Fact::Began { irreversible: Some(irreversible), .. } => *irreversible,
            // An older version wrote it: then only its words tell what it was, which began with the name of its kind.
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

/// What a command did to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChange {
    /// As it was before; nothing where there was none.
    pub before: Option<Image>,
    /// The digest of what it was afterwards, which is its name under `before/`; nothing where it was gone.
    pub after: Option<String>,
}

/// What an action is about to do to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The file, from the project's root, without symbolic links.
    pub file: String,
    /// As it is before; nothing where there is none.
    pub before: Option<Image>,
    /// The digest of what it will be; nothing where it will be gone.
    pub after: Option<String>,
    /// Directories that are not there yet, from the project's root, outermost first.
    pub directories: Vec<String>,
    /// The other file that changes at the same time: where a file is moved, the place it is moved from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Box<Intent>>,
}

impl Intent {
    /// Every file that changes.
    pub fn all(&self) -> impl Iterator<Item = &Intent> {
        std::iter::successors(Some(self), |intent| intent.also.as_deref())
    }
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The digest of its content, which is its name under `before/`.
    pub sha256: String,
    /// Its permissions.
    pub mode: u32,
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The system does not let us.
    #[error("cannot {doing} {}: {error}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is not what was written.
    #[error("line {line} of {} is damaged: {what}", path.display())]
    Damaged {
        /// The journal, or a file beside it.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// How that shows.
        what: String,
    },
    /// A newer program wrote it.
    #[error("{} has format {found}, and this program knows up to {FORMAT}", path.display())]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Somebody else wrote it: nothing is done or undone for it.
    #[error("the batch in {} {seal}", path.display())]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// Whose word it is.
        seal: Seal,
    },
    /// Somebody is at it.
    #[error("another process is working on the batch in {}", path.display())]
    Busy {
        /// Where.
        path: PathBuf,
    },
}

/// An open journal. Nobody else writes to it while this lives.
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
    /// Opens the journal in this directory, and makes both where they are missing. What a writer before left unfinished is
    /// cut off. With the seals of a person, one that is somebody else's word is refused, and left as it is.
    pub fn open(directory: &Path, seals: Option<Arc<Seals>>, clock: Clock) -> Result<Self, JournalError> {
        private_folder(directory).map_err(io_error("create the directory", directory))?;
        let path = directory.join("journal.jsonl");
        let mut log = AppendLog::open_or_create(&path).map_err(io_error("open", &path))?;
        match log.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy { path: directory.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        let mut sealing = Sealing::new(seals, scope(directory));
        let mut verifier = sealing.verifier().map_err(io_error("check the seals of", &path))?;
        let bytes = log.read().map_err(io_error("read", &path))?;
        let (facts, good) =
            scan(&path, &bytes, |line| verifier.iter_mut().for_each(|verifier| verifier.take(line)))?;
        let seal = seals::verdict(verifier.as_ref());
        match facts.is_empty() {
            // There may have been another one of this name, which is gone.
            true => sealing.begin().map_err(io_error("begin the seals of", &path))?,
            false if !seal.counts() => {
                return Err(JournalError::NotOurs { path: directory.to_owned(), seal });
            }
            false => sealing
                .take_up(verifier.as_ref(), || log.sync())
                .map_err(io_error("check the seals of", &path))?,
        }
        log.accept(good).map_err(io_error("cut off the unfinished end of", &path))?;
        let reserve = Reserve::at(directory.join("reserve"));
        Ok(Self { directory: directory.to_owned(), path, log, facts, reserve, sealing, clock })
    }

    /// What was noted in this directory so far, for who only looks. Somebody may be writing on.
    pub fn read(directory: &Path) -> Result<Vec<Fact>, JournalError> {
        let path = directory.join("journal.jsonl");
        let bytes = read_own(&path).map_err(io_error("read", &path))?;
        scan(&path, &bytes, |_| ()).map(|(facts, _)| facts)
    }

    /// The facts in this directory as a person looks at them who is to trust them, and what checked them.
    pub fn look(directory: &Path, seals: &Seals) -> Result<(Vec<Fact>, Verifier), JournalError> {
        let path = directory.join("journal.jsonl");
        let mut verifier =
            seals.verifier(&scope(directory)).map_err(io_error("check the seals of", &path))?;
        let bytes = read_own(&path).map_err(io_error("read", &path))?;
        let (facts, _) = scan(&path, &bytes, |line| verifier.take(line))?;
        Ok((facts, verifier))
    }

    /// The facts in this directory where they count, for who only looks: with the seals of a person, somebody else's word is
    /// refused. A writer may still be appending.
    pub fn counted(directory: &Path, seals: Option<&Seals>) -> Result<Vec<Fact>, JournalError> {
        let Some(seals) = seals else { return Self::read(directory) };
        let (facts, verifier) = Self::look(directory, seals)?;
        match verifier.seal() {
            seal if seal.counts() => Ok(facts),
            seal => Err(JournalError::NotOurs { path: directory.to_owned(), seal }),
        }
    }

    /// Whether somebody is writing to the journal in this directory. Looks only; the lock is shared for an instant.
    pub fn is_held(directory: &Path) -> bool {
        let journal = open_own(&directory.join("journal.jsonl"));
        journal.is_ok_and(|journal| matches!(journal.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Whether there is a batch in this directory.
    pub fn is_in(directory: &Path) -> bool {
        fs::metadata(directory.join("journal.jsonl")).is_ok_and(|journal| journal.len() > 0)
    }

    /// Everything that was noted.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Notes a fact. When this returns, it is durable; when it fails, nothing was noted.
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

    /// Keeps a file as it is before it is changed, and sets aside the space that restoring it will take.
    pub(super) fn keep(&mut self, content: &[u8]) -> Result<String, JournalError> {
        let sha256 = digest(content);
        let folder = self.directory.join("before");
        let kept = self.path_of(&sha256);
        self.reserve(content.len() as u64 + RESERVE)?;
        if fs::metadata(&kept).is_ok_and(|kept| kept.len() == content.len() as u64) {
            return Ok(sha256);
        }
        private_folder(&folder).map_err(io_error("create the directory", &folder))?;
        // It may be a file that only its owner may read.
        replace_private(&kept, content).map_err(io_error("keep what was there before in", &kept))?;
        Ok(sha256)
    }

    /// Where a file is kept as it was.
    pub(super) fn path_of(&self, sha256: &str) -> PathBuf {
        path_of(&self.directory, sha256)
    }

    /// A file as it was, checked.
    pub(super) fn kept(&self, sha256: &str) -> Result<Vec<u8>, JournalError> {
        let path = self.path_of(sha256);
        let content = read_own(&path).map_err(io_error("read", &path))?;
        if digest(&content) != sha256 {
            let what = "its content is not what its name says".to_owned();
            return Err(JournalError::Damaged { path, line: 1, what });
        }
        Ok(content)
    }

    /// Sets this much space aside, if not so much is already.
    pub(super) fn reserve(&mut self, size: u64) -> Result<(), JournalError> {
        self.reserve.grow(size).map_err(|error| io_error("set space aside in", self.reserve.path())(error))
    }

    /// Gives back the space that was set aside.
    pub(super) fn release(&mut self) {
        self.reserve.release();
    }
}

/// Where the journal in this directory keeps a file as it was.
pub(super) fn path_of(directory: &Path, sha256: &str) -> PathBuf {
    directory.join("before").join(sha256)
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

/// The facts in these bytes, and how many bytes they take. What comes after the last newline was never acknowledged.
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
    if has_names(&fact) { Ok(fact) } else { Err(damaged("it has a name that is not one of ours".to_owned())) }
}

/// Whether what becomes part of a path is what we make such names of: digits of a digest, or of a random id.
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

/// What a journal is called in its seals: the name of its directory.
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
