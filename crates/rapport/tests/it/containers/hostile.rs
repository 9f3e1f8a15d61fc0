//! What an agent may try in its container: to reach the project's repository, to lead the host out of the project,
//! and to outlive its keeper. And images that cannot be used.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use rapport_core::{Event, Status};
use rapport_durable as durable;
use serde_json::json;

use super::{ASKS, World, until};
use crate::support::needs;
use crate::support::project::Project;

fn done(project: &Project) -> i32 {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.finish()
}

/// An agent that writes into the repository of its files, and has the host's own copy of it name a file in `.git`.
const REPOSITORY: &str = r##"
version: 1
name: repository
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch /tmp/hooked\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor 'touch /tmp/hooked'" }
      - bash: { command: "blob=$(echo hook | git --git-dir=/work/base.git hash-object -w --stdin); GIT_INDEX_FILE=/work/base.git/work git --git-dir=/work/base.git update-index --add --cacheinfo 100755,$blob,xgit/hooks/post-checkout; sed -i s/xgit/.git/ /work/base.git/work; mkdir -p .git/hooks; cp .git/hooks/pre-commit .git/hooks/post-checkout" }
      - write: { path: made.txt, content: "made\n" }
    result: "Painted."
"##;

#[test]
fn nothing_reaches_the_repository_of_the_project() {
    let Some(world) = World::new(REPOSITORY) else { return };
    let project = &world.project;
    let config = fs::read(project.root().join(".git/config")).unwrap();
    done(project);
    let applied = project.rapport(&["apply", "paint"]);
    let hooks = project.root().join(".git/hooks");
    for hook in ["post-checkout", "pre-commit"] {
        assert!(!hooks.join(hook).exists(), "{hook}: {}{}", applied.out(), applied.err());
    }
    assert_eq!(fs::read(project.root().join(".git/config")).unwrap(), config);
    // Either git inside left the entry out, or git here refused it; then nothing was applied at all.
    let made = project.root().join("made.txt").exists();
    assert_eq!(made, applied.code() == 0, "{}{}", applied.out(), applied.err());
    if !made {
        assert!(format!("{}{}", applied.out(), applied.err()).contains("invalid path"), "{}", applied.err());
        project.rapport(&["discard", "paint", "--yes"]).check(0, "");
    }
}

/// An agent that puts a folder where the project has a link that leads out of it.
const THROUGH_A_LINK: &str = r##"
version: 1
name: through a link
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "rm -f out; mkdir -p out; echo x > out/x.txt" }
    result: "Painted."
"##;

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    for is_in_the_way in [false, true] {
        let Some(world) = World::new(THROUGH_A_LINK) else { return };
        let project = &world.project;
        let (outside, link) = (project.path("outside"), project.root().join("out"));
        fs::create_dir(&outside).unwrap();
        if !is_in_the_way {
            // The link is part of the project, and the agent replaces it.
            symlink(&outside, &link).unwrap();
            project.git(&["add", "--all"]);
            project.git(&["commit", "--quiet", "-m", "A link"]);
        }
        assert_eq!(done(project), 0);
        if is_in_the_way {
            // A link appears there meanwhile.
            symlink(&outside, &link).unwrap();
        }
        let applied = project.rapport(&["apply", "paint"]);
        assert_eq!(applied.code() == 0, !is_in_the_way, "{}{}", applied.out(), applied.err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing is outside");
        if is_in_the_way {
            project.rapport(&["discard", "paint", "--yes"]).check(0, "");
        } else {
            assert_eq!(project.file("out/x.txt"), "x\n");
            assert!(!link.is_symlink());
        }
    }
}

