//! The same job by others, on the same Telegram in the same run: a tap is answered, the answered card loses its buttons,
//! the next card comes. Others keep the answers in memory or in a file that is just written; Rapport has them on disk
//! before it thanks for them. And what a person waits for with Telegram's limits, at their own pace.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::crowd::{Crowd, Waited, refused};
use crate::support::rounds_api::{QUESTIONS, RoundsApi};
use crate::support::serving::Serving;
use crate::support::telegram::{Rates, State, TelegramServer};
use crate::telegram::{millis, part};
use crate::{Outcome, row};

/// Chats that tap at once, and how many tasks each goes through.
const SIZES: [(usize, usize); 3] = [(1, 40), (100, 4), (500, 2)];
/// The taps of a task that lead to a question. What the last one leads to takes a model.
const TAPS: usize = QUESTIONS - 1;
/// All is settled when nothing was called for this long.
const QUIET: Duration = Duration::from_millis(200);
/// So long may a bot take for all chats: on a busy machine, python-telegram-bot needs minutes for 500.
const PATIENCE: Duration = Duration::from_secs(600);
/// The most time from a tap to the next card, as a multiple of grammY's, whether it keeps answers in memory or in a file.
const MOST_TIME: f64 = 1.0;
/// The most CPU time that may be spent on a tap, as a multiple of grammY's, where this many tap.
const MOST_CPU: f64 = 1.0;
const MANY: usize = 500;
/// The unit in which Linux tells programs how much CPU time a process used: a hundredth of a second.
const NANOSECONDS_A_TICK: u64 = 10_000_000;
/// The longest that they may wait for the next card.
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// Where `cargo xtask bench` has installed what the others need: grammY's packages, and the Python that has
/// python-telegram-bot.
const GRAMMY: &str = "RAPPORT_BENCH_GRAMMY";
const PYTHON: &str = "RAPPORT_BENCH_PYTHON";

pub(crate) fn measure() -> Outcome {
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut missed = Vec::new();
        for pace in [ALONE, IN_A_GROUP] {
            missed.extend(at_a_persons_pace(&pace).await?);
        }
        for (chats, tasks) in SIZES {
            missed.extend(compare(chats, tasks).await?);
        }
        syncs(SIZES[1]).await?;
        if missed.is_empty() { Ok(()) } else { Err(missed.join("\n       ").into()) }
    })
}

// --- one person, Telegram's limits ---

/// Where somebody taps, and how long they look at a question before they do. A group may have 20 messages a minute.
struct Pace {
    place: &'static str,
    is_group: bool,
    thinks: Duration,
}

const ALONE: Pace = Pace { place: "in a private chat", is_group: false, thinks: Duration::from_secs(1) };
const IN_A_GROUP: Pace = Pace { place: "in a group", is_group: true, thinks: Duration::from_secs(2) };

/// Three rounds, with the rounds' ends: what is said there counts towards the limits as well. Returns missed targets.
async fn at_a_persons_pace(pace: &Pace) -> Outcome<Vec<String>> {
    const ROUNDS: usize = 3;
    let server = TelegramServer::start().await;
    server.rates(Rates::Real);
    let planner = RoundsApi::start(ROUNDS).await;
    let mut serving = Serving::start(&server, &planner.url(), Crowd::ids(1), &[]);
    let mut crowd = if pace.is_group { Crowd::in_group(&server) } else { Crowd::new(&server, 1) };
    crowd.begin().await;
    let mut waits = Vec::new();
    for answered in 1..=ROUNDS * QUESTIONS {
        tokio::time::sleep(pace.thinks).await;
        waits.extend(crowd.answer(answered).await.next);
    }
    serving.stop();
    let longest = waits.iter().max().copied().unwrap_or_default();
    row(
        &format!("tap to card within limits, {}, a tap every {} s", pace.place, pace.thinks.as_secs()),
        format!("{} / {}", millis(part(&waits, 0.5)), millis(longest)),
        &format!("median and longest of {}; target: under {}", waits.len(), millis(LONGEST_WAIT)),
    );
    let mut missed = Vec::new();
    if refused(&server) > 0 {
        missed.push(format!("too much was sent {}", pace.place));
    }
    if longest > LONGEST_WAIT {
        missed.push(format!("somebody {} waited for {longest:?}: {waits:?}", pace.place));
    }
    Ok(missed)
}

// --- beside others, no limits ---

/// Who does the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Rapport,
    Grammy(Keeps),
    Python,
}

