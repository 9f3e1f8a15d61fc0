//! The results of a plan's actions: in order, up to the first failure, and what each adds to the report.

use serde_json::Value;

use super::{create, delete, edit, greeting, move_file, plan, planning, project, run, without_session};
use crate::support::patience::wait_for;
use crate::support::project::Project;

fn heading(name: &str, parameters: &[(&str, &str)], body: &str) -> String {
    let list: String = parameters.iter().map(|(name, value)| format!("- **{name}:** {value}\n")).collect();
    format!("### `{name}`\n\n{list}\n{body}\n")
}

// FILE-40: every kind of action; a message to a person is a question of the session, answered from elsewhere.
#[test]
fn file_40_every_action_is_carried_out_and_reported() {
    let all = plan(
        "Everything",
        &[],
        &[],
        &[
            create("new.txt", "made"),
            heading("READ", &[("Resource", "[README.md](/README.md)")], ""),
            edit("README.md", "An app", "The app"),
            run("echo from-the-command"),
            heading("RESEARCH", &[], "```text\nbest greeting\n```"),
            heading("CHAT_WITH_USER", &[], "Ship it **today**?"),
            heading("INVOKE", &[("Agent", "Reviewer")], "Review the greeting."),
        ],
    );
    let reviewing = plan("Review it", &[], &[], &[create("review.txt", "Good.")]);
    let project = project(&[&all, &reviewing]).set("RAPPORT_RESEARCH_COMMAND", "echo found:");
    std::fs::create_dir(project.root().join(".rapport/agents")).unwrap();
    std::fs::write(project.root().join(".rapport/agents/reviewer.md"), "You review.\n").unwrap();
    project.plan_turn("all of it").check(0, "CHAT_WITH_USER");
    let session = project.session();
    let resuming = project.spawn(&["resume", "-y"]);
    let question = wait_for("a question", || {
        let view: Value = project.json(&["status", "--json", session.as_str()]);
        view["questions"].as_array()?.first().cloned()
    });
    assert_eq!(question["text"], "Ship it **today**?");
    project.rapport(&["answer", session.as_str(), "Tomorrow, after tests"]).check(0, "Answered.");
    let ran = crate::support::project::Ran(resuming.wait_with_output().unwrap());
    ran.check(0, "Completed 🟢: 7 of 7 actions done").check(0, "Session ").check(0, "Review it");
    let report = std::fs::read_to_string(
        project.root().join(".rapport/sessions").join(session.as_str()).join("01/report.md"),
    )
    .unwrap();
    for part in [
        "# An app",
        "from-the-command",
        "found: best greeting",
        "Tomorrow, after tests",
        "- **Agent:** Reviewer",
        "-reviewer",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let other = project.rapport(&["log", "--tree", "reviewer"]);
    other.check(0, "01  waits for review");
    let sessions = project.root().join(".rapport/sessions");
    let reviewer = std::fs::read_dir(sessions)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with("-reviewer"));
    let shown = std::fs::read_to_string(reviewer.unwrap().join("01/_context.log")).unwrap();
    assert!(shown.contains("You review.") && shown.contains("Review the greeting."), "{shown}");
}

/// Where no command is configured, the agent itself searches, with nothing but the tools for that.
#[test]
fn file_40_the_agent_searches_where_no_command_does() {
    let searching = plan("Look it up", &[], &[], &[heading("RESEARCH", &[], "```text\nbest greeting\n```")]);
    let project = project(&[&searching, "Hello is best."]).recorded();
    project.plan_turn("search").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    assert!(
        project.turn_file("01/report.md").contains("Hello is best."),
        "{}",
        project.turn_file("01/report.md")
    );
    let searched = project.agents().pop().unwrap();
    assert!(searched.windows(2).any(|pair| pair == ["--allowedTools", "WebSearch,WebFetch"]), "{searched:?}");
    let asked = project.agent_inputs().concat().pop().unwrap();
    assert!(asked["message"]["content"].as_str().unwrap().contains("- best greeting\n"), "{asked}");
}

