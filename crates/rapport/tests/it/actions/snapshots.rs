//! In a Git repository, the changes of commands to files are undone with the rest, and later changes of others are
//! not.

use std::fs;
use std::path::Path;
use std::process::Command;

use rapport::actions::{LaterChanges, undo};

use super::{Stage, create, edit, execute, plan, told};

pub(super) fn git(stage: &Stage) {
    let run = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&stage.site.project).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run(&["init", "-q", "."]);
    run(&["add", "-A"]);
    run(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
}

/// Every file of the project that is not Git's.
pub(super) fn files(stage: &Stage) -> Vec<(String, String)> {
    stage.everything().into_iter().filter(|(name, _)| !name.starts_with(".git/")).collect()
}

#[tokio::test]
async fn what_commands_did_to_files_is_undone() {
    let stage =
        Stage::new().with("kept.txt", "kept\n").with("gone.txt", "gone\n").with("run.sh", "#!/bin/sh\n");
    stage.write(".gitignore", "ignored\n");
    git(&stage);
    stage.write("untracked.txt", "mine\n");
    let before = files(&stage);
    let ran = stage
        .run(&plan([
            create("made.txt", "made\n"),
            execute("rm gone.txt; echo more >> kept.txt; echo over > untracked.txt; echo more >> made.txt"),
            edit("kept.txt", &[("more", "less")]),
            execute("mkdir -p deep/er && mv run.sh deep/er/ && echo x > ignored"),
        ]))
        .await;
    assert_eq!(told(&ran), ["done"; 4]);
    let undone = stage.undo();
    assert_eq!(undone.restored, ["gone.txt", "kept.txt", "run.sh", "untracked.txt"]);
    assert_eq!(undone.removed, ["deep/er/run.sh", "made.txt"]);
    // What Git ignores is not known, and directories that a command made stay.
    fs::remove_file(stage.path("ignored")).unwrap();
    fs::remove_dir_all(stage.path("deep")).unwrap();
    assert_eq!(files(&stage), before);
}

#[tokio::test]
async fn what_others_changed_since_is_left_and_listed() {
    let stage = Stage::new().with("a.txt", "a\n").with("b.txt", "b\n");
    git(&stage);
    stage.run(&plan([execute("echo 1 > a.txt; echo 2 > b.txt")])).await;
    stage.write("a.txt", "mine\n");
    assert!(undo(&stage.site, LaterChanges::Refuse).is_err());
    let undone = undo(&stage.site, LaterChanges::Keep).unwrap();
    assert_eq!((undone.kept, undone.restored), (vec!["a.txt".to_owned()], vec!["b.txt".to_owned()]));
    assert_eq!(stage.text("a.txt").as_deref(), Some("mine\n"));
}

/// A copy of each file that changed while a command ran is kept: the change may be another person's.
#[tokio::test]
async fn what_is_taken_back_is_set_aside() {
    let stage = Stage::new().with("a.txt", "a\n");
    git(&stage);
    stage.run(&plan([execute("echo new > a.txt; echo work > made.txt")])).await;
    let undone = stage.undo();
    let aside =
        |name: &str| fs::read_to_string(&undone.set_aside[Path::new(name).to_str().unwrap()]).unwrap();
    assert_eq!((aside("a.txt").as_str(), aside("made.txt").as_str()), ("new\n", "work\n"));
}

#[tokio::test]
async fn a_project_in_a_part_of_a_repository_is_undone_alone() {
    let stage = Stage::new().with("app/a.txt", "a\n").with("lib/b.txt", "b\n");
    git(&stage);
    let mut inner = Stage::at(stage.site.project.parent().unwrap());
    inner.site.project = stage.path("app");
    inner.run(&plan([execute("echo 1 > a.txt; echo 2 > new.txt; echo 3 > ../lib/b.txt")])).await;
    let undone = inner.undo();
    assert_eq!((undone.restored, undone.removed), (vec!["a.txt".to_owned()], vec!["new.txt".to_owned()]));
    assert_eq!(stage.text("lib/b.txt").as_deref(), Some("3\n"));
}
