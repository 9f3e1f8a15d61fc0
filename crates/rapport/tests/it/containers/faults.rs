//! Missing or broken parts: the engine, the image, the programs in it.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rapport_core::Status;

use super::{ASKS, World};
use crate::support::ordinary::by_an_ordinary_user;
use crate::support::project::Project;
use crate::support::{needs, remote};

/// WORK-21: without an engine nothing begins, and the message says what to do.
#[test]
fn without_an_engine_nothing_begins() {
    for (engine, why) in [
        ("unix:///nowhere/docker.sock", "no container engine answers at /nowhere/docker.sock"),
        ("tcp://127.0.0.1:1", "no container engine answers at tcp://127.0.0.1:1"),
        ("somewhere", "DOCKER_HOST is no address of a container engine: somewhere"),
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

/// Binary content, modes, links, deletions and names survive the way out; a detached HEAD, uncommitted work, a
/// submodule and an ignored file that the project wants there survive the way in.
#[test]
fn every_kind_of_file_goes_in_and_comes_out() {
    let Some(world) = World::new(KINDS) else { return };
    let project = &world.project;
    let write = |path: &str, content: &[u8]| std::fs::write(project.root().join(path), content).unwrap();
    write(".gitignore", b"*.secret\n");
    write(".worktreeinclude", b"*.secret\n");
    write("gone.txt", b"gone\n");
    // A pointer of git-lfs, which is not installed here: it is a file like any other.
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    write(".gitattributes", b"*.psd filter=lfs diff=lfs merge=lfs -text\n");
    write("big.psd", pointer);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "library"];
    project.git(&add);
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    project.git(&["checkout", "--quiet", "--detach"]);
    write("one.secret", b"secret\n");
    write("draft.txt", b"draft\n");
    project.rapport(&["trust", "--yes"]).check(0, ".worktreeinclude");
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
    assert_eq!(project.file("big.psd").as_bytes(), pointer);
    assert_eq!(project.file("big2.psd"), "size 12345\n");
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
      - bash: { command: "mkdir 'two words'; echo name > 'two words/ü.txt'; rm gone.txt; cat draft.txt one.secret > seen.txt; tail -n 1 big.psd > big2.psd" }
    result: "Painted."
"##;

/// WORK-20: the image is gone when the answer comes. The answer is stored, the session still needs input, and says
/// what is in the way; once that is mended, `resume` delivers the answer, and nothing is asked anew.
#[test]
fn an_answer_waits_until_the_image_is_back() {
    World::new(ASKS).into_iter().for_each(waits_until_the_image_is_back);
}

/// WORK-20: the same with the real CLI.
#[test]
fn an_answer_to_the_real_cli_waits_until_the_image_is_back() {
    World::real().into_iter().for_each(waits_until_the_image_is_back);
}

fn waits_until_the_image_is_back(mut world: World) {
    let image = format!("rapport-test-{}", uuid::Uuid::new_v4().simple());
    world.docker(&["tag", crate::support::needs::IMAGE, &image]);
    world.project = world.project.set("RAPPORT_WORKER_IMAGE", &image);
    let running = world.parked();
    let container = world.container();
    world.docker(&["rm", "--force", &container]);
    world.docker(&["rmi", &image]);
    world.answer();
    let (code, said) = running.finish_saying();
    assert_ne!(code, 0);
    assert!(
        said.contains("has no image") && said.contains("is stored, and the agent does not have it: Blue"),
        "{said}"
    );
    let view = world.project.view();
    assert_eq!(view.status, Status::NeedsInput);
    let stored: Vec<_> = view.undelivered.iter().map(|one| one.answer.as_str()).collect();
    assert_eq!(stored, ["Blue"]);
    let told = world.project.rapport(&["status"]).out();
    for words in [
        "needs input",
        "Which colour? -> Blue (stored; the agent could not take it)",
        "has no image",
        "rapport resume",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    world.docker(&["tag", crate::support::needs::IMAGE, &image]);
    let session = world.project.session();
    assert_eq!(world.project.start(&["--resume", session.as_str()], &[]).finish(), 0);
    world.assert_painted();
    world.docker(&["rmi", &image]);
}

/// Nothing that an ordinary user does with containers needs a right that only root has, except to use the engine.
#[test]
fn an_ordinary_user_gets_a_container() {
    let Some(world) = World::new(ASKS) else { return };
    let address = remote::for_everybody(&world.project.path("")).unwrap();
    let (project, user) = by_an_ordinary_user(world.project.set("DOCKER_HOST", &address));
    let world = World { project, engine: world.engine, model: None };
    let running = world.parked();
    world.answer();
    assert_eq!(running.finish(), 0);
    world.assert_continued_at_its_call();
    world.assert_painted();
    assert_eq!(world.project.file("user.txt"), format!("{user}\n"), "they are themselves there");
}

/// The work is stored, but the container and the state at its start are gone: the work is applied to the project as
/// it is. If that is not possible, the session says so, and nothing is lost; `resume` tries again.
#[test]
fn a_stored_patch_that_does_not_apply_waits() {
    let Some(world) = World::new(EDITS) else { return };
    let project = &world.project;
    let running = world.parked();
    running.kill();
    let container = world.container();
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container]);
    for name in project.git(&["for-each-ref", "--format=%(refname)", "refs/rapport"]).lines() {
        project.git(&["update-ref", "-d", name]);
    }
    std::fs::write(project.root().join("README.md"), "# Something else\n").unwrap();
    world.answer();
    let session = project.session();
    let (code, said) = project.start(&["--resume", session.as_str()], &[]).finish_saying();
    assert!(code != 0 && said.contains("patch does not apply"), "{code}: {said}");
    let view = project.view();
    assert_eq!(view.status, Status::NeedsInput);
    assert_eq!(view.undelivered.iter().map(|one| one.answer.as_str()).collect::<Vec<_>>(), ["Blue"]);
    std::fs::write(project.root().join("README.md"), "# An app\n").unwrap();
    assert_eq!(project.start(&["--resume", session.as_str()], &[]).finish(), 0);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("README.md"), "# An edited app\n");
    assert_eq!(project.file("seen.txt"), "# An edited app\n", "the work from before the question was there");
}

const EDITS: &str = r##"
version: 1
name: edits
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "echo '# An edited app' > README.md" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - bash: { command: "cat README.md > seen.txt" }
    result: "Painted."
"##;
