//! The ledger of updates: the offset, the ids of recent updates, and the updates not done yet, in one file that is
//! replaced as a whole.
//!
//! An update is confirmed to Telegram only when it is done or stored here, so a kill at any instant loses none. An
//! update whose id is among the last [`WINDOW`] done, or that is being handled, is not handled again, however often and
//! in whatever order it comes. Only after a kill between "the handler made it durable" and "the ledger recorded it" is
//! it handled twice, so handlers must be idempotent per `update_id`.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::durable;
use super::file_error::FileError;
use super::format::{Format, Notation};

/// The number of ids to remember.
pub const WINDOW: usize = 1000;
const FORMAT: Format = Format {
    notation: Notation::Json,
    version: 1,
    advice: "move it away; Telegram then delivers its pending updates again",
};
/// After a week without updates Telegram picks a random next id, so an older offset is meaningless.
const STALE: SignedDuration = SignedDuration::from_hours(6 * 24);

/// The received updates, and which of them are done.
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
    /// The next id to request.
    offset: Option<i64>,
    /// When the last update was received.
    last: Option<Timestamp>,
    /// The ids of updates that are done, the latest at the end.
    done: Vec<u32>,
    /// The updates that are not done, unparsed.
    unfinished: Vec<Box<RawValue>>,
}

/// The part that every update has.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) update_id: u32,
}

impl Ledger {
    /// Opens the ledger in this file; an empty one if it does not exist.
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

    /// The next id to request from Telegram, which confirms all before it. `None` if it is unknown or too old.
    pub fn offset(&self, now: Timestamp) -> Option<i64> {
        if self.stale(now) {
            return None;
        }
        self.highest.map(|id| i64::from(id) + 1)
    }

    /// Whether this update was done recently.
    pub fn is_done(&self, id: u32) -> bool {
        self.known.contains(&id)
    }

    /// Whether this update is being handled.
    pub fn is_unfinished(&self, id: u32) -> bool {
        self.unfinished.contains_key(&id)
    }

    /// Adds an update that is not done yet.
    pub fn take(&mut self, id: u32, raw: Box<RawValue>, now: Timestamp) {
        let begins_anew = self.stale(now);
        self.highest = Some(self.highest.filter(|_| !begins_anew).map_or(id, |highest| highest.max(id)));
        self.last = Some(now);
        self.unfinished.insert(id, raw);
        self.changed = true;
    }

    /// Marks an update as done.
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

    /// The unfinished updates, the oldest first.
    pub fn unfinished(&self) -> impl Iterator<Item = &RawValue> {
        self.unfinished.values().map(AsRef::as_ref)
    }

    /// An unfinished update, unparsed.
    pub fn unfinished_one(&self, id: u32) -> Option<&RawValue> {
        self.unfinished.get(&id).map(AsRef::as_ref)
    }

    pub fn unfinished_count(&self) -> usize {
        self.unfinished.len()
    }

    /// The content to write, if anything changed since the last call.
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
        // This cannot fail for these types.
        serde_json::to_vec(&page).ok().map(|bytes| (self.path.clone(), bytes))
    }

    /// The content could not be written, so the next call of [`Self::page`] returns it again.
    pub fn unwritten(&mut self) {
        self.changed = true;
    }

    /// Writes the content, durably and atomically.
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