/// After a failure nothing more is done; the report says so, the next turn is free, and all of it can be undone.
#[test]
fn a_failure_halts_the_batch_and_undo_takes_it_back() {
    let failing = plan(
        "Fail",
        &[],
        &[],
        &[
            create("dir/one.txt", "1"),
            edit("README.md", "An app", "No app"),
            run("echo broken; exit 3"),
            create("two.txt", "2"),
        ],
    );
    let project = project(&[&failing, &greeting()]);
    project.plan_turn("x").check(0, "");
    project
        .rapport(&["resume", "-y"])
        .check(1, "rapport undo")
        .check(1, "Failed 🔴: 2 of 4 actions done, 1 failed, 1 skipped");
    assert_eq!(project.changes(), [" M README.md", "?? dir/one.txt"]);
    let report = project.turn_file("01/report.md");
    for part in ["Overall Status:** Failed 🔴", "exit code 3", "broken", "Skipped 🟡"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    std::fs::write(project.root().join("README.md"), "# Mine now\n").unwrap();
    project.rapport(&["undo", "--yes"]).check(3, "changed after the batch: README.md").check(3, "--force");
    assert!(project.root().join("dir/one.txt").exists(), "nothing was undone");
    let undone: Value = project.json(&["undo", "--force", "--json", "--yes"]);
    assert_eq!((&undone["removed"][0], &undone["kept"][0]), (&"dir/one.txt".into(), &"README.md".into()));
    assert_eq!(undone["remaining"].as_array().unwrap().len(), 1, "{undone}");
    assert_eq!(project.changes(), [" M README.md"]);
    project.rapport(&["undo", "--yes"]).check(4, "with something to undo");
    project.rapport(&["log", "--tree"]).check(0, "01  Failed 🔴, undone  Fail");
    project.git(&["checkout", "--quiet", "README.md"]);
    project.plan_turn("again").check(0, "Add a greeting");
    assert!(project.turn_file("02/_context.log").contains("all that this did to files was undone"));
}

/// A plan that is not valid is reported, so that nothing is blocked; it is made again only with a person's consent.
#[test]
fn a_plan_that_is_not_valid_is_reported_and_planned_again_with_consent() {
    let bad = plan("Bad", &[], &[], &[edit("missing.txt", "a", "b")]);
    let project = project(&[&bad, "no plan at all", &bad, &greeting()]);
    project
        .plan_turn("Greet.")
        .check(3, "missing.txt does not exist")
        .check(3, " | ### `EDIT`")
        .check(3, "rapport plan --session 2");
    assert!(project.turn_file("01/report.md").contains("Overall Status:** Validation Failed"));
    project.rapport(&["plan", "-m", "Greet again.", "--replan"]).check(0, "Add a greeting");
    assert_eq!(project.turn_names(), ["01", "02", "03", "04"]);
    for turn in ["02", "03"] {
        assert!(project.turn_file(&format!("{turn}/report.md")).contains("Validation Failed"), "{turn}");
    }
    assert!(project.turn_file("02/meta.yaml").contains("is_replan: false"));
    assert!(project.turn_file("04/meta.yaml").contains("is_replan: true"));
    let told = project.turn_file("04/_context.log");
    for part in ["missing.txt does not exist", "# Bad", "Greet again."] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("## 6. Previous Report"), "what was wrong is in the message");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
}

#[test]
fn planning_again_has_an_end() {
    let project = project(&["nothing", "nothing", "nothing", "nothing", &greeting()]);
    project.rapport(&["plan", "-m", "x", "--replan"]).check(3, "the plan of turn 04 cannot be carried out");
    assert_eq!(project.turn_names(), ["01", "02", "03", "04"]);
}

