//! A container for each session: the project's files in a volume of their own, an image with the tools of the project,
//! and nothing else of this machine. An agent there has no rights, no credentials, and no network but what the settings
//! allow, through the host's proxy (`proxy`).
//!
//! The host sees the files only through the engine, and takes nothing from them but a patch (`carrying`), which becomes a
//! state in the project's repository; from there on it is work apart like any other (`apart`). The agent's home is a
//! folder of this machine, at the same path inside, so that its conversation is here whatever becomes of the container.
//!
//! A container that nobody uses stops by itself (`keeper/idle.rs`) and is started again when it is needed; one that is
//! gone is made again from its volume, or from the store.

mod carrying;
mod container;
mod docker;
mod launching;
mod setup;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, IsTerminal as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rapport_core::{Changes, ContainerLimits, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_durable as durable;

use super::apart::Apart;
use super::git::{git, is_new_enough};
use super::keeper::{self, door, mark};
use super::network::{Network, NetworkAccess};
use super::process::{Elsewhere, Kept, Launch, ProcessKind};
use super::proxy::Proxy;
use super::take_over::steps;
use super::worktree::{lock, make_folder, prefix, remove_last};
use super::worktrees::WorktreeKind;
use super::{
    KeptPlace, NoWorkplace, OURS, Worker, WorkerError, WorkerKind, WorkerSetup, Workers, Workplace,
    file_error, local,
};
use container::{Container, Making, RUN_FOLDER, Use};
use docker::Docker;
use launching::Start;

pub use docker::VARIABLE as ENGINE;

/// The name of the kind.
pub const NAME: &str = "container";
/// Where the volume is inside.
const FILES: &str = "/work";
/// Where the project's repository is inside.
pub const PROJECT: &str = "/work/project";
/// Where the volume with what the setup made is inside.
const PREPARED: &str = "/rapport/prepared";
/// Where the folder of the host with files is inside.
const GIVEN: &str = "/rapport/given";
/// Where the folder of the host with sockets is inside.
const RUN: &str = "/rapport/run";
/// Rapport's own program inside.
const PROGRAM: &str = "/rapport/rapport";

/// The image of containers, if the settings name none.
pub const IMAGE: &str = "rapport-worker";

/// The largest file to read from a container, in bytes.
const LARGEST_FILE: usize = 64 * 1024 * 1024;

/// How long the end of a program waits for the end of its containers.
const SETTLING: Duration = Duration::from_secs(10);

/// Variables about paths and sockets that do not exist inside.
const OUTSIDE: [&str; 7] =
    ["HOME", "PATH", "SHELL", "SSH_AUTH_SOCK", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// Reads so many bytes of a file inside, unless it is outside of the directory.
const READ: &str = r#"cd "$1" || exit 4
path=$(realpath -m -- "$2") || exit 4
case "$path" in "$1"/*) ;; *) echo "it is outside of the project" >&2; exit 4;; esac
[ -e "$path" ] || exit 2
[ -f "$path" ] || { echo "it is not a file" >&2; exit 4; }
head -c "$3" -- "$path""#;

/// Replaces a file inside, unless it is outside of the directory.
const REPLACE: &str = r#"cd "$1" || exit 4
folder=$(dirname -- "$2")
within() { case "$(realpath -m -- "$folder")/" in "$1"/*) ;; *) echo "its folder is a link that leads out of the project" >&2; exit 4;; esac; }
within "$1"
mkdir -p -- "$folder" || exit 4
within "$1"
new="$folder/.rapport-new-$$"
cp -- "$3" "$new" && sync -- "$new" && mv -f -- "$new" "$2" && sync -- "$folder" || { rm -f -- "$new"; exit 4; }"#;

/// The settings of containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSettings {
    /// The address of the engine, if it is not the usual one.
    pub engine: Option<String>,
    /// The image, if it is not the usual one.
    pub image: Option<String>,
    /// The command that prepares a new container, if there is one.
    pub setup: Option<String>,
    /// Additional variables of everything that runs inside.
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    /// How long a container that nobody uses keeps running.
    pub idle: Duration,
}

impl Default for ContainerSettings {
    fn default() -> Self {
        Self {
            engine: None,
            image: None,
            setup: None,
            env: Vec::new(),
            limits: Limits::default(),
            idle: Duration::from_secs(10 * 60),
        }
    }
}

impl ContainerSettings {
    /// The image of containers.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(IMAGE)
    }

    /// The same for a session whose container may use less.
    fn narrowed(&self, less: Option<ContainerLimits>) -> Self {
        let less = less.unwrap_or_default();
        let limits = Limits {
            memory: self.limits.memory.min(less.memory.unwrap_or(u64::MAX)),
            processors: self.limits.processors.min(less.cpus.unwrap_or(u32::MAX)),
            processes: self.limits.processes,
        };
        // It counts in seconds.
        let idle = less.idle_ms.map(|idle| Duration::from_millis(idle).max(Duration::from_secs(1)));
        let idle = idle.map_or(self.idle, |idle| self.idle.min(idle));
        Self { limits, idle, ..self.clone() }
    }
}

/// What a container may use of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: u64,
    pub processors: u32,
    pub processes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 2 * 1024 * 1024 * 1024, processors: 2, processes: 4096 }
    }
}

impl Limits {
    /// These limits on a machine of this size, which is not larger than it is.
    fn within(self, processors: Option<u64>, memory: Option<u64>) -> Self {
        let processors = processors.and_then(|there| u32::try_from(there).ok()).unwrap_or(u32::MAX);
        Self {
            memory: self.memory.min(memory.unwrap_or(u64::MAX)),
            processors: self.processors.clamp(1, processors.max(1)),
            processes: self.processes,
        }
    }
}

/// Containers for the sessions of a project.
#[derive(Clone, Debug)]
pub struct Containers {
    docker: Arc<Docker>,
    /// Where the folders of the sessions are.
    folder: PathBuf,
    home: PathBuf,
    settings: ContainerSettings,
    network: Network,
    keeper: PathBuf,
}

impl Containers {
    pub fn new(setup: &WorkerSetup) -> Self {
        Self {
            docker: Arc::new(Docker::at(setup.containers.engine.as_deref())),
            folder: setup.worktrees.clone(),
            home: setup.home.clone(),
            settings: setup.containers.clone(),
            network: setup.network.clone(),
            keeper: setup.keeper.clone(),
        }
    }

    /// The engine's version, if it can be reached.
    pub fn check(engine: Option<&str>) -> Result<String, NoWorkplace> {
        let docker = Docker::at(engine);
        let unavailable = |none| WorkerError::Unavailable { worker: NAME, none };
        docker::wait(async move { docker.version().await.map_err(unavailable) }).map_err(
            |error| match error {
                WorkerError::Unavailable { none, .. } => none,
                error => NoWorkplace { why: error.to_string(), advice: Vec::new() },
            },
        )
    }

    fn contained(&self, session: &SessionId, created: &Created) -> Result<Contained, WorkerError> {
        self.contained_from(session, created, None)
    }

    /// The same for a container that is filled from a volume with what the setup made.
    fn contained_from(
        &self,
        session: &SessionId,
        created: &Created,
        prepared: Option<String>,
    ) -> Result<Contained, WorkerError> {
        let project = Path::new(&created.project);
        let inside = prefix(project)?;
        Ok(Contained {
            container: Arc::new(self.container(session, created, prepared)),
            apart: Apart::of(project, session),
            agent: agent_of(created).and_then(|named| Some((named.to_owned(), found(named)?))),
            directory: carrying::directory(&inside),
            inside,
            reach: Arc::new(NetworkAccess::new(self.network.clone())),
            visit: Mutex::default(),
        })
    }

    fn container(&self, session: &SessionId, created: &Created, prepared: Option<String>) -> Container {
        // Sessions of several projects may have the same name.
        let digest = durable::digest(created.project.as_bytes());
        let name = format!("rapport-{session}-{}", &digest[digest.len() - 8..]);
        let program = agent_of(created).and_then(found);
        let labels = [
            (container::SESSION, session.to_string()),
            (container::PROJECT, created.project.clone()),
            (container::HOME, self.home.to_string_lossy().into_owned()),
        ];
        let making = Making {
            settings: self.settings.narrowed(created.limits),
            network: self.network.clone(),
            keeper: self.keeper.clone(),
            agent: program.map(|program| package(&program).unwrap_or(program)),
            prepared,
            labels: labels
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<HashMap<_, _>>(),
        };
        let folder = |kind: &str| self.folder.join(format!("{session}.{kind}"));
        Container::new(self.docker.clone(), name, making, folder)
    }

    fn find_place(&self, session: &SessionId, created: &Created) -> Result<Option<Contained>, WorkerError> {
        local::is_there(Path::new(&created.project))?;
        let place = self.contained(session, created)?;
        if !place.apart.is_made() {
            return Ok(None);
        }
        let gone = WorkerError::WorkplaceGone { directory: PathBuf::from(&place.container.name) };
        let has_files =
            container::wait(&place.container, |container| async move { container.has_files().await })?;
        if has_files { Ok(Some(place)) } else { Err(gone) }
    }
}

/// A container, as a kind.
pub(super) struct ContainerKind;

impl WorkerKind for ContainerKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn in_brief(&self) -> &'static str {
        "a container with a copy of the project"
    }

    fn workplace(&self) -> &'static str {
        NAME
    }

    fn has_branch(&self) -> bool {
        false
    }

    fn is_wall(&self) -> bool {
        true
    }

    fn check(&self, project: &Path, setup: &WorkerSetup) -> Result<(), NoWorkplace> {
        Containers::check(setup.containers.engine.as_deref()).map_err(
            |NoWorkplace { why, mut advice }| {
                advice.push("Or work without a container: --worker worktree");
                NoWorkplace { why: format!("cannot make a container: {why}"), advice }
            },
        )?;
        WorktreeKind.check(project, setup)
    }

    fn diagnose(&self, setup: &WorkerSetup) -> Option<Result<String, NoWorkplace>> {
        Some(Containers::check(setup.containers.engine.as_deref()))
    }

    fn without(&self) -> Option<&'static str> {
        Some("no container engine answers; docs/workers.md describes how agents work in containers")
    }

    /// WORK-17: a container with a waiting agent would not stop by itself.
    fn hot_at_most(&self, setup: &WorkerSetup) -> Option<Duration> {
        Some(setup.containers.idle)
    }

    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers {
        workers.with(self.name(), Containers::new(setup))
    }
}

impl Worker for Containers {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        if let Some(found) = self.find_place(session, created)? {
            found.container.make_folders()?;
            // A process may have been killed while it restored the files.
            let is_filled = |container: Arc<Container>| async move { carrying::is_filled(&container).await };
            if container::wait(&found.container, is_filled)? {
                return Ok(Arc::new(found));
            }
            return Err(WorkerError::WorkplaceGone { directory: PathBuf::from(&found.container.name) });
        }
        // The leftover of a process that was killed while creating it; nobody has worked there.
        self.clear(session, created)?;
        let prepared = self.prepared(session, created)?;
        let place = self.contained_from(session, created, prepared)?;
        let _lock = lock(&place.apart.project)?;
        make_folder(&self.folder)?;
        place.container.make_folders()?;
        let made = carrying::fill(&place.container, &place.apart, &place.inside, None);
        if made.is_err() {
            // What was made is of no use; if it cannot be removed either, the next attempt does.
            let _ = self.remove(&place.container);
        }
        made.map(|()| Arc::new(place) as Arc<dyn Workplace>)
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Ok(self.find_place(session, created)?.map(|place| Arc::new(place) as Arc<dyn Workplace>))
    }

    /// Fills another container from the state at the beginning and the patch since then.
    fn restore(&self, session: &SessionId, created: &Created, work: &[u8]) -> Result<(), WorkerError> {
        let prepared = self.prepared(session, created)?;
        let place = self.contained_from(session, created, prepared)?;
        let _lock = lock(&place.apart.project)?;
        place.container.make_folders()?;
        // Part of it may be left.
        container::wait(&place.container, |container| async move { container.remove().await })?;
        let patch = (!work.is_empty()).then_some(work);
        carrying::fill(&place.container, &place.apart, &place.inside, patch)
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        let container = Arc::new(self.container(session, created, None));
        let apart = Apart::of(Path::new(&created.project), session);
        // Its folders are made before the container, and removed after it.
        if apart.is_made() || container.run.exists() {
            self.remove(&container)?;
        }
        if prefix(&apart.project).is_ok() {
            apart.forget()?;
        }
        remove_last(&self.folder);
        Ok(())
    }

    fn may_keep(&self, _project: &Path) -> bool {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|kind| kind == RUN_FOLDER))
    }

    fn kept(&self, project: &Path) -> Result<Vec<KeptPlace>, WorkerError> {
        let (docker, label) = (self.docker.clone(), format!("{}={}", container::PROJECT, project.display()));
        let found = docker::wait(async move {
            let mut found = Vec::new();
            for one in docker.labelled(&label).await? {
                let container = docker.inspect(&one.name).await?;
                found.push((one, container.as_ref().and_then(container::stopped_since)));
            }
            Ok(found)
        })?;
        let found = found.into_iter().filter_map(|(one, unused_since)| {
            let session = SessionId::new(one.labels.get(container::SESSION)?);
            Some(KeptPlace {
                worker: NAME,
                is_running: one.is_running,
                is_visited: is_visited(&self.folder.join(format!("{session}.{RUN_FOLDER}"))),
                session,
                unused_since,
                removal: format!("docker rm --force {0}; docker volume rm {0}", one.name),
                name: one.name,
            })
        });
        Ok(found.collect())
    }

    fn stop(&self, place: &KeptPlace) -> Result<(), WorkerError> {
        let (docker, name) = (self.docker.clone(), place.name.clone());
        docker::wait(async move { docker.kill(&name).await })
    }

    fn release(&self, place: &KeptPlace) -> Result<(), WorkerError> {
        let (docker, name) = (self.docker.clone(), place.name.clone());
        docker::wait(async move {
            docker.remove(&name).await?;
            docker.remove_volume(&name).await
        })
    }
}

/// Whether a person looks into the container with this folder: they hold its lock.
fn is_visited(run: &Path) -> bool {
    File::open(run).is_ok_and(|folder| matches!(folder.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Waits, for a while, until containers have ended that this process no longer uses. One that has not ended by then
/// stops by itself.
pub(super) fn settle() {
    docker::settle(SETTLING);
}

impl Containers {
    /// Removes a container, its volume and its folders.
    fn remove(&self, container: &Arc<Container>) -> Result<(), WorkerError> {
        container::wait(container, |container| async move { container.remove().await })?;
        for folder in container.folders() {
            durable::remove_folder(folder).map_err(file_error("remove", folder))?;
        }
        Ok(())
    }
}

/// The container of one session, as its workplace.
struct Contained {
    container: Arc<Container>,
    apart: Apart,
    /// The project's path within its repository.
    inside: String,
    /// Its directory inside.
    directory: PathBuf,
    /// The agent's program as it is named, and where it is on this machine, and therefore inside.
    agent: Option<(OsString, PathBuf)>,
    reach: Arc<NetworkAccess>,
    /// Held while a person looks into it.
    visit: Mutex<Option<File>>,
}

impl Contained {
    fn state(&self) -> Result<String, WorkerError> {
        let patch = carrying::patch(&self.container, &self.apart, &self.inside)?;
        carrying::state_of(&self.container.given, &self.apart, &patch)
    }

    fn script(&self, script: &'static str, args: &[&str]) -> io::Result<docker::Ran> {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let ran = container::wait(&self.container, |container| async move {
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            container.script(script, &args).await
        });
        ran.map_err(io::Error::other)
    }

    /// The words of the keeper for a process inside. It gets copies of the files of this machine that its arguments name.
    fn arguments(&self, launch: &Launch<'_>, variables: &[&str]) -> io::Result<Vec<String>> {
        let mut words = Vec::new();
        if launch.kind == ProcessKind::Command {
            words.push(keeper::COMMAND.to_owned());
        }
        words.extend([door::DOOR.to_owned(), variables.join(","), "--".to_owned()]);
        let program = match &self.agent {
            _ if Path::new(launch.program) == launch.keeper => Path::new(PROGRAM),
            Some((named, path)) if named == launch.program => path,
            // It has to be in the image.
            _ => Path::new(launch.program),
        };
        words.push(program.to_string_lossy().into_owned());
        for arg in launch.args {
            words.push(match launch.kind {
                ProcessKind::Agent => self.given(arg)?,
                // The words of a command are about the files inside.
                ProcessKind::Command => arg.to_string_lossy().into_owned(),
            });
        }
        Ok(words)
    }

    /// An argument as it is inside.
    fn given(&self, arg: &OsStr) -> io::Result<String> {
        let text = arg.to_string_lossy().into_owned();
        let (flag, value) = match text.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
            Some((flag, value)) => (format!("{flag}="), value),
            None => (String::new(), text.as_str()),
        };
        let path = Path::new(value);
        if !path.is_absolute() || !path.is_file() || path.starts_with(&self.container.home) {
            return Ok(text);
        }
        let name = path.file_name().unwrap_or_default();
        let copy = Path::new(&durable::digest(value.as_bytes())[..12]).join(name);
        let there = self.container.given.join(&copy);
        let folder = there.parent().unwrap_or(&there);
        durable::private_folder(folder)?;
        container::give(folder)?;
        durable::replace_private(&there, &std::fs::read(path)?)?;
        container::give(&there)?;
        Ok(format!("{flag}{}", Path::new(GIVEN).join(copy).display()))
    }

    fn environment(&self, env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let is_proxy =
            |name: &OsStr| name.to_str().is_some_and(|name| name.to_lowercase().ends_with("_proxy"));
        let is_unreachable = |name: &OsStr| *self.reach.network() != Network::Open && is_proxy(name);
        let stays = |name: &OsStr| !OUTSIDE.iter().any(|outside| name == *outside) && !is_unreachable(name);
        let mut env: Vec<_> = env.into_iter().filter(|(name, _)| stays(name)).collect();
        env.push(("HOME".into(), self.container.home.clone().into()));
        env
    }
}

impl Workplace for Contained {
    fn directory(&self) -> &Path {
        &self.directory
    }

    fn home(&self) -> Option<&Path> {
        Some(&self.container.home)
    }

    fn seen_at(&self) -> &Path {
        &self.apart.project
    }

    fn allow(&self, hosts: &[String]) {
        self.reach.allow(hosts);
    }

    /// The keeper is inside. Everything that takes time happens after this returns.
    fn spawn(&self, mut launch: Launch<'_>) -> io::Result<Kept> {
        launch.env = self.environment(std::mem::take(&mut launch.env));
        let proxy = Proxy::new(self.reach.clone(), launch.service.take(), launch.refused.take())?;
        let env = proxy.environment();
        launch.env.retain(|(name, _)| !env.iter().any(|(known, _)| name == known));
        let variables: Vec<_> = env.iter().map(|(name, _)| *name).collect();
        let arguments = self.arguments(&launch, &variables)?;
        launch.env.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        launch.env.push((mark::VARIABLE.into(), launch.mark.to_string().into()));
        let texts = launch.env.into_iter().filter_map(|(name, value)| {
            Some(format!("{}={}", name.into_string().ok()?, value.into_string().ok()?))
        });
        // The host may have restored the agent's conversation there.
        container::give_all(&self.container.home)?;
        let (reading, lifeline) = io::pipe()?;
        let (handed_over, way_out) = UnixStream::pair()?;
        let start = Start {
            arguments,
            env: texts.collect(),
            directory: self.directory.clone(),
            descriptors: vec![
                launch.stdin,
                launch.stdout,
                launch.stderr,
                reading.into(),
                launch.beside,
                OwnedFd::from(way_out),
            ],
            program: Path::new(launch.program).display().to_string(),
        };
        let (ended_to, ended) = tokio::sync::oneshot::channel();
        let container = self.container.clone();
        docker::spawn(async move {
            // The receiver is gone with the process's handle.
            let _ = ended_to.send(launching::run(container, start).await);
        })?;
        let container = self.container.clone();
        let end = Box::new(move || {
            let container = container.clone();
            let ending = docker::spawn(async move {
                if let Err(error) = container.end().await {
                    tracing::warn!(%error, "a container was not ended");
                }
            });
            if let Err(error) = ending {
                tracing::warn!(%error, "a container was not ended");
            }
        });
        let kept = Kept::elsewhere(Elsewhere { ended, status: None, end }, lifeline, launch.mark);
        Ok(kept.with_proxy(proxy.serve(handed_over)?))
    }

    /// The engine's own program knows how to show a terminal of a container.
    fn way_in(&self, command: &[OsString]) -> io::Result<Command> {
        let started =
            container::wait(&self.container, |container| async move { container.up(Use::Host).await });
        started.map_err(io::Error::other)?;
        let visit = File::open(&self.container.run).and_then(|run| run.lock_shared().map(|()| run))?;
        *self.visit.lock().unwrap_or_else(PoisonError::into_inner) = Some(visit);
        let mut entered = Command::new("docker");
        entered.arg("--host").arg(self.container.docker.address()).args(["exec", "--interactive"]);
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            entered.arg("--tty");
        }
        let home = format!("HOME={}", self.container.home.display());
        entered.args(["--user", &Container::user_name(), "--env", &home, "--workdir"]);
        entered.arg(&self.directory).arg(&self.container.name);
        if command.is_empty() {
            entered.arg("sh")
        } else {
            entered.args(command)
        };
        Ok(entered)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let most = (LARGEST_FILE + 1).to_string();
        let ran = self.script(READ, &[&self.directory.to_string_lossy(), path, &most])?;
        match ran.code {
            0 if ran.out.len() > LARGEST_FILE => {
                Err(io::Error::other(format!("it is larger than {LARGEST_FILE} bytes")))
            }
            0 => Ok(Some(ran.out)),
            2 => Ok(None),
            _ => Err(io::Error::other(ran.why())),
        }
    }

    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let name = format!("in-{}", uuid::Uuid::new_v4().simple());
        let file = self.container.given.join(&name);
        durable::replace_private(&file, content)?;
        container::give(&file)?;
        let given = format!("{GIVEN}/{name}");
        let ran = self.script(REPLACE, &[&self.directory.to_string_lossy(), path, &given]);
        durable::remove(&file)?;
        let ran = ran?;
        if ran.code == 0 { Ok(()) } else { Err(io::Error::other(ran.why())) }
    }

    fn list(&self) -> Result<Vec<String>, WorkerError> {
        let state = self.state()?;
        let list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", &state];
        let listed = git(&self.apart.project, None, &list)?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        let below = names.filter_map(|name| name.strip_prefix(&self.inside).map(str::to_owned));
        Ok(below.filter(|name| !OURS.iter().any(|ours| Path::new(name).starts_with(ours))).collect())
    }

    fn snapshot(&self) -> Result<Option<String>, WorkerError> {
        self.state().map(Some)
    }

    fn work(&self) -> Result<Option<Vec<u8>>, WorkerError> {
        carrying::patch(&self.container, &self.apart, &self.inside).map(Some)
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        let result = self.state()?;
        let files = self.apart.project_here().files_between(since, &result)?;
        Ok(Changes { files, result: Some(result), unknown: None })
    }

    fn patch(&self, since: Option<&str>) -> Result<String, WorkerError> {
        let since = since.map_or_else(|| self.apart.base(), |since| Ok(since.to_owned()))?;
        self.apart.project_here().diff(&since, &self.state()?)
    }

    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        is_new_enough()?;
        let (base, there) = (self.apart.base()?, self.state()?);
        let moved = steps(&local::top(&self.apart.project)?, &base, &there)?;
        let moved = moved.into_iter().filter(|step| step.is_of_a_repository());
        let mut paths: Vec<_> = moved.map(|step| step.path.display().to_string()).collect();
        paths.extend(carrying::nested(&self.container)?);
        if !paths.is_empty() {
            let workplace = PathBuf::from(&self.container.name);
            return Err(WorkerError::RepositoryInside { paths, workplace });
        }
        self.apart.merge(&there, with_conflicts)
    }

    fn apply(&self, merged: &Merged) -> Result<Vec<FileChange>, WorkerError> {
        self.apart.apply(merged)
    }
}

impl Drop for Contained {
    /// A container that this process started does not outlive its use. Whoever drops this does not wait for the engine.
    fn drop(&mut self) {
        let container = self.container.clone();
        let ending = docker::finish(async move {
            if let Err(error) = container.end_own().await {
                tracing::warn!(%error, container = container.name, "a container was not ended");
            }
        });
        if let Err(error) = ending {
            tracing::warn!(%error, container = self.container.name, "a container was not ended");
        }
    }
}

/// The program of a session's agent.
fn agent_of(created: &Created) -> Option<&OsStr> {
    created.agent.as_ref()?.command.first().map(OsStr::new)
}

/// A program of this machine, without links; `None` if there is none of this name, so that the image has to have it.
fn found(program: &OsStr) -> Option<PathBuf> {
    let named = Path::new(program);
    let path = if named.components().count() > 1 {
        named.to_owned()
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(named)).find(|path| path.is_file())?
    };
    path.canonicalize().ok().filter(|path| path.is_file())
}

/// The folder of packages that contains a program.
fn package(program: &Path) -> Option<PathBuf> {
    let folders: Vec<_> = program.ancestors().collect();
    folders.into_iter().rev().find(|folder| folder.ends_with("node_modules")).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_the_smaller_of_setting_and_machine() {
        let asked = Limits { memory: 8, processors: 4, processes: 9 };
        let within = |processors, memory| asked.within(processors, memory);
        assert_eq!(within(Some(2), Some(5)), Limits { memory: 5, processors: 2, processes: 9 });
        assert_eq!(within(Some(16), Some(50)), asked);
        assert_eq!(within(None, None), asked, "an engine that does not tell");
    }

    #[test]
    fn the_packages_of_a_program_come_with_it() {
        let program = Path::new("/opt/node_modules/@a/b/node_modules/c/cli.js");
        assert_eq!(package(program).as_deref(), Some(Path::new("/opt/node_modules")));
        assert_eq!(package(Path::new("/usr/bin/claude")), None);
        assert!(found(OsStr::new("sh")).is_some_and(|path| path.is_absolute()));
        assert_eq!(found(OsStr::new("no-such-program")), None);
    }
}
