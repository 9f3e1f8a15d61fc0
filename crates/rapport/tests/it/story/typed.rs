//! A person at a terminal, from the task to the report, by keys alone.

use nix::sys::signal::Signal;

use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::pty::Pty;

const DOWN: &str = "\x1b[B";
const ENTER: &str = "\r";
const CTRL_C: &str = "\x03";

/// Asked, gone back, said in own words, edited, confirmed, asked in the middle, permitted, reported (CHAT-27).
fn from_task_to_report(columns: u16, rows: u16) {
    let project = Project::with_agent("rehearsal");
    let mut pty = project.terminal(&["run", "add a greeting"], columns, rows);
    clarify(&mut pty);
    pty.wait_for("enter or c confirm");
    pty.send("e");
    pty.wait_for("Which answer do you want to change?");
    pty.send("1");
    pty.wait_for("esc keep the answer");
    pty.send("3");
    wait_for("the answer to be changed", || (project.view().answers[0].answer == "Esperanto").then_some(()));
    pty.wait_for("enter or c confirm");
    let shown = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(shown.contains("An answer came after"), "the plan of before is not shown as if it fitted");
    pty.send("c");
    pty.wait_for("Starting the work");
    pty.wait_for("How should the greeting end?");
    pty.wait_for("enter answer");
    pty.send("1");
    pty.wait_for("May the agent use Bash");
    pty.wait_for("enter answer");
    // Enter alone decides nothing.
    pty.send(ENTER);
    pty.wait_for("choose first");
    pty.send(&[DOWN, ENTER].concat());
    pty.wait_for("✓ Done");
    assert_left(&mut pty, 0);
    let said = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(said.contains("greeting.sh"), "the report names what changed");

    let script = project.file("greeting.sh");
    for line in [
        "language='Esperanto'\n",
        "extras='Date, Smile'\n",
        "whom='the Moon'\n",
        "tone='Formal'\n",
        "ending='!'\n",
    ] {
        assert!(script.contains(line), "{line:?} was expected in:\n{script}");
    }
    let plan = project.file(".claude/todos/greeting/add-a-greeting.md");
    assert!(plan.contains("**Q: Which language should the greeting speak?**\nA: Esperanto\n"), "{plan}");
    assert!(plan.contains("**Q: Whom should it greet?**\nA: the Moon\n"), "{plan}");
}

/// Two rounds: one choice, several, back to those, own words; then one more.
fn clarify(pty: &mut Pty) {
    pty.wait_for("Q1 of 3");
    pty.wait_for("enter answer");
    pty.send(&[DOWN, ENTER].concat());
    pty.wait_for("Q2 of 3");
    pty.send(&[" ", ENTER].concat());
    pty.wait_for("Q3 of 3");
    pty.send("b");
    pty.wait_for("Answered before: Date");
    pty.send(&["2", ENTER].concat());
    pty.wait_for("✓ Extras → Date, Smile");
    pty.wait_for("Q3 of 3");
    pty.send("o");
    pty.wait_for("esc options");
    pty.send(&["the Moon", ENTER].concat());
    pty.wait_for("Send these answers");
    pty.send(ENTER);
    pty.wait_for("→ the Moon");
    pty.wait_for("Which tone should it have?");
    pty.wait_for("enter answer");
    pty.send("2");
    pty.wait_for("→ Formal");
}

#[track_caller]
fn assert_left(pty: &mut Pty, code: i32) {
    assert!(pty.wait_end().success());
    let text = pty.text();
    assert!(text.ends_with(&format!("left {code}\nicanon\necho")), "{text}");
    assert!(!pty.is_cursor_hidden());
    assert!(pty.raw().windows(8).any(|bytes| bytes == b"\x1b[?2004l"), "bracketed paste is off again");
}

#[test]
fn from_task_to_report_in_a_small_terminal() {
    from_task_to_report(80, 24);
}

#[test]
fn from_task_to_report_in_a_large_terminal() {
    from_task_to_report(120, 40);
}

