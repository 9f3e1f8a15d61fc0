//! Executes effects: sends messages, acts in sessions, reads and writes. Each effect runs in a task of its own, and its
//! result becomes an input. This module makes no decisions.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::bot_api::AnswerCallbackQueryParams;
use futures_util::StreamExt as _;
use rapport_core::authority::Role;
use rapport_core::{
    Act, By, Created, Entry, LearningKind, QuestionId, QuestionRound, Reply, SessionId, prompt,
};
use rapport_door::{
    Content, ContextUpdate, DoorError, JointSessions, NewFile, ProjectError, Projects, Sessions, StoreError,
    WorkWish, digest, projects_for, sessions_for, variant,
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tracing::debug;

use super::button::Tag;
use super::chat_state::person;
use super::downloads::LARGEST_FILE;
use super::effect::{
    AfterFetch, AfterHear, AfterSend, Effect, Input, NewSession, NewUser, ProjectsReply, ProjectsRequest,
    SessionOp, SessionStart, Ticket,
};
use super::incoming::FileRef;
use super::writer::Writer;
use super::{NewBranch, NewQuickWork, Template};
use crate::Transcriber;
use crate::api::{Api, RemoteFile};
use crate::api_error::ApiError;
use crate::backoff::Backoff;
use crate::intake::Handled;
use crate::notice::Notices;
use crate::outbox::Outbox;
use crate::outgoing::Outgoing;
use crate::users::Users;

/// The time limit for fetching the files of a message, including retries.
const FETCH: Duration = Duration::from_secs(60);

/// The name of the kind of worker that works in a git worktree.
const WORKTREE: &str = "worktree";

/// How long the person's app waits for the answer to a tap.
const TAP_LASTS: Duration = Duration::from_secs(15);

/// Everything that is needed to execute effects. Clones share it.
#[derive(Clone)]
pub(super) struct Outbound {
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) outbox: Outbox,
    pub(super) api: Arc<Api>,
    pub(super) template: Template,
    /// The users who may only look.
    pub(super) lookers: Arc<BTreeSet<u64>>,
    pub(super) new_quick_work: NewQuickWork,
    pub(super) new_branch: NewBranch,
    /// What is known about projects, served or not.
    pub(super) projects: Arc<dyn Projects>,
    pub(super) users: Users,
    /// Transcribes voice messages.
    pub(super) transcriber: Option<Transcriber>,
    /// Secrets that are removed from everything that is sent.
    pub(super) secrets: Arc<[SecretString]>,
    pub(super) writer: Writer,
    pub(super) notes: PathBuf,
    pub(super) notices: Notices,
    pub(super) tickets: Tickets,
    pub(super) inputs: mpsc::UnboundedSender<Input>,
    /// The queue of whole logs, which has a small bound.
    pub(super) logs: mpsc::Sender<Input>,
}

impl Outbound {
    /// Executes effects in order. Returns at once; slow work continues in the background.
    pub(super) fn execute(&self, effects: Vec<Effect>) {
        for effect in effects {
            self.execute_one(effect);
        }
    }

