//! What is missing, or breaks: the engine, the image, what is in it.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rapport_core::Status;

use super::{ASKS, World};
use crate::support::needs;
use crate::support::project::Project;

/// WORK-21: without an engine nothing begins, and the message says what to do.
#[test]
fn without_an_engine_nothing_begins() {
    for (engine, why) in [
        ("unix:///nowhere/docker.sock", "no container engine answers at /nowhere/docker.sock"),
        ("tcp://127.0.0.1:1", "DOCKER_HOST names an engine on another machine"),
    ] {
        let project =
            Project::with_scenario(ASKS).set("DOCKER_HOST", engine).set("RAPPORT_WORKER", "container");
        let ran = project.rapport(&["run", "paint"]);
        ran.check(3, why).check(3, "--worker worktree");
        assert_eq!(project.json::<serde_json::Value>(&["status", "--json"]), serde_json::json!([]));
        assert!(project.rapport(&["doctor"]).out().contains(why), "doctor says it, too");
    }
}

#[test]
fn an_image_that_is_missing_or_useless_is_told() {
    let Some(world) = World::new(ASKS) else { return };
    let name = format!("without-git-{}", std::process::id());
    let remove = ["sh", "-c", "rm $(command -v git)"];
    world.docker(&[&["run", "--name", &name, "--network", "none", needs::IMAGE][..], &remove].concat());
    world.docker(&["commit", &name, &name]);
    world.docker(&["rm", &name]);
    for (image, why) in
        [("no-such-image", "has no image no-such-image"), (&*name, "there is no git in the image")]
    {
        let world = World::new(ASKS).unwrap();
        let project = world.project.set("RAPPORT_WORKER_IMAGE", image);
        let ran = project.rapport(&["run", "paint"]);
        assert_ne!(ran.code(), 0);
        let told = format!("{}{}", ran.out(), ran.err());
        assert!(told.contains(why), "{told}");
        assert_eq!(project.view().status, Status::Failed);
        let label = format!("label=rapport.project={}", project.root().display());
        let args = ["--host", &world.engine, "ps", "--all", "--quiet", "--filter", &label];
        assert_eq!(Command::new("docker").args(args).output().unwrap().stdout, b"", "nothing is left");
    }
    world.docker(&["rmi", &name]);
}

/// A repository that the agent made has no commit, and the project's own is gone: its work is not dropped in silence.
#[test]
fn work_in_a_repository_of_its_own_is_told_without_the_agents_git() {
    let Some(world) = World::new(NESTED) else { return };
    let running = world.project.start(&["paint"], &[]);
    world.project.wait_asked_for("confirm");
    world.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    world
        .project
        .rapport(&["apply", "paint"])
        .check(1, "inner has changes and is a git repository of its own");
    world.project.rapport(&["discard", "paint", "--yes"]).check(0, "Its container is gone");
}

const NESTED: &str = r##"
version: 1
name: nested
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "git init --quiet inner; echo work > inner/work.txt; rm -rf .git" }
    result: "Painted."
"##;

/// Binary content, modes, links, deletions and names survive the way out; a detached HEAD, uncommitted work, a submodule and
/// an ignored file that the project wants there survive the way in.
#[test]
fn every_kind_of_file_goes_in_and_comes_out() {
    let Some(world) = World::new(KINDS) else { return };
    let project = &world.project;
    let write = |path: &str, content: &[u8]| std::fs::write(project.root().join(path), content).unwrap();
    write(".gitignore", b"*.secret\n");
    write(".worktreeinclude", b"*.secret\n");
    write("gone.txt", b"gone\n");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "library"];
    project.git(&add);
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    project.git(&["checkout", "--quiet", "--detach"]);
    write("one.secret", b"secret\n");
    write("draft.txt", b"draft\n");
    let running = project.start(&["paint"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    let there = |path: &str| project.root().join(path);
    assert_eq!(std::fs::read(there("data.bin")).unwrap(), [0, 255, 10, 0]);
    assert_eq!(std::fs::read_link(there("link")).unwrap().to_str(), Some("data.bin"));
    let mode = std::fs::metadata(there("tool.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(project.file("two words/ü.txt"), "name\n");
    assert_eq!(project.file("seen.txt"), "draft\nsecret\n");
    assert!(!there("gone.txt").exists() && there("library").is_dir());
    assert!(std::fs::read_to_string(there(".git/HEAD")).unwrap().len() > 39, "it is still detached");
}

const KINDS: &str = r##"
version: 1
name: kinds
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "printf '\\000\\377\\n\\000' > data.bin; ln -s data.bin link; echo true > tool.sh; chmod +x tool.sh" }
      - bash: { command: "mkdir 'two words'; echo name > 'two words/ü.txt'; rm gone.txt; cat draft.txt one.secret > seen.txt" }
    result: "Painted."
"##;
