//! Executes effects: sends messages, acts in sessions, reads, writes. Each runs in a task of its own, and its result comes
//! back as an input. Nothing is decided here.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bot_api::AnswerCallbackQueryParams;
use futures_util::StreamExt as _;
use rapport_core::{By, Created, QuestionRound, SessionId};
use rapport_door::{Content, DoorError, Sessions, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use super::Template;
use super::chat_state::person;
use super::effect::{AfterSend, Effect, Input, NewSession, NewUser, SessionOp, Ticket};
use super::writer::Writer;
use crate::api::Api;
use crate::intake::Handled;
use crate::notice::Notices;
use crate::outbox::Outbox;
use crate::outgoing::Outgoing;
use crate::users::Users;

/// The ways out. Clones share them.
#[derive(Clone)]
pub(super) struct Outbound {
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) outbox: Outbox,
    pub(super) api: Arc<Api>,
    pub(super) template: Template,
    pub(super) users: Users,
    pub(super) writer: Writer,
    /// The file of notes.
    pub(super) notes: PathBuf,
    pub(super) notices: Notices,
    pub(super) tickets: Tickets,
    pub(super) inputs: mpsc::UnboundedSender<Input>,
}

impl Outbound {
    /// Executes effects in order. Returns at once: what takes time goes on in the background.
    pub(super) fn execute(&self, effects: Vec<Effect>) {
        for effect in effects {
            self.execute_one(effect);
        }
    }

    fn execute_one(&self, effect: Effect) {
        match effect {
            Effect::Send { chat, messages, then } => self.send(chat, messages, then),
            Effect::AnswerTap { query, words } => self.answer_tap(query, words),
            Effect::Operate { by, ops, then } => {
                let work = operate(self.clone(), by, ops);
                self.work(work, move |outcome| Some(Input::Operated(then, outcome)));
            }
            Effect::Read { session, after } => self.read(session, after),
            Effect::ReadAll => self.read_all(),
            Effect::ReadContent { session, content, then } => {
                let work = read_content(self.sessions.clone(), session, content);
                self.work(work, move |read| Some(Input::Content(then, read)));
            }
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
            Effect::Note(line) => self.writer.append(self.notes.clone(), line),
            Effect::Write { path, content: Some(content) } => self.writer.replace(path, content),
            Effect::Write { path, content: None } => self.writer.remove(path),
            Effect::AddUser(new) => self.add_user(new),
            // Nobody has to listen.
            Effect::Notify(notice) => drop(self.notices.send(notice)),
            Effect::Finish(ticket) => self.tickets.finish(ticket),
        }
    }

    /// Works at the door in the background. If the work panics, that is its result, so that nobody waits for ever.
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
        tokio::spawn(async move {
            let params = AnswerCallbackQueryParams { callback_query_id: query, text: words };
            // Too late or unreachable: the person sees the card change all the same.
            let _ = api.answer_callback_query(&params).await;
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
        let (sessions, inputs) = (self.sessions.clone(), self.inputs.clone());
        tokio::spawn(async move {
            let all = match sessions.list().await {
                Ok(all) => all,
                Err(error) => return drop(inputs.send(Input::Unlisted(error))),
            };
            for id in all {
                let input = match sessions.entries(&id, 0).await {
                    Ok(entries) => Some(Input::Read(id, entries)),
                    Err(error) => unfollowed(id, error),
                };
                if let Some(input) = input {
                    let _ = inputs.send(input);
                }
            }
        });
    }

    fn add_user(&self, new: NewUser) {
        let (users, inputs) = (self.users.clone(), self.inputs.clone());
        spawn_blocking(move || {
            let outcome = users.add(new.user.clone()).map_err(|error| error.to_string());
            let _ = inputs.send(Input::UserAdded(new, outcome));
        });
    }

    async fn create(&self, new: NewSession, first: Option<QuestionRound>) -> Result<(), DoorError> {
        let template = self.template.clone();
        // The template reads the project, which blocks.
        let created = spawn_blocking(move || {
            let NewSession { task, aim, room, owner, request, grown_from } = new;
            Created {
                origin: Some(room.into()),
                by: person(owner),
                request,
                grown_from,
                ..template(task, aim)
            }
        });
        let created = created.await.map_err(|error| DoorError::Failed(error.to_string()))?;
        self.sessions.create(created, first).await.map(drop)
    }
}

/// What to say of a session that cannot be read or run here. One that another process runs is left to that process.
pub(super) fn unfollowed(session: SessionId, error: DoorError) -> Option<Input> {
    let is_busy = matches!(error, DoorError::Store(StoreError::Busy { .. }));
    (!is_busy).then_some(Input::Unfollowed(session, error))
}

async fn operate(outbound: Outbound, by: By, ops: Vec<SessionOp>) -> Result<(), DoorError> {
    for op in ops {
        match op {
            SessionOp::Act(session, act) => drop(outbound.sessions.act(&session, &by, &act).await?),
            SessionOp::TryAct(session, act) => drop(outbound.sessions.act(&session, &by, &act).await),
            SessionOp::Create(new, first) => outbound.create(*new, first).await?,
        }
    }
    Ok(())
}

async fn read_content(
    sessions: Arc<dyn Sessions>,
    id: SessionId,
    content: Content,
) -> Result<String, DoorError> {
    let mut pieces = sessions.read(&id, content).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Who waits for which update to be safe. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets {
    last: Arc<AtomicU64>,
    waiting: Arc<Mutex<HashMap<Ticket, oneshot::Sender<Handled>>>>,
}

impl Tickets {
    /// A ticket for an update, and how to learn what became of it.
    pub(super) fn issue(&self) -> (Ticket, oneshot::Receiver<Handled>) {
        let ticket = Ticket(self.last.fetch_add(1, Ordering::Relaxed));
        let (done, handled) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, done);
        (ticket, handled)
    }

    fn finish(&self, ticket: Ticket) {
        let done = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&ticket);
        if let Some(done) = done {
            // Nobody waits any more where the program ends.
            let _ = done.send(Handled::Durable);
        }
    }
}
