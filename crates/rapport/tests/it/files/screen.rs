//! The whole workflow in a real terminal, with each agent.

use serde_json::Value;

use super::{create, edit, greeting, plan, project};
use crate::support::project::Project;
use crate::support::pty::Pty;

const DOWN: &str = "\x1b[B";

fn second() -> String {
    plan("Say goodbye", &[], &[], &[create("bye.txt", "Bye")])
}

// FILE-28, FILE-30, FILE-33, FILE-34, FILE-35, FILE-41: the summary, the checklist, a preview, what is checked is run.
// FILE-36, FILE-37: without a preview command and without `code`, previews are shown in the terminal.
#[test]
fn file_28_file_33_the_whole_story_in_a_terminal() {
    let project = project(&[&greeting(), &second(), &second()]);
    story(&project);
}

/// A person who is asked whether to have an invalid plan made again sees once why it is invalid, and decides.
#[test]
fn a_person_decides_whether_a_plan_is_made_again() {
    let bad = plan("Bad", &[], &[], &[edit("missing.txt", "a", "b")]);
    let project = project(&[&bad, &bad, &greeting()]);
    let mut terminal = project.terminal(&["plan", "-m", "Greet."], 100, 30);
    terminal.wait_for("missing.txt does not exist");
    terminal.wait_for("Have the agent make it again, and tell it these mistakes? (y)es / (n)o ›");
    terminal.send("y");
    terminal.wait_until("asked again", |text| text.matches("Have the agent make it again").count() == 2);
    terminal.send("n");
    terminal.wait_for("the plan of turn 02 was not made again");
    terminal.wait_for("left 3");
    assert_eq!(terminal.text().matches("missing.txt does not exist").count(), 2, "{}", terminal.text());
    assert_eq!(project.turn_names(), ["01", "02"]);
}

/// A reply in words is shown as what it is, and the person's answer to it is what the agent hears next.
#[test]
fn a_reply_in_words_is_shown_and_answered() {
    let project = project(&["Which language do you greet in?\n\nI cannot tell from the code.", &greeting()]);
    let mut terminal = project.terminal(&["plan", "-m", "Greet."], 100, 30);
    terminal.wait_for("The agent replied in words:");
    terminal.wait_for("  Which language do you greet in?");
    terminal.wait_for("  I cannot tell from the code.");
    terminal.wait_for("Your answer");
    terminal.wait_for("enter send");
    terminal.send("In English.\r");
    terminal.wait_for("▶ Plan: \"Add a greeting\"");
    terminal.wait_for("left 0");
    let told = project.turn_file("02/_context.log");
    for words in ["Which language do you greet in?", "In English.", "Greet."] {
        assert!(told.contains(words), "{told}");
    }
}

/// A reply in words waits for its answer: who left it sees it in `status` and in the tree, and `resume` shows it again.
#[test]
fn a_reply_in_words_is_answered_later() {
    let reply = "Which **language** do you greet in?\n\nI cannot tell from the code.";
    let project = project(&[reply, &greeting()]);
    let mut terminal = project.terminal(&["plan", "-m", "Greet."], 100, 30);
    terminal.wait_for("enter send");
    assert!(terminal.text().contains("  Which language do you greet in?"), "{}", terminal.text());
    terminal.send("\x03");
    terminal.wait_for("left 3");

    let said = "the agent replied in words  Which **language** do you greet in?";
    let status = project.rapport(&["status"]);
    status.check(0, "needs input").check(0, &format!("turn 01  {said}")).check(0, "rapport resume");
    project.rapport(&["log", "--tree"]).check(0, &format!("01  {said}"));
    let listed: Value = serde_json::from_str(&project.rapport(&["status", "--json"]).out()).unwrap();
    assert_eq!(listed[0]["status"], "needs_input", "{listed}");
    let alone = project.rapport(&["resume"]);
    alone.check(3, "I cannot tell from the code.");
    assert!(alone.err().contains("-m ANSWER"), "{}", alone.err());

    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("The agent replied in words:");
    terminal.wait_for("  I cannot tell from the code.");
    terminal.wait_for("enter send");
    terminal.send("In English.\r");
    terminal.wait_for("▶ Plan: \"Add a greeting\"");
    terminal.wait_for("left 0");
    let told = project.turn_file("02/_context.log");
    for words in [reply, "In English.", "Greet."] {
        assert!(told.contains(words), "{told}");
    }
    let tree = project.rapport(&["log", "--tree"]);
    tree.check(0, "02  waits for review").check(0, &format!("01  {said}"));
}

