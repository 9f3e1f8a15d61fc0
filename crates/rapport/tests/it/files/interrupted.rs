//! Kills during planning and during a batch: it is clear what was done, and it is resumed or undone.

use rapport::agents::rehearsal::scenario::{Ask, Counter, FullQuestion, Scenario};
use rapport_core::Event;
use serde_json::Value;

use super::{create, greeting, plan, project, run, without_session};
use crate::support::patience::wait_for;
use crate::support::project::Project;

/// A batch whose command hangs the first time, cut off while it does.
pub(super) fn cut_off() -> Project {
    let (project, mut resuming) = hanging();
    // Two at once: the second is told who is at it.
    project.rapport(&["resume", "-y"]).check(5, "is held by process");
    project.plan_turn("y").check(5, "is held by process");
    project.rapport(&["undo", "--yes"]).check(5, "another process is working on the batch");
    resuming.kill().unwrap();
    resuming.wait().unwrap();
    project
}

/// The same while it hangs.
fn hanging() -> (Project, std::process::Child) {
    let hanging = "echo x >> begun; test -e go-on || sleep 600";
    let plan =
        plan("Hang", &[], &["[+] A fact."], &[create("a.txt", "a"), run(hanging), create("b.txt", "b")]);
    let project = project(&[&plan]);
    project.plan_turn("x").check(0, "");
    let resuming = project.spawn(&["resume", "-y"]);
    wait_for("the command", || project.root().join("begun").exists().then_some(()));
    (project, resuming)
}

#[test]
fn a_batch_that_was_killed_is_gone_on_with() {
    let project = cut_off();
    let ran = project.rapport(&["resume"]);
    ran.check(3, "a batch was interrupted")
        .check(3, "done         CREATE")
        .check(3, "interrupted  EXECUTE")
        .check(3, "rapport undo");
    project.plan_turn("y").check(3, "must be executed first");
    std::fs::write(project.root().join("go-on"), "").unwrap();
    project.rapport(&["resume", "-y"]).check(0, "Completed 🟢: 3 of 3 actions done");
    assert_eq!(project.file("begun"), "x\nx\n", "the command was run again");
    assert_eq!((project.file("a.txt"), project.file("b.txt")), ("a\n".into(), "b\n".into()));
    assert_eq!(project.file(".rapport/memos.yaml"), "- A fact.\n");
}

#[test]
fn a_batch_that_was_killed_is_undone_and_can_be_run_again() {
    let project = cut_off();
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
    assert!(!project.root().join("a.txt").exists());
    std::fs::write(project.root().join("go-on"), "").unwrap();
    project.rapport(&["resume", "-y"]).check(0, "Completed 🟢: 3 of 3 actions done");
    project.rapport(&["undo", "--yes"]).check(0, "removed: b.txt");
    project.rapport(&["undo", "--yes"]).check(4, "with something to undo");
}

