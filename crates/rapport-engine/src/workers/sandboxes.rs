//! A sandbox for each session: its worktree (`worktrees`), confined by bubblewrap. Inside, the machine's programs are
//! readable, and the worktree and a home of its own are writable; nothing else of the person's files is visible, none
//! of their credentials, and no network but what the settings allow, through the host's proxy (`proxy`).
//!
//! Every path is the same inside and outside, so that an agent and its host mean the same file by the same name. Files
//! of the agent are not trusted: the repository is fixed to be the project's (`Directory::of_repository`), and links
//! that lead out are refused.

mod walls;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rapport_core::{ApplyTo, Changes, Created, FileChange, Merged, NotMerged, SessionId};
use rapport_durable as durable;

use super::network::{Network, NetworkAccess};
use super::process::{self, Door, KeptProcess, Launch, ProcessKind};
use super::proxy::Proxy;
use super::worktrees::{WorktreeKind, Worktrees};
use super::{
    NoWorkplace, Worker, WorkerError, WorkerKind, WorkerSetup, Workers, Workplace, file_error, leads_inside,
};
use crate::projects::trust::Trust;
use walls::Walls;

/// The sandbox program.
const PROGRAM: &str = "bwrap";

/// What to do if bubblewrap is installed but does not work.
const NOT_ALLOWED: &str =
    "Let ordinary users make namespaces: sysctl kernel.unprivileged_userns_clone=1 on older Debian,
an AppArmor profile for bwrap on newer Ubuntu.";

const INSTALL: &str = "Install bubblewrap, on Debian and Ubuntu with: apt-get install bubblewrap";

/// Sandboxes on the worktrees in one directory.
#[derive(Clone, Debug)]
pub struct Sandboxes {
    worktrees: Worktrees,
    folder: PathBuf,
    network: Network,
    /// The person's home, of which only tools are visible.
    person: Option<PathBuf>,
}

impl Sandboxes {
    /// Sandboxes on the worktrees in this directory, for a person with this home.
    pub fn new(folder: impl Into<PathBuf>, person: Option<PathBuf>) -> Self {
        let folder = folder.into();
        let worktrees = Worktrees::new(&folder).behind_walls(Trust::none());
        Self { worktrees, folder, network: Network::default(), person }
    }

    /// Sets the trust that decides whether ignored files of the project are copied into sandboxes.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Self {
        Self { worktrees: self.worktrees.behind_walls(trust), ..self }
    }

    /// Sets the network access.
    #[must_use]
    pub fn with_network(self, network: Network) -> Self {
        Self { network, ..self }
    }

    /// The version of bubblewrap, if it can create a sandbox on this machine.
    pub fn check() -> Result<String, NoWorkplace> {
        let none = |why: String, advice| NoWorkplace { why, advice: vec![advice] };
        let said = |args: &[&str]| Command::new(PROGRAM).args(args).stdin(Stdio::null()).output();
        let version = match said(&["--version"]) {
            Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(none("there is no bubblewrap (bwrap) on the PATH".into(), INSTALL));
            }
            Err(error) => return Err(none(format!("cannot run bwrap: {error}"), INSTALL)),
        };
        let tried = [walls::APART, &["--unshare-net", "--ro-bind", "/", "/", "--", "true"]].concat();
        match said(&tried) {
            Ok(output) if output.status.success() => Ok(version),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(none(format!("{version} does not work here: {why}"), NOT_ALLOWED))
            }
            Err(error) => Err(none(format!("cannot run bwrap: {error}"), INSTALL)),
        }
    }

    fn around(
        &self,
        session: &SessionId,
        created: &Created,
        worktree: Arc<dyn Workplace>,
    ) -> Result<Arc<dyn Workplace>, WorkerError> {
        let (root, home) = (self.folder.join(session.as_str()), self.home(session));
        let walls = Walls::around(&root, Path::new(&created.project), &home, self.person.as_deref())?;
        let reach = Arc::new(NetworkAccess::new(self.network.clone()));
        Ok(Arc::new(Sandbox { worktree, root, home, walls, reach }))
    }

    /// The agent's home, beside the worktree, whose name contains no dot.
    fn home(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{session}.home"))
    }
}

/// A sandbox, as a kind.
pub(super) struct SandboxKind;

impl WorkerKind for SandboxKind {
    fn name(&self) -> &'static str {
        "sandbox"
    }

    fn in_brief(&self) -> &'static str {
        "a worktree with walls around it"
    }

    fn is_wall(&self) -> bool {
        true
    }

    fn check(&self, project: &Path, setup: &WorkerSetup) -> Result<(), NoWorkplace> {
        Sandboxes::check().map_err(|NoWorkplace { why, mut advice }| {
            advice.push("Or work without a sandbox: --worker worktree");
            NoWorkplace { why: format!("cannot make a sandbox: {why}"), advice }
        })?;
        WorktreeKind.check(project, setup)
    }

    fn diagnose(&self) -> Option<Result<String, NoWorkplace>> {
        Some(Sandboxes::check())
    }

    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers {
        let sandboxes =
            Sandboxes::new(&setup.worktrees, setup.person.clone()).with_trust(setup.trust.clone());
        workers.with(self.name(), sandboxes.with_network(setup.network.clone()))
    }
}

