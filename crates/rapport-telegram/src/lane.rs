//! The queues of one chat, one for new messages and one for edits, and when the next job of each may be sent.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::api_error::ApiError;
use super::backoff::Backoff;
use super::outgoing::{Kind, Outgoing, OutgoingMessage, Sent};
use super::rates::{ChatLimits, ChatSendings};

/// The number of queued messages from which an edit about progress is dropped.
const MANY: usize = 10;
/// How many quarters of the rate limit must be free before a low-priority message is sent. The rest is reserved for
/// replies to taps, which use nearly all of the limit at one tap per second.
const FREE_FOR_ASIDE: usize = 3;
/// The same for an edit about progress. The edits of cards, for which the rest is reserved, may be slightly late.
const FREE_FOR_PROGRESS: usize = 2;
/// The longest queue.
const MOST_WAITING: usize = 500;
/// The largest queue, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// How often Telegram may fail on a job before the job is given up. With the pauses, this is about 15 seconds.
const MOST_FAILURES: u32 = 6;
/// How often Telegram may fail on a job before the next one is tried first. A job that always fails then delays the
/// others by about a second. If Telegram as a whole fails, the next job fails too, and at most these two jobs change
/// places.
const FAILURES_IN_FRONT: u32 = 2;

/// Receives the outcome of a job.
pub(super) type SendReply = oneshot::Sender<Result<Sent, ApiError>>;

/// The queues of one chat: new messages and edits, each in order.
#[derive(Default)]
pub(super) struct Lane {
    posts: Track,
    edits: Track,
}

/// The queue of one kind of job.
#[derive(Default)]
struct Track {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// Whether the first job is being sent.
    under_way: bool,
    sendings: ChatSendings,
    backoff: Backoff,
    /// If set, the time before which nothing is sent, because Telegram demanded a pause or could not be reached.
    held: Option<Held>,
}

/// Why and until when nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Telegram demanded a pause.
    Paused(Instant),
    /// Telegram could not be reached, or failed.
    Unreachable(Instant),
}

pub(super) struct Job {
    what: Arc<Outgoing>,
    waiting: Vec<SendReply>,
    /// How often Telegram failed on this job.
    failures: u32,
}

impl Held {
    fn until(self) -> Instant {
        match self {
            Self::Paused(until) | Self::Unreachable(until) => until,
        }
    }
}

impl Lane {
    /// Queues a job. If the job is dropped, or refused because the queue is full, it ends at once.
    pub(super) fn push(&mut self, what: Outgoing, waiting: SendReply, limits: ChatLimits, now: Instant) {
        // An edit about progress is dropped while the agent's own messages are still queued.
        let is_new = || self.edits.unsent_edit(&what).is_none();
        let is_late = self.posts.jobs.len() >= MANY || self.posts.held.is_some();
        if matches!(what, Outgoing::Progress(_)) && is_late && is_new() {
            return drop(waiting.send(Ok(Sent::Dropped)));
        }
        self.track_mut(what.kind()).push(what, waiting, limits, now);
    }

    /// When the next job of a kind may be sent, apart from the limits for all chats together.
    pub(super) fn due_at(&self, kind: Kind, limits: ChatLimits, now: Instant) -> Option<Instant> {
        self.track(kind).due_at(limits, now)
    }

    /// Marks the first job of a kind as being sent.
    pub(super) fn start(&mut self, kind: Kind) -> Option<Arc<Outgoing>> {
        self.track_mut(kind).start()
    }

    /// Handles the outcome of the job that was being sent. A job that is retried keeps its place.
    pub(super) fn ended(
        &mut self,
        kind: Kind,
        result: Result<Sent, ApiError>,
        limits: ChatLimits,
        now: Instant,
    ) {
        if let Err(ApiError::TooMany { retry_after }) = result {
            // The pause applies to the whole chat.
            for track in [&mut self.posts, &mut self.edits] {
                track.held = Some(Held::Paused(now + retry_after));
            }
        }
        self.track_mut(kind).ended(result, limits, now);
    }

    /// Handles the move of the chat, which the response to a job of this kind reported. Returns the jobs that can be
    /// sent to the new chat. Jobs about messages of the old chat end.
    pub(super) fn leave_for(&mut self, to: i64, told_to: Kind) -> Vec<Job> {
        for job in self.edits.leave(told_to == Kind::Edit) {
            job.end(&Err(ApiError::Moved { to }));
        }
        self.posts.leave(told_to == Kind::Post)
    }

    /// Adds a job of the chat that became this one.
    pub(super) fn take_over(&mut self, job: Job) {
        let what = Arc::unwrap_or_clone(job.what);
        let what = match what {
            // The message that it replies to does not exist in this chat.
            Outgoing::Message(message) => Outgoing::Message(OutgoingMessage { reply_to: None, ..message }),
            other => other,
        };
        let track = self.track_mut(what.kind());
        track.bytes += size(&what);
        track.jobs.push_back(Job { what: Arc::new(what), waiting: job.waiting, failures: 0 });
    }

