//! The ledger of updates: the offset, the ids done lately, and the updates not done yet, in one file that is replaced as a
//! whole.
//!
//! An update is confirmed to Telegram only when it is done or kept here, so a kill at any instant loses none. An update whose
//! id is among the last [`WINDOW`] done, or that is being handled, is not handled again, however often and in whatever order it
//! comes. Only after a kill between "the handler made it durable" and "the ledger noted it" is it handled twice, so handlers
//! must be idempotent per `update_id`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::durable;
use super::file_error::FileError;
use super::format::{Format, Notation};

/// How many ids are remembered.
pub const WINDOW: usize = 1000;
const FORMAT: Format = Format {
    notation: Notation::Json,
    version: 1,
    advice: "move it away, then what Telegram still has is received again",
};
/// After a week without updates Telegram picks a random next id, so an older offset means nothing.
const STALE: SignedDuration = SignedDuration::from_hours(6 * 24);

/// What was received, and what of it is done.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    highest: Option<u32>,
    last: Option<Timestamp>,
    done: VecDeque<u32>,
    known: HashSet<u32>,
    unfinished: BTreeMap<u32, Box<RawValue>>,
    changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Page {
    version: u32,
    /// The next id to ask for.
    offset: Option<i64>,
    /// When something was received last.
    last: Option<Timestamp>,
    /// What is done, the latest at the end.
    done: Vec<u32>,
    /// What is not done yet, as it came.
    unfinished: Vec<Box<RawValue>>,
}

/// The one thing every update has.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) update_id: u32,
}

impl Ledger {
    /// The ledger in this file; an empty one if there is none yet.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let mut ledger = Self::empty(path);
        let Some(page) = FORMAT.read::<Page>(path)? else { return Ok(ledger) };
        ledger.highest = page.offset.and_then(|next| u32::try_from(next - 1).ok());
        ledger.last = page.last;
        ledger.known.extend(&page.done);
        ledger.done.extend(page.done);
        for raw in page.unfinished {
            let head: Head =
                serde_json::from_str(raw.get()).map_err(|error| FORMAT.damaged(path, error.to_string()))?;
            ledger.unfinished.insert(head.update_id, raw);
        }
        Ok(ledger)
    }

    /// The next id to ask Telegram for, which confirms all before it. None where nothing is known, or it was too long ago.
    pub fn offset(&self, now: Timestamp) -> Option<i64> {
        if self.stale(now) {
            return None;
        }
        self.highest.map(|id| i64::from(id) + 1)
    }

    /// Whether this one was done lately.
    pub fn is_done(&self, id: u32) -> bool {
        self.known.contains(&id)
    }

    /// Whether this one is being handled.
    pub fn is_unfinished(&self, id: u32) -> bool {
        self.unfinished.contains_key(&id)
    }

    /// This came, and is not done yet.
    pub fn take(&mut self, id: u32, raw: Box<RawValue>, now: Timestamp) {
        let begins_anew = self.stale(now);
        self.highest = Some(self.highest.filter(|_| !begins_anew).map_or(id, |highest| highest.max(id)));
        self.last = Some(now);
        self.unfinished.insert(id, raw);
        self.changed = true;
    }

    /// This is done.
    pub fn finish(&mut self, id: u32) {
        self.unfinished.remove(&id);
        if self.known.insert(id) {
            self.done.push_back(id);
        }
        if self.done.len() > WINDOW
            && let Some(oldest) = self.done.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.changed = true;
    }

    /// What is not done, the oldest first.
    pub fn unfinished(&self) -> impl Iterator<Item = &RawValue> {
        self.unfinished.values().map(AsRef::as_ref)
    }

    /// One that is not done, as it came.
    pub fn unfinished_one(&self, id: u32) -> Option<&RawValue> {
        self.unfinished.get(&id).map(AsRef::as_ref)
    }

    /// How much is not done.
    pub fn unfinished_count(&self) -> usize {
        self.unfinished.len()
    }

    /// What has to be written, if anything changed since this was asked last.
    pub fn page(&mut self) -> Option<(PathBuf, Vec<u8>)> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let page = Page {
            version: FORMAT.version,
            offset: self.highest.map(|id| i64::from(id) + 1),
            last: self.last,
            done: self.done.iter().copied().collect(),
            unfinished: self.unfinished.values().cloned().collect(),
        };
        // Nothing in it can fail to become JSON.
        serde_json::to_vec(&page).ok().map(|bytes| (self.path.clone(), bytes))
    }

    /// It could not be written, so it has to be asked for again.
    pub fn unwritten(&mut self) {
        self.changed = true;
    }

    /// Writes a page, durably and as a whole.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        durable::replace(path, bytes).map_err(|source| FileError::io(path, source))
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            highest: None,
            last: None,
            done: VecDeque::new(),
            known: HashSet::new(),
            unfinished: BTreeMap::new(),
            changed: false,
        }
    }

    fn stale(&self, now: Timestamp) -> bool {
        self.last.is_some_and(|last| now.duration_since(last) > STALE)
    }
}
