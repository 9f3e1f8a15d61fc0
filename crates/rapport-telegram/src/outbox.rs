//! Sends messages with retries, within Telegram's rate limits. Within a chat, new messages are sent in order, and so
//! are edits; chats are independent of each other.
//!
//! One task owns all queues. It drops the queue of a chat when the queue is empty and its last messages no longer count
//! towards a rate limit. Delivery is at least once: if Telegram's response is lost, the message is sent again.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::api_error::ApiError;
use super::lane::{Lane, SendReply};
use super::outgoing::{Deliver, Kind, Outgoing, Sent};
use super::rates::{Limits, Rate, Sendings};

/// The shortest pause that is reported. Shorter ones are over before a person would notice.
const LONG_PAUSE: Duration = Duration::from_secs(60);

/// The maximum number of queued jobs for all chats together. Each chat has a limit of its own as well.
const MOST_TOGETHER: usize = 20_000;

/// Receives reports about chats.
pub type Reports = Box<dyn Fn(Report) + Send>;

/// What happened to a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A group became a supergroup, which has another chat id. Messages queued for the old chat are sent to the new
    /// one.
    Moved { from: i64, to: i64 },
    /// Telegram demands a long pause. Nothing is sent to the chat until the pause is over.
    Paused { chat: i64, length: Duration },
}

/// A handle to the sending task. Clones share it; queued messages are still sent after the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Outbox(mpsc::UnboundedSender<Order>);

#[derive(Debug)]
enum Order {
    Send { chat: i64, what: Box<Outgoing>, waiting: SendReply },
    Flush(oneshot::Sender<()>),
    Chats(oneshot::Sender<usize>),
}

impl Outbox {
    /// Starts sending through `through`, as fast as Telegram allows.
    pub fn start(through: Arc<dyn Deliver>) -> Self {
        Self::start_within(Limits::TELEGRAM, through, Box::new(|_| {}))
    }

    /// Starts sending through `through`, within these limits, and reports events of chats.
    pub fn start_within(limits: Limits, through: Arc<dyn Deliver>, reports: Reports) -> Self {
        let (orders, taken) = mpsc::unbounded_channel();
        tokio::spawn(Sending::new(limits, through, reports).run(taken));
        Self(orders)
    }

    /// Queues a job for a chat at once. The future resolves to the outcome. The job is sent even if the future is
    /// dropped.
    pub fn send(
        &self,
        chat: i64,
        what: Outgoing,
    ) -> impl Future<Output = Result<Sent, ApiError>> + Send + use<> {
        let (waiting, ended) = oneshot::channel();
        let queued = self.0.send(Order::Send { chat, what: Box::new(what), waiting });
        async move {
            queued.map_err(|_| ApiError::Stopped)?;
            ended.await.unwrap_or(Err(ApiError::Stopped))
        }
    }

    /// Waits until all queues are empty.
    pub async fn flush(&self) {
        let (done, empty) = oneshot::channel();
        if self.0.send(Order::Flush(done)).is_ok() {
            let _ = empty.await;
        }
    }

    /// The number of chats with a queue.
    pub async fn chats(&self) -> usize {
        let (tell, told) = oneshot::channel();
        if self.0.send(Order::Chats(tell)).is_err() {
            return 0;
        }
        told.await.unwrap_or(0)
    }
}

/// The task that owns the queues.
struct Sending {
    limits: Limits,
    through: Arc<dyn Deliver>,
    reports: Reports,
    lanes: HashMap<i64, Lane>,
    /// New messages to all chats.
    posts: Together,
    /// Edits in all chats.
    edits: Together,
    /// When to check a chat again.
    later: BTreeSet<(Instant, i64)>,
    /// If set, nothing is sent to any chat before this time.
    all_paused: Option<Instant>,
    /// Chats that wait for Telegram to be reachable again.
    unreachable: HashSet<i64>,
    under_way: JoinSet<Result<Sent, ApiError>>,
    chat_of: HashMap<task::Id, (i64, Kind)>,
    /// The number of queued jobs, for all chats.
    waiting: usize,
    flushes: Vec<oneshot::Sender<()>>,
}

/// The state of one kind of job across all chats.
#[derive(Default)]
struct Together {
    /// Chats whose own limits allow the next job. The common limit may not allow it yet.
    ready: VecDeque<i64>,
    in_ready: HashSet<i64>,
    sendings: Sendings,
    under_way: usize,
}

impl Together {
    fn add(&mut self, chat: i64) {
        if self.in_ready.insert(chat) {
            self.ready.push_back(chat);
        }
    }

