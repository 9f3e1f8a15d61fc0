//! Common mistakes of people: a message says what is wrong, and the next step that it names works when it is typed.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use rapport_core::Event;
use serde_json::Value;

use crate::files::{self, create, edit, greeting, plan};
use crate::support::project::{Project, Ran, Running};
use crate::support::scenarios::ONE_QUESTION;

/// Begins a session, and kills it while it asks.
fn ask(project: &Project, task: &str) {
    let mut running = project.start(&[task], &[]);
    running.until_asked();
    running.kill();
}

/// Has a task done, with this answer to its question.
fn work(project: &Project, args: &[&str], name: &str, answer: &str) {
    let mut running = project.start(args, &[]);
    running.until_asked();
    project.rapport(&["answer", name, "--question", "q1", answer]).check(0, "Answered.");
    confirm(project, running, name);
}

fn confirm(project: &Project, mut running: Running, name: &str) {
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", name, "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

/// A project that is in no repository.
fn without_git() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    project
}

/// The project with a `git` that says it is of this version, and is the real one in all else.
fn with_git_of(project: Project, version: &str) -> Project {
    let path = std::env::var("PATH").unwrap();
    let real: PathBuf =
        std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.exists()).unwrap();
    let folder = project.path("old");
    std::fs::create_dir_all(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$*\" = --version ] && {{ echo 'git version {version}'; exit; }}\nexec {} \"$@\"\n",
        real.display()
    );
    std::fs::write(folder.join("git"), script).unwrap();
    std::fs::set_permissions(folder.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    project.set("PATH", &format!("{}:{path}", folder.display()))
}

#[test]
fn an_old_git_is_named_before_the_work_and_when_it_is_applied() {
    const NEEDED: &str = "git 2.40 or newer is needed, this is 2.39.5";
    let project = Project::with_scenario(ONE_QUESTION);
    work(&project, &["--worker", "worktree", "paint"], "paint", "Red");
    let project = with_git_of(project, "2.39.5");
    project.rapport(&["doctor"]).check(0, &format!("missing  git        {NEEDED}"));
    let refused = project.rapport(&["run", "--worker", "worktree", "more"]);
    refused.check(3, NEEDED).check(3, "--worker local");
    let refused = project.rapport(&["apply", "paint"]);
    refused.check(1, NEEDED).check(1, "Nothing was changed.");
    assert!(!refused.err().contains("usage"), "{}", refused.err());
    assert_eq!(project.file("paint.txt"), "");
    let project = with_git_of(project, "2.40.1");
    project.rapport(&["doctor"]).check(0, "ok       git        git version 2.40.1");
    project.rapport(&["apply", "paint"]).check(0, "1 file");
}

#[test]
fn two_sessions_are_compared_by_what_they_left() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    let branched: Value = project.json(&["branch", "paint", "--at", "q1", "--json"]);
    let branch = branched["session"].as_str().unwrap();
    let original = project.store().list().unwrap().into_iter().find(|id| id.as_str() != branch).unwrap();
    for (id, answer) in [(original.as_str(), "Red"), (branch, "Blue")] {
        project.rapport(&["answer", id, "--question", "q1", answer]).check(0, "Answered.");
        confirm(&project, project.start(&["--resume", id], &[]), id);
    }
    // Changes of others are not part of the diff.
    std::fs::write(project.root().join("other.txt"), "other\n").unwrap();
    let diff = project.rapport(&["diff", "paint", branch]);
    diff.check(0, &format!("--- {original}  completed  paint")).check(0, &format!("+++ {branch}  completed"));
    diff.check(0, "\n-Red\n+Blue\n");
    assert!(!diff.out().contains("other.txt"), "{}", diff.out());
    let json: Value = project.json(&["diff", "paint", branch, "--json"]);
    assert_eq!(json["sessions"], serde_json::json!([original, branch]));
    project.rapport(&["diff", "paint", "paint"]).check(0, "the same in both");
    // One that has not worked cannot be compared, and one of turns is compared in another way.
    ask(&project, "later");
    let refused = project.rapport(&["diff", "paint", "later"]);
    refused.check(3, "it has not changed anything yet").check(3, &format!("rapport diff {original}"));
    project.rapport(&["new", "add-auth"]).check(0, "");
    let refused = project.rapport(&["diff", "add-auth", "paint"]);
    refused.check(3, "it works in turns").check(3, "rapport diff --session SESSION 01 02");
    project.rapport(&["diff", "paint", "nothing"]).check(4, "there is no session nothing");
}

