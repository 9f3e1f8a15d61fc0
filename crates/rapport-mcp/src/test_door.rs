//! A door to one session, for tests of races between two steps of a tool: others act just before the tool does.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::{self, FutureExt as _};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use jiff::Timestamp;
use rapport_core::{
    Act, By, ConversationId, Created, Decider, Entry, Event, Input, Origin, QuestionRound, Rule, Session,
    SessionId, TurnId, TurnKind, View,
};
use rapport_door::{
    Clock, Content, ContextUpdate, DoorError, Holder, KnownProject, LimitWish, LoadedProject, NewFile,
    Pieces, ProjectError, ProjectReply, Projects, Reached, Reply, Seen, Sessions, StoreError, Update,
    WorkerChoice,
};
use tokio::sync::watch;

use crate::server::Server;
use crate::{CHANNEL, McpSetup};

/// The only session behind the door, which a lead began over MCP, in a worktree.
pub(crate) fn session() -> SessionId {
    SessionId::new("20260124-add-auth")
}

pub(crate) fn lead() -> By {
    By::Lead { name: "test-client".into() }
}

/// A door with one session.
pub(crate) struct TestDoor {
    entries: Mutex<Vec<Entry>>,
    /// What others do just before each act, in order.
    others: Mutex<VecDeque<Vec<Event>>>,
}

impl TestDoor {
    /// A door to a session with these facts after its first one.
    pub(crate) fn new(facts: Vec<Event>, others: impl IntoIterator<Item = Vec<Event>>) -> Arc<Self> {
        let conversation = ConversationId::new("8e6a6a3c-0000-4000-8000-000000000001");
        let mut created = Created::new("Add auth".into(), "/app".into(), conversation, lead());
        created.worker = "worktree".into();
        created.origin = Some(Origin { channel: CHANNEL.into(), key: "test-client".into() });
        created.terms.apply = Decider::Lead;
        let door = Self { entries: Mutex::default(), others: Mutex::new(others.into_iter().collect()) };
        door.store(Session::begin(created).unwrap());
        door.store(facts);
        Arc::new(door)
    }

    /// A server over it.
    pub(crate) async fn server(self: &Arc<Self>) -> Server {
        let new = Arc::new(|_: String, _: Option<&str>, _: &LimitWish| Err("no workers here".to_owned()));
        let workers = WorkerChoice {
            new,
            warnings: Arc::new(|_| Vec::new()),
            usual: "worktree".into(),
            kinds: vec!["worktree"],
        };
        let project = PathBuf::from("/app");
        let setup = McpSetup {
            project,
            workers,
            apply: Decider::Lead,
            questions: rapport_core::routing::Policy::Trust,
            lead: None,
            dialogs: false,
            person: By::Person { channel: "terminal".into(), id: "ann".into() },
            projects: Arc::new(NoProjects),
            version: "1",
            clock: Clock::system(),
        };
        // The sender may be dropped: no tool in these tests waits for it.
        let (_, stop) = watch::channel(false);
        Server::new(setup, self.clone(), stop, crate::state_seal::StateSeal::new(b"test")).await.unwrap()
    }

    pub(crate) fn facts(&self) -> Vec<Event> {
        self.entries.lock().unwrap().iter().flat_map(|entry| entry.facts.clone()).collect()
    }

    fn store(&self, facts: Vec<Event>) {
        let mut entries = self.entries.lock().unwrap();
        let seq = entries.len() as u64 + 1;
        entries.push(Entry { seq, at: Timestamp::UNIX_EPOCH, facts });
    }

    fn decide(&self, by: &By, act: &Act) -> Result<Reached, DoorError> {
        let others = self.others.lock().unwrap().pop_front();
        others.into_iter().for_each(|facts| self.store(facts));
        let session = Session::replay(&*self.entries.lock().unwrap()).unwrap();
        let input = Input::Person { by: by.clone(), act: act.clone() };
        self.store(session.decide(&input, Timestamp::UNIX_EPOCH)?);
        Ok(Reached::Process)
    }
}

/// The facts of the work up to its n-th end, since the end before. The first turn makes the plan.
pub(crate) fn work(end: u32) -> Vec<Event> {
    let turn = TurnId(end + 1);
    let prompt = String::new();
    vec![
        Event::TurnStarted { turn, kind: TurnKind::Work, prompt, mends: false },
        Event::TurnEnded { turn, result: "Done.".into() },
        Event::Reported { changes: None },
    ]
}

