//! What the door to sessions does, whether a session runs in this process, in another one, or in none.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rapport::agents::{Agent, Command};
use rapport::clock::{self, Clock};
use rapport::engine::socket::{Socket, person_here};
use rapport::engine::{DoorError, Engine, GatewayError, Parts, ProjectSessions, Reached, Sessions, Update};
use rapport::planners::Nobody;
use rapport::stores::files::Files;
use rapport::stores::memory::Memory;
use rapport::stores::{Holder, Store, StoreError};
use rapport::workers::local::Local;
use rapport::workers::{Worker, WorkerError, Workplace};
use rapport_core::{Act, Aim, By, Created, Entry, Event, Seed, SessionId, Status, TurnId};
use rapport_door::{ChannelNotice, Content, JointSessions, Notices, ProjectDoor};

use super::dummy::{SilentAgent, Stream, WatchedAgent};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_session_of_this_process_is_seen_followed_and_ended() {
    for store in stores() {
        let process = Process::start(store.clone());
        let id = process.sessions.create(task("here"), None).await.unwrap();
        is_seen_followed_and_ended(&process.sessions, &id, Reached::Process).await;
        process.stop().await;
    }
}

/// A session of another process is seen and answered like an own one: no channel needs a bridge.
#[tokio::test]
async fn a_session_of_another_process_is_seen_followed_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(Files::new(folder.path().join("sessions")));
    let theirs = Process::start(store.clone());
    let id = theirs.sessions.create(task("there"), None).await.unwrap();
    let ours = Process::start(store.clone());
    assert!(matches!(ours.sessions.resume(&id).await, Err(DoorError::Store(StoreError::Busy { .. }))));
    is_seen_followed_and_ended(&ours.sessions, &id, Reached::Process).await;
    ours.stop().await;
    theirs.stop().await;
}

#[tokio::test]
async fn a_session_of_no_process_is_written_to_its_log() {
    for store in stores() {
        let process = Process::start(store.clone());
        let id = process.sessions.create(task("nowhere"), None).await.unwrap();
        process.stop().await;
        let outside = ProjectSessions::new(store, None, Arc::new(Local), Clock::system());
        is_seen_followed_and_ended(&outside, &id, Reached::Log).await;
    }
}

/// Several projects behind one door: sessions of one name are told apart, and each is reached in its own project.
#[tokio::test]
async fn the_sessions_of_several_projects_are_reached_by_one_door() {
    let (app, blog) = (Process::start(Arc::new(Memory::new())), Process::start(Arc::new(Memory::new())));
    let (notices, _) = Notices::channel();
    let joint = JointSessions::new(door("app", &app), [door("blog", &blog)], notices);
    let mut seen = joint.watch().await.unwrap();
    let of = |project: &str| Created { project: project.into(), ..task("the same") };
    let first = joint.create(of("/app"), None).await.unwrap();
    let second = joint.create(of("/blog"), None).await.unwrap();
    assert_eq!(second.as_str(), format!("blog:{first}"));
    assert_eq!(JointSessions::split(&second), (Some("blog"), first.as_str()));
    assert_eq!(joint.list().await.unwrap(), [first.clone(), second.clone()]);
    for (id, project) in [(&first, "/app"), (&second, "/blog")] {
        assert_eq!(joint.view(id).await.unwrap().id, *id);
        let entries = joint.entries(id, 0).await.unwrap();
        assert!(matches!(&entries[0].facts[0], Event::Created(created) if created.project == project));
        let told = async { seen.next().await.unwrap().session };
        assert_eq!(tokio::time::timeout(PATIENCE, told).await.unwrap(), *id);
    }
    // What grew from a conversation names it as its own project does.
    let seed = Some(Seed { session: second.clone(), turn: TurnId(1) });
    let grown = joint.create(Created { grown_from: seed.clone(), ..of("/blog") }, None).await.unwrap();
    let seeds = |entries: Vec<Entry>| match &entries[0].facts[0] {
        Event::Created(created) => created.grown_from.clone(),
        fact => panic!("{fact:?}"),
    };
    assert_eq!(seeds(joint.entries(&grown, 0).await.unwrap()), seed);
    let own = SessionId::new(JointSessions::split(&grown).1);
    let stored = seeds(blog.sessions.entries(&own, 0).await.unwrap()).unwrap();
    assert_eq!(stored.session, first, "without the name of the project");
    joint.act(&second, &person_here(), &cancel()).await.unwrap();
    let status = async |id| joint.view(id).await.unwrap().status;
    assert_eq!(
        (status(&second).await, status(&first).await == Status::Cancelled),
        (Status::Cancelled, false)
    );
    app.stop().await;
    blog.stop().await;
}

