//! Files of earlier versions can still be read: sessions in every state, and sessions that were killed at every
//! durable write. Each fixture contains what its own version reported about it, and how that version continued it.
//! See `tests/fixtures/README.md`.

mod archive;
mod record;
mod world;

use std::path::{Path, PathBuf};

/// An end that is another one on purpose, and has a test of its own.
const UNDO_BY_NAME: (&str, &str) = ("files/7-branch-run.txt", "undo");

/// Sessions of files.
#[test]
fn sessions_of_files_are_read_and_lead_to_the_same_end() {
    holds("files");
}

#[test]
fn sessions_of_run_are_read_and_lead_to_the_same_end() {
    holds("run");
}

#[test]
fn plans_outside_of_sessions_are_read_and_lead_to_the_same_end() {
    holds("execute");
}

#[test]
fn planning_that_was_killed_comes_to_the_same_end() {
    holds("killed-plan");
}

#[test]
fn batches_that_were_killed_come_to_the_same_end() {
    holds("killed-resume");
}

#[test]
fn undoing_that_was_killed_comes_to_the_same_end() {
    holds("killed-undo");
}

#[test]
fn runs_that_were_killed_before_a_write_come_to_the_same_end() {
    holds("killed-run-before");
}

#[test]
fn runs_that_were_killed_after_a_write_come_to_the_same_end() {
    holds("killed-run-after");
}

#[test]
fn progress_files_that_were_killed_come_to_the_same_end() {
    holds("killed-progress");
}

/// `undo` undoes the batch that was run last. The version that made the fixture undid the one whose name sorts last.
#[test]
fn undo_after_a_branch_takes_back_what_was_run_last() {
    let (fixture, _) = UNDO_BY_NAME;
    let path =
        versions().into_iter().map(|version| version.join(fixture)).find(|path| path.exists()).unwrap();
    let project = world::open(&std::fs::read_to_string(path).unwrap(), None);
    project.rapport(&["trust", "--all-mine", "--yes"]).check(0, "");
    project.rapport(&["undo", "--yes"]).check(0, "");
    assert!(!project.root().join("o.txt").exists(), "the branch was run last");
    assert!(project.root().join("more.txt").exists());
}

/// Every fixture is read by a test.
#[test]
fn every_fixture_belongs_to_a_test() {
    let here = include_str!("mod.rs");
    let flows = versions().into_iter().flat_map(|version| entries(&version)).filter(|path| path.is_dir());
    let unread: Vec<_> = flows.filter(|flow| !here.contains(&format!("holds({:?})", name(flow)))).collect();
    assert!(unread.is_empty(), "{unread:?}");
}

/// Every fixture of a flow, of every version.
fn holds(flow: &str) {
    let fixtures: Vec<_> = versions().into_iter().flat_map(|version| entries(&version.join(flow))).collect();
    assert!(!fixtures.is_empty(), "there are no fixtures of {flow}");
    let wrong: Vec<_> = fixtures.iter().flat_map(|fixture| wrong(fixture)).collect();
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether a difference is one on purpose: a reply in words waits for its answer, and is shown as what it is. Earlier
/// versions took it for a plan with mistakes.
fn is_reply_in_words(differs: &str) -> bool {
    differs.ends_with(r#""the agent replied in words" instead of "Validation Failed 🔴""#)
        || differs.contains("/title: ") && differs.ends_with(r#" instead of "no title""#)
}

/// Whatever is not as the version that made it says.
fn wrong(path: &Path) -> Vec<String> {
    let fixture = std::fs::read_to_string(path).unwrap();
    let expected = world::expected(&fixture);
    let mut wrong = Vec::new();
    let project = world::open(&fixture, None);
    let differs = expected.now.missing_in(&world::look(&project, &world::files(&project)));
    wrong.extend(differs.into_iter().filter(|one| !is_reply_in_words(one)));
    for (stored, shown) in world::logs(&project) {
        world::compare("log", &stored.into(), &shown.into(), &mut wrong);
    }
    for end in
        expected.ends.iter().filter(|end| !(path.ends_with(UNDO_BY_NAME.0) && end.is_just(UNDO_BY_NAME.1)))
    {
        let project = world::open(&fixture, None);
        // What was written before entries were signed is taken over with one question.
        project.rapport(&["trust", "--all-mine", "--yes"]).check(0, "");
        let before = world::files(&project);
        let (mut commands, codes): (Vec<_>, Vec<_>) = end.commands.iter().cloned().unzip();
        // A branch of a turn that ran has to say by now where it begins; earlier versions kept the files as they were.
        let branches = commands.iter_mut().filter(|words| words.first().is_some_and(|verb| verb == "branch"));
        branches.for_each(|words| words.push("--keep".into()));
        let found = world::act(&project, &commands);
        let differs = end.then.missing_in(&world::look(&project, &before).in_the_end());
        let (replied, differs): (Vec<_>, Vec<_>) =
            differs.into_iter().partition(|one| is_reply_in_words(one));
        // Such a reply has to be answered first, which is refused without words; there was nothing to resume before.
        let is_same =
            |(found, code): (&i32, &i32)| found == code || !replied.is_empty() && (*found, *code) == (3, 2);
        if found.len() != codes.len() || !found.iter().zip(&codes).all(is_same) {
            wrong.push(format!("{commands:?} ended with {found:?} instead of {codes:?}"));
        }
        wrong.extend(differs.into_iter().map(|differs| format!("after {commands:?}: {differs}")));
    }
    let name = format!("{}/{}", name(path.parent().unwrap()), name(path));
    wrong.into_iter().map(|wrong| format!("{name} ({}): {wrong}", expected.made)).collect()
}

fn versions() -> Vec<PathBuf> {
    let all = entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
    all.into_iter().filter(|path| path.is_dir()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = found.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