    fn execute_one(&self, effect: Effect) {
        debug!(effect = variant(&effect), "effect");
        match effect {
            Effect::Send { chat, messages, then } => self.send(chat, messages, then),
            Effect::React { chat, message } => {
                let api = self.api.clone();
                // The reaction is optional: the message is stored in any case.
                tokio::spawn(async move { drop(api.react(chat, message).await) });
            }
            Effect::AnswerTap { query, words } => self.answer_tap(query, words),
            Effect::Operate { by, ops, then } => {
                let work = operate(self.clone(), by, ops);
                self.work(work, move |outcome| Some(Input::Operated(then, outcome)));
            }
            Effect::Read { session, after } => self.read(session, after),
            Effect::ReadAll => self.read_all(),
            Effect::ReadContent { session, content, then } => {
                let work = read_content(self.sessions.clone(), session, content);
                let secrets = self.secrets.clone();
                let kept = move |bytes: Vec<u8>| without(&secrets, bytes);
                self.work(work, move |read| Some(Input::Content(then, read.map(kept))));
            }
            Effect::ReadChanges { session, seq } => {
                let work = read_content(self.sessions.clone(), session.clone(), Content::Diff);
                self.work(work, move |diff| Some(Input::Changes { session, seq, diff }));
            }
            Effect::LookBeside(session) => {
                let (sessions, id) = (self.sessions.clone(), session.clone());
                let work = async move { sessions.beside(&id).await };
                self.work(work, move |beside| Some(Input::Beside(session, beside.ok()?)));
            }
            Effect::ReadRules { project, then } => {
                let sessions = self.sessions_of(&project);
                self.work(async move { sessions.rules().await }, |rules| Some(Input::Rules(then, rules)));
            }
            Effect::Forget { project, rule, then } => {
                let sessions = self.sessions_of(&project);
                let work = async move { sessions.forget_rule(&rule).await };
                self.work(work, move |outcome| Some(Input::Operated(then, outcome)));
            }
            Effect::AskProjects { by, request, then } => {
                let projects = projects_for(self.role(&by), self.projects.clone());
                let inputs = self.inputs.clone();
                tokio::spawn(async move {
                    let reply = ask_projects(&*projects, &by, request).await;
                    let _ = inputs.send(Input::Projects(then, reply.map_err(|error| error.to_string())));
                });
            }
            Effect::ReadDigest { since, then } => {
                let sessions = self.sessions.clone();
                let work = async move { digest(&*sessions, since).await };
                self.work(work, move |digest| Some(Input::Digest(then, digest)));
            }
            Effect::Branch { project, session, question, then } => {
                let work = branch(self.clone(), project, session, question);
                self.work(work, move |made| {
                    Some(Input::Branched(then, made.map_err(|error| error.to_string())))
                });
            }
            Effect::Hear { voice, then } => self.hear(voice, then),
            Effect::Fetch { files, then } => self.fetch(files, then),
            Effect::Resume(id) => {
                let (sessions, session) = (self.sessions.clone(), id.clone());
                self.work(async move { sessions.resume(&session).await }, |outcome| {
                    unfollowed(id, outcome.err()?)
                });
            }
            Effect::Release(id) => {
                let sessions = self.sessions.clone();
                self.work(async move { sessions.release(&id).await }, |_| None);
            }
            Effect::Note(line) => self.writer.append(self.notes.clone(), &line),
            Effect::Write { path, content: Some(content) } => self.writer.replace(path, content),
            Effect::Write { path, content: None } => self.writer.remove(path),
            Effect::AddUser(new) => self.add_user(new),
            // The receiver may be gone.
            Effect::Notify(notice) => drop(self.notices.send(notice)),
            Effect::Finish(ticket) => self.tickets.finish(ticket),
        }
    }

    /// The sessions of the project in this directory.
    fn sessions_of(&self, project: &str) -> Arc<dyn Sessions> {
        self.sessions.of_project(Path::new(project)).unwrap_or_else(|| self.sessions.clone())
    }

