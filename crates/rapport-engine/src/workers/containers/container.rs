//! The container of one session at the engine, and the volume with its files: made, started, ended, removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, chown, lchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HostConfig, HostConfigLogConfig, Mount, MountType,
    MountVolumeOptions,
};
use jiff::Timestamp;
use rapport_door::WorkplaceNow;
use rapport_durable::{self as durable, HeldFolder};

use super::archive::Archive;
use super::docker::{self, Attached, ContainerImage, Docker, Exec, ExecOutcome};
use super::tools::{self, Tool};
use super::{AGENT, FILES, GIVEN, PREPARED, PROGRAM, RUN, TOOLS};
use crate::clock::Clock;
use crate::workers::container_kind::{ContainerSettings, NAME};
use crate::workers::keeper::idle;
use crate::workers::network::Network;
use crate::workers::{NoWorkplace, WorkerError, file_error};

/// The network of containers that may reach everything.
const OPEN: &str = "rapport";
/// The user id of agents if the person is root: agents never run as root.
const USER: u32 = 1000;

/// Notes how many seconds the container may still run unused (`keeper/idle.rs`).
const NOTE: &str = r#"rm -rf -- "$2" && echo "$1" > "$2""#;

/// How often to start a container that stops before it is used.
const TRIES: usize = 5;

/// The suffix of the folder with sockets. Its existence shows that a container was made.
pub(super) const RUN_FOLDER: &str = "run";

/// The path of Rapport's own program in a container, if the engine is on another machine.
const TOOLS_PROGRAM: &str = "/rapport/tools/rapport";

/// The labels of containers and volumes.
pub(super) const SESSION: &str = "rapport.session";
pub(super) const PROJECT: &str = "rapport.project";
pub(super) const HOME: &str = "rapport.home";
pub(super) const EPOCH: &str = "rapport.epoch";

/// What a container is made from.
#[derive(Clone, Debug)]
pub(super) struct Making {
    pub(super) settings: ContainerSettings,
    pub(super) network: Network,
    /// Rapport's own program.
    pub(super) keeper: PathBuf,
    /// What the agent's program needs of this machine: itself, or the packages that it is part of.
    pub(super) agent: Option<PathBuf>,
    /// Rapport's home. It labels the programs that were copied to an engine on another machine, so that each home
    /// removes only its own.
    pub(super) rapport_home: PathBuf,
    pub(super) clock: Clock,
    /// The volume with the results of the setup, if the files are filled from one.
    pub(super) prepared: Option<String>,
    pub(super) labels: HashMap<String, String>,
}

/// The container of one session.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) docker: Arc<Docker>,
    /// Its name, and that of its volume.
    pub(super) name: String,
    making: Making,
    /// The agent's home on this machine, mounted at the same path. With an engine on another machine, the home is a
    /// volume there, and this folder has copies of a few of its files.
    pub(super) home: PathBuf,
    /// A folder of this machine with files for the container, mounted read-only: an agent could replace a writable
    /// file by a link, and the host would write through that link.
    pub(super) given: PathBuf,
    /// A folder of this machine with the sockets between the host and the container.
    pub(super) run: PathBuf,
    /// Lets only one call at a time start the container.
    starting: tokio::sync::Mutex<()>,
    /// The start time that the engine reports, if this process started the container.
    started: Mutex<Option<String>>,
}

impl Container {
    pub(super) fn new(
        docker: Arc<Docker>,
        name: String,
        making: Making,
        folder: impl Fn(&str) -> PathBuf,
    ) -> Self {
        let (home, given, run) = (folder("home"), folder("given"), folder(RUN_FOLDER));
        let (starting, started) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { docker, name, making, home, given, run, starting, started }
    }

