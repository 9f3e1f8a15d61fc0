//! The real CLI in containers: how long it takes from an answer to the model's next request, beside the same on the host; and
//! what a worker that waits keeps in memory, hot and parked.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use rapport::agents::AgentsByName;
use rapport::agents::claude::{Claude, ClaudeConfig, NAME};
use rapport::clock::{self, Clock};
use rapport::engine::{Engine, Follower, Parts, Update};
use rapport::stores::Holder;
use rapport_core::{AgentCommand, Created, Event, Terms};

use crate::asking::{self, WorksAt};
use crate::stage::Stage;
use crate::waiting::{own_memory, percent};
use crate::workers::{ENGINE, containers_at};
use crate::{Outcome, row};

/// How this binary is told to be the host of workers that wait.
pub(crate) const ARGUMENT: &str = "--workers-child";

/// Questions of one process.
const QUESTIONS: usize = 20;
/// How many workers wait at their calls, and how many are parked.
const HOT: usize = 5;
const PARKED: usize = 50;
/// How many are begun at a time.
const AT_ONCE: usize = 5;
/// What hangs is to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn measure(cli: &Path) -> Outcome {
    let engine = std::env::var(ENGINE)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let contained = || WorksAt { kind: "container", worker: Arc::new(containers_at(folder.path(), &engine)) };
    let host =
        runtime.block_on(runtime.spawn(asking::went_on(cli.to_owned(), WorksAt::default(), QUESTIONS)))??;
    let inside =
        runtime.block_on(runtime.spawn(asking::went_on(cli.to_owned(), contained(), QUESTIONS)))??;
    let millis = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    row("answer to the model's next request, on the host", millis(host), "");
    row("  in a container", millis(inside), "");
    let share = format!("{:.2}", inside.as_secs_f64() / host.as_secs_f64());
    row("  as a share of that on the host", share, "target: under 1.2");

    let hot = hot(cli, &engine)? / HOT as f64;
    let parked = parked(cli, &engine)? / PARKED as f64;
    row("memory of a waiting worker, hot", format!("{hot:.0} MB"), &format!("({HOT} by their cgroups)"));
    row("  parked", format!("{parked:.3} MB"), &format!("({PARKED} by the growth of their host)"));
    row("  as a share of hot", percent(parked, hot), "target: under 1 %");
    Ok(())
}

/// The megabytes of the containers of workers that wait at their calls.
fn hot(cli: &Path, engine: &str) -> Outcome<f64> {
    let host = Host::start(cli, engine, HOT, "1h")?;
    let label = format!("label=rapport.home={}", host.stage.app().display());
    let listed = docker(engine, &["ps", "--quiet", "--filter", &label])?;
    let containers: Vec<_> = listed.split_whitespace().collect();
    if containers.len() != HOT {
        return Err(format!("{} containers run instead of {HOT}", containers.len()).into());
    }
    let mut all = 0.0;
    for container in containers {
        let first = docker(engine, &["inspect", "--format", "{{.State.Pid}}", container])?;
        all += memory_of_group(first.trim())?;
    }
    Ok(all)
}

/// The megabytes that parked workers take in their host.
fn parked(cli: &Path, engine: &str) -> Outcome<f64> {
    Ok(Host::start(cli, engine, PARKED, "0s")?.growth)
}

fn docker(engine: &str, args: &[&str]) -> Outcome<String> {
    let out = Command::new("docker").args(["--host", engine]).args(args).output()?;
    if !out.status.success() {
        return Err(format!("docker {args:?}: {}", String::from_utf8_lossy(&out.stderr)).into());
    }
    Ok(String::from_utf8(out.stdout)?)
}

/// The megabytes of the cgroup of a process, as `docker stats` counts: without what the system can give back at once.
fn memory_of_group(process: &str) -> Outcome<f64> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup"))?;
    let of = |controller: &str| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers
                .split(',')
                .any(|one| one == controller)
                .then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let (folder, total, reclaimed) = match (of("memory"), of("")) {
        (Some(path), _) => {
            (Path::new("/sys/fs/cgroup/memory").join(path), "memory.usage_in_bytes", "total_inactive_file ")
        }
        (None, Some(path)) => (Path::new("/sys/fs/cgroup").join(path), "memory.current", "inactive_file "),
        (None, None) => return Err("a container without a cgroup".into()),
    };
    let number = |text: &str| text.trim().parse::<f64>();
    let total = number(&fs::read_to_string(folder.join(total))?)?;
    let told = fs::read_to_string(folder.join("memory.stat"))?;
    let reclaimed = told.lines().find_map(|line| line.strip_prefix(reclaimed)).map_or(Ok(0.0), number)?;
    Ok((total - reclaimed) / 1e6)
}