    /// Calls the door in the background. If the task panics, the panic becomes its result, so that no one waits for it
    /// forever.
    fn work<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, DoorError>> + Send + 'static,
        input: impl FnOnce(Result<T, DoorError>) -> Option<Input> + Send + 'static,
    ) {
        let (work, inputs) = (tokio::spawn(work), self.inputs.clone());
        tokio::spawn(async move {
            let outcome = work.await.unwrap_or_else(|error| Err(DoorError::Failed(error.to_string())));
            if let Some(input) = input(outcome) {
                let _ = inputs.send(input);
            }
        });
    }

    fn send(&self, chat: i64, messages: Vec<Outgoing>, then: Option<AfterSend>) {
        let queued: Vec<_> = messages.into_iter().map(|what| self.outbox.send(chat, what)).collect();
        let Some(then) = then else { return };
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            let mut results = Vec::with_capacity(queued.len());
            for sent in queued {
                results.push(sent.await);
            }
            let _ = inputs.send(Input::Sent(then, results));
        });
    }

    fn answer_tap(&self, query: String, words: String) {
        let (api, words) = (self.api.clone(), Some(words).filter(|words| !words.is_empty()));
        let params = AnswerCallbackQueryParams { callback_query_id: query, text: words };
        tokio::spawn(async move { answer_tap(&api, &params).await });
    }

    fn fetch(&self, files: Vec<FileRef>, then: Box<AfterFetch>) {
        let (api, inputs) = (self.api.clone(), self.inputs.clone());
        tokio::spawn(async move {
            let fetched = tokio::time::timeout(FETCH, fetch_all(&api, &files)).await;
            let fetched = fetched.unwrap_or_else(|_| Err("it took too long".into()));
            let _ = inputs.send(Input::Fetched(then, fetched));
        });
    }

    fn hear(&self, voice: NewFile, then: Box<AfterHear>) {
        let (transcriber, inputs) = (self.transcriber.clone(), self.inputs.clone());
        tokio::spawn(async move {
            let heard = match transcriber {
                Some(transcriber) => transcriber(voice).await,
                None => Err("no transcriber is configured".into()),
            };
            let _ = inputs.send(Input::Heard(then, heard));
        });
    }

    fn read(&self, id: SessionId, after: u64) {
        let (sessions, session) = (self.sessions.clone(), id.clone());
        self.work(async move { sessions.entries(&session, after).await }, |read| match read {
            Ok(entries) => (!entries.is_empty()).then_some(Input::Read(id, entries)),
            Err(error) => unfollowed(id, error),
        });
    }

    fn read_all(&self) {
        let (sessions, inputs, logs) = (self.sessions.clone(), self.inputs.clone(), self.logs.clone());
        tokio::spawn(async move {
            let all = match sessions.list().await {
                Ok(all) => all,
                Err(error) => return drop(inputs.send(Input::Unlisted(error))),
            };
            let read = |id: SessionId| {
                let sessions = sessions.clone();
                async move { (sessions.entries(&id, 0).await, id) }
            };
            read_each(all, read, logs).await;
        });
    }

    fn add_user(&self, new: NewUser) {
        let (users, inputs) = (self.users.clone(), self.inputs.clone());
        spawn_blocking(move || {
            let outcome = users.add(new.user.clone()).map_err(|error| error.to_string());
            let _ = inputs.send(Input::UserAdded(new, outcome));
        });
    }

    /// The role of the person who acts.
    fn role(&self, by: &By) -> Role {
        let user = match by {
            By::Person { id, .. } => id.parse().ok(),
            By::Lead { .. } | By::Model { .. } | By::Rule { .. } => None,
        };
        if user.is_some_and(|user: u64| self.lookers.contains(&user)) { Role::Look } else { Role::Answer }
    }

    async fn create(
        &self,
        sessions: &dyn Sessions,
        new: NewSession,
        first: Option<QuestionRound>,
    ) -> Result<(), DoorError> {
        let (template, new_quick_work) = (self.template.clone(), self.new_quick_work.clone());
        let is_of_other_user = new.is_of_other_user;
        // Both read files of the project, which blocks.
        let created = spawn_blocking(move || {
            let NewSession { task, aim, project, room, owner, request, grown_from, files, start, .. } = new;
            let (made, lead, is_lead) = match start {
                SessionStart::Usual => (template(&project, task, aim), None, false),
                SessionStart::Lead => (template(&project, task, aim), None, true),
                SessionStart::Quick { lead, worktree } => {
                    let worker = worktree.then(|| WORKTREE.to_owned());
                    (
                        new_quick_work(&project, WorkWish { task, worker, agent: None, policy: None })?,
                        lead,
                        false,
                    )
                }
            };
            let (origin, by) = (Some(room.into()), person(owner));
            let created =
                Created { origin, by, is_of_other_user, request, grown_from, lead, is_lead, ..made };
            Ok::<_, String>((created, files))
        });
        let created = created.await.unwrap_or_else(|error| Err(error.to_string()));
        let (created, files) = created.map_err(DoorError::Failed)?;
        if files.is_empty() {
            return sessions.create(created, first).await.map(drop);
        }
        sessions.create_with_files(created, &files).await.map(drop)
    }
}

/// Reads these logs, each when the queue has room for it. There may be thousands, and they must not all be in memory at
/// once.
async fn read_each<Reading: Future<Output = (Result<Vec<Entry>, DoorError>, SessionId)>>(
    all: Vec<SessionId>,
    read: impl Fn(SessionId) -> Reading,
    logs: mpsc::Sender<Input>,
) {
    for id in all {
        // An error means that the channel has ended.
        let Ok(room) = logs.reserve().await else { return };
        let (entries, id) = read(id).await;
        room.send(Input::Found(id, entries));
    }
    let _ = logs.send(Input::AllFound).await;
}

/// Answers a tap, with retries while Telegram still accepts an answer. If that fails, the person still sees the card
/// change.
async fn answer_tap(api: &Api, params: &AnswerCallbackQueryParams) {
    let (began, mut backoff) = (Instant::now(), Backoff::default());
    loop {
        let wait = match api.answer_callback_query(params).await {
            Err(ApiError::TooMany { retry_after }) => retry_after,
            Err(ApiError::Unreachable(_) | ApiError::Failing(_)) => backoff.grow(),
            Ok(()) | Err(_) => return,
        };
        if began.elapsed() + wait > TAP_LASTS {
            return;
        }
        tokio::time::sleep(wait).await;
    }
}