    /// The path of Rapport's own program in the container.
    pub(super) fn program(&self) -> &'static str {
        if self.docker.is_remote() { TOOLS_PROGRAM } else { PROGRAM }
    }

    /// The path of a program of the agent's package in the container.
    pub(super) fn agent_program(&self, program: &Path) -> PathBuf {
        match &self.making.agent {
            Some(package) if self.docker.is_remote() => tools::inside(AGENT, package, program),
            _ => program.to_owned(),
        }
    }

    /// The volume of the home, with an engine on another machine.
    fn home_volume(&self) -> String {
        home_volume(&self.name)
    }

    /// The folders of this machine that the container uses.
    pub(super) fn folders(&self) -> [&Path; 3] {
        [&self.home, &self.given, &self.run]
    }

    /// The user and group of agents: the person's own, so that the files in their home are theirs on both sides.
    pub(super) fn user() -> (u32, u32) {
        let (user, group) = (nix::unistd::getuid(), nix::unistd::getgid());
        if user.is_root() { (USER, USER) } else { (user.as_raw(), group.as_raw()) }
    }

    /// The user and group in the engine's notation.
    pub(super) fn user_name() -> String {
        let (user, group) = Self::user();
        format!("{user}:{group}")
    }

    /// Makes the folders of this machine that the container uses.
    pub(super) fn make_folders(&self) -> Result<(), WorkerError> {
        for folder in self.folders() {
            durable::private_folder(folder).map_err(file_error("make", folder))?;
            give(folder).map_err(file_error("give away", folder))?;
        }
        Ok(())
    }

    /// Whether its volume exists.
    pub(super) async fn has_files(&self) -> Result<bool, WorkerError> {
        self.docker.has_volume(&self.name).await
    }

    /// Makes the volume and the container, and starts it.
    pub(super) async fn make(&self) -> Result<(), WorkerError> {
        self.docker.create_volume(&self.name, self.labels()).await?;
        self.make_template().await
    }

    /// Makes and starts the container. The engine makes its volume with it.
    pub(super) async fn make_template(&self) -> Result<(), WorkerError> {
        self.create().await?;
        self.up(Use::Host).await?;
        self.open_volumes().await
    }

    /// Lets agents write to the volumes. A new volume belongs to root, and in the container root can do no more than
    /// the owner of a file.
    async fn open_volumes(&self) -> Result<(), WorkerError> {
        if self.docker.is_remote() {
            // An upload makes the agents' user the owner of the folder.
            self.put(self.home.clone(), Vec::new()).await?;
        }
        let open = Exec {
            user: "0:0".into(),
            directory: "/".into(),
            command: ["chmod", "1777", FILES].map(str::to_owned).to_vec(),
            env: Vec::new(),
        };
        let ran = self.docker.run(&self.name, open).await?;
        if ran.code == 0 { Ok(()) } else { Err(unusable(self.making.settings.image(), &ran)) }
    }

    /// Starts the container if it does not run, and makes it again if only its volume is left. Without the volume
    /// this fails: the work is lost, and an empty container would pass for it. Before an agent starts, everything
    /// that another process started there is ended, because its host is gone.
    pub(super) async fn up(&self, user: Use) -> Result<(), WorkerError> {
        let _one = self.starting.lock().await;
        let found = self.docker.inspect(&self.name).await?;
        let is_there = found.is_some();
        if let Some(started) = found.as_ref().and_then(running_since) {
            if user == Use::Host || self.started_here().as_ref() == Some(&started) {
                return Ok(());
            }
            self.docker.kill(&self.name).await?;
        }
        if !is_there {
            if !self.has_files().await? {
                return Err(WorkerError::WorkplaceGone { directory: PathBuf::from(&self.name) });
            }
            self.create().await?;
        }
        if let Err(error) = self.docker.start(&self.name).await {
            if !is_there {
                return Err(error);
            }
            // A file or folder of this machine that the container mounts may have moved.
            self.docker.remove(&self.name).await?;
            self.create().await?;
            self.docker.start(&self.name).await?;
        }
        let found = self.docker.inspect(&self.name).await?;
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = found.as_ref().and_then(running_since);
        // The volume of the home may be new.
        if is_there || !self.docker.is_remote() { Ok(()) } else { self.open_volumes().await }
    }

    fn started_here(&self) -> Option<String> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a shell script in the container to its end, in the directory of the files.
    pub(super) async fn script(&self, script: &str, args: &[&str]) -> Result<ExecOutcome, WorkerError> {
        let words = ["sh", "-c", script, "sh"].into_iter().chain(args.iter().copied());
        let exec = Exec {
            user: Self::user_name(),
            directory: FILES.to_owned(),
            command: words.map(str::to_owned).collect(),
            // The agent's own configuration must not affect the script.
            env: ["HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"].map(str::to_owned).to_vec(),
        };
        for _ in 1..TRIES {
            self.up(Use::Host).await?;
            match self.docker.run(&self.name, exec.clone()).await {
                Err(_) if self.has_stopped().await? => {}
                // The container was stopped meanwhile, because its session is over: its programs ended, or did not
                // start.
                Ok(ran) if ran.code != 0 && self.has_stopped().await? => {}
                ran => return ran,
            }
        }
        self.up(Use::Host).await?;
        self.docker.run(&self.name, exec).await
    }

    /// Starts a program for an agent in the container, and does not wait for it. Returns the id of the run.
    pub(super) async fn begin(&self, exec: Exec) -> Result<String, WorkerError> {
        for _ in 1..TRIES {
            self.up(Use::Agent).await?;
            match self.docker.begin(&self.name, exec.clone()).await {
                Err(_) if self.has_stopped().await? => {}
                begun => return begun,
            }
        }
        self.up(Use::Agent).await?;
        self.docker.begin(&self.name, exec).await
    }

    /// Starts a program for an agent in the container, with its input and output connected to this process.
    pub(super) async fn attach(&self, exec: Exec) -> Result<Attached, WorkerError> {
        for _ in 1..TRIES {
            self.up(Use::Agent).await?;
            match self.docker.attach(&self.name, exec.clone()).await {
                Err(_) if self.has_stopped().await? => {}
                attached => return attached,
            }
        }
        self.up(Use::Agent).await?;
        self.docker.attach(&self.name, exec).await
    }

    /// Makes these given files visible in the container: an engine on another machine gets copies.
    pub(super) async fn show(&self, names: &[PathBuf]) -> Result<(), WorkerError> {
        if !self.docker.is_remote() || names.is_empty() {
            return Ok(());
        }
        let files = names.iter().map(|name| (self.given.join(name), name.clone())).collect();
        self.put(PathBuf::from(GIVEN), files).await
    }

    /// Removes the copies that `show` made.
    pub(super) async fn hide(&self, names: &[PathBuf]) -> Result<(), WorkerError> {
        if !self.docker.is_remote() || names.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let args: Vec<_> = [GIVEN].into_iter().chain(names.iter().map(AsRef::as_ref)).collect();
        let ran = self.script(r#"cd "$1" && shift && rm -rf -- "$@""#, &args).await?;
        if ran.code == 0 { Ok(()) } else { Err(WorkerError::Engine { what: "remove files", why: ran.why() }) }
    }

    /// Puts files of this machine into a folder of the container, under these names, for agents.
    pub(super) async fn put(
        &self,
        folder: PathBuf,
        files: Vec<(PathBuf, PathBuf)>,
    ) -> Result<(), WorkerError> {
        let (owner, below) = (Self::user(), folder.strip_prefix("/").unwrap_or(&folder).to_owned());
        let write = move |out: &mut dyn io::Write| {
            let mut archive = Archive::new(out, owner);
            archive.folder(&below, 0o700)?;
            for (source, name) in &files {
                let folders: Vec<_> = name.ancestors().skip(1).collect();
                for folder in folders.into_iter().rev().skip(1) {
                    archive.folder(&below.join(folder), 0o700)?;
                }
                archive.add(source, &below.join(name))?;
            }
            archive.finish()
        };
        self.docker.upload(&self.name, "/", write).await
    }

    /// Whether the container does not run: an unused one stops by itself, perhaps just before it is needed again.
    async fn has_stopped(&self) -> Result<bool, WorkerError> {
        Ok(self.docker.inspect(&self.name).await?.as_ref().and_then(running_since).is_none())
    }

    /// The state that the engine reports; `None` if the container does not exist.
    pub(super) async fn now(&self) -> Result<Option<WorkplaceNow>, WorkerError> {
        let found = self.docker.inspect(&self.name).await?;
        Ok(found.map(|found| WorkplaceNow {
            is_running: running_since(&found).is_some(),
            id: found.id.unwrap_or_default(),
        }))
    }

    /// Ends everything in the container. It can be started again.
    pub(super) async fn end(&self) -> Result<(), WorkerError> {
        self.docker.kill(&self.name).await
    }

    /// Ends the container if it still runs since this process started it.
    pub(super) async fn end_own(&self) -> Result<(), WorkerError> {
        let Some(ours) = self.started_here() else { return Ok(()) };
        let found = self.docker.inspect(&self.name).await?;
        if found.as_ref().and_then(running_since) == Some(ours) { self.end().await } else { Ok(()) }
    }

    /// Notes in the container how long its session has already waited. A later use starts the idle time anew.
    pub(super) async fn rest(&self, waited: Duration) -> Result<(), WorkerError> {
        let idle = self.making.settings.idle;
        // A wait this short makes no difference.
        if waited < idle / 10 || self.has_stopped().await? {
            return Ok(());
        }
        let left = idle.saturating_sub(waited).as_secs().to_string();
        let exec = Exec {
            user: Self::user_name(),
            directory: FILES.to_owned(),
            command: ["sh", "-c", NOTE, "sh", &left, idle::NOTE].map(str::to_owned).to_vec(),
            env: Vec::new(),
        };
        let ran = self.docker.run(&self.name, exec).await?;
        if ran.code == 0 { Ok(()) } else { Err(WorkerError::Engine { what: "note a time", why: ran.why() }) }
    }

    /// Removes the container and its volumes.
    pub(super) async fn remove(&self) -> Result<(), WorkerError> {
        remove(&self.docker, &self.name).await
    }

    /// Removes the container and the volume of its home, and keeps the volume of its files.
    pub(super) async fn remove_around(&self) -> Result<(), WorkerError> {
        self.docker.remove(&self.name).await?;
        if self.docker.is_remote() { self.docker.remove_volume(&self.home_volume()).await } else { Ok(()) }
    }

    fn labels(&self) -> HashMap<String, String> {
        let mut labels = self.making.labels.clone();
        labels.extend([self.epoch()]);
        labels
    }

    fn epoch(&self) -> (String, String) {
        (EPOCH.to_owned(), self.making.clock.now().as_millisecond().to_string())
    }

    async fn create(&self) -> Result<(), WorkerError> {
        let settings = &self.making.settings;
        let image = self.docker.image(settings.image()).await?.ok_or_else(|| no_image(settings.image()))?;
        if image.architecture.as_deref().is_some_and(|named| named != architecture()) {
            return Err(other_architecture(settings.image(), &image));
        }
        if self.making.network == Network::Open {
            self.docker.create_network(OPEN).await?;
        }
        let (processors, memory) = self.docker.size().await?;
        let limits = settings.limits.within(processors, memory);
        let host = HostConfig {
            init: Some(true),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            memory: i64::try_from(limits.memory).ok(),
            // Memory and swap together: the container gets no swap.
            memory_swap: i64::try_from(limits.memory).ok(),
            nano_cpus: Some(i64::from(limits.processors) * 1_000_000_000),
            pids_limit: Some(i64::from(limits.processes)),
            network_mode: Some(if self.making.network == Network::Open { OPEN } else { "none" }.to_owned()),
            // The container's own output is useless, and a log of it would fill the disk.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            mounts: Some(self.mounts().await?),
            ..HostConfig::default()
        };
        let body = ContainerCreateBody {
            image: Some(settings.image().to_owned()),
            env: Some(settings.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            user: Some(Self::user_name()),
            working_dir: Some(FILES.to_owned()),
            entrypoint: Some(vec![self.program().to_owned()]),
            cmd: Some(["keep", idle::IDLE, &settings.idle.as_secs().to_string()].map(str::to_owned).to_vec()),
            labels: Some(self.labels()),
            host_config: Some(host),
            ..ContainerCreateBody::default()
        };
        self.docker.create(&self.name, body).await
    }

    async fn mounts(&self) -> Result<Vec<Mount>, WorkerError> {
        let mut mounts = vec![volume(&self.name, Path::new(FILES), self.labels())];
        if self.docker.is_remote() {
            mounts.extend(self.volumes_instead().await?);
        } else {
            mounts.extend([
                bound(&self.home, &self.home),
                shown(bound(&self.given, Path::new(GIVEN))),
                bound(&self.run, Path::new(RUN)),
                shown(bound(&self.making.keeper, Path::new(PROGRAM))),
            ]);
            mounts.extend(self.making.agent.iter().map(|agent| shown(bound(agent, agent))));
            let (caches, _) = self.making.settings.caches();
            mounts.extend(caches.into_iter().map(|path| shown(bound(path, path))));
        }
        let prepared = self.making.prepared.iter();
        mounts.extend(prepared.map(|name| shown(volume(name, Path::new(PREPARED), self.labels()))));
        Ok(mounts)
    }

    /// The volumes that a container on another machine has in place of this machine's folders and programs.
    async fn volumes_instead(&self) -> Result<Vec<Mount>, WorkerError> {
        // This volume is found by the name of the volume with the files, which has the other labels.
        let of_home = HashMap::from([self.epoch()]);
        let mut mounts = vec![volume(&self.home_volume(), &self.home, of_home)];
        let keeper = Tool { source: self.making.keeper.clone(), name: "rapport".into() };
        let agent =
            self.making.agent.as_ref().and_then(|agent| {
                Some((AGENT, Tool { source: agent.clone(), name: agent.file_name()?.into() }))
            });
        for (target, tool) in [Some((TOOLS, keeper)), agent].into_iter().flatten() {
            let image = self.making.settings.image();
            let name = tool.volume(&self.docker, image, self.making.rapport_home.clone()).await?;
            mounts.push(shown(volume(&name, Path::new(target), HashMap::new())));
        }
        Ok(mounts)
    }
}

/// For whom a container is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The host runs its own scripts in the container.
    Host,
    /// An agent is to run in the container.
    Agent,
}