    fn next(&mut self) -> Option<i64> {
        let chat = self.ready.pop_front()?;
        self.in_ready.remove(&chat);
        Some(chat)
    }
}

impl Sending {
    fn new(limits: Limits, through: Arc<dyn Deliver>, reports: Reports) -> Self {
        Self {
            limits,
            through,
            reports,
            lanes: HashMap::new(),
            posts: Together::default(),
            edits: Together::default(),
            later: BTreeSet::new(),
            all_paused: None,
            unreachable: HashSet::new(),
            under_way: JoinSet::new(),
            chat_of: HashMap::new(),
            waiting: 0,
            flushes: Vec::new(),
        }
    }

    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut open = true;
        while open || self.waiting > 0 {
            let wake = self.wake_at();
            tokio::select! {
                order = orders.recv(), if open => match order {
                    Some(order) => self.take(order),
                    None => open = false,
                },
                Some(ended) = self.under_way.join_next_with_id(), if !self.under_way.is_empty() => {
                    self.joined(ended);
                },
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.go_on();
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            // A chat action that has to wait would come too late, and would delay messages.
            Order::Send { what, waiting, .. }
                if matches!(*what, Outgoing::Action { .. })
                    && self.is_full(Kind::Post, self.limits.overall) =>
            {
                let _ = waiting.send(Ok(Sent::Dropped));
            }
            // Low-priority jobs must leave most of the rate to other jobs.
            Order::Send { what, waiting, .. }
                if matches!(*what, Outgoing::Aside(_) | Outgoing::Progress(_))
                    && self.is_full(what.kind(), self.limits.passing()) =>
            {
                let _ = waiting.send(Ok(Sent::Dropped));
            }
            // The sender of a card keeps the card, and sends it again later.
            Order::Send { what, waiting, .. } if self.waiting >= MOST_TOGETHER => {
                let passes =
                    matches!(*what, Outgoing::Action { .. } | Outgoing::Aside(_) | Outgoing::Progress(_));
                let _ = waiting.send(if passes { Ok(Sent::Dropped) } else { Err(ApiError::Full) });
            }
            Order::Send { chat, what, waiting } => {
                let lane = self.lanes.entry(chat).or_default();
                let before = lane.len();
                lane.push(*what, waiting, self.limits.of(chat), Instant::now());
                self.waiting += lane.len() - before;
                self.look_at(chat);
            }
            Order::Flush(done) => self.flushes.push(done),
            Order::Chats(tell) => drop(tell.send(self.lanes.len())),
        }
    }

    fn joined(&mut self, ended: Result<(task::Id, Result<Sent, ApiError>), JoinError>) {
        let (id, result) = match ended {
            Ok(ended) => ended,
            // The task panicked. The job ends, so that its sender does not wait forever.
            Err(error) => {
                let description = "sending it failed unexpectedly".to_owned();
                (error.id(), Err(ApiError::Refused { code: 0, description }))
            }
        };
        if let Some((chat, kind)) = self.chat_of.remove(&id) {
            let overall = self.limits.overall;
            let together = self.together(kind);
            together.under_way -= 1;
            together.sendings.note(overall, Instant::now());
            self.ended(chat, kind, result);
        }
    }

    fn together(&mut self, kind: Kind) -> &mut Together {
        match kind {
            Kind::Post => &mut self.posts,
            Kind::Edit => &mut self.edits,
        }
    }

    fn ended(&mut self, chat: i64, kind: Kind, result: Result<Sent, ApiError>) {
        if let Err(ApiError::Moved { to }) = result
            && to != chat
        {
            return self.moved(chat, kind, to);
        }
        if let Err(error) = &result {
            warn!(chat, %error, "not sent");
        }
        let now = Instant::now();
        let (arrived, too_many) = (result.is_ok(), matches!(result, Err(ApiError::TooMany { .. })));
        if let Err(ApiError::TooMany { retry_after: length }) = result
            && length >= LONG_PAUSE
        {
            (self.reports)(Report::Paused { chat, length });
        }
        if let Some(lane) = self.lanes.get_mut(&chat) {
            let before = lane.len();
            lane.ended(kind, result, self.limits.of(chat), now);
            self.waiting -= before - lane.len();
            if lane.is_unreachable() {
                self.unreachable.insert(chat);
            }
        }
        if too_many {
            self.pause_all_if_others_are(chat, now);
        }
        if arrived {
            self.try_the_unreachable();
        }
        self.look_at(chat);
    }

