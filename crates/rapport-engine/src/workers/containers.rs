//! A container for each session: the project's files in a volume of their own, an image with the tools of the project,
//! and nothing else of this machine. An agent there has no rights, no credentials, and no network but what the settings
//! allow, through the host's proxy (`proxy`).
//!
//! The host sees the files only through the engine, and takes only a patch from there (`transfer`). The patch becomes
//! a state in the project's repository, and from then on is handled like other separate work (`separate_work`). The
//! agent's home is a folder of this machine, mounted at the same path, so that the agent's conversation survives the
//! container.
//!
//! An engine on another machine can mount nothing of this one: programs are copied there (`tools`), and one stream
//! carries the input, the output and the connections of a process (`stream`).
//!
//! An unused container stops by itself (`keeper/idle.rs`), and is started again when it is needed. A container that
//! was removed is made again from its volume, or from the store.

mod archive;
mod container;
mod docker;
mod launch;
mod remote;
mod setup;
mod stream;
mod tools;
mod transfer;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rapport_core::{ApplyTo, Changes, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_door::WorkplaceNow;
use rapport_durable::{self as durable, FolderLock};

use super::container_kind::{ContainerSettings, Limits, NAME, PROJECT};
use super::git::{git, is_new_enough};
use super::keeper::{self, door, mark};
use super::local::ReadState;
use super::network::{Network, NetworkAccess};
use super::process::{Elsewhere, KeptProcess, Launch, ProcessKind};
use super::project_update::steps;
use super::proxy::Proxy;
use super::separate_work::{Apart, all_was_read, left_unread, lock, make_folder, prefix, remove_last};
use super::{
    LARGEST_FILE, NoWorkplace, OURS, StoredWorkplace, Worker, WorkerError, WorkerSetup, Workplace,
    file_error, local, shortened,
};
use crate::clock::Clock;
use crate::projects::trust::Trust;
use container::{Container, Making, RUN_FOLDER, Use};
use docker::Docker;
use launch::{NewProcess, ProcessPipes, ProcessStart, WayOut};
use transfer::ReadWork;

/// Where the volume with the session's files is mounted.
const FILES: &str = "/work";
/// Where the volume with the results of the setup is mounted.
const PREPARED: &str = "/rapport/prepared";
/// Where the host's folder with files for the container is mounted.
const GIVEN: &str = "/rapport/given";
/// Where the host's folder with sockets is mounted.
const RUN: &str = "/rapport/run";
/// The path of Rapport's own program in a container.
const PROGRAM: &str = "/rapport/rapport";
/// Where the volume with Rapport's own program is mounted, if the engine is on another machine.
const TOOLS: &str = "/rapport/tools";
/// Where the volume with the agent's program is mounted, if the engine is on another machine.
const AGENT: &str = "/rapport/agent";

/// How long the end of this process waits for its containers to end.
const SETTLING: Duration = Duration::from_secs(10);

/// Variables with paths and sockets of the host, which do not exist in a container.
const OUTSIDE: [&str; 7] =
    ["HOME", "PATH", "SHELL", "SSH_AUTH_SOCK", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// Prints at most so many bytes of a file in the container. Fails if the path leads out of the directory.
const READ: &str = r#"cd "$1" || exit 4
path=$(realpath -m -- "$2") || exit 4
case "$path" in "$1"/*) ;; *) echo "it is outside of the project" >&2; exit 4;; esac
[ -e "$path" ] || exit 2
[ -f "$path" ] || { echo "it is not a file" >&2; exit 4; }
head -c "$3" -- "$path""#;

/// Prints where a path in the container leads, seen from the directory.
const LEADS_TO: &str = r#"cd "$1" && realpath -m -- "$2""#;

/// Prints the bytes of a file after an offset. If the file is shorter, prints all of it, with another exit code.
const FETCH: &str = r#"[ -f "$1" ] || exit 2
size=$(ls -lnL -- "$1" | { read -r _ _ _ _ size _ && echo "$size"; }) || exit 4
[ "$size" -ge "$2" ] || { cat -- "$1" && exit 3; exit 4; }
tail -c +$(($2 + 1)) -- "$1" || exit 4"#;

/// Replaces a file in the container. Fails if the path leads out of the directory.
const REPLACE: &str = r#"cd "$1" || exit 4
folder=$(dirname -- "$2")
within() { case "$(realpath -m -- "$folder")/" in "$1"/*) ;; *) echo "its folder is a link that leads out of the project" >&2; exit 4;; esac; }
within "$1"
mkdir -p -- "$folder" || exit 4
within "$1"
new="$folder/.rapport-new-$$"
cp -- "$3" "$new" && sync -- "$new" && mv -f -- "$new" "$2" && sync -- "$folder" || { rm -f -- "$new"; exit 4; }"#;

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
    clock: Clock,
    /// Decides whether ignored files of the project are copied into containers.
    trust: Trust,
}

impl Containers {
    pub fn new(setup: &WorkerSetup, settings: &ContainerSettings) -> Self {
        Self {
            docker: Arc::new(Docker::at(settings.engine.as_deref())),
            folder: setup.worktrees.clone(),
            home: setup.home.clone(),
            settings: settings.clone(),
            network: setup.network.clone(),
            keeper: setup.keeper.clone(),
            clock: setup.clock.clone(),
            trust: setup.trust.clone(),
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

    /// Whether the engine is on another machine.
    pub(super) fn is_remote(settings: &ContainerSettings) -> bool {
        Docker::at(settings.engine.as_deref()).is_remote()
    }

    /// The limits of containers on the machine of the engine.
    pub(super) fn limits_here(settings: &ContainerSettings) -> Result<Limits, WorkerError> {
        let (docker, limits) = (Docker::at(settings.engine.as_deref()), settings.limits);
        let (processors, memory) = docker::wait(async move { docker.size().await })?;
        Ok(limits.within(processors, memory))
    }

    fn contained(&self, session: &SessionId, created: &Created) -> Result<Contained, WorkerError> {
        self.contained_from(session, created, None)
    }

    /// The workplace of a session. If `prepared` is given, its container is filled from that volume, which has the
    /// results of the setup.
    fn contained_from(
        &self,
        session: &SessionId,
        created: &Created,
        prepared: Option<String>,
    ) -> Result<Contained, WorkerError> {
        let project = Path::new(&created.project);
        let inside = prefix(project)?;
        let container = Arc::new(self.container_of(session, created, prepared));
        let agent = agent_of(created);
        Ok(Contained {
            apart: Apart::of(project, session).behind_walls(self.trust.clone()),
            agent: agent.and_then(|named| Some((named.to_owned(), container.agent_program(&found(named)?)))),
            container,
            fetched: Mutex::default(),
            directory: transfer::directory(&inside),
            inside,
            reach: Arc::new(NetworkAccess::new(self.network.clone())),
            visit: Mutex::default(),
        })
    }

    fn container_of(&self, session: &SessionId, created: &Created, prepared: Option<String>) -> Container {
        // The digest keeps sessions of several projects with the same name apart.
        let digest = durable::digest(created.project.as_bytes());
        let name = format!("rapport-{session}-{}", &digest[digest.len() - 8..]);
        let program = agent_of(created).and_then(found);
        let labels = [
            (container::SESSION, session.to_string()),
            (container::PROJECT, created.project.clone()),
            (container::HOME, self.home.to_string_lossy().into_owned()),
        ];
        let making = Making {
            settings: self.settings.of(created),
            network: self.network.clone(),
            keeper: self.keeper.clone(),
            agent: program.map(|program| package(&program).unwrap_or(program)),
            rapport_home: self.home.clone(),
            clock: self.clock.clone(),
            prepared,
            labels: labels
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<HashMap<_, _>>(),
        };
        let folder = |kind: &str| self.folder.join(format!("{session}.{kind}"));
        Container::new(self.docker.clone(), name, making, folder)
    }

    fn find_contained(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Contained>, WorkerError> {
        local::is_there(Path::new(&created.project))?;
        let contained = self.contained(session, created)?;
        if !contained.apart.is_made() {
            return Ok(None);
        }
        let gone = WorkerError::WorkplaceGone { directory: PathBuf::from(&contained.container.name) };
        let has_files =
            container::wait(&contained.container, |container| async move { container.has_files().await })?;
        if has_files { Ok(Some(contained)) } else { Err(gone) }
    }
}

impl Worker for Containers {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        if let Some(found) = self.find_contained(session, created)? {
            self.make_folders(&found.container, created)?;
            // A process may have been killed while it was filling the container.
            let is_filled = |container: Arc<Container>| async move { transfer::is_filled(&container).await };
            if container::wait(&found.container, is_filled)? {
                return Ok(Arc::new(found));
            }
            return Err(WorkerError::WorkplaceGone { directory: PathBuf::from(&found.container.name) });
        }
        // A killed process may have left an incomplete container, in which no agent has worked.
        let container = Arc::new(self.container_of(session, created, None));
        self.remove_all(&container, created, session)?;
        self.make_folders(&container, created)?;
        let made = self.fill(session, created, None);
        if made.is_err() {
            // An incomplete container is useless. If it cannot be removed now, the next attempt removes it.
            let _ = self.remove(&container);
        }
        made
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Ok(self.find_contained(session, created)?.map(|contained| Arc::new(contained) as Arc<dyn Workplace>))
    }

    /// Fills another container from the state at the start of the work and the patch since then.
    fn restore(
        &self,
        session: &SessionId,
        created: &Created,
        work: &[u8],
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        prefix(Path::new(&created.project))?;
        let container = Arc::new(self.container_of(session, created, None));
        self.make_folders(&container, created)?;
        // Parts of the old container may be left.
        container::wait(&container, |container| async move { container.remove().await })?;
        self.fill(session, created, (!work.is_empty()).then_some(work))
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        let container = Arc::new(self.container_of(session, created, None));
        self.remove_all(&container, created, session)?;
        let project = Path::new(&created.project);
        let _lock = if prefix(project).is_ok() { Some(lock(project)?) } else { None };
        remove_last(&self.folder, project);
        Ok(())
    }

    fn now(&self, session: &SessionId, created: &Created) -> Result<Option<WorkplaceNow>, WorkerError> {
        let container = Arc::new(self.container_of(session, created, None));
        container::wait(&container, |container| async move { container.now().await })
    }

    /// The project's folders may have been removed, so the note in Rapport's home counts as well.
    fn may_keep(&self, project: &Path) -> bool {
        if self.note_of_use(project).exists() {
            return true;
        }
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|kind| kind == RUN_FOLDER))
    }

    fn kept(&self, project: &Path) -> Result<Vec<StoredWorkplace>, WorkerError> {
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
            Some(StoredWorkplace {
                worker: NAME,
                is_running: one.is_running,
                is_visited: is_visited(&self.folder.join(format!("{session}.{RUN_FOLDER}"))),
                session,
                unused_since,
                removal: container::removal(&self.docker, &one.name),
                name: one.name,
            })
        });
        Ok(found.collect())
    }

    fn stop(&self, stored: &StoredWorkplace) -> Result<(), WorkerError> {
        let (docker, name) = (self.docker.clone(), stored.name.clone());
        docker::wait(async move { docker.kill(&name).await })
    }

    fn release(&self, stored: &StoredWorkplace) -> Result<(), WorkerError> {
        let (docker, name) = (self.docker.clone(), stored.name.clone());
        docker::wait(async move { container::remove(&docker, &name).await })
    }
}

/// Whether a person is in the container with this folder. Their process then holds a lock on the folder.
fn is_visited(run: &Path) -> bool {
    FolderLock::is_held(run).unwrap_or(false)
}

/// Waits, for a limited time, until the containers that this process no longer uses have ended. One that takes longer
/// stops by itself.
pub(super) fn settle() {
    docker::settle(SETTLING);
}

impl Containers {
    /// Makes the folders of this machine that a container uses. The project's lock protects the directory around
    /// them: a process that removes the project's last container also removes that directory, unless these folders
    /// are in it.
    fn make_folders(&self, container: &Container, created: &Created) -> Result<(), WorkerError> {
        let project = Path::new(&created.project);
        let _lock = lock(project)?;
        self.note_use(project)?;
        make_folder(&self.folder)?;
        container.make_folders()
    }

    /// Notes in Rapport's home, before the first container of a project is made, that the engine may have containers of
    /// it. Only then is the engine asked at each start.
    fn note_use(&self, project: &Path) -> Result<(), WorkerError> {
        let note = self.note_of_use(project);
        if note.exists() {
            return Ok(());
        }
        let folder = note.parent().unwrap_or(&note);
        let words = format!("{}\n", project.display());
        let noted =
            durable::private_folder(folder).and_then(|()| durable::replace_private(&note, words.as_bytes()));
        noted.map_err(file_error("write", &note))
    }

    fn note_of_use(&self, project: &Path) -> PathBuf {
        self.home.join("containers").join(durable::digest(project.as_os_str().as_bytes()))
    }

    /// Fills a new container, whose folders exist, with the project, and runs the setup before that if the settings
    /// name one.
    fn fill(
        &self,
        session: &SessionId,
        created: &Created,
        patch: Option<&[u8]>,
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        let prepared = self.prepared(session, created)?;
        let contained = self.contained_from(session, created, prepared)?;
        transfer::fill(&contained.container, &contained.apart, &contained.inside, patch)?;
        Ok(Arc::new(contained))
    }

    /// Removes all parts of a session's container, and the ref of the state at its start.
    fn remove_all(
        &self,
        container: &Arc<Container>,
        created: &Created,
        session: &SessionId,
    ) -> Result<(), WorkerError> {
        let apart = Apart::of(Path::new(&created.project), session);
        // The folders are made before the container, and removed after it.
        if apart.is_made() || container.run.exists() {
            self.remove(container)?;
        }
        if prefix(&apart.project).is_err() {
            return Ok(());
        }
        transfer::remove_bundle_refs(&apart)?;
        apart.forget()
    }

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
    /// The project's directory in the container.
    directory: PathBuf,
    /// The agent's program as the session names it, and its path in the container.
    agent: Option<(OsString, PathBuf)>,
    reach: Arc<NetworkAccess>,
    /// With an engine on another machine: how many bytes of each file of the home this process has copied.
    fetched: Mutex<HashMap<PathBuf, u64>>,
    /// The lock that this process holds while a person is in the container.
    visit: Mutex<Option<FolderLock>>,
}

impl Contained {
    fn state(&self) -> Result<String, WorkerError> {
        self.read_state().map(|read| read.state)
    }

    fn read_state(&self) -> Result<ReadState, WorkerError> {
        let ReadWork { patch, unread } = transfer::work(&self.container, &self.apart, &self.inside)?;
        let state = transfer::state_of(&self.container.given, &self.apart, &patch)?;
        Ok(ReadState { state, unread })
    }

    fn script(&self, script: &'static str, args: &[&str]) -> io::Result<docker::ExecOutcome> {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let ran = container::wait(&self.container, |container| async move {
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            container.script(script, &args).await
        });
        ran.map_err(io::Error::other)
    }

    /// Runs `act` while this given file is visible in the container.
    fn with_shown<T>(&self, name: PathBuf, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let names = [name];
        let (shown, hidden) = (names.clone(), names);
        container::wait(&self.container, |container| async move {
            container.up(Use::Host).await?;
            container.show(&shown).await
        })
        .map_err(io::Error::other)?;
        let done = act();
        container::wait(&self.container, |container| async move { container.hide(&hidden).await })
            .map_err(io::Error::other)?;
        done
    }

    /// The keeper's arguments for a process in the container, and the copies of files of this machine that the
    /// process's own arguments name.
    fn arguments(&self, launch: &Launch<'_>, variables: &[&str]) -> io::Result<(Vec<String>, Vec<PathBuf>)> {
        let (mut words, mut given) = (Vec::new(), Vec::new());
        if launch.kind == ProcessKind::Command {
            words.push(keeper::COMMAND.to_owned());
        }
        words.extend([door::DOOR.to_owned(), variables.join(","), "--".to_owned()]);
        let program = match &self.agent {
            _ if Path::new(launch.program) == launch.keeper => Path::new(self.container.program()),
            Some((named, path)) if named == launch.program => path,
            // Any other program has to be in the image.
            _ => Path::new(launch.program),
        };
        words.push(program.to_string_lossy().into_owned());
        for arg in launch.args {
            words.push(match launch.kind {
                ProcessKind::Agent => self.given(arg, &mut given)?,
                // The arguments of a command refer to files in the container.
                ProcessKind::Command => arg.to_string_lossy().into_owned(),
            });
        }
        Ok((words, given))
    }

    /// An argument of an agent as the container needs it. If it names a file of this machine, the file is copied, and
    /// added to `all`.
    fn given(&self, arg: &OsStr, all: &mut Vec<PathBuf>) -> io::Result<String> {
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
        let inside = format!("{flag}{}", Path::new(GIVEN).join(&copy).display());
        all.push(copy);
        Ok(inside)
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

    /// Checks for the volume: a missing container is made again from it, but without it everything in the container
    /// is lost.
    fn is_there(&self) -> Result<bool, WorkerError> {
        container::wait(&self.container, |container| async move { container.has_files().await })
    }

    fn close(&self) -> Result<(), WorkerError> {
        container::wait(&self.container, |container| async move { container.end_own().await })
    }

    fn rest(&self, waited: Duration) -> Result<(), WorkerError> {
        container::wait(&self.container, move |container| async move { container.rest(waited).await })
    }

    fn fetch(&self, file: &Path) -> io::Result<()> {
        if !self.container.docker.is_remote() || !file.starts_with(&self.container.home) {
            return Ok(());
        }
        container::wait(&self.container, |container| async move { container.up(Use::Agent).await })
            .map_err(io::Error::other)?;
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let known = fetched.get(file).copied().unwrap_or_default();
        let path = file.to_string_lossy();
        let ran = self.script(FETCH, &[&path, &known.to_string()])?;
        let from = match ran.code {
            0 => known,
            // The file is shorter than the copy: it was replaced or truncated.
            3 => 0,
            2 => return Ok(()),
            _ => return Err(io::Error::other(ran.why())),
        };
        durable::private_folder(file.parent().unwrap_or(file))?;
        match from {
            0 => durable::replace_private(file, &ran.out)?,
            _ => durable::append(file, &ran.out, durable::Flush::Later)?,
        }
        fetched.insert(file.to_owned(), from + ran.out.len() as u64);
        Ok(())
    }

    fn provide(&self, file: &Path) -> io::Result<()> {
        let Ok(name) = file.strip_prefix(&self.container.home) else { return Ok(()) };
        if !self.container.docker.is_remote() || !file.is_file() {
            return Ok(());
        }
        if self.script("[ -f \"$1\" ]", &[&file.to_string_lossy()])?.code == 0 {
            return Ok(());
        }
        let (file, name) = (file.to_owned(), name.to_owned());
        let put = container::wait(&self.container, |container| async move {
            container.put(container.home.clone(), vec![(file, name)]).await
        });
        put.map_err(io::Error::other)
    }

    fn allow(&self, hosts: &[String]) {
        self.reach.allow(hosts);
    }

    /// The keeper runs in the container. Everything that takes long happens after this returns.
    fn spawn(&self, mut launch: Launch<'_>) -> io::Result<KeptProcess> {
        launch.env = self.environment(std::mem::take(&mut launch.env));
        let proxy = Proxy::new(self.reach.clone(), launch.service.take(), launch.refused.take())?;
        let env = proxy.environment();
        launch.env.retain(|(name, _)| !env.iter().any(|(known, _)| name == known));
        let variables: Vec<_> = env.iter().map(|(name, _)| *name).collect();
        let (arguments, given) = self.arguments(&launch, &variables)?;
        launch.env.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        launch.env.push((mark::VARIABLE.into(), launch.mark.to_string().into()));
        let texts = launch.env.into_iter().filter_map(|(name, value)| {
            Some(format!("{}={}", name.into_string().ok()?, value.into_string().ok()?))
        });
        // The host may have restored the agent's conversation there.
        container::give_all(&self.container.home)?;
        let (reading, lifeline) = io::pipe()?;
        let (outcome, reported) = io::pipe()?;
        let (door, proxying) = match self.container.docker.is_remote() {
            true => (WayOut::Carried(Arc::new(proxy)), None),
            false => {
                let (handed_over, way_out) = UnixStream::pair()?;
                (WayOut::HandedOver(OwnedFd::from(way_out)), Some(proxy.serve(handed_over)?))
            }
        };
        let process = NewProcess {
            kind: launch.kind,
            arguments,
            env: texts.collect(),
            directory: self.directory.clone(),
            pipes: ProcessPipes {
                input: launch.stdin,
                output: launch.stdout,
                errors: launch.stderr,
                lifeline: reading.into(),
                beside: launch.beside,
                outcome: reported.into(),
            },
            program: Path::new(launch.program).display().to_string(),
            given,
        };
        let start = ProcessStart { process, door };
        let (ended_to, ended) = tokio::sync::oneshot::channel();
        let container = self.container.clone();
        docker::spawn(async move {
            // The receiver is gone with the process's handle.
            let _ = ended_to.send(launch::run(container, start).await);
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
        let kept =
            KeptProcess::elsewhere(Elsewhere { ended, status: None, end }, lifeline, outcome, launch.mark);
        Ok(match proxying {
            Some(proxying) => kept.with_proxy(proxying),
            None => kept,
        })
    }

    /// Uses the engine's own client, which can attach a terminal to a container.
    fn way_in(&self, command: &[OsString]) -> io::Result<Command> {
        let started =
            container::wait(&self.container, |container| async move { container.up(Use::Host).await });
        started.map_err(io::Error::other)?;
        let visit = FolderLock::share(&self.container.run)?;
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

    fn leads_to(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let named = shortened(&self.directory.join(path));
        let ran = self.script(LEADS_TO, &[&self.directory.to_string_lossy(), &named.to_string_lossy()])?;
        if ran.code != 0 {
            return Err(io::Error::other(ran.why()));
        }
        let real = PathBuf::from(OsStr::from_bytes(ran.out.strip_suffix(b"\n").unwrap_or(&ran.out)));
        Ok((real != named).then_some(real))
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let most = (LARGEST_FILE + 1).to_string();
        let ran = self.script(READ, &[&self.directory.to_string_lossy(), path, &most])?;
        match ran.code {
            0 if ran.out.len() as u64 > LARGEST_FILE => {
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
        let ran = self.with_shown(PathBuf::from(name), || {
            self.script(REPLACE, &[&self.directory.to_string_lossy(), path, &given])
        });
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
        transfer::work(&self.container, &self.apart, &self.inside).map(|work| Some(work.patch))
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        let read = self.read_state()?;
        let files = self.apart.project_here().files_between(since, &read.state)?;
        Ok(Changes { files, result: Some(read.state), unknown: left_unread(&read.unread) })
    }

    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        let since = since.map_or_else(|| self.apart.base(), |since| Ok(since.to_owned()))?;
        self.apart.project_here().diff_to(&since, &self.state()?, out)
    }

    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        is_new_enough()?;
        let (base, there) = (self.apart.base()?, self.read_state()?);
        let moved = steps(&local::top(&self.apart.project)?, &base, &there.state)?;
        let moved = moved.into_iter().filter(|step| step.is_of_a_repository());
        let mut paths: Vec<_> = moved.map(|step| step.path.display().to_string()).collect();
        paths.extend(transfer::nested(&self.container)?);
        let workplace = PathBuf::from(&self.container.name);
        if !paths.is_empty() {
            return Err(WorkerError::RepositoryInside { paths, workplace });
        }
        all_was_read(there.unread, &workplace)?;
        self.apart.merge(&there.state, with_conflicts)
    }

    fn apply(&self, merged: &Merged, to: &ApplyTo, task: &str) -> Result<Vec<FileChange>, WorkerError> {
        self.apart.apply(merged, to, task)
    }
}

impl Drop for Contained {
    /// Ends the container that this process started, without waiting for the engine.
    fn drop(&mut self) {
        // This process may have started the container for a person just before the session's host began to use it. It
        // stops by itself.
        if self.visit.get_mut().unwrap_or_else(PoisonError::into_inner).is_some() {
            return;
        }
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

/// The resolved path of a program of this machine; `None` if there is none of this name, so that the image has to
/// have it.
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

/// The `node_modules` folder that contains a program.
fn package(program: &Path) -> Option<PathBuf> {
    let folders: Vec<_> = program.ancestors().collect();
    folders.into_iter().rev().find(|folder| folder.ends_with("node_modules")).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use rapport_core::By;

    use super::*;
    use crate::clock::new_conversation;

    #[test]
    fn the_packages_of_a_program_come_with_it() {
        let program = Path::new("/opt/node_modules/@a/b/node_modules/c/cli.js");
        assert_eq!(package(program).as_deref(), Some(Path::new("/opt/node_modules")));
        assert_eq!(package(Path::new("/usr/bin/claude")), None);
        assert!(found(OsStr::new("sh")).is_some_and(|path| path.is_absolute()));
        assert_eq!(found(OsStr::new("no-such-program")), None);
    }
    /// Containers that are never made, in a project.
    fn unused(folder: &Path) -> (Containers, Created) {
        let project = folder.join("app");
        std::fs::create_dir(&project).unwrap();
        git(&project, None, &["init", "--quiet"]).unwrap();
        git(&project, None, &["commit", "--quiet", "--allow-empty", "-m", "begun"]).unwrap();
        let setup = WorkerSetup { worktrees: folder.join("worktrees"), ..WorkerSetup::default() };
        let path = project.to_string_lossy().into_owned();
        let by = By::Person { channel: "terminal".into(), id: "anna".into() };
        let created = Created::new("paint".into(), path, new_conversation(), by);
        (Containers::new(&setup, &ContainerSettings::default()), created)
    }

    /// A process that is killed while it makes the bundle for a container leaves the ref of the bundle.
    #[test]
    fn the_ref_of_a_bundle_goes_with_the_container() {
        let folder = tempfile::tempdir().unwrap();
        let (containers, created) = unused(folder.path());
        let (session, project) = (SessionId::new("20260124-paint"), Path::new(&created.project));
        let refs = || git(project, None, &["for-each-ref", "refs/rapport-in"]).unwrap();
        let name = format!("refs/rapport-in/{session}");
        git(project, None, &["update-ref", &name, "HEAD"]).unwrap();
        assert!(!refs().is_empty());
        containers.clear(&session, &created).unwrap();
        assert!(refs().is_empty());
    }

    /// Another process makes the directory of workplaces under the project's lock. For a moment the directory is
    /// empty, as it is after the last workplace was removed.
    #[test]
    fn the_directory_of_workplaces_is_not_removed_while_another_process_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let (containers, created) = unused(folder.path());
        let making = lock(Path::new(&created.project)).unwrap();
        std::fs::create_dir(&containers.folder).unwrap();
        std::thread::scope(|scope| {
            let (done, is_done) = std::sync::mpsc::channel();
            let (clearing, created) = (containers.clone(), &created);
            scope.spawn(move || done.send(clearing.clear(&SessionId::new("20260124-other"), created)));
            let early = is_done.recv_timeout(Duration::from_millis(300));
            assert!(early.is_err(), "it waits for the lock: {early:?}");
            assert!(containers.folder.is_dir());
            drop(making);
            is_done.recv().unwrap().unwrap();
        });
        assert!(!containers.folder.exists(), "nothing was made in it");
    }
}