#[test]
fn ctrl_c_leaves_and_resuming_goes_on_at_the_same_question() {
    let project = Project::with_agent("rehearsal");
    let mut pty = project.terminal(&["run", "add a greeting"], 100, 40);
    pty.wait_for("Q1 of 3");
    pty.wait_for("enter answer");
    pty.send("2");
    pty.wait_for("Q2 of 3");
    pty.send(CTRL_C);
    assert_left(&mut pty, 130);
    let id = project.session();
    let text = pty.text();
    assert!(text.contains(&format!("rapport resume {id}")), "{text}");
    assert_eq!(text.matches("Answer from anywhere").count(), 1, "{text}");
    assert_eq!(project.agents_alive(), []);

    let mut pty = project.terminal(&["run", "--resume", "greeting"], 100, 40);
    pty.wait_for("Q2 of 3");
    pty.wait_for("✓ Language → German");
    pty.wait_for("enter answer");
    pty.send(CTRL_C);
    assert_left(&mut pty, 130);
}

/// A terminal that is closed is no answer.
#[test]
fn a_terminal_that_goes_away_answers_nothing() {
    let project = Project::with_agent("rehearsal");
    let mut pty = project.terminal(&["run", "add a greeting"], 80, 24);
    pty.wait_for("Q1 of 3");
    pty.signal(Signal::SIGHUP);
    drop(pty);
    wait_for("everything to be gone", || project.processes().is_empty().then_some(()));
    assert_eq!(project.view().questions.len(), 3);
}

#[test]
fn a_failure_is_told_once_and_says_how_to_go_on() {
    let project = Project::with_agent("no-such-agent");
    let mut pty = project.terminal(&["run", "add a greeting"], 120, 40);
    assert_left(&mut pty, 7);
    let text = pty.text();
    assert_eq!(text.matches("cannot start no-such-agent").count(), 1, "{text}");
    assert_eq!(text.matches("rapport resume").count(), 1, "{text}");
    assert_eq!(text.matches("npm install -g @anthropic-ai/claude-code").count(), 1, "{text}");
}

#[test]
fn cancelled_by_keys() {
    let project = Project::with_agent("rehearsal");
    let mut pty = project.terminal(&["run", "add a greeting"], 100, 40);
    pty.wait_for("enter answer");
    pty.send("q");
    pty.wait_for("(y)es / (n)o ›");
    pty.send("y");
    assert_left(&mut pty, 8);
    assert_eq!(project.agents_alive(), []);
}

// CLARIFY-9: not every terminal marks what is pasted. A letter in it may leave; what comes behind is not left for the
// shell.
#[test]
fn what_is_pasted_key_by_key_is_not_left_for_the_shell() {
    const SCRIPT: &str = "cd \"$PROJECT\" && \"$@\"; stty -icanon min 0 time 2; echo \"rest: <$(cat)>\"";
    let project = Project::with_agent("rehearsal");
    let (home, root) = (project.path("home").display().to_string(), project.root().display().to_string());
    let env = [("HOME", home.as_str()), ("PROJECT", root.as_str()), ("RAPPORT_AGENT_COMMAND", "rehearsal")];
    let rapport = env!("CARGO_BIN_EXE_rapport");
    let mut pty =
        Pty::spawn("/bin/sh", &["-c", SCRIPT, "sh", rapport, "run", "add a greeting"], &env, 100, 40);
    pty.wait_for("enter answer");
    pty.send(&format!("d\r{}", "touch made-by-the-shell\r".repeat(120)));
    pty.wait_for("rest: <");
    pty.wait_for("rest: <>");
    assert!(!project.root().join("made-by-the-shell").exists());
}

/// Words typed while the agent works reach it; Esc stops it, and what is typed then is what it does next.
#[test]
fn an_agent_at_work_is_told_and_stopped_by_keys() {
    let project = Project::with_scenario(crate::cli::saying::STEERED);
    let mut pty = project.terminal(&["run", "build a shed"], 80, 30);
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("Building.");
    pty.send("\x1b");
    pty.wait_for("The agent was stopped. What should it do next?");
    pty.send(&["rather paint it", ENTER].concat());
    pty.wait_for("You: rather paint it");
    pty.wait_for("✓ Done");
    assert_left(&mut pty, 0);
    assert_eq!(project.file("shed.txt"), "red wood\n");

    let project = Project::with_scenario(crate::cli::saying::STEERED);
    let mut pty = project.terminal(&["run", "build a shed"], 80, 30);
    pty.wait_for("enter or c confirm");
    pty.send("c");
    pty.wait_for("Building.");
    pty.send("mind the rain");
    pty.wait_for("❯ mind the rain");
    pty.send(ENTER);
    pty.wait_for("You: mind the rain");
    pty.wait_for("✓ Done");
    assert_left(&mut pty, 0);
    assert_eq!(project.file("shed.txt"), "wood\n");
}