/// The input for a session that cannot be read or run here. If another process runs the session, this process leaves it
/// alone.
pub(super) fn unfollowed(session: SessionId, error: DoorError) -> Option<Input> {
    let is_busy = matches!(error, DoorError::Store(StoreError::Busy { .. }));
    (!is_busy).then_some(Input::Unfollowed(session, error))
}

async fn ask_projects(
    projects: &dyn Projects,
    by: &By,
    request: ProjectsRequest,
) -> Result<ProjectsReply, ProjectError> {
    Ok(match request {
        ProjectsRequest::List => ProjectsReply::Listed(projects.list().await?),
        ProjectsRequest::Explore(project) => {
            ProjectsReply::Explored(Box::new(projects.explore(&project).await?))
        }
        ProjectsRequest::Register { name, path } => {
            ProjectsReply::Registered(Box::new(projects.register(&name, &path, by).await?))
        }
        ProjectsRequest::Unregister(name) => {
            projects.unregister(&name, by).await?;
            ProjectsReply::Unregistered(name)
        }
        ProjectsRequest::Propose { project, text, from } => {
            let learnings = vec![(LearningKind::Preference, text.clone())];
            let update = ContextUpdate { learnings, from: Some(from) };
            // What a rule adds is a proposal; a person decides about it.
            let by = By::written_rule("an answer of the lead was overruled");
            let loaded = projects.update(&project, &by, &update).await?;
            let proposed = loaded.context.proposed.into_iter().find(|learning| learning.text == text);
            ProjectsReply::Proposed(project, proposed.map(|learning| (learning.id, learning.text)))
        }
        ProjectsRequest::Decide { projects: paths, tag, keeps } => {
            let text = decide(projects, by, &paths, &tag, keeps).await?;
            ProjectsReply::Decided { text, keeps }
        }
    })
}

/// Keeps or declines the proposal with this tag, and returns its text, if there is one.
async fn decide(
    projects: &dyn Projects,
    by: &By,
    paths: &[String],
    tag: &Tag,
    keeps: bool,
) -> Result<Option<String>, ProjectError> {
    for path in paths {
        let Ok(loaded) = projects.load(path).await else { continue };
        let is_it = |id: &str| Tag::learning(path, id) == *tag;
        let Some(found) = loaded.context.proposed.into_iter().find(|learning| is_it(&learning.id)) else {
            continue;
        };
        match keeps {
            true => drop(projects.learn(path, by, &found.id).await?),
            false => drop(projects.forget(path, by, &found.id).await?),
        }
        return Ok(Some(found.text));
    }
    Ok(None)
}

/// Opens a question again in a branch, and runs the branch.
async fn branch(
    outbound: Outbound,
    project: String,
    session: SessionId,
    question: QuestionId,
) -> Result<SessionId, DoorError> {
    let (prefix, own) = match JointSessions::split(&session) {
        (Some(name), own) => (format!("{name}:"), SessionId::new(own)),
        (None, own) => (String::new(), SessionId::new(own)),
    };
    let new_branch = outbound.new_branch.clone();
    let made = spawn_blocking(move || new_branch(&project, &own, &question)).await;
    let made = made.unwrap_or_else(|error| Err(error.to_string())).map_err(DoorError::Failed)?;
    let id = SessionId::new(format!("{prefix}{made}"));
    outbound.sessions.resume(&id).await?;
    Ok(id)
}

async fn operate(outbound: Outbound, by: By, ops: Vec<SessionOp>) -> Result<(), DoorError> {
    let sessions = sessions_for(outbound.role(&by), outbound.sessions.clone());
    for op in ops {
        match op {
            SessionOp::Act(session, act) => drop(sessions.act(&session, &by, &act).await?),
            SessionOp::ActWithFiles(session, act, files) => {
                let paths = sessions.receive(&session, &files).await?;
                sessions.act(&session, &by, &naming(act, &paths)).await?;
            }
            SessionOp::TryAct(session, act) => drop(sessions.act(&session, &by, &act).await),
            SessionOp::Create(new, first) => outbound.create(&*sessions, *new, first).await?,
        }
    }
    Ok(())
}

