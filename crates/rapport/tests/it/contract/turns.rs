//! A session of files on every store: planned, reviewed, approved in part, run, reported, changed by hand and undone.
//! Its documents are the same wherever the store keeps them, and so is whether they count.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rapport::actions::{ActionConfig, Pending};
use rapport::agents::AgentsByName;
use rapport::clock::{self, Clock};
use rapport::engine::socket::person_here;
use rapport::engine::{Engine, Parts, ProjectSessions, Sessions as _};
use rapport::planners::Nobody;
use rapport::seals::Seal;
use rapport::stores::{Holder, Store, StoreError};
use rapport::turns::batches::{Batches, Naming};
use rapport::turns::preparation::{PlanReason, TurnPreparation, message_to};
use rapport::turns::{
    CONTEXT_LOG, Folder, Helpers, META, PLAN, REPORT, SESSION_CONTEXT, TURN_CONTEXT, Workshop, checksum,
};
use rapport::workers::local::Local;
use rapport_core::report::Overall;
use rapport_core::{
    Act, Aim, Asking, Chosen, Created, FileTurn, LaterChanges, Session, SessionId, TurnStage, UndoState,
};
use rapport_door::DoorError;

use super::dummy::PlanningAgent;
use super::store::kinds;
use crate::files::{create, edit, plan};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_session_of_files_is_the_same_on_every_store() {
    for kind in kinds() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("README.md"), "# An app\n").unwrap();
        let id = planned_in_part_and_reported(&kind.store, project.path()).await;
        // Another process, perhaps on another host, knows all of it from the store.
        undone_by_another(&kind.store, project.path(), &id).await;
    }
}

/// A document that no fact records yet counts if a note vouches for it, so a kill between the two loses nothing.
/// Without a note it came from elsewhere, and a person has to look at it first.
#[tokio::test]
async fn a_document_without_a_fact_counts_by_its_note_on_every_store() {
    for kind in kinds() {
        let project = tempfile::tempdir().unwrap();
        let process = Process::start(&kind.store, project.path());
        let id = process.create(project.path()).await;
        process.engine.stop().await;
        let folder = Folder::new(kind.store.clone(), &id);
        let turn = folder.make_next(None, Clock::system().now()).await.unwrap();
        turn.write_noted(CONTEXT_LOG, b"Add a greeting.".to_vec()).await.unwrap();
        resumed(&kind.store, project.path(), &id).await.unwrap();

        let pulled = folder.make_next(Some(&turn), Clock::system().now()).await.unwrap();
        pulled.write(PLAN, greeting().into_bytes()).await.unwrap();
        let refused = resumed(&kind.store, project.path(), &id).await;
        let Err(DoorError::Store(StoreError::NotOurs { seal: Seal::Added(turns), .. })) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(turns, ["02"]);
        pulled.write_noted(PLAN, greeting().into_bytes()).await.unwrap();
        resumed(&kind.store, project.path(), &id).await.unwrap();
    }
}

/// Resumes a session in a process of its own.
async fn resumed(store: &Arc<dyn Store>, project: &Path, id: &SessionId) -> Result<(), DoorError> {
    let process = Process::start(store, project);
    let resumed = process.sessions.resume(id).await;
    process.engine.stop().await;
    resumed
}