#[test]
fn without_git_it_is_said_first_and_where_changes_would_be_shown() {
    let project = without_git();
    let mut running = project.spawn(&["run", "paint"]);
    project.wait_asked();
    project.rapport(&["answer", "paint", "Red"]).check(0, "");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "");
    running.wait().unwrap();
    let ran = Ran(running.wait_with_output().unwrap());
    ran.check(0, "is not in a git repository: what the agent changes can neither be shown nor undone");
    for args in [&["diff", "paint"][..], &["undo", "paint", "--yes"]] {
        project.rapport(args).check(3, "the project was not in a git repository, so the state of its files");
    }
    let ran = Project::with_scenario(ONE_QUESTION).rapport(&["run", ""]);
    assert!(!ran.err().contains("git"), "{}", ran.err());
}

#[test]
fn who_is_not_logged_in_is_told_how_to_log_in_here() {
    const LOGGED_OUT: &str = r##"
version: 1
name: logged out
invocations:
  - result: "Not logged in · Please run /login"
    is_error: true
"##;
    let project = Project::with_scenario(LOGGED_OUT);
    let ran = project.rapport(&["run", "paint"]);
    ran.check(7, "rapport: Not logged in · Please run /login\n");
    ran.check(7, "  Log in with: claude auth login\n  or give it a key: export ANTHROPIC_API_KEY=KEY\n");
    let mut terminal = project.terminal(&["run", "paint"], 100, 30);
    terminal.wait_for("Log in with: claude auth login");
    terminal.wait_for("left 7");
}

#[test]
fn an_answer_given_twice_says_how_to_change_it() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    let id = project.session();
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    let again = project.rapport(&["answer", "paint", "--question", "q1", "Blue"]);
    again.check(3, "q1 was already answered with \"Red\"");
    // Its round is complete, and the agent gets to know of it: until the plan is there, nothing can be changed.
    for words in [&["Blue"][..], &["--edit", "Blue"]] {
        let refused = project.rapport(&[&["answer", "paint", "--question", "q1"], words].concat());
        refused.check(3, &format!("before you confirm it: rapport answer {id} --question q1 --edit VALUE"));
    }
    let running = project.start(&["--resume", id.as_str()], &[]);
    project.wait_asked_for("confirm");
    let again = project.rapport(&["answer", "paint", "--question", "q1", "Blue"]);
    again.check(3, &format!("Change it with: rapport answer {id} --question q1 --edit VALUE"));
    project.rapport(&["answer", id.as_str(), "--question", "q1", "--edit", "Blue"]).check(0, "Blue");
    confirm_edited(&project, running);
    let again = project.rapport(&["answer", "paint", "--question", "q1", "Red"]);
    again.check(3, &format!("Try another answer in a branch: rapport branch {id} --at q1"));
    project.rapport(&["branch", id.as_str(), "--at", "q1"]).check(0, "Branched");
}

fn confirm_edited(project: &Project, running: Running) {
    crate::support::patience::wait_for("the plan again", || {
        let view = project.view();
        view.questions.iter().any(|open| open.id.as_str().starts_with("confirm")).then_some(())
    });
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
}

#[test]
fn a_number_with_several_sessions_open_lists_those_that_wait() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    ask(&project, "build");
    let refused = project.rapport(&["answer", "2"]);
    refused.check(2, "there is no session 2").check(2, "rapport answer --session SESSION VALUE");
    refused.check(2, "-paint  needs input").check(2, "-build  needs input");
    project.rapport(&["answer", "--session", "build", "2"]).check(0, "Answered. q1: Blue");
}

