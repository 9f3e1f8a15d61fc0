//! `rapport execute`: a plan outside of any session.

use std::os::unix::fs::PermissionsExt as _;

use super::{create, edit, greeting, plan, project, run};
use crate::support::patience::wait_for;
use crate::support::project::Project;

// FILE-21, FILE-22, FILE-23, FILE-24: from a file or standard input; the report is where one is.
#[test]
fn file_21_file_24_a_plan_is_run_and_reported_here() {
    let project = Project::with_agent("rehearsal");
    std::fs::create_dir(project.root().join("sub")).unwrap();
    std::fs::write(project.root().join("sub/plan.md"), greeting()).unwrap();
    let mut command = project.command();
    let ran =
        command.current_dir(project.root().join("sub")).args(["execute", "plan.md", "-y"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(project.file("hello.txt"), "Hello\n", "paths are from the project's root");
    let report = project.file("sub/report.md");
    assert!(report.contains("Completed 🟢") && report.contains("[plan.md](plan.md)"), "{report}");
    assert!(!project.root().join(".rapport/sessions").exists(), "there is no session");
    assert_eq!(
        project.file(".rapport/memos.yaml"),
        "- Greetings are in English.\n",
        "what is approved is so"
    );
    let context = report.split_once("### Active Context").unwrap().1.split_once("### Memos").unwrap().0;
    assert!(context.contains("Skipped 🟡\n- **Reason:** the plan belongs to no session"), "{report}");
    assert!(!project.root().join("report.md").exists());

    let more = plan("More", &[], &[], &[create("more.txt", "More")]);
    project.rapport_reading(&["execute", "-", "-y"], more.as_bytes()).check(0, "1 of 1 actions done");
    project.rapport(&["undo", "--yes"]).check(0, "removed: more.txt");
    let undone = project.rapport(&["undo", "--yes"]);
    undone.check(0, "removed: hello.txt").check(0, "restored: README.md");
    undone.check(0, "cannot be undone: the changes to memos.yaml");
}

// FILE-11, FILE-21: what is approved is done, memos too; what is for the next turn of a session is not asked about.
#[test]
fn file_11_file_21_memos_are_kept_and_there_is_no_context() {
    let project = Project::with_agent("rehearsal");
    let ran = project.rapport_reading(&["execute", "-", "-y"], greeting().as_bytes());
    ran.check(0, "memos.yaml:\n  [+] ADD:    Greetings are in English.").check(0, "Completed");
    assert!(!ran.out().contains("Active Context"), "{}", ran.out());
    assert_eq!(project.file(".rapport/memos.yaml"), "- Greetings are in English.\n");
}

// FILE-21: without a name the plan is what is in the clipboard, which the program of the system prints.
#[test]
fn file_21_a_plan_comes_from_the_clipboard() {
    let wayland = "test \"$*\" = --no-newline && cat \"$HOME/clipboard\"";
    let xclip = "test \"$*\" = '-selection clipboard -out' && cat \"$HOME/clipboard\"";
    let xsel = "test \"$*\" = '--clipboard --output' && cat \"$HOME/clipboard\"";
    for (program, script, variable) in
        [("wl-paste", wayland, "WAYLAND_DISPLAY"), ("xclip", xclip, "DISPLAY"), ("xsel", xsel, "DISPLAY")]
    {
        let project = with_clipboard(&[(program, script)], &[variable]);
        std::fs::write(project.path("home/clipboard"), greeting()).unwrap();
        project.rapport(&["execute", "-y"]).check(0, "Completed");
        assert_eq!(project.file("hello.txt"), "Hello\n", "{program}");
        assert!(project.file("report.md").contains("the clipboard"), "{}", project.file("report.md"));
    }
}

// FILE-21: a clipboard that gives no plan is told, and why; another program is tried before.
#[test]
fn file_21_a_clipboard_without_a_plan_is_told() {
    let empty = "printf ' \\n'";
    let fails = "echo 'No selection' >&2; exit 1";
    let plan = "cat \"$HOME/clipboard\"";
    for (programs, variables, says) in [
        (&[("wl-paste", plan)][..], &[][..], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
        (&[], &["DISPLAY"], "one of these programs is needed: xclip, xsel"),
        (&[], &["WAYLAND_DISPLAY", "DISPLAY"], "one of these programs is needed: wl-paste, xclip, xsel"),
        (&[("wl-paste", fails)], &["WAYLAND_DISPLAY"], "wl-paste: No selection"),
        (&[("wl-paste", empty)], &["WAYLAND_DISPLAY"], "it is empty"),
        (&[("xsel", "printf '\\377'")], &["DISPLAY"], "not UTF-8 text"),
    ] {
        let project = with_clipboard(programs, variables);
        project.rapport(&["execute", "-y"]).check(2, says);
        assert_eq!(project.changes(), Vec::<String>::new());
    }
    let project = with_clipboard(&[("xclip", fails), ("xsel", plan)], &["DISPLAY"]);
    std::fs::write(project.path("home/clipboard"), greeting()).unwrap();
    project.rapport(&["execute", "-y"]).check(0, "Completed");
}

/// A project where these are the programs for a clipboard, and these variables say that there is one.
fn with_clipboard(programs: &[(&str, &str)], variables: &[&str]) -> Project {
    let project = Project::with_agent("rehearsal");
    let folder = project.path("programs");
    std::fs::create_dir(&folder).unwrap();
    for (name, script) in programs {
        let file = folder.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Whatever else this machine has for a clipboard is out of sight.
    for name in ["cat", "git", "sh"] {
        let paths = std::env::var_os("PATH").unwrap();
        let program =
            std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|file| file.is_file());
        std::os::unix::fs::symlink(program.unwrap(), folder.join(name)).unwrap();
    }
    let path = folder.display().to_string();
    variables.iter().fold(project.set("PATH", &path), |project, name| project.set(name, ":7"))
}

/// A file that cannot take the memos is told before anything is done, not after.
#[test]
fn broken_memos_are_told_before_anything_is_done() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    std::fs::write(project.root().join(".rapport/memos.yaml"), "{a: b").unwrap();
    let why = "memos.yaml: it has to be a list of strings";
    project.rapport(&["resume", "-y"]).check(6, why).check(6, "Nothing was changed.");
    project.rapport_reading(&["execute", "-", "-y"], greeting().as_bytes()).check(6, why);
    assert_eq!(project.changes(), Vec::<String>::new());
}

/// What plans and files say never does anything to the terminal, in failures either.
#[test]
fn failures_are_shown_without_control_characters() {
    let project = Project::with_agent("rehearsal");
    std::fs::write(project.root().join("a.txt"), "one\n\x1b[31mtwo \x07and more\nthree\n").unwrap();
    let near = edit("a.txt", "one\n\x1b[31mtwo \x07and mote\nthree", "x");
    let ran = project.rapport_reading(&["execute", "-", "-y"], plan("Near", &[], &[], &[near]).as_bytes());
    ran.check(3, "standard input:22: FIND is not in a.txt; the closest place is line 1")
        .check(3, "+␛[31mtwo ␇and more");
    assert!(!ran.err().contains(['\x1b', '\x07']), "{}", ran.err());
    let ran = project.rapport(&["execute", "\x1b[2J.md"]);
    ran.check(2, "cannot read the plan ␛[2J.md");
}

/// An empty line is no answer.
#[test]
fn file_40_a_message_outside_of_a_session_waits_for_words() {
    let project = Project::with_agent("rehearsal");
    let chat = "### `CHAT_WITH_USER`\n\n- **Description:** Ask.\n\nShip it today?\n".to_owned();
    std::fs::write(project.root().join("plan.md"), plan("Ask", &[], &[], &[chat])).unwrap();
    let mut terminal = project.terminal(&["execute", "-y", "plan.md"], 100, 30);
    terminal.wait_for("Ship it today?");
    terminal.wait_for("enter answer");
    terminal.send("\r\x1b[200~Tomorrow.\n\n\nEarly.\x1b[201~");
    terminal.wait_for("Early.");
    terminal.send("\r");
    terminal.wait_for("left 0");
    assert!(project.file("report.md").contains("Tomorrow.\n\n\nEarly."), "{}", project.file("report.md"));
}

#[test]
fn a_report_of_somebody_else_stays() {
    let project = Project::with_agent("rehearsal");
    std::fs::write(project.root().join("report.md"), "My own report\n").unwrap();
    let first = plan("First", &[], &[], &[create("a.txt", "a")]);
    project.rapport_reading(&["execute", "-", "-y"], first.as_bytes()).check(0, "report-2.md");
    assert_eq!(project.file("report.md"), "My own report\n");
    let second = plan("Second", &[], &[], &[create("b.txt", "b")]);
    project.rapport_reading(&["execute", "-", "-y"], second.as_bytes()).check(0, "report-2.md");
    assert!(project.file("report-2.md").starts_with("# Execution Report: Second"));
    // A person's words in a report make it theirs, however it begins.
    let edited = format!("{}\nTo be discussed\n", project.file("report-2.md"));
    std::fs::write(project.root().join("report-2.md"), &edited).unwrap();
    let third = plan("Third", &[], &[], &[create("c.txt", "c")]);
    project.rapport_reading(&["execute", "-", "-y"], third.as_bytes()).check(0, "report-3.md");
    assert_eq!(project.file("report-2.md"), edited);
}

#[test]
fn what_cannot_be_read_or_asked_is_said() {
    let project = Project::with_agent("rehearsal");
    project.rapport(&["execute"]).check(2, "clipboard").check(2, "rapport execute plan.md");
    project.rapport(&["execute", "nothing.md"]).check(2, "cannot read the plan nothing.md");
    project.rapport(&["execute", "."]).check(2, "cannot read the plan .: it is a directory");
    project.rapport_reading(&["execute", "-", "-y"], b"\xff\xfe").check(2, "not UTF-8 text");
    std::fs::write(project.root().join("plan.md"), greeting()).unwrap();
    project.rapport(&["execute", "plan.md"]).check(2, "without a terminal").check(2, "-y");
    assert_eq!(project.changes(), ["?? plan.md"]);
    std::fs::write(project.root().join("plan.md"), "# Nothing\n").unwrap();
    project.rapport(&["execute", "plan.md", "-y"]).check(3, "this plan cannot be carried out");
    assert!(project.file("report.md").contains("Validation Failed"));
    // Nothing in a plan moves the cursor of who is told what is wrong with it.
    let moving = plan("Moving", &[], &[], &["### \u{1b}[2J\n".to_owned()]);
    project.rapport_reading(&["execute", "-", "-y"], moving.as_bytes()).check(3, "␛[2J is not an action");
}

#[test]
fn a_plan_of_a_session_is_warned_of() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    let path = project.folder().join("01/plan.md");
    project.rapport(&["execute", path.to_str().unwrap(), "-y"]).check(0, "this plan belongs to a session");
    assert!(!project.folder().join("01/report.md").exists());
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt");

    // FILE-4, FILE-10: the report of a turn stays, even where one is in its directory.
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let report = project.turn_file("01/report.md");
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt");
    let mut command = project.command();
    let ran = command.current_dir(project.folder().join("01")).args(["execute", "plan.md", "-y"]).output();
    assert!(String::from_utf8_lossy(&ran.unwrap().stdout).contains("01/report-2.md"));
    assert_eq!(project.turn_file("01/report.md"), report);
}

/// What was done is told even where the report has no place.
#[test]
fn a_report_that_cannot_be_written() {
    let project = Project::with_agent("rehearsal");
    std::fs::create_dir(project.root().join("sub")).unwrap();
    let plan = plan("Clean up", &[], &[], &[create("a.txt", "a"), run("rm -r sub")]);
    std::fs::write(project.root().join("plan.md"), plan).unwrap();
    let mut command = project.command();
    command.current_dir(project.root().join("sub")).args(["execute", "../plan.md", "-y"]);
    crate::support::project::Ran(command.output().unwrap())
        .check(6, "Completed 🟢: 2 of 2 actions done")
        .check(6, "sub/report.md")
        .check(6, "rapport undo");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
}

/// Nothing was done to files, so there is nothing to take back.
#[test]
fn undo_is_offered_where_there_is_something_to_undo() {
    let project = Project::with_agent("rehearsal");
    let failing = plan("Fail", &[], &[], &[run("exit 1")]);
    let ran = project.rapport_reading(&["execute", "-", "-y"], failing.as_bytes());
    ran.check(1, "an action failed");
    assert!(!ran.err().contains("undo"), "{}", ran.err());
    project
        .rapport(&["undo", "--yes"])
        .check(0, "No file had to be restored")
        .check(0, "cannot be undone: other effects of EXECUTE");
}

/// A plan that was run outside of any session is listed with those, as it stands, and undone by the name that is
/// listed. Where its process still holds it, that process is asked.
#[test]
fn a_plan_that_was_run_alone_is_undone_by_its_name() {
    let project = project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let more = plan("More", &[], &[], &[create("more.txt", "More")]);
    project.rapport_reading(&["execute", "-", "-y"], more.as_bytes()).check(0, "1 of 1 actions done");
    let listed = project.rapport(&["undo", "--json", "--yes"]);
    let error: serde_json::Value = serde_json::from_str(&listed.err()).unwrap();
    let candidates = error["error"]["candidates"].as_array().unwrap();
    let alone = candidates.iter().find(|one| one["task"] == "a plan, run outside of any session").unwrap();
    assert_eq!(alone["status"], "completed");
    project.rapport(&["undo", alone["id"].as_str().unwrap(), "--yes"]).check(0, "removed: more.txt");
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt");

    let chat = "### `CHAT_WITH_USER`\n\nShip it today?\n".to_owned();
    let asking = plan("Ask", &[], &[], &[create("a.txt", "a"), chat]);
    std::fs::write(project.root().join("plan.md"), &asking).unwrap();
    let mut terminal = project.terminal(&["execute", "-y", "plan.md"], 100, 30);
    terminal.wait_for("enter answer");
    let batches = std::fs::read_dir(project.root().join(".rapport/batches")).unwrap();
    let mut names: Vec<_> = batches.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let held =
        names.iter().rfind(|name| name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')).unwrap();
    project
        .rapport(&["undo", "--batch", held, "--yes"])
        .check(5, "another process is working on the batch 01");
    terminal.send("\x03");
    terminal.wait_for(&format!("rapport undo --batch {held}"));
}

/// A plan that was killed in the middle has no report; the next `execute` says what was done.
#[test]
fn a_plan_that_was_killed_is_told_of() {
    let project = Project::with_agent("rehearsal");
    let hanging = plan("Hang", &[], &[], &[create("a.txt", "a"), run("touch begun; sleep 600")]);
    std::fs::write(project.root().join("plan.md"), &hanging).unwrap();
    let mut running = project.spawn(&["execute", "plan.md", "-y"]);
    wait_for("the command", || project.root().join("begun").exists().then_some(()));
    running.kill().unwrap();
    running.wait().unwrap();
    project
        .rapport(&["execute", "plan.md", "-y"])
        .check(3, "a.txt already exists")
        .check(3, "the last plan was not run to its end")
        .check(3, "done         CREATE a.txt")
        .check(3, "interrupted  EXECUTE touch begun; sleep 600");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
    let ran = project.rapport_reading(&["execute", "-", "-y"], greeting().as_bytes());
    assert!(!ran.check(0, "Completed").err().contains("not run to its end"));
}

// FILE-40: a message is answered by words, not by Enter alone; who leaves instead has not answered.
#[test]
fn file_40_a_message_waits_for_words() {
    let project = Project::with_agent("rehearsal");
    let chat = "### `CHAT_WITH_USER`\n\nShip it today?\n".to_owned();
    let asking = plan("Ask", &[], &[], &[create("a.txt", "a"), chat, run("true")]);
    std::fs::write(project.root().join("plan.md"), &asking).unwrap();
    let mut terminal = project.terminal(&["execute", "-y", "plan.md"], 100, 30);
    terminal.wait_for("enter answer");
    terminal.send("\x03");
    terminal.wait_for("left 130");
    let report = project.file("report.md");
    assert!(report.contains("interrupted") && report.contains("the batch was stopped before it"), "{report}");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
    let mut terminal = project.terminal(&["execute", "-y", "plan.md"], 100, 30);
    terminal.wait_for("enter answer");
    terminal.send("\r");
    terminal.send("Tomorrow\r");
    terminal.wait_for("left 0");
    assert!(
        project.file("report.md").contains("```markdown\nTomorrow\n```"),
        "{}",
        project.file("report.md")
    );
}

// FILE-40: the session that another agent gets is named, so that a person can continue it.
#[test]
fn file_40_another_agent_gets_a_session() {
    let project = Project::with_agent("rehearsal");
    let handing = "### `INVOKE`\n\n- **Agent:** Code Reviewer\n\nLook at it.\n".to_owned();
    let over = plan("Hand over", &[], &[], &[handing]);
    let ran = project.rapport_reading(&["execute", "-", "-y"], over.as_bytes());
    let session = project.session();
    ran.check(0, &format!("✓ INVOKE Code Reviewer: session {session}"));
    project.rapport(&["log", "--tree", session.as_str()]).check(0, "01  not planned yet");
}

/// Plans as they come: with CR LF, and of 10 MB.
#[test]
fn plans_in_odd_shapes() {
    let project = Project::with_agent("rehearsal");
    let dos = plan(
        "Dos",
        &[],
        &[],
        &[create("a.txt", "one\ntwo"), edit("README.md", "An app", "The app"), run("true")],
    );
    project
        .rapport_reading(&["execute", "-", "-y"], dos.replace('\n', "\r\n").as_bytes())
        .check(0, "3 of 3 actions done");
    assert_eq!(project.file("README.md"), "# The app\n");
    let long = "0123456789abcde\n".repeat(10 * 1024 * 1024 / 16);
    let big = plan("Big", &[], &[], &[create("big.txt", long.trim_end())]);
    project.rapport_reading(&["execute", "-", "-y"], big.as_bytes()).check(0, "1 of 1 actions done");
    assert_eq!(project.file("big.txt"), long);
}

/// What was piped in is the plan; it is reviewed and approved at the terminal.
#[test]
fn a_plan_that_is_piped_in_is_reviewed_at_the_terminal() {
    let project = Project::with_agent("rehearsal");
    std::fs::write(project.root().join("plan.md"), greeting()).unwrap();
    let program = env!("CARGO_BIN_EXE_rapport");
    let mut pty = project.shell(&format!("cat plan.md | '{program}' execute -"), 100, 50);
    pty.wait_for("(q)uit ›");
    assert_eq!(project.file("hello.txt"), "", "nothing is done before it is approved");
    pty.send("a");
    pty.wait_for("actions done");
    pty.wait_for("left 0");
    assert_ne!(project.file("hello.txt"), "");
}
