//! Follows all sessions and keeps a summary of each. Only sessions that changed or were viewed recently keep their
//! whole state in memory, so that thousands of waiting sessions cost little.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::tz::TimeZone;
use rapport_core::{Aim, Entry, Followed, Presenter, SessionId, Status};
use rapport_door::{DoorError, Seen, Sessions, Update};
use tokio::sync::{broadcast, watch};

use crate::summary::{Summary, Waiting, decided_here, position, searched, shortened};

/// The number of sessions whose whole state is kept.
const KEPT: usize = 32;
/// The number of logs that are read at the same time when the server starts.
const READERS: usize = 4;
/// The number of changes that may wait for a page. A page that falls further behind is told to catch up.
const WAITING_CHANGES: usize = 256;
/// How long a page waits for the first reading, which takes longer only with thousands of sessions.
const PAGE_WAITS: Duration = Duration::from_millis(500);
/// The maximum length of what an agent does, in characters.
const LONGEST_DOING: usize = 200;

/// Everything that pages show of sessions. Clones share it.
#[derive(Clone)]
pub(crate) struct Board {
    sessions: Arc<dyn Sessions>,
    /// The names of projects, by their directories.
    projects: Arc<HashMap<String, String>>,
    /// The zone in which days are counted.
    zone: TimeZone,
    state: Arc<Mutex<State>>,
    changes: broadcast::Sender<BoardChange>,
    /// How many sessions are still to be read since the start; `None` before their number is known.
    unread: Arc<watch::Sender<Option<usize>>>,
}

#[derive(Default)]
struct State {
    summaries: HashMap<SessionId, Arc<Summary>>,
    /// How many items wait in all sessions together.
    waiting: usize,
    /// The sessions whose whole state is kept, the most recently used first.
    kept: VecDeque<(SessionId, Arc<Presenter>)>,
    /// Sessions that cannot be shown, and why.
    unreadable: HashMap<SessionId, String>,
    /// The sessions that this process runs because somebody did something here.
    resumed_here: HashSet<SessionId>,
}

/// What changed in the sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoardChange {
    /// A session has new facts, and this many things wait now.
    Facts(SessionId, usize),
    /// What the agent of a session does now.
    Doing(SessionId, String),
    /// Something that concerns all sessions.
    All,
}

/// An item that waits for a person, and its session.
#[derive(Clone, Debug)]
pub(crate) struct WaitingItem {
    pub(crate) session: SessionId,
    pub(crate) project: String,
    pub(crate) task: String,
    pub(crate) waiting: Waiting,
}

/// The order of the inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InboxOrder {
    #[default]
    Oldest,
    Urgent,
}

impl Board {
    pub(crate) fn new(
        sessions: Arc<dyn Sessions>,
        projects: HashMap<String, String>,
        zone: TimeZone,
    ) -> Self {
        let (changes, _) = broadcast::channel(WAITING_CHANGES);
        let unread = Arc::new(watch::Sender::new(None));
        Self { sessions, projects: Arc::new(projects), zone, state: Arc::default(), changes, unread }
    }

    /// Follows all sessions, until the watch ends.
    pub(crate) async fn follow(&self) -> Result<(), DoorError> {
        // Watches before it reads, so that no change in between is missed.
        let mut seen = self.sessions.watch().await?;
        let all = self.sessions.list().await?;
        self.unread.send_replace(Some(all.len()));
        let mut is_reading = true;
        // The newest first, because people look for those.
        let mut reading = stream::iter(all.into_iter().rev())
            .map(|id| async move { (self.sessions.entries(&id, 0).await, id) })
            .buffer_unordered(READERS);
        loop {
            tokio::select! {
                seen = seen.next() => match seen {
                    Some(seen) => self.on_seen(seen).await,
                    None => return Ok(()),
                },
                next = reading.next(), if is_reading => match next {
                    Some((entries, id)) => {
                        self.on_read(&id, entries);
                        self.unread.send_modify(|unread| *unread = unread.map(|unread| unread.saturating_sub(1)));
                    }
                    None => {
                        is_reading = false;
                        self.tell(BoardChange::All);
                    }
                }
            }
        }
    }