#[test]
fn work_in_the_project_itself_is_not_applied_but_shown_and_undone() {
    let project = Project::with_scenario(ONE_QUESTION);
    work(&project, &["paint"], "paint", "Red");
    let id = project.session();
    for verb in ["apply", "discard"] {
        let refused = project.rapport(&[verb, "paint"]);
        refused.check(3, &format!("there is nothing to {verb}: {id} worked in the project itself"));
        refused.check(3, &format!("rapport diff {id}")).check(3, &format!("rapport undo {id}"));
    }
    assert_eq!(project.file("paint.txt"), "Red\n");
}

#[test]
fn an_undo_that_keeps_every_file_says_that_nothing_was_undone() {
    let project = Project::with_scenario(ONE_QUESTION);
    work(&project, &["paint"], "paint", "Red");
    let id = project.session();
    std::fs::write(project.root().join("paint.txt"), "Red, and more\n").unwrap();
    let undone = project.rapport(&["undo", "paint", "--yes"]).out();
    let kept = "  left as it is, because it was changed since: paint.txt\n";
    assert_eq!(undone, format!("Nothing of {id} was undone:\n{kept}"));
}

/// Discarding, and undoing of either kind, ask first, in the same way. Where nobody can be asked, they need --yes.
#[test]
fn what_takes_work_away_asks_first() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let refused = project.rapport(&["undo", "--force"]);
    refused.check(3, "nobody can be asked here whether to undo it").check(3, "rapport undo --batch 2");
    refused.check(3, " --force --yes");
    assert_eq!(project.file("hello.txt"), "Hello\n");
    let mut terminal = project.terminal(&["undo"], 100, 30);
    terminal.wait_for("done         CREATE hello.txt");
    terminal.wait_for("Undo its changes to files? (y)es / (n)o ›");
    terminal.send("n");
    terminal.wait_for("left 130");
    assert_eq!(project.file("hello.txt"), "Hello\n");
    let mut terminal = project.terminal(&["undo"], 100, 30);
    terminal.wait_for("(y)es / (n)o ›");
    terminal.send("y");
    terminal.wait_for("left 0");
    assert_eq!(project.file("hello.txt"), "");

    let project = Project::with_scenario(ONE_QUESTION);
    work(&project, &["--worker", "worktree", "paint"], "paint", "Red");
    let id = project.session();
    let refused = project.rapport(&["discard"]);
    refused.check(3, "nobody can be asked here whether to discard it");
    refused.check(3, &format!("rapport diff {id}")).check(3, &format!("rapport discard {id} --yes"));
    project.rapport(&["diff", "paint"]).check(0, "+Red");
    let mut terminal = project.terminal(&["discard", "paint"], 100, 30);
    terminal.wait_for("added     paint.txt");
    terminal.wait_for("Discard this work for good? (y)es / (n)o ›");
    terminal.send("n");
    terminal.wait_for("left 130");
    let worktree = project.root().join(".rapport/worktrees").join(project.session().as_str());
    assert!(worktree.exists());
    let mut terminal = project.terminal(&["discard", "paint", "--yes"], 100, 30);
    terminal.wait_for("Discarded");
    terminal.wait_for("left 0");
    assert!(!worktree.exists());
}

