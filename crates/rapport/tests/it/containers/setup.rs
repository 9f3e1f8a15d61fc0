//! Preparing a project for building: the setup command of the settings, run once for each state of the lock files,
//! and the project's own `devcontainer.json`.

use rapport_core::{Event, Status};

use super::{World, until};
use crate::support::needs;
use crate::support::project::Project;

/// An agent that tells what the setup made.
const LOOKS: &str = r##"
version: 1
name: looks
invocations:
  - result: "# Look\n\n1. Look around."
  - steps:
      - bash: { command: "cat modules/when > when.txt; cat ~/kept modules/what > seen.txt; echo $GREETING >> seen.txt; ls -A > files.txt" }
    result: "Looked."
"##;

/// What a package manager does: a folder that git ignores, something in the home, and something that git does not
/// ignore.
const SETUP: &str = "mkdir -p modules && cat package-lock.json > modules/what && echo at home > ~/kept && \
                     cat /proc/sys/kernel/random/uuid > modules/when && echo stray > stray.txt";

fn world(setup: &str) -> Option<World> {
    let world = World::new(LOOKS)?;
    let write = |path: &str, content: &str| std::fs::write(world.project.root().join(path), content).unwrap();
    write(".gitignore", "modules/\n");
    write("package-lock.json", "one\n");
    world.project.git(&["add", "--all"]);
    world.project.git(&["commit", "--quiet", "-m", "Modules"]);
    Some(World { project: world.project.set("RAPPORT_WORKER_SETUP", setup), ..world })
}

