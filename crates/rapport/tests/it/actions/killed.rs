//! kill -9 at every point at which a batch or an undo writes. Resumed, the batch has the same result; undone, none of
//! its changes is left; and no command runs twice.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use rapport::actions::journal::Journal;
use rapport::actions::{BatchOutcome, Choice, Interrupted, LaterChanges, Stop, undo};
use rapport::clock::Clock;
use rapport_core::ActionPlan;

use super::snapshots::{files, git};
use super::{
    Nobody, Stage, allowed_to_fail, create, delete, edit, execute, move_file, overwrite, plan, told,
};

/// Where the child process finds its stage, and what it is to do there.
const STAGE: &str = "RAPPORT_TEST_ACTIONS_STAGE";
const DO: &str = "RAPPORT_TEST_ACTIONS_DO";

fn story() -> ActionPlan {
    plan([
        create("new/deep/a.txt", "a\n"),
        edit("b.txt", &[("one", "1")]),
        execute("echo ran >> new/ran.txt"),
        overwrite("b.txt", "two\n"),
        allowed_to_fail("echo again >> new/ran.txt; false"),
        create("c.txt", "c\n"),
        delete("gone.txt"),
        move_file("old/name.txt", "moved/deep/name.txt"),
    ])
}

/// A command changes a file that the batch itself has changed, as a formatter does.
fn formatting() -> ActionPlan {
    plan([
        edit("b.txt", &[("one", "1")]),
        create("new.txt", "new\n"),
        execute("echo formatted >> b.txt; echo formatted >> new.txt; rm gone.txt"),
        create("c.txt", "c\n"),
    ])
}

fn stage(directory: &Path) -> Stage {
    let stage = Stage::at(directory).with("b.txt", "one\n").with("untouched.txt", "x\n");
    stage.with("gone.txt", "gone\n").with("old/name.txt", "name\n")
}

/// What has to come out.
fn expected() -> BTreeMap<String, String> {
    [
        ("b.txt", "two\n"),
        ("c.txt", "c\n"),
        ("moved/", ""),
        ("moved/deep/", ""),
        ("moved/deep/name.txt", "name\n"),
        ("old/", ""),
        ("new/", ""),
        ("new/deep/", ""),
        ("new/deep/a.txt", "a\n"),
        ("new/ran.txt", "ran\nagain\n"),
        ("untouched.txt", "x\n"),
    ]
    .map(|(path, content)| (path.to_owned(), content.to_owned()))
    .into()
}

#[tokio::test]
#[ignore = "the process that is killed; the tests beside it start it"]
async fn the_process_that_is_killed() {
    let directory = std::env::var(STAGE).unwrap();
    let stage = Stage::at(Path::new(&directory));
    match std::env::var(DO).unwrap().as_str() {
        "run" => drop(stage.run(&story()).await),
        "format" => drop(stage.run(&formatting()).await),
        "resume" => drop(stage.resume(&story(), Interrupted::GoOn).await),
        "undo" => drop(undo(&stage.site, LaterChanges::Refuse).unwrap()),
        other => panic!("{other}"),
    }
}

/// Does something in another process and kills it at this point. Whether it came that far.
fn is_killed(directory: &Path, what: &str, point: u32) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "actions::killed::the_process_that_is_killed", "--ignored"])
        .env(STAGE, directory)
        .env(DO, what)
        .env("RAPPORT_TRIAL_WRITES", point.to_string())
        .output()
        .unwrap();
    let killed = status.status.signal() == Some(9);
    assert!(killed || status.status.success(), "{what} {point}: {}", String::from_utf8_lossy(&status.stdout));
    killed
}

#[tokio::test]
async fn killed_anywhere_it_goes_on_and_no_command_runs_twice() {
    let mut points = 0;
    loop {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        if !is_killed(directory.path(), "run", points + 1) {
            assert_eq!(stage.everything(), expected());
            break;
        }
        points += 1;
        let ran = finish(&stage).await;
        check(&stage, &ran, points);
    }
    assert!(points >= 35, "only {points} points");
}

