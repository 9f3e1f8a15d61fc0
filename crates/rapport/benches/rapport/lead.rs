//! What the lead costs: how long it takes until a hot lead is told of a question, and how many answers in a second go
//! through the routing of many sessions, beside the same without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};
use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::agents::{Abilities, Agent, AgentContext, AgentsByName, Command, Controls, Report, RunId};
use rapport::clock::Clock;
use rapport::engine::{Engine, Follower, Gateway, Parts, Update};
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport::workers::local::Local;
use rapport_core::routing::{Class, Ground, Hop, Policy, Recipient, RoutingTerms};
use rapport_core::{
    Act, AgentDid, Aim, Ask, By, CallId, ConversationId, Created, Event, Leave, NewQuestion, Order,
    QuestionId, Reply, Session, SessionId, Terms, TurnId, TurnKind,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::scripted_agent::{Commands, Mouth, ScriptedAgent};
use crate::{Outcome, between, row};

/// Questions of the worker. The first few only warm the lead up.
const QUESTIONS: usize = 105;
const WARMING_UP: usize = 5;
/// Sessions that are answered.
const SESSIONS: usize = 1_000;
/// How often both ways of answering are measured, in turns.
const RUNS: usize = 3;
/// What hangs is to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn measure() -> Outcome {
    let runtime = tokio::runtime::Runtime::new()?;
    let told = runtime.block_on(runtime.spawn(told()))??;
    row("question in the log to the hot lead's stdin, p95", millis(told.at(95)), "target: under 5 ms");
    row("  median", millis(told.at(50)), "(one append and sync is on the way: the lead's message)");
    let (mut bare, mut routed) = (Vec::new(), Vec::new());
    // In turns, so that both meet the same machine.
    for _ in 0..RUNS {
        bare.push(runtime.block_on(runtime.spawn(answered(Way::Person)))??);
        routed.push(runtime.block_on(runtime.spawn(answered(Way::Lead)))??);
    }
    let (bare, routed) = (middle(bare), middle(routed));
    row(
        &format!("answers of a lead over {SESSIONS} sessions, with their grounds"),
        format!("{routed:.0}/s"),
        &format!("(of a person, without routing: {bare:.0}/s)"),
    );
    row("  as a share of that", format!("{:.2}", routed / bare), "target: over 0.8");
    Ok(())
}

/// Times, in order.
struct Times(Vec<Duration>);

