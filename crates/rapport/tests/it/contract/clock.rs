//! Clocks that are changed while an agent waits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rapport::agents::{Agent, AgentsByName};
use rapport::clock::{self, Clock};
use rapport::engine::{Engine, Parts, Update};
use rapport::planners::Nobody;
use rapport::stores::Holder;
use rapport::stores::memory::Memory;
use rapport::workers::local::Local;
use rapport_core::{AgentDid, Ask, By, CallId, Created, Event, NewQuestion, Order, Terms};

use crate::support::scripted_agent::{Commands, Mouth, ScriptedAgent};

/// An agent that asks one thing, and waits.
fn asks() -> impl Agent {
    ScriptedAgent(|order: Order, mouth: Mouth, mut told: Commands| async move {
        let ask = Ask::Questions(vec![NewQuestion { text: "Which way?".into(), ..NewQuestion::default() }]);
        mouth.tell(AgentDid::Connect { conversation: order.conversation, model: None }).await;
        mouth.tell(AgentDid::Ask { call: CallId::new("call"), ask, parkable: true }).await;
        while told.recv().await.is_some() {}
    })
}

/// An engine with this store and clock, and the terms of a session whose agent waits for a second.
fn engine(store: Arc<Memory>, clock: Clock, folder: &Path) -> (Engine, Created) {
    let engine = Engine::start(Parts {
        store,
        agents: Arc::new(AgentsByName::only(Arc::new(asks()))),
        planner: Arc::new(Nobody),
        worker: Arc::new(Local),
        workshop: None,
        clock,
        holder: Holder::this_process(None),
        home: folder.join("home"),
        limits: Default::default(),
    });
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    let terms = Terms { hot: SignedDuration::from_secs(1), ..Terms::default() };
    let created = Created::new("go".into(), folder.display().to_string(), clock::new_conversation(), by);
    (engine, Created { terms, ..created })
}

/// Set back by an hour while an agent is hot, the clock keeps it no longer than its hot time.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_keeps_no_agent_hot() {
    let folder = tempfile::tempdir().unwrap();
    let back = Arc::new(AtomicI64::new(0));
    let set = back.clone();
    let wall = move || Timestamp::now() - SignedDuration::from_secs(set.load(Ordering::SeqCst));
    let (engine, created) = engine(Arc::new(Memory::new()), Clock::from_fn(wall), folder.path());
    let id = engine.gateway().create(created).await.unwrap();
    let mut follower = engine.gateway().follow(&id, 0).await.unwrap();
    let cooled = async {
        while let Some(update) = follower.next().await {
            let Update::Entry(entry) = update else { continue };
            for fact in entry.facts {
                match fact {
                    Event::Asked { .. } => back.store(3_600, Ordering::SeqCst),
                    Event::Cooled { .. } => return,
                    _ => {}
                }
            }
        }
        panic!("the session is followed no longer");
    };
    tokio::time::timeout(Duration::from_secs(60), cooled).await.expect("it stays hot for an hour");
}

/// The end of the hot time cannot be stored: the engine must not try that deadline over and over.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_a_session_that_cannot_be_stored_wakes_the_loop_once() {
    let folder = tempfile::tempdir().unwrap();
    let reads = Arc::new(AtomicI64::new(0));
    let counted = reads.clone();
    let wall = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Timestamp::now()
    };
    let store = Arc::new(Memory::new());
    let (engine, created) = engine(store.clone(), Clock::from_fn(wall), folder.path());
    let id = engine.gateway().create(created).await.unwrap();
    let mut follower = engine.gateway().follow(&id, 0).await.unwrap();
    let broken = async {
        while let Some(update) = follower.next().await {
            let Update::Entry(entry) = update else { continue };
            if entry.facts.iter().any(|fact| matches!(fact, Event::Asked { .. })) {
                store.fail_next_append();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), broken).await.expect("the session breaks");
    // Nothing is left to happen: whatever reads the clock from here on is the loop, woken by the same deadline again.
    let before = reads.load(Ordering::SeqCst);
    for _ in 0..500 {
        // The time passes for timers only, so that this takes none; a loop that needs no timer runs at each await.
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let woken = reads.load(Ordering::SeqCst) - before;
    assert!(woken < 20, "the loop read the clock {woken} times in half a second");
}
