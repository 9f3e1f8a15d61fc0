//! How long it takes from the acceptance of a session to the first byte that its agent reads, in each kind of workplace, beside
//! what git, bubblewrap and the container engine need for the same. The project has 2,000 files and 50 MB of history.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rapport::agents::AgentsByName;
use rapport::agents::claude::{Claude, ClaudeConfig, NAME};
use rapport::clock::{self, Clock};
use rapport::engine::{Engine, Parts};
use rapport::stores::Holder;
use rapport::workers::container_kind::ContainerSettings;
use rapport::workers::containers::Containers;
use rapport::workers::sandboxes::Sandboxes;
use rapport::workers::worktrees::Worktrees;
use rapport::workers::{Worker, WorkerError, WorkerSetup, Workplace};
use rapport_core::{AgentCommand, Created, SessionId};

use super::{Outcome, contained, row};

const TIMES: usize = 20;
const FILES: usize = 2_000;
/// Bytes of history that no compression makes smaller.
const HISTORY: usize = 50 * 1024 * 1024;

pub(crate) const ENGINE: &str = "RAPPORT_TEST_ENGINE";
const IMAGE: &str = "rapport-test";
/// The folder of what belongs to containers.
const CONTAINERS: &str = "containers";
const TARGET: &str = "target: under 1.3";
/// What hangs is to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

/// What stands in for an agent: it is done when it has read a byte.
const READER: [&str; 3] = ["head", "-c", "1"];

pub(super) fn measure() -> Outcome {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let stage = Stage::new(folder.path())?;
    let worktrees: Arc<dyn Worker> = Arc::new(Worktrees::new(folder.path().join("worktrees")));
    let (bare, ours) = medians(
        |number| stage.bare_worktree(number, &[]),
        |number| stage.first_byte(&worktrees, "worktree", number, &|_| None),
    )?;
    print_ratio("worktree, to the agent's first byte", "git worktree add", ours, bare);
    match Sandboxes::check() {
        Ok(_) => {
            let places = folder.path().join("sandboxes");
            let sandboxes: Arc<dyn Worker> = Arc::new(Sandboxes::new(places.clone(), None));
            let walls =
                ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--"];
            let home = |id: &SessionId| Some(home_in(&places, id));
            let (bare, ours) = medians(
                |number| stage.bare_worktree(number, &walls),
                |number| stage.first_byte(&sandboxes, "sandbox", number, &home),
            )?;
            print_ratio("sandbox, to the agent's first byte", "git worktree add, bwrap", ours, bare);
        }
        Err(none) => println!("  sandboxes are not measured: {}", none.why),
    }
    match std::env::var(ENGINE) {
        Ok(engine) => {
            stage.containers(&engine)?;
            // What that used is not of these.
            drop(stage);
            crate::with_cli(contained::measure)
        }
        Err(_) => {
            println!(
                "  containers are not measured: {ENGINE} names no engine; `cargo xtask bench` starts one"
            );
            Ok(())
        }
    }
}

fn print_ratio(what: &str, beside: &str, ours: Duration, bare: Duration) {
    row(what, format!("{:.0} ms", ours.as_secs_f64() * 1e3), "");
    row(
        &format!("  as a share of {beside}"),
        format!("{:.2}", ours.as_secs_f64() / bare.as_secs_f64()),
        TARGET,
    );
}

