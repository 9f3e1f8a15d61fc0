//! What Rapport costs, each figure beside what the machine gives without it, in the same run.

mod asking;
mod between;
mod bots;
mod contained;
mod exploring;
mod files;
mod growth;
mod latency;
mod lead;
mod serving;
mod stage;
mod telegram;
mod waiting;
mod web;
mod workers;

/// What the tests stand on, as far as it serves here.
#[path = "../../tests/it/support"]
#[expect(dead_code, clippy::unwrap_used, reason = "it is there for the tests")]
mod support {
    pub(crate) mod browser;
    pub(crate) mod crowd;
    pub(crate) mod model;
    pub(crate) mod needs;
    pub(crate) mod rounds_api;
    pub(crate) mod scripted_agent;
    pub(crate) mod serving;
    pub(crate) mod telegram;
    pub(crate) mod web;
}

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::resource::{UsageWho, getrusage};
use rapport::agents::claude::wire;
use rapport::agents::{self, Agent};
use rapport::clock::Clock;
use rapport::engine::{Engine, Parts};
use rapport::seals::Seals;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport::stores::{Holder, Store};
use rapport::workers::local::Local;
use rapport_core::{
    Act, AgentDid, Asker, By, CallId, Choice, Created, Event, Leave, Order, Purpose, Question, QuestionId,
    Reply, RoundId, Session, SessionId, ToolUse, TurnId,
};

use support::scripted_agent::{Commands, Mouth, ScriptedAgent};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures one part and prints its rows.
type Measure = fn() -> Outcome;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.get(1..).unwrap_or_default() {
        ["--replay-child", sessions] => replay_child(Path::new(sessions)),
        [contained::ARGUMENT, rest @ ..] => contained::run(rest),
        [waiting::ARGUMENT, sessions] => waiting::parked_child(sessions.into()),
        [between::ARGUMENT, notes, program, rest @ ..] => between::run(Path::new(notes), program, rest),
        wanted => everything(wanted),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures what is named, or everything.
fn everything(wanted: &[&str]) -> Outcome {
    let parts: [(&str, Measure); 16] = [
        ("start-up", start_up),
        ("replay", replay),
        ("growth", growth::measure),
        ("answers", answers),
        ("latency", latency::measure),
        ("parsing", parsing),
        ("asking", || with_cli(asking::measure)),
        ("waiting", || with_cli(waiting::measure)),
        ("serving", serving::measure),
        ("telegram", telegram::measure),
        ("web", || with_browser(web::measure)),
        ("bots", bots::measure),
        ("files", files::measure),
        ("exploring", exploring::measure),
        ("lead", lead::measure),
        ("workers", workers::measure),
    ];
    // Cargo adds an argument of its own.
    let wanted: Vec<_> = wanted.iter().filter(|name| **name != "--bench").collect();
    if let Some(name) = wanted.iter().find(|name| !parts.iter().any(|(part, _)| part == **name)) {
        let known = parts.map(|(part, _)| part).join(", ");
        return Err(format!("there is no {name}; there are {known}").into());
    }
    for (part, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|name| **name == part) {
            measure()?;
        }
    }
    Ok(())
}

/// Measures with the real CLI, or says why not.
fn with_cli(measure: fn(&Path) -> Outcome) -> Outcome {
    match stage::cli() {
        Ok(cli) => measure(&cli),
        Err(why) => {
            println!("  not measured, without a Claude Code CLI: {why}");
            Ok(())
        }
    }
}

/// Measures with a browser, or says why not.
fn with_browser(measure: Measure) -> Outcome {
    if std::env::var_os("RAPPORT_TEST_AXE").is_none() {
        println!("  not measured, without a browser: `cargo xtask bench` finds one, where it is installed");
        return Ok(());
    }
    measure()
}

fn row(what: &str, figure: String, target: &str) {
    println!("{what:<58} {figure:>22}   {target}");
}

// --- start-up ---

fn start_up() -> Outcome {
    let empty = tempfile::tempdir()?;
    let rapport = env!("CARGO_BIN_EXE_rapport");
    let ours = cpu_of(40, || {
        let mut command = Command::new(rapport);
        command.arg("status").current_dir(empty.path()).env("RAPPORT_HOME", empty.path().join("home"));
        command
    })?;
    row("start-up of `rapport status`, CPU", format!("{:.2} ms", ours * 1e3), "target: under 10 ms");
    match cpu_of(10, || {
        let mut command = Command::new("node");
        command.args(["-e", "0"]);
        command
    }) {
        Ok(node) => {
            row("  as a share of `node -e 0`", format!("{:.3}", ours / node), "(node: lower is better)")
        }
        Err(error) => println!("  node is not here to compare with: {error}"),
    }
    Ok(())
}

/// CPU seconds of one run, on average.
fn cpu_of(times: u32, command: impl Fn() -> Command) -> Outcome<f64> {
    let before = children_cpu()?;
    for _ in 0..times {
        let status = command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("it ended with {status}").into());
        }
    }
    Ok((children_cpu()? - before).as_secs_f64() / f64::from(times))
}

