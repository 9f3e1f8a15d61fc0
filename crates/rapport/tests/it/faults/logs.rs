//! Logs that are torn, damaged or of a newer format: what each command does, and that other sessions are not touched.

use std::path::PathBuf;

use rapport_core::Event;

use super::finish;
use crate::support::project::{Project, Ran};
use crate::support::scenarios::ONE_QUESTION;

/// A project with a session that waits for `q1` and that no process runs, and the path of its log.
fn waiting() -> (Project, PathBuf) {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    let log = project.root().join(".rapport/sessions").join(project.session().as_str()).join("log.jsonl");
    (project, log)
}

/// A line as a program with this idea of the format would write it.
fn line(checked: &str) -> String {
    format!("{checked},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(checked.as_bytes()))
}

/// Every command reports the same about this log, nothing changes it, and another session continues beside it.
#[track_caller]
fn refused(project: &Project, log: &PathBuf, says: &str) {
    let before = std::fs::read(log).unwrap();
    let commands: [&[&str]; 6] = [
        &["status", "paint"],
        &["log", "paint"],
        &["answer", "paint", "Red"],
        &["answer", "--json", "paint", "Red"],
        &["cancel", "paint"],
        &["run", "--resume", "paint"],
    ];
    for command in commands {
        let ran = project.rapport(command);
        ran.check(6, says).check(6, "Nothing was changed.").check(6, log.to_str().unwrap());
    }
    project.rapport(&["doctor"]).check(1, says);
    assert_eq!(std::fs::read(log).unwrap(), before);

    let mut other = project.start(&["other"], &[]);
    other.until_asked();
    let status = project.rapport(&["status"]);
    // The others are shown, and a script can tell by the exit code that one is missing.
    status.check(6, "-other  needs input").check(6, says);
    let status = project.rapport(&["status", "--json"]);
    status.check(6, "");
    let listed: serde_json::Value = serde_json::from_str(&status.out()).unwrap();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let said: serde_json::Value = serde_json::from_str(&status.err()).unwrap();
    assert_eq!(said["error"]["code"], 6);
    project.rapport(&["answer", "other", "Red"]).check(0, "Answered.");
}

/// A damaged session of files hides no other, neither from `status` nor from `undo`.
#[test]
fn a_damaged_session_or_journal_hides_no_other() {
    let project = crate::files::project(&[&crate::files::greeting()]);
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let good = project.session();
    project.rapport(&["new", "other"]).check(0, "other");
    let other = project.store().list().unwrap().into_iter().find(|id| *id != good).unwrap();
    let log = project.root().join(".rapport/sessions").join(other.as_str()).join("log.jsonl");
    std::fs::write(&log, "not a log\n").unwrap();
    let status = project.rapport(&["status"]);
    status.check(6, good.as_str()).check(6, "damaged at line 1");
    assert_eq!(status.err().matches("damaged at line 1").count(), 1, "{}", status.err());
    let batch = project.root().join(format!(".rapport/batches/{other}-01"));
    std::fs::create_dir_all(&batch).unwrap();
    std::fs::write(batch.join("journal.jsonl"), "not a journal\n").unwrap();
    project.rapport(&["undo", good.as_str(), "--yes"]).check(0, "Undone");
    assert_eq!(project.file("hello.txt"), "");
}

/// An entry that was refused may still be complete in the log, neither durable nor cut off: it is not shown, and the
/// next holder cuts it off.
#[test]
fn an_answer_that_was_refused_and_is_still_in_the_log_counts_for_nobody() {
    let (project, log) = waiting();
    let text = || std::fs::read_to_string(&log).unwrap();
    let answers = || text().matches("\"answered\"").count();
    let is_open = || assert_eq!(project.view().questions.len(), 1, "the question is open");
    let entries = project.facts_by_entry().len();
    // No process runs the session: the process that brings the answer stores it.
    let mut broken = project.command();
    broken.args(["answer", "paint", "Red"]).env("RAPPORT_TRIAL_SYNC", "log.jsonl:1");
    Ran(broken.output().unwrap()).check(6, "Input/output error");
    let left = text();
    assert_eq!(answers(), 1, "it is there: {left}");
    project.rapport(&["status", "paint"]).check(0, "needs input").check(0, "Which colour?");
    is_open();
    assert_eq!(project.facts_by_entry().len(), entries);
    assert_eq!(text(), left, "looking changes nothing");
    // A process runs the session, and its disk breaks at the answer, which comes after the agent's process was found
    // to be gone.
    let mut running = project.start(&["--resume", "paint"], &[("RAPPORT_TRIAL_SYNC", "log.jsonl:2")]);
    running.until(|fact| matches!(fact, Event::CutOff { .. }));
    assert_eq!(answers(), 0, "the next holder cut it off");
    project.rapport(&["answer", "paint", "Red"]).check(6, "Input/output error");
    is_open();
    assert_eq!(answers(), 1, "it is there: {}", text());
    running.kill();
    is_open();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    assert_eq!(answers(), 1, "the next holder cut off the other: {}", text());
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_torn_last_line_is_as_if_it_had_not_been() {
    let (project, log) = waiting();
    let whole = std::fs::read(&log).unwrap();
    for torn in ["{\"v\":1,\"seq\":5,\"at\":\"2026-", "\0\0\0\0\0\0"] {
        std::fs::write(&log, [&whole, torn.as_bytes()].concat()).unwrap();
        project.rapport(&["status", "paint"]).check(0, "needs input");
        project.rapport(&["doctor"]).check(0, "ok       sessions");
    }
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// Without its newline the last line is not complete, although the home remembers it: a command that would write
/// reports this instead of cutting off an acknowledged answer.
#[test]
fn a_log_that_lost_its_last_newline_is_restored_by_it() {
    let (project, log) = waiting();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    let whole = std::fs::read(&log).unwrap();
    let cut = whole.strip_suffix(b"\n").unwrap();
    std::fs::write(&log, cut).unwrap();
    let commands: [&[&str]; 4] = [
        &["answer", "paint", "Red"],
        &["cancel", "paint"],
        &["run", "--resume", "paint"],
        &["say", "paint", "x"],
    ];
    for command in commands {
        project.rapport(command).check(9, "it was cut back or replaced");
        assert_eq!(std::fs::read(&log).unwrap(), cut, "{command:?}");
    }
    project.rapport(&["status", "paint"]).check(0, "cut back or replaced");
    assert_eq!(std::fs::read(&log).unwrap(), cut);
    std::fs::write(&log, &whole).unwrap();
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn damage_in_the_middle_is_refused_and_left_alone() {
    let (project, log) = waiting();
    let text = std::fs::read_to_string(&log).unwrap().replacen("One thing first.", "One thing worse.", 1);
    std::fs::write(&log, text).unwrap();
    refused(&project, &log, "line 3");
}

#[test]
fn a_log_from_the_future_is_refused_and_left_alone() {
    let (project, log) = waiting();
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.push_str(&line("{\"v\":2,\"seq\":5,\"at\":\"2026-01-24T12:00:00Z\",\"facts\":[]"));
    std::fs::write(&log, text).unwrap();
    refused(&project, &log, "Use the newer program for this session.");
}

#[test]
fn a_fact_of_an_unknown_kind_is_kept_and_means_nothing() {
    let (project, log) = waiting();
    let mut text = std::fs::read_to_string(&log).unwrap();
    let next = text.lines().count() + 1;
    let unknown = format!(
        "{{\"v\":1,\"seq\":{next},\"at\":\"2026-01-24T12:00:00Z\",\"facts\":[{{\"dreamt\":{{\"of\":\"sheep\"}}}}]"
    );
    text.push_str(&line(&unknown));
    std::fs::write(&log, &text).unwrap();
    project.rapport(&["log", "paint"]).check(0, "a fact of a newer kind: {\"dreamt\":{\"of\":\"sheep\"}}");
    project.rapport(&["log", "--json", "paint"]).check(0, "{\"dreamt\":{\"of\":\"sheep\"}}");
    project.trust();
    finish(&project);
    assert!(std::fs::read_to_string(&log).unwrap().starts_with(&text));
}

#[test]
fn a_directory_that_is_no_session_is_passed_over() {
    let (project, log) = waiting();
    let sessions = log.parent().unwrap().parent().unwrap();
    std::fs::create_dir(sessions.join("20260101-empty")).unwrap();
    std::fs::create_dir(sessions.join("20260101-begun")).unwrap();
    std::fs::write(sessions.join("20260101-begun/log.jsonl"), "{\"v\":1,\"se").unwrap();
    std::fs::write(sessions.join("notes.txt"), "mine").unwrap();
    project.rapport(&["status"]).check(0, "paint  needs input");
    project.rapport(&["status", "empty"]).check(4, "there is no session empty");
    project.rapport(&["doctor"]).check(0, "ok       sessions   1 in ");
    finish(&project);
}
