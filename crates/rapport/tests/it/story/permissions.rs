//! Permissions of agents: shown as a whole, allowed once, for a session or for a project, and revoked.

use std::time::Duration;

use rapport_core::{By, Event};
use serde_json::Value;

use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The same command twice, and another.
const COMMANDS: &str = r##"
version: 1
name: commands
invocations:
  - result: "# Plan\n\n1. Do it."
  - steps:
      - bash: { command: "touch one.txt", permission: true }
      - bash: { command: "touch one.txt", permission: true }
      - bash: { command: "rm one.txt", permission: true }
    result: "Done."
"##;

const BEGUN: &str = r##"
version: 1
name: begun
invocations:
  - result: "# Plan\n\n1. Charge."
  - steps:
      - bash: { command: "echo charged >> n.txt; sleep 600", permission: true }
    result: "Done."
"##;

const WRITES: &str = r##"
version: 1
name: writes
invocations:
  - result: "# Plan\n\n1. Do it."
  - steps:
      - write: { path: notes.txt, content: "one\n2\n", permission: true }
    result: "Done."
"##;

/// A permission without a decision is parked. The later decision holds for the very same call, and no person is asked
/// twice, not even after a denial.
#[test]
fn a_permission_is_parked_and_decided_once() {
    for (answer, written) in [("allow", true), ("session", true), ("project", true), ("deny", false)] {
        let project = Project::with_scenario(WRITES).recorded().set("RAPPORT_AGENT_HOT", "0s");
        let mut running = project.start(&["do it"], &[]);
        project.wait_asked_for("confirm");
        project.rapport(&["answer", "do-it", "yes"]).check(0, "Answered.");
        running.until(|fact| matches!(fact, Event::Parked { .. }));
        wait_for("no process of the agent", || project.agents_alive().is_empty().then_some(()));
        project.rapport(&["answer", "do-it", answer]).check(0, "Answered. q1 Permission: ");
        assert_eq!(running.finish(), 0, "{answer}");
        assert_eq!(project.root().join("notes.txt").exists(), written, "{answer}");
        let facts = project.facts();
        let asked = facts.iter().filter(|fact| matches!(fact, Event::Asked { .. })).count();
        let again = facts.iter().filter(|fact| matches!(fact, Event::AskedAgain { .. })).count();
        assert_eq!((asked, again), (2, 1), "{answer}: the confirmation and the permission");
    }
}

/// What is allowed from now on holds after the agent was parked and its process is another one, for other content as
/// well.
#[test]
fn what_is_allowed_from_now_on_holds_after_parking() {
    const TWICE: &str = r##"
version: 1
name: twice
invocations:
  - result: "# Plan\n\n1. Do it."
  - steps:
      - write: { path: notes.txt, content: "one\n", permission: true }
      - write: { path: notes.txt, content: "two\n", permission: true }
      - bash: { command: "echo three >> notes.txt", permission: true }
      - bash: { command: "echo three >> notes.txt", permission: true }
    result: "Done."
"##;
    for (answer, scope) in [("session", "this session"), ("project", "this project")] {
        let project = Project::with_scenario(TWICE).recorded().set("RAPPORT_AGENT_HOT", "0s");
        let mut running = project.start(&["do it"], &[]);
        project.wait_asked_for("confirm");
        project.rapport(&["answer", "do-it", "yes"]).check(0, "Answered.");
        for question in ["q1", "q3"] {
            project.wait_asked_for(question);
            running.until(|fact| matches!(fact, Event::Parked { .. }));
            wait_for("no process of the agent", || project.agents_alive().is_empty().then_some(()));
            project.rapport(&["answer", "do-it", answer]).check(0, &format!("Permission: Allow for {scope}"));
        }
        assert_eq!(running.finish(), 0, "{answer}");
        assert_eq!(project.file("notes.txt"), "two\nthree\nthree\n");
        let path = project.root().join("notes.txt").display().to_string();
        let by_rule = rules(&project.facts());
        let expected = [
            format!("q2 Write({path}) for {scope}"),
            format!("q4 Bash(echo three >> notes.txt) for {scope}"),
        ];
        assert_eq!(by_rule, expected, "{answer}");
    }
}

fn rules(facts: &[Event]) -> Vec<String> {
    let by_rule = facts.iter().filter_map(|fact| match fact {
        Event::Answered { question, by: By::Rule { name, .. }, .. } => Some(format!("{question} {name}")),
        _ => None,
    });
    by_rule.collect()
}

