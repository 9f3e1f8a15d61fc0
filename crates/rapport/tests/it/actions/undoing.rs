//! Undo: all files of a batch together, and no later change of others.

use std::fs;

use rapport::actions::undo::UndoError;
use rapport::actions::{Choice, Interrupted, LaterChanges, Stop, Undone, undo};

use super::{Nobody, Stage, chat, create, edit, execute, overwrite, plan, told};

/// A batch of everything that can be undone, and one thing that cannot.
fn kinds() -> [rapport_core::ActionKind; 6] {
    [
        edit("a.txt", &[("one", "1")]),
        create("new/deep/file.txt", "new"),
        overwrite("b.txt", "B"),
        edit("a.txt", &[("1", "eins")]),
        execute("touch made-by-command"),
        create("new/other.txt", "other"),
    ]
}

fn stage() -> Stage {
    Stage::new().with("a.txt", "one\n").with("b.txt", b"b\0\xff")
}

#[tokio::test]
async fn everything_comes_back_and_what_does_not_is_told() {
    let stage = stage();
    let before = stage.everything();
    assert!(told(&stage.run(&plan(kinds())).await).iter().all(|said| said == "done"));
    let undone = stage.undo();
    let expected = Undone {
        restored: vec!["a.txt".into(), "b.txt".into()],
        removed: vec!["new/deep/file.txt".into(), "new/other.txt".into()],
        kept: vec![],
        set_aside: Default::default(),
        remaining: vec!["EXECUTE touch made-by-command".into()],
    };
    assert_eq!(undone, expected);
    fs::remove_file(stage.path("made-by-command")).unwrap();
    assert_eq!(stage.everything(), before);
    assert_eq!(fs::read(stage.path("b.txt")).unwrap(), b"b\0\xff", "byte for byte");
}

#[tokio::test]
async fn twice_is_once() {
    let stage = stage();
    stage.run(&plan(kinds())).await;
    let undone = stage.undo();
    stage.write("a.txt", "changed afterwards");
    stage.write("new/deep/file.txt", "new");
    let before = stage.everything();
    assert_eq!(stage.undo(), undone, "the same is told again");
    assert_eq!(stage.everything(), before, "what came after the undo is not its business");
}

#[tokio::test]
async fn after_a_failure_too() {
    let stage = stage();
    let before = stage.everything();
    let plan =
        plan([overwrite("a.txt", "x"), create("new/file", "x"), create("b.txt", "x"), create("c", "")]);
    stage.run(&plan).await;
    assert_eq!(stage.text("new/file").unwrap(), "x");
    let undone = stage.undo();
    assert_eq!((undone.restored, undone.removed), (vec!["a.txt".to_owned()], vec!["new/file".to_owned()]));
    assert_eq!(stage.everything(), before);
}