/// The answer can be given with the command as well.
#[test]
fn a_reply_in_words_is_answered_by_a_message() {
    let project = project(&["Which language do you greet in?", &greeting()]);
    project.plan_turn("Greet.").check(3, "Which language do you greet in?");
    project.rapport(&["resume", "-m", "In English."]).check(0, "Add a greeting");
    let told = project.turn_file("02/_context.log");
    for words in ["Which language do you greet in?", "In English.", "Greet."] {
        assert!(told.contains(words), "{told}");
    }
}

/// The same without a terminal to ask at: the command says how to answer, and the answer is a message like any other.
#[test]
fn a_reply_in_words_says_how_it_is_answered() {
    let project = project(&["Which language do you greet in?", &greeting()]);
    let ran = project.plan_turn("Greet.");
    ran.check(3, "Which language do you greet in?");
    assert!(ran.err().contains("rapport plan --session") && !ran.err().contains("no title"), "{}", ran.err());
    project.plan_turn("In English.").check(0, "Add a greeting");
}

/// new, plan, modify (uncheck one of three), preview, run, report, resume, plan again, branch, tree, undo.
fn story(project: &Project) {
    let mut terminal = project.terminal(&["plan", "-m", "Greet."], 100, 30);
    terminal.wait_for("left 0");

    let mut terminal = project.terminal(&["resume"], 100, 30);
    for line in [
        "-add-greeting, turn 01",
        "▶ Reviewing Plan: \"Add a greeting\"",
        "[+] ADD:    hello.txt # what is greeted with",
        "CREATE: 1 file",
        "EXECUTE: 1 command",
    ] {
        terminal.wait_for(line);
    }
    terminal.wait_for("Execute this plan? (a)pprove all / (m)odify / (s)kip / (q)uit ›");
    terminal.send("m");
    terminal.wait_for("[✅] EXECUTE");
    assert!(terminal.is_alternate());
    // Active Context, its item, Memos, its item, Action Plan, CREATE, EDIT, EXECUTE.
    terminal.send(&DOWN.repeat(6));
    terminal.send("p");
    terminal.wait_for("+ # A friendly app");
    terminal.send("q");
    terminal.wait_for("[✅] EXECUTE");
    terminal.send(DOWN);
    terminal.send(" ");
    terminal.wait_for("[ ]  EXECUTE");
    terminal.send("\r");
    terminal.wait_for("Partial");
    terminal.wait_for("left 0");
    assert_eq!(project.file("hello.txt"), "Hello\n");
    let report = project.turn_file("01/report.md");
    assert!(report.contains("3 Total / 2 Approved / 1 Skipped"), "{report}");

    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("What next?");
    terminal.send("Say goodbye too.\r");
    terminal.wait_for("Say goodbye");
    terminal.wait_for("left 0");
    assert_eq!(project.turn_names(), ["01", "02"]);
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("a");
    terminal.wait_for("Completed");
    terminal.wait_for("left 0");
    project.rapport(&["branch", "02", "--keep"]).check(0, "02-branch-01");
    project.rapport(&["log", "--tree"]).check(0, "02-branch-01  not planned yet");
    project.rapport(&["undo", "--yes"]).check(0, "removed: bye.txt");
    assert_eq!(project.changes(), [" M README.md", "?? hello.txt"]);
}

/// Nobody is asked whether to undo what is undone already.
#[test]
fn an_undone_batch_is_not_asked_about() {
    let project = project(&[&greeting()]);
    project.plan_turn("Greet.").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let batches = std::fs::read_dir(project.root().join(".rapport/batches")).unwrap();
    let batch = batches.map(|entry| entry.unwrap().file_name().into_string().unwrap()).next().unwrap();
    let undone = project.rapport(&["undo", "--batch", &batch, "--yes"]);
    undone.check(0, "removed: hello.txt").check(0, "cannot be undone: other effects of EXECUTE");
    let mut terminal = project.terminal(&["undo", "--batch", &batch], 100, 30);
    terminal.wait_for("left 3");
    let text = terminal.text();
    assert!(text.contains(&format!("batch {batch} is already undone")), "{text}");
    assert!(!text.contains("(y)es"), "{text}");
}