fn bound(source: &Path, target: &Path) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_string_lossy().into_owned()),
        target: Some(target.to_string_lossy().into_owned()),
        ..Mount::default()
    }
}

/// A volume of the engine at this path of the container, with these labels if it is new.
fn volume(name: &str, target: &Path, labels: HashMap<String, String>) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(name.to_owned()),
        target: Some(target.to_string_lossy().into_owned()),
        // Do not copy the image's content of that path into the volume.
        volume_options: Some(MountVolumeOptions {
            no_copy: Some(true),
            labels: Some(labels),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

/// The same mount, read-only.
fn shown(mount: Mount) -> Mount {
    Mount { read_only: Some(true), ..mount }
}

/// The volume of the home of a container with this name, with an engine on another machine.
fn home_volume(container: &str) -> String {
    format!("{container}-home")
}

/// The command with which a person removes a container of this name, and its volumes.
pub(super) fn removal(docker: &Docker, name: &str) -> String {
    let home = if docker.is_remote() { format!(" {}", home_volume(name)) } else { String::new() };
    format!("docker rm --force {name}; docker volume rm {name}{home}")
}

/// Removes a container and its volumes. The volume of the files is last, because the others are found by it.
pub(super) async fn remove(docker: &Docker, name: &str) -> Result<(), WorkerError> {
    docker.remove(name).await?;
    if docker.is_remote() {
        docker.remove_volume(&home_volume(name)).await?;
    }
    docker.remove_volume(name).await
}

/// Since when a container has been stopped; `None` if it runs, or has never run.
pub(super) fn stopped_since(found: &ContainerInspectResponse) -> Option<Timestamp> {
    let state = found.state.as_ref().filter(|state| state.running == Some(false))?;
    let at: Timestamp = state.finished_at.as_ref()?.to_string().parse().ok()?;
    // For a container that has never run, the engine reports a time in the year 1.
    (at > Timestamp::UNIX_EPOCH).then_some(at)
}

/// When a container was started; `None` if it does not run.
fn running_since(found: &ContainerInspectResponse) -> Option<String> {
    let state = found.state.as_ref().filter(|state| state.running == Some(true))?;
    state.started_at.as_ref().map(ToString::to_string)
}

/// Gives a file of this machine to the user of agents.
pub(super) fn give(path: &Path) -> io::Result<()> {
    let (user, group) = Container::user();
    if nix::unistd::getuid().is_root() { lchown(path, Some(user), Some(group)) } else { Ok(()) }
}

/// Makes the agents' user the owner of a pipe: otherwise an agent could not open it by its path. Anything but a pipe
/// keeps its owner.
pub(super) fn give_pipe(pipe: &OwnedFd) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let (user, group) = Container::user();
    let is_pipe = std::fs::metadata(&path)?.file_type().is_fifo();
    if is_pipe && nix::unistd::getuid().is_root() { chown(&path, Some(user), Some(group)) } else { Ok(()) }
}

/// Gives everything in a folder to the agents' user, without following links: agents can already write to the folder,
/// and may have replaced any part of it.
pub(super) fn give_all(folder: &Path) -> io::Result<()> {
    if !nix::unistd::getuid().is_root() {
        return Ok(());
    }
    give(folder)?;
    give_below(folder, folder)
}

fn give_below(root: &Path, folder: &Path) -> io::Result<()> {
    let held = HeldFolder::open(root, folder)?;
    for entry in std::fs::read_dir(held.at(OsStr::new("")))? {
        let name = entry?.file_name();
        let there = held.at(&name);
        give(&there)?;
        if there.symlink_metadata()?.is_dir() {
            give_below(root, &folder.join(&name))?;
        }
    }
    Ok(())
}

/// This machine's kind of processor, as container engines name it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// An image for another kind of processor: Rapport's own program does not run in it.
fn other_architecture(image: &str, found: &ContainerImage) -> WorkerError {
    let named = found.architecture.as_deref().unwrap_or_default();
    let none = NoWorkplace {
        why: format!("the image {image} is for {named} processors, and this machine has {}", architecture()),
        advice: vec!["Get it for this machine: docker pull --platform linux/ARCHITECTURE IMAGE"],
    };
    WorkerError::Unavailable { worker: NAME, none }
}

fn no_image(image: &str) -> WorkerError {
    let none = NoWorkplace {
        why: format!("the container engine has no image {image}"),
        advice: vec![
            "Get it with docker pull, or build it as docs/workers.md says",
            "Name another image: worker.image in config.yaml",
        ],
    };
    WorkerError::Unavailable { worker: NAME, none }
}

/// An image that lacks what every workplace needs.
pub(super) fn unusable(image: &str, ran: &ExecOutcome) -> WorkerError {
    let none = NoWorkplace {
        why: format!("the image {image} cannot be used: {}", ran.why()),
        advice: vec![
            "It needs git, a shell, the usual small programs and the GNU C library: see docs/workers.md",
        ],
    };
    WorkerError::Unavailable { worker: NAME, none }
}

/// Blocks until a call about a container has ended.
pub(super) fn wait<T, F>(
    container: &Arc<Container>,
    call: impl FnOnce(Arc<Container>) -> F,
) -> Result<T, WorkerError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, WorkerError>> + Send + 'static,
{
    docker::wait(call(container.clone()))
}