fn children_cpu() -> Outcome<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = |t: nix::sys::time::TimeVal| Duration::new(t.tv_sec() as u64, t.tv_usec() as u32 * 1000);
    Ok(time(usage.user_time()) + time(usage.system_time()))
}

// --- replay ---

const PARKED: usize = 10_000;

/// Sessions in this directory, as a person has them: with a home beside it, and every entry signed.
fn sealed(sessions: &Path) -> Files {
    let folder = sessions.parent().unwrap_or(sessions);
    Files::new(sessions.to_owned()).sealed_by(Seals::new(folder.join("home"), folder.to_owned()))
}

fn replay() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = sealed(&folder.path().join("sessions"));
    for n in 0..PARKED {
        parked_session(&store, n)?;
    }
    let size: u64 = BlockingStore::new(store.clone())
        .list()?
        .iter()
        .map(|id| std::fs::metadata(log_of(&store, id)).map_or(0, |m| m.len()))
        .sum();
    let began = Instant::now();
    let output = Command::new(std::env::current_exe()?)
        .arg("--replay-child")
        .arg(folder.path().join("sessions"))
        .output()?;
    let wall = began.elapsed();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let resident = String::from_utf8(output.stdout)?.trim().parse::<f64>()?;
    row(
        &format!("replay of {PARKED} parked sessions ({:.0} MB of logs)", size as f64 / 1e6),
        format!("{:.2} s", wall.as_secs_f64()),
        "target: under 1 s",
    );
    row("  resident, all of them held", format!("{resident:.1} MB"), "target: under 64 MB");
    Ok(())
}

fn log_of(store: &Files, id: &SessionId) -> PathBuf {
    Path::new(&store.whereabouts(id)).join("log.jsonl")
}

fn replay_child(sessions: &Path) -> Outcome {
    let store = BlockingStore::new(sealed(sessions));
    let mut held = Vec::with_capacity(PARKED);
    for id in store.list()? {
        held.push(Session::replay(&store.read(&id, 0)?).ok_or("a session without a beginning")?);
    }
    assert_eq!(black_box(&held).len(), PARKED);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kilobytes: f64 = peak.trim().trim_end_matches("kB").trim().parse()?;
    println!("{}", kilobytes / 1e3);
    Ok(())
}

/// A session that has been through a round of questions and waits for the answer to another.
fn parked_session(store: &Files, n: usize) -> Outcome<SessionId> {
    parked_session_of(store, created(n), "2026-11-15T12:00:00Z".parse()?, &[])
}

/// The same for a session that began so, with these facts about its last question.
fn parked_session_of(store: &Files, created: Created, at: Timestamp, last: &[Event]) -> Outcome<SessionId> {
    let holder = Holder::this_process(None);
    let name = created.task.split(':').next().unwrap_or_default().to_owned();
    let conversation = created.conversation.clone();
    let facts = Session::begin(created)?;
    let store = BlockingStore::new(store.clone());
    let (id, _, mut log) = store.create(&name, at, facts, &holder)?;
    let turn = TurnId(1);
    let call = |n: u32| CallId::new(format!("toolu_{n:024}"));
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    let answered = |question: &str, value: &str| Event::Answered {
        question: QuestionId::new(question),
        answer: rapport_core::Answer { values: vec![value.into()], text: None },
        by: by.clone(),
    };
    let steps = [
        vec![Event::Connected { turn, conversation, model: Some("a-model".into()) }],
        vec![Event::Said { turn, text: "I need to know a few things first.".into() }],
        vec![Event::Used { turn, tool: "Read".into(), what: "src/main.rs".into(), kind: ToolUse::Reads }],
        vec![asked(1, call(1), &["q1", "q2"])],
        vec![answered("q1", "JWT")],
        vec![answered("q2", "Session")],
        vec![Event::Taken { call: call(1) }],
        vec![Event::Said { turn, text: "Thank you. One more thing.".into() }],
        [asked(2, call(2), &["q3"])].into_iter().chain(last.iter().cloned()).collect(),
        vec![Event::Cooled { turn, call: call(2) }],
        vec![Event::Parked { turn, call: call(2) }],
    ];
    for facts in steps {
        log.append(at, facts)?;
    }
    Ok(id)
}

fn asked(round: u32, call: CallId, ids: &[&str]) -> Event {
    let question = |id: &&str| Question {
        id: QuestionId::new(*id),
        text: format!("Which way should {id} go?"),
        header: Some("Way".into()),
        options: ["JWT", "Session", "Neither"]
            .map(|label| Choice {
                label: label.into(),
                value: label.into(),
                description: Some("What choosing this one would mean for the project".into()),
                preview: None,
                recommended: false,
            })
            .into(),
        multi: false,
        free_text: true,
        purpose: Purpose::Clarify,
    };
    Event::Asked {
        round: RoundId(round),
        asker: Asker::Agent { turn: TurnId(1), call, parkable: true },
        questions: ids.iter().map(question).collect(),
    }
}

