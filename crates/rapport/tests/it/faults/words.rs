//! Tasks and answers that are empty, too long, or not text.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use rapport_core::Event;

use super::finish;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

const NOT_TEXT: &[u8] = b"\xff\xfe";
const MEGABYTE: usize = 1024 * 1024;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn what_is_no_task_is_refused_and_nothing_is_made() {
    let project = Project::with_scenario(ONE_QUESTION);
    std::fs::write(project.root().join("bytes"), NOT_TEXT).unwrap();
    std::fs::write(project.root().join("long"), "x".repeat(MEGABYTE)).unwrap();
    let not_text = vec!["run".into(), OsStr::from_bytes(NOT_TEXT).to_owned()];
    let cases: [(Vec<OsString>, i32, &str); 10] = [
        (words(&["run"]), 2, "required arguments were not provided"),
        (words(&["run", ""]), 3, "the task is empty\n  Say what to do: rapport run \"add a greeting\""),
        (words(&["run", " \n\t "]), 3, "the task is empty"),
        (words(&["run", "-"]), 3, "the task is empty"),
        (words(&["run", "--file", "/dev/null"]), 3, "the task is empty"),
        (words(&["run", "--file", "long"]), 3, "this task has 1048576 bytes; the maximum is 262144"),
        (not_text, 2, "this task is not UTF-8 text"),
        (words(&["run", "--file", "bytes"]), 2, "the task in bytes is not UTF-8 text"),
        (words(&["run", "--file", "none"]), 2, "cannot read the task from none: No such file or directory"),
        (words(&["run", "--file", "."]), 2, "cannot read the task from .: Is a directory"),
    ];
    for (args, code, says) in cases {
        project.rapport(&args).check(code, says);
    }
    project
        .rapport_reading(&["run", "-"], NOT_TEXT)
        .check(2, "the task from standard input is not UTF-8 text");
    project.rapport_reading(&["run", "-"], "x".repeat(MEGABYTE).as_bytes()).check(3, "the maximum is 262144");
    assert!(!project.root().join(".rapport").exists(), "nothing was begun");
}

#[test]
fn a_task_comes_from_words_a_file_or_standard_input() {
    let long = format!("paint {}", "x".repeat(200_000));
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_TRIAL", "kill-after:1");
    std::fs::write(project.root().join("task.md"), &long).unwrap();
    project.rapport(&["run", "paint", "it\nred"]);
    project.rapport(&["run", "--file", "task.md"]);
    project.rapport_reading(&["run", "-"], "paint\n\u{1f3a8} \u{1b}[31m\n".as_bytes());
    let project = project.set("RAPPORT_TRIAL", "");
    let all: Vec<rapport_core::View> = project.json(&["status", "--json"]);
    let mut tasks: Vec<_> = all.into_iter().map(|view| view.task).collect();
    tasks.sort();
    let mut expected = [long, "paint it\nred".into(), "paint\n\u{1f3a8} \u{1b}[31m\n".into()];
    expected.sort();
    assert_eq!(tasks, expected);
    let status = project.rapport(&["status"]).check(0, "").out();
    assert!(status.chars().all(|c| c == '\n' || !c.is_control()), "{status}");
}

/// Each is refused whether a process runs the session or not, and afterwards the right answer is taken.
fn what_is_no_answer_is_refused(project: &Project) {
    let q1 = ["answer", "paint", "--question", "q1"];
    let cases: [(&[&str], i32, &str); 10] = [
        (&["answer", "paint"], 2, "an answer is missing"),
        (&[&q1[..], &[""]].concat(), 3, "the answer to q1 is empty"),
        (&[&q1[..], &[" \t"]].concat(), 3, "the answer to q1 is empty"),
        (&[&q1[..], &["--text", ""]].concat(), 3, "the answer to q1 is empty"),
        (&[&q1[..], &["--text", "-"]].concat(), 3, "the answer to q1 is empty"),
        (
            &[&q1[..], &["3"]].concat(),
            3,
            "there is no option 3\n  If 3 is the answer itself, give it as words: --text 3",
        ),
        (&[&q1[..], &["0"]].concat(), 3, "there is no option 0"),
        (&[&q1[..], &["1", "2"]].concat(), 3, "q1 accepts one choice, not several"),
        (&["answer", "paint", "--question", "q9", "1"], 3, "there is no question q9 in this session"),
        (&["answer", "paint", "--question", "q1", "--edit", "Red"], 3, "it has no answer yet"),
    ];
    for (args, code, says) in cases {
        project.rapport(args).check(code, says);
    }
    let mut not_text = words(&q1);
    not_text.push(OsStr::from_bytes(NOT_TEXT).to_owned());
    project.rapport(&not_text).check(2, "this answer is not UTF-8 text");
    not_text.insert(4, "--text".into());
    project.rapport(&not_text).check(2, "this answer is not UTF-8 text");
    let from_stdin = [&q1[..], &["--text", "-"]].concat();
    project
        .rapport_reading(&from_stdin, NOT_TEXT)
        .check(2, "the answer from standard input is not UTF-8 text");
    let long = "x".repeat(MEGABYTE);
    project.rapport_reading(&from_stdin, long.as_bytes()).check(3, "has 1048576 bytes; the maximum is 65536");
    let longer = "x".repeat(5 * MEGABYTE);
    project
        .rapport_reading(&from_stdin, longer.as_bytes())
        .check(3, "has 5242880 bytes; the maximum is 65536");
    assert_eq!(project.view().questions.len(), 1, "it still waits");
    project.rapport_reading(&from_stdin, "  7 \n".as_bytes()).check(0, "Answered.");
    project.rapport(&[&q1[..], &["1"]].concat()).check(3, "q1 was already answered with \"7\" by ");
    assert_eq!(project.view().answers[0].answer, "7");
}

#[test]
fn what_is_no_answer_is_refused_by_the_process_that_runs_the_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    what_is_no_answer_is_refused(&project);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "7\n");
    project.rapport(&["answer", "paint", "late"]).check(3, "no question is open");
    project
        .rapport(&["answer", "paint", "--question", "q1", "late"])
        .check(3, "was already answered with \"7\"");
}

#[test]
fn what_is_no_answer_is_refused_where_nobody_runs_the_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    what_is_no_answer_is_refused(&project);
    finish(&project);
    assert_eq!(project.file("paint.txt"), "7\n");
}

#[test]
fn an_answer_may_look_like_anything() {
    for answer in ["-1", "--help", "$(touch x)", "\u{1b}[2J", "日本語 zwei", "'\"\\"] {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        project.rapport(&["answer", "paint", "--text", answer]).check(0, "Answered.");
        running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
        project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
        assert_eq!(running.finish(), 0, "{answer:?}");
        assert_eq!(project.file("paint.txt"), format!("{answer}\n"));
        let told = project.rapport(&["log", "paint"]).out() + &project.rapport(&["status", "paint"]).out();
        assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told}");
    }
}