/// The agent may ask first, where it is allowed to; nothing is lost on the way.
#[test]
fn file_20_the_agent_may_ask_first() {
    use rapport::agents::rehearsal::scenario::{Ask, FullQuestion, Scenario};
    let question =
        Ask::one(FullQuestion::new("Which language?", "Language", &[("English", ""), ("French", "")]));
    let asking = || Scenario::new("asks").asks(question.clone()).respond_with_text(&greeting());
    let project = without_session(asking()).recorded();
    project.rapport(&["new", "a"]).check(0, "");
    project.plan_turn("Greet.").check(0, "Add a greeting");
    let project = without_session(asking());
    project.rapport(&["new", "a"]).check(0, "");
    let mut running = project.launch(&["plan", "--json", "-m", "Greet.", "--adaptive"], &[]);
    running.until_asked();
    project.rapport(&["answer", project.session().as_str(), "French"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.turn_names(), ["01"]);
    assert_eq!(project.turn_file("01/plan.md"), greeting());
}

/// A session of files begins without an agent, so what is said about the agent when a turn is planned counts from
/// then on, also in a later command that does not say it.
#[test]
fn what_is_said_about_the_agent_counts_for_a_session_that_exists() {
    use rapport::agents::rehearsal::scenario::{Ask, FullQuestion, Scenario};
    use rapport_core::Event;
    let question =
        |text: &str| Ask::one(FullQuestion::new(text, "Language", &[("English", ""), ("French", "")]));
    let asking = Scenario::new("asks").asks(question("Which language?")).asks(question("Which tone?"));
    let project = without_session(asking.respond_with_text(&greeting()));
    project.rapport(&["new", "a"]).check(0, "");
    let parked = |fact: &Event| matches!(fact, Event::Parked { .. });
    let mut running = project.launch(&["plan", "--json", "-m", "Greet.", "--adaptive", "--hot", "0s"], &[]);
    running.until(parked);
    project.wait_alone(std::time::Duration::from_secs(5));
    project.rapport(&["log", "a"]).check(0, "changes the terms: a waiting agent is kept for 0s");
    running.kill();
    project.rapport(&["answer", "a", "French"]).check(0, "Answered.");
    let mut running = project.launch(&["resume", "--json", "a"], &[]);
    running.until_asked();
    running.until(parked);
    project.rapport(&["answer", "a", "English"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.turn_file("01/plan.md"), greeting());
    let changes = |project: &Project| {
        project.facts().iter().filter(|fact| matches!(fact, Event::TermsChanged { .. })).count()
    };
    assert_eq!(changes(&project), 1);

    // How many rounds it may ask is such a thing, and said twice it is no change.
    let project =
        without_session(Scenario::new("asks").asks(question("Which?")).respond_with_text(&greeting()));
    project.rapport(&["new", "a"]).check(0, "");
    project.rapport(&["plan", "-m", "Greet.", "--adaptive", "--max-rounds", "0"]).check(0, "Add a greeting");
    project.rapport(&["resume", "-y", "--max-rounds", "0"]).check(0, "Completed");
    assert_eq!(changes(&project), 1);
    project.rapport(&["resume", "--max-rounds", "2"]).check(2, "what to plan next");
    assert_eq!(changes(&project), 2);
}

#[test]
fn the_agent_cannot_change_anything_while_it_plans() {
    let project = without_session(planning(&[&greeting()])).recorded();
    project.rapport(&["new", "a"]).check(0, "");
    project.plan_turn("Greet.").check(0, "");
    let words = project.agents().pop().unwrap();
    let off = words.windows(2).find(|pair| pair[0] == "--disallowedTools").unwrap();
    for tool in ["Edit", "Write", "Bash"] {
        assert!(off[1].split(',').any(|name| name == tool), "{tool}: {off:?}");
    }
}

/// A session is not taken for another whose name begins like its own.
#[test]
fn undo_keeps_to_the_session_that_is_named() {
    let plans = ["one.txt", "two.txt"].map(|path| plan("Note", &[], &[], &[create(path, "x")]));
    let project = project(&plans.each_ref().map(String::as_str));
    let first = project.session();
    for name in [format!("{first}"), format!("{first}-2")] {
        if name != first.as_str() {
            project.rapport(&["new", "add-greeting"]).check(0, &name);
        }
        project.rapport(&["plan", "-m", "Note it.", "--session", &name]).check(0, "");
        project.rapport(&["resume", "-y", "--session", &name]).check(0, "Completed");
    }
    let undone: Value = project.json(&["undo", "--json", "--session", first.as_str(), "--yes"]);
    assert_eq!(undone["batch"], format!("{first}-01"));
}

/// A name of digits alone does not make a session's batch one that was run outside of any session.
#[test]
fn undo_names_the_batch_of_a_session_whose_name_is_a_number() {
    let note = plan("Note", &[], &[], &[create("one.txt", "x")]);
    let project = without_session(planning(&[&note]));
    project.rapport(&["new", "2026"]).check(0, "");
    project.plan_turn("Note it.").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    let undone: Value = project.json(&["undo", "--json", "--yes"]);
    assert_eq!(undone["batch"], format!("{}-01", project.session()));
}

/// The content of a file proves no decision: a plan that was changed counts once a person accepts it, and the
/// acceptance is a fact.
#[test]
fn a_plan_that_was_changed_counts_when_it_is_accepted() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    let path = project.folder().join("01/plan.md");
    std::fs::write(&path, greeting().replace("hello.txt", "moin.txt")).unwrap();
    let ran = project.rapport(&["resume", "-y"]);
    ran.check(3, "01/plan.md differs from the plan").check(3, "--accept-changes").check(3, "moin.txt");
    assert_eq!(project.changes(), Vec::<String>::new());
    project.rapport(&["resume", "-y", "--accept-changes"]).check(0, "Completed");
    assert_eq!(project.changes(), [" M README.md", "?? moin.txt"]);
    let accepted = |fact: &rapport_core::Event| matches!(fact, rapport_core::Event::PlanAccepted { .. });
    assert_eq!(project.facts().iter().filter(|fact| accepted(fact)).count(), 1);
}

/// The same in a terminal: the difference is shown, and what was planned can be brought back.
#[test]
fn a_plan_that_was_changed_is_restored() {
    let project = project(&[&greeting()]);
    project.plan_turn("x").check(0, "");
    std::fs::write(project.folder().join("01/plan.md"), "# Nothing\n").unwrap();
    let mut terminal = project.terminal(&["resume"], 100, 40);
    terminal.wait_for("(u)se the file as it is now / (r)estore it / (q)uit ›");
    terminal.send("r\n");
    terminal.wait_for("(a)pprove all");
    terminal.send("a");
    terminal.wait_for("left 0");
    assert_eq!(project.turn_file("01/plan.md"), greeting());
    assert_eq!(project.file("hello.txt"), "Hello\n");
}

/// A cancelled session has nothing more to do, but its changes can still be undone.
#[test]
fn a_batch_of_a_cancelled_session_is_undone() {
    let note = plan("Note", &[], &[], &[create("one.txt", "x")]);
    let project = without_session(planning(&[&note]));
    project.rapport(&["new", "cancelled"]).check(0, "");
    project.plan_turn("Note it.").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.rapport(&["cancel"]).check(0, "");
    project.rapport(&["undo", "--yes"]).check(0, "Undone");
    assert!(!project.root().join("one.txt").exists());
}

/// `rapport diff` shows what the batches of a session changed, over all of its turns, and nothing once that is undone.
#[test]
fn the_diff_of_a_session_is_what_its_batches_changed() {
    let more = plan("More", &[], &[], &[edit("README.md", "# A friendly app", "# A friendlier app")]);
    let project = project(&[&greeting(), &more]);
    project.rapport(&["diff", "add-greeting"]).check(0, "");
    for message in ["Greet.", "More."] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "");
    }
    let diff = project.rapport(&["diff", "add-greeting"]);
    diff.check(0, "-# An app\n+# A friendlier app\n").check(0, "+++ hello.txt").check(0, "+Hello");
    assert!(!diff.out().contains("A friendly app"), "{}", diff.out());
    project.rapport(&["undo", "--yes"]).check(0, "restored: README.md");
    project.rapport(&["diff"]).check(0, "-# An app\n+# A friendly app\n");
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt");
    assert_eq!(project.rapport(&["diff", "add-greeting"]).check(0, "").out(), "");
}