/// A prompt for one key explains any other, takes no letter of a word, and suspends on Ctrl-Z.
#[test]
fn a_prompt_for_one_key_explains_other_keys() {
    const EXPLAINED: &str = "Press y or n; nothing else decides.";
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let mut terminal = project.terminal(&["undo"], 100, 30);
    terminal.wait_for("(y)es / (n)o ›");
    // Its third letter would undo.
    terminal.send("maybe");
    terminal.wait_for(EXPLAINED);
    terminal.send("\x1b[A");
    terminal.wait_until("explained again", |shown| shown.matches(EXPLAINED).count() == 2);
    assert_eq!(project.file("hello.txt"), "Hello\n", "a word is no answer");
    terminal.insist("x", "explained again", |shown| shown.matches(EXPLAINED).count() == 3);
    terminal.insist("n", "that nothing was done", |shown| shown.contains("left; everything is as it was"));
    terminal.wait_for("left 130");

    // Line by line it is the same.
    let mut lines = project.terminal(&["undo", "--plain"], 100, 30);
    lines.wait_for("(y)es / (n)o ›");
    lines.send("maybe\n");
    lines.wait_for(EXPLAINED);
    // A word that only begins like one that is offered decides nothing.
    lines.send("yesterday\n");
    lines.wait_until("explained again", |shown| shown.matches(EXPLAINED).count() == 2);
    assert_eq!(project.file("hello.txt"), "Hello\n", "yesterday is no yes");
    lines.send("no\n");
    lines.wait_for("left 130");
    assert_eq!(project.file("hello.txt"), "Hello\n");

    let mut shell = project.interactive_shell(100, 30);
    shell.wait_for("shell:");
    shell.send(&format!("'{}' undo\n", env!("CARGO_BIN_EXE_rapport")));
    shell.wait_for("(y)es / (n)o ›");
    shell.send("\x1a");
    shell.wait_for("Stopped");
    shell.send("fg\n");
    shell.wait_until("asked again", |shown| shown.matches("(y)es / (n)o ›").count() == 2);
    shell.send("y");
    shell.wait_for("removed: hello.txt");
    assert_eq!(project.file("hello.txt"), "");
    shell.send("exit\n");
    shell.wait_end();
}

/// A branch has a worktree that is not Rapport's to remove.
#[test]
fn a_branch_is_discarded_by_the_command_that_is_named() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    let said = project.rapport(&["branch", "paint", "--at", "q1"]).out();
    let worktree = said.lines().find_map(|line| line.strip_prefix("  worktree  ")).unwrap();
    assert!(Path::new(worktree).exists());
    let command = said.split_once("or discard it: ").map(|(_, command)| command).unwrap();
    project.sh(&format!("{} --yes", command.trim_end())).check(0, "Its worktree and its branch are gone.");
    assert!(!Path::new(worktree).exists());
}

#[test]
fn other_messages_say_what_to_do_next() {
    let project = Project::with_agent("rehearsal");
    let doctor = project.rapport(&["doctor"]);
    doctor.check(0, "(rehearsal); asks over the live channel\n");
    let missing = project.rapport(&["execute", "nothing.md"]);
    missing.check(2, "cannot read the plan nothing.md").check(2, "rapport execute plan.md");
    project.rapport(&["rehearse", "--help"]).check(0, "Usage: rapport rehearse");
    std::fs::create_dir_all(project.root().join(".rapport")).unwrap();
    std::fs::write(project.root().join(".rapport/config.yaml"), "agent:\n  comand: x\n").unwrap();
    let wrong = project.rapport(&["run", "paint"]);
    wrong.check(2, "config.yaml:2:3: unknown field `comand`").check(2, "Fix or remove what is named there.");
}

/// A session that came from elsewhere waits until a person trusts it.
#[test]
fn a_list_says_that_a_session_is_not_trusted() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    ask(&project, "paint more");
    let other = project.set("RAPPORT_HOME", "/nonexistent/rapport");
    let home = other.path("another-home");
    let other = other.set("RAPPORT_HOME", &home.display().to_string());
    other.rapport(&["status", "pain"]).check(2, "(waits for somebody to trust it)");
}