fn door(name: &str, process: &Process) -> ProjectDoor {
    let sessions = Arc::new(process.sessions.clone());
    ProjectDoor { name: name.into(), path: format!("/{name}"), sessions }
}

/// The sessions of all projects are in one order. A project whose store cannot be used is reported once, and left out.
#[tokio::test]
async fn a_list_of_several_projects_is_in_order_and_leaves_out_what_fails() {
    let (app, blog) = (Process::start(Arc::new(Memory::new())), Process::start(Arc::new(Memory::new())));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sessions"), "not a directory").unwrap();
    let store = Arc::new(Files::new(folder.path().join("sessions")));
    let broken = || {
        let sessions = ProjectSessions::new(store.clone(), None, Arc::new(Local), Clock::system());
        ProjectDoor { name: "broken".into(), path: "/broken".into(), sessions: Arc::new(sessions) }
    };
    let (notices, mut told) = Notices::channel();
    let joint = JointSessions::new(broken(), [door("app", &app), door("blog", &blog)], notices.clone());
    let mut seen = joint.watch().await.unwrap();
    let begin = async |project: &str, at: &str| {
        let created = Created { project: project.into(), ..task("paint") };
        let facts = rapport_core::Session::begin(created).unwrap();
        joint.import(facts, at.parse().unwrap()).await.unwrap()
    };
    let mut begun = Vec::new();
    for (project, day) in [("/blog", "02"), ("/app", "03"), ("/blog", "04"), ("/app", "05")] {
        begun.push(begin(project, &format!("2026-01-{day}T12:00:00Z")).await);
    }
    for _ in 0..2 {
        assert_eq!(joint.list().await.unwrap(), begun);
    }
    let next = tokio::time::timeout(PATIENCE, seen.next()).await.unwrap().unwrap();
    assert!(begun.contains(&next.session), "{next:?}");
    match told.try_recv().unwrap() {
        ChannelNotice::LeftOut { project, message } => {
            assert!(project == "broken" && message.contains("sessions"), "{project}: {message}");
        }
        other => panic!("{other:?}"),
    }
    while let Ok(notice) = told.try_recv() {
        let ChannelNotice::LeftOut { message, .. } = &notice else { panic!("{notice:?}") };
        assert!(message.contains("list"), "told twice: {message}");
        assert!(told.try_recv().is_err(), "the same reason is told once");
    }
    let none = JointSessions::new(broken(), [], notices);
    assert!(none.list().await.is_err() && none.watch().await.is_err(), "nothing is left to serve");
    app.stop().await;
    blog.stop().await;
}

/// An engine resumes a session that no process runs, so that it continues.
#[tokio::test]
async fn an_act_in_a_session_of_no_process_takes_it_up() {
    for store in stores() {
        let first = Process::start(store.clone());
        let id = first.sessions.create(task("left"), None).await.unwrap();
        first.stop().await;
        let second = Process::start(store);
        assert_eq!(second.sessions.act(&id, &person_here(), &cancel()).await.unwrap(), Reached::Process);
        assert!(second.sessions.holder(&id).await.unwrap().is_some());
        second.stop().await;
    }
}

