//! The door to the sessions of one store, wherever they run: in this process, in another one, or nowhere at the moment.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use rapport_core::review::{self, Checks, Group};
use rapport_core::{
    Act, By, Created, Entry, Event, Input, QuestionRound, Rule, Session, SessionId, View, World,
};
use rapport_core::{export, prompt};
use rapport_door::{
    Content, DoorError, NewFile, Pieces, Reached, Reply, Seen, Sessions, Update, WorkplaceNow,
};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::claims::AGENTS_ANSWER_NOTHING;
use super::conversation_store::WORK;
use super::gateway::{Follower, Gateway, GatewayError};
use super::kept_states::restore_states;
use super::reach::Holders;
use super::{diff, pieces};
use crate::actions::project;
use crate::clock::Clock;
use crate::projects::grants::Grants;
use crate::stores::reach::Sent;
use crate::stores::{Changes, Holder, Store, StoreError};
use crate::workers::keeper::descent;
use crate::workers::{Worker, WorkerError, Workplace};

/// The number of attempts, and the pause between them, while a process is starting or stopping.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// The number of attempts while a process holds a session only to write something, or to clean up its workplace.
const LONG_TRIES: u32 = 600;

/// How long to wait for an answer about a workplace.
const LOOKING: Duration = Duration::from_secs(3);

/// Whether this holder does not listen, and releases the session soon.
fn is_brief(holder: &Holder) -> bool {
    holder.address.is_none() && *holder != Holder::UNKNOWN
}

/// Whether a session with this holder may be free soon, after so many attempts. While a process takes or releases a
/// session, the holder has no name for a moment.
fn is_soon_free(holder: &Holder, tried: u32) -> bool {
    is_brief(holder) || (*holder == Holder::UNKNOWN && tried < TRIES)
}

#[derive(Clone)]
pub struct ProjectSessions {
    store: Arc<dyn Store>,
    clock: Clock,
    /// The engine of this process, if it has one. Without one, this process runs nothing: acts go to the process that
    /// runs the session, or into its log.
    here: Option<Gateway>,
    /// The processes that run other sessions.
    holders: Holders,
    /// The workplaces of sessions, for reading their changes.
    worker: Arc<dyn Worker>,
    /// The permission rules of the project.
    grants: Option<Grants>,
}

impl ProjectSessions {
    /// The sessions of this store, some of which may run in the engine behind this gateway.
    pub fn new(store: Arc<dyn Store>, here: Option<Gateway>, worker: Arc<dyn Worker>, clock: Clock) -> Self {
        let holders = Holders::of(store.clone());
        Self { store, clock, here, holders, worker, grants: None }
    }

    /// Adds the permission rules of the project.
    #[must_use]
    pub fn granting(self, grants: Grants) -> Self {
        Self { grants: Some(grants), ..self }
    }

    fn gateway(&self) -> Result<&Gateway, DoorError> {
        self.here.as_ref().ok_or_else(|| DoorError::Failed("this process runs no sessions".into()))
    }

    fn runs_here(&self, id: &SessionId) -> bool {
        self.here.as_ref().is_some_and(|gateway| gateway.runs(id))
    }

    /// The facts of a session, if they are trusted: a channel shows them to people and acts on them.
    async fn read_entries(&self, id: &SessionId, after: u64) -> Result<Vec<Entry>, DoorError> {
        Ok(self.store.counted(id, after).await?)
    }

    /// A session replayed from its log, trusted or not.
    async fn replayed(&self, id: &SessionId) -> Result<Session, DoorError> {
        Ok(self.store.replay(id, &self.store.read(id, 0).await?)?)
    }

    /// The preview of a plan's item in the current state. Files are read in the same way as when the action runs.
    async fn preview(
        &self,
        id: &SessionId,
        turn: &str,
        group: Group,
        item: usize,
    ) -> Result<String, DoorError> {
        let session = self.replayed(id).await?;
        let failed = |why: String| DoorError::Failed(why);
        let plan = session.file_turn(turn).and_then(|turn| turn.plan.as_ref());
        let plan = plan.ok_or_else(|| failed(format!("turn {turn} has no plan that waits")))?;
        let plan = plan.read().map_err(|_| failed("the plan cannot be read".into()))?;
        let checks = Checks::all(&plan);
        let read = match review::needed(&plan, &checks, group, Some(item)) {
            Some(resource) => {
                let (id, worker) = (id.clone(), self.worker.clone());
                let root = spawn_blocking(move || {
                    let files = worker.directory(&id, session.created()).map_err(io::Error::other)?;
                    files.canonicalize()
                });
                let root = root.await.map_err(io::Error::other).and_then(|root| root).map_err(broken)?;
                Some(crate::actions::read::look(&root, &resource).await)
            }
            None => None,
        };
        Ok(review::preview(&plan, &checks, group, Some(item), read).text)
    }