#[tokio::test]
async fn killed_twice_it_goes_on_the_same() {
    for point in (1..).step_by(5) {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        if !is_killed(directory.path(), "run", point) {
            break;
        }
        if Journal::is_in(&stage.site.journal) {
            is_killed(directory.path(), "resume", 1 + point % 7);
        }
        let ran = finish(&stage).await;
        check(&stage, &ran, point);
    }
}

#[tokio::test]
async fn killed_anywhere_it_can_be_undone() {
    for point in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        let before = stage.everything();
        if !is_killed(directory.path(), "run", point) {
            break;
        }
        if Journal::is_in(&stage.site.journal) {
            stage.undo();
        }
        assert_eq!(without_commands(&stage), before, "point {point}");
    }
}

/// Killed just after a command changed a file of the batch, before the end of the command was recorded.
#[tokio::test]
async fn killed_anywhere_what_a_command_did_to_files_of_the_batch_is_undone() {
    let mut formatted = 0;
    for point in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        let before = stage.everything();
        if !is_killed(directory.path(), "format", point) {
            break;
        }
        let is_formatted = stage.text("b.txt").is_some_and(|text| text.contains("formatted"));
        formatted += usize::from(is_formatted);
        if Journal::is_in(&stage.site.journal) {
            let undone = stage.undo();
            let aside = undone.set_aside.get("b.txt").map(|path| std::fs::read_to_string(path).unwrap());
            assert_eq!(aside.as_deref(), is_formatted.then_some("1\nformatted\n"), "point {point}");
        }
        let mut after = stage.everything();
        // Of what is not the batch's own, no undo knows without Git.
        if is_formatted {
            after.insert("gone.txt".into(), before["gone.txt"].clone());
        }
        assert_eq!(after, before, "point {point}");
    }
    assert!(formatted >= 2, "killed only {formatted} times after the command");
}

/// Where Git knows the project, that takes back what commands did as well, however far they came.
#[tokio::test]
async fn killed_anywhere_what_commands_did_is_undone_with_git() {
    let mut points = 0;
    for point in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        git(&stage);
        let before = files(&stage);
        if !is_killed(directory.path(), "run", point) {
            break;
        }
        points += 1;
        if Journal::is_in(&stage.site.journal) {
            stage.undo();
        }
        let _ = std::fs::remove_dir(stage.path("new"));
        assert_eq!(files(&stage), before, "point {point}");
    }
    assert!(points >= 35, "only {points} points");
}

#[tokio::test]
async fn an_undo_killed_anywhere_is_finished_by_the_next() {
    let mut points = 0;
    loop {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path());
        let before = stage.everything();
        stage.run(&story()).await;
        let killed = is_killed(directory.path(), "undo", points + 1);
        let undone = stage.undo();
        assert_eq!(without_commands(&stage), before, "point {points}");
        assert_eq!(undone.remaining.len(), 2);
        if !killed {
            break;
        }
        points += 1;
        // Where the last line of the journal was written, it is over.
        if !undone.restored.is_empty() {
            assert_eq!(
                (undone.restored, undone.removed.len()),
                (["b.txt", "gone.txt", "old/name.txt"].map(str::to_owned).to_vec(), 3),
                "point {points}"
            );
        }
    }
    assert!(points > 8, "only {points} points");
}

/// Resumes the batch to its end. If a command may have run, a person decides to continue.
async fn finish(stage: &Stage) -> BatchOutcome {
    let plan = story();
    if !Journal::is_in(&stage.site.journal) {
        return stage.run(&plan).await;
    }
    let mut ran = stage.resume(&plan, Interrupted::Halt).await;
    while ran.unfinished {
        let cut_off = told(&ran).iter().position(|said| said == "failed: interrupted: it may have run");
        let n = cut_off.unwrap_or_else(|| panic!("{:?}", told(&ran)));
        assert!([2, 4].contains(&n), "only commands are left open: {:?}", told(&ran));
        assert!(told(&ran)[n + 1].ends_with("was interrupted; it may have run"), "{:?}", told(&ran));
        let files = stage.everything();
        assert_eq!(
            stage.resume(&plan, Interrupted::Halt).await,
            ran,
            "nothing happens before somebody decides"
        );
        assert_eq!(stage.everything(), files);
        let batch = stage.batch(&plan);
        ran = batch.resume(Interrupted::GoOn, &Nobody, &mut |_| {}, &Stop::never()).await.unwrap();
    }
    ran
}