/// A watcher of all sessions also gets those of other processes, each from its first fact.
#[tokio::test]
async fn all_sessions_are_watched_wherever_they_run() {
    for store in stores() {
        let (ours, theirs) = (Process::start(store.clone()), Process::start(store.clone()));
        let mut seen = ours.sessions.watch().await.unwrap();
        for process in [&ours, &theirs] {
            let id = process.sessions.create(task("watched"), None).await.unwrap();
            let next = tokio::time::timeout(PATIENCE, seen.next()).await.unwrap().unwrap();
            assert_eq!(next.session, id);
            assert!(matches!(&next.updates[..], [Update::Entry(entry)] if entry.seq == 1), "{next:?}");
        }
        ours.stop().await;
        theirs.stop().await;
    }
}

/// A session that runs on another machine is reached in the way that its store knows.
#[tokio::test]
async fn a_session_on_another_machine_is_reached_through_its_store() {
    let stream = Stream::default();
    let far = Holder { pid: 7, address: None, host: Some("desktop".into()) };
    let now = Clock::system().now();
    let facts = rapport_core::Session::begin(task("far away")).unwrap();
    let (id, _, _log) = stream.create("far away", now, facts, &far).await.unwrap();
    let here = Process::start(Arc::new(stream.clone()));
    let reached = here.sessions.act(&id, &person_here(), &cancel()).await.unwrap();
    assert_eq!(reached, Reached::Process);
    assert_eq!(stream.sent(), [("desktop".to_owned(), id.clone(), person_here(), cancel())]);
    assert_eq!(stream.read(&id, 0).await.unwrap().len(), 1, "whoever holds it writes its log");
    here.stop().await;
}

/// Another process took over a session, and the holder did not notice: it drops the session and never answers, and
/// the act goes to the current holder, once. Followers there are told.
#[tokio::test]
async fn a_session_that_was_taken_over_is_dropped() {
    let store = Memory::new();
    let frozen = Process::start(Arc::new(store.clone()));
    let id = frozen.sessions.create(task("taken over"), None).await.unwrap();
    let mut updates = frozen.sessions.follow(&id, 1).await.unwrap();
    let mut all = frozen.sessions.watch().await.unwrap();
    store.end_hold(&id);
    let owner = Process::start(Arc::new(store.clone()));
    owner.sessions.resume(&id).await.unwrap();
    assert!(frozen.engine.gateway().runs(&id));
    assert_eq!(frozen.sessions.act(&id, &person_here(), &cancel()).await.unwrap(), Reached::Process);
    let told = tokio::time::timeout(PATIENCE, updates.next()).await.unwrap();
    assert_eq!(told, Some(Update::Lost(format!("session {id} was taken over by another process"))));
    assert_eq!(updates.next().await, None);
    assert!(!frozen.engine.gateway().runs(&id) && owner.engine.gateway().runs(&id));
    let facts: Vec<_> = store.read(&id, 0).await.unwrap().into_iter().flat_map(|entry| entry.facts).collect();
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Event::Cancelled { .. })).count(), 1);
    // From now on it is seen as any session of another process is.
    let is_end = |update: &Update| matches!(update, Update::Entry(entry) if matches!(entry.facts[..], [Event::Cancelled { .. }]));
    while !tokio::time::timeout(PATIENCE, all.next()).await.unwrap().unwrap().updates.iter().any(is_end) {}
    assert_eq!(frozen.sessions.view(&id).await.unwrap().status, Status::Cancelled);
    frozen.stop().await;
    owner.stop().await;
}

