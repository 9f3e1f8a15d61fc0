//! Containers on another machine: an engine that is reached over TCP or through ssh, and cannot read files of this
//! machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use rapport_core::Event;

use super::engines::OwnEngine;
use super::{ASKS, World, until};
use crate::support::needs;
use crate::support::project::Project;

/// The volumes of an engine that are not those with programs.
fn volumes(world: &World) -> Vec<String> {
    let all = world.docker(&["volume", "ls", "--quiet"]);
    all.lines().filter(|name| !name.starts_with("rapport-tool-")).map(str::to_owned).collect()
}

/// WORK-1, WORK-16: the agent asks, is answered at its call, and its work comes back; nothing of this machine is
/// mounted there, and nothing is left of it.
#[test]
fn an_agent_on_another_machine_is_an_agent_like_any_other() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let mut world = engine.world();
    world.project = world.project.set("RAPPORT_WORKER_CHECK", "cat before.txt after.txt; [ -f seen.txt ]");
    let running = world.asked(&[]);
    let mounts = world.told("{{range .Mounts}}{{.Type}} {{end}}");
    assert!(mounts.split_whitespace().all(|kind| kind == "volume"), "{mounts}");
    let shell = ["shell", "paint", "--", "sh", "-c", "cat before.txt; touch /rapport/tools/x"];
    world.project.rapport(&shell).check(1, "before").check(1, "Read-only file system");
    world.answer();
    assert_eq!(running.finish(), 0);
    assert_eq!(world.project.view().check.and_then(|check| check.exit), Some(0));
    world.assert_painted();
    assert_ne!(world.project.file("user.txt"), "0\n", "nobody is root there");
    assert_eq!(volumes(&world), [""; 0]);
}

/// WORK-8, WORK-16: container and volumes are gone while the question is parked, with the agent's home and its
/// conversation: all is made again from the store, and the agent continues at its call.
#[test]
fn all_of_it_is_made_again_from_the_store() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let mut world = engine.world();
    world.project =
        world.project.set("RAPPORT_WORKER_SETUP", "mkdir -p vendor && echo made > vendor/made.txt");
    fs::write(world.project.root().join(".gitignore"), "vendor/\n").unwrap();
    let running = world.parked();
    let made = ["shell", "paint", "--", "cat", "vendor/made.txt"];
    world.project.rapport(&made).check(0, "made");
    let container = world.container();
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container, &format!("{container}-home")]);
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_continued_at_its_call();
    world.assert_painted();
    let left = volumes(&world);
    assert!(
        left.iter().all(|name| name.starts_with("rapport-setup-") && !name.ends_with("-home")),
        "{left:?}"
    );
}

/// The host is killed: its end of the stream closes, and the agent ends at once, without an answer. The session goes
/// on where it was.
#[test]
fn killed_with_its_host_it_goes_on_in_the_same_container() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let world = engine.world();
    let running = world.asked(&[]);
    let container = world.told("{{.Id}}");
    running.kill();
    world.project.wait_alone(Duration::from_secs(3));
    world.answer();
    let session = world.project.session();
    let resumed = world.project.start(&["--resume", session.as_str()], &[]);
    assert_eq!(resumed.finish(), 0);
    assert_eq!(world.told("{{.Id}}"), container);
    world.assert_painted();
}

/// WORK-19: the container dies under its agent, and is started again.
#[test]
fn killed_under_its_agent_it_is_started_again() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let world = engine.world();
    let mut running = world.asked(&[]);
    world.docker(&["kill", &world.container()]);
    running.until(|fact| matches!(fact, Event::CutOff { .. }));
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_painted();
}

/// The programs are brought there once. What a killed process left of one is not used, and removed.
#[test]
fn programs_are_brought_once_and_whole() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let first = engine.world();
    first.asked(&[]).kill();
    let tools = || first.docker(&["volume", "ls", "--quiet", "--filter", "label=rapport.tool"]);
    let tool = tools();
    let second = engine.world();
    second.asked(&[]).kill();
    assert_eq!(tools(), tool, "one volume for both");
    for world in [&first, &second] {
        world.project.rapport(&["discard", "paint", "--yes"]).check(0, "");
    }
    // As if a process had been killed while it filled the volume.
    first.docker(&["volume", "rm", &tool]);
    let third = engine.world();
    let path = format!("rapport.tool={}", env!("CARGO_BIN_EXE_rapport"));
    let home = format!("rapport.home={}", third.project.path("home/.rapport").display());
    let labels = ["--label", &path, "--label", &home];
    first.docker(&[&["volume", "create"][..], &labels, &["left"]].concat());
    let mount = ["--mount", "type=volume,source=left,target=/tool", needs::IMAGE, "true"];
    first.docker(&[&["create", "--name", "left"][..], &labels, &mount].concat());
    let running = third.asked(&[]);
    third.answer();
    assert_eq!(running.finish(), 0);
    third.assert_painted();
    assert!(!tools().is_empty() && !tools().contains("left"), "{}", tools());
}

/// A program that stands in for ssh, in a folder of its own, which is given to the project.
fn with_ssh(project: Project, script: &str) -> Project {
    let folder = project.path("ssh");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("ssh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    project
        .set("PATH", &format!("{}:{path}", folder.display()))
        .set("DOCKER_HOST", "ssh://me@build.example:2222")
}

/// Through ssh the engine is reached as Docker's own programs reach it.
#[test]
fn an_engine_is_reached_through_ssh() {
    let Some(mut world) = World::new(ASKS) else { return };
    let called = world.project.path("called.txt");
    let script = format!(
        "printf '%s\\n' \"$*\" >> {}; exec docker --host {} system dial-stdio",
        called.display(),
        world.engine
    );
    world.project = with_ssh(world.project, &script);
    let running = world.parked();
    let expected = "-o BatchMode=yes -l me -p 2222 -- build.example docker system dial-stdio";
    let said = fs::read_to_string(&called).unwrap();
    assert!(said.lines().all(|line| line == expected), "{said}");
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_continued_at_its_call();
    world.assert_painted();
    until("the volumes are gone", || {
        let label = format!("label=rapport.project={}", world.project.root().display());
        world.docker(&["volume", "ls", "--quiet", "--filter", &label]).is_empty()
    });
}

/// WORK-21: what ssh complains about is told, and nothing begins.
#[test]
fn what_ssh_complains_about_is_told() {
    let project = Project::with_scenario(ASKS).set("RAPPORT_WORKER", "container");
    let project = with_ssh(project, "echo 'me@build.example: Permission denied.' >&2; exit 255");
    let ran = project.rapport(&["run", "--worker", "container", "paint"]);
    let why =
        "no container engine answers at ssh://me@build.example:2222: me@build.example: Permission denied.";
    ran.check(3, why).check(3, "--worker worktree");
    assert!(project.rapport(&["doctor"]).out().contains("Permission denied."));
    let project =
        Project::with_scenario(ASKS).set("DOCKER_HOST", "tcp://127.0.0.1:1").set("DOCKER_TLS_VERIFY", "1");
    project.rapport(&["run", "--worker", "container", "paint"]).check(3, "does not use TLS");
}