async fn planned_in_part_and_reported(store: &Arc<dyn Store>, project: &Path) -> SessionId {
    let process = Process::start(store, project);
    let id = process.create(project).await;
    let folder = Folder::new(store.clone(), &id);
    folder.write(SESSION_CONTEXT, b"README.md\n".to_vec()).await.unwrap();

    // Prepared as any channel can, and planned from what is written, and from nothing else.
    let preparation = TurnPreparation {
        folder: folder.clone(),
        project: project.to_owned(),
        files: project.to_owned(),
        agent: "dummy".into(),
        max_file_bytes: 1000,
    };
    let begun = process.until(&id, |_| true).await;
    let turn = preparation.next(None, Clock::system().now()).await.unwrap();
    let base = preparation.base_of(&begun, &turn).await.unwrap();
    let payload = preparation.payload(&base, "Add a greeting.", Asking::Assume).await.unwrap();
    preparation.write_down(&turn, &base, &payload, PlanReason::Message).await.unwrap();
    let shown = turn.text(CONTEXT_LOG).await.unwrap().unwrap();
    assert!(shown.contains("# An app"), "it is shown what session.context names: {shown}");
    assert_eq!(message_to(&turn).await.unwrap().as_deref(), Some("Add a greeting."));
    let draft = preparation.draft(&turn, Asking::Assume, clock::new_conversation()).await.unwrap();
    process.act(&id, draft).await;
    process.until(&id, |session| stage(session) == Some(TurnStage::Planned) && is_settled(session)).await;
    assert_eq!(turn.text(PLAN).await.unwrap(), Some(greeting()));
    assert_eq!(turn.meta_now().await.unwrap().unwrap().model.as_deref(), Some("dummy"));

    // The plan is edited by hand: Rapport notices, and the edit does not count.
    turn.write(PLAN, b"# Something else\n".to_vec()).await.unwrap();
    process.act(&id, Act::Review { folder: "01".into() }).await;
    let differing =
        process.until(&id, |session| the_turn(session).is_some_and(|turn| turn.differs.is_some())).await;
    assert_eq!(the_turn(&differing).unwrap().differs.as_deref(), Some("# Something else\n"));
    process.act(&id, Act::RestorePlan { folder: "01".into() }).await;
    let restored = process
        .until(&id, |session| {
            the_turn(session).is_some_and(|turn| turn.differs.is_none()) && is_settled(session)
        })
        .await;
    assert_eq!(turn.text(PLAN).await.unwrap(), Some(greeting()));

    let revision = the_turn(&restored).unwrap().plan.as_ref().unwrap().revision;
    let chosen = Chosen { actions: vec![None, None, Some("not today".into())], ..Chosen::default() };
    process.act(&id, Act::Approve { folder: "01".into(), revision, chosen }).await;
    let done = process.until(&id, |session| stage(session) == Some(TurnStage::Complete)).await;
    assert_eq!(the_turn(&done).unwrap().status, Some(Overall::Partial));
    assert_eq!(fs::read_to_string(project.join("hello.txt")).unwrap().trim_end(), "Hello");
    assert_eq!(fs::read_to_string(project.join("README.md")).unwrap(), "# A friendly app\n");
    assert!(!project.join("later.txt").exists(), "it was not approved");
    let report = turn.text(REPORT).await.unwrap().unwrap();
    assert!(report.contains("not today") && report.contains("hello.txt"), "{report}");
    let sealed = &done.sealed()["01"];
    assert_eq!(&checksum::sums(&folder, "01").await.unwrap(), sealed);
    assert_eq!(sealed.len(), 5, "turn.context, _context.log, plan.md, report.md, meta.yaml: {sealed:?}");
    process.engine.stop().await;
    id
}

async fn undone_by_another(store: &Arc<dyn Store>, project: &Path, id: &SessionId) {
    let known = store.read(id, 0).await.unwrap().len();
    let (process, folder) = (Process::start(store, project), Folder::new(store.clone(), id));
    process.sessions.resume(id).await.unwrap();
    let session = process.until(id, |session| stage(session) == Some(TurnStage::Complete)).await;
    assert_eq!(
        store.read(id, 0).await.unwrap().len(),
        known,
        "its documents tell nothing that the facts do not"
    );
    let [turn] = &folder.turns().await.unwrap()[..] else { panic!("one turn") };
    assert!(
        [TURN_CONTEXT, CONTEXT_LOG, PLAN, REPORT, META].iter().all(|document| turn.has(document)),
        "{turn:?}"
    );

    // A change in a finished turn is noticed.
    let sealed = &session.sealed()["01"];
    assert_eq!(checksum::broken(&folder, "01", sealed).await.unwrap(), Vec::<String>::new());
    turn.write(REPORT, b"Nothing to see here.\n".to_vec()).await.unwrap();
    let changed = format!("{} was changed", turn.place(REPORT));
    assert_eq!(checksum::broken(&folder, "01", sealed).await.unwrap(), [changed]);

    let batch = the_turn(&session).unwrap().batch().unwrap().name.clone();
    process.act(id, Act::Undo { batch: batch.clone(), later: LaterChanges::Refuse }).await;
    let is_undone = |session: &Session| {
        session.batch(&batch).is_some_and(|(_, batch)| matches!(batch.undo, UndoState::Done(_)))
    };
    process.until(id, is_undone).await;
    assert!(!project.join("hello.txt").exists());
    assert_eq!(fs::read_to_string(project.join("README.md")).unwrap(), "# An app\n");
    process.engine.stop().await;
}

