//! The ledger of updates: the offset, the ids of recent updates, and the updates that are not done yet. A page contains
//! all of this and is replaced as a whole. Later changes are appended as lines to a file beside it, and merged into the
//! page when there are many.
//!
//! An update is confirmed to Telegram only when it is done or durable here, so neither a kill nor a power cut loses an
//! update. An update whose id is among the last [`WINDOW`] done ones, or that is being handled, is not handled again,
//! however often and in whatever order it comes. An update is handled twice only after a kill between "the handler made
//! it durable" and "the ledger recorded it", so handlers must be idempotent per `update_id`. For the same reason only
//! unfinished updates have to reach the disk: it does no harm if a power cut loses the fact that an update is done.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rapport_durable::Flush;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::durable;
use super::file_error::FileError;
use super::format::{Format, Notation};

/// The number of ids to remember.
pub const WINDOW: usize = 1000;
/// The number of lines after which they are merged into the page. Reading lines twice changes nothing as long as the
/// ids of all their updates are remembered.
const MOST_LINES: usize = WINDOW / 2;
const FORMAT: Format = Format {
    notation: Notation::Json,
    version: 2,
    advice: "move it away; Telegram then delivers its pending updates again",
};
/// After a week without updates, Telegram chooses a random next id, so an older offset is meaningless.
const STALE: SignedDuration = SignedDuration::from_hours(6 * 24);

/// The received updates, and which of them are done.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    known: Known,
    /// Lines that are not written yet.
    pending: Vec<u8>,
    /// The number of lines since the page, written or not.
    lines: usize,
    /// Whether the page has to be written: it does not exist yet, there are many lines, or a line could not be written.
    is_page_due: bool,
    /// Whether a power cut may lose lines that were written.
    is_unsynced: bool,
}

/// The content of the ledger.
#[derive(Debug, Default)]
struct Known {
    highest: Option<u32>,
    last: Option<Timestamp>,
    done: VecDeque<u32>,
    ids: HashSet<u32>,
    unfinished: BTreeMap<u32, Box<RawValue>>,
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

/// A line of the file beside the page.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// An update was received.
    Took { at: Timestamp, update: Box<RawValue> },
    /// The update with this id is done.
    Done(u32),
}

/// The field that every update has.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) update_id: u32,
}

/// The data to write.
#[derive(Debug)]
pub struct Writing {
    path: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Page(Vec<u8>),
    Lines(Vec<u8>, Flush),
}

/// Whether unfinished updates have to survive a power cut, because they are about to be confirmed to Telegram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirming {
    Yes,
    No,
}