    /// The log as it is stored, piece by piece. An untrusted log may be read, because reading starts nothing.
    async fn log(&self, id: &SessionId) -> Result<Pieces, DoorError> {
        let first = self.store.raw(id, 0).await?;
        let rest = (self.store.clone(), id.clone(), first.len());
        let rest = stream::try_unfold(rest, async |(store, id, from)| {
            let piece = store.raw(&id, from).await?;
            let from = from + piece.len();
            Ok((!piece.is_empty()).then_some((piece, (store, id, from))))
        });
        Ok(stream::iter([Ok(first)]).chain(rest).boxed())
    }

    /// The changes of a session as a diff, piece by piece while git makes it.
    async fn diff(&self, id: &SessionId) -> Result<Pieces, DoorError> {
        let session = self.replayed(id).await?;
        restore_states(&self.store, id, &session).await;
        if session.created().works_apart() {
            return self.diff_apart(id, session).await;
        }
        let id = id.clone();
        pieces::written(move |out| diff::diff(&id, &session, out)).await
    }

    /// The diff of a session with its own workplace: from the workplace; if that was cleared, the applied changes; if
    /// it was removed, the stored work.
    async fn diff_apart(&self, id: &SessionId, session: Session) -> Result<Pieces, DoorError> {
        let (named, worker, created) = (id.clone(), self.worker.clone(), session.created().clone());
        let found = spawn_blocking(move || worker.find(&named, &created)).await;
        let gone = match found.map_err(|error| broken(io::Error::other(error)))? {
            Ok(None) => return pieces::written(move |out| diff::applied(&session, out)).await,
            Ok(Some(workplace)) => {
                let patch = pieces::written(move |out| workplace.patch(None, out).map_err(|e| e.to_string()));
                return patch.await;
            }
            Err(gone @ WorkerError::WorkplaceGone { .. }) => gone,
            Err(error) => return Err(DoorError::Failed(error.to_string())),
        };
        let stored = self.store.attached_pieces(id, WORK).await?;
        let stored = stored.ok_or_else(|| DoorError::Failed(gone.to_string()))?;
        Ok(stored.map(|piece| Ok(piece?)).boxed())
    }

    async fn attachment(&self, id: &SessionId, name: &str) -> Result<Pieces, DoorError> {
        let found = self.store.attached_pieces(id, name).await?;
        Ok(found.map_or_else(|| stream::empty().boxed(), |found| found.map(|piece| Ok(piece?)).boxed()))
    }

    /// Does not wait long for a workplace that does not answer, because callers need other information as well.
    async fn workplace_now(&self, id: &SessionId) -> Result<Option<WorkplaceNow>, DoorError> {
        let session = self.replayed(id).await?;
        let (id, worker) = (id.clone(), self.worker.clone());
        let look = spawn_blocking(move || worker.now(&id, session.created()));
        let found = tokio::time::timeout(LOOKING, look).await;
        Ok(found.ok().and_then(Result::ok).and_then(Result::ok).flatten())
    }

    async fn export(&self, id: &SessionId) -> Result<String, DoorError> {
        let entries = self.store.read(id, 0).await?;
        let session = self.store.replay(id, &entries)?;
        let mut reports = Vec::new();
        for turn in session.file_turns() {
            let report = self.store.attached(id, &format!("{}/report.md", turn.folder)).await?;
            let report = report.map(|report| String::from_utf8_lossy(&report).into_owned());
            reports.extend(report.map(|report| (turn.folder.clone(), report)));
        }
        let log = entries.iter().map(line).collect::<Result<Vec<_>, _>>()?.concat();
        Ok(export::document(id, &session, &reports, &String::from_utf8_lossy(&log)))
    }