fn greeting() -> String {
    let actions = [
        create("hello.txt", "Hello"),
        edit("README.md", "# An app", "# A friendly app"),
        create("later.txt", "Bye"),
    ];
    plan("Add a greeting", &[], &[], &actions)
}

fn the_turn(session: &Session) -> Option<&FileTurn> {
    session.file_turn("01")
}

fn stage(session: &Session) -> Option<TurnStage> {
    the_turn(session).map(|turn| turn.stage)
}

fn is_settled(session: &Session) -> bool {
    session.view(&SessionId::new("any")).is_settled()
}

/// An engine with turns, as a process of its own would have it.
struct Process {
    engine: Engine,
    sessions: ProjectSessions,
    store: Arc<dyn Store>,
}

impl Process {
    fn start(store: &Arc<dyn Store>, project: &Path) -> Self {
        let agent = PlanningAgent { words: "Add a greeting.", plan: greeting() };
        let workshop = Workshop {
            batches: Batches::of(project, Naming::ByTurn),
            plan_name: None,
            seals: None,
            config: ActionConfig::new("no command is run"),
            agent: String::new(),
            max_file_bytes: 100_000,
            max_tokens: 100_000,
            helpers: Arc::new(NoHelpers),
        };
        let engine = Engine::start(Parts {
            store: store.clone(),
            agents: Arc::new(AgentsByName::only(Arc::new(agent))),
            planner: Arc::new(Nobody),
            worker: Arc::new(Local),
            workshop: Some(workshop),
            clock: Clock::system(),
            holder: Holder::this_process(None),
            home: project.join("home"),
            limits: Default::default(),
        });
        let sessions =
            ProjectSessions::new(store.clone(), Some(engine.gateway()), Arc::new(Local), Clock::system());
        Self { engine, sessions, store: store.clone() }
    }

    async fn create(&self, project: &Path) -> SessionId {
        let project = project.to_str().unwrap().into();
        let created = Created::new("add-greeting".into(), project, clock::new_conversation(), person_here());
        self.sessions.create(Created { aim: Aim::Files, ..created }, None).await.unwrap()
    }

    async fn act(&self, id: &SessionId, act: Act) {
        self.sessions.act(id, &person_here(), &act).await.unwrap();
    }

    /// Waits until the session, as its facts have it, is like this.
    async fn until(&self, id: &SessionId, is_it: impl Fn(&Session) -> bool) -> Session {
        let mut updates = self.sessions.follow(id, 0).await.unwrap();
        loop {
            let session = self.store.replay(id, &self.store.read(id, 0).await.unwrap()).unwrap();
            assert!(!session.is_failed(), "{:?}", session.view(id).failure);
            if is_it(&session) {
                return session;
            }
            let update = tokio::time::timeout(PATIENCE, updates.next()).await;
            assert!(update.is_ok_and(|update| update.is_some()), "{:?}", session.view(id));
        }
    }
}

/// The plans here need no helpers.
struct NoHelpers;

impl Helpers for NoHelpers {
    fn research<'a>(&'a self, _: &'a [String]) -> Pending<'a> {
        Box::pin(async { Err("nobody searches".to_owned()) })
    }

    fn invoke<'a>(&'a self, _: &'a str, _: &'a str) -> Pending<'a> {
        Box::pin(async { Err("nobody is invoked".to_owned()) })
    }
}