/// The agent of a session that another process has taken over is stopped before anything else is done.
#[tokio::test]
async fn the_agent_of_a_session_that_was_taken_over_is_killed() {
    let (store, folder) = (Memory::new(), tempfile::tempdir().unwrap());
    let (agent, mut started) = WatchedAgent::new();
    let frozen = Process::start_with(Arc::new(store.clone()), Arc::new(agent));
    let project = folder.path().to_str().unwrap().to_owned();
    let work = Created { project, aim: Aim::Work, ..task("work") };
    let id = frozen.sessions.create(work, None).await.unwrap();
    let mut commands = tokio::time::timeout(PATIENCE, started.recv()).await.unwrap().unwrap();
    store.end_hold(&id);
    let (_, _owner) = store.hold(&id, &Holder::this_process(None)).await.unwrap();
    let (by, act) = (person_here(), cancel());
    let act = frozen.sessions.act(&id, &by, &act);
    let killed =
        async { while !matches!(commands.recv().await.expect("the loop tells it"), Command::Kill) {} };
    // No holder can be reached, so the act is refused in the end; the agent is killed long before.
    tokio::select! {
        done = act => panic!("{done:?}"),
        killed = tokio::time::timeout(PATIENCE, killed) => killed.unwrap(),
    }
}

/// Effects for a session that another process has taken over have to end before this process may resume the session.
#[tokio::test]
async fn a_session_that_was_taken_over_is_kept_until_its_effects_have_ended() {
    let (store, folder) = (Memory::new(), tempfile::tempdir().unwrap());
    let (worker, opening, go_on) = SlowWorker::new();
    let frozen = Process::start_in(Arc::new(store.clone()), Arc::new(SilentAgent), Arc::new(worker));
    let project = folder.path().to_str().unwrap().to_owned();
    let id = frozen.sessions.create(Created { project, aim: Aim::Work, ..task("work") }, None).await.unwrap();
    tokio::task::spawn_blocking(move || opening.recv_timeout(PATIENCE).unwrap()).await.unwrap();
    store.end_hold(&id);
    let (_, _owner) = store.hold(&id, &Holder::this_process(None)).await.unwrap();
    let gateway = frozen.engine.gateway();
    let refused = gateway.submit(&id, person_here(), cancel()).await;
    assert!(matches!(refused, Err(GatewayError::NotHere(_))), "{refused:?}");
    for _ in 0..3 {
        let ending = gateway.adopt(&id).await;
        assert!(matches!(ending, Err(GatewayError::Broken(_))), "{ending:?}");
    }
    drop(go_on);
    let forgotten = async {
        while let Err(GatewayError::Broken(_)) = gateway.adopt(&id).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, forgotten).await.unwrap();
    let held = gateway.adopt(&id).await;
    assert!(matches!(held, Err(GatewayError::Store(StoreError::Busy { .. }))), "{held:?}");
    frozen.stop().await;
}

/// A process that takes or releases a session has no name in the lock for a moment. A process that resumes the
/// session waits that long; if the holder has no name for longer, it is refused.
#[tokio::test]
async fn a_session_whose_holder_has_no_name_is_resumed_once_it_is_free() {
    let store = Memory::new();
    let held = async |name: &str| {
        let facts = vec![Event::Created(task(name))];
        store.create(name, Clock::system().now(), facts, &Holder::UNKNOWN).await.unwrap()
    };
    let ((id, _, owner), (other, _, _other_owner)) = (held("x").await, held("y").await);
    let process = Process::start(Arc::new(store.clone()));
    let mut resumed = process.sessions.resume(&id);
    let early = tokio::time::timeout(Duration::from_millis(200), &mut resumed).await;
    assert!(early.is_err(), "it waits: {early:?}");
    drop(owner);
    tokio::time::timeout(PATIENCE, resumed).await.unwrap().unwrap();
    let refused = tokio::time::timeout(PATIENCE, process.sessions.resume(&other)).await.unwrap();
    assert!(matches!(refused, Err(DoorError::Store(StoreError::Busy { .. }))), "{refused:?}");
    process.stop().await;
}

