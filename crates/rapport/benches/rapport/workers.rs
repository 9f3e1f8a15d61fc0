//! How long it takes from a session's beginning to the first byte that its agent reads, in each kind of workplace, beside
//! what git, bubblewrap and the container engine need for the same. The project has 2,000 files and 50 MB of history.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rapport::workers::containers::{ContainerSettings, Containers};
use rapport::workers::keeper::mark::Mark;
use rapport::workers::process::{Kept, Launch, ProcessKind};
use rapport::workers::sandboxes::Sandboxes;
use rapport::workers::worktrees::Worktrees;
use rapport::workers::{Worker, WorkerSetup, Workplace};
use rapport_core::{By, ConversationId, Created, SessionId};

use super::{Outcome, row};

const TIMES: usize = 20;
const FILES: usize = 2_000;
/// Bytes of history that no compression makes smaller.
const HISTORY: usize = 50 * 1024 * 1024;

const ENGINE: &str = "RAPPORT_TEST_ENGINE";
const IMAGE: &str = "rapport-test";
const TARGET: &str = "target: under 1.3";

/// What stands in for an agent: it is done when it has read a byte.
const READER: [&str; 3] = ["head", "-c", "1"];

pub(super) fn measure() -> Outcome {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let stage = Stage::new(folder.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _inside = runtime.enter();
    let worktrees = Worktrees::new(folder.path().join("worktrees"));
    let bare = stage.median(|number| stage.bare_worktree(number, &[]))?;
    let ours = stage.median(|number| stage.first_byte(&worktrees, "worktree", number))?;
    told("worktree, to the agent's first byte", "git worktree add", ours, bare);
    match Sandboxes::check() {
        Ok(_) => {
            let sandboxes = Sandboxes::new(folder.path().join("sandboxes"), None);
            let walls =
                ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--"];
            let bare = stage.median(|number| stage.bare_worktree(number, &walls))?;
            let ours = stage.median(|number| stage.first_byte(&sandboxes, "sandbox", number))?;
            told("sandbox, to the agent's first byte", "git worktree add, bwrap", ours, bare);
        }
        Err(none) => println!("  sandboxes are not measured: {}", none.why),
    }
    match std::env::var(ENGINE) {
        Ok(engine) => stage.containers(&engine),
        Err(_) => {
            println!(
                "  containers are not measured: {ENGINE} names no engine; `cargo xtask bench` starts one"
            );
            Ok(())
        }
    }
}

fn told(what: &str, beside: &str, ours: Duration, bare: Duration) {
    row(what, format!("{:.0} ms", ours.as_secs_f64() * 1e3), "");
    row(
        &format!("  as a share of {beside}"),
        format!("{:.2}", ours.as_secs_f64() / bare.as_secs_f64()),
        TARGET,
    );
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

    /// The median of what is measured so often, after one that does not count.
    fn median(&self, mut measure: impl FnMut(usize) -> Outcome<Duration>) -> Outcome<Duration> {
        measure(0)?;
        let mut times: Vec<_> = (1..=TIMES).map(&mut measure).collect::<Outcome<_>>()?;
        times.sort_unstable();
        times.get(TIMES / 2).copied().ok_or_else(|| "nothing was measured".into())
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

    fn session(&self, worker: &str, number: usize) -> (SessionId, Created) {
        let by = By::Person { channel: "terminal".into(), id: "bench".into() };
        let project = self.project.to_string_lossy().into_owned();
        let created = Created::new("measure".into(), project, ConversationId::new("4f1c"), by);
        (SessionId::new(format!("20260124-{worker}-{number}")), Created { worker: worker.into(), ..created })
    }

    /// A workplace of ours, and a process in it.
    fn first_byte(&self, worker: &dyn Worker, name: &str, number: usize) -> Outcome<Duration> {
        let (session, created) = self.session(name, number);
        let began = Instant::now();
        let place = worker.open(&session, &created)?;
        let kept = reads_one(&*place)?;
        let took = began.elapsed();
        drop(kept);
        drop(place);
        worker.clear(&session, &created)?;
        Ok(took)
    }

    fn containers(&self, engine: &str) -> Outcome {
        let containers = ContainerSettings {
            engine: Some(engine.to_owned()),
            image: Some(IMAGE.into()),
            ..ContainerSettings::default()
        };
        let setup = WorkerSetup {
            home: self.folder.clone(),
            keeper: env!("CARGO_BIN_EXE_rapport").into(),
            worktrees: self.folder.join("containers"),
            containers,
            ..WorkerSetup::default()
        };
        let ours = Containers::new(&setup);
        let bare = self.median(|_| self.bare_container(engine))?;
        let cold = self.median(|number| self.first_byte(&ours, "container", number))?;
        told("container, to the agent's first byte, cold", "docker run, a clone of the bundle", cold, bare);
        let (session, created) = self.session("container", 0);
        drop(ours.open(&session, &created)?);
        let warm = self.median(|_| {
            let began = Instant::now();
            let place = ours.open(&session, &created)?;
            let kept = reads_one(&*place)?;
            let took = began.elapsed();
            drop(kept);
            drop(place);
            Ok(took)
        })?;
        ours.clear(&session, &created)?;
        told("container, to the agent's first byte, warm", "the same", warm, bare);
        Ok(())
    }

    /// The engine's own container with a clone of a bundle of the project, and a process in it.
    fn bare_container(&self, engine: &str) -> Outcome<Duration> {
        let bundle = self.folder.join("bare.bundle");
        let began = Instant::now();
        self.git(&["bundle", "create", "--quiet", &bundle.to_string_lossy(), "HEAD"])?;
        let mount = format!("{}:/bundle:ro", bundle.display());
        let script = "git clone --quiet /bundle /tmp/app && cd /tmp/app && exec head -c 1";
        let mut docker = Command::new("docker");
        docker.args(["--host", engine, "run", "--rm", "--interactive", "--init", "--network", "none"]);
        docker.args(["--user", "1000:1000", "--volume", &mount, IMAGE, "sh", "-c", script]);
        read_one(&mut docker)?;
        Ok(began.elapsed())
    }
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

/// The same in a workplace, under its keeper.
fn reads_one(place: &dyn Workplace) -> Outcome<Kept> {
    let (input, mut written) = std::io::pipe()?;
    let (mut said, output) = std::io::pipe()?;
    let args = READER[1..].iter().map(Into::into).collect::<Vec<_>>();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let kept = place.spawn(Launch {
        keeper: Path::new(env!("CARGO_BIN_EXE_rapport")),
        kind: ProcessKind::Agent,
        program: READER[0].as_ref(),
        args: &args,
        env: vec![("PATH".into(), path)],
        mark: Mark::unnamed(),
        stdin: input.try_clone()?.into(),
        stdout: output.into(),
        stderr: fs::File::open("/dev/null")?.into(),
        beside: input.into(),
        tools: &[],
        service: None,
        refused: None,
    })?;
    written.write_all(b"x")?;
    said.read_exact(&mut [0])?;
    Ok(kept)
}
