//! Branches: another try of a turn, which continues as its own line.

use serde_json::Value;

use super::{create, edit, greeting, plan, project, run};
use crate::support::patience::wait_for;

/// A branch becomes the latest turn, and would hide a batch that runs, or that was interrupted and waits.
#[test]
fn a_turn_that_is_carried_out_is_not_branched() {
    let hanging = plan("Hang", &[], &[], &[create("a.txt", "a"), run("touch begun; sleep 600")]);
    let project = project(&[&hanging]);
    project.plan_turn("one").check(0, "");
    let mut running = project.spawn(&["resume", "-y"]);
    wait_for("the command", || project.root().join("begun").exists().then_some(()));
    project.rapport(&["branch", "01"]).check(3, "turn 01 cannot be branched: it is being carried out");
    running.kill().unwrap();
    running.wait().unwrap();
    let refused = project.rapport(&["branch", "01"]);
    refused.check(3, "it was interrupted, and waits for a decision").check(3, "rapport resume");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
}

/// In a cancelled session nothing can be planned, so a branch of a turn would be of no use. A worktree has a session of
/// its own.
#[test]
fn a_turn_of_a_cancelled_session_is_branched_only_in_a_worktree() {
    let project = project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    let id = project.session();
    project.rapport(&["cancel", id.as_str()]).check(0, "");
    let drawn = project.rapport(&["log", "--tree"]);
    drawn.check(0, "○  01  not carried out  Add a greeting");
    assert!(!drawn.out().contains("waits for review"), "{}", drawn.out());
    for more in [&[][..], &["--keep"], &["--undo"]] {
        let args = [&["branch", "--session", id.as_str(), "01"][..], more].concat();
        project
            .rapport(&args)
            .check(3, "was cancelled")
            .check(3, &format!("rapport branch --session {id} 01 --worktree"));
    }
    assert_eq!(project.turn_names(), ["01"]);
    project
        .rapport(&["branch", "--session", id.as_str(), "01", "--worktree"])
        .check(0, "Plan it again there");
}

/// Another try of a turn that ran begins with the files as that turn left them. This is said, with the commands that
/// undo it.
#[test]
fn a_branch_of_a_turn_that_ran_says_how_to_begin_where_it_began() {
    let second = plan("Second", &[], &[], &[create("a.txt", "a")]);
    let project = project(&[&greeting(), &second, &greeting()]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    let said = project.rapport(&["branch", "01", "--keep"]).out();
    let commands: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("  rapport ")).collect();
    assert_eq!(commands.len(), 2, "{said}");
    for command in commands {
        project.rapport(&command.split(' ').chain(["--yes"]).collect::<Vec<_>>()).check(0, "");
    }
    assert_eq!(project.changes(), Vec::<String>::new());
    project.plan_turn("again").check(0, "Add a greeting");
    let json: Value = serde_json::from_str(&project.rapport(&["branch", "01", "--json"]).out()).unwrap();
    assert_eq!(json["standing"], serde_json::json!([]));
}

/// The turn of a session that is named first.
#[test]
fn a_turn_can_be_named_as_the_place_to_branch_at() {
    let project = project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    let id = project.session();
    project.rapport(&["branch", id.as_str(), "--at", "01"]).check(0, "/01-branch-01\n");
    project.rapport(&["branch", "--at", "1", "--keep"]).check(0, "/01-branch-02\n");
    project.rapport(&["branch", id.as_str(), "--at", "07"]).check(4, "no turn 07");
    project.rapport(&["branch", id.as_str(), "--at", "q1", "--undo"]).check(2, "are for branches of a turn");
}