fn created(n: usize) -> Created {
    Created::new(
        format!("task number {n}: add user authentication to the application, with tests"),
        "/home/anna/app".into(),
        rapport_core::ConversationId::new(format!("7141c84c-85b1-41eb-89d8-{n:012}")),
        By::Person { channel: "terminal".into(), id: "anna".into() },
    )
}

// --- durable answers ---

const ANSWERING: usize = 1_000;

/// An agent that does nothing but leave when it is told to: what is measured is the engine and the disk.
fn idle_agent() -> impl Agent {
    ScriptedAgent(|_: Order, mouth: Mouth, mut told: Commands| async move {
        while told.recv().await.is_some_and(|command| command != agents::Command::Stop) {}
        mouth.tell(AgentDid::Leave(Leave::Stopped)).await;
    })
}

fn answers() -> Outcome {
    // On the disk the project is on, not on a temporary file system that may be memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let store = Arc::new(sealed(&folder.path().join("sessions")));
    let ids = (0..ANSWERING).map(|n| parked_session(&store, n)).collect::<Result<Vec<_>, _>>()?;
    let line = std::fs::read_to_string(log_of(&store, &ids[0]))?.lines().last().map_or(0, str::len);
    let bare = bare_appends(folder.path(), line)?;
    let ours = tokio::runtime::Runtime::new()?.block_on(answer_all(store, &ids))?;
    row(
        &format!("durable answers over {ANSWERING} sessions"),
        format!("{ours:.0}/s"),
        &format!("(bare append and sync: {bare:.0}/s)"),
    );
    row("  as a share of bare append and sync", format!("{:.2}", ours / bare), "target: over 0.7");
    Ok(())
}

fn bare_appends(folder: &Path, line: usize) -> Outcome<f64> {
    let open = |n: usize| OpenOptions::new().create(true).append(true).open(folder.join(format!("bare-{n}")));
    let mut files = (0..ANSWERING).map(open).collect::<Result<Vec<File>, _>>()?;
    let line = vec![b'x'; line + 1];
    let began = Instant::now();
    for file in &mut files {
        file.write_all(&line)?;
        file.sync_data()?;
    }
    Ok(ANSWERING as f64 / began.elapsed().as_secs_f64())
}

async fn answer_all(store: Arc<Files>, ids: &[SessionId]) -> Outcome<f64> {
    let engine = Engine::start(Parts {
        store,
        agents: Arc::new(rapport::agents::AgentsByName::only(Arc::new(idle_agent()))),
        planner: Arc::new(rapport::planners::Nobody),
        worker: Arc::new(Local),
        workshop: None,
        clock: Clock::system(),
        holder: Holder::this_process(None),
        home: std::env::temp_dir().join("rapport-bench-home"),
        limits: Default::default(),
    });
    let gateway = engine.gateway();
    for id in ids {
        gateway.adopt(id).await?;
    }
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    let began = Instant::now();
    let submitted = ids.iter().map(|id| {
        let (gateway, id, by) = (gateway.clone(), id.clone(), by.clone());
        let reply = Reply::Words(vec!["JWT".into()]);
        tokio::spawn(async move { gateway.submit(&id, by, Act::Answer { question: None, reply }).await })
    });
    for answer in submitted.collect::<Vec<_>>() {
        answer.await??;
    }
    let taken = began.elapsed();
    engine.stop().await;
    Ok(ids.len() as f64 / taken.as_secs_f64())
}

// --- parsing ---

fn parsing() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/recorded");
    let mut lines = Vec::new();
    for file in std::fs::read_dir(folder)? {
        for record in std::fs::read_to_string(file?.path())?.lines() {
            let record: serde_json::Value = serde_json::from_str(record)?;
            if record["to"] == "host" {
                lines.push(record["line"].to_string());
            }
        }
    }
    let bytes: usize = lines.iter().map(String::len).sum();
    let typed = best_of(7, || lines.iter().for_each(|line| drop(black_box(wire::parse(line)))));
    let value = best_of(7, || {
        lines.iter().for_each(|line| drop(black_box(serde_json::from_str::<serde_json::Value>(line))));
    });
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    row(
        "parsing recorded stream-json",
        format!("{:.0} MB/s", rate(typed)),
        &format!("(serde_json::Value: {:.0} MB/s)", rate(value)),
    );
    row("  times serde_json::Value", format!("{:.2}", value / typed), "target: over 2.5");
    Ok(())
}

/// Seconds of one pass, at its best.
fn best_of(rounds: u32, pass: impl Fn()) -> f64 {
    const PASSES: u32 = 200;
    let measure = || {
        let began = Instant::now();
        (0..PASSES).for_each(|_| pass());
        began.elapsed().as_secs_f64() / f64::from(PASSES)
    };
    (0..rounds).map(|_| measure()).fold(f64::INFINITY, f64::min)
}