#[tokio::test]
async fn files_changed_after_the_batch_are_named_and_kept() {
    let stage = stage();
    stage.run(&plan(kinds())).await;
    stage.write("a.txt", "mine");
    fs::remove_file(stage.path("new/other.txt")).unwrap();
    stage.write("new/deep/mine.txt", "mine");
    fs::remove_file(stage.path("b.txt")).unwrap();
    let before = stage.everything();
    match undo(&stage.site, LaterChanges::Refuse) {
        Err(UndoError::ChangedLater { files, .. }) => assert_eq!(files, ["a.txt", "b.txt"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.everything(), before, "nothing was done");
    let undone = undo(&stage.site, LaterChanges::Keep).unwrap();
    assert_eq!(undone.kept, ["a.txt", "b.txt"]);
    assert_eq!(undone.removed, ["new/deep/file.txt"]);
    assert_eq!(stage.text("a.txt").unwrap(), "mine");
    assert_eq!(stage.text("new/deep/mine.txt").unwrap(), "mine", "its folder is not empty, and stays");
    assert_eq!(stage.text("new/deep/file.txt"), None);
}

/// A formatter is run after an edit: its change to the file belongs to the batch. The change may be another person's,
/// so a copy of it is kept.
#[tokio::test]
async fn what_a_command_of_the_batch_did_to_its_files_is_taken_back() {
    let stage = stage();
    let before = stage.everything();
    let format = execute("echo formatted >> a.txt; rm new.txt");
    let plan = plan([edit("a.txt", &[("one", "1")]), create("new.txt", "new"), format]);
    assert_eq!(told(&stage.run(&plan).await), ["done", "done", "done"]);
    assert_eq!(stage.text("a.txt").unwrap(), "1\nformatted\n");
    let undone = stage.undo();
    assert_eq!(undone.restored, ["a.txt"]);
    assert_eq!(undone.set_aside.keys().collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(fs::read_to_string(&undone.set_aside["a.txt"]).unwrap(), "1\nformatted\n");
    assert_eq!(stage.everything(), before);
}

/// A person continued to work while a question waited for days.
#[tokio::test]
async fn what_somebody_did_in_the_middle_of_a_batch_is_theirs() {
    let stage = stage();
    let plan = plan([edit("a.txt", &[("one", "1")]), chat("Go on?"), edit("a.txt", &[("1", "eins")])]);
    let (stopper, stop) = Stop::new();
    let choices = vec![Choice::Run; 3];
    let mut observer = |live: rapport::actions::Live<'_>| {
        if let rapport::actions::Live::Ended { n: 0, .. } = live {
            stopper.stop();
        }
    };
    let batch = stage.batch(&plan);
    let ran = batch.run(&choices, &Nobody, &mut observer, &stop).await.unwrap();
    let stopped = "skipped: the batch was stopped before it";
    assert_eq!(told(&ran), ["done", stopped, stopped]);
    stage.write("a.txt", "1 and mine\n");
    let requester = Yes;
    let ran = batch.resume(Interrupted::Halt, &requester, &mut |_| {}, &Stop::never()).await.unwrap();
    assert_eq!(told(&ran), ["done", "done", "done"]);
    match undo(&stage.site, LaterChanges::Refuse) {
        Err(UndoError::ChangedLater { files, .. }) => assert_eq!(files, ["a.txt"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.text("a.txt").unwrap(), "eins and mine\n");
}

struct Yes;

impl rapport::actions::Requester for Yes {
    fn ask<'a>(&'a self, _: usize, _: &'a str) -> rapport::actions::Pending<'a> {
        Box::pin(async { Ok("yes".to_owned()) })
    }

    fn research<'a>(&'a self, _: usize, _: &'a [String]) -> rapport::actions::Pending<'a> {
        Box::pin(async { Ok(String::new()) })
    }

    fn invoke<'a>(&'a self, _: usize, _: &'a str, _: &'a str) -> rapport::actions::Pending<'a> {
        Box::pin(async { Ok(String::new()) })
    }
}

#[tokio::test]
async fn a_file_that_became_a_link_is_not_followed() {
    let stage = stage().with("../outside/file", "1");
    stage.run(&plan([overwrite("a.txt", "1")])).await;
    fs::remove_file(stage.path("a.txt")).unwrap();
    std::os::unix::fs::symlink("../outside/file", stage.path("a.txt")).unwrap();
    assert!(matches!(undo(&stage.site, LaterChanges::Refuse), Err(UndoError::ChangedLater { .. })));
    assert_eq!(undo(&stage.site, LaterChanges::Keep).unwrap().kept, ["a.txt"]);
    assert_eq!(stage.text("../outside/file").unwrap(), "1");
}

#[tokio::test]
async fn a_damaged_journal_undoes_nothing() {
    let stage = stage();
    stage.run(&plan(kinds())).await;
    let journal = stage.site.journal.join("journal.jsonl");
    let good = fs::read_to_string(&journal).unwrap();
    let before = stage.everything();
    fs::write(&journal, good.replacen("a.txt", "b.txt", 1)).unwrap();
    let error = undo(&stage.site, LaterChanges::Keep).unwrap_err().to_string();
    assert!(error.contains("is damaged: its checksum is wrong"), "{error}");
    assert_eq!(stage.everything(), before);

    // A line that was cut short was never acknowledged.
    fs::write(&journal, format!("{good}{{\"v\":1,\"se")).unwrap();
    for kept in fs::read_dir(stage.site.journal.join("before")).unwrap() {
        fs::write(kept.unwrap().path(), "something else").unwrap();
    }
    let error = undo(&stage.site, LaterChanges::Keep).unwrap_err().to_string();
    assert!(error.contains("its content does not match its name"), "{error}");
    assert_eq!(stage.everything(), before, "nothing wrong is brought back, and nothing is half undone");
}

#[test]
fn where_there_was_no_batch_there_is_nothing_to_undo() {
    let stage = stage();
    let error = undo(&stage.site, LaterChanges::Refuse).unwrap_err().to_string();
    assert_eq!(error, format!("there is no batch in {}", stage.site.journal.display()));
    assert!(!stage.site.journal.exists());
}