/// Files are as written down, and each command ran once, or not at all where that was said.
fn check(stage: &Stage, ran: &BatchOutcome, point: u32) {
    let mut files = stage.everything();
    let ran_commands = files.remove("new/ran.txt").unwrap_or_default();
    let mut wanted = expected();
    wanted.remove("new/ran.txt");
    assert_eq!(files, wanted, "point {point}");
    for (n, line, said) in [(2, "ran", "done"), (4, "again", "failed: exit code 1")] {
        let times = ran_commands.lines().filter(|found| *found == line).count();
        let told = told(ran)[n].clone();
        if told == "failed: interrupted: it may have run" {
            assert!(times <= 1, "point {point}: {line} ran {times} times");
        } else {
            assert_eq!((told.as_str(), times), (said, 1), "point {point}");
        }
    }
    for n in [0, 1, 3, 5, 6, 7] {
        assert_eq!(told(ran)[n], "done", "point {point}");
    }
}

/// The project without what commands made, which no undo knows of.
fn without_commands(stage: &Stage) -> BTreeMap<String, String> {
    let _ = std::fs::remove_file(stage.path("new/ran.txt"));
    let _ = std::fs::remove_dir(stage.path("new"));
    stage.everything()
}

/// The journal's times are those of the clock that the batch was given, of its undoing too.
#[tokio::test]
async fn a_journal_has_the_times_of_its_clock() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = stage(directory.path());
    let then: jiff::Timestamp = "2001-02-03T04:05:06Z".parse().unwrap();
    stage.site.clock = Clock::from_fn(move || then);
    stage.run(&plan([create("a", "a")])).await;
    undo(&stage.site, LaterChanges::Refuse).unwrap();
    let journal = std::fs::read_to_string(stage.site.journal.join("journal.jsonl")).unwrap();
    let times: Vec<_> = journal
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["at"].clone())
        .collect();
    assert!(times.len() > 3 && times.iter().all(|at| at == "2001-02-03T04:05:06Z"), "{times:?}");
}

/// A line that was cut short at any byte was never acknowledged; all before it count.
#[tokio::test]
async fn a_journal_cut_short_anywhere_has_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let stage = stage(directory.path());
    stage.run(&plan([create("a", "a"), edit("b.txt", &[("one", "1")])])).await;
    let whole = std::fs::read(stage.site.journal.join("journal.jsonl")).unwrap();
    let facts = Journal::open(&stage.site.journal, None, Clock::system()).unwrap().facts().to_vec();
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for length in 0..=whole.len() {
        std::fs::write(other.join("journal.jsonl"), &whole[..length]).unwrap();
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(
            Journal::open(&other, None, Clock::system()).unwrap().facts(),
            &facts[..lines],
            "{length} bytes"
        );
        let cut = std::fs::read(other.join("journal.jsonl")).unwrap();
        assert!(cut.is_empty() || cut.ends_with(b"\n"), "what was cut short is gone");
    }
}

/// A choice is what was approved: it is in the journal, and a resumed batch goes by it.
#[tokio::test]
async fn what_was_skipped_stays_skipped_when_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let stage = stage(directory.path());
    let plan = plan([create("a", ""), create("b", "")]);
    let (stopper, stop) = Stop::new();
    stopper.stop();
    let choices = [Choice::Run, Choice::Skip { reason: "no".into() }];
    let ran = stage.batch(&plan).run(&choices, &Nobody, &mut |_| {}, &stop).await.unwrap();
    assert!(ran.unfinished);
    let ran = stage.resume(&plan, Interrupted::Halt).await;
    assert_eq!(told(&ran), ["done", "skipped: no"]);
}
