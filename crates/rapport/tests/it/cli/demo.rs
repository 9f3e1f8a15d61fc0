//! `rapport demo`: the whole story on any machine with git, with or without a terminal.

use std::path::Path;

use serde_json::Value;

use crate::support::project::{Project, Ran};
use crate::support::scenarios::PERMISSION;

/// The folder a demo says it has kept.
fn kept(ran: &Ran) -> String {
    let out = ran.out();
    out.lines().find_map(|line| line.strip_prefix("Kept in ")).expect("a folder is kept").to_owned()
}

/// A project in whose temporary folder the demo makes its own, so that what stays behind is seen.
fn project() -> Project {
    let project = Project::with_agent("");
    let folder = project.path("tmp");
    std::fs::create_dir(&folder).unwrap();
    project.set("TMPDIR", folder.to_str().unwrap())
}

#[test]
fn without_a_terminal_it_answers_itself_and_leaves_nothing_behind() {
    let project = project();
    for _ in 0..2 {
        let ran = project.rapport(&["demo"]);
        let text = ran.check(0, "(answered by the demo itself)").out();
        for told in
            ["The diff it made:", "+language='English'", "# Plan: add a greeting", "The log, ", "is gone now"]
        {
            assert!(text.contains(told), "{told:?} was expected in:\n{text}");
        }
        assert_eq!(ran.err(), "");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        assert_eq!(std::fs::read_dir(project.path("tmp")).unwrap().count(), 0);
        assert!(!project.path("home/.rapport").exists(), "the home is not touched");
    }
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let project = project();
    let folder = kept(project.rapport(&["demo", "--keep"]).check(0, "Kept in "));
    assert!(Path::new(&folder).join("greeting.sh").is_file());
    project.rapport(&["status", "--project", &folder]).check(0, "add-a-greeting  completed");
}

#[test]
fn with_a_scenario_and_a_task_of_ones_own() {
    let project = project();
    std::fs::write(project.root().join("story.yaml"), PERMISSION).unwrap();
    project.rapport(&["demo", "--scenario", "story.yaml", "build it"]).check(0, "+built");
}

#[test]
fn a_scenario_that_fails_keeps_the_folder_and_says_where() {
    let project = project();
    let fails =
        "version: 1\nname: fails\ninvocations:\n  - stderr_lines: [oh no]\n    steps: [{ exit: 9 }]\n";
    std::fs::write(project.root().join("fails.yaml"), fails).unwrap();
    let ran = project.rapport(&["demo", "--scenario", "fails.yaml"]);
    let folder = kept(ran.check(7, "(exit code 9)\noh no"));
    ran.check(7, &format!("Look at it with: rapport status --project {folder}"));
    assert!(!ran.err().contains("--resume"), "it cannot be resumed from here: {}", ran.err());
    project.rapport(&["status", "--project", &folder]).check(0, "add-a-greeting  failed");
}

#[test]
fn a_scenario_that_is_not_there_is_named_before_anything_begins() {
    let project = project();
    let ran = project.rapport(&["demo", "--scenario", "none.yaml"]);
    ran.check(2, "cannot read the scenario none.yaml: No such file or directory");
    assert_eq!(ran.out(), "");
    assert_eq!(std::fs::read_dir(project.path("tmp")).unwrap().count(), 0);
}

#[test]
fn without_git_it_says_what_is_missing() {
    let project = project().set("PATH", "/nonexistent");
    project.rapport(&["demo"]).check(1, "cannot make a git repository: No such file or directory");
    project.rapport(&["demo"]).check(1, "install it first.");
}

#[test]
fn as_json_it_is_a_line_per_entry_and_the_session_at_the_end() {
    let project = project();
    let ran = project.rapport(&["demo", "--json", "--keep"]);
    let lines: Vec<Value> =
        ran.check(0, "").out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [.., session, kept] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(session["status"], "completed");
    assert_eq!(session["answers"][0]["by"]["rule"]["name"], "demo");
    assert_eq!(kept["kept"], session["project"]);
}

