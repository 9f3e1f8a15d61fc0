//! Files that an ordinary user cannot read: git cannot add them, so what lacks them is told, and nothing of the work is
//! lost because of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::needs;
use crate::support::ordinary::by_an_ordinary_user;
use crate::support::project::Project;

/// An agent that closes a new file, a tracked one and a directory.
const CLOSES: &str = r##"
version: 1
name: closes
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "ls -a > seen.txt; echo locked > locked.txt; echo changed > t.txt; mkdir closed; echo deep > closed/deep.txt; chmod 000 locked.txt t.txt closed" }
    result: "Painted."
"##;

/// WORK-16: a worktree lacks what the person cannot read, which is told at its start. What the agent made unreadable is
/// named, and not applied without it.
#[test]
fn work_16_what_cannot_be_read_in_a_worktree_is_told_and_not_lost() {
    told_and_not_lost("worktree");
}

/// WORK-16: the same in a sandbox.
#[test]
fn work_16_what_cannot_be_read_in_a_sandbox_is_told_and_not_lost() {
    if needs::sandbox() {
        told_and_not_lost("sandbox");
    }
}

fn told_and_not_lost(worker: &str) {
    let project = Project::with_scenario(CLOSES);
    fs::write(project.root().join("t.txt"), "t\n").unwrap();
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    let (project, _) = by_an_ordinary_user(project);
    let secret = project.root().join("secret.txt");
    fs::write(&secret, "secret\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let mut running = project.start(&["--worker", worker, "paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    let (code, said) = running.finish_saying();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the agent does not get files that you cannot read: secret.txt"), "{said}");

    let unread = "cannot read closed, locked.txt, t.txt";
    let changes = project.view().changes.unwrap();
    let paths: Vec<_> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((paths, changes.unknown.as_deref()), (vec!["seen.txt"], Some(unread)));
    project.rapport(&["log", "paint"]).check(0, unread);
    project.rapport(&["diff", "paint"]).check(0, unread);
    project.rapport(&["apply", "paint"]).check(1, unread).check(1, "make it readable");
    assert!(!project.root().join("seen.txt").exists(), "nothing is applied");

    let there = project.root().join(".rapport/worktrees").join(project.session().as_str());
    for (path, mode) in [("closed", 0o755), ("locked.txt", 0o644), ("t.txt", 0o644)] {
        fs::set_permissions(there.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    for (path, content) in [("closed/deep.txt", "deep\n"), ("locked.txt", "locked\n"), ("t.txt", "changed\n")]
    {
        assert_eq!(project.file(path), content, "{path}");
    }
    assert!(!project.file("seen.txt").contains("secret.txt"), "the agent did not get it");
    assert!(!there.exists());
}
