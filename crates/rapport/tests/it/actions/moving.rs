//! DELETE and MOVE: one file each, only the files that the plan names, and undone with the rest.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rapport::actions::LaterChanges;
use rapport::actions::undo::{UndoError, undo};

use super::{Stage, create, delete, edit, execute, move_file, plan, told};

#[tokio::test]
async fn what_is_deleted_and_moved_is_undone_with_the_rest() {
    let stage = Stage::new().with("a.sh", "a\n").with("b.txt", "b\n");
    fs::set_permissions(stage.path("a.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = stage.everything();
    let ran = stage
        .run(&plan([
            delete("b.txt"),
            move_file("a.sh", "bin/deep/a.sh"),
            edit("bin/deep/a.sh", &[("a", "A")]),
            create("a.sh", "another\n"),
            move_file("bin/deep/a.sh", "c.sh"),
        ]))
        .await;
    assert_eq!(told(&ran), ["done"; 5]);
    assert_eq!(
        (stage.text("a.sh").as_deref(), stage.text("c.sh").as_deref()),
        (Some("another\n"), Some("A\n"))
    );
    assert_eq!(fs::metadata(stage.path("c.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    let undone = stage.undo();
    assert_eq!((undone.restored, undone.remaining.len()), (vec!["a.sh".to_owned(), "b.txt".to_owned()], 0));
    assert_eq!(stage.everything(), before);
    assert_eq!(fs::metadata(stage.path("a.sh")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn nothing_is_replaced_or_taken_that_the_plan_does_not_name() {
    let stage = Stage::new().with("a.txt", "a\n").with("b.txt", "b\n").with("dir/c.txt", "c\n");
    symlink("a.txt", stage.path("link.txt")).unwrap();
    let before = stage.everything();
    for (n, (kind, why)) in [
        (delete("link.txt"), "failed: link.txt is behind a symbolic link"),
        (delete("missing.txt"), "failed: missing.txt does not exist"),
        (delete("dir"), "failed: dir is a directory, not a file"),
        (delete("../a.txt"), "failed: ../a.txt is outside the project"),
        (move_file("a.txt", "b.txt"), "failed: b.txt already exists"),
        (move_file("link.txt", "d.txt"), "failed: link.txt is behind a symbolic link"),
        (move_file("a.txt", "../d.txt"), "failed: ../d.txt is outside the project"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut stage = Stage::at(stage.site.project.parent().unwrap());
        stage.site.journal = stage.site.journal.join(n.to_string());
        assert_eq!(told(&stage.run(&plan([kind])).await), [why]);
        assert_eq!(stage.everything(), before, "{why}");
    }
}

/// A file that another person put at the path since then stays.
#[tokio::test]
async fn what_was_changed_since_is_left_alone() {
    let stage = Stage::new().with("a.txt", "a\n").with("b.txt", "b\n");
    stage.run(&plan([delete("a.txt"), move_file("b.txt", "c.txt"), execute("true")])).await;
    stage.write("a.txt", "mine\n");
    stage.write("c.txt", "changed\n");
    let refused = undo(&stage.site, LaterChanges::Refuse).unwrap_err();
    assert!(
        matches!(refused, UndoError::ChangedLater { ref files, .. } if *files == ["a.txt", "c.txt"]),
        "{refused}"
    );
    let undone = undo(&stage.site, LaterChanges::Keep).unwrap();
    assert_eq!(
        (undone.kept, undone.restored),
        (vec!["a.txt".into(), "c.txt".into()], vec!["b.txt".to_owned()])
    );
    assert_eq!(stage.text("a.txt").as_deref(), Some("mine\n"));
    assert_eq!(stage.text("c.txt").as_deref(), Some("changed\n"));
}