#[test]
fn messages_without_content_are_not_in_the_log() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_AGENT_HOT", "0s");
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    running.kill();
    project.rapport(&["answer", "paint", "Red"]).check(0, "");
    let mut running = project.start(&["--resume", "paint"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    running.kill();
    let log = project.rapport(&["log", "paint"]).out();
    assert!(!log.contains("command_lifecycle") && !log.contains("unknown kind"), "{log}");
}

/// What was run and is tried again begins with the files as they were, or with a word from the person.
#[test]
fn another_try_of_a_turn_that_ran_begins_where_the_person_says() {
    let second = plan("Second", &[], &[], &[create("a.txt", "a")]);
    let project = files::project(&[&greeting(), &second, &greeting(), &second]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    let (root, id) = (project.root(), project.session());
    let refused = project.rapport(&["branch", "1"]);
    for flag in ["--undo", "--worktree", "--keep"] {
        refused.check(2, &format!("rapport branch --session {id} 01 {flag}"));
    }
    assert!(!project.folder().join("01-branch-01").exists());

    // In a worktree: the files there are as before the turn, those here stay.
    let made: Value = project.json(&["branch", "1", "--worktree", "--json"]);
    let worktree = PathBuf::from(made["worktree"].as_str().unwrap());
    let there = |path: &str| std::fs::read_to_string(worktree.join(path)).unwrap_or_default();
    assert_eq!(
        (there("hello.txt"), there("a.txt"), there("README.md")),
        (String::new(), String::new(), "# An app\n".into())
    );
    assert_eq!((project.file("hello.txt").as_str(), project.file("a.txt").as_str()), ("Hello\n", "a\n"));
    let inside = |args: &[&str]| Ran(project.command().current_dir(&worktree).args(args).output().unwrap());
    inside(&["plan", "-m", "again"]).check(0, "Add a greeting");
    inside(&["resume", "-y"]).check(0, "Completed");
    assert_eq!(there("hello.txt"), "Hello\n");
    let other = made["session"].as_str().unwrap();
    project.rapport(&["diff", other]).check(0, "+Hello");
    project.rapport(&["status", other]).check(0, &format!("rapport apply {other}"));
    project.rapport(&["discard", other, "--yes"]).check(0, "worktree and its branch are gone");
    assert!(!worktree.exists());

    // Undone first: both batches, the later one first.
    let undone = project.rapport(&["branch", "1", "--undo"]);
    undone
        .check(0, &format!("Undone: {id}-02"))
        .check(0, &format!("Undone: {id}-01"))
        .check(0, "01-branch-01");
    assert_eq!(project.changes(), Vec::<String>::new());
    assert!(root.join(".rapport").exists());
    // No changes of the turn are left, so no person is asked.
    project.rapport(&["branch", "01"]).check(0, "01-branch-02");
    project.rapport(&["branch", "1-branch-1"]).check(0, "01-branch-03");
}

/// Killed while the worktree of another try is made: there is no session in it, and `doctor` says how to remove it.
#[test]
fn a_killed_try_in_a_worktree_is_found_and_removed() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let worktrees = project.root().join(".rapport/worktrees");
    let left = || {
        let checks: Value = project.json(&["doctor", "--json"]);
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "branches").cloned();
        check.map(|check| check["advice"].as_str().unwrap().to_owned())
    };
    let mut killed = 0;
    for point in 1.. {
        let mut command = project.command();
        command.args(["branch", "1", "--worktree"]);
        let ran = command.env("RAPPORT_TRIAL_WRITES", format!("/worktrees/:{point}")).output().unwrap();
        if ran.status.success() {
            break;
        }
        assert_eq!(ran.status.signal(), Some(9), "{point}: {ran:?}");
        let made = std::fs::read_dir(&worktrees).into_iter().flatten().flatten();
        let is_any = made.filter(|entry| entry.path().is_dir()).count() > 0;
        let advice = left();
        assert!(advice.is_some() || !is_any || is_used(&worktrees), "{point}: left, and not found");
        for command in advice.iter().flat_map(|advice| advice.lines().skip(1)) {
            project.sh(command).check(0, "");
        }
        assert_eq!(left(), None, "{point}");
        killed += usize::from(advice.is_some());
    }
    assert!(killed > 5, "only {killed} kills left something");
    assert_eq!(left(), None, "what was made as a whole is used");
    assert!(is_used(&worktrees));
}

/// Whether a session works in one of these worktrees.
fn is_used(worktrees: &Path) -> bool {
    let sessions = worktrees.with_file_name("sessions");
    let mut all = std::fs::read_dir(worktrees).into_iter().flatten().flatten();
    all.any(|entry| sessions.join(entry.file_name()).join("log.jsonl").exists())
}