/// A log that cannot be read is no reason to say nothing.
#[tokio::test]
async fn a_log_that_becomes_unreadable_is_told_to_who_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sessions");
    let store: Arc<dyn Store> = Arc::new(Files::new(root.clone()));
    let (id, ..) = store
        .create(
            "x",
            clock::Clock::system().now(),
            vec![Event::Created(task("x"))],
            &Holder::this_process(None),
        )
        .await
        .unwrap();
    let outside = ProjectSessions::new(store, None, Arc::new(Local), Clock::system());
    let mut one = outside.follow(&id, 1).await.unwrap();
    let mut all = outside.watch().await.unwrap();
    std::fs::write(root.join(id.as_str()).join("log.jsonl"), "not a log\n").unwrap();
    let is_told = |update: &Update| matches!(update, Update::Lost(why) if why.contains("damaged at line 1"));
    let update = tokio::time::timeout(PATIENCE, one.next()).await.unwrap().unwrap();
    assert!(is_told(&update), "{update:?}");
    assert_eq!(one.next().await, None);
    let seen = tokio::time::timeout(PATIENCE, all.next()).await.unwrap().unwrap();
    assert!(seen.session == id && seen.updates.iter().all(is_told), "{seen:?}");
}

async fn is_seen_followed_and_ended(sessions: &dyn Sessions, id: &SessionId, expected: Reached) {
    assert_eq!(sessions.list().await.unwrap(), std::slice::from_ref(id));
    assert_eq!(sessions.view(id).await.unwrap().status, Status::Idle);
    let mut updates = sessions.follow(id, 0).await.unwrap();
    assert!(matches!(next(&mut updates).await.facts[..], [Event::Created(_)]));

    sessions.attach(id, "01/plan.md", b"a plan").await.unwrap();
    let file = sessions.read(id, Content::Attachment("01/plan.md".into())).await.unwrap();
    assert_eq!(file.map(Result::unwrap).concat().await, b"a plan");
    let log = whole(sessions, id, Content::Log).await;
    assert_eq!(String::from_utf8(log).unwrap().lines().count(), 1);
    let export = whole(sessions, id, Content::Export).await;
    assert!(String::from_utf8_lossy(&export).contains(id.as_str()));
    let missing = sessions.read(id, Content::File("nowhere.txt".into())).await;
    assert!(missing.is_err(), "it has no such file");
    let diff = sessions.read(id, Content::Diff).await.unwrap().map(Result::unwrap).concat().await;
    assert_eq!(diff, b"", "it changed nothing");

    assert_eq!(sessions.act(id, &person_here(), &cancel()).await.unwrap(), expected);
    assert!(matches!(next(&mut updates).await.facts[..], [Event::Cancelled { .. }]));
    assert_eq!(sessions.entries(id, 1).await.unwrap().len(), 1);
    let late = sessions.act(id, &person_here(), &cancel()).await;
    assert!(matches!(late, Err(DoorError::Refused(_))), "{late:?}");
}

/// All pieces of a session's content.
async fn whole(sessions: &dyn Sessions, id: &SessionId, what: Content) -> Vec<u8> {
    sessions.read(id, what).await.unwrap().map(Result::unwrap).concat().await
}

/// A log is given as it is stored, with its seals and check sums; and what is long comes in pieces.
#[tokio::test]
async fn content_is_read_as_it_is_stored_and_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sessions");
    let store: Arc<dyn Store> = Arc::new(Files::new(root.clone()));
    let process = Process::start(store);
    let id = process.sessions.create(task(&"a long task ".repeat(5000)), None).await.unwrap();
    let read = async |what: Content| -> Vec<Vec<u8>> {
        process.sessions.read(&id, what).await.unwrap().map(Result::unwrap).collect().await
    };
    process.sessions.act(&id, &person_here(), &cancel()).await.unwrap();
    let stored = std::fs::read(root.join(id.as_str()).join("log.jsonl")).unwrap();
    let log = read(Content::Log).await;
    assert_eq!(log.concat(), stored, "byte for byte");
    assert!(String::from_utf8_lossy(&stored).contains("\"crc\""));
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    process.sessions.attach(&id, "01/long.bin", &long).await.unwrap();
    let file = read(Content::Attachment("01/long.bin".into())).await;
    assert!(file.len() > 1 && file.iter().all(|piece| piece.len() < 1_000_000), "{} pieces", file.len());
    assert_eq!(file.concat(), long);
    assert_eq!(read(Content::Attachment("01/nothing".into())).await.concat(), b"");
    process.stop().await;
}