/// The medians of two things that are measured in turn, after one of each that does not count: a disk that is busy with
/// what was written before slows down both.
fn medians(
    mut bare: impl FnMut(usize) -> Outcome<Duration>,
    mut ours: impl FnMut(usize) -> Outcome<Duration>,
) -> Outcome<(Duration, Duration)> {
    let mut times = (Vec::new(), Vec::new());
    for number in 0..=TIMES {
        let (bare, ours) = (bare(number)?, ours(number)?);
        if number > 0 {
            times.0.push(bare);
            times.1.push(ours);
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times.get(TIMES / 2).copied().ok_or("nothing was measured")
    };
    Ok((median(times.0)?, median(times.1)?))
}

/// A project, and what is measured with it.
struct Stage {
    folder: PathBuf,
    project: PathBuf,
}

impl Stage {
    fn new(folder: &Path) -> Outcome<Self> {
        let project = folder.join("app");
        fs::create_dir_all(project.join("src"))?;
        let stage = Self { folder: folder.to_owned(), project };
        stage.git(&["init", "--quiet"])?;
        let mut noise = fs::File::open("/dev/urandom")?;
        let mut bytes = vec![0; HISTORY / 10];
        for number in 0..10 {
            noise.read_exact(&mut bytes)?;
            fs::write(stage.project.join("history.bin"), &bytes)?;
            stage.git(&["add", "--all"])?;
            stage.git(&["commit", "--quiet", "-m", &format!("Part {number}")])?;
        }
        fs::remove_file(stage.project.join("history.bin"))?;
        for number in 0..FILES {
            let text: String = (0..40).map(|line| format!("line {line} of file {number}\n")).collect();
            fs::write(stage.project.join(format!("src/{number}.txt")), text)?;
        }
        stage.git(&["add", "--all"])?;
        stage.git(&["commit", "--quiet", "-m", "Files"])?;
        Ok(stage)
    }

    fn git(&self, args: &[&str]) -> Outcome {
        let name = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
        run(Command::new("git").current_dir(&self.project).args(name).args(args))
    }

    /// Git's own worktree, and a process in it.
    fn bare_worktree(&self, number: usize, walls: &[&str]) -> Outcome<Duration> {
        let root = self.folder.join(format!("bare-{number}"));
        let path = root.to_string_lossy().into_owned();
        let branch = format!("bare-{number}");
        let began = Instant::now();
        self.git(&["worktree", "add", "--quiet", "-b", &branch, &path])?;
        let words = [walls, &READER].concat();
        let program = words.first().ok_or("there is no program")?;
        read_one(Command::new(program).args(&words[1..]).current_dir(&root))?;
        let took = began.elapsed();
        self.git(&["worktree", "remove", "--force", &path])?;
        self.git(&["branch", "--quiet", "-D", &branch])?;
        Ok(took)
    }

    fn created(&self, worker: &str, number: usize) -> Created {
        Created {
            project: self.project.to_string_lossy().into_owned(),
            conversation: clock::new_conversation(),
            worker: worker.into(),
            agent: Some(AgentCommand { name: NAME.into(), command: vec!["sh".into()] }),
            ..crate::created(number)
        }
    }

    /// A session of ours from its acceptance on: the engine stores it, opens its workplace and starts its agent, which notes in its home
    /// when it has read a byte. Some workplaces have a home of their own.
    fn first_byte(
        &self,
        worker: &Arc<dyn Worker>,
        name: &str,
        number: usize,
        own_home: &dyn Fn(&SessionId) -> Option<PathBuf>,
    ) -> Outcome<Duration> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let home = self.folder.join("home");
        fs::create_dir_all(&home)?;
        let mut config = ClaudeConfig::new("sh", env!("CARGO_BIN_EXE_rapport"));
        config.leading_args = vec!["-c".into(), NOTES_A_BYTE.into()];
        let path = std::env::var_os("PATH").unwrap_or_default();
        config.env = vec![("PATH".into(), path), ("HOME".into(), home.clone().into())];
        let created = self.created(name, number);
        let (id, took) = runtime.block_on(async {
            let engine = Engine::start(Parts {
                store: Arc::new(crate::sealed(&self.folder.join("sessions"))),
                agents: Arc::new(AgentsByName::only(Arc::new(Claude::new(config)))),
                planner: Arc::new(rapport::planners::Nobody),
                worker: worker.clone(),
                workshop: None,
                clock: Clock::system(),
                holder: Holder::this_process(None),
                home: self.folder.clone(),
                limits: Default::default(),
            });
            let began = SystemTime::now();
            let id = engine.gateway().create(created.clone()).await?;
            let read = noted(&own_home(&id).unwrap_or(home)).await?;
            engine.stop().await;
            Outcome::Ok((id, read.duration_since(began)?))
        })?;
        worker.clear(&id, &created)?;
        Ok(took)
    }

    fn containers(&self, engine: &str) -> Outcome {
        let ours: Arc<dyn Worker> = Arc::new(containers_at(&self.folder, engine));
        let bundle = self.folder.join("bare.bundle");
        self.git(&["bundle", "create", "--quiet", &bundle.to_string_lossy(), "HEAD"])?;
        let places = self.folder.join(CONTAINERS);
        let home = |id: &SessionId| Some(home_in(&places, id));
        let (bare, cold) = medians(
            |_| bare_container(engine, &bundle),
            |number| self.first_byte(&ours, "container", number, &home),
        )?;
        print_ratio(
            "container, to the agent's first byte, cold",
            "docker run, a clone of the bundle",
            cold,
            bare,
        );
        // A container that is made and filled, and runs, is given to the session that is accepted: what a pool of them would save.
        let warm = |number: usize| {
            let (session, created) =
                (SessionId::new(format!("20260124-warm-{number}")), self.created("container", 0));
            let warm: Arc<dyn Worker> = Arc::new(Warm(ours.open(&session, &created)?));
            let took = self.first_byte(&warm, "container", number, &|_| Some(home_in(&places, &session)))?;
            drop(warm);
            ours.clear(&session, &created)?;
            Ok(took)
        };
        let (bare, warm) = medians(|_| bare_container(engine, &bundle), warm)?;
        print_ratio("container, to the agent's first byte, warm", "the same", warm, bare);
        Ok(())
    }
}