/// Another try in a worktree is applied, and that is undone as a whole.
#[test]
fn another_try_in_a_worktree_is_applied_and_taken_back() {
    let other = plan("Other", &[], &[], &[create("other.txt", "other")]);
    let project = files::project(&[&greeting(), &other]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let before = project.git(&["worktree", "list"]);
    let made: Value = project.json(&["branch", "1", "--worktree", "--json"]);
    let id = made["session"].as_str().unwrap();
    project.rapport(&["plan", "--session", id, "-m", "another way"]).check(0, "Other");
    project.rapport(&["resume", id, "-y"]).check(0, "Completed");
    assert_eq!(project.file("other.txt"), "");
    project.rapport(&["apply", id]).check(0, "Applied to").check(0, "added     other.txt");
    assert_eq!(
        (project.file("other.txt").as_str(), project.file("hello.txt").as_str()),
        ("other\n", "Hello\n")
    );
    assert_eq!(project.git(&["worktree", "list"]), before);
    assert_eq!(project.git(&["for-each-ref", "refs/rapport", "refs/heads/rapport"]), "");
    let refused = project.rapport(&["plan", "--session", id, "-m", "more"]);
    refused.check(3, "its work was applied");
    project.rapport(&["undo", id, "--yes"]).check(0, "removed: other.txt");
    assert_eq!((project.file("other.txt").as_str(), project.file("hello.txt").as_str()), ("", "Hello\n"));
}

#[test]
fn at_a_terminal_one_key_says_where_another_try_begins() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let mut terminal = project.terminal(&["branch", "1"], 100, 30);
    terminal.wait_for("(u)ndo them first / work in a (w)orktree / (k)eep the files as they are / (q)uit ›");
    terminal.send("q");
    terminal.wait_for("left 130");
    assert!(!project.folder().join("01-branch-01").exists());
    let mut terminal = project.terminal(&["branch", "1"], 100, 30);
    terminal.wait_for("(u)ndo them first");
    terminal.send("u");
    terminal.wait_for("left 0");
    assert!(project.folder().join("01-branch-01").exists());
    assert_eq!(project.changes(), Vec::<String>::new());
}

/// Prose is wrapped at blanks; a command is not, so that it can be copied.
#[test]
fn what_does_not_fit_the_terminal_is_wrapped_at_blanks() {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint the fence of the neighbours in a colour that they like");
    let id = project.session();
    for (args, columns) in
        [(&["doctor"][..], 50), (&["log"], 50), (&["status"], 50), (&["resume", "nothing"], 40)]
    {
        let mut terminal = project.terminal(args, columns, 60);
        terminal.wait_for("left ");
        let shown = terminal.text();
        let command = format!("rapport answer {id} --question q1 VALUE");
        // Each word that a command prints without a terminal is on one row here.
        let plain = {
            let ran = project.rapport(args);
            format!("{}{}", ran.out(), ran.err())
        };
        // With a terminal, doctor says something else about it.
        let lines = plain.lines().filter(|line| !line.contains(&command) && !line.contains("terminal  "));
        let words = lines.flat_map(str::split_whitespace);
        // An age is another one a second later.
        let is_age = |word: &str| word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit());
        for word in words.filter(|word| word.chars().count() < 20 && !word.contains("ago") && !is_age(word)) {
            assert!(shown.contains(word), "{word:?} is broken in {args:?}:\n{shown}");
        }
        if args == ["status"] {
            let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
            assert!(raw.contains(&command), "{raw:?}");
        }
    }
}

/// A plan that was run already is refused because its files are there, and what to do is said.
#[test]
fn the_same_plan_again_names_the_undo() {
    let project = Project::with_agent("rehearsal");
    std::fs::write(project.root().join("plan.md"), greeting()).unwrap();
    project.rapport(&["execute", "plan.md", "-y"]).check(0, "Completed");
    let refused = project.rapport(&["execute", "plan.md", "-y"]);
    refused.check(3, "hello.txt already exists").check(3, "undo it first: rapport undo --batch ");
}

#[test]
fn a_name_that_differs_in_case_is_suggested() {
    let project = Project::with_agent("rehearsal");
    std::fs::create_dir(project.root().join("shop")).unwrap();
    std::fs::write(project.root().join("shop/cart.py"), "items = []\n").unwrap();
    let wrong = plan("Edit", &[], &[], &[files::edit("shop/Cart.py", "items", "goods")]);
    std::fs::write(project.root().join("plan.md"), wrong).unwrap();
    let refused = project.rapport(&["execute", "plan.md", "-y"]);
    refused
        .check(3, "shop/Cart.py does not exist")
        .check(3, "There is shop/cart.py; the case of letters counts.");
}