/// From the first word to the undo in one terminal: `new`, `plan`, two of three actions reviewed and run, all of it
/// undone.
#[test]
fn from_new_to_undo_in_one_terminal() {
    let project = super::without_session(super::planning(&[&greeting()]));
    let mut terminal = project.interactive_shell(100, 40);
    terminal.wait_for("shell:");
    let give = |terminal: &mut Pty, words: &str| {
        terminal.send(&format!("clear; '{}' {words}\n", env!("CARGO_BIN_EXE_rapport")));
    };
    let is_over = |screen: &str| screen.ends_with("\nshell:");
    give(&mut terminal, "new add-greeting");
    terminal.wait_until("a session", |screen| screen.contains("-add-greeting") && is_over(screen));
    give(&mut terminal, "plan -m Greet.");
    terminal.wait_until("a plan", |screen| screen.contains("Add a greeting") && is_over(screen));
    give(&mut terminal, "resume");
    terminal.wait_for("(q)uit ›");
    terminal.send("m");
    terminal.wait_for("[✅] EXECUTE");
    terminal.send(&DOWN.repeat(7));
    terminal.send(" ");
    terminal.wait_for("[ ]  EXECUTE");
    terminal.send("\r");
    terminal.wait_until("the report", |screen| screen.contains("2 of 3 actions done") && is_over(screen));
    assert_eq!(project.changes(), [" M README.md", "?? hello.txt"]);
    assert!(project.turn_file("01/report.md").contains("3 Total / 2 Approved / 1 Skipped"));
    give(&mut terminal, "undo");
    terminal.wait_for("Undo its changes to files? (y)es / (n)o ›");
    terminal.send("y");
    terminal.wait_until("the undo", |screen| screen.contains("removed: hello.txt") && is_over(screen));
    assert_eq!(project.changes(), Vec::<String>::new());
    terminal.send("exit\n");
    terminal.wait_end();
}

// FILE-31: nothing is done, and a message makes another plan. FILE-32: everything stays as it is.
#[test]
fn file_31_file_32_skip_and_quit() {
    let project = project(&[&greeting(), &second()]);
    project.plan_turn("Greet.").check(0, "");
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("q");
    terminal.wait_for("rapport: left; nothing was done");
    terminal.wait_for("Go on with: rapport resume 2");
    terminal.wait_for("left 130");
    assert!(!project.folder().join("01/report.md").exists());
    // Leaving where the message is asked for leaves the plan as well.
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("s");
    terminal.wait_for("What next?");
    terminal.send("\x03");
    terminal.wait_for("left; everything is as it was");
    terminal.wait_for("left 130");
    assert!(!project.folder().join("01/report.md").exists());
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("s");
    terminal.wait_for("What next?");
    terminal.send("Rather say goodbye.\r");
    terminal.wait_for("▶ Plan: \"Say goodbye\"");
    terminal.wait_for("left 0");
    let report = project.turn_file("01/report.md");
    assert!(
        report.contains("Overall Status:** Skipped") && report.contains("Rather say goodbye."),
        "{report}"
    );
    assert_eq!(project.changes(), Vec::<String>::new());
    assert!(project.turn_file("02/_context.log").contains("Rather say goodbye."));
}

// FILE-26: a message is one text, however it is pasted; no line of it is left for the shell to run.
#[test]
fn file_26_what_is_pasted_is_one_message() {
    let project = project(&[&greeting()]);
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("What next?");
    terminal.wait_for("enter send");
    terminal.send("\r\x1b[200~Greet:\r\n\r\n\r\n\x1b[31mtouch made-by-the-shell\n\n\n\x1b[201~");
    terminal.wait_for("touch made-by-the-shell");
    terminal.send(" twice");
    terminal.wait_for("twice");
    terminal.send("\r");
    terminal.wait_for("▶ Plan");
    terminal.wait_for("left 0");
    let told = project.turn_file("01/_context.log");
    assert!(told.contains("Greet:\n\n\n[31mtouch made-by-the-shell\n\n\n twice"), "{told}");
    assert_eq!(project.changes(), Vec::<String>::new());
    // Ctrl-C and, where nothing is written, Ctrl-D leave.
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    for keys in ["x\x03", "\x04"] {
        let mut terminal = project.terminal(&["resume"], 100, 30);
        terminal.wait_for("enter send");
        terminal.send(keys);
        terminal.wait_for("rapport: left; everything is as it was");
        terminal.wait_for("left 130");
        assert!(!terminal.is_cursor_hidden());
    }
}