/// The log of a session of files says what ran: not only how many, but which, and which turn of its directories it is
/// about.
#[test]
fn the_log_names_what_was_approved_run_and_undone() {
    let project = project(&[&greeting()]);
    project.plan_turn("Greet.").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt");
    let log = project.rapport(&["log"]);
    for words in [
        "the agent begins the plan of turn 01\n",
        "the agent has made the plan\n",
        "approves 3 of 3 actions of turn 01, as batch ",
        "action 1 (CREATE hello.txt) is done\n",
        "action 2 (EDIT README.md) is done\n",
        "action 3 (EXECUTE cat hello.txt) is done\n",
        "wants batch ",
        "is undone: 2 files restored",
    ] {
        log.check(0, words);
    }
    assert!(!log.out().contains("turn 1 "), "two ways of counting turns: {}", log.out());
}

/// Processes that a command leaves running are ended, and the output says how many.
#[test]
fn processes_that_a_command_leaves_running_are_told() {
    let project = Project::with_agent("rehearsal");
    let leaves = plan("Leave", &[], &[], &[run("sleep 600 & sleep 600 & true"), run("true")]);
    let ran = project.rapport_reading(&["execute", "-", "-y"], leaves.as_bytes());
    ran.check(0, "2 of 2 actions done");
    ran.check(0, "✓ EXECUTE sleep 600 & sleep 600 & true: 2 processes it left running were ended\n");
    ran.check(0, "✓ EXECUTE true\n");
}

