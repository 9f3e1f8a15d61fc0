//! What a person sees, in a terminal of its own (CLARIFY-29, the items about screens).

use rapport::agents::rehearsal::scenario::{Scenario, Usage};

use super::{IDEA, file, project};
use crate::support::project::Project;
use crate::support::pty::Pty;

fn terminal(project: &Project, args: &[&str]) -> Pty {
    program(project, &[&["plan", IDEA, "--as", "progress"], args].concat())
}

fn program(project: &Project, args: &[&str]) -> Pty {
    let command = project.command();
    let set = |name: &std::ffi::OsStr| name.to_str().unwrap().to_owned();
    let env: Vec<_> = command.get_envs().filter_map(|(name, value)| Some((set(name), set(value?)))).collect();
    let env: Vec<_> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let root = project.root();
    let args = [args, &["--project", root.to_str().unwrap()]].concat();
    Pty::spawn(env!("CARGO_BIN_EXE_rapport"), &args, &env, 100, 50)
}

#[test]
fn clarify_29_questions_answers_rounds_and_tokens_are_on_the_screen() {
    let scenario = Scenario::new("screen")
        .usage(Usage { input_tokens: 5_200, output_tokens: 1_200, ..Usage::default() })
        .asks_questions(&["What programming language?", "What database?"])
        .asks_questions(&["Which licence?"])
        .respond_with_text(&file("Screen", "{{answer:1}}, {{answer:Which licence?}}"));
    let project = project(scenario);
    let mut pty = terminal(&project, &["--adaptive"]);
    // Shown in a numbered list, then one by one.
    pty.wait_for("--- Round 1 of clarifications ---");
    pty.wait_for("1. What programming language?");
    pty.wait_for("2. What database?");
    pty.wait_for("enter answer");
    // Several lines, then Enter.
    pty.send("\x1b[200~Rust,\nthe new one\x1b[201~");
    pty.wait_for("the new one");
    pty.send("\r");
    pty.wait_for("✓ What programming language?");
    // While an answer is being saved, the next card takes none.
    pty.wait_until("the second card", |screen| screen.contains("Q2 of 2") && screen.contains("enter answer"));
    pty.send("SQLite\r");
    pty.wait_for("Send these answers");
    pty.send("\r");
    // Resumed, and asked again.
    pty.wait_for("Resuming session with your answers...");
    pty.wait_until("the second round", |screen| {
        screen.contains("--- Round 2 of clarifications ---") && screen.contains("enter answer")
    });
    // Alt-Enter begins another line, Enter sends.
    pty.send("MIT\x1b\rfor now");
    pty.wait_for("for now");
    pty.send("\r");
    pty.wait_for("✓ Done");
    pty.wait_for("2 tasks in 1 phase; next: Begin");
    pty.wait_for("Total tokens used: In: 15.6k | Out: 3.6k | CacheW: 0 | CacheR: 0");
    pty.wait_for("(Accumulated across 2 round(s) of Q&A)");
    assert!(pty.wait_end().success());
    assert!(project.progress().contains("the new one, MIT\nfor now"), "{}", project.progress());
}

#[test]
fn clarify_29_without_questions_there_is_just_the_end() {
    let project = project(Scenario::new("none").respond_with_text(&file("None", "x")));
    let mut pty = terminal(&project, &["--adaptive"]);
    pty.wait_for("(Accumulated across 0 round(s) of Q&A)");
    assert!(pty.wait_end().success());
    assert!(!pty.text().contains("Round 1"), "{}", pty.text());
}

#[test]
fn clarify_29_basic_mode_suggests_adaptive() {
    let scenario = Scenario::new("asks").asks_questions(&["Which?"]).respond_with_text(&file("Assumed", "x"));
    let project = project(scenario);
    let mut pty = terminal(&project, &[]);
    pty.wait_for("The agent wanted to ask, and assumes instead; --adaptive lets it ask:");
    pty.wait_for("- Which?");
    pty.wait_for("✓ Done");
    assert!(pty.wait_end().success());
}