    /// The number of jobs, including those being sent.
    pub(super) fn len(&self) -> usize {
        self.posts.jobs.len() + self.edits.jobs.len()
    }

    /// Until when Telegram has paused this chat.
    pub(super) fn paused_until(&self, now: Instant) -> Option<Instant> {
        let paused = |track: &Track| match track.held {
            Some(Held::Paused(until)) if until > now => Some(until),
            Some(Held::Paused(_) | Held::Unreachable(_)) | None => None,
        };
        paused(&self.posts).or_else(|| paused(&self.edits))
    }

    /// Whether a job waits for Telegram to be reachable again.
    pub(super) fn is_unreachable(&self) -> bool {
        let waits = |track: &Track| matches!(track.held, Some(Held::Unreachable(_)));
        waits(&self.posts) || waits(&self.edits)
    }

    /// Handles that Telegram can be reached again. Jobs on which Telegram itself failed still wait.
    pub(super) fn try_again(&mut self) {
        for track in [&mut self.posts, &mut self.edits] {
            let is_failing = track.jobs.front().is_some_and(|job| job.failures > 0);
            track.held.take_if(|held| matches!(held, Held::Unreachable(_)) && !is_failing);
        }
    }

    /// When this queue can be dropped; `None` while it has jobs.
    pub(super) fn forgotten_at(&self, limits: ChatLimits, now: Instant) -> Option<Instant> {
        let over = |track: &Track| {
            let sent = track.sendings.over_at(limits);
            sent.max(track.held.map(Held::until)).unwrap_or(now)
        };
        (self.len() == 0).then(|| over(&self.posts).max(over(&self.edits)))
    }

    fn track(&self, kind: Kind) -> &Track {
        match kind {
            Kind::Post => &self.posts,
            Kind::Edit => &self.edits,
        }
    }

    fn track_mut(&mut self, kind: Kind) -> &mut Track {
        match kind {
            Kind::Post => &mut self.posts,
            Kind::Edit => &mut self.edits,
        }
    }
}

impl Job {
    fn end(self, result: &Result<Sent, ApiError>) {
        for waiting in self.waiting {
            // The receiver may be gone.
            let _ = waiting.send(result.clone());
        }
    }
}

impl Track {
    fn push(&mut self, what: Outgoing, waiting: SendReply, limits: ChatLimits, now: Instant) {
        match self.admit(&what, limits, now) {
            Admission::Queue => {
                self.bytes += size(&what);
                let at = self.place_for(&what);
                self.jobs.insert(at, Job { what: Arc::new(what), waiting: vec![waiting], failures: 0 });
                // The other jobs may wait only because Telegram fails on the first one.
                if !self.under_way && self.let_next_try() {
                    self.held = None;
                }
            }
            Admission::Merge(at) => self.merge(at, what, waiting),
            Admission::Drop => drop(waiting.send(Ok(Sent::Dropped))),
            Admission::Full => drop(waiting.send(Err(ApiError::Full))),
        }
    }

    fn due_at(&self, limits: ChatLimits, now: Instant) -> Option<Instant> {
        let first = self.jobs.front().filter(|_| !self.under_way)?;
        let held = self.held.map_or(now, Held::until).max(now);
        Some(if counts(&first.what) { held.max(self.sendings.ready_at(limits, now)) } else { held })
    }

    fn start(&mut self) -> Option<Arc<Outgoing>> {
        let first = self.jobs.front()?;
        let what = Arc::clone(&first.what);
        self.under_way = true;
        self.held = None;
        Some(what)
    }

    fn ended(&mut self, result: Result<Sent, ApiError>, limits: ChatLimits, now: Instant) {
        self.under_way = false;
        let Some(job) = self.jobs.front_mut() else { return };
        if counts(&job.what) {
            self.sendings.note(limits, now);
        }
        let is_passing = is_passing(&job.what);
        match result {
            Err(ApiError::TooMany { .. } | ApiError::Unreachable(_) | ApiError::Failing(_)) if is_passing => {
                self.finish(Ok(Sent::Dropped))
            }
            // The lane pauses both tracks in this case.
            Err(ApiError::TooMany { .. }) => {}
            Err(ApiError::Unreachable(_)) => self.held = Some(Held::Unreachable(now + self.backoff.grow())),
            Err(ApiError::Failing(_) | ApiError::Unauthorized(_)) if job.failures + 1 < MOST_FAILURES => {
                job.failures += 1;
                let wait = self.backoff.grow();
                if !self.let_next_try() {
                    self.held = Some(Held::Unreachable(now + wait));
                }
            }
            Err(ApiError::NotModified) => self.finish(Ok(Sent::Done)),
            other => self.finish(other),
        }
    }