/// "Always" says what it allows and where it is stored. Rapport applies it and logs each use, and a person can revoke
/// it. Nothing is written to the agent's own settings.
#[test]
fn what_is_allowed_from_now_on_is_a_rule_of_rapports_own() {
    let project = Project::with_scenario(COMMANDS);
    let running = project.start(&["do it"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "do-it", "yes"]).check(0, "Answered. confirm Plan: Confirm & start\n");
    project.wait_asked_for("q1");
    let listed = project.rapport(&["answer", "do-it"]);
    listed.check(2, "May the agent use Bash for this?").check(2, "touch one.txt");
    listed.check(2, "2. Allow for this session").check(2, "an answer is missing");
    project.rapport(&["answer", "do-it", "session"]).check(0, "q1 Permission: Allow for this session\n");
    project.wait_asked_for("q3");
    project.rapport(&["revoke"]).check(0, "  1. Bash(touch one.txt)  in session 2");
    project.rapport(&["status", "do-it"]).check(0, "allowed   Bash(touch one.txt) in this session");
    project.rapport(&["answer", "do-it", "project"]).check(0, "q3 Permission: Allow for this project\n");
    assert_eq!(running.finish(), 0);
    assert_eq!(rules(&project.facts()), ["q2 Bash(touch one.txt) for this session"]);
    project.rapport(&["log", "do-it"]).check(0, "by the rule Bash(touch one.txt) for this session");
    assert!(!project.root().join(".claude/settings.local.json").exists());
    project.rapport(&["revoke"]).check(0, "  1. Bash(rm one.txt)  in every session of this project");
    project.rapport(&["revoke", "Bash(rm one.txt)"]).check(0, "Bash(rm one.txt) is no longer allowed");
    project.rapport(&["revoke"]).check(0, "Nothing is allowed here without asking.");
    project.rapport(&["revoke", "1"]).check(4, "1 is not allowed here");
}

/// A rule of the project holds in another session, and is read when the agent asks: once revoked, it no longer holds.
#[test]
fn a_rule_of_the_project_holds_in_the_next_session() {
    let project = Project::with_scenario(COMMANDS);
    let first = project.start(&["first"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "first", "yes"]).check(0, "Answered.");
    for question in ["q1", "q3"] {
        project.wait_asked_for(question);
        project.rapport(&["answer", "first", "project"]).check(0, "Allow for this project");
    }
    assert_eq!(first.finish(), 0);
    let second = project.start(&["second"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "second", "yes"]).check(0, "Answered.");
    assert_eq!(second.finish(), 0);
    let log = project.rapport(&["log", "second"]);
    log.check(0, "q1 is answered by the rule Bash(touch one.txt) for this project");
    log.check(0, "q3 is answered by the rule Bash(rm one.txt) for this project");
}

/// The change itself is in the question, in the log and in the status, as words and as JSON.
#[test]
fn a_file_is_shown_before_it_is_allowed() {
    let project = Project::with_scenario(WRITES);
    std::fs::write(project.root().join("notes.txt"), "one\ntwo\n").unwrap();
    let running = project.start(&["note"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "note", "yes"]).check(0, "Answered.");
    project.wait_asked_for("q1");
    for command in ["status", "log"] {
        let shown = project.rapport(&[command, "note"]);
        let lines: Vec<_> = shown.out().lines().map(str::trim_start).map(str::to_owned).collect();
        for line in ["- two", "+ 2", "one"] {
            assert!(lines.iter().any(|shown| shown == line), "{line:?} was expected in:\n{}", shown.out());
        }
    }
    let status: Value = project.json(&["status", "note", "--json"]);
    let asked = &status["questions"][0]["purpose"]["permission"];
    assert_eq!(asked["parts"][0]["content"], "one\n2\n");
    assert!(asked["parts"][1]["diff"].as_str().unwrap().contains("-two\n+2\n"), "{asked}");
    project.rapport(&["answer", "note", "n"]).check(0, "q1 Permission: Deny\n");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("notes.txt"), "one\ntwo\n");
}

/// A command that was allowed and had begun does not run again unasked because its host was killed; who is asked anew
/// is told that it may have run.
#[test]
fn what_had_begun_when_it_was_killed_is_asked_about_anew() {
    let project = Project::with_scenario(BEGUN);
    let mut running = project.start(&["charge"], &[]);
    running.until_asked();
    project.rapport(&["answer", "charge", "yes"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "charge", "yes"]).check(0, "Allow once");
    wait_for("the command to begin", || (project.file("n.txt") == "charged\n").then_some(()));
    running.kill();
    let again = project.start(&["--resume", "charge"], &[]);
    project.wait_asked_for("q2");
    project.rapport(&["status", "charge"]).check(0, "it may have run already");
    project.rapport(&["answer", "charge", "no"]).check(0, "q2 Permission: Deny\n");
    assert_eq!(again.finish(), 0);
    assert_eq!(project.file("n.txt"), "charged\n");
}