async fn next(updates: &mut (impl futures_util::Stream<Item = Update> + Unpin)) -> Entry {
    loop {
        match tokio::time::timeout(PATIENCE, updates.next()).await.unwrap() {
            Some(Update::Entry(entry)) => return entry,
            Some(Update::Progress(_) | Update::Action(_)) => {}
            Some(Update::Lost(why)) => panic!("{why}"),
            None => panic!("the session is followed no longer"),
        }
    }
}

/// An engine with a socket, as a process of its own would have it.
pub(crate) struct Process {
    pub(crate) engine: Engine,
    pub(crate) sessions: ProjectSessions,
    socket: rapport::engine::socket::Serving,
    _run: tempfile::TempDir,
}

impl Process {
    pub(crate) fn start(store: Arc<dyn Store>) -> Self {
        Self::start_with(store, Arc::new(SilentAgent))
    }

    fn start_with(store: Arc<dyn Store>, agent: Arc<dyn Agent>) -> Self {
        Self::start_in(store, agent, Arc::new(Local))
    }

    fn start_in(store: Arc<dyn Store>, agent: Arc<dyn Agent>, worker: Arc<dyn Worker>) -> Self {
        let run = tempfile::tempdir().unwrap();
        let socket = Socket::bind(run.path()).unwrap();
        let engine = Engine::start(Parts {
            store: store.clone(),
            agents: Arc::new(rapport::agents::AgentsByName::only(agent)),
            planner: Arc::new(Nobody),
            worker,
            workshop: None,
            clock: Clock::system(),
            holder: Holder::this_process(Some(socket.address())),
            home: run.path().to_owned(),
            limits: Default::default(),
        });
        let socket = socket.serve(engine.gateway(), None);
        let sessions = ProjectSessions::new(store, Some(engine.gateway()), Arc::new(Local), Clock::system());
        Self { engine, sessions, socket, _run: run }
    }

    pub(crate) async fn stop(self) {
        self.socket.stop().await;
        self.engine.stop().await;
    }
}

/// A worker that tells when it is to open a workplace, and does so once it may.
struct SlowWorker {
    opening: std::sync::mpsc::SyncSender<()>,
    may_go_on: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
}

impl SlowWorker {
    fn new() -> (Self, std::sync::mpsc::Receiver<()>, std::sync::mpsc::SyncSender<()>) {
        let (opening, is_opening) = std::sync::mpsc::sync_channel(1);
        let (go_on, may_go_on) = std::sync::mpsc::sync_channel(1);
        (Self { opening, may_go_on: may_go_on.into() }, is_opening, go_on)
    }
}

impl Worker for SlowWorker {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        self.opening.send(()).unwrap();
        // Nothing is ever sent: it waits until the other end is dropped.
        let _ = self.may_go_on.lock().unwrap().recv();
        Local.open(session, created)
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Local.find(session, created)
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        Local.clear(session, created)
    }
}

fn stores() -> [Arc<dyn Store>; 2] {
    let folder = tempfile::tempdir().unwrap().keep();
    [Arc::new(Memory::new()), Arc::new(Files::new(folder.join("sessions")))]
}

pub(crate) fn task(words: &str) -> Created {
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    Created { aim: Aim::Files, ..Created::new(words.into(), "/".into(), clock::new_conversation(), by) }
}

pub(crate) fn cancel() -> Act {
    Act::Cancel { reason: None }
}
