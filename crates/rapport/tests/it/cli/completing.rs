//! Completions: `rapport complete`, and the scripts for bash, zsh and fish that ask it.

use std::process::Command;

use crate::files::{self, greeting};
use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// What these words can become; the last of them is the one that is completed.
fn complete(project: &Project, words: &[&str]) -> Vec<String> {
    let ran = project.rapport(&[&["complete", "--"], words].concat());
    ran.check(0, "");
    ran.out().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn waiting() -> Project {
    let scenario =
        ONE_QUESTION.replace("{ label: Blue }", "{ label: \"$(touch hit)\" }, { label: dark-blue }");
    let project = Project::with_scenario(&scenario);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project
}

#[test]
fn commands_flags_and_their_values() {
    let project = Project::with_agent("rehearsal");
    assert_eq!(complete(&project, &["ans"]), ["answer"]);
    let all = complete(&project, &[""]);
    assert!(all.contains(&"run".to_owned()) && !all.contains(&"keep".to_owned()), "{all:?}");
    assert_eq!(complete(&project, &["run", "--work"]), ["--worker"]);
    assert_eq!(complete(&project, &["status", "--color", "a"]), ["auto", "always"]);
    assert_eq!(complete(&project, &["status", "--color", "=", "n"]), ["never"]);
    assert_eq!(complete(&project, &["completions", "z"]), ["zsh"]);
    assert!(complete(&project, &["answer", ""]).is_empty(), "there is no session");
    assert!(complete(&project, &["no-such-command", ""]).is_empty());
}

#[test]
fn sessions_questions_and_options_that_there_are() {
    let project = waiting();
    let id = project.session();
    for command in ["answer", "resume", "log", "cancel"] {
        assert_eq!(complete(&project, &[command, ""]), ["paint"], "{command}");
        assert_eq!(complete(&project, &[command, "2"]), [id.as_str()], "{command}");
    }
    assert_eq!(complete(&project, &["answer", "paint", "--question", ""]), ["q1"]);
    // What an agent wrote becomes a word only where it is no more than that.
    assert_eq!(complete(&project, &["answer", "paint", ""]), ["Red", "2", "dark-blue"]);
    assert_eq!(complete(&project, &["answer", "paint", "-q", "q1", "R"]), ["Red"]);
    let described = project.rapport(&["complete", "--", "answer", "paint", "2"]);
    described.check(0, "2\t$(touch hit)");
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    assert!(complete(&project, &["answer", ""]).is_empty(), "nothing is asked any more");
    assert_eq!(complete(&project, &["branch", "paint", "--at", ""]), ["q1"]);
}

/// The newest is offered first, and an older one that waits is not lost behind many that do not.
#[test]
fn the_newest_session_is_offered_first() {
    let project = Project::with_scenario(ONE_QUESTION);
    for task in ["zebra", "apple"] {
        let mut running = project.start(&[task], &[]);
        running.until_asked();
        running.kill();
    }
    assert_eq!(complete(&project, &["log", ""]), ["apple", "zebra"]);
    for n in 0..55 {
        project.rapport(&["new", &format!("zz-{n:02}")]).check(0, "");
    }
    assert_eq!(complete(&project, &["answer", ""]), ["apple", "zebra"]);
    let all = complete(&project, &["log", ""]);
    assert_eq!((all.len(), all[0].as_str()), (50, "zz-54"));
}

#[test]
fn turns_of_a_session_of_files() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    assert_eq!(complete(&project, &["resume", "greeting", "--turn", ""]), ["01"]);
}

#[test]
fn bash_asks_for_them() {
    let project = waiting();
    let script = project.rapport(&["completions", "bash"]).out().to_owned();
    let asks = |words: &str, place: usize| {
        let program = env!("CARGO_BIN_EXE_rapport");
        let line = format!(
            "{script}\nCOMP_WORDS=(rapport {words}) COMP_CWORD={place}\n_rapport {program}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &line]).current_dir(project.root()).env("HOME", project.path("home"));
        let out = bash.output().unwrap();
        String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
    };
    assert_eq!(asks("answer ''", 2), "paint\n");
    assert_eq!(asks("answer paint ''", 3), "Red\n2\ndark-blue\n");
    assert!(!project.root().join("hit").exists(), "nothing was run");
}

/// What a shell prints for these lines, in the project.
fn printed(project: &Project, shell: &str, args: &[&str], lines: &str) -> String {
    let mut command = Command::new(shell);
    command.args(args).args(["-c", lines]).current_dir(project.root()).env("HOME", project.path("home"));
    command.env("TERM", "dumb");
    let out = command.output().unwrap();
    String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
}

#[test]
fn zsh_asks_for_them() {
    if !needs::shell("zsh") {
        return;
    }
    let project = waiting();
    let script = project.rapport(&["completions", "zsh"]).out().to_owned();
    // What the functions of zsh would be given to show.
    const SHOWN: &str = "compdef() {}\n_files() { print files }\n_describe() { print -rl -- \"${(@P)3}\" }\n";
    let asks = |words: &str, place: usize| {
        let program = env!("CARGO_BIN_EXE_rapport");
        let lines = format!("{SHOWN}{script}\nwords=({program} {words}) CURRENT={place}\n_rapport");
        printed(&project, "zsh", &["-f"], &lines)
    };
    assert_eq!(asks("ans", 2), "answer:Answer a question of a session, from anywhere\n");
    assert!(asks("answer ''", 3).starts_with("paint:"), "{}", asks("answer ''", 3));
    let options = asks("answer paint ''", 4);
    assert_eq!(options, "Red:\n2:$(touch hit)\ndark-blue:\n");
    assert_eq!(asks("execute ''", 3), "files\n");
    assert!(!project.root().join("hit").exists(), "nothing was run");
}

#[test]
fn fish_asks_for_them() {
    if !needs::shell("fish") {
        return;
    }
    let project = waiting();
    std::fs::write(project.root().join("my-plan.md"), "").unwrap();
    let script = project.rapport(&["completions", "fish"]).out().to_owned();
    // fish completes a command by the script of its name.
    let program = env!("CARGO_BIN_EXE_rapport");
    let folder = std::path::Path::new(program).parent().unwrap().display().to_string();
    let asks = |line: &str| {
        let lines = format!("set -x PATH {folder} $PATH\n{script}\ncomplete -C '{line}'");
        printed(&project, "fish", &["--no-config"], &lines)
    };
    assert_eq!(asks("rapport ans"), "answer\tAnswer a question of a session, from anywhere\n");
    assert!(asks("rapport answer ").starts_with("paint\t"), "{}", asks("rapport answer "));
    let options = asks("rapport answer paint ");
    assert!(options.contains("Red") && options.contains("2\t$(touch hit)"), "{options}");
    assert_eq!(asks("rapport execute my"), "my-plan.md\n");
    assert!(!project.root().join("hit").exists(), "nothing was run");
}