/// Where keys cannot be had, or are not wanted, questions are answered by lines.
#[test]
fn a_run_is_answered_line_by_line() {
    for (name, value, flag) in [
        ("TERM", "dumb", None),
        ("RAPPORT_PLAIN", "1", None),
        ("X", "", Some("--plain")),
        ("config", "terminal: { plain: true }\n", None),
    ] {
        let project = Project::with_scenario(ONE_QUESTION).set(name, value);
        if name == "config" {
            std::fs::create_dir_all(project.path("home/.rapport")).unwrap();
            std::fs::write(project.path("home/.rapport/config.yaml"), value).unwrap();
        }
        let args: Vec<&str> = ["run", "paint it"].into_iter().chain(flag).collect();
        let mut pty = project.terminal(&args, 100, 40);
        pty.wait_for("q1 Which colour? >");
        pty.send("\n");
        pty.wait_for("an empty line is not an answer");
        pty.send("9\n");
        pty.wait_for("there is no option 9");
        // What is typed ahead is no decision.
        pty.send("blue\nno\n");
        pty.wait_for("confirm Plan >");
        pty.send("yes\n");
        pty.wait_for("✓ Done");
        pty.wait_for("left 0");
        assert_eq!(project.file("paint.txt"), "Blue\n");
        assert!(!pty.raw().contains(&0x1b), "no control characters");
    }
}

/// What was piped in is the task; questions are asked at the terminal.
#[test]
fn a_task_that_is_piped_in_is_answered_at_the_terminal() {
    let project = Project::with_scenario(ONE_QUESTION);
    let program = env!("CARGO_BIN_EXE_rapport");
    let script = format!("echo 'paint it' | '{program}' run -");
    let mut pty = project.shell(&script, 100, 40);
    pty.wait_for("Which colour?");
    pty.wait_for("enter answer");
    pty.send("2");
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("✓ Done");
    pty.wait_for("left 0");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// The command that is printed when a person leaves shows the card.
#[test]
fn answer_without_an_answer_asks_here() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint it"], &[]);
    running.until_asked();
    let mut pty = project.terminal(&["answer", "paint"], 100, 40);
    pty.wait_for("Which colour?");
    pty.wait_for("enter answer");
    pty.send("2");
    pty.wait_for("left 0");
    project.wait_asked_for("confirm");
    let mut pty = project.terminal(&["answer", "paint", "--plain"], 100, 40);
    pty.wait_for("confirm Plan >");
    pty.send("yes\n");
    pty.wait_for("left 0");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// An Enter that is held down while the agent works, and long after it asks, allows nothing.
#[test]
fn a_key_that_is_held_down_allows_nothing() {
    const HARM: &str = r##"
version: 1
name: harm
invocations:
  - result: "# Plan\n\n1. Clean up."
  - steps:
      - bash: { command: "until [ -f go ]; do sleep 0.05; done" }
      - bash: { command: "rm -rf build", permission: true }
    result: "Done."
"##;
    let project = Project::with_scenario(HARM);
    std::fs::create_dir(project.root().join("build")).unwrap();
    let mut pty = project.terminal(&["run", "clean up"], 100, 40);
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("until [ -f go ]");
    pty.hold("\r", Duration::from_millis(500));
    std::fs::write(project.root().join("go"), "").unwrap();
    pty.hold("\r", Duration::from_secs(4));
    pty.wait_for("rm -rf build");
    assert_eq!(project.view().questions.len(), 1, "nothing was answered:\n{}", pty.text());
    assert!(project.root().join("build").exists());
    // Once the key is released, the card takes it.
    pty.wait_for("enter answer");
    pty.send("4");
    pty.wait_for("left 0");
    assert!(project.root().join("build").exists(), "denied");
}

/// Ctrl-Z goes back to the shell, and what is typed there answers nothing.
#[test]
fn ctrl_z_goes_back_to_the_shell() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut pty = project.interactive_shell(100, 40);
    pty.wait_for("shell:");
    pty.send(&format!("'{}' run 'paint it'\n", env!("CARGO_BIN_EXE_rapport")));
    pty.wait_for("enter answer");
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.send("fg\n");
    pty.wait_for("enter answer");
    assert_eq!(project.view().questions.len(), 1, "nothing was answered");
    pty.send("2");
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("✓ Done");
    pty.wait_until("the shell", |screen| screen.trim_end().ends_with("shell:"));
    pty.send("exit\n");
    pty.wait_end();
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// From a question to its answer two lines become durable, each with one sync: the question, and the answer. Whatever
/// else is stored there would be waited for by the person or the agent.
#[test]
fn between_a_question_and_its_answer_nothing_else_is_stored() {
    let project = Project::with_scenario(ONE_QUESTION);
    // With a repository the state of the files is recorded beside the question.
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let log = project.root().join(".rapport/sessions").join(project.session().as_str()).join("log.jsonl");
    let lines = || std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let before = lines();
    let last = before.last().unwrap();
    assert!(last.contains("\"asked\""), "{last}");
    project.rapport(&["answer", "paint", "1"]).check(0, "Answered.");
    let after = lines();
    assert!(after[before.len()].contains("\"answered\""), "{}", after[before.len()]);
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.finish();
}
