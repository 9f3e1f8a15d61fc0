//! Several hosts: acts reach the holder from any of them, and only with a known key.

use std::sync::Arc;
use std::time::Duration;

use rapport::engine::socket::person_here;
use rapport::engine::{DoorError, ProjectSessions, Reached, Sessions as _};
use rapport::seals::Seal;
use rapport::stores::nats::Nats;
use rapport::stores::{Store, StoreError};
use rapport_core::{Event, Status};

use super::{TestHost, holder, noon, said, texts};
use crate::contract::door::{Process, cancel, task};
use crate::support::nats;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process of a host, which takes acts from other machines.
struct RunningHost {
    process: Process,
    _receiving: Option<Box<dyn Send>>,
}

impl RunningHost {
    async fn start(host: &TestHost) -> Self {
        let process = Process::start(host.store());
        let receiving = host.store.receive(Arc::new(process.engine.gateway())).await.unwrap();
        Self { process, _receiving: receiving }
    }

    fn sessions(&self) -> &ProjectSessions {
        &self.process.sessions
    }
}

/// An act on one host reaches the session that another host runs, and is told there once.
#[tokio::test]
async fn a_session_of_another_host_is_answered_from_here() {
    let Some(servers) = nats::single() else { return };
    let desk = TestHost::new(servers, "reach").await;
    let there = RunningHost::start(&desk).await;
    let id = there.sessions().create(task("paint"), None).await.unwrap();
    let laptop = desk.with_key_of(servers, "reach").await;
    let here = RunningHost::start(&laptop).await;
    assert_eq!(here.sessions().list().await.unwrap(), std::slice::from_ref(&id));
    let named = here.sessions().holder(&id).await.unwrap().unwrap();
    assert!(named.host.is_some(), "it is on another machine: {named:?}");
    let (by, act) = (person_here(), cancel());
    let acting = here.sessions().act(&id, &by, &act);
    let reached = tokio::time::timeout(PATIENCE, acting).await.unwrap().unwrap();
    assert_eq!(reached, Reached::Process);
    assert_eq!(here.sessions().view(&id).await.unwrap().status, Status::Cancelled);
    let facts = there.sessions().entries(&id, 0).await.unwrap().into_iter().flat_map(|entry| entry.facts);
    assert_eq!(facts.filter(|fact| matches!(fact, Event::Cancelled { .. })).count(), 1);
    let hosts = laptop.store.hosts().await.unwrap().unwrap();
    let holding: Vec<_> = hosts.iter().filter(|host| host.sessions == [id.clone()]).collect();
    assert_eq!(holding.len(), 1, "{hosts:?}");
    assert!(!holding[0].is_here);
    here.process.stop().await;
    there.process.stop().await;
}

/// A session works in the directory of its host. Another host does not run it; what is answered there waits in the
/// log.
#[tokio::test]
async fn a_session_of_a_host_that_is_gone_waits_for_it() {
    let Some(servers) = nats::single() else { return };
    let desk = TestHost::new(servers, "waits").await;
    let there = RunningHost::start(&desk).await;
    let id = there.sessions().create(task("paint"), None).await.unwrap();
    there.process.stop().await;
    assert_eq!(desk.store.holder(&id).await.unwrap(), None);
    let laptop = desk.with_key_of(servers, "waits").await;
    let here = RunningHost::start(&laptop).await;
    let refused = here.sessions().resume(&id).await.unwrap_err();
    let named =
        desk.folder.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.').to_lowercase();
    assert_eq!(refused.to_string(), format!("session {id} works on {named}, and waits for it"));
    let reached = here.sessions().act(&id, &person_here(), &cancel()).await.unwrap();
    assert_eq!(reached, Reached::Log);
    assert_eq!(laptop.store.holder(&id).await.unwrap(), None);
    assert_eq!(here.sessions().view(&id).await.unwrap().status, Status::Cancelled);
    here.process.stop().await;
}

/// A host whose key nobody knows reads nothing as facts, and is refused when it acts.
#[tokio::test]
async fn a_host_with_an_unknown_key_is_refused() {
    let Some(servers) = nats::single() else { return };
    let desk = TestHost::new(servers, "unknown").await;
    let there = RunningHost::start(&desk).await;
    let id = there.sessions().create(task("paint"), None).await.unwrap();
    let stranger = TestHost::new(servers, "unknown").await;
    let (own, ..) = stranger.store.create("own", noon(), said("a"), &holder(1)).await.unwrap();
    let refused = stranger.store.counted(&id, 0).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NotOurs { seal: Seal::Unknown, .. }), "{refused}");
    let refused = desk.store.counted(&own, 0).await.unwrap_err();
    assert!(matches!(&refused, StoreError::NotOurs { seal: Seal::Unknown, .. }), "{refused}");
    let here = RunningHost::start(&stranger).await;
    let refused = here.sessions().act(&id, &person_here(), &cancel()).await.unwrap_err();
    assert!(matches!(&refused, DoorError::Forbidden(_)), "{refused}");
    assert_ne!(there.sessions().view(&id).await.unwrap().status, Status::Cancelled);
    here.process.stop().await;
    there.process.stop().await;
}

/// A team mate whose public key is known writes facts that count, and acts.
#[tokio::test]
async fn a_team_mate_with_a_known_key_is_trusted() {
    let Some(servers) = nats::single() else { return };
    let desk = TestHost::new(servers, "team").await;
    let mate = TestHost::new(servers, "team").await;
    let (id, ..) = desk.store.create("mine", noon(), said("a"), &holder(1)).await.unwrap();
    let (theirs, _, log) = mate.store.create("theirs", noon(), said("b"), &holder(1)).await.unwrap();
    drop(log);
    let known = desk.folder.path().join("home/keys/known");
    std::fs::create_dir_all(&known).unwrap();
    std::fs::copy(mate.folder.path().join("home/keys/own.pub"), known.join("ann.pub")).unwrap();
    // Keys are read once, so this is another process of the same host.
    let again = Nats::opened(servers.site(desk.folder.path(), "team")).await.unwrap();
    let (entries, seal) = again.sealed(&theirs, 0).await.unwrap();
    assert_eq!((texts(&entries), seal), (vec!["b".to_owned()], Seal::By("ann".into())));
    let (_, mut log) = again.hold(&theirs, &holder(2)).await.unwrap();
    log.append(noon(), said("c")).await.unwrap();
    assert!(matches!(mate.store.counted(&id, 0).await, Err(StoreError::NotOurs { .. })));
}
