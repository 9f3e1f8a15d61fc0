//! Rapport never changes a finished turn, and notices when a file of one was changed.

use super::{create, greeting, plan, project};

// FILE-4, FILE-10: a finished turn is immutable.
#[test]
fn file_4_a_changed_turn_is_noticed_everywhere() {
    let second = plan("Second", &[], &[], &[create("a.txt", "a")]);
    let project = project(&[&greeting(), &second]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let report = project.folder().join("01/report.md");
    let before = std::fs::read(&report).unwrap();
    std::fs::write(&report, "# Execution Report: another\n").unwrap();
    let named = "01/report.md was changed, after its turn was finished";
    project.plan_turn("two").check(3, named).check(3, "--accept-changes");
    assert_eq!(project.turn_names(), ["01"], "nothing is built on it");
    for command in [&["status"][..], &["log", "--tree"], &["branch", "01", "--keep"], &["diff", "01", "01"]] {
        project.rapport(command).check(0, named);
    }
    let mend = format!("rapport resume {} --accept-changes", project.session());
    project.rapport(&["doctor"]).check(0, named).check(0, &mend);
    std::fs::write(&report, &before).unwrap();
    project.rapport(&["status"]).check(0, "");
    assert!(!project.rapport(&["status"]).err().contains("was changed"), "as it was, it is fine again");
    std::fs::remove_file(project.folder().join("01/plan.md")).unwrap();
    project.plan_turn("two").check(3, "01/plan.md is gone");
    project.rapport(&["plan", "-m", "two", "--accept-changes"]).check(0, "Second");
    // What was accepted once is not reported again; another change is.
    assert_eq!(project.rapport(&["resume", "-y"]).err(), "");
    std::fs::write(&report, "# Execution Report: another\n").unwrap();
    project.plan_turn("three").check(3, named);
}

/// A turn that is gone is told as one thing; where that is accepted, the next turn may have its name.
#[test]
fn a_turn_that_is_gone() {
    let second = plan("Second", &[], &[], &[create("a.txt", "a")]);
    let third = plan("Third", &[], &[], &[create("b.txt", "b")]);
    let project = project(&[&greeting(), &second, &third]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    std::fs::remove_dir_all(project.folder().join("02")).unwrap();
    let ran = project.plan_turn("three");
    ran.check(3, "/02 is gone, after its turn was finished");
    assert_eq!(ran.err().matches("is gone").count(), 1, "{}", ran.err());
    project.rapport(&["plan", "-m", "three", "--accept-changes"]).check(0, "Third");
    assert_eq!(project.rapport(&["resume", "-y"]).err(), "");
    assert_eq!(project.turn_names(), ["01", "02"]);
    std::fs::write(project.folder().join("02/plan.md"), "# Fourth\n").unwrap();
    project.rapport(&["status"]).check(0, "02/plan.md was changed");
}

/// A finished turn that a person put there, or an older tool, is sealed when they say that it counts.
#[test]
fn what_is_finished_and_not_sealed_is_sealed_once_it_is_trusted() {
    let project = project(&[&greeting()]);
    std::fs::create_dir(project.folder().join("01")).unwrap();
    std::fs::write(project.folder().join("01/report.md"), "# Execution Report: x\n").unwrap();
    project.plan_turn("one").check(9, "turn 01");
    project.rapport(&["trust", "add-greeting", "--yes"]).check(0, "is trusted from now on");
    project.plan_turn("one").check(0, "Turn 02 is shown");
    std::fs::write(project.folder().join("01/report.md"), "# Execution Report: y\n").unwrap();
    project.rapport(&["status"]).check(0, "01/report.md was changed");
}

/// An unreadable log is reported: without it, it is unknown what was sealed.
#[test]
fn a_damaged_log_is_not_passed_over() {
    let project = project(&[&greeting()]);
    project.plan_turn("Greet.").check(0, "");
    let log = project.folder().join("log.jsonl");
    let damaged = std::fs::read_to_string(&log).unwrap().replacen("\"facts\"", "\"fakts\"", 1);
    std::fs::write(&log, damaged).unwrap();
    project.rapport(&["log", "--tree"]).check(6, "is damaged at line 1");
}

/// A session that was thrown away and begun anew is another one, although git kept what undoing the first would take:
/// its plan is carried out, not only reported.
#[test]
fn a_session_begun_anew_has_nothing_done_yet() {
    let plan = plan("Create", &[], &[], &[create("a.txt", "a")]);
    let project = project(&[&plan, &plan]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    std::fs::remove_dir_all(project.folder()).unwrap();
    std::fs::remove_file(project.root().join("a.txt")).unwrap();
    project.rapport(&["new", "add-greeting"]).check(0, "add-greeting");
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    assert_eq!(project.file("a.txt"), "a\n");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
}