/// A plan that deletes, moves, and has a command change files that git knows, and some that it does not.
fn tidying() -> (String, [&'static str; 6]) {
    let command = run("echo made > made.txt; echo changed > kept.txt; rm gone.txt");
    let actions = [delete("old.txt"), move_file("README.md", "docs/README.md"), command];
    let changes =
        [" D README.md", " D gone.txt", " M kept.txt", " D old.txt", "?? docs/README.md", "?? made.txt"];
    (plan("Tidy up", &[], &[], &actions), changes)
}

fn with_old_files(project: &Project) {
    for name in ["old.txt", "kept.txt", "gone.txt"] {
        std::fs::write(project.root().join(name), format!("{name}\n")).unwrap();
    }
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
}

// FILE-35: DELETE, MOVE and what a command did to files, run and undone by whole commands, in a session and outside
// of one.
#[test]
fn file_35_what_is_deleted_moved_and_done_by_commands_is_undone_by_the_command() {
    let (tidy, changes) = tidying();
    let project = project(&[&tidy]);
    with_old_files(&project);
    project.plan_turn("Tidy up.").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "3 of 3 actions done");
    assert_eq!(project.changes(), changes);
    let undone = project.rapport(&["undo", "--yes"]);
    undone.check(0, "restored: old.txt").check(0, "removed: made.txt");
    assert_eq!(project.changes(), Vec::<String>::new());

    std::fs::write(project.path("plan.md"), &tidy).unwrap();
    let file = project.path("plan.md").display().to_string();
    let mut terminal = project.terminal(&["execute", &file], 100, 30);
    terminal.wait_for("(q)uit");
    terminal.insist("a", "the end of the run", |shown| shown.contains("3 of 3 actions done"));
    terminal.wait_for("left 0");
    assert_eq!(without_report(&project), changes);
    let mut terminal = project.terminal(&["undo"], 100, 30);
    terminal.wait_for("(y)es / (n)o ›");
    terminal.insist("y", "the end of the undo", |shown| shown.contains("restored: old.txt"));
    terminal.wait_for("left 0");
    assert_eq!(without_report(&project), Vec::<String>::new());
}

/// What git sees as changed, without the report that `execute` writes where one is.
fn without_report(project: &Project) -> Vec<String> {
    project.changes().into_iter().filter(|line| !line.ends_with(" report.md")).collect()
}

/// A command that opens an editor ends at once and says what to do, whatever the person's editor is.
#[test]
fn a_commit_that_is_amended_does_not_wait_for_an_editor() {
    let amend =
        |flags: &str| run(&format!("echo more > more.txt && git add more.txt && git commit --amend{flags}"));
    let hangs = "sh -c 'sleep 600'";
    let project = Project::with_agent("rehearsal").set("EDITOR", hangs).set("VISUAL", hangs);
    let project = project.set("GIT_EDITOR", hangs).set("GIT_SEQUENCE_EDITOR", hangs);
    for (key, value) in [("user.name", "Anna"), ("user.email", "anna@localhost")] {
        project.git(&["config", key, value]);
    }
    let before = project.git(&["rev-list", "--count", "HEAD"]);
    let amending = |flags: &str| plan("Amend", &[], &[], &[amend(flags)]);
    let ran = project.rapport_reading(&["execute", "-", "-y"], amending("").as_bytes());
    ran.check(1, "Please supply the message using either -m or -F option.");
    let ran = project.rapport_reading(&["execute", "-", "-y"], amending(" --no-edit").as_bytes());
    ran.check(0, "1 of 1 actions done");
    assert_eq!(project.git(&["rev-list", "--count", "HEAD"]), before);
    assert!(project.git(&["show", "--stat", "--format=", "HEAD"]).contains("more.txt"));
}