fn none<'a, T: Send + 'a>() -> Reply<'a, T> {
    future::ready(Err(DoorError::Closed)).boxed()
}

/// A registry without projects.
struct NoProjects;

fn unknown<'a, T: Send + 'a>(named: &str) -> ProjectReply<'a, T> {
    let error = ProjectError::Unknown { named: named.to_owned(), known: Vec::new() };
    future::ready(Err(error)).boxed()
}

impl Projects for NoProjects {
    fn list(&self) -> ProjectReply<'_, Vec<KnownProject>> {
        future::ready(Ok(Vec::new())).boxed()
    }

    fn load<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject> {
        unknown(project)
    }

    fn explore<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject> {
        unknown(project)
    }

    fn update<'a>(
        &'a self,
        project: &'a str,
        _: &'a By,
        _: &'a ContextUpdate,
    ) -> ProjectReply<'a, LoadedProject> {
        unknown(project)
    }

    fn learn<'a>(&'a self, project: &'a str, _: &'a By, _: &'a str) -> ProjectReply<'a, LoadedProject> {
        unknown(project)
    }

    fn forget<'a>(&'a self, project: &'a str, _: &'a By, _: &'a str) -> ProjectReply<'a, LoadedProject> {
        unknown(project)
    }

    fn register<'a>(&'a self, name: &'a str, _: &'a str, _: &'a By) -> ProjectReply<'a, LoadedProject> {
        unknown(name)
    }

    fn unregister<'a>(&'a self, name: &'a str, _: &'a By) -> ProjectReply<'a, ()> {
        unknown(name)
    }

    fn resolve<'a>(&'a self, project: &'a str) -> ProjectReply<'a, PathBuf> {
        unknown(project)
    }
}

impl Sessions for TestDoor {
    fn list(&self) -> Reply<'_, Vec<SessionId>> {
        async { Ok(vec![session()]) }.boxed()
    }

    fn entries<'a>(&'a self, id: &'a SessionId, _: u64) -> Reply<'a, Vec<Entry>> {
        async move {
            let is_it = *id == session();
            let entries = is_it.then(|| self.entries.lock().unwrap().clone());
            entries.ok_or_else(|| StoreError::NotFound(id.clone()).into())
        }
        .boxed()
    }

    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>> {
        async { Ok(stream::pending().boxed()) }.boxed()
    }

    fn act<'a>(&'a self, _: &'a SessionId, by: &'a By, act: &'a Act) -> Reply<'a, Reached> {
        async move { self.decide(by, act) }.boxed()
    }

    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View> {
        async move {
            let entries = self.entries(id, 0).await?;
            let session = Session::replay(&entries).ok_or_else(|| StoreError::NotFound(id.clone()))?;
            Ok(session.view(id))
        }
        .boxed()
    }

    fn holder<'a>(&'a self, _: &'a SessionId) -> Reply<'a, Option<Holder>> {
        none()
    }

    fn follow<'a>(&'a self, _: &'a SessionId, _: u64) -> Reply<'a, BoxStream<'static, Update>> {
        none()
    }

    fn read<'a>(&'a self, _: &'a SessionId, _: Content) -> Reply<'a, Pieces> {
        none()
    }

    fn attach<'a>(&'a self, _: &'a SessionId, _: &'a str, _: &'a [u8]) -> Reply<'a, ()> {
        none()
    }

    fn receive<'a>(&'a self, _: &'a SessionId, _: &'a [NewFile]) -> Reply<'a, Vec<String>> {
        none()
    }

    fn create(&self, _: Created, _: Option<QuestionRound>) -> Reply<'_, SessionId> {
        none()
    }

    fn create_with_files<'a>(&'a self, _: Created, _: &'a [NewFile]) -> Reply<'a, SessionId> {
        none()
    }

    fn import(&self, _: Vec<Event>, _: Timestamp) -> Reply<'_, SessionId> {
        none()
    }

    fn rules(&self) -> Reply<'_, Vec<Rule>> {
        none()
    }

    fn forget_rule<'a>(&'a self, _: &'a Rule) -> Reply<'a, ()> {
        none()
    }

    fn resume<'a>(&'a self, _: &'a SessionId) -> Reply<'a, ()> {
        none()
    }

    fn release<'a>(&'a self, _: &'a SessionId) -> Reply<'a, ()> {
        none()
    }
}