/// Runs a session to its end, and gives a file that it made.
fn made(project: &Project, name: &str, file: &str) -> String {
    let mut running = project.start(&[name], &[]);
    running.until_asked();
    project.rapport(&["answer", name, "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    project.rapport(&["shell", name, "--", "cat", file]).out()
}

/// The containers and volumes of setups.
fn setups(world: &World) -> (Vec<String>, Vec<String>) {
    let label = format!("label=rapport.setup={}", world.project.root().display());
    let listed = |args: &[&str]| -> Vec<String> { world.docker(args).lines().map(str::to_owned).collect() };
    let containers = listed(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]);
    (containers, listed(&["volume", "ls", "--filter", &label, "--format", "{{.Name}}"]))
}

fn clear(world: &World, sessions: &[&str]) {
    for session in sessions {
        world.project.rapport(&["discard", session, "--yes"]).check(0, "");
    }
    for volume in setups(world).1 {
        world.docker(&["volume", "rm", &volume]);
    }
}

#[test]
fn it_runs_once_for_each_state_of_the_lock_files() {
    let Some(world) = world(SETUP) else { return };
    let project = &world.project;
    let first = made(project, "first", "when.txt");
    assert_eq!(project.rapport(&["shell", "first", "--", "cat", "seen.txt"]).out(), "at home\none\n\n");
    assert!(first.len() > 30, "{first}");
    let files = project.rapport(&["shell", "first", "--", "cat", "files.txt"]).out();
    assert!(
        files.contains("modules") && !files.contains("stray.txt"),
        "only what is ignored is there: {files}"
    );
    let diff = project.rapport(&["diff", "first"]).out();
    assert!(diff.contains("seen.txt") && !diff.contains("modules/"), "{diff}");
    let (containers, volumes) = setups(&world);
    assert_eq!((containers.len(), volumes.len()), (0, 1), "its container is gone, its volume is not");
    assert_eq!(made(project, "second", "when.txt"), first, "it did not run again");
    std::fs::write(project.root().join("package-lock.json"), "two\n").unwrap();
    assert_ne!(made(project, "third", "when.txt"), first, "the lock file is another one");
    assert_eq!(project.rapport(&["shell", "third", "--", "cat", "seen.txt"]).out(), "at home\ntwo\n\n");
    clear(&world, &["first", "second", "third"]);
}

/// A setup that fails is told with its last words, leaves nothing, and is tried again.
#[test]
fn one_that_fails_is_told_and_tried_again() {
    let Some(world) = world("echo no network; exit 7") else { return };
    let ran = world.project.rapport(&["run", "look"]);
    assert_ne!(ran.code(), 0);
    let told = format!("{}{}", ran.out(), ran.err());
    assert!(
        told.contains("worker.setup") && told.contains("exit code 7") && told.contains("no network"),
        "{told}"
    );
    assert_eq!(world.project.view().status, Status::Failed);
    assert_eq!(setups(&world), (vec![], vec![]), "nothing is left");
    let world = World { project: world.project.set("RAPPORT_WORKER_SETUP", SETUP), ..world };
    let session = world.project.session();
    let mut resumed = world.project.start(&["--resume", session.as_str()], &[]);
    resumed.until_asked();
    world.project.rapport(&["answer", "look", "confirm"]).check(0, "Answered.");
    assert_eq!(resumed.finish(), 0);
    clear(&world, &["look"]);
}

/// Killed during the setup, nothing of it is left running, and what it began is not used.
#[test]
fn killed_it_begins_again() {
    let Some(world) = world(
        "echo begun > begun; [ ! -e slow ] || sleep 1000; mkdir modules; echo > modules/when; cp begun modules/what; echo > ~/kept",
    ) else {
        return;
    };
    std::fs::write(world.project.root().join("slow"), "").unwrap();
    let running = world.project.start(&["look"], &[]);
    until("the setup runs", || {
        setups(&world).0.iter().any(|name| world.docker(&["top", name]).contains("sleep 1000"))
    });
    running.kill();
    let name = setups(&world).0[0].clone();
    until("nothing of it is left", || !world.docker(&["top", &name]).contains("sleep 1000"));
    std::fs::remove_file(world.project.root().join("slow")).unwrap();
    let session = world.project.session();
    let mut resumed = world.project.start(&["--resume", session.as_str()], &[]);
    resumed.until_asked();
    world.project.rapport(&["answer", "look", "confirm"]).check(0, "Answered.");
    assert_eq!(resumed.finish(), 0);
    assert_eq!(world.project.rapport(&["shell", "look", "--", "cat", "modules/what"]).out(), "begun\n");
    assert_eq!(setups(&world).0, Vec::<String>::new());
    clear(&world, &["look"]);
}

/// What came with the repository counts once the person trusts it; what cannot be honoured is told.
#[test]
fn a_devcontainer_counts_once_it_is_trusted() {
    let Some(world) = world("") else { return };
    let folder = world.project.root().join(".devcontainer");
    std::fs::create_dir(&folder).unwrap();
    let file = format!(
        r#"{{
          // For editors
          "image": "{}",
          "postCreateCommand": {{ "modules": "mkdir modules && echo dev > modules/what && echo > modules/when", "home": ["sh", "-c", "echo home > ~/kept"] }},
          "containerEnv": {{ "GREETING": "hello from ${{containerWorkspaceFolder}}" }},
          "features": {{ "ghcr.io/devcontainers/features/node:1": {{}} }},
        }}"#,
        needs::IMAGE
    );
    std::fs::write(folder.join("devcontainer.json"), file).unwrap();
    let world = World { project: world.project.set("RAPPORT_WORKER_IMAGE", ""), ..world };
    // The person has not trusted the file: its image is not used, and the default image does not exist.
    let ran = world.project.rapport(&["run", "look"]);
    let told = format!("{}{}", ran.out(), ran.err());
    assert!(
        told.contains(".devcontainer/devcontainer.json is ignored") && told.contains("rapport trust"),
        "{told}"
    );
    assert!(told.contains("no image rapport-worker"), "{told}");
    let shown = world.project.rapport(&["trust", "--yes"]);
    shown.check(0, "postCreateCommand");
    let session = world.project.session();
    let mut resumed = world.project.start(&["--resume", session.as_str()], &[]);
    resumed.until_asked();
    world.project.rapport(&["answer", "look", "confirm"]).check(0, "Answered.");
    let (code, said) = resumed.finish_saying();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("features of .devcontainer/devcontainer.json cannot be honoured"), "{said}");
    let seen = world.project.rapport(&["shell", "look", "--", "cat", "seen.txt"]).out();
    assert_eq!(seen, "home\ndev\nhello from /work/project\n");
    // Changed, it is another one.
    std::fs::write(folder.join("devcontainer.json"), "{}").unwrap();
    let shown: serde_json::Value = world.project.json(&["trust", "--json"]);
    assert_eq!(shown["trusted"], false, "{shown}");
    assert!(world.project.facts().iter().any(|fact| matches!(fact, Event::Reported { .. })));
    clear(&world, &["look"]);
}