/// The act, with the paths of these files added to its text.
fn naming(act: Act, paths: &[String]) -> Act {
    let named = |text: &str| prompt::with_files(text, paths);
    match act {
        Act::Say { text, id } => Act::Say { text: named(&text), id },
        Act::Answer { question, reply: Reply::Text(text) } => {
            Act::Answer { question, reply: Reply::Text(named(&text)) }
        }
        Act::Change { question, reply: Reply::Text(text) } => {
            Act::Change { question, reply: Reply::Text(named(&text)) }
        }
        Act::Skip { folder, message: Some(message) } => Act::Skip { folder, message: Some(named(&message)) },
        // An act without text cannot name the files, but they are stored with the session.
        act => act,
    }
}

async fn fetch_all(api: &Api, files: &[FileRef]) -> Result<Vec<NewFile>, String> {
    let mut fetched = Vec::with_capacity(files.len());
    for file in files {
        let content = fetch(api, file).await.map_err(|error| error.to_string())?;
        fetched.push(NewFile { name: file.name.clone(), content: content.into() });
    }
    Ok(fetched)
}

/// Fetches a file. Retries if Telegram cannot be reached or demands a pause.
async fn fetch(api: &Api, file: &FileRef) -> Result<Vec<u8>, ApiError> {
    let mut backoff = Backoff::default();
    loop {
        let fetched = match api.get_file(&file.id).await {
            Ok(RemoteFile { file_path: Some(path) }) => api.download(&path, LARGEST_FILE).await,
            Ok(RemoteFile { file_path: None }) => {
                Err(ApiError::Refused { code: 0, description: "Telegram does not give it to bots".into() })
            }
            Err(error) => Err(error),
        };
        match fetched {
            Err(ApiError::TooMany { retry_after }) => tokio::time::sleep(retry_after).await,
            Err(ApiError::Unreachable(_) | ApiError::Failing(_)) => tokio::time::sleep(backoff.grow()).await,
            fetched => return fetched,
        }
    }
}

async fn read_content(
    sessions: Arc<dyn Sessions>,
    id: SessionId,
    content: Content,
) -> Result<Vec<u8>, DoorError> {
    let mut pieces = sessions.read(&id, content).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?);
    }
    Ok(bytes)
}

/// The content without secrets, if it is text.
fn without(secrets: &[SecretString], bytes: Vec<u8>) -> Vec<u8> {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return error.into_bytes(),
    };
    // A string this short is not a secret, and would match in many places.
    for secret in secrets.iter().map(SecretString::expose_secret).filter(|secret| secret.len() >= 8) {
        if text.contains(secret) {
            text = text.replace(secret, "***");
        }
    }
    text.into_bytes()
}

/// The updates that are not safe yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets {
    last: Arc<AtomicU64>,
    waiting: Arc<Mutex<HashMap<Ticket, oneshot::Sender<Handled>>>>,
}

impl Tickets {
    /// A ticket for an update, and a receiver for its outcome.
    pub(super) fn issue(&self) -> (Ticket, oneshot::Receiver<Handled>) {
        let ticket = Ticket(self.last.fetch_add(1, Ordering::Relaxed));
        let (done, handled) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, done);
        (ticket, handled)
    }

    fn finish(&self, ticket: Ticket) {
        let done = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&ticket);
        if let Some(done) = done {
            // The receiver is gone if the program is ending.
            let _ = done.send(Handled::Durable);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    /// The logs of a hundred sessions, none of which is received at first.
    #[tokio::test]
    async fn logs_are_read_when_there_is_room_for_them() {
        let ids: Vec<_> = (0..100).map(|number| SessionId::new(format!("session-{number}"))).collect();
        let (logs, mut taken) = mpsc::channel(4);
        let read = Cell::new(0);
        let read_one = |id| {
            read.set(read.get() + 1);
            std::future::ready((Ok(Vec::new()), id))
        };
        let reading = read_each(ids.clone(), read_one, logs);
        tokio::pin!(reading);
        let is_pending = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context).is_pending())).await;
        assert!(is_pending);
        assert_eq!(read.get(), 4, "more would be held in memory");
        let take = async {
            let mut found = Vec::new();
            while let Some(Input::Found(id, Ok(_))) = taken.recv().await {
                found.push(id);
            }
            found
        };
        let ((), found) = tokio::join!(reading, take);
        assert_eq!(found, ids, "each, in order, and then that these were all");
    }
}
