//! What sessions that wait for an answer keep in memory. Only what is a process's own counts: pages that the processes
//! share would count once, however many there are.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rapport::clock::Clock;
use rapport::engine::{Engine, Parts};
use rapport::stores::{Holder, Store as _};
use rapport::workers::local::Local;
use rapport_core::{Entry, Event};

use crate::stage::Stage;
use crate::{Outcome, idle_agent, row};

/// How this binary is told to hold parked sessions.
pub(crate) const ARGUMENT: &str = "--parked-child";
/// How many CLIs are really started.
const STARTED: usize = 4;
/// How many sessions that stands for.
const SESSIONS: usize = 100;
/// How long a CLI that has just asked may still be busy with itself.
const SETTLING: Duration = Duration::from_secs(2);

pub(crate) fn measure(cli: &Path) -> Outcome {
    let scale = SESSIONS as f64 / STARTED as f64;
    let hot_parts = programs(cli, "1h", |fact| matches!(fact, Event::Asked { .. }))?;
    let parked_parts = programs(cli, "0s", |fact| matches!(fact, Event::Parked { .. }))?;
    let (hot, parked, together) = (hot_parts.all(), parked_parts.all(), together()?);
    let scaled = format!("({STARTED} measured, times {scale})");
    row(
        &format!("memory of {SESSIONS} waiting sessions, hot"),
        format!("{:.0} MB", hot * scale),
        &format!("{scaled}: rapport, keeper, CLI"),
    );
    let each = |all: f64| format!("{:.2} MB", all / STARTED as f64);
    row("  of each: host", each(hot_parts.host), "target: under 6 MB");
    row("  of each: keeper", each(hot_parts.keeper), "target: under 1 MB");
    row("  of each: CLI", each(hot_parts.cli), "");
    row("  of each: host, parked", each(parked_parts.host), "target: under 6 MB");
    row("  parked, in one process", format!("{together:.1} MB"), "(the whole of that process)");
    row("  as a share of hot", percent(together, hot * scale), "target: under 1 %");
    row("  parked, each in a `rapport run`", format!("{:.0} MB", parked * scale), &scaled);
    row("  as a share of hot", percent(parked, hot), "target: under 1 %");
    Ok(())
}

pub(crate) fn percent(part: f64, whole: f64) -> String {
    format!("{:.3} %", part / whole * 100.0)
}

/// The megabytes of some sessions, by what they belong to.
#[derive(Default)]
struct Megabytes {
    host: f64,
    keeper: f64,
    cli: f64,
}

impl Megabytes {
    fn all(&self) -> f64 {
        self.host + self.keeper + self.cli
    }

    /// Counts a process.
    fn add(&mut self, process: u32) -> Outcome {
        let command = std::fs::read(format!("/proc/{process}/cmdline"))?;
        let mut words = command.split(|byte| *byte == 0);
        let is_ours = words.next() == Some(env!("CARGO_BIN_EXE_rapport").as_bytes());
        let part = match (is_ours, words.next()) {
            (true, Some(b"keep")) => &mut self.keeper,
            (true, _) => &mut self.host,
            (false, _) => &mut self.cli,
        };
        *part += own_memory(process)?;
        Ok(())
    }
}

/// The megabytes of some `rapport run`, with everything they started, each at a fact like this.
fn programs(cli: &Path, hot: &str, wanted: fn(&Event) -> bool) -> Outcome<Megabytes> {
    let mut running = (0..STARTED).map(|_| Running::start(cli, hot)).collect::<Outcome<Vec<_>>>()?;
    for one in &mut running {
        one.until(wanted)?;
    }
    std::thread::sleep(SETTLING);
    let mut taken = Megabytes::default();
    for process in running.iter().flat_map(|one| processes_in(&one.stage.app())) {
        taken.add(process)?;
    }
    Ok(taken)
}

/// A `rapport run`, until it is dropped.
struct Running {
    stage: Stage,
    child: Child,
}

impl Running {
    fn start(cli: &Path, hot: &str) -> Outcome<Self> {
        let stage = Stage::new(cli, 1)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
        command.args(["run", "--json", "--hot", hot, "add", "auth"]).current_dir(stage.app());
        command.env_clear().envs(stage.env()).env("RAPPORT_AGENT_COMMAND", format!("'{}'", cli.display()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        Ok(Self { stage, child })
    }

    fn until(&mut self, wanted: fn(&Event) -> bool) -> Outcome {
        let mut lines = BufReader::new(self.child.stdout.as_mut().ok_or("a pipe is missing")?).lines();
        while let Some(line) = lines.next().transpose()? {
            if Entry::from_json(&line).is_ok_and(|entry| entry.facts.iter().any(wanted)) {
                return Ok(());
            }
        }
        Err("rapport ended before it waited".into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The keeper ends the CLI a moment later; until then its home has to be there.
        let began = Instant::now();
        while !processes_in(&self.stage.app()).is_empty() && began.elapsed() < SETTLING {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The processes whose working directory this is.
fn processes_in(directory: &Path) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let works_there =
        |id: &u32| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == directory);
    ids.filter(works_there).collect()
}

/// The megabytes that would be free without this process.
pub(crate) fn own_memory(process: u32) -> Outcome<f64> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let own = maps.lines().filter_map(|line| line.strip_prefix("Private_")?.split_whitespace().nth(1));
    let kilobytes: f64 = own.map(|number| number.parse::<f64>().unwrap_or_default()).sum();
    Ok(kilobytes * 1024.0 / 1e6)
}

/// The megabytes of a process that holds all those sessions, parked.
fn together() -> Outcome<f64> {
    let folder = tempfile::tempdir()?;
    let sessions = folder.path().join("sessions");
    let store = crate::sealed(&sessions);
    for n in 0..SESSIONS {
        crate::parked_session(&store, n)?;
    }
    let output = Command::new(std::env::current_exe()?).arg(ARGUMENT).arg(sessions).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Takes all sessions up, and tells what that takes.
pub(crate) fn parked_child(sessions: PathBuf) -> Outcome {
    tokio::runtime::Runtime::new()?.block_on(async {
        let store = Arc::new(crate::sealed(&sessions));
        let engine = Engine::start(Parts {
            store: store.clone(),
            agents: Arc::new(rapport::agents::AgentsByName::only(Arc::new(idle_agent()))),
            planner: Arc::new(rapport::planners::Nobody),
            worker: Arc::new(Local),
            workshop: None,
            clock: Clock::system(),
            holder: Holder::this_process(None),
            home: std::env::temp_dir().join("rapport-bench-home"),
            limits: Default::default(),
        });
        let mut followers = Vec::new();
        for id in store.list().await? {
            engine.gateway().adopt(&id).await?;
            followers.push(engine.gateway().follow(&id, 0).await?);
        }
        assert_eq!(followers.len(), SESSIONS);
        println!("{}", own_memory(std::process::id())?);
        engine.stop().await;
        Ok(())
    })
}
