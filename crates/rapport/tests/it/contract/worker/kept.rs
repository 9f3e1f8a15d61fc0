//! What happens to a workplace that its worker keeps outside of the project (WORK-18).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rapport::clock::Clock;
use rapport::engine::strays::{Sweeper, stray_patch, strays};
use rapport::stores::memory::Memory;
use rapport::stores::{Holder, Log, Store};
use rapport::workers::{StoredWorkplace, Worker, WorkerError, Workplace};
use rapport_core::{By, Created, Event, SessionId};
use rapport_door::WorkplaceNow;
use tempfile::TempDir;

use super::dummy::Copies;
use super::project;

/// Copies of projects, of which one is kept; notes what becomes of it.
struct Keeping {
    copies: Copies,
    place: StoredWorkplace,
    /// Whether it runs when one looks again.
    still_runs: bool,
    is_readable: bool,
    done: Mutex<Vec<&'static str>>,
}

impl Keeping {
    fn note(&self, what: &'static str) -> Result<(), WorkerError> {
        self.done.lock().unwrap().push(what);
        Ok(())
    }
}

impl Worker for Keeping {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        self.copies.open(session, created)
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        match self.is_readable {
            true => self.copies.find(session, created),
            false => Err(WorkerError::GitTooOld { found: "1".into() }),
        }
    }

    fn clear(&self, _: &SessionId, _: &Created) -> Result<(), WorkerError> {
        self.note("cleared")
    }

    fn now(&self, _: &SessionId, _: &Created) -> Result<Option<WorkplaceNow>, WorkerError> {
        Ok(Some(WorkplaceNow { is_running: self.still_runs, id: "place".into() }))
    }

    fn may_keep(&self, _: &std::path::Path) -> bool {
        true
    }

    fn kept(&self, _: &std::path::Path) -> Result<Vec<StoredWorkplace>, WorkerError> {
        Ok(vec![self.place.clone()])
    }

    fn stop(&self, _: &StoredWorkplace) -> Result<(), WorkerError> {
        self.note("stopped")
    }

    fn release(&self, _: &StoredWorkplace) -> Result<(), WorkerError> {
        self.note("released")
    }
}

/// A session with a place, and what the place is like.
#[derive(Clone, Copy)]
struct Case {
    is_running: bool,
    still_runs: bool,
    is_visited: bool,
    unused_for: Option<SignedDuration>,
    is_readable: bool,
    is_held: bool,
    is_discarded: bool,
}

/// The workplace is unused, and does not run.
const IDLE: Case = Case {
    is_running: false,
    still_runs: true,
    is_visited: false,
    unused_for: Some(SignedDuration::from_hours(24)),
    is_readable: true,
    is_held: false,
    is_discarded: false,
};
const EIGHT_DAYS: Option<SignedDuration> = Some(SignedDuration::from_hours(8 * 24));

/// A session with its workplace, and the sweeper of its project.
struct Staged {
    sweeper: Sweeper,
    worker: Arc<Keeping>,
    session: SessionId,
    held: Option<Box<dyn Log>>,
    _folders: [TempDir; 2],
}

async fn staged(case: Case) -> Staged {
    let (folder, now) = (tempfile::tempdir().unwrap(), "2026-11-17T12:00:00Z".parse::<Timestamp>().unwrap());
    let (project, created) = project("copies");
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let holder = Holder::this_process(None);
    let person = By::Person { channel: "terminal".into(), id: "anna".into() };
    let mut facts = vec![Event::Created(created.clone())];
    if case.is_discarded {
        facts.push(Event::Discarded { by: person, reason: None });
    }
    let (session, _, log) = store.create("paint", now, facts, &holder).await.unwrap();
    let held = case.is_held.then_some(log);
    let copies = Copies::new(folder.path());
    copies.open(&session, &created).unwrap().replace("work.txt", b"work").unwrap();
    let place = StoredWorkplace {
        worker: "copies",
        session: session.clone(),
        name: "place".into(),
        is_running: case.is_running,
        is_visited: case.is_visited,
        unused_since: case.unused_for.map(|time| now - time),
        removal: "rm place".into(),
    };
    let worker = Arc::new(Keeping {
        copies,
        place,
        still_runs: case.still_runs,
        is_readable: case.is_readable,
        done: Mutex::default(),
    });
    let sweeper = Sweeper {
        worker: worker.clone(),
        store,
        project: created.project.clone().into(),
        home: folder.path().join("home"),
        holder,
        clock: Clock::from_fn(move || now),
    };
    Staged { sweeper, worker, session, held, _folders: [folder, project] }
}

/// What was done with the place, and whether its work was stored.
async fn swept(case: Case) -> (Vec<&'static str>, bool) {
    let Staged { sweeper, worker, session, held, _folders } = staged(case).await;
    sweeper.sweep().await;
    drop(held);
    let stored = sweeper.store.attached(&session, "work.patch").await.unwrap();
    assert!(sweeper.store.holder(&session).await.unwrap().is_none(), "the session is free again");
    let done = worker.done.lock().unwrap().clone();
    (done, stored.is_some_and(|work| String::from_utf8(work).unwrap().contains("work.txt")))
}