// FILE-5, FILE-38, FILE-39: the content of a branch, how it continues, and how it is drawn and compared.
#[test]
fn file_38_file_39_a_branch_goes_on_as_its_own_line() {
    let second = plan("Second", &["[+] a.txt"], &[], &[create("a.txt", "a")]);
    let other = plan("Other", &[], &[], &[create("b.txt", "b")]);
    let further = plan("Further", &[], &[], &[create("c.txt", "c")]);
    let project = project(&[&greeting(), &second, &other, &further]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    let ran = project.rapport(&["branch", "02", "--keep"]);
    ran.check(0, "/02-branch-01\n").check(0, "rapport diff");
    assert_eq!(project.names_in("02-branch-01"), ["_context.log", "meta.yaml", "turn.context"]);
    for file in ["turn.context", "_context.log"] {
        assert_eq!(
            project.turn_file(&format!("02-branch-01/{file}")),
            project.turn_file(&format!("02/{file}")),
            "{file}"
        );
    }
    assert!(project.turn_file("02-branch-01/meta.yaml").contains("parent_turn_id: \"02\""));
    project.rapport(&["log", "--tree"]).check(0, "○  02-branch-01  not planned yet");

    project.plan_turn("another way").check(0, "Turn 02-branch-01 is shown");
    let shown = project.turn_file("02-branch-01/_context.log");
    assert!(shown.contains("another way") && shown.contains("Execution Report: Add a greeting"), "{shown}");
    assert!(!shown.contains("Execution Report: Second"), "a branch follows what its origin followed");
    project.rapport(&["resume", "-y"]).check(0, "02-branch-01/report.md");
    project.plan_turn("and on").check(0, "Turn 03 is shown");
    assert!(project.turn_file("03/meta.yaml").contains("parent_turn_id: 02-branch-01"));
    assert_eq!(project.turn_file("03/turn.context"), "hello.txt\n", "not what was approved in turn 02");

    let tree = project.rapport(&["log", "--tree"]).out();
    let lines: Vec<_> = tree.lines().map(|line| line.split("  $").next().unwrap()).collect();
    assert_eq!(
        lines[..5],
        [
            "○  03  waits for review  Further",
            "○  02-branch-01  Completed 🟢  Other",
            "│ ○  02  Completed 🟢  Second",
            "├─╯",
            "○  01  Completed 🟢  Add a greeting",
        ]
    );
    let drawn: Value = project.json(&["log", "--tree", "--json"]);
    assert_eq!((&drawn[2]["turn"], &drawn[2]["parent"]), (&"02-branch-01".into(), &"02".into()));
    let diff = project.rapport(&["diff", "02", "02-branch-01"]);
    for line in [
        "--- 02  Completed 🟢  Second",
        "+++ 02-branch-01  Completed 🟢  Other",
        "- CREATE a.txt",
        "+ CREATE b.txt",
    ] {
        diff.check(0, line);
    }
    diff.check(0, "- Active Context: [+] a.txt").check(0, "the same in both");
    let compared: Value = project.json(&["diff", "02", "02-branch-01", "--json"]);
    assert_eq!(compared["turns"][1]["plan"][0], "CREATE b.txt");
    assert_eq!(compared["turns"][1]["status"], "completed");
    assert_eq!(compared["turns"][1]["detail"], "Completed 🟢");
    project.rapport(&["branch", "02-branch-01", "--keep"]).check(0, "/02-branch-02\n");
    project.rapport(&["branch", "07"]).check(4, "no session with a turn 07");
    project.rapport(&["branch", "nonsense"]).check(2, "is not a turn");
    project.rapport(&["diff", "02", "09"]).check(4, "no session with turns 02 and 09");
}

/// FILE-38: two turns are compared by what they make of the files, however their plans say it, run or not.
#[test]
fn two_turns_are_compared_by_what_they_make_of_files() {
    let first = plan("First", &[], &[], &[create("poem.txt", "roses\nare\nred")]);
    let second = plan("Second", &[], &[], &[edit("poem.txt", "red", "blue"), run("true")]);
    let alike =
        plan("Alike", &[], &[], &[edit("poem.txt", "roses\nare\nred", "roses\nare\nblue"), run("true")]);
    let other = plan("Other", &[], &[], &[edit("poem.txt", "blue", "green"), create("new.txt", "new")]);
    let project = project(&[&first, &second, &alike, &other]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    // A turn and the one before it: exactly what it changed.
    let diff = project.rapport(&["diff", "01", "02"]).out();
    let changes =
        "Changes\n--- 01/poem.txt\n+++ 02/poem.txt\n@@ -1,3 +1,3 @@\n roses\n are\n-red\n+blue\n+ $ true\n";
    assert!(diff.contains(changes), "{diff}");
    assert!(!diff.contains("FIND") && !diff.contains("+   + "), "{diff}");
    // Two ways to the same result: a difference only in words is not a difference.
    project.rapport(&["branch", "02", "--undo"]).check(0, "/02-branch-01\n");
    project.plan_turn("again").check(0, "");
    project.rapport(&["diff", "02", "02-branch-01"]).check(0, "Changes\n  the same in both (1 file)\n");
    // Another way, which is not carried out yet, beside one that was.
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.rapport(&["branch", "02", "--keep"]).check(0, "/02-branch-02\n");
    project.plan_turn("and again").check(0, "");
    let diff = project.rapport(&["diff", "02-branch-01", "02-branch-02"]).out();
    for part in [
        "--- 02-branch-01/new.txt (not there)\n+++ 02-branch-02/new.txt\n@@ -0,0 +1 @@\n+new\n",
        "--- 02-branch-01/poem.txt\n+++ 02-branch-02/poem.txt\n@@ -1,3 +1,3 @@\n roses\n are\n-blue\n+green\n",
        "- $ true\n",
    ] {
        assert!(diff.contains(part), "{diff}");
    }
    let json: Value = project.json(&["diff", "02-branch-01", "02-branch-02", "--json"]);
    assert!(json["diff"].as_str().unwrap().contains("-blue\n+green\n"), "{json}");
    let own: Vec<_> =
        json["turns"][1]["changes"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(own.join("\n").contains("-blue\n+green"), "{json}");
    // A plan that fits no version of the file is said to be one.
    std::fs::write(project.folder().join("02-branch-02/plan.md"), other.replace("blue", "violet")).unwrap();
    let diff = project.rapport(&["diff", "02-branch-01", "02-branch-02"]);
    diff.check(0, "02-branch-02 does not fit the files: EDIT poem.txt");
}