/// A process that hosts workers in containers, until it is dropped.
struct Host {
    stage: Stage,
    child: Child,
    /// The megabytes by which it grew with its workers.
    growth: f64,
    engine: String,
}

impl Host {
    /// Starts it, and waits until that many wait, hot for that long.
    fn start(cli: &Path, engine: &str, count: usize, hot: &str) -> Outcome<Self> {
        let stage = Stage::new(cli, 1)?;
        stage.make_repository()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(ARGUMENT).arg(stage.app()).arg(cli).args([engine, &count.to_string(), hot]);
        command.env_clear().envs(stage.env()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn()?;
        let mut host = Self { stage, child, growth: 0.0, engine: engine.to_owned() };
        let mut told = String::new();
        BufReader::new(host.child.stdout.as_mut().ok_or("a pipe is missing")?).read_line(&mut told)?;
        host.growth = told.trim().parse().map_err(|_| "the host of the workers ended")?;
        Ok(host)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let label = format!("label=rapport.home={}", self.stage.app().display());
        for (list, remove) in [
            (&["ps", "--all", "--quiet"][..], &["rm", "--force"][..]),
            (&["volume", "ls", "--quiet"][..], &["volume", "rm"][..]),
        ] {
            let left = docker(&self.engine, &[list, &["--filter", &label]].concat()).unwrap_or_default();
            for one in left.split_whitespace() {
                let _ = docker(&self.engine, &[remove, &[one]].concat());
            }
        }
    }
}

/// Hosts workers until its input ends, and tells by how many megabytes it grew with all but the first.
pub(crate) fn host(app: &Path, cli: &Path, engine: &str, count: &str, hot: &str) -> Outcome {
    let (count, is_hot): (usize, bool) = (count.parse()?, hot != "0s");
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut config = ClaudeConfig::new(cli, env!("CARGO_BIN_EXE_rapport"));
        config.env = std::env::vars_os().collect();
        let running = Engine::start(Parts {
            store: Arc::new(crate::sealed(&app.join(".rapport/sessions"))),
            agents: Arc::new(AgentsByName::only(Arc::new(Claude::new(config)))),
            planner: Arc::new(rapport::planners::Nobody),
            worker: Arc::new(containers_at(app, engine)),
            workshop: None,
            clock: Clock::system(),
            holder: Holder::this_process(None),
            home: app.to_owned(),
            limits: Default::default(),
        });
        let hot = if is_hot { SignedDuration::from_hours(1) } else { SignedDuration::ZERO };
        let created = |n| Created {
            project: app.display().to_string(),
            conversation: clock::new_conversation(),
            worker: "container".into(),
            agent: Some(AgentCommand { name: NAME.into(), command: vec![cli.display().to_string()] }),
            terms: Terms { hot, ..Terms::default() },
            ..crate::created(n)
        };
        let gateway = running.gateway();
        let begin = async |n| -> Outcome<Follower> {
            let id = gateway.create(created(n)).await?;
            Ok(gateway.follow(&id, 0).await?)
        };
        let mut waiting = Vec::new();
        if !is_hot {
            // What a host needs for its first worker is not of the others.
            let mut first = begin(0).await?;
            until_waiting(&mut first, is_hot).await?;
            waiting.push(first);
        }
        let before = own_memory(std::process::id())?;
        for some in (1..=count).collect::<Vec<_>>().chunks(AT_ONCE) {
            let first = waiting.len();
            for n in some {
                waiting.push(begin(*n).await?);
            }
            for one in &mut waiting[first..] {
                until_waiting(one, is_hot).await?;
            }
        }
        println!("{}", own_memory(std::process::id())? - before);
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
        running.stop().await;
        Ok(())
    })
}

/// Follows a session until its worker waits: at its call, or parked.
async fn until_waiting(follower: &mut Follower, is_hot: bool) -> Outcome {
    loop {
        let update = tokio::time::timeout(PATIENCE, follower.next()).await?;
        let Update::Entry(entry) = update.ok_or("the session is over")? else { continue };
        let waits = |fact: &Event| match fact {
            Event::Asked { .. } => is_hot,
            Event::Parked { .. } => !is_hot,
            _ => false,
        };
        if let Some(Event::Failed { reason }) =
            entry.facts.iter().find(|fact| matches!(fact, Event::Failed { .. }))
        {
            return Err(reason.clone().into());
        }
        if entry.facts.iter().any(waits) {
            return Ok(());
        }
    }
}

/// The arguments of [`host`], if these are for it.
pub(crate) fn run(args: &[&str]) -> Outcome {
    let [app, cli, engine, count, hot] = args else { return Err("five arguments are needed".into()) };
    host(&PathBuf::from(app), &PathBuf::from(cli), engine, count, hot)
}
