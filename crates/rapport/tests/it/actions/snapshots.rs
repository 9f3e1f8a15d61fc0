//! In a Git repository, the changes of commands to files are undone with the rest, and later changes of others are
//! not.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
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

/// Every path of the project that is not Git's: the target of a link, or the content of a file, with its mode.
fn entries(stage: &Stage) -> BTreeMap<String, (String, u32)> {
    let entry = |name: String| {
        let path = stage.path(&name);
        let about = path.symlink_metadata().unwrap();
        let content = if about.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else {
            fs::read_to_string(&path).unwrap_or_default()
        };
        (name, (content, about.permissions().mode()))
    };
    files(stage)
        .into_iter()
        .map(|(name, _)| entry(name))
        .filter(|(name, _)| !name.starts_with(".git"))
        .collect()
}

/// Commands that replace files, links and directories by one another, or change a mode, of tracked and untracked files:
/// undoing a batch brings each of them back.
#[tokio::test]
async fn whatever_a_command_makes_of_a_path_is_undone() {
    for (name, command) in [
        ("a file by a link", "rm NAME.txt; ln -s base.txt NAME.txt"),
        ("a link by a file", "rm NAME-link; echo file > NAME-link"),
        ("a link by another", "ln -sfn nowhere NAME-link"),
        ("a file by a directory", "rm NAME.txt; mkdir -p NAME.txt/deep; echo in > NAME.txt/deep/in"),
        ("a directory by a file", "rm -r NAME; echo file > NAME"),
        ("a directory by a link", "mv NAME NAME-moved; ln -s NAME-moved NAME"),
        ("a link by a directory", "rm NAME-link; mkdir NAME-link; echo in > NAME-link/in"),
        ("a mode", "chmod +x NAME.txt; chmod -x NAME.sh"),
        ("a mode and its file", "chmod +x NAME.txt; echo more >> NAME.txt"),
        ("a removal", "rm -r NAME NAME.txt NAME-link NAME.sh"),
    ] {
        for kind in ["tracked", "untracked"] {
            let stage = Stage::new().with("base.txt", "base\n");
            let make = || {
                stage.write(&format!("{kind}.txt"), "work\n");
                stage.write(&format!("{kind}.sh"), "true\n");
                stage.write(&format!("{kind}/one.txt"), "one\n");
                stage.write(&format!("{kind}/two/two.txt"), "two\n");
                symlink("base.txt", stage.path(&format!("{kind}-link"))).unwrap();
                let script = stage.path(&format!("{kind}.sh"));
                fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
            };
            if kind == "tracked" {
                make();
            }
            git(&stage);
            if kind == "untracked" {
                make();
            }
            let before = entries(&stage);
            let ran = stage.run(&plan([execute(&command.replace("NAME", kind))])).await;
            assert_eq!(told(&ran), ["done"], "{name} of {kind}");
            assert_ne!(entries(&stage), before, "{name} of {kind}");
            let undone = stage.undo();
            assert_eq!(undone.kept, [""; 0], "{name} of {kind}");
            let mut left = entries(&stage);
            // Directories that a command made stay.
            left.remove(&format!("{kind}-moved/two/"));
            left.remove(&format!("{kind}-moved/"));
            assert_eq!(left, before, "{name} of {kind}");
        }
    }
}

/// What somebody put into a directory that took the place of a file, or made of a link that a command left, stays.
#[tokio::test]
async fn what_others_made_of_a_replaced_path_is_left_and_listed() {
    let stage =
        Stage::new().with("a.txt", "a\n").with("b.txt", "b\n").with("c.txt", "c\n").with("d/d.txt", "d\n");
    git(&stage);
    let command =
        "rm *.txt; mkdir a.txt; echo in > a.txt/in; ln -s a.txt b.txt; chmod +x d/d.txt; echo c > c.txt";
    stage.run(&plan([execute(command)])).await;
    stage.write("a.txt/mine", "mine\n");
    fs::remove_file(stage.path("b.txt")).unwrap();
    symlink("elsewhere", stage.path("b.txt")).unwrap();
    fs::set_permissions(stage.path("d/d.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(undo(&stage.site, LaterChanges::Refuse).is_err());
    let undone = undo(&stage.site, LaterChanges::Keep).unwrap();
    assert_eq!(
        (undone.kept, undone.removed),
        (vec!["a.txt".into(), "b.txt".into()], vec!["a.txt/in".into()])
    );
    assert_eq!(undone.restored, ["c.txt"; 0], "the content of c.txt is as it was, and d/d.txt is as before");
    assert_eq!(stage.text("a.txt/mine").as_deref(), Some("mine\n"));
    assert_eq!(fs::read_link(stage.path("b.txt")).unwrap(), Path::new("elsewhere"));
}

/// Git records only whether a file can be executed: all other permissions stay.
#[tokio::test]
async fn a_private_file_stays_private() {
    let stage = Stage::new().with("a.txt", "a\n");
    git(&stage);
    stage.write("secret", "mine\n");
    fs::set_permissions(stage.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = entries(&stage);
    stage.run(&plan([execute("echo more >> secret"), execute("chmod +x secret")])).await;
    assert_eq!(stage.undo().restored, ["secret"]);
    assert_eq!(entries(&stage), before);
}
