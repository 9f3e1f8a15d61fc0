//! Faults around a turn: files that changed since, a full disk, an invalid memo file.

use super::{create, edit, greeting, plan, planning, project};
use crate::support::disk::Disk;
use crate::support::project::Project;

/// A file that was changed after planning: nothing is done, and the turn is not locked.
#[test]
fn a_file_that_changed_since_planning() {
    let project = project(&[
        &plan("Edit", &[], &[], &[create("a.txt", "a"), edit("README.md", "An app", "The app")]),
        &greeting(),
    ]);
    project.plan_turn("x").check(0, "");
    std::fs::write(project.root().join("README.md"), "# Something else\n").unwrap();
    project.rapport(&["resume", "-y"]).check(3, "FIND is not in README.md");
    assert!(!project.root().join("a.txt").exists(), "validation comes before everything");
    assert!(project.turn_file("01/report.md").contains("Validation Failed"));
    std::fs::write(project.root().join("README.md"), "# An app\n").unwrap();
    project.plan_turn("y").check(0, "Add a greeting");
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in ["../out.txt", "/etc/out.txt", "link/out.txt"] {
        let project = project(&[&plan("Out", &[], &[], &[create(path, "x")])]);
        std::os::unix::fs::symlink(project.path("home"), project.root().join("link")).unwrap();
        project.plan_turn("x").check(3, "cannot be carried out");
        assert!(!project.path("out.txt").exists() && !project.path("home/out.txt").exists());
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_made() {
    let scenario = serde_json::to_string(&planning(&[&greeting(), &greeting()]).build()).unwrap();
    let project = Project::with_scenario(&scenario);
    let Some(disk) = Disk::at(&project.root(), "2m") else { return };
    project.begin();
    project.rapport(&["new", "a"]).check(0, "");
    let filler = disk.fill();
    project.plan_turn("x").check(6, "No space left on device");
    std::fs::remove_file(&filler).unwrap();
    project.plan_turn("x").check(0, "Add a greeting");
    assert_eq!(project.turn_names(), ["01"]);
    let filler = disk.fill();
    let ran = project.rapport(&["resume", "-y"]);
    assert!([1, 6].contains(&ran.code()), "{} {}", ran.code(), ran.err());
    assert!(format!("{}{}", ran.out(), ran.err()).contains("No space left on device"), "{}", ran.err());
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(project.changes(), Vec::<String>::new());
}

#[test]
fn memos_that_cannot_be_read_are_named() {
    let project = project(&[&greeting()]);
    std::fs::write(project.root().join(".rapport/memos.yaml"), "a: b\n").unwrap();
    project.plan_turn("x").check(6, "memos.yaml: it has to be a list of strings");
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- mine # stays\n").unwrap();
    project.plan_turn("x").check(0, "");
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- [a\n").unwrap();
    project.rapport(&["resume", "-y"]).check(6, "Nothing was changed. Fix or remove it.");
    assert_eq!(project.changes(), Vec::<String>::new(), "and so it is");
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- mine # stays\n").unwrap();
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    assert_eq!(project.file(".rapport/memos.yaml"), "- mine # stays\n- Greetings are in English.\n");
}
