//! From the CLI's question to its answer, and from an answer to the model's next request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use rapport::agents::claude::{Claude, ClaudeConfig, NAME};
use rapport::clock::{self, Clock};
use rapport::engine::{Engine, Follower, Gateway, Parts, Update};
use rapport::stores::memory::Memory;
use rapport::stores::{Holder, Store};
use rapport::workers::Worker;
use rapport::workers::local::Local;
use rapport_core::{Act, AgentCommand, By, Created, Event, Reply, SessionId, Terms};

use crate::stage::{self, ANSWER, Stage};
use crate::{Outcome, between, row};

/// Questions of one process. The first few only warm it up.
const QUESTIONS: usize = 106;
const WARMING_UP: usize = 6;
/// Questions that are parked; each takes a start of the CLI.
const PARKED: usize = 5;
/// What hangs is to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn measure(cli: &Path) -> Outcome {
    let runtime = tokio::runtime::Runtime::new()?;
    // On the runtime's own threads, where who answers is as near to the engine as can be.
    let on_disk = runtime.block_on(runtime.spawn(on_disk(cli.to_owned())))??;
    let in_memory = runtime.block_on(runtime.spawn(in_memory(cli.to_owned())))??;
    let parked = runtime.block_on(runtime.spawn(parked(cli.to_owned())))??;
    let (ours, both) = (median(on_disk.answered), median(on_disk.bare));
    row(
        "question of the CLI to our answer, given the moment it is seen",
        millis(ours),
        &format!("(bare append and sync: {})", millis(both / 2)),
    );
    row("  times one bare append and sync", ratio(ours, both / 2), "(2 is the least: question, then answer)");
    row("  times the two that are on the way", ratio(ours, both), "(1 is all the disk's)");
    row("  without a disk", millis(median(in_memory.answered)), "target: under 0.2 ms");
    let known = median(parked.answered);
    row("  where the answer is in the log before it asks (parked)", millis(known), "");
    row("  times one bare append and sync", ratio(known, both / 2), "target: under 2");
    row("answer to the model's next request, hot", millis(median(on_disk.went_on)), "(most of it the CLI's)");
    row("  parked", millis(median(parked.went_on)), "(with a start of the CLI)");
    Ok(())
}

/// What was measured, question by question.
#[derive(Default)]
struct Times {
    /// From question to answer.
    answered: Vec<Duration>,
    /// From the answer to the model's next request.
    went_on: Vec<Duration>,
    /// An append and sync as long as a question's, and one as long as an answer's, and nothing else.
    bare: Vec<Duration>,
}

/// Every other question is kept back until the disk itself was measured: at the same moment, beside the same CLI, with
/// lines as long as those in the log.
async fn on_disk(cli: PathBuf) -> Outcome<Times> {
    let stage = Stage::new(&cli, QUESTIONS + 1)?;
    // On the disk the project is on, not on a temporary file system that may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = Arc::new(crate::sealed(&folder.path().join("sessions")));
    let mut talk =
        Talk::begin(&stage, stage.watched()?, store.clone(), SignedDuration::from_hours(1)).await?;
    let mut times = Times::default();
    for n in 0..QUESTIONS {
        talk.until(|fact| matches!(fact, Event::Asked { .. })).await?;
        let is_kept_back = n % 2 == 1;
        if !is_kept_back && n > 0 {
            let [asked, answered] = lengths(&crate::log_of(&store, &talk.id))?;
            between::keep_back(&stage.notes(), &folder.path().join("bare"), asked, answered)?;
        }
        let went_on = talk.answer().await?;
        if n >= WARMING_UP && is_kept_back {
            times.bare.push(noted(&stage, between::BARE, n)?);
        } else if n >= WARMING_UP {
            times.went_on.push(went_on);
            times.answered.push(noted(&stage, between::WAITED, n)?);
        }
    }
    talk.end().await;
    Ok(times)
}

async fn in_memory(cli: PathBuf) -> Outcome<Times> {
    let stage = Stage::new(&cli, QUESTIONS + 1)?;
    let store = Arc::new(Memory::new());
    let mut talk = Talk::begin(&stage, stage.watched()?, store, SignedDuration::from_hours(1)).await?;
    let mut times = Times::default();
    for n in 0..QUESTIONS {
        talk.until(|fact| matches!(fact, Event::Asked { .. })).await?;
        talk.answer().await?;
        if n >= WARMING_UP {
            times.answered.push(noted(&stage, between::WAITED, n)?);
        }
    }
    talk.end().await;
    Ok(times)
}

/// A question that was parked is asked again when its answer is in the log already.
async fn parked(cli: PathBuf) -> Outcome<Times> {
    let stage = Stage::new(&cli, PARKED + 1)?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = Arc::new(crate::sealed(&folder.path().join("sessions")));
    let mut talk = Talk::begin(&stage, stage.watched()?, store, SignedDuration::ZERO).await?;
    let mut times = Times::default();
    for n in 0..PARKED {
        talk.until(|fact| matches!(fact, Event::Parked { .. })).await?;
        times.went_on.push(talk.answer().await?);
        times.answered.push(noted_again(&stage, between::WAITED, n, 1)?);
    }
    talk.end().await;
    Ok(times)
}