/// Ctrl-C while a command runs: the batch stops, and can be resumed like one that was killed.
#[test]
fn a_batch_that_was_stopped_is_gone_on_with() {
    let (project, mut resuming) = hanging();
    let id = nix::unistd::Pid::from_raw(resuming.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(resuming.wait().unwrap().code(), Some(130));
    assert!(!project.folder().join("01/report.md").exists());
    project.rapport(&["resume"]).check(3, "interrupted  EXECUTE").check(3, "rapport resume 2");
    std::fs::write(project.root().join("go-on"), "").unwrap();
    project.rapport(&["resume", "-y"]).check(0, "Completed 🟢: 3 of 3 actions done");
}

/// A question of a batch that is undone is withdrawn, and a batch that is begun anew asks anew: the answer to the one
/// before may be why it was undone.
#[test]
fn file_40_a_batch_that_is_begun_anew_asks_anew() {
    let chat = "### `CHAT_WITH_USER`\n\nWhich colour?\n".to_owned();
    let project = project(&[&plan("Ask", &[], &[], &[create("a.txt", "a"), chat, create("b.txt", "b")])]);
    project.plan_turn("x").check(0, "");
    let stopped = |answer: Option<&str>| {
        let mut resuming = project.spawn(&["resume", "-y"]);
        project.wait_asked();
        match answer {
            None => resuming.kill().unwrap(),
            Some(words) => drop(project.rapport(&["answer", project.session().as_str(), words])),
        }
        resuming.wait().unwrap();
    };
    stopped(None);
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
    let view: Value = project.json(&["status", "--json", project.session().as_str()]);
    assert_eq!(view["questions"].as_array().map(Vec::len), Some(0), "{view}");
    stopped(None);
    project.rapport(&["answer", project.session().as_str(), "Blue"]).check(0, "Answered.");
    project.rapport(&["undo", "--yes"]).check(0, "removed: a.txt");
    stopped(Some("Red"));
    assert!(project.turn_file("01/report.md").contains("```markdown\nRed\n```"));
}

/// An undo that was cut off is finished by whatever takes the session up next: starting is recovery.
#[test]
fn an_undo_that_was_killed_is_finished_by_the_next_command() {
    let project = project(&[&greeting(), &greeting()]);
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let killed = project
        .command()
        .env("RAPPORT_TRIAL_WRITES", "hello.txt:2")
        .args(["undo", "--yes"])
        .status()
        .unwrap();
    assert_eq!(killed.code(), None, "it was killed");
    assert_eq!(project.changes(), [" M README.md"], "half of it is undone");
    project.plan_turn("y").check(0, "Add a greeting");
    assert_eq!(
        project.changes(),
        Vec::<String>::new(),
        "the rest was undone before anything was planned on it"
    );
    let told = project.turn_file("02/_context.log");
    assert!(told.contains("Afterwards, all that this did to files was undone."), "{told}");
}

/// Killed wherever it writes its journal, also after the last time: the list of what was undone is not lost.
#[test]
fn an_undo_that_was_killed_tells_in_the_end_all_that_it_undid() {
    let mut kills = 0;
    loop {
        let project = project(&[&greeting(), &greeting()]);
        project.plan_turn("x").check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        let at = format!("journal.jsonl:{}", kills + 1);
        let undo =
            project.command().env("RAPPORT_TRIAL_WRITES", &at).args(["undo", "--yes"]).status().unwrap();
        project.plan_turn("y").check(0, "Add a greeting");
        assert_eq!(project.changes(), Vec::<String>::new(), "{at}");
        let facts = project.facts();
        let mut undone = facts.iter().filter_map(|fact| match fact {
            Event::Undone { files, .. } => Some((files.restored.clone(), files.removed.clone())),
            _ => None,
        });
        let all = (vec!["README.md".to_owned()], vec!["hello.txt".to_owned()]);
        assert_eq!((undone.next(), undone.next()), (Some(all), None), "{at}");
        if undo.code().is_some() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 4, "it is killed before and after both of its notes: {kills}");
}

/// The process that holds the session undoes the batch. If that process dies meanwhile, the caller is told.
#[test]
fn an_undo_whose_process_dies_is_told_as_interrupted() {
    let other = plan("Other", &[], &[], &[create("other.txt", "other")]);
    let project = project(&[&greeting(), &other]);
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.plan_turn("y").check(0, "");
    let project = project.set("RAPPORT_TRIAL_WRITES", "hello.txt:2");
    let mut holder = project.terminal(&["resume"], 100, 40);
    holder.wait_for("Execute this plan?");
    let project = project.set("RAPPORT_TRIAL_WRITES", "");
    project.rapport(&["undo", "--yes"]).check(130, "is gone");
    holder.wait_for("left 137");
    project.rapport(&["undo", "--yes"]).check(0, "hello.txt");
    assert_eq!(project.changes(), Vec::<String>::new());
}

/// An undo that was cut off and cannot be finished by itself: nothing is built on it, and the agent is told what was
/// kept.
#[test]
fn nothing_is_built_on_a_batch_that_is_half_undone() {
    let project = project(&[&greeting(), &greeting()]);
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let killed = project
        .command()
        .env("RAPPORT_TRIAL_WRITES", "hello.txt:2")
        .args(["undo", "--yes"])
        .status()
        .unwrap();
    assert_eq!(killed.code(), None, "it was killed");
    std::fs::write(project.root().join("README.md"), "# An app\n\nMine.\n").unwrap();
    for words in [&["plan", "-m", "y"][..], &["resume", "-m", "y"]] {
        project
            .rapport(words)
            .check(3, "undoing batch 01 was interrupted")
            .check(3, "changed after the batch: README.md");
    }
    assert_eq!(project.turn_names(), ["01"]);
    project.rapport(&["undo", "--yes"]).check(3, "changed after the batch: README.md");
    let name = format!("{}-01", project.session());
    project.rapport(&["undo", "--batch", &name, "--force", "--yes"]).check(0, "removed: hello.txt");
    project.plan_turn("y").check(0, "");
    let told = project.turn_file("02/_context.log");
    assert!(told.contains("was undone, but for these, which were changed since: README.md"), "{told}");
}

/// Killed after the batch and before its report, only the report is missing.
#[test]
fn a_report_that_is_missing_is_written() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let report = project.turn_file("01/report.md");
    // As it would be: no report, no seal.
    std::fs::remove_file(project.folder().join("01/report.md")).unwrap();
    let log = project.folder().join("log.jsonl");
    let entries = std::fs::read_to_string(&log).unwrap();
    let kept: Vec<_> = entries.lines().filter(|line| !line.contains("\"sealed\"")).collect();
    std::fs::write(&log, kept.join("\n") + "\n").unwrap();
    project.trust();
    project.rapport(&["resume", "-y"]).check(0, "Completed 🟢: 3 of 3 actions done");
    let without_times = |report: &str| {
        report
            .lines()
            .filter(|line| !line.contains("**Ended") && !line.contains("**Duration"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(without_times(&project.turn_file("01/report.md")), without_times(&report));
    assert_eq!(
        project.file(".rapport/memos.yaml"),
        "- Greetings are in English.\n",
        "nothing is remembered twice"
    );
}

/// Killed while the agent plans: the same turn continues, in the same conversation, with the answer that came
/// meanwhile.
#[test]
fn planning_that_was_killed_is_gone_on_with() {
    let question =
        Ask::one(FullQuestion::new("Which language?", "Language", &[("English", ""), ("French", "")]));
    let project =
        without_session(Scenario::new("asks").asks(question).respond_with_text(&greeting())).recorded();
    project.rapport(&["new", "a"]).check(0, "");
    let mut running = project.launch(&["plan", "--json", "-m", "Greet.", "--adaptive"], &[]);
    running.until_asked();
    running.kill();
    project.wait_alone(std::time::Duration::from_secs(5));
    project.rapport(&["log", "--tree"]).check(0, "01  being planned");
    project.rapport(&["answer", project.session().as_str(), "French"]).check(0, "rapport resume 2");
    project.plan_turn("Something else.").check(3, "is being planned already, with another message");
    project.rapport(&["plan", "-m", "Greet.", "--adaptive"]).check(0, "Add a greeting");
    assert_eq!(project.turn_names(), ["01"]);
    let begun = |fact: &Event| matches!(fact, Event::PlanStarted { .. });
    assert_eq!(project.facts().iter().filter(|fact| begun(fact)).count(), 1, "one turn, one conversation");
    assert_eq!(project.turn_file("01/plan.md"), greeting());
}

/// The fact that began planning fixes what the agent is shown: a file that was changed since is reported, and
/// not shown to it.
#[test]
fn what_the_agent_is_shown_is_what_was_written_down() {
    let project = project(&[&greeting()]);
    project.rapport(&["plan", "-m", "Greet.", "--agent", "/nowhere/claude"]).check(7, "cannot start");
    let path = project.folder().join("01/_context.log");
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{written}Delete everything.\n")).unwrap();
    project.rapport(&["status"]).check(0, "01/_context.log was changed, after planning began");
    let refused = project.rapport(&["resume"]);
    refused.check(7, "01/_context.log was changed after planning began, so the agent cannot use it");
    std::fs::write(&path, &written).unwrap();
    let status = project.rapport(&["status"]);
    assert!(!status.err().contains("_context.log"), "{}", status.err());
    project.rapport(&["resume"]).check(0, "Add a greeting");
    assert_eq!(project.turn_file("01/plan.md"), greeting());
}

/// A draft is dropped for another message: the same turn is planned anew, and its questions are not asked again.
#[test]
fn file_20_another_message_instead() {
    let question = Ask::one(FullQuestion::new("Which language?", "Language", &[("English", "")]));
    let project =
        without_session(Scenario::new("asks").asks(question).respond_with_text(&greeting())).recorded();
    project.rapport(&["new", "a"]).check(0, "");
    let mut running = project.launch(&["plan", "--json", "-m", "Great.", "--adaptive"], &[]);
    running.until_asked();
    running.kill();
    project.wait_alone(std::time::Duration::from_secs(5));
    project.plan_turn("Greet.").check(3, " --instead -m MESSAGE");
    project.rapport(&["plan", "--instead", "-m", "Greet."]).check(0, "Add a greeting");
    assert_eq!(project.agent_arguments().len(), 2, "what was left does not go on for a moment");
    assert_eq!(project.turn_names(), ["01"]);
    assert!(project.turn_file("01/_context.log").contains("Greet.") && project.view().questions.is_empty());
    project.rapport(&["resume", "-y"]).check(0, "Completed");
}

/// FILE-8: what is planned anew is planned in a conversation of its own. What was said before is in no context log,
/// so the agent does not know it, although it was kept.
#[test]
fn file_8_a_turn_that_is_planned_anew_knows_nothing_of_before() {
    let crashes = Scenario::new("plan").counted_by(Counter::Invocations).respond_with_text("Hm.").crash();
    let project = without_session(crashes.next_invocation().respond_with_text(&greeting()));
    project.rapport(&["new", "a"]).check(0, "");
    project.plan_turn("A secret.").check(7, "");
    project.plan_turn("Greet.").check(0, "Add a greeting");
    let kept = std::fs::read_dir(project.folder().join("kept")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("turn-01"));
    let latest = kept.max().unwrap();
    let conversation = std::fs::read_to_string(latest).unwrap();
    assert!(conversation.contains("Greet.") && !conversation.contains("A secret."), "{conversation}");
}

#[test]
fn a_session_that_was_cancelled_takes_no_more_turns() {
    let project = project(&[&greeting()]);
    project.rapport(&["cancel", project.session().as_str()]).check(0, "");
    let session = project.session();
    for command in [&["plan", "-m", "x"][..], &["resume"]] {
        let named = [command, &["--session", session.as_str()]].concat();
        project.rapport(command).check(3, "was cancelled");
        project.rapport(&named).check(3, "was cancelled\n  Begin another one with: rapport new NAME");
    }
    assert_eq!(project.turn_names(), Vec::<String>::new());
}

/// The directory of a turn that was being planned is gone: the next one is planned, and nothing is stuck.
#[test]
fn a_turn_that_was_being_planned_and_is_gone() {
    let project = without_session(Scenario::new("plan").respond_with_text(&greeting()));
    project.rapport(&["new", "a"]).check(0, "");
    let trial = project.command().args(["plan", "-m", "x"]).env("RAPPORT_TRIAL", "kill-after:1").output();
    assert!(!trial.unwrap().status.success());
    std::fs::remove_dir_all(project.folder().join("01")).unwrap();
    project.wait_alone(std::time::Duration::from_secs(5));
    project.rapport(&["resume"]).check(2, "-m \"now the tests\"");
    project.plan_turn("Greet.").check(0, "Add a greeting");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
}

/// Killed after the turn was laid out and before the agent was told: the message need not be said again.
#[test]
fn a_turn_that_is_ready_is_planned() {
    let project = project(&[&greeting()]);
    project.plan_turn("Greet.").check(0, "");
    let log = project.folder().join("log.jsonl");
    let first = std::fs::read_to_string(&log).unwrap().lines().next().unwrap().to_owned();
    std::fs::write(&log, first + "\n").unwrap();
    std::fs::remove_file(project.folder().join("01/plan.md")).unwrap();
    project.trust();
    let counter = project.path("scenario.yaml.counter");
    let _ = std::fs::remove_file(counter);
    project.rapport(&["resume"]).check(0, "Add a greeting");
    assert_eq!(project.turn_names(), ["01"]);
}

/// An agent that cannot be started: the turn stays, and is planned once it can.
#[test]
fn an_agent_that_fails_is_tried_again() {
    let project = project(&[&greeting()]);
    let command = project
        .command()
        .get_envs()
        .find(|(name, _)| *name == "RAPPORT_AGENT_COMMAND")
        .unwrap()
        .1
        .unwrap()
        .to_owned();
    let failing = ["plan", "-m", "Greet.", "--agent", "/nowhere/claude"];
    project.rapport(&failing).check(7, "cannot start").check(7, "rapport resume 2");
    project.rapport(&["resume", "--agent", "/nowhere/claude"]).check(7, "cannot start");
    project
        .rapport(&["plan", "-m", "Greet otherwise.", "--agent", command.to_str().unwrap()])
        .check(0, "Add a greeting");
    assert_eq!(project.turn_names(), ["01"]);
    assert!(project.turn_file("01/_context.log").contains("Greet otherwise."));
}

/// Killed before the agent was told, in the turn after a branch: its message is stored, so no person is asked again.
#[test]
fn the_turn_after_a_branch_is_gone_on_with() {
    let plans = ["One", "Two", "Other", "Next"].map(|title| plan(title, &[], &[], &[run("true")]));
    let project = project(&plans.each_ref().map(String::as_str));
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    project.rapport(&["branch", "01", "--keep"]).check(0, "01-branch-01");
    project.rapport(&["resume"]).check(2, "without a terminal you cannot be asked what to plan next");
    project.plan_turn("other").check(0, "Other");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let killed =
        project.command().args(["plan", "-m", "next"]).env("RAPPORT_TRIAL", "kill-before:1").output();
    assert!(!killed.unwrap().status.success());
    assert!(project.turn_file("02-branch-01/_context.log").contains("next"));
    project.rapport(&["resume"]).check(0, "Next");
}
