//! A journal that came with a clone undoes nothing and is not gone on with.

use std::fs;

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
    victim.rapport(&["undo"]).check(9, "rapport trust ");
    assert_eq!(victim.file("hello.txt"), "Hello\n", "nothing was undone");
    for door in [&["resume", "-y"][..], &["plan", "-m", "two"], &["branch", "01"]] {
        victim.rapport(door).check(9, "rapport trust ");
    }
    stranger.rapport(&["undo"]).check(0, "Undone");
    assert_eq!(stranger.file("hello.txt"), "", "its own is undone");
}

#[test]
fn what_was_looked_at_can_be_undone() {
    let stranger = stranger();
    let victim = victim(&stranger);
    let session = victim.session();
    victim.rapport(&["trust", session.as_str()]).check(9, "nobody can be asked");
    victim.rapport(&["trust", "--yes", session.as_str()]).check(0, "counts from now on");
    victim.rapport(&["undo"]).check(0, "Undone");
    assert_eq!(victim.file("hello.txt"), "");
}

/// A name in a journal never becomes a path out of the project, not even where it is trusted.
#[test]
fn a_name_in_a_journal_leads_nowhere() {
    let stranger = stranger();
    let batch = fs::read_dir(stranger.root().join(".rapport/batches")).unwrap();
    let batch = batch.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let path = batch.join("journal.jsonl");
    let forged: Vec<_> = fs::read_to_string(&path).unwrap().lines().map(forge).collect();
    fs::write(&path, format!("{}\n", forged.join("\n"))).unwrap();
    let precious = stranger.path("precious-0");
    fs::write(&precious, "dear").unwrap();
    let ran = stranger.rapport(&["undo", "--force"]);
    ran.check(6, "a name that is not one of ours");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "dear");
    let name = batch.file_name().unwrap().to_str().unwrap().to_owned();
    stranger.rapport(&["trust", "--yes", &name]).check(6, "a name that is not one of ours");
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