impl Ledger {
    /// Opens the ledger with this page. If the file does not exist, the ledger is empty.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let known = match FORMAT.read::<Page>(path)? {
            Some(page) => Known::of(page).map_err(|error| FORMAT.damaged(path, error.to_string()))?,
            None => Known::default(),
        };
        let mut ledger = Self {
            path: path.to_owned(),
            known,
            pending: Vec::new(),
            lines: 0,
            is_page_due: true,
            is_unsynced: false,
        };
        ledger.read_lines()?;
        Ok(ledger)
    }

    fn read_lines(&mut self) -> Result<(), FileError> {
        let path = lines_of(&self.path);
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|source| FileError::io(&path, source))?,
        };
        // A line without a line end was being written when the process was killed, so no update of it was confirmed.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let damaged = |error: serde_json::Error| FORMAT.damaged(&path, error.to_string());
            match serde_json::from_slice(line).map_err(damaged)? {
                Line::Took { at, update } => {
                    let Head { update_id } = serde_json::from_str(update.get()).map_err(damaged)?;
                    if !self.known.ids.contains(&update_id) {
                        self.known.take(update_id, update, at);
                    }
                }
                Line::Done(id) => self.known.finish(id),
            }
        }
        Ok(())
    }

    /// The next id to request from Telegram, which confirms all earlier updates. `None` if it is unknown or too old.
    pub fn offset(&self, now: Timestamp) -> Option<i64> {
        if self.known.stale(now) {
            return None;
        }
        self.known.next()
    }

    /// Whether this update was done recently.
    pub fn is_done(&self, id: u32) -> bool {
        self.known.ids.contains(&id)
    }

    /// Whether this update is being handled.
    pub fn is_unfinished(&self, id: u32) -> bool {
        self.known.unfinished.contains_key(&id)
    }

    /// Adds an update that is not done yet.
    pub fn take(&mut self, id: u32, raw: Box<RawValue>, now: Timestamp) {
        self.add(&Line::Took { at: now, update: raw.clone() });
        self.known.take(id, raw, now);
    }

    /// Marks an update as done.
    pub fn finish(&mut self, id: u32) {
        self.add(&Line::Done(id));
        self.known.finish(id);
    }

    /// The unfinished updates, the oldest first.
    pub fn unfinished(&self) -> impl Iterator<Item = &RawValue> {
        self.known.unfinished.values().map(AsRef::as_ref)
    }

    /// An unfinished update, unparsed.
    pub fn unfinished_one(&self, id: u32) -> Option<&RawValue> {
        self.known.unfinished.get(&id).map(AsRef::as_ref)
    }

    pub fn unfinished_count(&self) -> usize {
        self.known.unfinished.len()
    }

    /// The data that has to be written now, if any. It counts as written from then on, unless [`Self::unwritten`] is
    /// called.
    pub fn writing(&mut self, confirming: Confirming) -> Option<Writing> {
        let path = self.path.clone();
        let has_news = !self.pending.is_empty();
        if self.is_page_due && has_news || self.lines > MOST_LINES {
            let page = self.known.page();
            self.pending.clear();
            (self.lines, self.is_page_due, self.is_unsynced) = (0, false, false);
            // Serializing these types cannot fail.
            let page = serde_json::to_vec(&page).ok()?;
            return Some(Writing { path, content: Content::Page(page) });
        }
        let needs_sync = confirming == Confirming::Yes && !self.known.unfinished.is_empty();
        let has_unsynced = needs_sync && self.is_unsynced;
        if !has_news && !has_unsynced {
            return None;
        }
        let flush = if needs_sync { Flush::Now } else { Flush::Later };
        self.is_unsynced = !needs_sync;
        let lines = std::mem::take(&mut self.pending);
        Some(Writing { path, content: Content::Lines(lines, flush) })
    }

    /// Handles a failed write. A line may have been written partially, so everything is written again as a page.
    pub fn unwritten(&mut self) {
        self.is_page_due = true;
        // The page on disk is out of date even if there are no lines.
        self.lines = MOST_LINES + 1;
    }

    fn add(&mut self, line: &Line) {
        // Serializing these types cannot fail. Line breaks in JSON occur only between tokens, so they can be replaced.
        let Ok(line) = serde_json::to_string(line) else { return };
        self.pending.extend(line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        self.pending.push(b'\n');
        self.lines += 1;
    }
}

impl Writing {
    /// Replaces the page, or appends the lines.
    pub fn write(&self) -> Result<(), FileError> {
        let lines = lines_of(&self.path);
        match &self.content {
            Content::Page(page) => {
                durable::replace(&self.path, page).map_err(|source| FileError::io(&self.path, source))?;
                // After a kill before this, the next process reads lines that are already in the page.
                durable::replace(&lines, b"").map_err(|source| FileError::io(&lines, source))
            }
            Content::Lines(text, flush) => {
                rapport_durable::append(&lines, text, *flush).map_err(|source| FileError::io(&lines, source))
            }
        }
    }
}

impl Known {
    fn of(page: Page) -> Result<Self, serde_json::Error> {
        let mut known = Self {
            highest: page.offset.and_then(|next| u32::try_from(next - 1).ok()),
            last: page.last,
            ids: page.done.iter().copied().collect(),
            done: page.done.into(),
            unfinished: BTreeMap::new(),
        };
        for raw in page.unfinished {
            let head: Head = serde_json::from_str(raw.get())?;
            known.unfinished.insert(head.update_id, raw);
        }
        Ok(known)
    }

    fn page(&self) -> Page {
        Page {
            version: FORMAT.version,
            offset: self.next(),
            last: self.last,
            done: self.done.iter().copied().collect(),
            unfinished: self.unfinished.values().cloned().collect(),
        }
    }

    fn next(&self) -> Option<i64> {
        self.highest.map(|id| i64::from(id) + 1)
    }

    fn take(&mut self, id: u32, raw: Box<RawValue>, now: Timestamp) {
        let begins_anew = self.stale(now);
        self.highest = Some(self.highest.filter(|_| !begins_anew).map_or(id, |highest| highest.max(id)));
        self.last = Some(now);
        self.unfinished.insert(id, raw);
    }

    fn finish(&mut self, id: u32) {
        self.unfinished.remove(&id);
        if self.ids.insert(id) {
            self.done.push_back(id);
        }
        if self.done.len() > WINDOW
            && let Some(oldest) = self.done.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    fn stale(&self, now: Timestamp) -> bool {
        self.last.is_some_and(|last| now.duration_since(last) > STALE)
    }
}

/// The file of lines beside a page.
fn lines_of(page: &Path) -> PathBuf {
    page.with_added_extension("jsonl")
}
