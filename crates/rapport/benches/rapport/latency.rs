//! From a question to its answer, both durable, without any CLI: what the engine, the store and the socket take beside the disk.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rapport::agents::{Agent, AgentsByName, Command};
use rapport::clock::Clock;
use rapport::engine::socket::{self, Sent, Socket};
use rapport::engine::{Engine, Parts, Update};
use rapport::stores::Holder;
use rapport::workers::local::Local;
use rapport_core::{
    Act, AgentDid, Ask, By, CallId, Choice, Created, Event, Leave, NewQuestion, Order, Reply, SessionId,
    Terms,
};
use tokio::sync::mpsc;

use crate::support::scripted_agent::{Commands, Mouth, ScriptedAgent};
use crate::{Outcome, row};

/// Questions of each kind. The first few only warm it up.
const QUESTIONS: usize = 220;
const WARMING_UP: usize = 20;

pub(crate) fn measure() -> Outcome {
    // On the disk the project is on, not on a temporary file system that may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let before = bare(&folder.path().join("bare"))?;
    // On a thread of the runtime, as the channels of `rapport serve` are.
    let timed = |name: &str, way| {
        let asked = asked(folder.path().join(name), way);
        runtime.block_on(async { tokio::spawn(asked).await })
    };
    let in_process = timed("one", Way::InProcess)??;
    let by_socket = timed("two", Way::Socket)??;
    let after = bare(&folder.path().join("bare"))?;
    let bare = (before + after) / 2;
    let times = |time: Duration| format!("{:.2}", time.as_secs_f64() / bare.as_secs_f64());
    let millis = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let beside = format!("(bare append and sync: {})", millis(bare));
    row("question to its answer, both durable, in process", millis(in_process), &beside);
    row("  times one bare append and sync", times(in_process), "target: under 3 (2 is the least)");
    row("  answered through the socket", millis(by_socket), "target: under 1 ms");
    row("  times one bare append and sync", times(by_socket), "");
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    InProcess,
    Socket,
}

/// How long one append and sync takes, of a line about as long as an entry.
fn bare(path: &Path) -> Outcome<Duration> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut times = Vec::new();
    for _ in 0..QUESTIONS {
        let began = Instant::now();
        file.write_all(&[b'x'; 600])?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    Ok(median(times))
}

/// How long a question waits for its answer, where that is given as soon as the question is seen.
async fn asked(folder: PathBuf, way: Way) -> Outcome<Duration> {
    std::fs::create_dir_all(&folder)?;
    let (go_on, next) = mpsc::unbounded_channel();
    let times = Arc::<Mutex<Vec<Duration>>>::default();
    let agent = asks(times.clone(), next);
    let socket = Socket::bind(&folder.join("run"))?;
    let address = socket.address();
    let engine = Engine::start(Parts {
        store: Arc::new(crate::sealed(&folder.join("sessions"))),
        agents: Arc::new(AgentsByName::only(Arc::new(agent))),
        planner: Arc::new(rapport::planners::Nobody),
        worker: Arc::new(Local),
        workshop: None,
        clock: Clock::system(),
        holder: Holder::this_process(Some(address.clone())),
        home: folder.join("home"),
        limits: Default::default(),
    });
    let (gateway, serving) = (engine.gateway(), socket.serve(engine.gateway(), None));
    let terms = Terms { max_rounds: u32::MAX, ..Terms::default() };
    let created = Created { project: folder.display().to_string(), terms, ..crate::created(0) };
    let id = gateway.create(created).await?;
    let mut follower = gateway.follow(&id, 0).await?;
    let mut taken = 0;
    while taken < QUESTIONS {
        let Some(Update::Entry(entry)) = follower.next().await else { continue };
        for fact in entry.facts {
            match fact {
                Event::Asked { .. } => {
                    let (gateway, address, id) = (gateway.clone(), address.clone(), id.clone());
                    tokio::spawn(async move { answer(way, &gateway, &address, &id).await });
                }
                Event::Taken { .. } => {
                    taken += 1;
                    go_on.send(())?;
                }
                _ => {}
            }
        }
    }
    serving.stop().await;
    engine.stop().await;
    let times = times.lock().unwrap_or_else(PoisonError::into_inner).split_off(WARMING_UP);
    Ok(median(times))
}

async fn answer(way: Way, gateway: &rapport::engine::Gateway, address: &str, id: &SessionId) -> Outcome {
    let act = Act::Answer { question: None, reply: Reply::Words(vec!["JWT".into()]) };
    if way == Way::InProcess {
        let by = By::Person { channel: "terminal".into(), id: "anna".into() };
        return Ok(gateway.submit(id, by, act).await?);
    }
    match socket::send(address, id, &act).await {
        Sent::Done => Ok(()),
        other => Err(format!("the answer was not taken: {other:?}").into()),
    }
}

/// An agent that asks, and asks again once its answer is known to be taken.
fn asks(times: Arc<Mutex<Vec<Duration>>>, next: mpsc::UnboundedReceiver<()>) -> impl Agent {
    let next = Mutex::new(Some(next));
    ScriptedAgent(move |order: Order, mouth: Mouth, told: Commands| {
        let next = next.lock().unwrap_or_else(PoisonError::into_inner).take();
        let times = times.clone();
        async move {
            mouth.tell(AgentDid::Connect { conversation: order.conversation, model: None }).await;
            if let Some(next) = next {
                ask_all(&mouth, next, told, &times).await;
            }
            mouth.tell(AgentDid::Leave(Leave::Stopped)).await;
        }
    })
}

async fn ask_all(
    mouth: &Mouth,
    mut next: mpsc::UnboundedReceiver<()>,
    mut told: Commands,
    times: &Mutex<Vec<Duration>>,
) {
    for n in 0..QUESTIONS {
        let call = CallId::new(format!("toolu_{n:024}"));
        let began = Instant::now();
        mouth
            .tell(AgentDid::Ask { call: call.clone(), ask: Ask::Questions(vec![question()]), parkable: true })
            .await;
        loop {
            match told.recv().await {
                Some(Command::Reply { call: replied, .. }) if replied == call => break,
                Some(Command::Stop | Command::Kill) | None => return,
                Some(_) => {}
            }
        }
        times.lock().unwrap_or_else(PoisonError::into_inner).push(began.elapsed());
        mouth.tell(AgentDid::Take { call }).await;
        if next.recv().await.is_none() {
            return;
        }
    }
    while told.recv().await.is_some_and(|command| command != Command::Stop) {}
}

fn question() -> NewQuestion {
    let option = |label: &str| Choice {
        label: label.into(),
        value: label.into(),
        description: Some("What choosing this one would mean for the project".into()),
        preview: None,
        recommended: false,
    };
    NewQuestion {
        text: "Which way should it go?".into(),
        options: ["JWT", "Session"].map(option).into(),
        ..NewQuestion::default()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