impl Worker for Sandboxes {
    fn open(&self, session: &SessionId, created: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        let found = self.worktrees.find_fixed(session, created)?;
        let worktree = match found {
            Some(found) => found,
            None => {
                // Checked before anything is created.
                let unavailable = |none| WorkerError::Unavailable { worker: SandboxKind.name(), none };
                Self::check().map_err(unavailable)?;
                self.worktrees.open(session, created)?;
                self.worktrees.find_fixed(session, created)?.ok_or_else(|| WorkerError::WorkplaceGone {
                    directory: self.folder.join(session.as_str()),
                })?
            }
        };
        let home = self.home(session);
        durable::private_folder(&home).map_err(file_error("make", &home))?;
        self.around(session, created, worktree)
    }

    fn find(
        &self,
        session: &SessionId,
        created: &Created,
    ) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        let found = self.worktrees.find_fixed(session, created)?;
        found.map(|worktree| self.around(session, created, worktree)).transpose()
    }

    fn clear(&self, session: &SessionId, created: &Created) -> Result<(), WorkerError> {
        let home = self.home(session);
        durable::remove_folder(&home).map_err(file_error("remove", &home))?;
        self.worktrees.clear(session, created)
    }
}

/// The sandbox of one session.
struct Sandbox {
    worktree: Arc<dyn Workplace>,
    root: PathBuf,
    home: PathBuf,
    walls: Walls,
    reach: Arc<NetworkAccess>,
}

impl Workplace for Sandbox {
    fn directory(&self) -> &Path {
        self.worktree.directory()
    }

    fn home(&self) -> Option<&Path> {
        Some(&self.home)
    }

    fn allow(&self, hosts: &[String]) {
        self.reach.allow(hosts);
    }

    /// The keeper is inside, as the first process of the sandbox, which ends with it.
    fn spawn(&self, mut launch: Launch<'_>) -> io::Result<KeptProcess> {
        let directory = self.directory();
        let mut command = tokio::process::Command::new(PROGRAM);
        // Otherwise Ctrl-C at the host's terminal would interrupt the sandbox.
        command.process_group(0);
        command.args(self.walls.arguments(&launch)?).arg("--chdir").arg(directory);
        if *self.reach.network() != Network::Open {
            command.arg("--unshare-net");
        }
        // The keeper of a command starts its own process session.
        if launch.kind == ProcessKind::Agent {
            command.arg("--new-session");
        }
        command.arg("--as-pid-1").arg("--").arg(launch.keeper);
        self.walls.change_environment(&mut launch.env, self.reach.network());
        let proxy = Proxy::new(self.reach.clone(), launch.service.take(), launch.refused.take())?;
        let env = proxy.environment();
        launch.env.retain(|(name, _)| !env.iter().any(|(known, _)| name == known));
        let (handed_over, door) = UnixStream::pair()?;
        let variables = env.iter().map(|(name, _)| *name).collect();
        launch.env.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        let opened = Door { variables, handed_over: OwnedFd::from(door) };
        let kept = process::start(command, directory, launch, Some(opened))?;
        Ok(kept.with_proxy(proxy.serve(handed_over)?))
    }

    /// An agent could have put a link there, to a file that it cannot read and its host can.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        leads_inside(&self.root, &self.directory().join(path))?;
        self.worktree.read(path)
    }

    fn replace(&self, path: &str, content: &[u8]) -> io::Result<()> {
        self.worktree.replace(path, content)
    }

    fn list(&self) -> Result<Vec<String>, WorkerError> {
        self.worktree.list()
    }

    fn snapshot(&self) -> Result<Option<String>, WorkerError> {
        self.worktree.snapshot()
    }

    fn changes(&self, since: &str) -> Result<Changes, WorkerError> {
        self.worktree.changes(since)
    }

    fn patch(&self, since: Option<&str>, out: &mut dyn io::Write) -> Result<(), WorkerError> {
        self.worktree.patch(since, out)
    }

    fn merge(&self, with_conflicts: bool) -> Result<Result<Merged, NotMerged>, WorkerError> {
        self.worktree.merge(with_conflicts)
    }

    fn apply(&self, merged: &Merged, to: &ApplyTo, task: &str) -> Result<Vec<FileChange>, WorkerError> {
        self.worktree.apply(merged, to, task)
    }
}
