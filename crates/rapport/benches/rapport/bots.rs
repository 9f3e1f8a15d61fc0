//! The same job by others, on the same Telegram in the same run: a tap is answered, the answered card loses its buttons,
//! the next card comes. Others keep the answers in memory or in a file that is just written; Rapport has them on disk
//! before it thanks for them. And what a person waits for with Telegram's limits, at their own pace.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
const PATIENCE: Duration = Duration::from_secs(120);
/// The most CPU time that may be spent on a tap, as a multiple of grammY's, where many tap.
const MOST_CPU: f64 = 1.7;
/// How long a person looks at a question before they tap.
const THINKS: Duration = Duration::from_secs(1);
/// The longest that they may wait for the next card.
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// Where `cargo xtask bench` has installed what the others need: grammY's packages, and the Python that has
/// python-telegram-bot.
const GRAMMY: &str = "RAPPORT_BENCH_GRAMMY";
const PYTHON: &str = "RAPPORT_BENCH_PYTHON";

pub(crate) fn measure() -> Outcome {
    tokio::runtime::Runtime::new()?.block_on(async {
        let at_their_pace = at_a_persons_pace().await;
        for (chats, tasks) in SIZES {
            compare(chats, tasks).await?;
        }
        at_their_pace
    })
}

// --- one person, Telegram's limits ---

/// Three rounds, with the rounds' ends: what is said there counts towards the limits as well.
async fn at_a_persons_pace() -> Outcome {
    const ROUNDS: usize = 3;
    let server = TelegramServer::start().await;
    server.rates(Rates::Real);
    let planner = RoundsApi::start(ROUNDS).await;
    let mut serving = Serving::start(&server, &planner.url(), Crowd::ids(1), &[]);
    let mut crowd = Crowd::new(&server, 1);
    crowd.begin().await;
    let mut waits = Vec::new();
    for answered in 1..=ROUNDS * QUESTIONS {
        tokio::time::sleep(THINKS).await;
        waits.extend(crowd.answer(answered).await.next);
    }
    serving.stop();
    let longest = waits.iter().max().copied().unwrap_or_default();
    row(
        &format!("tap to card within Telegram's limits, a tap every {} s", THINKS.as_secs()),
        format!("{} / {}", millis(part(&waits, 0.5)), millis(longest)),
        &format!("median and longest of {}; target: under {}", waits.len(), millis(LONGEST_WAIT)),
    );
    if refused(&server) > 0 {
        return Err("too much was sent".into());
    }
    if longest > LONGEST_WAIT {
        return Err(format!("somebody waited for {longest:?}: {waits:?}").into());
    }
    Ok(())
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

async fn compare(chats: usize, tasks: usize) -> Outcome {
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
                continue;
            }
        };
        let theirs = taps(who, tools.as_deref(), chats, tasks).await?;
        let time = part(&ours.waited, 0.5).as_secs_f64() / part(&theirs.waited, 0.5).as_secs_f64();
        let target = match who {
            Who::Grammy(_) if chats >= 500 => format!("; target: 1 and {MOST_CPU} at most"),
            Who::Grammy(_) => "; target: 1 at most".to_owned(),
            Who::Rapport | Who::Python => String::new(),
        };
        let ratios = format!("{time:.2} of its time, {:.2} of its CPU{target}", ours.cpu / theirs.cpu);
        print(who, &theirs, ratios);
    }
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

    /// Nanoseconds of CPU time so far, of all its threads. None of them ends within seconds.
    fn cpu(&self) -> Outcome<u64> {
        let mut all = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.id()))? {
            let spent = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            all += spent.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(all)
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