/// The keeper in the container, or its connection to the host, is killed: the agent ends with it, and the session
/// continues at the same question.
#[test]
fn killed_the_keeper_inside_takes_its_agent_along() {
    for keeper in [" keep --from", " keep --door"] {
        let Some(world) = World::new(ASKS) else { return };
        let mut running = world.asked(&[]);
        let alive = world.project.agents_alive();
        let found = alive.iter().find(|(_, words)| words.contains(keeper));
        let (pid, _) = found.unwrap_or_else(|| panic!("{keeper}: {alive:?}"));
        kill(*pid, Signal::SIGKILL).unwrap();
        running.until(|fact| matches!(fact, Event::CutOff { .. }));
        for (pid, words) in &alive {
            let is_gone = || !std::path::Path::new("/proc").join(pid.to_string()).exists();
            until(&format!("{words} is gone"), is_gone);
        }
        world.answer();
        if running.finish() != 0 {
            let session = world.project.session();
            assert_eq!(world.project.start(&["--resume", session.as_str()], &[]).finish(), 0, "{keeper}");
        }
        world.assert_painted();
    }
}

/// An image for another kind of processor.
#[test]
fn an_image_for_other_processors_is_told() {
    let Some(world) = World::new(ASKS) else { return };
    let other = if cfg!(target_arch = "x86_64") { "arm64" } else { "amd64" };
    let (name, folder) = (format!("other-{}", std::process::id()), tempfile::tempdir().unwrap());
    // Not every engine heeds the platform of an import.
    let write = |file: &str, content: String| std::fs::write(folder.path().join(file), content).unwrap();
    let tar = |args: &[&str]| {
        let packed = Command::new("tar").args(args).current_dir(folder.path()).status();
        assert!(packed.unwrap().success());
    };
    tar(&["-cf", "layer.tar", "-T", "/dev/null"]);
    let layer = durable::digest(&std::fs::read(folder.path().join("layer.tar")).unwrap());
    let layers = json!({"type": "layers", "diff_ids": [format!("sha256:{layer}")]});
    let config = json!({"architecture": other, "os": "linux", "config": {}, "rootfs": layers});
    write("config.json", config.to_string());
    let tags = [format!("{name}:latest")];
    let image = json!([{"Config": "config.json", "RepoTags": tags, "Layers": ["layer.tar"]}]);
    write("manifest.json", image.to_string());
    tar(&["-cf", "image.tar", "manifest.json", "config.json", "layer.tar"]);
    world.docker(&["load", "--input", folder.path().join("image.tar").to_str().unwrap()]);
    let project = world.project.set("RAPPORT_WORKER_IMAGE", &name);
    let ran = project.rapport(&["run", "paint"]);
    assert_ne!(ran.code(), 0);
    let told = format!("{}{}", ran.out(), ran.err());
    assert!(told.contains(&format!("is for {other} processors")), "{told}");
    assert_eq!(project.view().status, Status::Failed);
    let args = ["--host", &world.engine, "rmi", &name];
    assert!(Command::new("docker").args(args).output().unwrap().status.success());
    assert_ne!(needs::IMAGE, name);
}

/// WORK-18: a sweep stores what a killed host left in a container before it ends the container.
#[test]
fn a_sweep_stores_what_is_left_before_it_ends_anything() {
    let Some(world) = World::new(ASKS) else { return };
    world.asked(&[]).kill();
    let (session, container) = (world.project.session(), world.container());
    let mut other = world.project.spawn(&["run", "--worker", "local", "sweep"]);
    until("the container is ended", || !world.is_running());
    other.kill().unwrap();
    other.wait().unwrap();
    world.docker(&["rm", "--force", &container]);
    world.docker(&["volume", "rm", &container]);
    world.project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    assert_eq!(world.project.start(&["--resume", session.as_str()], &[]).finish(), 0);
    assert!(world.project.rapport(&["diff", "paint"]).out().contains("+before"));
    world.project.rapport(&["discard", "paint", "--yes"]).check(0, "");
}

