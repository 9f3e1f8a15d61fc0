//! An engine that is killed while an agent works in one of its containers. These tests have their own engine, because
//! other tests use the common one.

#[path = "../../../../../xtask/src/dockerd.rs"]
mod daemon;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rapport_core::{Event, Status};
use tempfile::TempDir;

use self::daemon::dockerd;
use super::{ASKS, World, until};
use crate::support::needs;
use crate::support::patience::wait_at_most;
use crate::support::project::Project;

/// An engine, until it is dropped.
pub(super) struct OwnEngine {
    folder: TempDir,
    dockerd: Child,
    /// The directory with its data.
    root: &'static str,
    /// The port at which it answers, if it is used as one of another machine.
    port: Option<u16>,
}

impl OwnEngine {
    /// `None` only where what is missing was left out on purpose.
    #[track_caller]
    pub(super) fn start() -> Option<Self> {
        Self::started(None)
    }

    /// The same, used like one on another machine: at a port of this one.
    #[track_caller]
    pub(super) fn at_a_port() -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::started(Some(free))
    }

    #[track_caller]
    fn started(port: Option<u16>) -> Option<Self> {
        let shared = needs::engine()?;
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = "root";
        let dockerd = start(folder.path(), root, port);
        let own = Self { folder, dockerd, root, port };
        own.until_up();
        let archive = own.folder.path().join("image.tar");
        let run = |address: &str, args: &[&str]| {
            let done = Command::new("docker").args(["--host", address]).args(args).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        run(&shared, &["save", "--output", archive.to_str().unwrap(), needs::IMAGE]);
        run(&own.address(), &["load", "--input", archive.to_str().unwrap()]);
        fs::remove_file(archive).unwrap();
        Some(own)
    }

    /// The names of its networks.
    pub(super) fn networks(&self) -> Vec<String> {
        let list = ["--host", &self.address(), "network", "ls", "--format", "{{.Name}}"];
        let listed = Command::new("docker").args(list).output().unwrap();
        String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    pub(super) fn address(&self) -> String {
        match self.port {
            Some(port) => format!("tcp://127.0.0.1:{port}"),
            None => format!("unix://{}", self.folder.path().join("d.sock").display()),
        }
    }

    fn until_up(&self) {
        until("the engine answers", || {
            let asked = Command::new("docker").args(["--host", &self.address(), "version"]).output();
            asked.is_ok_and(|asked| asked.status.success())
        });
    }

    /// Kills it as a crash does; containers and what is in them stay.
    pub(super) fn kill(&mut self) {
        self.dockerd.kill().unwrap();
        self.dockerd.wait().unwrap();
        if let Ok(pid) = fs::read_to_string(self.containerd()) {
            Command::new("kill").args(["-9", pid.trim()]).status().unwrap();
        }
        for left in [self.containerd(), self.folder.path().join("d.pid")] {
            let _ = fs::remove_file(left);
        }
    }

    pub(super) fn come_back(&mut self) {
        self.dockerd = start(self.folder.path(), self.root, self.port);
        self.until_up();
    }

    /// Another engine answers at its address, which knows nothing of its containers.
    fn be_replaced(&mut self) {
        let image = self.folder.path().join("image.tar");
        self.run(&["save", "--output", image.to_str().unwrap(), needs::IMAGE]);
        self.kill();
        self.root = "another";
        self.come_back();
        self.run(&["load", "--input", image.to_str().unwrap()]);
        fs::remove_file(image).unwrap();
    }

    fn run(&self, args: &[&str]) {
        let done = Command::new("docker").args(["--host", &self.address()]).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn containerd(&self) -> PathBuf {
        self.folder.path().join("exec/containerd/containerd.pid")
    }

    pub(super) fn world(&self) -> World {
        let project = Project::with_scenario(ASKS).working_in("container");
        let project = project.set("DOCKER_HOST", &self.address());
        World { project, engine: self.address(), model: None }
    }
}

fn start(folder: &Path, root: &str, port: Option<u16>) -> Child {
    let root = format!("--data-root={}", folder.join(root).display());
    let port = port.map(|port| format!("--host=tcp://127.0.0.1:{port}"));
    dockerd(folder).arg(root).args(port).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        let listed =
            Command::new("docker").args(["--host", &self.address(), "ps", "--all", "--quiet"]).output();
        let listed = listed.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
        for container in listed.split_whitespace() {
            let _ =
                Command::new("docker").args(["--host", &self.address(), "rm", "--force", container]).output();
        }
        // It ends its containerd too.
        let _ = Command::new("kill").arg(self.dockerd.id().to_string()).status();
        let _ = self.dockerd.wait();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let here = self.folder.path().to_string_lossy().into_owned();
        for mount in
            mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|path| path.starts_with(&here))
        {
            let _ = Command::new("umount").arg(mount).status();
        }
    }
}