/// What a bot does with an answer before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    InMemory,
    InFile,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::Rapport => "Rapport",
            Self::Grammy(Keeps::InMemory) => "grammY with its runner, in memory",
            Self::Grammy(Keeps::InFile) => "grammY with its runner, a file",
            Self::Python => "python-telegram-bot, in memory",
        }
    }

    /// What it is started with, or why it cannot be.
    fn tools(self) -> Result<Option<PathBuf>, String> {
        let variable = match self {
            Self::Rapport => return Ok(None),
            Self::Grammy(_) => GRAMMY,
            Self::Python => PYTHON,
        };
        let tools = std::env::var_os(variable).map(PathBuf::from).filter(|tools| tools.exists());
        tools.map(Some).ok_or_else(|| format!("{variable} is not set; `cargo xtask bench` sets it"))
    }
}

/// What was measured of one.
struct Figures {
    waited: Vec<Duration>,
    /// CPU seconds for a tap.
    cpu: f64,
    /// Calls of Telegram's methods for a tap.
    calls: f64,
}

/// Returns missed targets; a bot that cannot be compared with is one.
async fn compare(chats: usize, tasks: usize) -> Outcome<Vec<String>> {
    let mut missed = Vec::new();
    let at_once = if chats == 1 { "one chat".to_owned() } else { format!("{chats} chats at once") };
    println!(
        "{:<45} {:>9} {:>10} {:>10} {:>7}   Rapport beside it",
        format!("taps in {at_once}, without limits"),
        "median",
        "99 of 100",
        "CPU a tap",
        "calls"
    );
    let ours = taps(Who::Rapport, None, chats, tasks).await?;
    print(Who::Rapport, &ours, String::new());
    for who in [Who::Grammy(Keeps::InMemory), Who::Grammy(Keeps::InFile), Who::Python] {
        let tools = match who.tools() {
            Ok(tools) => tools,
            Err(why) => {
                println!("  {}: not compared ({why})", who.name());
                missed.push(format!("{} was not compared: {why}", who.name()));
                continue;
            }
        };
        let theirs = taps(who, tools.as_deref(), chats, tasks).await?;
        let time = part(&ours.waited, 0.5).as_secs_f64() / part(&theirs.waited, 0.5).as_secs_f64();
        let cpu = ours.cpu / theirs.cpu;
        let (most_time, most_cpu) = match who {
            Who::Grammy(_) if chats >= MANY => (MOST_TIME, MOST_CPU),
            Who::Grammy(_) => (MOST_TIME, f64::INFINITY),
            Who::Rapport | Who::Python => (f64::INFINITY, f64::INFINITY),
        };
        let target = match (most_time.is_finite(), most_cpu.is_finite()) {
            (true, true) => format!("; target: {most_time} and {most_cpu} at most"),
            (true, false) => format!("; target: {most_time} at most"),
            (false, _) => String::new(),
        };
        print(who, &theirs, format!("{time:.2} of its time, {cpu:.2} of its CPU{target}"));
        for (what, ratio, most) in [("time", time, most_time), ("CPU", cpu, most_cpu)] {
            if ratio > most {
                missed.push(format!("{ratio:.2} of the {what} of {} in {at_once}", who.name()));
            }
        }
    }
    Ok(missed)
}

/// Prints how often a tap waits for the disk. That is counted in a run of its own, because counting takes time.
async fn syncs((chats, tasks): (usize, usize)) -> Outcome {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.patience(PATIENCE);
    let bot = Bot::start(Who::Rapport, None, &server, chats).await?;
    let counted = tempfile::NamedTempFile::new()?;
    let mut crowd = Crowd::new(&server, chats);
    let mut taps = 0;
    crowd.begin().await;
    settle(&server).await;
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-c", "-U", "calls,name", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(counted.path());
    let tracing = strace.args(["-p", &bot.id().to_string()]).stderr(Stdio::null()).spawn();
    let Ok(mut tracing) = tracing else {
        println!("syncs a tap: not counted (strace is not installed)");
        return Ok(());
    };
    for task in 0..tasks {
        if task > 0 {
            crowd.begin().await;
        }
        taps += crowd.answer(TAPS).await.next.len();
        settle(&server).await;
    }
    nix::sys::signal::kill(Pid::from_raw(i32::try_from(tracing.id())?), Signal::SIGINT)?;
    tracing.wait()?;
    let counted = std::fs::read_to_string(counted.path())?;
    let of_call = |line: &str| {
        line.trim().strip_suffix("sync").and_then(|line| line.split(' ').next()?.parse::<f64>().ok())
    };
    let all: f64 = counted.lines().filter_map(of_call).sum();
    row(
        "syncs a tap",
        format!("{:.2}", all / taps as f64),
        &format!("in {chats} chats at once, with how {} tasks begin", tasks - 1),
    );
    Ok(())
}