    /// A file in a session's workplace.
    async fn file(&self, id: &SessionId, path: String) -> Result<Vec<u8>, DoorError> {
        let session = self.replayed(id).await?;
        let (id, worker) = (id.clone(), self.worker.clone());
        let read = spawn_blocking(move || {
            let found = worker.find(&id, session.created()).map_err(|error| error.to_string())?;
            match found {
                None => file_in(Path::new(session.project()), &path),
                Some(workplace) if workplace.seen_at() == workplace.directory() => {
                    file_in(workplace.directory(), &path)
                }
                Some(workplace) => file_inside(&*workplace, &path),
            }
        });
        let read = read.await.map_err(|error| broken(io::Error::other(error)))?;
        read.map_err(DoorError::Failed)
    }

    async fn holder_of(&self, id: &SessionId) -> Result<Option<Holder>, DoorError> {
        Ok(self.store.holder(id).await?)
    }

    async fn resume_here(&self, id: &SessionId) -> Result<(), DoorError> {
        Ok(self.gateway()?.adopt(id).await?)
    }

    /// Retries until the act is stored: the process that holds the session may be starting or stopping.
    async fn submit(&self, id: &SessionId, by: &By, act: &Act) -> Result<Reached, DoorError> {
        let act = &with_id(act);
        let mut last = Holder::UNKNOWN;
        for tried in 0..LONG_TRIES {
            if tried >= TRIES && !is_brief(&last) {
                break;
            }
            if let Some(reached) = self.submit_here(id, by, act).await? {
                return Ok(reached);
            }
            match self.holder_of(id).await? {
                Some(holder) => {
                    if let Some(reached) = self.send(&holder, id, by, act).await? {
                        return Ok(reached);
                    }
                    last = holder;
                }
                None => match self.submit_to_nobody(id, by, act).await {
                    Ok(Some(reached)) => return Ok(reached),
                    Ok(None) => continue,
                    // Another process resumed it first.
                    Err(DoorError::Store(StoreError::Busy { holder, .. })) => last = holder,
                    Err(DoorError::Store(StoreError::Superseded { .. })) => {}
                    // This process's run of the session is ending.
                    Err(DoorError::Broken(error)) if matches!(*error, StoreError::Superseded { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(StoreError::Busy { id: id.clone(), holder: last }.into())
    }

    async fn submit_here(&self, id: &SessionId, by: &By, act: &Act) -> Result<Option<Reached>, DoorError> {
        let Some(gateway) = &self.here else { return Ok(None) };
        match gateway.submit(id, by.clone(), act.clone()).await {
            Ok(()) => Ok(Some(Reached::Process)),
            Err(GatewayError::NotHere(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Submits an act to the process that holds a session; `None` if that process does not exist, or not yet.
    async fn send(
        &self,
        holder: &Holder,
        id: &SessionId,
        by: &By,
        act: &Act,
    ) -> Result<Option<Reached>, DoorError> {
        match self.holders.send(holder, id, by, act).await {
            Sent::Done => Ok(Some(Reached::Process)),
            Sent::Refused(refusal) => Err(refusal.into()),
            Sent::Forbidden(why) => Err(DoorError::Forbidden(why)),
            Sent::Failed(why) => Err(DoorError::Failed(why)),
            Sent::Silent => Err(DoorError::Silent { id: id.clone(), holder: holder.clone() }),
            Sent::Nobody => Ok(None),
        }
    }

    /// Submits an act to a session that no process runs: the engine of this process resumes it; without an engine the
    /// act goes into the log.
    async fn submit_to_nobody(
        &self,
        id: &SessionId,
        by: &By,
        act: &Act,
    ) -> Result<Option<Reached>, DoorError> {
        if self.here.is_some() {
            match self.resume_here(id).await {
                // Its own machine continues it. Until then the act is in the log.
                Err(DoorError::Store(StoreError::Elsewhere { .. })) => {}
                outcome => return outcome.map(|()| None),
            }
        }
        let is_agent = spawn_blocking(|| descent::is_of_an_agent(std::process::id())).await;
        if is_agent.map_err(|error| broken(io::Error::other(error)))? {
            return Err(DoorError::Forbidden(AGENTS_ANSWER_NOTHING.into()));
        }
        let input = Input::Person { by: by.clone(), act: act.clone() };
        write_directly(&*self.store, &self.clock, id, &input).await?;
        Ok(Some(Reached::Log))
    }

    /// The log is written last, so that no agent starts before its files exist.
    async fn begin_with_files(&self, created: Created, files: &[NewFile]) -> Result<SessionId, DoorError> {
        let (gateway, now) = (self.gateway()?, self.clock.now());
        let words = match created.task.trim() {
            "" => files.first().map_or("files", |file| file.name.as_str()),
            task => task,
        };
        let reserved = self.store.reserve(words, now).await?;
        let id = reserved.id().clone();
        let task = prompt::with_files(&created.task, &self.paths_of(&id, files));
        let facts = Session::begin(Created { task, ..created })?;
        let attached = files.iter().map(|file| (in_session(file), file.content.to_vec())).collect();
        reserved.fill(vec![Entry { seq: 1, at: now, facts }], attached).await?;
        match gateway.adopt(&id).await {
            // The session is durable by now, and the next process continues it.
            Ok(()) | Err(GatewayError::Closed) => Ok(id),
            Err(error) => Err(error.into()),
        }
    }

    /// The paths of files for the agent of a session.
    fn paths_of(&self, id: &SessionId, files: &[NewFile]) -> Vec<String> {
        let folder = self.store.whereabouts(id);
        files.iter().map(|file| format!("{folder}/{}", in_session(file))).collect()
    }

    async fn follow_from(&self, id: &SessionId, after: u64) -> Result<BoxStream<'static, Update>, DoorError> {
        if let Some(gateway) = &self.here {
            match gateway.follow(id, after).await {
                Ok(follower) => return Ok(stream::unfold(follower, next_update).boxed()),
                Err(GatewayError::NotHere(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Watch before reading, so that no change is missed in between.
        let changes = self.store.watch().await?;
        let past = self.read_entries(id, after).await?.into();
        let log =
            FollowedLog { sessions: self.clone(), id: id.clone(), after, past, changes, is_over: false };
        Ok(stream::unfold(log, FollowedLog::next).boxed())
    }

    async fn watch_all(&self) -> Result<BoxStream<'static, Seen>, DoorError> {
        let changes = self.store.watch().await?;
        let here = match &self.here {
            Some(gateway) => Some(gateway.watch().await?),
            None => None,
        };
        let watched = WatchedStore {
            sessions: self.clone(),
            here,
            changes,
            seen: HashMap::new(),
            unreadable: HashMap::new(),
        };
        Ok(stream::unfold(watched, WatchedStore::next).boxed())
    }
}

impl Sessions for ProjectSessions {
    fn list(&self) -> Reply<'_, Vec<SessionId>> {
        async { Ok(self.store.list().await?) }.boxed()
    }

    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View> {
        async move {
            if let Some(gateway) = &self.here {
                match gateway.view(id).await {
                    Err(GatewayError::NotHere(_)) => {}
                    outcome => return Ok(outcome?),
                }
            }
            Ok(self.replayed(id).await?.view(id))
        }
        .boxed()
    }

    fn entries<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, Vec<Entry>> {
        self.read_entries(id, after).boxed()
    }

    fn holder<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<Holder>> {
        self.holder_of(id).boxed()
    }

    fn workplace<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<WorkplaceNow>> {
        self.workplace_now(id).boxed()
    }

    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>> {
        self.follow_from(id, after).boxed()
    }

    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>> {
        self.watch_all().boxed()
    }

    fn read<'a>(&'a self, id: &'a SessionId, what: Content) -> Reply<'a, Pieces> {
        async move {
            match what {
                Content::Log => self.log(id).await,
                Content::Diff => self.diff(id).await,
                Content::Preview { turn, group, item } => {
                    Ok(pieces::of(self.preview(id, &turn, group, item).await?.into_bytes()))
                }
                Content::Attachment(name) => self.attachment(id, &name).await,
                Content::Export => Ok(pieces::of(self.export(id).await?.into_bytes())),
                Content::File(path) => Ok(pieces::of(self.file(id, path).await?)),
            }
        }
        .boxed()
    }

    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: &'a [u8]) -> Reply<'a, ()> {
        async move { Ok(self.store.attach(id, name, content.to_owned()).await?) }.boxed()
    }

    fn receive<'a>(&'a self, id: &'a SessionId, files: &'a [NewFile]) -> Reply<'a, Vec<String>> {
        async move {
            for file in files {
                self.store.attach(id, &in_session(file), file.content.to_vec()).await?;
            }
            Ok(self.paths_of(id, files))
        }
        .boxed()
    }

    fn act<'a>(&'a self, id: &'a SessionId, by: &'a By, act: &'a Act) -> Reply<'a, Reached> {
        self.submit(id, by, act).boxed()
    }

    fn create(&self, created: Created, first: Option<QuestionRound>) -> Reply<'_, SessionId> {
        async move {
            let gateway = self.gateway()?;
            match first {
                Some(first) => Ok(gateway.create_with(created, first).await?),
                None => Ok(gateway.create(created).await?),
            }
        }
        .boxed()
    }

    fn create_with_files<'a>(&'a self, created: Created, files: &'a [NewFile]) -> Reply<'a, SessionId> {
        self.begin_with_files(created, files).boxed()
    }

    fn import(&self, facts: Vec<Event>, since: Timestamp) -> Reply<'_, SessionId> {
        async move {
            let Some(Event::Created(created)) = facts.first() else {
                return Err(DoorError::Failed("a session begins with its task".into()));
            };
            let task = created.original_task().to_owned();
            // The session is held only while it is written.
            let holder = Holder::this_process(None);
            let (id, _, _) = self.store.create(&task, since, facts, &holder).await?;
            Ok(id)
        }
        .boxed()
    }

    fn rules(&self) -> Reply<'_, Vec<Rule>> {
        async move {
            let Some(grants) = self.grants.clone() else { return Ok(Vec::new()) };
            let listed = spawn_blocking(move || grants.list()).await;
            let listed = listed.map_err(io::Error::other).and_then(|listed| listed).map_err(broken)?;
            Ok(listed.into_iter().map(|grant| grant.rule).collect())
        }
        .boxed()
    }

    fn forget_rule<'a>(&'a self, rule: &'a Rule) -> Reply<'a, ()> {
        async move {
            let Some(grants) = self.grants.clone() else { return Ok(()) };
            let rule = rule.clone();
            let removed = spawn_blocking(move || grants.remove(&rule)).await;
            removed.map_err(io::Error::other).and_then(|removed| removed).map_err(broken)?;
            Ok(())
        }
        .boxed()
    }

    fn resume<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()> {
        async move {
            for tried in 0..LONG_TRIES {
                match self.resume_here(id).await {
                    Err(DoorError::Store(StoreError::Busy { holder, .. }))
                        if is_soon_free(&holder, tried) =>
                    {
                        tokio::time::sleep(PAUSE).await;
                    }
                    outcome => return outcome,
                }
            }
            self.resume_here(id).await
        }
        .boxed()
    }

    fn release<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()> {
        async move {
            if let Some(gateway) = &self.here {
                gateway.let_go(id).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

impl fmt::Debug for ProjectSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProjectSessions")
    }
}

/// The log of a session that another process may write.
struct FollowedLog {
    sessions: ProjectSessions,
    id: SessionId,
    after: u64,
    past: VecDeque<Entry>,
    changes: Changes,
    is_over: bool,
}

impl FollowedLog {
    async fn next(mut self) -> Option<(Update, Self)> {
        loop {
            if let Some(entry) = self.past.pop_front() {
                self.after = entry.seq;
                return Some((Update::Entry(entry), self));
            }
            if self.is_over {
                return None;
            }
            while self.changes.next().await? != self.id {}
            match self.sessions.read_entries(&self.id, self.after).await {
                Ok(entries) => self.past = entries.into(),
                Err(error) => {
                    self.is_over = true;
                    return Some((Update::Lost(error.to_string()), self));
                }
            }
        }
    }
}

/// All sessions: those of this process from the loop, the others from changes to their logs.
struct WatchedStore {
    sessions: ProjectSessions,
    here: Option<mpsc::UnboundedReceiver<Seen>>,
    changes: Changes,
    /// The last entry that was delivered, by session.
    seen: HashMap<SessionId, u64>,
    /// The last reported reason why a session cannot be read.
    unreadable: HashMap<SessionId, String>,
}

impl WatchedStore {
    async fn next(mut self) -> Option<(Seen, Self)> {
        loop {
            tokio::select! {
                biased;
                seen = from_here(&mut self.here) => {
                    let seen = seen?;
                    if let [Update::Entry(entry)] = seen.updates.as_slice() {
                        self.seen.insert(seen.session.clone(), entry.seq);
                    }
                    return Some((seen, self));
                }
                id = self.changes.next() => {
                    let id = id?;
                    if self.sessions.runs_here(&id) {
                        continue;
                    }
                    let updates = self.read(&id).await;
                    if !updates.is_empty() {
                        return Some((Seen { session: id, updates }, self));
                    }
                }
            }
        }
    }

    /// The new entries of a session that changed.
    async fn read(&mut self, id: &SessionId) -> Vec<Update> {
        let after = self.seen.get(id).copied().unwrap_or_default();
        match self.sessions.read_entries(id, after).await {
            Ok(entries) => {
                self.unreadable.remove(id);
                if let Some(last) = entries.last() {
                    self.seen.insert(id.clone(), last.seq);
                }
                entries.into_iter().map(Update::Entry).collect()
            }
            // A directory that is not a session, or not yet.
            Err(DoorError::Store(StoreError::NotFound(_))) => Vec::new(),
            Err(error) => {
                let why = error.to_string();
                let is_known =
                    self.unreadable.insert(id.clone(), why.clone()).is_some_and(|known| known == why);
                if is_known { Vec::new() } else { vec![Update::Lost(why)] }
            }
        }
    }
}

/// Directories whose files are not shown: git's and Rapport's own.
const KEPT: [&str; 3] = [".git", ".rapport", ".teddy"];

/// The content of a file in a directory, with links resolved inside it only. Files of git and Rapport are refused.
/// Blocks.
pub(super) fn file_in(root: &Path, path: &str) -> Result<Vec<u8>, String> {
    let root = root.canonicalize().map_err(|error| format!("cannot read {}: {error}", root.display()))?;
    let resolved = project::resolve(&root, path).map_err(|error| error.to_string())?;
    let first = resolved.real.strip_prefix(&root).ok().and_then(|inside| inside.components().next());
    if first.is_some_and(|first| KEPT.iter().any(|kept| first.as_os_str() == *kept)) {
        return Err(format!("{path} is git's or Rapport's own"));
    }
    let content = project::content(path, &resolved).map_err(|error| error.to_string())?;
    content.ok_or_else(|| format!("there is no file {path}"))
}

/// A file in a workplace that is not on this machine.
fn file_inside(workplace: &dyn Workplace, path: &str) -> Result<Vec<u8>, String> {
    let mut parts = Path::new(path).components().filter(|part| *part != Component::CurDir);
    match parts.next() {
        Some(Component::Normal(first)) if !KEPT.iter().any(|kept| first == *kept) => {}
        _ => return Err(format!("{path} is not a file of the project")),
    }
    if parts.any(|part| !matches!(part, Component::Normal(_))) {
        return Err(format!("{path} is not a file of the project"));
    }
    let content = workplace.read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    content.ok_or_else(|| format!("there is no file {path}"))
}

/// The name of a file for an agent, in the directory of its session.
fn in_session(file: &NewFile) -> String {
    format!("files/{}", file.name)
}

async fn from_here(here: &mut Option<mpsc::UnboundedReceiver<Seen>>) -> Option<Seen> {
    match here {
        Some(seen) => seen.recv().await,
        None => std::future::pending().await,
    }
}

async fn next_update(mut follower: Follower) -> Option<(Update, Follower)> {
    follower.next().await.map(|update| (update, follower))
}

/// Adds an id to a message without one: a process that is killed may have stored the message without confirming it, and
/// a retry must not deliver it twice.
fn with_id(act: &Act) -> Act {
    match act {
        Act::Say { text, id: None } => {
            Act::Say { text: text.clone(), id: Some(uuid::Uuid::new_v4().to_string()) }
        }
        act => act.clone(),
    }
}

/// Decides and stores an act while no process runs the session.
async fn write_directly(
    store: &dyn Store,
    clock: &Clock,
    id: &SessionId,
    input: &Input,
) -> Result<(), DoorError> {
    let (entries, mut log) = store.hold(id, &Holder::this_process(None)).await?;
    let mut session = store.replay(id, &entries)?;
    let now = clock.now();
    // The previous process has ended, so its agent does not know of this act.
    let lost = session.decide(&Input::World(World::Lost), now).unwrap_or_default();
    session.apply_entry(&Entry { seq: session.seq() + 1, at: now, facts: lost.clone() });
    let facts = session.decide(input, now)?;
    if !facts.is_empty() {
        log.append(now, [lost, facts].concat()).await?;
    }
    Ok(())
}

fn line(entry: &Entry) -> Result<Vec<u8>, DoorError> {
    let mut line = serde_json::to_vec(entry).map_err(|error| broken(error.into()))?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn broken(source: io::Error) -> StoreError {
    StoreError::Io { what: "use", place: "the sessions".into(), source }
}