/// The summary of a plan says that a CREATE replaces a file, before a person approves it.
#[test]
fn the_summary_marks_a_file_that_would_be_replaced() {
    let path = "- **File Path:** [README.md](/README.md)\n";
    let replace = create("README.md", "# Another").replace(path, &format!("{path}- **Overwrite:** true\n"));
    let project = files::project(&[&plan("Replace", &[], &[], &[replace, create("a.txt", "a")])]);
    project.plan_turn("one").check(0, "");
    let mut terminal = project.terminal(&["resume"], 80, 24);
    terminal.wait_for("(q)uit ›");
    let shown = terminal.text();
    let marked = shown.lines().find(|line| line.contains("replace")).unwrap_or_else(|| panic!("{shown}"));
    assert!(marked.contains("README.md"), "{shown}");
    // FILE-35: its preview has what is lost.
    terminal.send("m");
    terminal.wait_for("? help");
    terminal.send("\x1b[B");
    terminal.wait_for("❯  ├─[✅] CREATE: README.md");
    terminal.send("p");
    terminal.wait_until("the preview", |shown| shown.contains("- # An app") && shown.contains("+ # Another"));
}

/// FILE-23: who approves an edit whose FIND differs in white space is told so, before anything runs.
#[test]
fn the_review_says_where_white_space_was_not_taken_literally() {
    let plan = plan("Indent", &[], &[], &[edit("code.py", "def a():\n  return 1", "def a():\n  return 2")]);
    let project = files::project(&[&plan]);
    std::fs::write(project.root().join("code.py"), "class A:\n    def a():\n      return 1\n").unwrap();
    project.plan_turn("one").check(0, "");
    let mut terminal = project.terminal(&["resume"], 80, 24);
    terminal.wait_for("(q)uit ›");
    let shown = terminal.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("! EDIT code.py: FIND matches line 2 except for white space"), "{shown}");
    terminal.send("m");
    terminal.wait_for("EDIT:   code.py  · FIND matches line 2");
    terminal.send("\r");
    terminal.wait_for("left 0");
    assert_eq!(project.file("code.py"), "class A:\n    def a():\n      return 2\n");
}

/// FILE-9: what models write, in a whole command: a path from the root of the disk, a numbered heading, a fence whose
/// language names the shell that its command needs, and a language that no shell runs, which is refused before
/// anything is done.
#[test]
fn a_plan_as_models_write_it_is_read_or_refused_by_the_command() {
    let project = Project::with_scenario(ONE_QUESTION);
    let root = project.root().canonicalize().unwrap().display().to_string();
    let written = |fence: &str| {
        let made = create("made.txt", "made").replace("[made.txt](/made.txt)", &format!("{root}/made.txt"));
        // Arrays and [[ ]] are Bash: with the system's plain shell this fails.
        let command = "words=(made txt); [[ ${words[1]} == t?t ]] && cat \"${words[0]}.${words[1]}\"";
        let run = files::run(command).replace("````sh", fence);
        let run = run.replace("### `EXECUTE`", "### Step 2: EXECUTE (optional)");
        plan("Make", &[], &[], &[made, run])
    };
    std::fs::write(project.path("plan.md"), written("````bash")).unwrap();
    let file = project.path("plan.md").display().to_string();
    project.rapport(&["execute", &file, "-y"]).check(0, "2 of 2 actions done");
    assert_eq!(project.file("made.txt"), "made\n");
    std::fs::remove_file(project.root().join("made.txt")).unwrap();
    std::fs::write(project.path("plan.md"), written("````sh")).unwrap();
    assert_ne!(project.rapport(&["execute", &file, "-y"]).code(), 0, "the command needs Bash");
    std::fs::remove_file(project.root().join("made.txt")).unwrap();
    std::fs::write(project.path("plan.md"), written("````python")).unwrap();
    let refused = project.rapport(&["execute", &file, "-y"]);
    assert_ne!(refused.code(), 0);
    refused.check(refused.code(), "python");
    assert_eq!(project.file("made.txt"), "", "nothing was done");
}
