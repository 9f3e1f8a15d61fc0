//! What a turn is shown, and what a turn changes for the next.

use rapport_core::context::ContextLog;
use serde_json::Value;

use super::{create, greeting, plan, planning, project, without_session};
use crate::support::project::Project;

// FILE-7, FILE-8, FILE-12, FILE-13, FILE-14: the cascade, and what is written down of it.
#[test]
fn file_8_file_12_what_is_shown_is_written_down() {
    let project = project(&[&greeting()]);
    std::fs::create_dir(project.root().join("docs")).unwrap();
    std::fs::write(project.root().join("docs/a.md"), "first\n").unwrap();
    std::fs::write(project.root().join("docs/b.md"), "second\n").unwrap();
    std::fs::write(project.root().join("logo.png"), b"\x89PNG\0").unwrap();
    std::fs::write(
        project.root().join(".rapport/global.context"),
        "# for all\nREADME.md\ndocs\nnot-there.md\n",
    )
    .unwrap();
    std::fs::write(project.folder().join("session.context"), "-docs/b.md\n*.png\nbig.txt\n").unwrap();
    std::fs::write(project.root().join("big.txt"), "x".repeat(300_000)).unwrap();
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- Use pnpm.\n").unwrap();
    let dry = project.rapport(&["plan", "-m", "Greet.", "--dry-run"]);
    dry.check(0, "README.md")
        .check(0, "not-there.md (not shown: it does not exist)")
        .check(0, "logo.png (not shown: image/png, ");
    dry.check(0, "big.txt (not shown: 300000 bytes, more than the limit of 262144)")
        .check(0, "Nothing was sent.");
    assert!(!dry.out().contains("b.md"), "a lower level takes away: {}", dry.out());
    assert_eq!(project.turn_names(), Vec::<String>::new());
    let counted: Value = project.json(&["plan", "-m", "Greet.", "--dry-run", "--json"]);
    assert_eq!(
        counted["files"][0],
        serde_json::json!({ "path": "README.md", "tokens": 3, "not_shown": null })
    );

    project.plan_turn("Greet.").check(0, "");
    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    assert!(log.system.starts_with(rapport_core::ACTION_PLAN.trim_end()), "{}", log.system);
    for part in [
        "# An app",
        "first",
        "Use pnpm.",
        "not shown: it does not exist",
        "image/png, 5 bytes",
        "more than the limit of 262144",
        "Greet.",
    ] {
        assert!(log.document.contains(part), "{part}: {}", log.document);
    }
    assert!(!log.document.contains("second"));
    assert_eq!(project.turn_file("01/turn.context"), "", "what is inherited is not a turn's own");
}

// FILE-13: what `global.context` names is shown in every turn of every session. FILE-14: `session.context` is the
// person's, counts in its session alone, and stays as they wrote it.
#[test]
fn file_13_file_14_what_is_for_all_and_what_is_for_a_session() {
    let plans = ["a.txt", "b.txt", "c.txt"].map(|path| plan("Note", &[], &[], &[create(path, "x")]));
    let project = without_session(planning(&plans.each_ref().map(String::as_str)));
    let made = ["one", "two"].map(|name| project.rapport(&["new", name]).out().trim().to_owned());
    let [one, two] = made.each_ref().map(std::path::Path::new);
    write(&project, "own.txt", "only in one\n");
    write(&project, ".rapport/global.context", "README.md\n");
    let mine = "# mine, by hand\n\n  own.txt   # mine\n";
    std::fs::write(one.join("session.context"), mine).unwrap();
    project.rapport(&["plan", "-m", "x", "--session", "one"]).check(0, "");
    project.rapport(&["resume", "-y", "--session", "one"]).check(0, "Completed");
    project.rapport(&["plan", "-m", "y", "--session", "one"]).check(0, "");
    project.rapport(&["plan", "-m", "z", "--session", "two"]).check(0, "");
    for (turn, has_own) in [(one.join("01"), true), (one.join("02"), true), (two.join("01"), false)] {
        let contents = contents(&std::fs::read_to_string(turn.join("_context.log")).unwrap());
        assert!(contents.contains("# An app"), "{}: {contents}", turn.display());
        assert_eq!(contents.contains("only in one"), has_own, "{}: {contents}", turn.display());
    }
    assert_eq!(std::fs::read_to_string(one.join("session.context")).unwrap(), mine);
}