// FILE-19: the refusal comes before a person writes a message that would be lost.
#[test]
fn file_19_no_editor_is_opened_for_a_message_that_cannot_be_sent() {
    let project = project(&[&greeting()]).set("EDITOR", "echo opened; false");
    let mut terminal = project.terminal(&["plan", "-m"], 100, 30);
    terminal.wait_for("opened");
    terminal.wait_for("left 1");
    project.plan_turn("Greet.").check(0, "");
    let mut terminal = project.terminal(&["plan", "-m"], 100, 30);
    terminal.wait_for("the plan of turn 01 must be executed first");
    terminal.wait_for("left 3");
    assert!(!terminal.text().contains("opened"), "{}", terminal.text());
}

// FILE-28, FILE-33: where only lines can be typed, the same is asked by lines, and nothing moves the cursor.
#[test]
fn file_28_file_33_a_dumb_terminal_is_asked_by_lines() {
    let project = project(&[&greeting(), &second()]).set("TERM", "dumb");
    project.plan_turn("Greet.").check(0, "");
    let mut terminal = project.terminal(&["resume"], 100, 50);
    terminal.wait_for("(q)uit ›");
    terminal.send("m\n");
    terminal.wait_for("5 [✅] EXECUTE: cat hello.txt");
    terminal.send("5\n");
    terminal.wait_for("5 [ ]  EXECUTE: cat hello.txt");
    terminal.send("r\n");
    terminal.wait_for("2 of 3 actions done");
    terminal.wait_for("left 0");
    assert!(!terminal.raw().contains(&0x1b), "no control characters");
    let mut terminal = project.terminal(&["resume"], 100, 50);
    terminal.wait_for("What next?");
    terminal.send("Say goodbye.\n\n\n");
    terminal.wait_for("▶ Plan: \"Say goodbye\"");
    terminal.wait_for("left 0");
}

// FILE-34: a comment on an item that is left out reaches the agent with the next turn.
#[test]
fn file_34_a_comment_in_the_review_reaches_the_next_turn() {
    let project = project(&[&greeting(), &second()]);
    project.plan_turn("Greet.").check(0, "");
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("m");
    terminal.wait_for("[✅] EXECUTE: cat hello.txt");
    terminal.send("\x1b[F");
    terminal.send("cI read it myself");
    terminal.wait_for("Leave it out because › I read it myself");
    terminal.send("\r");
    terminal.wait_for("[ ]  EXECUTE: cat hello.txt  · I read it myself");
    terminal.send("\r");
    terminal.wait_for("left 0");
    assert!(
        project.turn_file("01/report.md").contains(": I read it myself"),
        "{}",
        project.turn_file("01/report.md")
    );
    project.plan_turn("Go on.").check(0, "");
    let told = project.turn_file("02/_context.log");
    assert!(told.contains(": I read it myself"), "{told}");
}