/// If the reader of the output has gone, nobody learns where the demo keeps its files, so it keeps none.
#[test]
fn nothing_is_left_behind_where_nobody_reads() {
    let project = project();
    project.sh("rapport demo | head -n 1").check(0, "This is Rapport");
    assert_eq!(std::fs::read_dir(project.path("tmp")).unwrap().count(), 0);
}

/// Line by line, in a narrow terminal: the person answers, and no word is broken at its edge.
#[test]
fn a_person_answers_line_by_line() {
    for (name, value, flag) in [("TERM", "dumb", None), ("X", "", Some("--plain"))] {
        let project = Project::with_agent("").set(name, value);
        let mut pty =
            project.terminal(&[Some("demo"), flag].into_iter().flatten().collect::<Vec<_>>(), 50, 15);
        for (asked, line) in [
            ("q1 Language >", "2"),
            ("q2 Extras >", "1, 3"),
            ("q3 Whom >", "World"),
            ("send these answers? >", "y"),
            ("q4 Tone >", "1"),
            ("confirm Plan >", "1"),
            ("q5 Ending >", "1"),
            ("q6 Bash sh greeting.sh >", "1"),
        ] {
            pty.wait_for(asked);
            pty.send(&format!("{line}\n"));
        }
        pty.wait_for("left 0");
        let written = String::from_utf8(pty.raw().to_vec()).unwrap();
        assert!(!written.contains('\u{1b}'), "no control characters: {written:?}");
        assert!(!written.contains("answered by the demo"), "{written}");
        let (asked, _) = written.split_once("The diff it made:").unwrap();
        for line in asked.lines().map(|line| line.trim_end()) {
            let is_word = !line.trim().contains(' ');
            assert!(line.chars().count() <= 50 || is_word, "{line:?} is wider than the terminal");
        }
        let rows: Vec<_> = asked.lines().map(str::trim_end).collect();
        assert!(rows.contains(&"q3 Whom > World"), "{asked}");
        assert!(rows.contains(&"✓ Whom → World"), "{asked}");
    }
}

#[test]
fn in_a_terminal_the_person_answers() {
    let project = Project::with_agent("");
    let mut pty = project.terminal(&["demo"], 100, 45);
    pty.wait_for("Q1 of 3");
    pty.wait_for("enter answer");
    pty.send("2");
    pty.wait_for("Q2 of 3");
    pty.send("1\r");
    pty.wait_for("Q3 of 3");
    pty.send("1");
    pty.wait_for("Send these answers");
    pty.send("\r");
    pty.wait_for("Which tone should it have?");
    pty.wait_for("enter answer");
    pty.send("1");
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("Starting the work");
    pty.wait_for("How should the greeting end?");
    pty.wait_for("enter answer");
    pty.send("1");
    pty.wait_for("May the agent use Bash");
    pty.wait_for("enter answer");
    pty.send("1");
    assert!(pty.wait_end().success());
    let all = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(all.contains("+language='German'"), "{all}");
    assert!(!all.contains("by the demo itself"), "{all}");
    assert!(pty.text().contains("left 0"), "{}", pty.text());
}

#[test]
fn left_in_the_middle_it_says_how_to_answer_from_elsewhere() {
    let project = project();
    let mut pty = project.terminal(&["demo"], 250, 40);
    pty.wait_for("enter answer");
    pty.send("\x03");
    pty.wait_for("left 130");
    let text = pty.text();
    // A long path is on a row of its own.
    let told = text.lines().skip_while(|line| !line.contains("Answer from anywhere")).skip(1);
    let words = told.take_while(|line| !line.is_empty()).flat_map(str::split_whitespace).skip(1);
    let words: Vec<&str> = words.chain(["--question", "q1", "1"]).collect();
    project.rapport(&words).check(0, "Answered.");
}
