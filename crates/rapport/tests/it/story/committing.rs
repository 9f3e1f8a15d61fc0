//! Work that is committed when it is applied, on the current branch or on a new one, and other work that changes the
//! same files.

use crate::support::project::Project;

/// An agent that writes a file.
const PAINTS: &str = r##"
version: 1
name: paints
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: paint.txt, content: "blue\n" }
    result: "Painted."
"##;

/// A project with a change of the person that is not committed, and one that is only staged.
fn project() -> Project {
    let project = Project::with_scenario(PAINTS).working_in("worktree");
    project.git(&["config", "user.name", "Ann"]);
    project.git(&["config", "user.email", "ann@localhost"]);
    std::fs::write(project.root().join("README.md"), "# Mine\n").unwrap();
    std::fs::write(project.root().join("staged.txt"), "staged\n").unwrap();
    project.git(&["add", "staged.txt"]);
    project
}

fn work(project: &Project, task: &str) {
    let mut running = project.start(&[task], &[]);
    running.until_asked();
    project.rapport(&["answer", task, "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

fn git(project: &Project, args: &[&str]) -> String {
    let out = std::process::Command::new("git").current_dir(project.root()).args(args).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// What the person has not committed is as it was.
fn assert_mine_is_not_committed(project: &Project) {
    assert_eq!(
        git(project, &["status", "--porcelain", "--", ":!.rapport", ":!.claude"]),
        " M README.md\nA  staged.txt\n"
    );
}

/// The commit has the work, and nothing else of the person's; killed anywhere, the same command completes it, once.
#[test]
fn applied_with_a_commit_it_is_committed_alone_and_once() {
    let mut point = 1;
    loop {
        let project = project();
        work(&project, "paint");
        let before = git(&project, &["rev-parse", "HEAD"]);
        let mut command = project.command();
        command.args(["apply", "paint", "--commit"]).env("RAPPORT_TRIAL_WRITES", point.to_string());
        let ended = command.output().unwrap();
        if ended.status.code() != Some(0) {
            assert_eq!(ended.status.code(), None, "{point}: {ended:?}");
            project.rapport(&["apply", "paint", "--commit"]).check(0, "and committed");
        }
        assert_eq!(project.file("paint.txt"), "blue\n");
        assert_eq!(git(&project, &["rev-parse", "HEAD^"]), before, "{point}: one commit");
        assert_eq!(
            git(&project, &["show", "--format=", "--name-status", "HEAD"]),
            "A\tpaint.txt\n",
            "{point}"
        );
        let message = git(&project, &["log", "-1", "--format=%an%n%B"]);
        let session = format!("Rapport-Session: {}", project.session());
        assert!(message.starts_with("Ann\npaint\n"), "{message}");
        assert!(message.contains(&session), "{message}");
        assert_mine_is_not_committed(&project);
        if ended.status.code() == Some(0) {
            assert!(point > 10, "only {point} points");
            return;
        }
        point += 3;
    }
}

/// On a branch of its own, it changes neither the files nor the current branch.
#[test]
fn applied_to_a_branch_it_changes_no_file() {
    let project = project();
    work(&project, "paint");
    let before = git(&project, &["rev-parse", "HEAD"]);
    project.rapport(&["apply", "paint", "--branch", "main"]).check(1, "there is a branch main already");
    project.rapport(&["apply", "paint", "--branch", "no..name"]).check(1, "check-ref-format");
    project.rapport(&["apply", "paint", "--branch", "x", "--commit"]).check(2, "cannot be used with");
    project
        .rapport(&["apply", "paint", "--branch", "blue"])
        .check(0, "Committed on the branch blue: 1 file.");
    assert!(!project.root().join("paint.txt").exists());
    assert_eq!(git(&project, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&project, &["rev-parse", "blue^"]), before);
    assert_eq!(git(&project, &["show", "blue:paint.txt"]), "blue\n");
    assert_eq!(git(&project, &["show", "blue:README.md"]), "# An app\n", "only the work");
    assert_mine_is_not_committed(&project);
    assert_ne!(project.rapport(&["undo", "paint", "--yes"]).code(), 0, "no file of the project was changed");
}

/// Work that is in the project's files is not reported as committed, nor on a branch that does not exist.
#[test]
fn applied_to_the_files_it_is_neither_committed_nor_on_a_branch_later() {
    let project = project();
    work(&project, "paint");
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    let refs = git(&project, &["for-each-ref"]);
    for other in [&["apply", "paint", "--branch", "other"][..], &["apply", "paint", "--commit"]] {
        project.rapport(other).check(3, "it was applied to the project's files");
    }
    assert_eq!(git(&project, &["for-each-ref"]), refs);
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
}

/// Work on top of changes that are not committed cannot be committed without them: then nothing changes.
#[test]
fn what_builds_on_uncommitted_changes_is_not_committed() {
    let edits = PAINTS.replace("paint.txt, content: \"blue\\n\"", "README.md, content: \"# Mine\\nblue\\n\"");
    let project = Project::with_scenario(&edits).working_in("worktree");
    std::fs::write(project.root().join("README.md"), "# Mine\n").unwrap();
    work(&project, "paint");
    let refused = project.rapport(&["apply", "paint", "--commit"]);
    refused
        .check(1, "builds on changes that are not committed, in README.md")
        .check(1, "Nothing was changed.");
    assert_eq!(project.file("README.md"), "# Mine\n");
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(project.file("README.md"), "# Mine\nblue\n");
}

/// Two workers on the same file, each with something else in it: the second is refused, by name, and changes nothing.
#[test]
fn two_workers_on_the_same_file_do_not_overwrite_each_other() {
    let project = project();
    work(&project, "paint");
    std::fs::write(project.path("scenario.yaml"), PAINTS.replace("blue", "red")).unwrap();
    work(&project, "varnish");
    project.rapport(&["apply", "paint"]).check(0, "Applied to");
    project.rapport(&["apply", "varnish"]).check(3, "conflict: paint.txt").check(3, "Nothing was changed.");
    assert_eq!(project.file("paint.txt"), "blue\n");
}

/// Before one of two works is applied, `diff` and `apply` say that the other changes the same files.
#[test]
fn other_work_on_the_same_files_is_named() {
    let project = project();
    work(&project, "paint");
    let first = project.session();
    work(&project, "varnish");
    let named = format!("{first} waits too, and changes the same files: paint.txt");
    let diff = project.rapport(&["diff", "varnish", "--stat"]);
    assert!(diff.err().contains(&named), "{}", diff.err());
    assert_eq!(diff.out(), "paint.txt  +1 -0\n1 file  +1 -0\n");
    project.rapport(&["apply", "varnish"]).check(0, &named);
    let alone = project.rapport(&["diff", "paint"]);
    assert!(!alone.err().contains("waits too"), "{}", alone.err());
}