impl Times {
    fn at(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((self.0.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn person() -> By {
    By::Person { channel: "terminal".into(), id: "anna".into() }
}

/// The lead of these measurements.
fn lead(project: &Path) -> Created {
    let conversation = ConversationId::new("7141c84c-85b1-41eb-89d8-000000000000");
    let terms = Terms { hot: SignedDuration::from_hours(1), ..Terms::default() };
    let created = Created::new("hello".into(), project.display().to_string(), conversation, person());
    Created { aim: Aim::Chat, is_lead: true, terms, ..created }
}

fn engine(store: Arc<Files>, agent: Arc<dyn Agent>, home: PathBuf) -> Engine {
    Engine::start(Parts {
        store,
        agents: Arc::new(AgentsByName::only(agent)),
        planner: Arc::new(rapport::planners::Nobody),
        worker: Arc::new(Local),
        workshop: None,
        clock: Clock::system(),
        holder: Holder::this_process(None),
        home,
        limits: Default::default(),
    })
}

/// Reads on until a fact like this.
async fn until(follower: &mut Follower, what: impl Fn(&Event) -> bool) -> Outcome {
    loop {
        let update = tokio::time::timeout(PATIENCE, follower.next()).await?;
        match update.ok_or("the session is over")? {
            Update::Entry(entry) if entry.facts.iter().any(&what) => return Ok(()),
            Update::Entry(_) | Update::Progress(_) | Update::Action(_) => {}
            Update::Lost(why) => return Err(why.into()),
        }
    }
}

/// The scripted CLI as the lead, a function as the worker.
struct Both<W> {
    lead: Claude,
    worker: W,
}

impl<W: Agent> Agent for Both<W> {
    fn abilities(&self) -> Abilities {
        self.lead.abilities()
    }

    fn start(
        &self,
        run: RunId,
        order: Order,
        context: AgentContext,
        reports: mpsc::Sender<Report>,
    ) -> Controls {
        match order.kind {
            TurnKind::Chat => self.lead.start(run, order, context, reports),
            _ => self.worker.start(run, order, context, reports),
        }
    }
}

/// How long it takes from the moment in which a question is in the log until the lead's process has the last byte of
/// its message.
async fn told() -> Outcome<Times> {
    // On the disk the project is on, not on a temporary file system that may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let app = folder.path().join("app");
    fs::create_dir_all(&app)?;
    let notes = folder.path().join("notes");
    let store = Arc::new(crate::sealed(&folder.path().join("sessions")));
    let (ask_next, next) = mpsc::unbounded_channel();
    let both = Both { lead: Claude::new(scripted_lead(folder.path(), &notes)?), worker: asks(next) };
    let engine = engine(store, Arc::new(both), folder.path().join("home"));
    let gateway = engine.gateway();
    let lead = gateway.create(lead(&app)).await?;
    let mut of_lead = gateway.follow(&lead, 0).await?;
    until(&mut of_lead, |fact| matches!(fact, Event::TurnEnded { .. })).await?;
    let routing = RoutingTerms { lead_time: SignedDuration::from_hours(10), ..RoutingTerms::default() };
    let terms = Terms { max_rounds: u32::MAX, questions: Policy::Assist, routing, ..Terms::default() };
    let project = app.display().to_string();
    let worker = gateway.create(Created { project, terms, lead: Some(lead), ..crate::created(1) }).await?;
    let mut of_worker = gateway.follow(&worker, 0).await?;
    let mut times = Vec::new();
    for number in 0..QUESTIONS {
        ask_next.send(())?;
        until(&mut of_worker, |fact| matches!(fact, Event::Asked { .. })).await?;
        let asked = since_epoch()?;
        // The lead has read it, and rests again.
        until(&mut of_lead, |fact| matches!(fact, Event::TurnEnded { .. })).await?;
        let came =
            between::told(&notes)?.get(number).copied().ok_or("nobody noted when the lead was told")?;
        if number >= WARMING_UP {
            times.push(came.saturating_sub(asked));
        }
        let reply = Reply::Words(vec!["Left".into()]);
        gateway.submit(&worker, person(), Act::Answer { question: None, reply }).await?;
        until(&mut of_worker, |fact| matches!(fact, Event::Taken { .. })).await?;
    }
    engine.stop().await;
    times.sort_unstable();
    Ok(Times(times))
}

fn since_epoch() -> Outcome<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

/// The scripted CLI that replies to every message, with somebody before it who notes when it is told of a question.
fn scripted_lead(folder: &Path, notes: &Path) -> Outcome<ClaudeConfig> {
    let rapport = env!("CARGO_BIN_EXE_rapport");
    let scenario = folder.join("lead.yaml");
    let replies: String = (0..=QUESTIONS).map(|_| "  - result: \"Hm.\"\n").collect();
    fs::write(&scenario, format!("version: 1\nname: lead\ninvocations:\n{replies}"))?;
    let mut config = ClaudeConfig::new(std::env::current_exe()?, rapport);
    let rehearse = ["rehearse".as_ref(), "--scenario".as_ref(), scenario.as_os_str()];
    config.leading_args = [between::ARGUMENT.as_ref(), notes.as_os_str(), rapport.as_ref()]
        .into_iter()
        .chain(rehearse)
        .map(Into::into)
        .collect();
    config.env = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("HOME".into(), folder.join("home").into()),
        ("RAPPORT_HOME".into(), folder.join("home/.rapport").into()),
    ];
    Ok(config)
}

/// A worker that asks whenever it is told to, and takes its answer.
fn asks(next: mpsc::UnboundedReceiver<()>) -> impl Agent {
    let next = Arc::new(tokio::sync::Mutex::new(next));
    ScriptedAgent(move |order: Order, mouth: Mouth, mut told: Commands| {
        let next = next.clone();
        async move {
            mouth.tell(AgentDid::Connect { conversation: order.conversation, model: None }).await;
            for number in 0.. {
                if next.lock().await.recv().await.is_none() {
                    break;
                }
                let call = CallId::new(format!("toolu_{number:024}"));
                // Another text each time, because the same one is for people.
                let text = format!("Which way at crossing number {number}?");
                let question = NewQuestion { text, free_text: true, ..NewQuestion::default() };
                let ask = Ask::Questions(vec![question]);
                mouth.tell(AgentDid::Ask { call: call.clone(), ask, parkable: true }).await;
                loop {
                    match told.recv().await {
                        Some(Command::Reply { call: replied, .. }) if replied == call => break,
                        Some(Command::Stop | Command::Kill) | None => return,
                        Some(_) => {}
                    }
                }
                mouth.tell(AgentDid::Take { call }).await;
            }
            mouth.tell(AgentDid::Leave(Leave::Stopped)).await;
        }
    })
}

/// Who answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A person, in sessions without a lead.
    Person,
    /// The lead of the sessions, with a ground that is looked up.
    Lead,
}

/// How many answers in a second are durable, over many sessions that wait.
async fn answered(way: Way) -> Outcome<f64> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = Arc::new(crate::sealed(&folder.path().join("sessions")));
    let (making, project) = (store.clone(), folder.path().to_owned());
    let (lead, ids) = tokio::task::spawn_blocking(move || waiting(&making, &project, way)).await??;
    let engine = engine(store, Arc::new(crate::idle_agent()), folder.path().join("home"));
    let gateway = engine.gateway();
    for id in &ids {
        gateway.adopt(id).await?;
    }
    let by = if way == Way::Lead { By::Lead { name: lead.to_string() } } else { person() };
    let began = std::time::Instant::now();
    let submitted: Vec<_> = ids.iter().map(|id| submit(&gateway, id, by.clone(), way)).collect();
    for answer in submitted {
        answer.await??;
    }
    let taken = began.elapsed();
    for id in [&ids[0], &ids[ids.len() - 1]] {
        let view = gateway.view(id).await?;
        let is_as_expected = view
            .answers
            .last()
            .is_some_and(|given| given.answer == "JWT" && given.because.is_some() == (way == Way::Lead));
        if !is_as_expected {
            return Err(format!("{id} was not answered as expected: {:?}", view.answers).into());
        }
    }
    engine.stop().await;
    Ok(ids.len() as f64 / taken.as_secs_f64())
}

fn submit(gateway: &Gateway, id: &SessionId, by: By, way: Way) -> JoinHandle<Outcome> {
    let (gateway, id, reply) = (gateway.clone(), id.clone(), Reply::Words(vec!["JWT".into()]));
    let (question, earlier) = (QuestionId::new("q3"), QuestionId::new("q1"));
    let act = match way {
        Way::Person => Act::Answer { question: Some(question), reply },
        Way::Lead => {
            let ground = Some(Ground::Answer { session: id.clone(), question: earlier });
            Act::Respond { question, reply, ground, because: None }
        }
    };
    tokio::spawn(async move { Ok(gateway.submit(&id, by, act).await?) })
}

/// A lead that rests, and sessions that wait for an answer; with it as their lead, if the lead answers.
fn waiting(store: &Files, project: &Path, way: Way) -> Outcome<(SessionId, Vec<SessionId>)> {
    let (at, holder) = (Timestamp::now(), Holder::this_process(None));
    let blocking = BlockingStore::new(store.clone());
    let (id, _, mut log) = blocking.create("hello", at, Session::begin(lead(project))?, &holder)?;
    log.append(at, vec![Event::TurnEnded { turn: TurnId(1), result: "Hello.".into() }])?;
    drop(log);
    let ids = (0..SESSIONS).map(|number| {
        let led = (way == Way::Lead).then(|| id.clone());
        let routing = RoutingTerms { lead_time: SignedDuration::from_hours(10), ..RoutingTerms::default() };
        let terms = Terms { questions: Policy::Auto, routing, ..Terms::default() };
        let created = Created { lead: led, terms, ..crate::created(number) };
        crate::parked_session_of(store, created, at, &routed(way))
    });
    Ok((id.clone(), ids.collect::<Outcome<Vec<_>>>()?))
}

/// What the log of a session with a lead says about its open question: the lead was told of it.
fn routed(way: Way) -> Vec<Event> {
    if way == Way::Person {
        return Vec::new();
    }
    let question = QuestionId::new("q3");
    let (to, class, why) = (Recipient::Lead, Class::Clarification, Hop::First);
    vec![Event::Routed { question: question.clone(), to, class, why }, Event::LeadTold { question }]
}
