//! A journal that came with a clone undoes nothing and is not resumed.

use std::fs;
use std::path::PathBuf;

use rapport_core::Event;

use crate::files::{greeting, project};
use crate::support::project::Project;

use super::clone;

/// A project with a session of files whose batch was carried out.
fn stranger() -> Project {
    let stranger = project(&[&greeting()]);
    stranger.plan_turn("one").check(0, "");
    stranger.rapport(&["resume", "-y"]).check(0, "Completed");
    stranger
}

/// A clone of it, with the files as the batch left them, so that undoing would find what it expects.
fn victim(stranger: &Project) -> Project {
    let victim = project(&[&greeting()]);
    fs::remove_dir_all(victim.root().join(".rapport")).unwrap();
    for file in ["hello.txt", "README.md"] {
        fs::copy(stranger.root().join(file), victim.root().join(file)).unwrap();
    }
    clone(stranger, &victim);
    victim
}

#[test]
fn undo_refuses_the_journal_of_a_stranger() {
    let stranger = stranger();
    let victim = victim(&stranger);
    victim.rapport(&["undo", "--yes"]).check(9, "rapport trust ");
    assert_eq!(victim.file("hello.txt"), "Hello\n", "nothing was undone");
    for door in [&["resume", "-y"][..], &["plan", "-m", "two"], &["branch", "01"]] {
        victim.rapport(door).check(9, "rapport trust ");
    }
    stranger.rapport(&["undo", "--yes"]).check(0, "Undone");
    assert_eq!(stranger.file("hello.txt"), "", "its own is undone");
}

#[test]
fn what_was_looked_at_can_be_undone() {
    let stranger = stranger();
    let victim = victim(&stranger);
    let session = victim.session();
    victim.rapport(&["trust", session.as_str()]).check(9, "nobody can be asked");
    victim.rapport(&["trust", "--yes", session.as_str()]).check(0, "is trusted from now on");
    victim.rapport(&["undo", "--yes"]).check(0, "Undone");
    assert_eq!(victim.file("hello.txt"), "");
}

/// The directory of the only batch of a project.
fn batch(project: &Project) -> PathBuf {
    let batches = fs::read_dir(project.root().join(".rapport/batches")).unwrap();
    batches.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
}

/// A journal that was put beside an own session has no effect: no person approved it here.
#[test]
fn a_strangers_journal_does_not_become_facts_of_a_session_of_ones_own() {
    let (stranger, victim) = (stranger(), project(&[&greeting()]));
    victim.plan_turn("one").check(0, "");
    let shipped = victim.root().join(format!(".rapport/batches/{}-01", victim.session()));
    fs::create_dir_all(&shipped).unwrap();
    fs::copy(batch(&stranger).join("journal.jsonl"), shipped.join("journal.jsonl")).unwrap();
    let before = victim.facts();
    victim.rapport(&["status"]).check(0, "this journal is not trusted").check(0, shipped.to_str().unwrap());
    victim.rapport(&["resume", "-y"]).check(0, "this journal is not trusted").check(0, "Completed");
    assert_eq!(victim.file("hello.txt"), "Hello\n", "it was carried out here");
    let news = &victim.facts()[before.len()..];
    assert!(!news.iter().any(|fact| matches!(fact, Event::TurnFound(_))), "{news:#?}");
}

/// What was taken away from a journal of one's own is noticed, and nothing is built on the rest.
#[test]
fn a_journal_that_was_cut_short_does_not_count() {
    let project = stranger();
    let path = batch(&project).join("journal.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let first = whole.split_inclusive('\n').next().unwrap();
    fs::write(&path, first).unwrap();
    project.rapport(&["status"]).check(0, "this journal is not trusted");
    project.rapport(&["undo", "--yes"]).check(6, "Nothing was undone.");
    assert_eq!(project.file("hello.txt"), "Hello\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), first, "it is left as it is");
}

/// A name in a journal never becomes a path out of the project, not even where it is trusted.
#[test]
fn a_name_in_a_journal_leads_nowhere() {
    let stranger = stranger();
    let batch = batch(&stranger);
    let path = batch.join("journal.jsonl");
    let forged: Vec<_> = fs::read_to_string(&path).unwrap().lines().map(forge).collect();
    fs::write(&path, format!("{}\n", forged.join("\n"))).unwrap();
    let precious = stranger.path("precious-0");
    fs::write(&precious, "dear").unwrap();
    let ran = stranger.rapport(&["undo", "--force", "--yes"]);
    ran.check(6, "an invalid name");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "dear");
    let name = batch.file_name().unwrap().to_str().unwrap().to_owned();
    stranger.rapport(&["trust", "--yes", &name]).check(6, "an invalid name");
}

/// The same line with another id, and the checksum right.
fn forge(line: &str) -> String {
    let (content, _) = line.rsplit_once(",\"crc\":").unwrap();
    let content = match content.split_once("\"id\":\"") {
        Some((before, after)) => {
            let (_, after) = after.split_once('"').unwrap();
            format!("{before}\"id\":\"x/../../precious\"{after}")
        }
        None => content.to_owned(),
    };
    format!("{content},\"crc\":\"{:08x}\"}}", crc32fast::hash(content.as_bytes()))
}