#[tokio::test]
async fn work_is_stored_before_its_place_is_stopped_or_released() {
    assert_eq!(swept(IDLE).await, (vec![], false), "it may be needed soon");
    assert_eq!(swept(Case { is_running: true, ..IDLE }).await, (vec!["stopped"], true));
    assert_eq!(swept(Case { unused_for: EIGHT_DAYS, ..IDLE }).await, (vec!["released"], true));
    assert_eq!(swept(Case { is_discarded: true, ..IDLE }).await, (vec!["cleared"], false));
}

#[tokio::test]
async fn a_place_is_left_alone_while_it_is_used_or_its_work_cannot_be_stored() {
    let old = Case { unused_for: EIGHT_DAYS, ..IDLE };
    for case in [
        Case { unused_for: None, ..IDLE },
        Case { is_held: true, ..old },
        Case { is_held: true, is_running: true, ..IDLE },
        Case { is_visited: true, is_running: true, ..IDLE },
        Case { is_visited: true, is_discarded: true, ..IDLE },
        Case { is_readable: false, ..old },
        Case { is_readable: false, is_running: true, ..IDLE },
    ] {
        assert_eq!(swept(case).await, (vec![], false));
    }
}

/// Two processes listed a place that a killed host left running, and one of them has stopped it: the other does not
/// start it again to read what is stored.
#[tokio::test]
async fn a_place_that_was_stopped_since_it_was_listed_is_left_alone() {
    assert_eq!(swept(Case { is_running: true, still_runs: false, ..IDLE }).await, (vec![], false));
}

/// Of the processes that begin at the same time, one looks after the places of their project.
#[tokio::test]
async fn while_one_process_looks_after_places_no_other_does() {
    let staged = staged(Case { is_running: true, ..IDLE }).await;
    let other = std::fs::File::open(&staged.sweeper.project).unwrap();
    other.lock().unwrap();
    staged.sweeper.sweep().await;
    assert!(staged.worker.done.lock().unwrap().is_empty());
    drop(other);
    staged.sweeper.sweep().await;
    assert_eq!(*staged.worker.done.lock().unwrap(), vec!["stopped"]);
}

/// WORK-18: the periodic job looks once an hour, for as long as its process lives.
#[tokio::test(start_paused = true)]
async fn places_are_looked_after_every_hour() {
    let staged = staged(Case { unused_for: EIGHT_DAYS, ..IDLE }).await;
    let job = tokio::spawn(staged.sweeper.clone().always());
    // Half an hour after each time, so that it is over. While it looks, no time passes.
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    for times in 0..3 {
        assert_eq!(*staged.worker.done.lock().unwrap(), vec!["released"; times]);
        tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    }
    job.abort();
    let stored = staged.sweeper.store.attached(&staged.session, "work.patch").await.unwrap();
    assert!(stored.is_some(), "the work is stored first");
}

/// WORK-18: the work in a place whose session does not exist is stored as a patch before the place is stopped, where
/// `doctor` finds it.
#[tokio::test]
async fn work_18_the_work_of_no_session_is_stored_before_its_place_is_stopped() {
    for is_readable in [true, false] {
        let case = Case { is_running: true, is_readable, ..IDLE };
        let Staged { sweeper, worker, _folders, .. } = staged(case).await;
        let sweeper = Sweeper { store: Arc::new(Memory::new()), ..sweeper };
        sweeper.sweep().await;
        let patch = std::fs::read_to_string(stray_patch(&sweeper.home, &worker.place)).unwrap_or_default();
        assert_eq!(patch.contains("work.txt"), is_readable, "{patch}");
        let expected: &[&str] = if is_readable { &["stopped"] } else { &[] };
        assert_eq!(*worker.done.lock().unwrap(), expected, "what cannot be stored is not stopped");
    }
}

/// WORK-18: a place that runs although no process runs its session is told, and one in use is not.
#[tokio::test]
async fn work_18_a_place_that_runs_without_a_host_is_a_stray() {
    for (case, is_stray) in [
        (Case { is_running: true, ..IDLE }, true),
        (IDLE, false),
        (Case { is_running: true, is_visited: true, ..IDLE }, false),
        (Case { is_running: true, is_held: true, ..IDLE }, false),
    ] {
        let Staged { sweeper, worker, held, _folders, .. } = staged(case).await;
        let found = strays(worker.clone(), &*sweeper.store, &sweeper.project).await.unwrap();
        assert_eq!(found.without_host.contains(&worker.place), is_stray);
        assert!(found.without_session.is_empty());
        drop(held);
    }
}

/// A place whose session does not exist is a person's to remove; a store that cannot be read makes no place a stray.
#[tokio::test]
async fn only_the_places_of_sessions_that_do_not_exist_are_strays() {
    let folder = tempfile::tempdir().unwrap();
    let place = StoredWorkplace {
        worker: "copies",
        session: SessionId::new("20261117-gone"),
        name: "place".into(),
        is_running: true,
        is_visited: false,
        unused_since: None,
        removal: "rm place".into(),
    };
    let copies = Copies::new(folder.path());
    let done = Mutex::default();
    let worker =
        Arc::new(Keeping { copies, place: place.clone(), still_runs: true, is_readable: true, done });
    let found = strays(worker.clone(), &Memory::new(), folder.path()).await.unwrap();
    assert_eq!((found.without_session, found.without_host), (vec![place], vec![]));
    let sessions = folder.path().join("sessions");
    std::fs::write(&sessions, "not a folder").unwrap();
    let broken = rapport::stores::files::Files::new(sessions);
    assert!(strays(worker, &broken, folder.path()).await.is_err());
}