fn print(who: Who, figures: &Figures, ratios: String) {
    let fine = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    println!(
        "  {:<43} {:>9} {:>10} {:>10} {:>7.2}   {ratios}",
        who.name(),
        fine(part(&figures.waited, 0.5)),
        fine(part(&figures.waited, 0.99)),
        format!("{:.2} ms", figures.cpu * 1e3),
        figures.calls
    );
}

/// Everybody taps as soon as they are asked. Only the taps are measured, not how a task begins.
async fn taps(who: Who, tools: Option<&Path>, chats: usize, tasks: usize) -> Outcome<Figures> {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.patience(PATIENCE);
    let bot = Bot::start(who, tools, &server, chats).await?;
    let mut crowd = Crowd::new(&server, chats);
    let (mut waited, mut cpu, mut calls) = (Vec::new(), 0, 0);
    for task in 0..tasks {
        crowd.begin().await;
        settle(&server).await;
        let before = (bot.cpu()?, called(&server));
        let Waited { next, .. } = crowd.answer(TAPS).await;
        settle(&server).await;
        // In the first one, programs that compile themselves warm up, and connections are made.
        if task > 0 {
            waited.extend(next);
            cpu += bot.cpu()? - before.0;
            calls += called(&server) - before.1;
        }
    }
    let many = waited.len() as f64;
    Ok(Figures { waited, cpu: cpu as f64 / 1e9 / many, calls: calls as f64 / many })
}

/// Waits until the bot has nothing left to do.
async fn settle(server: &TelegramServer) {
    let mut before = called(server);
    loop {
        tokio::time::sleep(QUIET).await;
        let now = called(server);
        if now == before {
            return;
        }
        before = now;
    }
}

/// How many methods were called; asking for updates depends on when they come.
fn called(server: &TelegramServer) -> usize {
    server.look(|state: &State| state.calls.iter().filter(|call| call.method != "getUpdates").count())
}

/// A running bot, until it is dropped.
enum Bot {
    Rapport(Serving),
    Other { child: Child, _folder: TempDir },
}

impl Bot {
    async fn start(who: Who, tools: Option<&Path>, server: &TelegramServer, chats: usize) -> Outcome<Self> {
        if who == Who::Rapport {
            let planner = RoundsApi::start(1).await;
            let more = [("RAPPORT_TELEGRAM_FASTER", "1000")];
            let serving = Serving::start(server, &planner.url(), Crowd::ids(chats), &more);
            return Ok(Self::Rapport(serving));
        }
        // On the disk that Rapport writes to as well.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let bots = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/bots");
        let tools = tools.ok_or("there is nothing to start it with")?;
        let mut command = match who {
            Who::Python => Command::new(tools),
            Who::Rapport | Who::Grammy(_) => Command::new("node"),
        };
        command.arg(bots.join(match who {
            Who::Python => "python-telegram-bot/bot.py",
            Who::Rapport | Who::Grammy(_) => "grammy/bot.js",
        }));
        command.env("BOT_TOKEN", server.token()).env("BOT_API_URL", server.url());
        command.env("BOT_QUESTIONS", QUESTIONS.to_string()).env("NODE_PATH", tools);
        if who == Who::Grammy(Keeps::InFile) {
            command.env("BOT_FOLDER", folder.path());
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        Ok(Self::Other { child, _folder: folder })
    }

    fn id(&self) -> u32 {
        match self {
            Self::Rapport(serving) => serving.id(),
            Self::Other { child, .. } => child.id(),
        }
    }

    /// Nanoseconds of CPU time so far, of all its threads, those that ended included: a sum over living ones would shrink
    /// when an idle one ends.
    fn cpu(&self) -> Outcome<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        // The name of the program is in brackets and may contain anything; the numbers come after it.
        let (_, numbers) = stat.rsplit_once(')').unwrap_or_default();
        let numbers: Vec<&str> = numbers.split_whitespace().collect();
        let ticks = |place: usize| numbers.get(place).copied().unwrap_or_default().parse::<u64>();
        // `utime` and `stime` are the fields 14 and 15; the first after the name is the third.
        Ok((ticks(11)? + ticks(12)?) * NANOSECONDS_A_TICK)
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        if let Self::Other { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