#[test]
fn clarify_29_who_leaves_finds_the_question_again() {
    let scenario =
        Scenario::new("left").asks_questions(&["Which?"]).respond_with_text(&file("Left", "{{answer:1}}"));
    let project = project(scenario);
    let mut pty = terminal(&project, &["--adaptive"]);
    pty.wait_for("enter answer");
    pty.send("\x03");
    pty.wait_for("Answer from anywhere with:");
    assert_eq!(pty.wait_end().exit_code(), 130);
    project.answer("q1", "This one");
    project
        .rapport(&["run", "--resume", project.session().as_str()])
        .check(0, "(Accumulated across 1 round(s) of Q&A)");
    assert!(project.progress().contains("This one"));
}

// CLARIFY-9: an answer of several lines, typed, and submitted by pressing Enter twice.
#[test]
fn clarify_29_enter_pressed_twice_submits() {
    let scenario =
        Scenario::new("typed").asks_questions(&["Which?"]).respond_with_text(&file("Typed", "{{answer:1}}"));
    let project = project(scenario);
    let mut running = project.plan_adaptively(&[]);
    running.until_asked();
    let mut pty = program(&project, &["answer", project.session().as_str(), "--text", "-"]);
    pty.wait_for("(Type your answer, then press Enter twice to submit)");
    pty.wait_for("ctrl-c leave");
    pty.send("I want to use Rust.\rPostgreSQL for the database.\r\r\r");
    pty.wait_for("Answered.");
    assert!(pty.wait_end().success());
    assert_eq!(running.finish(), 0);
    assert!(project.progress().contains("I want to use Rust.\nPostgreSQL for the database."));
}

// CLARIFY-9: what is pasted is one answer, whatever lines it has; none of them is left for the shell to run.
#[test]
fn clarify_9_what_is_pasted_is_one_answer() {
    let scenario = Scenario::new("pasted")
        .asks_questions(&["Which?"])
        .respond_with_text(&file("Pasted", "{{answer:1}}"));
    let project = project(scenario);
    let mut running = project.plan_adaptively(&[]);
    running.until_asked();
    for keys in ["x\x03", "\x04"] {
        let mut pty = program(&project, &["answer", project.session().as_str(), "--text", "-"]);
        pty.wait_for("ctrl-c leave");
        pty.send(keys);
        pty.wait_for("rapport: left; nothing is answered");
        assert_eq!(pty.wait_end().exit_code(), 130);
    }
    let mut pty = program(&project, &["answer", project.session().as_str(), "--text", "-"]);
    pty.wait_for("ctrl-c leave");
    pty.send("\x1b[200~Rust:\r\n\r\n\r\ntouch made-by-the-shell\x1b[201~");
    pty.wait_for("touch made-by-the-shell");
    pty.send("\x04");
    pty.wait_for("Answered.");
    assert!(pty.wait_end().success());
    assert_eq!(running.finish(), 0);
    assert!(project.progress().contains("Rust:\n\n\ntouch made-by-the-shell"), "{}", project.progress());
}

/// Where keys cannot be had, or are not wanted, the agent's questions are answered by lines.
#[test]
fn questions_of_a_plan_are_answered_line_by_line() {
    for (name, value, flag) in [("TERM", "dumb", None), ("X", "", Some("--plain"))] {
        let scenario = Scenario::new("lines")
            .asks_questions(&["What programming language?", "What database?"])
            .respond_with_text(&file("Lines", "{{answer:1}} and {{answer:2}}"));
        let project = project(scenario).set(name, value);
        let args: Vec<_> = ["plan", IDEA, "--as", "progress", "--adaptive"].into_iter().chain(flag).collect();
        let mut pty = project.terminal(&args, 100, 50);
        pty.wait_for("q1 What programming language? >");
        pty.send("\n");
        pty.wait_for("an empty line is not an answer");
        pty.send("Rust\n");
        pty.wait_for("q2 What database? >");
        pty.send("SQLite\n");
        // All answers of the round are shown before the last one is sent.
        pty.wait_for("send these answers? >");
        pty.send("y\n");
        pty.wait_for("left 0");
        assert!(project.progress().contains("Rust and SQLite"), "{}", project.progress());
        assert!(!pty.raw().contains(&0x1b), "no control characters");
    }
}