// FILE-12, FILE-15: what a turn was approved with is shown in the next one, and a turn may take away what is above it.
#[test]
fn file_12_a_turn_overrides_what_is_above_it() {
    let first = plan("First", &["[+] hello.txt", "[-] README.md"], &[], &[create("hello.txt", "Hello, you")]);
    let second = plan("Second", &["[+] README.md"], &[], &[create("a.txt", "a")]);
    let third = plan("Third", &[], &[], &[create("b.txt", "b")]);
    let project = project(&[&first, &second, &third]);
    write(&project, ".rapport/global.context", "README.md\n");
    let shown = |turn: &str| {
        let contents = contents(&project.turn_file(&format!("{turn}/_context.log")));
        (contents.contains("# An app"), contents.contains("Hello, you"))
    };
    for (turn, context, expected) in [
        ("01", "", (true, false)),
        ("02", "hello.txt\n-README.md\n", (false, true)),
        ("03", "hello.txt\nREADME.md\n", (true, true)),
    ] {
        project.plan_turn("x").check(0, "");
        assert_eq!(project.turn_file(&format!("{turn}/turn.context")), context, "{turn}");
        assert_eq!(shown(turn), expected, "{turn}");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
}

/// What an agent is shown of the contents of files.
fn contents(log: &str) -> String {
    let document = ContextLog::parse(log).unwrap().document;
    let (_, contents) = document.split_once("## 5. Resource Contents").unwrap();
    contents.split_once("\n## 6. ").unwrap().0.to_owned()
}

// FILE-7: a turn's context is paths, one per line, and nothing else: what a plan says about them stays in the plan.
#[test]
fn file_7_a_turns_context_is_paths_line_by_line() {
    let paths = ["[+] hello.txt # what is greeted with", "[+]   docs/a b.md", "[+] README.md   # for all"];
    let plans = [plan("Paths", &paths, &[], &[create("docs/a b.md", "a")]), greeting()];
    let project = project(&plans.each_ref().map(String::as_str));
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.plan_turn("y").check(0, "");
    assert_eq!(project.turn_file("02/turn.context"), "hello.txt\ndocs/a b.md\nREADME.md\n");
}

// FILE-15, FILE-16: only what was approved reaches the next turn; without the section nothing changes.
#[test]
fn file_15_file_16_the_next_context_follows_from_what_was_approved() {
    let second = plan("Nothing new", &[], &[], &[create("a.txt", "a")]);
    let third = plan(
        "Less",
        &["[-] hello.txt", "[+] a.txt"],
        &["[-] Greetings are in English."],
        &[create("b.txt", "b")],
    );
    let project = project(&[&greeting(), &second, &third, &greeting()]);
    for (message, context, memos) in [
        ("one", "", "- Greetings are in English.\n"),
        ("two", "hello.txt\n", "- Greetings are in English.\n"),
        ("three", "hello.txt\n", "[]\n"),
    ] {
        project.plan_turn(message).check(0, "");
        let turn = project.turn_names().pop().unwrap();
        assert_eq!(project.turn_file(&format!("{turn}/turn.context")), context, "{turn}");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        assert_eq!(project.file(".rapport/memos.yaml"), memos, "{turn}");
    }
    // The fourth plan is not valid by now, and that changes nothing about what it was shown.
    project.plan_turn("four").check(3, "cannot be carried out");
    assert_eq!(project.turn_file("04/turn.context"), "a.txt\n");
}

/// What the settings allow is shown whole.
#[test]
fn how_large_a_file_may_be_is_a_setting() {
    let project = project(&[&greeting()]);
    std::fs::write(project.root().join(".rapport/config.yaml"), "context:\n  max_file_bytes: 3\n").unwrap();
    std::fs::write(project.root().join(".rapport/global.context"), "README.md\n").unwrap();
    project
        .rapport(&["plan", "-m", "x", "--dry-run"])
        .check(0, "README.md (not shown: 9 bytes, more than the limit of 3)");
}

// More than the budget is not sent without a word, and the list is cut to the largest.
#[test]
fn more_than_the_budget_is_refused_where_nobody_can_be_asked() {
    let project = super::project(&[&super::greeting()]);
    for number in 0..30_usize {
        let text = "x".repeat(400 * (number + 1));
        std::fs::write(project.root().join(format!("f{number:02}.txt")), text).unwrap();
    }
    std::fs::write(project.root().join(".rapport/global.context"), "*.txt\n").unwrap();
    let shown = project.rapport(&["plan", "-m", "x", "--dry-run"]);
    shown.check(0, "f29.txt").check(0, "and 10 smaller files");
    assert!(!shown.out().contains("f00.txt"), "{}", shown.out());
    let refused = |project: &Project| project.rapport(&["plan", "-m", "x"]);
    let project = project.set("RAPPORT_CONTEXT_MAX_TOKENS", "2000");
    let ran = refused(&project);
    ran.check(3, "tokens would be sent, more than the 2000 of context.max_tokens")
        .check(3, "Nothing was sent.");
    assert_eq!(ran.err().matches(".txt").count(), 20, "{}", ran.err());
    assert!(project.transcripts().is_empty(), "nothing was sent");
    let project = project.set("RAPPORT_CONTEXT_MAX_TOKENS", "1000000");
    project.rapport(&["plan", "-m", "x"]).check(0, "Add a greeting");
}

// At a terminal the person is asked instead: what is declined is not sent, what is allowed is.
#[test]
fn more_than_the_budget_is_asked_about_at_a_terminal() {
    let project = super::project(&[&super::greeting()]).set("RAPPORT_CONTEXT_MAX_TOKENS", "2000");
    write(&project, "large.txt", &"x".repeat(40_000));
    write(&project, ".rapport/global.context", "large.txt\n");
    let mut pty = project.terminal(&["plan", "-m", "Greet."], 100, 50);
    pty.wait_for("more than the 2000 of context.max_tokens. Send them all?");
    pty.wait_for("›");
    pty.send("n");
    pty.wait_until("the end", |screen| screen.contains("left "));
    assert!(!pty.text().contains("left 0"), "{}", pty.text());
    assert!(project.transcripts().is_empty(), "nothing was sent");
    let mut pty = project.terminal(&["plan", "-m", "Greet."], 100, 50);
    pty.wait_for("Send them all?");
    pty.wait_for("›");
    pty.send("y");
    pty.wait_for("Add a greeting");
    pty.wait_for("left 0");
    assert_eq!(project.turn_file("01/plan.md"), super::greeting());
}

fn write(project: &Project, path: &str, content: &str) {
    let path = project.root().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

// FILE-12, FILE-13, FILE-14: the three files are edited by one command, and the next turn is shown what they say.
#[test]
fn file_14_the_cascade_is_edited_and_shown() {
    let project = project(&[&greeting()]);
    write(&project, "src/a.rs", "fn a() {}\n");
    write(&project, "src/b.rs", "fn b() {}\n");
    project.rapport(&["context", "show"]).check(0, "rapport context add PATH");
    project.rapport(&["context", "add", "src", "./README.md"]).check(0, "+ src\n+ README.md\n");
    project.rapport(&["context", "add", "--global", "src/**/*.md"]).check(0, "global.context");
    project.rapport(&["context", "remove", "src/b.rs"]).check(0, "- src/b.rs");
    assert!(project.turn_file("session.context").ends_with("src\nREADME.md\n-src/b.rs\n"));
    let shown = project.rapport(&["context", "show"]);
    shown.check(0, "session  + src\n").check(0, "session  - src/b.rs\n").check(0, "  src/a.rs\n");
    assert!(!shown.out().contains("  src/b.rs\n"), "{}", shown.out());
    let json: serde_json::Value =
        serde_json::from_str(&project.rapport(&["context", "show", "--json"]).out()).unwrap();
    assert_eq!(json["levels"]["session"], serde_json::json!(["src", "README.md", "-src/b.rs"]));
    project.plan_turn("Greet.").check(0, "src/a.rs");
    assert!(!project.turn_file("01/_context.log").contains("fn b()"));
    // A path that is added again is no longer left out.
    project.rapport(&["context", "add", "src/b.rs"]).check(0, "");
    assert!(project.turn_file("session.context").ends_with("src\nREADME.md\nsrc/b.rs\n"));
    for (path, code, why) in [
        ("missing.rs", 4, "missing.rs does not exist"),
        ("../elsewhere", 2, "is not in the project"),
        (".rapport/config.yaml", 2, "belongs to Rapport"),
    ] {
        project.rapport(&["context", "add", path]).check(code, why);
    }
    project.rapport(&["context", "add", "--turn", "README.md"]).check(3, "no turn waits to be planned");
}

/// What the last turn was approved with is shown in the next one, and listed before that is planned.
#[test]
fn file_15_what_the_next_turn_is_shown_is_listed() {
    let project = project(&[&greeting()]);
    project.plan_turn("Greet.").check(0, "");
    project.rapport(&["context", "show"]).check(0, "No file is shown.");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.rapport(&["context", "show"]).check(0, "turn     + hello.txt\n").check(0, "  hello.txt\n");
    // Another try of the turn begins where that began.
    project.rapport(&["branch", "01", "--keep"]).check(0, "");
    project.rapport(&["context", "show"]).check(0, "No file is shown.");
    project.rapport(&["context", "add", "--turn", "README.md"]).check(0, "");
    project.rapport(&["context", "show"]).check(0, "turn     + README.md\n");
}

/// A new session says what could be shown.
#[test]
fn a_new_session_suggests_files() {
    let project = without_session(planning(&[]));
    write(&project, "src/greeting.rs", "\n");
    write(&project, "src/other.rs", "\n");
    let ran = project.rapport(&["new", "add-greeting"]);
    ran.check(0, "rapport context add README.md src/greeting.rs --session ");
    assert!(!ran.err().contains("other.rs") && ran.out().lines().count() == 1, "{}", ran.out());
}