// FILE-35, FILE-36: the review of a turn shows files of the project in previews, with the program that the settings
// name or here.
#[test]
fn file_35_file_36_previews_in_the_review_of_a_turn() {
    let read = "### `READ`\n\n- **Resource:** [README.md](/README.md)\n".to_owned();
    let project = project(&[&plan("Look", &[], &[], &[create("a.txt", "a"), read])]);
    let viewer = project.path("viewer");
    std::fs::write(&viewer, "#!/bin/sh\necho \"$1 shows\"; cat \"$2\"; printf 'more? '; read word\n")
        .unwrap();
    std::fs::set_permissions(&viewer, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.plan_turn("Look.").check(0, "");
    for command in [Some(format!("{} -R", viewer.display())), None] {
        let mut terminal = match &command {
            Some(command) => {
                let line =
                    format!("RAPPORT_PREVIEW_COMMAND='{command}' '{}' resume", env!("CARGO_BIN_EXE_rapport"));
                project.shell(&line, 100, 30)
            }
            None => project.terminal(&["resume"], 100, 30),
        };
        terminal.wait_for("(q)uit ›");
        terminal.send("m");
        terminal.wait_for("[✅] READ");
        terminal.send("\x1b[F");
        terminal.send("p");
        if command.is_some() {
            terminal.wait_for("-R shows");
            terminal.wait_for("# An app");
            terminal.wait_for("more?");
            assert!(!terminal.is_alternate());
        } else {
            terminal.wait_for("  1  # An app");
            assert!(terminal.is_alternate());
        }
    }
    assert_eq!(project.changes(), Vec::<String>::new());
}

/// A failure in a terminal offers to take everything back.
#[test]
fn a_failure_offers_to_undo() {
    let failing = plan("Fail", &[], &[], &[create("one.txt", "1"), super::run("exit 1")]);
    let project = project(&[&failing]);
    project.plan_turn("x").check(0, "");
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("a");
    terminal.wait_for("Undo the changes to files?");
    terminal.send("y");
    terminal.wait_for("removed: one.txt");
    terminal.wait_for("left 0");
    assert_eq!(project.changes(), Vec::<String>::new());
}

/// A message of the plan is a card like any question; the batch continues with the typed reply.
#[test]
fn file_40_a_message_is_answered_in_the_terminal() {
    let chat = "### `CHAT_WITH_USER`\n\n- **Description:** Ask.\n\nShip it today?\n".to_owned();
    let asking = plan("Ask", &[], &[], &[chat, create("shipped.txt", "yes")]);
    let project = project(&[&asking]);
    project.plan_turn("x").check(0, "");
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(q)uit ›");
    terminal.send("a");
    terminal.wait_for("Ship it today?");
    // What is typed before the card says its keys is not taken, but may be echoed.
    terminal.wait_for("enter answer");
    terminal.send("Tomorrow");
    terminal.wait_for("Tomorrow");
    terminal.send("\r");
    terminal.wait_for("left 0");
    assert!(project.turn_file("01/report.md").contains("Tomorrow"), "{}", project.turn_file("01/report.md"));
    assert_eq!(project.file("shipped.txt"), "yes\n");
}

/// A batch that was killed: what was done is told, and undone.
#[test]
fn an_interrupted_batch_is_undone_in_the_terminal() {
    let project = super::interrupted::cut_off();
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("done         CREATE");
    terminal.wait_for("(g)o on after it / (u)ndo / (q)uit ›");
    terminal.send("u");
    terminal.wait_for("removed: a.txt");
    terminal.wait_for("left 0");
}

/// The same, resumed after the command that may have run.
#[test]
fn an_interrupted_batch_is_gone_on_with_in_the_terminal() {
    let project = super::interrupted::cut_off();
    let mut terminal = project.terminal(&["resume"], 100, 30);
    terminal.wait_for("(g)o on after it / (u)ndo / (q)uit ›");
    terminal.send("g");
    terminal.wait_for("Partial 🟡: 2 of 3 actions done, 1 failed");
    terminal.wait_for("left 0");
    assert!(project.turn_file("01/report.md").contains("interrupted: it may have run"));
    assert_eq!(project.file("b.txt"), "b\n");
}

/// The same story, once with the real CLI.
#[test]
fn the_whole_story_with_the_real_cli() {
    let Some(world) = super::word_for_word::World::new(&[greeting(), second(), second()]) else { return };
    world.project.rapport(&["new", "add-greeting"]).check(0, "");
    story(&world.project);
}

/// A terminal that goes away leaves everything as it was.
#[test]
fn a_terminal_that_closes_decides_nothing() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    let mut terminal: Pty = project.terminal(&["resume"], 80, 24);
    terminal.wait_for("(q)uit ›");
    drop(terminal);
    crate::support::patience::wait_for("rapport to be gone", || project.processes().is_empty().then_some(()));
    assert_eq!(project.changes(), Vec::<String>::new());
    assert!(!project.folder().join("01/report.md").exists());
}