/// What was noted for question number `n`.
fn noted(stage: &Stage, what: &str, n: usize) -> Outcome<Duration> {
    noted_again(stage, what, n, 0)
}

/// What was noted when it asked again, after it had been put away so often.
fn noted_again(stage: &Stage, what: &str, n: usize, times: usize) -> Outcome<Duration> {
    let call = stage::call(n);
    let noted = between::read(&stage.notes(), what, &call)?;
    noted.get(times).copied().ok_or_else(|| format!("nobody noted how long {call} {what}").into())
}

/// The lengths of the last question and the last answer in a log, as lines.
fn lengths(log: &Path) -> Outcome<[usize; 2]> {
    let log = std::fs::read_to_string(log)?;
    let last = |fact: &str| log.lines().rfind(|line| line.contains(fact)).map(|line| line.len() + 1);
    let lengths = last(r#"{"asked":"#).zip(last(r#"{"answered":"#));
    let (asked, answered) = lengths.ok_or("a log without question and answer")?;
    Ok([asked, answered])
}

/// Where the agent of a session works.
pub(crate) struct WorksAt {
    /// The name of the kind.
    pub(crate) kind: &'static str,
    pub(crate) worker: Arc<dyn Worker>,
}

impl Default for WorksAt {
    fn default() -> Self {
        Self { kind: "local", worker: Arc::new(Local) }
    }
}

/// How long it takes from an answer to the model's next request, hot, in such a place: so many questions, after a few that only
/// warm it up.
pub(crate) async fn went_on(cli: PathBuf, place: WorksAt, questions: usize) -> Outcome<Duration> {
    let stage = Stage::new(&cli, WARMING_UP + questions + 1)?;
    stage.make_repository()?;
    let (store, config) = (Arc::new(Memory::new()), stage.config());
    let mut talk = Talk::begin_at(place, &stage, config, store, SignedDuration::from_hours(1)).await?;
    let mut times = Vec::new();
    for n in 0..WARMING_UP + questions {
        talk.until(|fact| matches!(fact, Event::Asked { .. })).await?;
        let went_on = talk.answer().await?;
        if n >= WARMING_UP {
            times.push(went_on);
        }
    }
    talk.end().await;
    Ok(median(times))
}

/// A session whose agent asks and asks, and somebody who follows it and answers.
struct Talk<'a> {
    stage: &'a Stage,
    engine: Engine,
    gateway: Gateway,
    id: SessionId,
    follower: Follower,
}

impl<'a> Talk<'a> {
    async fn begin(
        stage: &'a Stage,
        config: ClaudeConfig,
        store: Arc<dyn Store>,
        hot: SignedDuration,
    ) -> Outcome<Self> {
        Self::begin_at(WorksAt::default(), stage, config, store, hot).await
    }

    async fn begin_at(
        place: WorksAt,
        stage: &'a Stage,
        config: ClaudeConfig,
        store: Arc<dyn Store>,
        hot: SignedDuration,
    ) -> Outcome<Self> {
        let command = vec![config.program.to_string_lossy().into_owned()];
        let engine = Engine::start(Parts {
            store,
            agents: Arc::new(rapport::agents::AgentsByName::only(Arc::new(Claude::new(config)))),
            planner: Arc::new(rapport::planners::Nobody),
            worker: place.worker,
            workshop: None,
            clock: Clock::system(),
            holder: Holder::this_process(None),
            home: std::env::temp_dir().join("rapport-bench-home"),
            limits: Default::default(),
        });
        let gateway = engine.gateway();
        let created = Created {
            project: stage.app().display().to_string(),
            conversation: clock::new_conversation(),
            worker: place.kind.into(),
            agent: Some(AgentCommand { name: NAME.into(), command }),
            terms: Terms { max_rounds: u32::MAX, hot, ..Terms::default() },
            ..crate::created(0)
        };
        let id = gateway.create(created).await?;
        let follower = gateway.follow(&id, 0).await?;
        Ok(Self { stage, engine, gateway, id, follower })
    }

    /// Reads on until a fact like this.
    async fn until(&mut self, what: impl Fn(&Event) -> bool) -> Outcome {
        loop {
            let update = tokio::time::timeout(PATIENCE, self.follower.next()).await?;
            match update.ok_or("the session is over")? {
                Update::Entry(entry) if entry.facts.iter().any(&what) => return Ok(()),
                Update::Entry(_) | Update::Progress(_) | Update::Action(_) => {}
                Update::Lost(why) => return Err(why.into()),
            }
        }
    }

    /// Answers, and tells how long it took until the model was asked to go on.
    async fn answer(&self) -> Outcome<Duration> {
        let requests = self.stage.model.arrivals().len();
        let by = By::Person { channel: "terminal".into(), id: "anna".into() };
        let reply = Reply::Words(vec![ANSWER.into()]);
        let began = Instant::now();
        self.gateway.submit(&self.id, by, Act::Answer { question: None, reply }).await?;
        loop {
            if let Some(came) = self.stage.model.arrivals().get(requests) {
                return Ok(came.duration_since(began));
            }
            if began.elapsed() > PATIENCE {
                return Err("the model was not asked to go on".into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn end(self) {
        self.engine.stop().await;
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn ratio(ours: Duration, theirs: Duration) -> String {
    format!("{:.2}", ours.as_secs_f64() / theirs.as_secs_f64())
}
