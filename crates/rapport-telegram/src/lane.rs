//! The queue of one chat, and when its next message may be sent.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::api_error::ApiError;
use super::backoff::Backoff;
use super::outgoing::{Message, Outgoing, Sent};
use super::rates::{ChatLimits, Sendings};

/// The queue length from which progress edits are dropped.
const BUSY: usize = 10;
/// The longest queue.
const MOST_WAITING: usize = 500;
/// The largest queue, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Who wants to know how it ended.
pub(super) type Waiting = oneshot::Sender<Result<Sent, ApiError>>;

/// What waits for one chat.
#[derive(Default)]
pub(super) struct Lane {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// Whether the first job is on its way.
    under_way: bool,
    sendings: Sendings,
    backoff: Backoff,
    /// Not before then: it was too much, or Telegram could not be reached.
    pub(super) held: Option<Held>,
}

/// Why and until when nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Telegram said so.
    Paused(Instant),
    /// It could not be reached.
    Unreachable(Instant),
}

pub(super) struct Job {
    what: Arc<Outgoing>,
    waiting: Vec<Waiting>,
}

impl Held {
    pub(super) fn until(self) -> Instant {
        match self {
            Self::Paused(until) | Self::Unreachable(until) => until,
        }
    }
}

impl Lane {
    /// Queues something, or ends it at once: dropped, or refused because the queue is full.
    pub(super) fn push(&mut self, what: Outgoing, waiting: Waiting) {
        match self.admit(&what) {
            Admission::Queue => {
                self.bytes += size(&what);
                self.jobs.push_back(Job { what: Arc::new(what), waiting: vec![waiting] });
            }
            Admission::Merge(at) => self.merge(at, what, waiting),
            Admission::Drop => drop(waiting.send(Ok(Sent::Dropped))),
            Admission::Full => drop(waiting.send(Err(ApiError::Full))),
        }
    }

    /// The next to be sent, if it may be sent now. Whether all chats together allow it is not asked here.
    pub(super) fn due_at(&self, limits: ChatLimits, now: Instant) -> Option<Instant> {
        let first = self.jobs.front().filter(|_| !self.under_way)?;
        let held = self.held.map_or(now, Held::until);
        if !counts(&first.what) {
            return Some(held.max(now));
        }
        let by_rates = limits.all().filter_map(|rate| self.sendings.ready_at(rate, 0, now));
        Some(by_rates.fold(held.max(now), Instant::max))
    }

    /// The first is on its way.
    pub(super) fn start(&mut self) -> Option<Arc<Outgoing>> {
        let first = self.jobs.front()?;
        let what = Arc::clone(&first.what);
        self.under_way = true;
        self.held = None;
        Some(what)
    }

    /// How that ended. What has to be tried again stays where it is.
    pub(super) fn ended(&mut self, result: Result<Sent, ApiError>, limits: ChatLimits, now: Instant) {
        self.under_way = false;
        if self.jobs.front().is_some_and(|job| counts(&job.what)) {
            self.sendings.note(limits.longest(), now);
        }
        let passing = self.jobs.front().is_some_and(|job| matches!(*job.what, Outgoing::Action { .. }));
        match result {
            Err(ApiError::TooMany { .. } | ApiError::Unreachable(_)) if passing => {
                self.finish(Ok(Sent::Dropped))
            }
            Err(ApiError::TooMany { retry_after }) => self.held = Some(Held::Paused(now + retry_after)),
            Err(ApiError::Unreachable(_)) => self.held = Some(Held::Unreachable(now + self.backoff.grow())),
            Err(ApiError::NotModified) => self.finish(Ok(Sent::Done)),
            other => self.finish(other),
        }
    }

    /// The chat moved: returns the jobs that can be sent to the new chat. Jobs about messages of the old chat end.
    pub(super) fn leave_for(&mut self, to: i64) -> Vec<Job> {
        self.under_way = false;
        self.held = None;
        self.bytes = 0;
        let (go, end) = self.jobs.drain(..).partition::<Vec<_>, _>(|job| can_be_elsewhere(&job.what));
        for waiting in end.into_iter().flat_map(|job| job.waiting) {
            let _ = waiting.send(Err(ApiError::Moved { to }));
        }
        go
    }

    /// Takes in what was for a chat that became this one.
    pub(super) fn take_over(&mut self, job: Job) {
        let what = Arc::unwrap_or_clone(job.what);
        let what = match what {
            // There is no such message here.
            Outgoing::Message(message) => Outgoing::Message(Message { reply_to: None, ..message }),
            other => other,
        };
        self.bytes += size(&what);
        self.jobs.push_back(Job { what: Arc::new(what), waiting: job.waiting });
    }