    /// Puts the first job behind the next one, if Telegram failed on it several times, and more often than on the next
    /// one.
    fn let_next_try(&mut self) -> bool {
        let failures = |at: usize| self.jobs.get(at).map(|job| job.failures);
        let (Some(first), Some(next)) = (failures(0), failures(1)) else { return false };
        let gives_way = first >= FAILURES_IN_FRONT && next < first;
        if gives_way {
            self.jobs.swap(0, 1);
        }
        gives_way
    }

    /// Removes the jobs. A job that is being sent stays until its own response.
    fn leave(&mut self, is_answered: bool) -> Vec<Job> {
        self.under_way = self.under_way && !is_answered;
        self.held = None;
        let left: Vec<_> = self.jobs.drain(usize::from(self.under_way)..).collect();
        self.bytes = self.jobs.iter().map(|job| size(&job.what)).sum();
        left
    }

    fn finish(&mut self, result: Result<Sent, ApiError>) {
        self.backoff.reset();
        let Some(job) = self.jobs.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(size(&job.what));
        job.end(&result);
        if self.jobs.is_empty() {
            self.jobs.shrink_to(0);
        }
    }

    fn admit(&self, what: &Outgoing, limits: ChatLimits, now: Instant) -> Admission {
        if let Some(at) = self.unsent_edit(what) {
            return Admission::Merge(at);
        }
        let waits = self.jobs.len();
        let any = waits > 0 || self.held.is_some();
        let full = waits >= MOST_WAITING || self.bytes + size(what) > MOST_BYTES;
        match what {
            Outgoing::Action { .. } if any => Admission::Drop,
            Outgoing::Progress(_) if !self.has_free(FREE_FOR_PROGRESS, limits, now) => Admission::Drop,
            Outgoing::Aside(_) if !self.has_free(FREE_FOR_ASIDE, limits, now) => Admission::Drop,
            Outgoing::Message(_)
            | Outgoing::Aside(_)
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

    /// The position of a new job in the queue: at the end, but before low-priority messages.
    fn place_for(&self, what: &Outgoing) -> usize {
        let first = usize::from(self.under_way);
        let passing = (first..self.jobs.len()).find(|at| is_passing(&self.jobs[*at].what));
        passing.filter(|_| !is_passing(what)).unwrap_or(self.jobs.len())
    }

    /// Whether one more job could be sent now so that more than this many quarters of the limits were free before it.
    fn has_free(&self, quarters: usize, limits: ChatLimits, now: Instant) -> bool {
        let ahead = self.jobs.iter().filter(|job| counts(&job.what)).count();
        self.held.is_none() && self.sendings.has_free(quarters, limits, ahead, now)
    }

    /// The position of a queued edit of the same message. There is at most one.
    fn unsent_edit(&self, what: &Outgoing) -> Option<usize> {
        let message = edited(what)?;
        let first = usize::from(self.under_way);
        (first..self.jobs.len()).find(|at| edited(&self.jobs[*at].what) == Some(message))
    }

    fn merge(&mut self, at: usize, newer: Outgoing, waiting: SendReply) {
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

/// Merges two edits of one message. An edit of the text replaces everything; an edit of the buttons replaces only the
/// buttons.
fn merged(older: &Outgoing, newer: Outgoing) -> Outgoing {
    match (older, newer) {
        (Outgoing::Edit(edit), Outgoing::Buttons { keyboard, .. })
        | (Outgoing::Progress(edit), Outgoing::Buttons { keyboard, .. }) => {
            Outgoing::Edit(super::outgoing::Edit { keyboard, ..edit.clone() })
        }
        // The older edit must be made, so the merged one must be as well.
        (Outgoing::Edit(_) | Outgoing::Buttons { .. }, Outgoing::Progress(edit)) => Outgoing::Edit(edit),
        (_, newer) => newer,
    }
}

fn edited(what: &Outgoing) -> Option<i32> {
    match what {
        Outgoing::Edit(edit) | Outgoing::Progress(edit) => Some(edit.message),
        Outgoing::Buttons { message, .. } => Some(*message),
        Outgoing::Message(_)
        | Outgoing::Aside(_)
        | Outgoing::Document(_)
        | Outgoing::Action { .. }
        | Outgoing::Delete { .. } => None,
    }
}

/// Whether a job has a low priority: an aside, or a chat action.
fn is_passing(what: &Outgoing) -> bool {
    matches!(what, Outgoing::Action { .. } | Outgoing::Aside(_))
}

/// Whether a job counts towards the rate limit of its chat.
fn counts(what: &Outgoing) -> bool {
    !matches!(what, Outgoing::Action { .. })
}

fn size(what: &Outgoing) -> usize {
    let text = match what {
        Outgoing::Message(message) | Outgoing::Aside(message) => message.text.len(),
        Outgoing::Edit(edit) | Outgoing::Progress(edit) => edit.text.len(),
        Outgoing::Document(document) => document.bytes.len() + document.caption.len(),
        Outgoing::Buttons { .. } | Outgoing::Action { .. } | Outgoing::Delete { .. } => 0,
    };
    text + size_of::<Job>()
}