/// A submodule that is checked out goes along, with its history; one that is not, or has changes, is told. What the
/// agent changes there is not dropped in silence: the work is not applied, and it is said why.
#[test]
fn submodules_go_along_and_what_cannot_is_told() {
    let Some(world) = World::new(USES_A_LIBRARY) else { return };
    let project = &world.project;
    for path in ["library", "a part/other library", "absent"] {
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--", "./.git", path];
        project.git(&add);
    }
    project.git(&["commit", "--quiet", "-m", "Libraries"]);
    project.git(&["submodule", "--quiet", "deinit", "--force", "absent"]);
    fs::write(project.root().join("a part/other library/draft.txt"), "draft\n").unwrap();
    let done = |task: &str| {
        let mut running = project.start(&[task], &[]);
        running.until_asked();
        project.rapport(&["answer", task, "confirm"]).check(0, "Answered.");
        let (code, said) = running.finish_saying();
        assert_eq!(code, 0, "{said}");
        said
    };
    let said = done("paint");
    assert!(said.contains("submodules that are not checked out here are not there either: absent"), "{said}");
    assert!(
        said.contains("what is not committed in submodules is not there: a part/other library"),
        "{said}"
    );
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("seen.txt"), "# An app\n# An app\n1\n");
    assert_eq!(project.git(&["status", "--porcelain", "--", "library"]), "", "it is as it was");

    project.git(&["commit", "--quiet", "--all", "--allow-empty", "-m", "Painted"]);
    fs::write(project.root().join("change"), "").unwrap();
    done("change");
    project.rapport(&["apply", "change"]).check(1, "library has changes and is a git repository of its own");
    project.rapport(&["discard", "change", "--yes"]).check(0, "Its container is gone");
}

const USES_A_LIBRARY: &str = r##"
version: 1
name: uses a library
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "cat library/README.md 'a part/other library/README.md' > seen.txt; git -C library rev-list --count HEAD >> seen.txt; [ ! -e change ] || echo more >> library/README.md" }
    result: "Painted."
"##;

/// The person's git-lfs keeps the content of large files outside of the repository: a worktree has it, a container
/// only the pointers, and the person is told which.
#[test]
fn pointers_without_their_content_are_told() {
    for (worker, has_content) in [("worktree", true), ("container", false)] {
        let Some(world) = World::new(READS_A_LARGE_FILE) else { return };
        let project = world.project.set("RAPPORT_WORKER", worker);
        let (stored, home) = (project.path("stored"), project.path("home/.gitconfig"));
        let clean = format!("cat > {}; echo version https://git-lfs.github.com/spec/v1", stored.display());
        let smudge = format!("cat > /dev/null; cat {}", stored.display());
        let person =
            format!("[filter \"lfs\"]\nclean = \"{clean}\"\nsmudge = \"{smudge}\"\nrequired = true\n");
        fs::write(home, person).unwrap();
        fs::write(project.root().join(".gitattributes"), "*.psd filter=lfs -text\n").unwrap();
        fs::write(project.root().join("big.psd"), "a large file\n").unwrap();
        project.git(&["-c", &format!("filter.lfs.clean={clean}"), "add", "--all"]);
        project.git(&["commit", "--quiet", "-m", "A large file"]);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
        let (code, said) = running.finish_saying();
        assert_eq!(code, 0, "{said}");
        let told = "files of git-lfs are only pointers there, without their content: big.psd";
        assert_eq!(said.contains(told), !has_content, "{worker}: {said}");
        project.rapport(&["apply", "paint"]).check(0, "Applied to");
        let content =
            if has_content { "a large file\n" } else { "version https://git-lfs.github.com/spec/v1\n" };
        assert_eq!(project.file("seen.txt"), content, "{worker}");
        assert_eq!(project.file("big.psd"), "a large file\n", "the project keeps its own");
    }
}

const READS_A_LARGE_FILE: &str = r##"
version: 1
name: reads a large file
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "cat big.psd > seen.txt" }
    result: "Painted."
"##;