    /// Follows what changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<BoardChange> {
        self.changes.subscribe()
    }

    /// The state of a session, as far as this process knows it.
    pub(crate) async fn presenter(&self, id: &SessionId) -> Result<Arc<Presenter>, DoorError> {
        if let Some(kept) = self.kept(id) {
            return Ok(kept);
        }
        let entries = self.sessions.entries(id, 0).await?;
        self.take_over(id, entries, true)
            .or_else(|| self.kept(id))
            .ok_or_else(|| DoorError::Failed(format!("session {id} has no facts yet")))
    }

    /// The state of a session, with everything that is stored by now, so that a person who acted sees the effect.
    pub(crate) async fn refresh(&self, id: &SessionId) -> Result<Arc<Presenter>, DoorError> {
        let known = self.presenter(id).await?;
        let entries = self.sessions.entries(id, known.session().seq()).await?;
        Ok(self.take_over(id, entries, true).unwrap_or(known))
    }

    /// Everything that waits for a person, in this order.
    pub(crate) fn waiting(&self, order: InboxOrder) -> Vec<WaitingItem> {
        let state = self.state();
        let mut all: Vec<WaitingItem> = state
            .summaries
            .values()
            .flat_map(|summary| {
                summary.waiting.iter().map(|waiting| WaitingItem {
                    session: summary.id.clone(),
                    project: summary.project.clone(),
                    task: summary.task.clone(),
                    waiting: waiting.clone(),
                })
            })
            .collect();
        drop(state);
        // A total order, so that items do not jump between two showings of the list.
        let oldest =
            |item: &WaitingItem| (item.waiting.at, item.session.clone(), item.waiting.question.clone());
        match order {
            InboxOrder::Oldest => all.sort_by_cached_key(oldest),
            InboxOrder::Urgent => all.sort_by_cached_key(|item| (item.waiting.kind, oldest(item))),
        }
        all
    }

    /// How many items wait for a person.
    pub(crate) fn waiting_count(&self) -> usize {
        self.state().waiting
    }

    /// The sessions whose name, task, questions and answers have all these words, which are in lower case; the most
    /// recently changed first.
    pub(crate) async fn search(&self, words: &[String]) -> Vec<Arc<Summary>> {
        let all = self.summaries(|_| true);
        if words.is_empty() {
            return all;
        }
        let mut found = Vec::new();
        for one in all {
            let name = format!("{} {}", one.id, one.project).to_lowercase();
            let missing: Vec<&String> = words
                .iter()
                .filter(|word| !name.contains(word.as_str()) && position(&one.words, word).is_none())
                .collect();
            if missing.is_empty() || one.has_more_words && self.says(&one.id, &missing).await {
                found.push(one);
            }
        }
        found
    }

    /// Whether a session has all these words, in all that is searched of it.
    async fn says(&self, id: &SessionId, words: &[&String]) -> bool {
        // A session that cannot be read is listed as such.
        let Ok(presenter) = self.presenter(id).await else { return false };
        let (text, _) = searched(&presenter.session().view(id), usize::MAX);
        words.iter().all(|word| position(&text, word).is_some())
    }

    /// The matching sessions, the most recently changed first.
    pub(crate) fn summaries(&self, fits: impl Fn(&Summary) -> bool) -> Vec<Arc<Summary>> {
        let state = self.state();
        let mut found: Vec<_> = state.summaries.values().filter(|one| fits(one)).cloned().collect();
        drop(state);
        found.sort_by(|one, other| (other.updated_at, &other.id).cmp(&(one.updated_at, &one.id)));
        found
    }

    /// How many sessions are still to be read; `None` if that is not known yet.
    pub(crate) fn unread(&self) -> Option<usize> {
        *self.unread.borrow()
    }

    /// Waits a moment for the first reading, so that the first page shows what there is. A browser without scripts
    /// would not be told of it later.
    pub(crate) async fn soon_read(&self) {
        let _ = tokio::time::timeout(PAGE_WAITS, self.all_read()).await;
    }

    /// Waits until every session that was there at the start has been read.
    pub(crate) async fn all_read(&self) {
        // The sender lives as long as the board.
        let _ = self.unread.subscribe().wait_for(|unread| *unread == Some(0)).await;
    }

    /// The sessions that cannot be shown, and why.
    pub(crate) fn unreadable(&self) -> Vec<(SessionId, String)> {
        let mut all: Vec<_> =
            self.state().unreadable.iter().map(|(id, why)| (id.clone(), why.clone())).collect();
        all.sort();
        all
    }

    /// Notes that this process may run a session from now on, because somebody did something in it.
    pub(crate) async fn resumed_here(&self, id: &SessionId) {
        if self.kept(id).is_some_and(|kept| kept.session().created().aim == Aim::Files) {
            self.state().resumed_here.insert(id.clone());
            self.release_at_rest(id).await;
        }
    }

    /// Stops running a session of turns in which nothing goes on by itself, so that a person at a terminal can continue
    /// it.
    async fn release_at_rest(&self, id: &SessionId) {
        let rests = {
            let mut state = self.state();
            let is_at_rest = state.summaries.get(id).is_some_and(|summary| summary.is_at_rest);
            is_at_rest && state.resumed_here.remove(id)
        };
        if rests && let Err(error) = self.sessions.release(id).await {
            tracing::warn!(session = %id, %error, "not released");
        }
    }

    /// The name of a project, by its directory.
    pub(crate) fn project(&self, path: &str) -> String {
        let own = self.projects.get(path).cloned();
        own.unwrap_or_else(|| shortened(path.rsplit('/').next().unwrap_or(path), 60))
    }

    async fn on_seen(&self, seen: Seen) {
        let Seen { session, updates } = seen;
        let mut entries = Vec::new();
        for update in updates {
            match update {
                Update::Entry(entry) => entries.push(entry),
                Update::Progress(progress) => {
                    if let Some(doing) = progress.doing {
                        let doing = match self.kept(&session) {
                            Some(kept) => kept.session().seen_from(&session).activity(&doing),
                            None => doing.to_string(),
                        };
                        let doing = shortened(&doing, LONGEST_DOING);
                        self.tell(BoardChange::Doing(session.clone(), doing));
                    }
                }
                Update::Action(_) => self.tell(BoardChange::Facts(session.clone(), self.waiting_count())),
                Update::Lost(why) => {
                    self.state().unreadable.insert(session.clone(), why);
                    self.tell(BoardChange::All);
                }
            }
        }
        if entries.is_empty() {
            return;
        }
        if self.take_over(&session, entries, false).is_none() {
            // Entries before these are missing here, so the log is read from its start.
            let read = self.sessions.entries(&session, 0).await;
            self.on_read(&session, read);
        }
        self.release_at_rest(&session).await;
    }

    fn on_read(&self, id: &SessionId, read: Result<Vec<Entry>, DoorError>) {
        match read {
            Ok(entries) => drop(self.take_over(id, entries, false)),
            Err(error) => drop(self.state().unreadable.insert(id.clone(), error.to_string())),
        }
    }

    /// Applies entries to the known state of a session; returns `None` if entries before them are missing. With
    /// `looked`, the whole state is kept in memory.
    fn take_over(&self, id: &SessionId, entries: Vec<Entry>, looked: bool) -> Option<Arc<Presenter>> {
        let known = self.kept(id);
        let before = known.as_ref().map(|known| known.session().seq());
        let mut presenter = match known {
            Some(known) => known,
            None => Arc::new(Presenter::open(entries.first().filter(|first| first.seq == 1)?)?),
        };
        for entry in &entries {
            if entry.seq <= presenter.session().seq() {
                continue;
            }
            if Arc::make_mut(&mut presenter).apply(entry) == Followed::Gap {
                return None;
            }
        }
        if before == Some(presenter.session().seq()) {
            return Some(presenter);
        }
        let project = self.project(presenter.session().project());
        let known = self.state().summaries.get(id).map(|known| (known.seq, known.is_decided_here));
        let (after, was_decided_here) = known.unwrap_or_default();
        let new = entries.iter().filter(|entry| entry.seq > after).flat_map(|entry| &entry.facts);
        let is_decided_here = new.filter_map(decided_here).next_back().unwrap_or(was_decided_here);
        let summary = Arc::new(Summary::of(id, &presenter, project, is_decided_here, &self.zone));
        let is_active = matches!(summary.status, Status::Started | Status::Running);
        let mut state = self.state();
        // Another reader may have applied newer entries meanwhile.
        let newest = state.summaries.get(id).map_or(0, |known| known.seq);
        if newest > summary.seq {
            return Some(presenter);
        }
        state.unreadable.remove(id);
        state.waiting += summary.waiting.len();
        let before_it = state.summaries.insert(id.clone(), summary);
        state.waiting -= before_it.map_or(0, |summary| summary.waiting.len());
        if looked || is_active || before.is_some() {
            state.keep(id, presenter.clone());
        }
        drop(state);
        self.tell(BoardChange::Facts(id.clone(), self.waiting_count()));
        Some(presenter)
    }

    fn kept(&self, id: &SessionId) -> Option<Arc<Presenter>> {
        let mut state = self.state();
        let place = state.kept.iter().position(|(known, _)| known == id)?;
        let found = state.kept.remove(place)?;
        let presenter = found.1.clone();
        state.kept.push_front(found);
        Some(presenter)
    }

    fn tell(&self, change: BoardChange) {
        // Sending fails if no page is open.
        let _ = self.changes.send(change);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Keeps the whole state of a session in memory, and drops the least recently used one if there are too many.
    fn keep(&mut self, id: &SessionId, presenter: Arc<Presenter>) {
        self.kept.retain(|(known, _)| known != id);
        self.kept.push_front((id.clone(), presenter));
        self.kept.truncate(KEPT);
    }
}
