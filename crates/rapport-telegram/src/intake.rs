//! Receives updates, whether polled or delivered by webhook: parses them one by one, handles them in order within a
//! chat and concurrently between chats, and records them in the ledger.
//!
//! One task owns the ledger. An update that cannot be parsed, or whose handler panics, is stored in a separate file and
//! counts as done, so that it does not block other updates.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::sleep;

use super::backoff::Backoff;
use super::bot_api::{Update, UpdateContent};
use super::ledger::{Confirming, Head, Ledger};
use super::notice::{Notice, Notices};
use super::paste::{self, Paste};
use super::{BotFiles, Now, durable};

/// The maximum size of the file of unreadable updates before it is rotated.
const MOST_UNREAD: u64 = 1 << 20;

/// The number of unfinished updates above which no more are fetched.
const MOST_UNFINISHED: usize = 1000;

/// The outcome of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// The update is durable, or nothing of it had to be stored.
    Durable,
    /// The update could not be made durable, and must be retried.
    Again,
}

/// Makes updates durable, and acts on them. It returns as soon as the update is safe, and continues slow work after
/// that. It must be idempotent per `update_id`, because after a kill the same update may come again.
pub trait Handler: Send + Sync + 'static {
    fn handle(&self, update: Update) -> BoxFuture<'_, Handled>;
}

/// A handle to the intake. Clones share it.
#[derive(Clone, Debug)]
pub struct Intake(mpsc::UnboundedSender<Order>);

/// What the intake consists of.
pub struct Parts {
    pub ledger: Ledger,
    /// The files of the bot, one of which stores unreadable updates.
    pub files: BotFiles,
    pub handler: Arc<dyn Handler>,
    pub notices: Notices,
    pub now: Now,
}

/// Resolves when the update is done and in the ledger.
pub type Done = oneshot::Receiver<()>;

#[derive(Debug)]
enum Order {
    Take(Box<RawValue>, oneshot::Sender<()>),
    Checkpoint(oneshot::Sender<Point>),
    Close(oneshot::Sender<()>),
}

/// The progress of the intake; all of it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The offset that may be confirmed to Telegram.
    pub offset: Option<i64>,
    /// The number of updates being handled.
    pub unfinished: usize,
}

impl Intake {
    /// Starts the intake with the updates that the last process did not finish.
    pub fn start(parts: Parts) -> Self {
        let (orders, taken) = mpsc::unbounded_channel();
        tokio::spawn(Taking::new(parts).run(taken));
        Self(orders)
    }

    /// Accepts an unparsed update. The returned receiver resolves when the update is done and in the ledger. If the
    /// process ends before that, it never resolves.
    pub fn take(&self, raw: Box<RawValue>) -> Done {
        let (tell, done) = oneshot::channel();
        let _ = self.0.send(Order::Take(raw, tell));
        done
    }

    /// Writes the ledger with all updates, done or not, and returns the offset that may be confirmed. Waits while the
    /// disk fails or too many updates are unfinished. `None` once the intake is closed.
    pub async fn checkpoint(&self) -> Option<Point> {
        let (tell, told) = oneshot::channel();
        self.0.send(Order::Checkpoint(tell)).ok()?;
        told.await.ok()
    }

    /// Accepts no more updates, and waits for those that are being handled. The ledger keeps the rest for the next
    /// process.
    pub async fn close(&self) {
        let (tell, closed) = oneshot::channel();
        if self.0.send(Order::Close(tell)).is_ok() {
            let _ = closed.await;
        }
    }
}

/// What a task of the intake does.
enum Task {
    /// Waits for more parts of a text.
    Gather(Box<Paste>),
    /// Handles the updates with these ids.
    Handle(Vec<u32>),
}

/// The task that owns the ledger.
struct Taking {
    parts: Parts,
    /// By chat, the updates that wait until the current one is done.
    chats: HashMap<i64, VecDeque<Update>>,
    under_way: JoinSet<()>,
    of_task: HashMap<task::Id, (i64, Task)>,
    waiting: HashMap<u32, Vec<oneshot::Sender<()>>>,
    /// The senders to notify when the ledger is written: their updates are done.
    to_tell: Vec<oneshot::Sender<()>>,
    backoff: Backoff,
    told_unwritten: bool,
    checkpoints: Vec<oneshot::Sender<Point>>,
    closing: Option<oneshot::Sender<()>>,
}