/// The home of a session's agent beside its workplace.
fn home_in(places: &Path, session: &SessionId) -> PathBuf {
    places.join(format!("{session}.home"))
}

/// Gives every session a workplace that was opened before.
struct Warm(Arc<dyn Workplace>);

impl Worker for Warm {
    fn open(&self, _: &SessionId, _: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        Ok(self.0.clone())
    }

    fn find(&self, _: &SessionId, _: &Created) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Ok(Some(self.0.clone()))
    }

    fn clear(&self, _: &SessionId, _: &Created) -> Result<(), WorkerError> {
        Ok(())
    }
}

/// What stands in for an agent of the engine: it notes that it has read a byte. The arguments of the CLI mean nothing to it.
const NOTES_A_BYTE: &str = r#"head -c 1 > /dev/null; : > "$HOME/first-byte"; exec sleep 60"#;

/// When the agent with this home noted that it had read a byte.
async fn noted(home: &Path) -> Outcome<SystemTime> {
    let (began, note) = (Instant::now(), home.join("first-byte"));
    while began.elapsed() < PATIENCE {
        if let Ok(found) = fs::metadata(&note) {
            fs::remove_file(&note)?;
            return Ok(found.modified()?);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(format!("the agent read nothing: there is no {}", note.display()).into())
}

/// The engine's own container with a clone of this bundle of the project, and a process in it.
fn bare_container(engine: &str, bundle: &Path) -> Outcome<Duration> {
    let began = Instant::now();
    let mount = format!("{}:/bundle:ro", bundle.display());
    let script = "git clone --quiet /bundle /tmp/app && cd /tmp/app && exec head -c 1";
    let mut docker = Command::new("docker");
    docker.args(["--host", engine, "run", "--rm", "--interactive", "--init", "--network", "none"]);
    docker.args(["--user", "1000:1000", "--volume", &mount, IMAGE, "sh", "-c", script]);
    read_one(&mut docker)?;
    Ok(began.elapsed())
}

/// Containers of this engine, with what belongs to them in this folder.
pub(crate) fn containers_at(folder: &Path, engine: &str) -> Containers {
    let containers = ContainerSettings {
        engine: Some(engine.to_owned()),
        image: Some(IMAGE.into()),
        ..ContainerSettings::default()
    };
    Containers::new(
        &WorkerSetup {
            home: folder.to_owned(),
            keeper: env!("CARGO_BIN_EXE_rapport").into(),
            worktrees: folder.join(CONTAINERS),
            ..WorkerSetup::default()
        },
        &containers,
    )
}

fn run(command: &mut Command) -> Outcome {
    let out = command.stdin(Stdio::null()).output()?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&out.stderr)).into())
}

/// Runs a process until it has read a byte and said so.
fn read_one(command: &mut Command) -> Outcome {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut input, mut output) =
        (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
    input.write_all(b"x")?;
    output.read_exact(&mut [0])?;
    drop(input);
    child.wait()?;
    Ok(())
}
