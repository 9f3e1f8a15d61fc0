//! Asks the open questions of a session, wherever it runs: `rapport answer` without an answer. And echoes how an answer
//! was interpreted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rapport_core::{Act, Answer, By, Event, Purpose, Question, QuestionId, Refusal, Session, SessionId};
use tokio::sync::watch;

use super::output::{say, say_json};
use super::page::Page;
use super::screen::{self, StopSignal};
use super::{Common, sessions, status};
use crate::channels::terminal::{self, Link, Terminal};
use crate::engine::{DoorError, ProjectSessions, Reached, Sessions as _, Update, socket};
use crate::error::{Code, Failure, Outcome};
use crate::stores::Holder;
use crate::stores::blocking::BlockingStore;
use crate::wiring::Workspace;

/// Shows the open questions and takes the answers; without a terminal, lists them.
pub(super) fn execute(common: &Common, place: &Workspace, id: SessionId) -> Outcome {
    let view = sessions::view(&place.store(), &id)?;
    if view.questions.is_empty() {
        return Err(Refusal::NothingOpen.into());
    }
    if common.json || !screen::is_terminal() {
        if common.json {
            say_json(&view.questions)?;
        } else {
            let mut page = Page::new(common);
            status::questions(&mut page, &view, usize::MAX);
            page.print()?;
        }
        let which = match view.questions.as_slice() {
            [only] => only.id.as_str(),
            _ => "ID",
        };
        return Err(Failure::new(Code::Usage, "an answer is missing")
            .hint(format!("Say it with: rapport answer {id} --question {which} VALUE")));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let is_complete = runtime.block_on(show(common, place, &id, view.seq))?;
    // This process held the session to write the answer, and may not have released it yet.
    let is_other = |holder: &Holder| holder.pid != std::process::id() || holder.host.is_some();
    match (is_complete, place.store().holder(&id)?.filter(is_other)) {
        (true, Some(_)) => Ok(()),
        (true, None) => sessions::next_step(Reached::Log, &id).map_or(Ok(()), say),
        (false, _) => Err(screen::stopped(common, &id)),
    }
}

/// Returns whether everything that was open was answered. Does not wait for the agent's next questions.
async fn show(common: &Common, place: &Workspace, id: &SessionId, past: u64) -> Result<bool, Failure> {
    let mut signals = StopSignal::listen()?;
    let (stop, shutdown) = watch::channel(false);
    let told = tokio::spawn(async move {
        signals.received().await;
        let _ = stop.send(true);
        stop.closed().await;
    });
    let config = Terminal {
        by: socket::person_here(),
        interactive: true,
        colour: screen::colour(common.color),
        answer_hint: format!("rapport answer {id}"),
        auto: None,
    };
    let sessions = Arc::new(place.sessions());
    let updates = sessions.follow(id, 0).await?;
    let complete = Arc::new(AtomicBool::new(false));
    let link =
        OpenQuestions { sessions, id: id.clone(), updates, session: None, past, complete: complete.clone() };
    let outcome = terminal::run_with(config, link, id.clone(), past, shutdown).await;
    told.abort();
    outcome.map_err(|error| Failure::new(Code::Trouble, error.to_string()))?;
    Ok(complete.load(Ordering::SeqCst))
}

/// A session, wherever it runs, until no question is open.
struct OpenQuestions {
    sessions: Arc<ProjectSessions>,
    id: SessionId,
    updates: BoxStream<'static, Update>,
    session: Option<Session>,
    /// The last known entry.
    past: u64,
    /// Set once no question is open.
    complete: Arc<AtomicBool>,
}

impl OpenQuestions {
    fn has_open(&self) -> bool {
        let session = self.session.as_ref().filter(|session| session.seq() >= self.past);
        session.is_none_or(|session| !session.view(&self.id).questions.is_empty())
    }
}

impl Link for OpenQuestions {
    async fn next(&mut self) -> Option<Update> {
        if !self.has_open() {
            self.complete.store(true, Ordering::SeqCst);
            return None;
        }
        let update = self.updates.next().await?;
        if let Update::Entry(entry) = &update {
            match &mut self.session {
                Some(session) => session.apply_entry(entry),
                None => self.session = Session::open(entry),
            }
        }
        Some(update)
    }

    fn submit(&self, by: By, act: Act) -> impl Future<Output = Result<(), DoorError>> + Send + 'static {
        let (sessions, id) = (self.sessions.clone(), self.id.clone());
        async move { sessions.act(&id, &by, &act).await.map(drop) }
    }

    fn is_complete(&self) -> bool {
        !self.has_open()
    }
}

/// The question to answer if none is named.
pub(super) fn only_open(store: &BlockingStore, id: &SessionId) -> Result<Option<QuestionId>, Failure> {
    let open = sessions::view(store, id)?.questions;
    let others = open.iter().filter(|question| question.purpose != Purpose::Confirm);
    Ok(others.chain(&open).next().map(|question| question.id.clone()))
}

/// The answer to a question, or the last answer.
pub(super) fn last_answer(
    store: &BlockingStore,
    id: &SessionId,
    to: Option<&QuestionId>,
) -> Result<Option<(Question, Answer)>, Failure> {
    let entries = store.read(id, 0)?;
    let facts = || entries.iter().rev().flat_map(|entry| entry.facts.iter().rev());
    let answered = facts().find_map(|fact| match fact {
        Event::Answered { question, answer, .. } if to.is_none_or(|to| to == question) => {
            Some((question, answer))
        }
        _ => None,
    });
    let Some((of, answer)) = answered else { return Ok(None) };
    let question = facts().find_map(|fact| match fact {
        Event::Asked { questions, .. } => questions.iter().find(|asked| asked.id == *of),
        _ => None,
    });
    Ok(question.map(|question| (question.clone(), answer.clone())))
}

/// An interpreted answer: `q2 Extras: Date, Wish`.
pub(super) fn echo(question: &Question, answer: &Answer) -> String {
    let answer = question.words(answer);
    match &question.header {
        Some(header) => format!("{} {header}: {answer}", question.id),
        None => format!("{}: {answer}", question.id),
    }
}
