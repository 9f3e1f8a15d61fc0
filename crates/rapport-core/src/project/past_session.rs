//! The end of a session, in one line of a project's `sessions.jsonl`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Entry;
use crate::id::SessionId;
use crate::session::Session;
use crate::view::{Status, View};

/// The maximum number of characters of a task or a result in such a line.
const MAX_TEXT: usize = 300;

/// An end of a session. A session that continued after it has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastSession {
    /// The format of the line.
    pub v: u32,
    /// The session.
    pub session: SessionId,
    /// The number of the entry that ended it; with the session, this identifies the end.
    pub entry: u64,
    /// How it ended.
    pub outcome: PastOutcome,
    /// When it ended.
    pub at: Timestamp,
    /// The beginning of its task.
    pub task: String,
    /// How many questions were answered.
    pub answers: usize,
    /// How many files its work changed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// What it cost, in millionths of a US dollar.
    #[serde(default)]
    pub cost_micros: u64,
    /// The beginning of the agent's last words, or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PastOutcome {
    /// The work is done.
    Completed,
    /// It stopped on a failure.
    Failed,
    /// It was ended by a person or a lead.
    Cancelled,
}

impl PastOutcome {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome for a session of this status; `None` if it has not ended.
    pub fn of(status: Status) -> Option<Self> {
        match status {
            Status::Completed => Some(Self::Completed),
            Status::Failed => Some(Self::Failed),
            Status::Cancelled => Some(Self::Cancelled),
            Status::Started | Status::Running | Status::NeedsInput | Status::Idle => None,
        }
    }
}

impl PastSession {
    /// All ends in a session's log, the oldest first.
    pub fn all_of(id: &SessionId, entries: &[Entry]) -> Vec<Self> {
        let Some(mut session) = entries.first().and_then(Session::open) else { return Vec::new() };
        let mut before = None;
        let mut ends = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            if at > 0 {
                session.apply_entry(entry);
            }
            let now = PastOutcome::of(session.status());
            if let Some(outcome) = now.filter(|_| now != before) {
                ends.push(Self::new(&session.view(id), entry, outcome));
            }
            before = now;
        }
        ends
    }

    fn new(view: &View, entry: &Entry, outcome: PastOutcome) -> Self {
        let result = view.failure.as_ref().or(view.result.as_ref());
        Self {
            v: 1,
            session: view.id.clone(),
            entry: entry.seq,
            outcome,
            at: entry.at,
            task: beginning(&view.task),
            answers: view.answers.len(),
            files: view.changes.as_ref().map(|changes| changes.files.len()),
            cost_micros: view.usage.cost_micros,
            result: result.map(|text| beginning(text)).filter(|text| !text.is_empty()),
        }
    }
}

/// The beginning of a text, as one line.
fn beginning(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words,
    }
}