    /// How many wait, the one under way among them.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// From when on this queue can be forgotten; `None` while something waits.
    pub(super) fn forgotten_at(&self, limits: ChatLimits, now: Instant) -> Option<Instant> {
        self.jobs.is_empty().then(|| self.sendings.over_at(limits.longest()).unwrap_or(now))
    }

    fn finish(&mut self, result: Result<Sent, ApiError>) {
        self.backoff.reset();
        let Some(job) = self.jobs.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(size(&job.what));
        for waiting in job.waiting {
            // The receiver may be gone.
            let _ = waiting.send(result.clone());
        }
        if self.jobs.is_empty() {
            self.jobs.shrink_to(0);
        }
    }

    fn admit(&self, what: &Outgoing) -> Admission {
        if let Some(at) = self.unsent_edit(what) {
            return Admission::Merge(at);
        }
        let waits = self.jobs.len();
        let (busy, any) = (waits >= BUSY, waits > 0 || self.held.is_some());
        let full = waits >= MOST_WAITING || self.bytes + size(what) > MOST_BYTES;
        match what {
            Outgoing::Progress(_) if busy || self.held.is_some() => Admission::Drop,
            Outgoing::Action { .. } if any => Admission::Drop,
            Outgoing::Message(_)
            | Outgoing::Edit(_)
            | Outgoing::Progress(_)
            | Outgoing::Buttons { .. }
            | Outgoing::Document(_)
            | Outgoing::Action { .. }
            | Outgoing::Delete { .. } => {
                if full {
                    Admission::Full
                } else {
                    Admission::Queue
                }
            }
        }
    }

    /// Where an edit of the same message still waits. There is at most one.
    fn unsent_edit(&self, what: &Outgoing) -> Option<usize> {
        let message = edited(what)?;
        let first = usize::from(self.under_way);
        (first..self.jobs.len()).find(|at| edited(&self.jobs[*at].what) == Some(message))
    }

    fn merge(&mut self, at: usize, newer: Outgoing, waiting: Waiting) {
        let job = &mut self.jobs[at];
        self.bytes = self.bytes.saturating_sub(size(&job.what));
        job.what = Arc::new(merged(&job.what, newer));
        job.waiting.push(waiting);
        self.bytes += size(&job.what);
    }
}

enum Admission {
    Queue,
    Merge(usize),
    Drop,
    Full,
}

/// Both edits of one message in one. An edit of the text says everything, one of the buttons only those.
fn merged(older: &Outgoing, newer: Outgoing) -> Outgoing {
    match (older, newer) {
        (Outgoing::Edit(edit), Outgoing::Buttons { keyboard, .. })
        | (Outgoing::Progress(edit), Outgoing::Buttons { keyboard, .. }) => {
            Outgoing::Edit(super::outgoing::Edit { keyboard, ..edit.clone() })
        }
        // What had to be said still has to be.
        (Outgoing::Edit(_) | Outgoing::Buttons { .. }, Outgoing::Progress(edit)) => Outgoing::Edit(edit),
        (_, newer) => newer,
    }
}

/// Whether it is about no message that is there already.
fn can_be_elsewhere(what: &Outgoing) -> bool {
    match what {
        Outgoing::Message(_) | Outgoing::Document(_) | Outgoing::Action { .. } => true,
        Outgoing::Edit(_) | Outgoing::Progress(_) | Outgoing::Buttons { .. } | Outgoing::Delete { .. } => {
            false
        }
    }
}

fn edited(what: &Outgoing) -> Option<i32> {
    match what {
        Outgoing::Edit(edit) | Outgoing::Progress(edit) => Some(edit.message),
        Outgoing::Buttons { message, .. } => Some(*message),
        Outgoing::Message(_) | Outgoing::Document(_) | Outgoing::Action { .. } | Outgoing::Delete { .. } => {
            None
        }
    }
}

/// Whether it counts for what a chat may get.
fn counts(what: &Outgoing) -> bool {
    !matches!(what, Outgoing::Action { .. })
}

fn size(what: &Outgoing) -> usize {
    let text = match what {
        Outgoing::Message(message) => message.text.len(),
        Outgoing::Edit(edit) | Outgoing::Progress(edit) => edit.text.len(),
        Outgoing::Document(document) => document.bytes.len() + document.caption.len(),
        Outgoing::Buttons { .. } | Outgoing::Action { .. } | Outgoing::Delete { .. } => 0,
    };
    text + size_of::<Job>()
}