impl Taking {
    fn new(parts: Parts) -> Self {
        Self {
            parts,
            chats: HashMap::new(),
            under_way: JoinSet::new(),
            of_task: HashMap::new(),
            waiting: HashMap::new(),
            to_tell: Vec::new(),
            backoff: Backoff::default(),
            told_unwritten: false,
            checkpoints: Vec::new(),
            closing: None,
        }
    }

    async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let left: Vec<_> = self.parts.ledger.unfinished().map(ToOwned::to_owned).collect();
        for raw in left {
            self.begin(raw).await;
        }
        let mut open = true;
        while open || !self.under_way.is_empty() {
            tokio::select! {
                order = orders.recv(), if open => match order {
                    Some(order) => self.obey(order).await,
                    None => open = false,
                },
                Some(ended) = self.under_way.join_next_with_id(), if !self.under_way.is_empty() => {
                    self.ended(ended).await;
                    while let Some(ended) = self.under_way.try_join_next_with_id() {
                        self.ended(ended).await;
                    }
                    self.write(Confirming::No).await;
                }
            }
            self.answer_checkpoints().await;
            if self.closing.is_some() && self.under_way.is_empty() {
                break;
            }
        }
        self.write(Confirming::Yes).await;
        if let Some(closed) = self.closing.take() {
            let _ = closed.send(());
        }
    }

    async fn obey(&mut self, order: Order) {
        match order {
            // The intake is closing, so this update is not accepted. Telegram delivers it again.
            Order::Take(..) if self.closing.is_some() => {}
            Order::Take(raw, done) => self.take(raw, done).await,
            Order::Checkpoint(tell) => self.checkpoints.push(tell),
            Order::Close(closed) => self.closing = Some(closed),
        }
    }

    async fn answer_checkpoints(&mut self) {
        if self.checkpoints.is_empty() || self.parts.ledger.unfinished_count() > MOST_UNFINISHED {
            return;
        }
        while !self.write(Confirming::Yes).await {}
        let ledger = &self.parts.ledger;
        let point =
            Point { offset: ledger.offset((self.parts.now)()), unfinished: ledger.unfinished_count() };
        for tell in self.checkpoints.drain(..) {
            let _ = tell.send(point);
        }
    }

    async fn take(&mut self, raw: Box<RawValue>, done: oneshot::Sender<()>) {
        let Ok(Head { update_id }) = serde_json::from_str(raw.get()) else {
            self.put_aside(&raw, "it has no update_id").await;
            let _ = done.send(());
            return;
        };
        if self.parts.ledger.is_done(update_id) {
            let _ = done.send(());
            return;
        }
        self.waiting.entry(update_id).or_default().push(done);
        if !self.parts.ledger.is_unfinished(update_id) {
            self.parts.ledger.take(update_id, raw.clone(), (self.parts.now)());
            self.begin(raw).await;
        }
    }

    /// Handles an update that is in the ledger, or queues it behind another update of its chat.
    async fn begin(&mut self, raw: Box<RawValue>) {
        match serde_json::from_str::<Update>(raw.get()) {
            Ok(update) => {
                let chat = chat_of(&update);
                match self.chats.get_mut(&chat) {
                    Some(behind) => behind.push_back(update),
                    None => {
                        self.chats.insert(chat, VecDeque::new());
                        self.gather(chat, Paste::begun_by(update));
                    }
                }
            }
            Err(error) => {
                self.put_aside(&raw, &error.to_string()).await;
                if let Ok(Head { update_id }) = serde_json::from_str(raw.get()) {
                    self.finish(update_id);
                    self.write(Confirming::No).await;
                }
            }
        }
    }

    /// Waits for the rest of a text that may have been split, or handles it.
    fn gather(&mut self, chat: i64, paste: Paste) {
        if paste.may_go_on() {
            let task = self.under_way.spawn(sleep(paste::PAUSE));
            self.of_task.insert(task.id(), (chat, Task::Gather(Box::new(paste))));
        } else {
            self.handle(chat, paste);
        }
    }

    fn handle(&mut self, chat: i64, Paste { update, ids, .. }: Paste) {
        let handler = Arc::clone(&self.parts.handler);
        let task = self.under_way.spawn(async move {
            let mut backoff = Backoff::default();
            while handler.handle(update.clone()).await == Handled::Again {
                sleep(backoff.grow()).await;
            }
        });
        self.of_task.insert(task.id(), (chat, Task::Handle(ids)));
    }

    async fn ended(&mut self, ended: Result<(task::Id, ()), JoinError>) {
        let (task, broken) = match ended {
            Ok((task, ())) => (task, None),
            Err(error) => (error.id(), Some(error)),
        };
        let (chat, ids) = match self.of_task.remove(&task) {
            None => return,
            Some((chat, Task::Gather(mut paste))) => {
                let has_more = self.chats.get_mut(&chat).is_some_and(|waiting| paste.take(waiting));
                return if has_more { self.gather(chat, *paste) } else { self.handle(chat, *paste) };
            }
            Some((chat, Task::Handle(ids))) => (chat, ids),
        };
        for id in ids {
            let raw = self.parts.ledger.unfinished_one(id).map(ToOwned::to_owned);
            if let Some(raw) = raw.filter(|_| broken.is_some()) {
                self.put_aside(&raw, "its handler panicked").await;
            }
            self.finish(id);
        }
        self.next_of(chat);
    }

    fn next_of(&mut self, chat: i64) {
        let next = self.chats.get_mut(&chat).filter(|_| self.closing.is_none()).and_then(VecDeque::pop_front);
        match next {
            Some(update) => self.gather(chat, Paste::begun_by(update)),
            None => drop(self.chats.remove(&chat)),
        }
    }

    fn finish(&mut self, id: u32) {
        self.parts.ledger.finish(id);
        self.to_tell.extend(self.waiting.remove(&id).unwrap_or_default());
    }

    /// Writes the ledger, and then notifies those who wait for that. Returns whether the ledger could be written.
    async fn write(&mut self, confirming: Confirming) -> bool {
        if let Some(writing) = self.parts.ledger.writing(confirming) {
            let written = off_thread(move || writing.write().map_err(|error| error.to_string()));
            if let Err(why) = written.await {
                self.parts.ledger.unwritten();
                if !std::mem::replace(&mut self.told_unwritten, true) {
                    self.tell(Notice::Unwritten { why });
                }
                // The caller retries at once, so the delay has to be here.
                sleep(self.backoff.grow()).await;
                return false;
            }
        }
        self.backoff.reset();
        self.told_unwritten = false;
        for done in self.to_tell.drain(..) {
            let _ = done.send(());
        }
        true
    }

    async fn put_aside(&self, raw: &RawValue, why: &str) {
        let (path, line) = (self.parts.files.unread(), one_line(raw.get()));
        let kept = keep(path.clone(), line).await;
        self.tell(match kept {
            Ok(()) => Notice::Unread { path, why: why.to_owned() },
            Err(error) => Notice::Unwritten { why: format!("cannot write {}: {error}", path.display()) },
        });
    }

    fn tell(&self, notice: Notice) {
        // The receiver may be gone.
        let _ = self.parts.notices.send(notice);
    }
}

async fn keep(path: PathBuf, line: String) -> Result<(), String> {
    off_thread(move || durable::append_line(&path, &line, MOST_UNREAD).map_err(|error| error.to_string()))
        .await
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// JSON on one line. Line breaks in JSON occur only between tokens, so they can be replaced by spaces.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// The chat of an update. Updates of one chat are handled in order.
fn chat_of(update: &Update) -> i64 {
    match &update.content {
        UpdateContent::Message(message) | UpdateContent::EditedMessage(message) => message.chat.id,
        UpdateContent::CallbackQuery(query) => match &query.message {
            Some(message) => message.chat.id,
            None => i64::try_from(query.from.id).unwrap_or_default(),
        },
        UpdateContent::MyChatMember(change) => change.chat.id,
    }
}
