//! A session of files at a terminal: begun, planned, two of three actions approved in the checklist, undone. Each of
//! the commands is killed with `kill -9` around every write; repeated, they reach the same end.

use rapport::agents::rehearsal::scenario::Scenario;
use rapport_core::Event;

use super::terminal::{KILLED, command, every_point, sit_with};
use crate::files::{greeting, without_session};
use crate::support::project::Project;

const COMMANDS: [&str; 4] = ["new add-greeting", "plan -m Greet.", "resume", "undo"];

/// Moves from the first line of the checklist to the third action, and unchecks it. Letters, because a starved
/// terminal may get the sequence of an arrow key in two pieces, and the first is Esc.
const UNCHECK_THE_COMMAND: &str = "jjjjjjj ";

#[test]
fn a_session_of_files_killed_around_any_write_at_a_terminal_comes_to_the_same_end() {
    for killed in COMMANDS {
        let points = every_point(|point| {
            let project = without_session(Scenario::new("plan").respond_with_text(&greeting()));
            for before in COMMANDS.into_iter().take_while(|before| *before != killed) {
                give(&project, before, "before");
            }
            let code = sit_with(&mut command(&project, killed, Some(point)), keys);
            finish(&project, &format!("`{killed}` killed at point {point}"));
            code == KILLED
        });
        assert!(points >= 8, "`{killed}` has only {points} points to be killed at");
    }
}

/// What a person types about what is on the screen.
fn keys(screen: &str) -> Option<&'static str> {
    if screen.contains("[ ]  EXECUTE") {
        return Some("\r");
    }
    if screen.contains("[✅] EXECUTE") {
        return Some(UNCHECK_THE_COMMAND);
    }
    let asked = screen.lines().last().filter(|line| line.trim_end().ends_with('›'))?;
    let answers = [("Execute this plan?", "m"), ("(g)o on", "g"), ("Undo its changes to files?", "y")];
    answers.into_iter().find(|(question, _)| asked.contains(question)).map(|(_, answer)| answer)
}

/// Gives the commands again whose end is missing, and checks the result.
fn finish(project: &Project, story: &str) {
    project.wait_alone(std::time::Duration::from_secs(5));
    let is_done = |command: &str| match command {
        // A kill after the last file leaves nothing to undo; the fact is missing until the session is resumed.
        "undo" => project.changes().is_empty() && project.folder().join("01/report.md").exists(),
        _ if project.store().list().unwrap().is_empty() => false,
        "plan -m Greet." => project.folder().join("01/plan.md").exists(),
        "resume" => project.folder().join("01/report.md").exists(),
        _ => true,
    };
    for command in COMMANDS {
        if !is_done(command) {
            give(project, command, story);
        }
    }
    assert_eq!(project.turn_names(), ["01"], "{story}");
    assert_eq!(project.turn_file("01/plan.md"), greeting(), "{story}");
    let report = project.turn_file("01/report.md");
    assert!(report.contains("3 Total / 2 Approved / 1 Skipped"), "{story}: {report}");
    let count = |is: fn(&Event) -> bool| project.facts().iter().filter(|fact| is(fact)).count();
    assert_eq!(count(|fact| matches!(fact, Event::Approved { .. })), 1, "{story}");
    assert_eq!(project.changes(), Vec::<String>::new(), "{story}");
}

/// Gives a command that is not killed; at a terminal, if it asks.
fn give(project: &Project, words: &str, story: &str) {
    let (code, shown) = match words {
        "resume" | "undo" => {
            let mut terminal = command(project, words, None);
            (sit_with(&mut terminal, keys), terminal.everything())
        }
        _ => {
            let ran = project.rapport(&words.split(' ').collect::<Vec<_>>());
            (ran.code(), ran.err())
        }
    };
    assert_eq!(code, 0, "{story}: `{words}`: {shown}");
}