/// WORK-21: the engine is not between Rapport and the agent, so the answer reaches the agent without it, and the
/// agent comes to its end; its work is taken out when the engine is back.
#[test]
fn an_answer_reaches_its_agent_without_the_engine() {
    let Some(engine) = OwnEngine::start() else { return };
    let world = engine.world();
    reaches_its_agent_without_the_engine(engine, &world);
}

/// WORK-21: the same with the real CLI.
#[test]
fn an_answer_reaches_the_real_cli_without_the_engine() {
    let (Some(engine), Some(world)) = (OwnEngine::start(), World::real()) else { return };
    let world = World {
        project: world.project.set("DOCKER_HOST", &engine.address()),
        engine: engine.address(),
        model: world.model,
    };
    reaches_its_agent_without_the_engine(engine, &world);
}

fn reaches_its_agent_without_the_engine(mut engine: OwnEngine, world: &World) {
    let mut running = world.asked(&[]);
    engine.kill();
    world.answer();
    running.until(|fact| matches!(fact, Event::TurnEnded { result, .. } if result == "Painted."));
    running.finish();
    engine.come_back();
    world.assert_painted();
}

/// WORK-21: what needs the engine works when it is back.
#[test]
fn an_engine_that_dies_and_comes_back_loses_nothing() {
    let Some(mut engine) = OwnEngine::start() else { return };
    let world = engine.world();
    let running = world.asked(&[]);
    engine.kill();
    assert_eq!(world.project.view().status, Status::NeedsInput);
    running.kill();
    world.answer();
    let session = world.project.session();
    let refused = world.project.start(&["--resume", session.as_str()], &[]).finish();
    assert_ne!(refused, 0, "nothing works without the engine");
    engine.come_back();
    let resumed = world.project.start(&["--resume", session.as_str()], &[]);
    assert_eq!(resumed.finish(), 0);
    world.assert_painted();
}

/// WORK-21: the engine is replaced by another one while a question waits and its host lives on: the container is made
/// again there, from the store.
#[test]
fn an_engine_that_is_replaced_gets_the_work_from_the_store() {
    let Some(mut engine) = OwnEngine::start() else { return };
    let mut world = engine.world();
    world.project = world.project.set("RAPPORT_WORKER_IDLE", "1s");
    let running = world.parked();
    until("the container stops", || !world.is_running());
    engine.be_replaced();
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_continued_at_its_call();
    world.assert_painted();
}

/// Host and engine are killed together: the agent does not continue by itself.
#[test]
fn an_agent_ends_with_its_host_although_the_engine_is_dead() {
    let Some(mut engine) = OwnEngine::start() else { return };
    let world = engine.world();
    let running = world.asked(&[]);
    let home = world.project.root().join(format!(".rapport/worktrees/{}.home", world.project.session()));
    assert!(processes_at_home(&home) >= 3, "its keeper and the agent");
    engine.kill();
    running.kill();
    wait_at_most(Duration::from_secs(3), "the end of the agent", || {
        (processes_at_home(&home) == 0).then_some(())
    });
    engine.come_back();
    world.answer();
    let session = world.project.session();
    let mut resumed = world.project.start(&["--resume", session.as_str()], &[]);
    resumed.until(|fact| matches!(fact, Event::Reported { .. }));
    assert_eq!(resumed.finish(), 0);
    world.assert_painted();
}

/// The number of processes with this home.
fn processes_at_home(home: &std::path::Path) -> usize {
    let wanted = format!("HOME={}", home.display()).into_bytes();
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("environ"));
    let carries = |path: &PathBuf| {
        fs::read(path).unwrap_or_default().split(|byte| *byte == 0).any(|pair| pair == wanted)
    };
    all.filter(carries).count()
}
