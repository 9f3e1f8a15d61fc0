//! A disk that is full in the middle of a batch: nothing is half done, and an undo has the space that it needs.

use std::fs;

use rapport::actions::{Choice, LaterChanges, Live, Stop, undo};

use super::{Nobody, Stage, create, edit, execute, plan, told};
use crate::support::disk::Disk;

#[tokio::test]
async fn full_in_the_middle_it_halts_and_everything_can_be_undone() {
    let Some(disk) = Disk::sized("256k") else { return };
    let stage = Stage::at(disk.path()).with("a.txt", "one\n".repeat(5000) + "two\n");
    let before = stage.everything();
    let plan = plan([
        edit("a.txt", &[("two", "2")]),
        create("new/first.txt", "first"),
        create("new/second.txt", &"x".repeat(50_000)),
        execute("echo never"),
    ]);
    let mut observer = |live: Live<'_>| {
        if let Live::Ended { n: 1, .. } = live {
            disk.fill();
        }
    };
    let choices = vec![Choice::Run; 4];
    let batch = stage.batch(&plan);
    let ran = batch.run(&choices, &Nobody, &mut observer, &Stop::never()).await.unwrap();
    let said = told(&ran);
    assert_eq!(said[..2], ["done", "done"]);
    assert!(said[2].starts_with("failed: cannot ") && said[2].contains("No space left"), "{}", said[2]);
    assert!(said[3].starts_with("skipped: "), "{}", said[3]);
    assert_eq!(stage.text("new/second.txt"), None, "not even a part of it");

    // The disk is still full.
    let undone = undo(&stage.site, LaterChanges::Refuse).unwrap();
    assert_eq!(
        (undone.restored, undone.removed),
        (vec!["a.txt".to_owned()], vec!["new/first.txt".to_owned()])
    );
    assert_eq!(stage.everything(), before);
    assert_eq!(stage.undo().restored, ["a.txt"], "the same is told again");
    assert_eq!(stage.everything(), before);
}

#[tokio::test]
async fn full_from_the_start_nothing_is_begun() {
    let Some(disk) = Disk::sized("64k") else { return };
    let stage = Stage::at(disk.path()).with("a.txt", "one");
    let filler = disk.fill();
    let plan = plan([edit("a.txt", &[("one", "1")])]);
    let batch = stage.batch(&plan);
    let error =
        batch.run(&[Choice::Run], &Nobody, &mut |_| {}, &Stop::never()).await.unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
    assert_eq!(stage.text("a.txt").unwrap(), "one");
    fs::remove_file(filler).unwrap();
    assert_eq!(told(&stage.run(&plan).await), ["done"], "with space again it is as if nothing had been");
}
