//! Containers with too little memory or disk space, and work of unusual size.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rapport_core::{Event, Status};
use tempfile::TempDir;

use super::World;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_at_most;
use crate::support::project::Project;

/// Agrees to the plan, and waits for the end.
fn done(project: &Project) -> i32 {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.finish()
}

/// An agent with a command that takes more memory than there is.
const GREEDY: &str = r##"
version: 1
name: greedy
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - bash: { command: "head -c 400000000 /dev/zero | tail -n 1 > /dev/null; echo $? > code.txt" }
      - write: { path: after.txt, content: "after\n" }
    result: "Painted."
"##;

/// The system kills what is too large, within the container: neither the agent nor this machine is harmed, and a
/// check that takes too much has failed.
#[test]
fn without_memory_a_command_is_killed_and_the_work_goes_on() {
    let Some(world) = World::new(GREEDY) else { return };
    let project = world
        .project
        .set("RAPPORT_WORKER_MEMORY", "96m")
        .set("RAPPORT_WORKER_CHECK", "head -c 400000000 /dev/zero | tail -n 1 > /dev/null");
    assert_eq!(done(&project), 0);
    assert_eq!(project.view().check.and_then(|check| check.exit), Some(137));
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("code.txt"), "137\n", "it was killed");
    assert_eq!(
        (project.file("before.txt"), project.file("after.txt")),
        ("before\n".into(), "after\n".into())
    );
}

/// The agent itself takes too much, and again: the session has failed, says so, and what was made is there.
const SELFISH: &str = r##"
version: 1
name: selfish
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - bash: { command: "sync; kill -9 $PPID; sleep 1000" }
    result: "Painted."
"##;

/// WORK-19: an agent that the system kills each time does not run forever.
#[test]
fn an_agent_that_is_killed_each_time_fails_and_loses_nothing() {
    let Some(world) = World::new(SELFISH) else { return };
    assert_ne!(done(&world.project), 0);
    assert_eq!(world.project.view().status, Status::Failed);
    world.project.rapport(&["diff", "paint"]).check(0, "+before");
    world.project.rapport(&["discard", "paint", "--yes"]).check(0, "");
}

/// WORK-19: the real CLI needs more memory than its container has, each time it starts. The system kills it, the
/// session says so, and continues with more memory.
#[test]
fn an_agent_without_memory_fails_and_goes_on_with_more() {
    let (Some(engine), Some(program)) = (needs::engine(), needs::claude()) else { return };
    let script = Script::default()
        .say(Response::default().text("# Paint\n\n1. Paint it."))
        .say(Response::default().text("Painted."));
    let model = Model::play(script);
    let url = format!("http://{}", model.address());
    let project = Project::with_agent(&program.display().to_string()).working_in("container");
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    let world = World { project: project.set("RAPPORT_WORKER_MEMORY", "48m"), engine, model: None };
    let (code, said) = world.project.start(&["paint"], &[]).finish_saying();
    assert_ne!(code, 0);
    assert_eq!(world.project.view().status, Status::Failed, "{said}");
    let failed = world.project.facts().into_iter().find_map(|fact| match fact {
        Event::Failed { reason } => Some(reason),
        _ => None,
    });
    assert!(
        failed.as_ref().is_some_and(|reason| reason.contains("137") || reason.contains("killed")),
        "{failed:?}"
    );
    world.docker(&["rm", "--force", &world.container()]);
    let project = world.project.set("RAPPORT_WORKER_MEMORY", "2g");
    let mut running = project.start(&["--resume", project.session().as_str()], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    project.rapport(&["discard", "paint", "--yes"]).check(0, "");
}

/// A disk of 64 MB for one volume, gone when dropped.
struct SmallVolume {
    _folder: TempDir,
    device: String,
    engine: String,
    name: String,
}

impl SmallVolume {
    fn new(engine: &str, name: &str) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = folder.path().join("disk");
        fs::File::create(&image).unwrap().set_len(64 * 1024 * 1024).unwrap();
        let run = |program: &str, args: &[&str]| {
            let out = Command::new(program).args(args).output().unwrap();
            assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap().trim().to_owned()
        };
        run("mkfs.ext4", &["-q", "-m", "0", image.to_str().unwrap()]);
        let device = run("losetup", &["--find", "--show", image.to_str().unwrap()]);
        let source = format!("device={device}");
        let create = ["--host", engine, "volume", "create", "--driver", "local", "--opt", "type=ext4"];
        run("docker", &[&create[..], &["--opt", &source, name]].concat());
        Self { _folder: folder, device, engine: engine.to_owned(), name: name.to_owned() }
    }
}

impl Drop for SmallVolume {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["--host", &self.engine, "volume", "rm", &self.name]).output();
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

/// An agent that fills the disk.
const FILLS: &str = r##"
version: 1
name: fills
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - bash: { command: "dd if=/dev/urandom of=big.bin bs=1M count=200 2> /dev/null; echo filled > after.txt; true" }
    result: "Painted."
"##;

/// With a full disk the work cannot be told, and that is said; it is there, and can be once there is room.
#[test]
fn with_a_full_disk_the_work_waits_for_room() {
    let Some(world) = World::new(FILLS) else { return };
    let project = &world.project;
    // The session gets the volume that has its name.
    let digest = rapport_durable::digest(project.root().to_str().unwrap().as_bytes());
    let today = jiff::Zoned::now().strftime("%Y%m%d").to_string();
    let name = format!("rapport-{today}-paint-{}", &digest[digest.len() - 8..]);
    let _small = SmallVolume::new(&world.engine, &name);
    let code = done(project);
    assert_eq!(world.container(), name, "the session has the small volume");
    let facts = project.facts();
    let told = facts.iter().any(|fact| match fact {
        Event::Reported { changes: Some(changes) } => {
            changes.unknown.as_ref().is_some_and(|why| why.contains("No space left"))
        }
        Event::Failed { reason } => reason.contains("No space left"),
        _ => false,
    });
    assert!(told, "exit code {code}: {facts:#?}");
    let diff = project.rapport(&["diff", "paint"]);
    assert!(diff.code() != 0 && diff.err().contains("No space left"), "{}{}", diff.out(), diff.err());
    project.rapport(&["shell", "paint", "--", "rm", "big.bin"]).check(0, "");
    project.rapport(&["diff", "paint"]).check(0, "+before");
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("before.txt"), "before\n");
}

/// An agent that makes 100 MB that cannot be compressed.
const LARGE: &str = r##"
version: 1
name: large
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "head -c 100000000 /dev/urandom > large.bin; sync" }
    result: "Painted."
"##;

#[test]
fn a_patch_of_100_megabytes_comes_out_whole() {
    let Some(world) = World::new(LARGE) else { return };
    let project = &world.project;
    assert_eq!(done(project), 0);
    let there =
        Command::new("docker").args(["--host", &world.engine, "start", &world.container()]).output().unwrap();
    assert!(there.status.success());
    let copy: PathBuf = project.path("copy.bin");
    let from = format!("{}:/work/project/large.bin", world.container());
    world.docker(&["cp", &from, copy.to_str().unwrap()]);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    let applied = fs::read(project.root().join("large.bin")).unwrap();
    assert_eq!(applied.len(), 100_000_000);
    assert!(applied == fs::read(copy).unwrap(), "every byte is the same");
    wait_at_most(Duration::from_secs(10), "the container is gone", || {
        world.container().is_empty().then_some(())
    });
}