    /// Handles a group that became a supergroup, which has another chat id.
    fn moved(&mut self, from: i64, kind: Kind, to: i64) {
        // The move is reported before the outcomes of jobs, because those who wait for them have to know the new chat.
        (self.reports)(Report::Moved { from, to });
        let Some(lane) = self.lanes.get_mut(&from) else { return };
        let before = lane.len();
        let jobs = lane.leave_for(to, kind);
        self.waiting -= before - lane.len() - jobs.len();
        let new = self.lanes.entry(to).or_default();
        for job in jobs {
            new.take_over(job);
        }
        self.look_at(from);
        self.look_at(to);
    }

    /// Pauses all chats, if Telegram pauses two chats at the same time, because then the whole bot is limited.
    fn pause_all_if_others_are(&mut self, chat: i64, now: Instant) {
        let Some(until) = self.lanes.get(&chat).and_then(|lane| lane.paused_until(now)) else { return };
        let another =
            self.lanes.iter().any(|(other, lane)| *other != chat && lane.paused_until(now).is_some());
        if another {
            self.all_paused = self.all_paused.max(Some(until));
        }
    }

    /// Retries the chats that waited until Telegram can be reached again.
    fn try_the_unreachable(&mut self) {
        for chat in std::mem::take(&mut self.unreachable) {
            if let Some(lane) = self.lanes.get_mut(&chat) {
                lane.try_again();
                self.look_at(chat);
            }
        }
    }

    /// Schedules the next jobs of a chat, or drops its queue if that is no longer needed.
    fn look_at(&mut self, chat: i64) {
        let now = Instant::now();
        let Some(lane) = self.lanes.get(&chat) else { return };
        let limits = self.limits.of(chat);
        let over = lane.forgotten_at(limits, now);
        let due = Kind::ALL.map(|kind| (kind, lane.due_at(kind, limits, now)));
        for (kind, due) in due {
            match due {
                Some(due) if due <= now => self.together(kind).add(chat),
                Some(due) => drop(self.later.insert((due, chat))),
                None => {}
            }
        }
        match over {
            Some(over) if over > now => drop(self.later.insert((over, chat))),
            Some(_) => drop(self.lanes.remove(&chat)),
            None => {}
        }
    }

    fn go_on(&mut self) {
        let now = Instant::now();
        while let Some((at, chat)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.remove(&(at, chat));
            self.look_at(chat);
        }
        for kind in Kind::ALL {
            while self.overall_at(kind, now).is_some_and(|at| at <= now)
                && let Some(chat) = self.together(kind).next()
            {
                self.start(chat, kind, now);
            }
        }
        if self.waiting == 0 {
            for done in self.flushes.drain(..) {
                let _ = done.send(());
            }
        }
    }

    fn start(&mut self, chat: i64, kind: Kind, now: Instant) {
        let limits = self.limits.of(chat);
        let Some(lane) = self.lanes.get_mut(&chat) else { return };
        // Telegram may have paused the chat since it was marked as ready.
        if lane.due_at(kind, limits, now).is_none_or(|due| due > now) {
            return self.look_at(chat);
        }
        let Some(what) = lane.start(kind) else { return };
        let through = Arc::clone(&self.through);
        let task = self.under_way.spawn(async move { through.deliver(chat, &what).await });
        self.together(kind).under_way += 1;
        self.chat_of.insert(task.id(), (chat, kind));
    }

    /// Whether one more job of a kind would have to wait for jobs of other chats, at this rate.
    fn is_full(&self, kind: Kind, rate: Rate) -> bool {
        let now = Instant::now();
        let Together { ready, sendings, under_way, .. } = match kind {
            Kind::Post => &self.posts,
            Kind::Edit => &self.edits,
        };
        !ready.is_empty()
            || self.all_paused.is_some_and(|until| until > now)
            || sendings.ready_at(rate, *under_way, now).is_none_or(|at| at > now)
    }

    /// When the common limit allows the next job of a kind. `None` until a job that is being sent has ended.
    fn overall_at(&self, kind: Kind, now: Instant) -> Option<Instant> {
        let Together { sendings, under_way, .. } = match kind {
            Kind::Post => &self.posts,
            Kind::Edit => &self.edits,
        };
        let allowed = sendings.ready_at(self.limits.overall, *under_way, now)?;
        Some(self.all_paused.map_or(allowed, |until| until.max(allowed)))
    }

    fn wake_at(&self) -> Option<Instant> {
        let later = self.later.first().map(|(at, _)| *at);
        let now = Instant::now();
        let posts = self.overall_at(Kind::Post, now).filter(|_| !self.posts.ready.is_empty());
        let edits = self.overall_at(Kind::Edit, now).filter(|_| !self.edits.ready.is_empty());
        later.into_iter().chain(posts).chain(edits).min()
    }
}
