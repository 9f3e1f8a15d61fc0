//! A session from its first turn on: what is made, in which order, and which acts are refused.

use rapport_core::Event;
use serde_json::Value;

use super::{create, greeting, plan, planning, project, without_session};
use crate::support::project::Project;

// FILE-2, FILE-3, FILE-17: the directory, its name, what is in it, what is printed.
#[test]
fn file_17_a_session_begins() {
    let project = Project::with_agent("rehearsal");
    let ran = project.rapport(&["new", "add-user-auth"]);
    ran.check(0, "-add-user-auth\n");
    let path = ran.out().trim().to_owned();
    let name = path.rsplit('/').next().unwrap();
    assert_eq!(path, project.root().join(".rapport/sessions").join(name).display().to_string());
    assert!(
        name.len() == "20260124-add-user-auth".len() && name[..8].bytes().all(|b| b.is_ascii_digit()),
        "{name}"
    );
    for file in ["global.context", "memos.yaml", &format!("sessions/{name}/session.context")] {
        assert!(project.root().join(".rapport").join(file).is_file(), "{file}");
    }
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- mine\n").unwrap();
    project
        .rapport(&["new", "Add User: Auth"])
        .check(0, "the name becomes add-user-auth")
        .check(0, "-add-user-auth-2\n");
    assert_eq!(project.file(".rapport/memos.yaml"), "- mine\n", "the existing file stays");
    for bad in ["", "..", "con", "🎉"] {
        project.rapport(&["new", bad]).check(2, "cannot be the name of a session");
    }
    let made: Value = project.json(&["new", "third", "--json"]);
    assert!(made["path"].as_str().unwrap().ends_with(made["session"].as_str().unwrap()));
}

/// A turn that is not there is not passed over because another one is being planned.
#[test]
fn a_wrong_turn_is_named_before_the_agent_goes_on() {
    let project = Project::with_agent("no-such-agent");
    project.rapport(&["new", "greet"]).check(0, "");
    project.rapport(&["resume"]).check(2, "no plan waits for review");
    project.rapport(&["log", "--tree"]).check(0, "no turns yet; plan the first with: rapport plan --session");
    project.plan_turn("Greet.").check(7, "Failed while the turn was being planned");
    project.rapport(&["log", "--tree"]).check(0, "01  planning failed");
    project.rapport(&["resume", "--turn", "09"]).check(4, "there is no turn 09");
    project.rapport(&["resume", "--turn", "nonsense"]).check(4, "there is no turn nonsense");
    project.rapport(&["resume", "--turn", "01"]).check(7, "cannot start no-such-agent");
}

// FILE-1, FILE-6, FILE-9, FILE-10, FILE-11, FILE-18, FILE-20, FILE-22, FILE-23, FILE-25, FILE-27, FILE-29: one whole
// turn.
#[test]
fn file_20_a_turn_from_message_to_report() {
    let project = project(&[&greeting()]);
    project
        .plan_turn("Greet whoever comes.")
        .check(0, "Turn 01 is shown about")
        .check(0, "▶ Plan: \"Add a greeting\"")
        .check(0, "rapport resume 2");
    assert_eq!(project.names_in("01"), ["_context.log", "meta.yaml", "plan.md", "turn.context"]);
    assert_eq!(project.turn_file("01/plan.md"), greeting(), "what the agent said, as it said it");
    assert_eq!(project.changes(), Vec::<String>::new(), "nothing is done before it is approved");
    project.rapport(&["resume", "-y"]).check(0, "Completed 🟢: 3 of 3 actions done");
    assert_eq!(project.turn_file("01/plan.md"), greeting(), "it is read and never written");
    assert_eq!(project.changes(), [" M README.md", "?? hello.txt"], "nothing but what was approved");
    assert_eq!(
        (project.file("README.md"), project.file("hello.txt")),
        ("# A friendly app\n".into(), "Hello\n".into())
    );
    assert_eq!(project.file(".rapport/memos.yaml"), "- Greetings are in English.\n");
    let report = project.turn_file("01/report.md");
    for part in [
        "# Execution Report: Add a greeting",
        "- **Overall Status:** Completed 🟢",
        "- **Original Plan:** [plan.md](plan.md)",
        "- **Actions:** 3 Total / 3 Approved / 0 Skipped",
        "+# A friendly app",
        "- **Exit Code:** 0",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let meta = project.turn_file("01/meta.yaml");
    for line in [
        "turn_id: \"01\"",
        "parent_turn_id: null",
        "agent_name: rehearsal",
        "model: claude-rehearsal-1",
        "is_replan: false",
    ] {
        assert!(meta.contains(line), "{line}: {meta}");
    }
    assert!(meta.contains("turn_cost: 0.005"), "{meta}");
    assert!(
        project.facts().iter().any(|fact| matches!(fact, Event::Sealed { folder, .. } if folder == "01"))
    );
}

// FILE-9: what the agent said is kept byte for byte, with whatever a reader of plans would pass over.
#[test]
fn file_9_the_plan_is_what_the_agent_said() {
    let odd = format!("Here is the plan.\n\n{}\n\u{1f600} That is all.  \n\n\n", greeting());
    let project = project(&[&odd]);
    project.plan_turn("Greet.").check(0, "Add a greeting");
    assert_eq!(project.turn_file("01/plan.md"), odd);
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    assert_eq!(project.turn_file("01/plan.md"), odd);
}

// FILE-19: a plan that waits has to be decided first; nothing is made, and no person is asked.
#[test]
fn file_19_a_plan_that_waits_comes_first() {
    let project = project(&[&greeting()]).recorded();
    project.plan_turn("one").check(0, "");
    project.rapport(&["status"]).check(0, "turn 01  waits for review  Add a greeting");
    let ran = project.plan_turn("two");
    ran.check(3, "the plan of turn 01 must be executed first").check(3, "rapport resume");
    assert_eq!(project.turn_names(), ["01"]);
    assert_eq!(project.agents().len(), 1, "no second agent");
    project.rapport(&["resume", "-m", "two"]).check(3, "must be executed first");
}

// FILE-26, FILE-4: what is done leads to the next turn, which follows from a message.
#[test]
fn file_26_after_a_report_comes_a_message_and_the_next_turn() {
    let second = plan("Say goodbye", &[], &[], &[create("bye.txt", "Bye")]);
    let project = project(&[&greeting(), &second]);
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.rapport(&["resume"]).check(2, "without a terminal you cannot be asked what to plan next");
    project.rapport(&["resume", "-m", "  "]).check(2, "there is no message");
    assert_eq!(project.turn_names(), ["01"], "nothing was begun for that");
    project.rapport_reading(&["resume", "-m", "-"], b"two").check(0, "Say goodbye");
    assert_eq!(project.turn_names(), ["01", "02"]);
    let shown = project.turn_file("02/_context.log");
    assert!(shown.contains("\ntwo\n") && shown.contains("# Execution Report: Add a greeting"), "{shown}");
    assert!(project.turn_file("02/meta.yaml").contains("parent_turn_id: \"01\""));
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    assert_eq!(project.file("bye.txt"), "Bye\n");
}

/// The current session is the one that is named, else the one around, else the only one of files.
#[test]
fn file_25_which_session_is_meant() {
    let project = without_session(planning(&[&greeting(), &greeting(), &greeting()]));
    project.rapport(&["plan", "-m", "x"]).check(4, "rapport new NAME");
    project.rapport(&["new", "zebra"]).check(0, "");
    let newest = project.rapport(&["new", "ant"]).out().trim().to_owned();
    let zebra = newest.replace("-ant", "-zebra");
    project.plan_turn("x").check(2, "2 sessions of files");
    project.rapport(&["plan", "-m", "x", "--session", "ant"]).check(0, "-ant/01/plan.md");
    let mut inside = project.command();
    let ran = inside.current_dir(&zebra).args(["plan", "-m", "x"]).output().unwrap();
    assert!(ran.status.success() && std::path::Path::new(&zebra).join("01/plan.md").exists());
    project.rapport(&["resume", "-y", "--session", "zebra"]).check(0, "-zebra/01/report.md");
    project.rapport(&["resume", "--session", "nobody"]).check(4, "there is no session nobody");
    project.rapport(&["resume", "--session", "ant", "--turn", "07"]).check(4, "there is no turn 07");
    let id = newest.rsplit('/').next().unwrap();
    project.rapport(&["run", "--resume", id]).check(3, "the plan of turn 01 cannot be carried out");
    project.rapport(&["status"]).check(0, "rapport resume 2");
}

/// A directory of an older tool is used as it is, and gets a log when the person says that it is theirs.
#[test]
fn file_2_a_directory_of_an_older_tool_is_used_as_it_is() {
    let project = without_session(planning(&[&greeting()]));
    let old = project.root().join(".teddy/sessions/20250101-old");
    std::fs::create_dir_all(old.join("01")).unwrap();
    for (name, content) in
        [("turn.context", "README.md\n"), ("plan.md", "# Old\n"), ("report.md", "# Execution Report: Old\n")]
    {
        std::fs::write(old.join("01").join(name), content).unwrap();
    }
    std::fs::write(project.root().join(".teddy/global.context"), "").unwrap();
    project.plan_turn("go on").check(9, "rapport trust 20250101-old");
    project.rapport(&["trust", "--all-mine", "--yes"]).check(0, "is trusted from now on");
    project
        .plan_turn("go on")
        .check(0, "Turn 02 is shown")
        .check(0, ".teddy/sessions/20250101-old/02/plan.md");
    assert_eq!(std::fs::read_to_string(old.join("02/turn.context")).unwrap(), "README.md\n", "carried over");
    assert!(old.join("log.jsonl").exists() && !project.root().join(".rapport").exists());
}

/// Two ways to plan are one command, and mixing them says what is wrong.
#[test]
fn plans_of_ideas_and_of_turns_do_not_mix() {
    let project = project(&[&greeting()]);
    project.rapport(&["plan", "-m", "x", "--as", "progress"]).check(2, "cannot be used with");
    project.rapport(&["plan", "an idea", "-m", "x"]).check(2, "cannot be used with");
    project.rapport(&["plan", "an idea"]).check(2, "--as progress");
    project.rapport(&["plan", "an idea", "--as", "progress", "--session", "x"]).check(2, "sessions of files");
    project.rapport(&["plan", "-m", ""]).check(2, "there is no message");
    assert_eq!(project.turn_names(), Vec::<String>::new());
}

/// The facts of a session say which agent plans its turns, so that no later command has to name it.
#[test]
fn the_agent_that_planned_a_turn_plans_the_next_ones() {
    let more = plan("More", &[], &[], &[create("more.txt", "More")]);
    let search = "### `RESEARCH`\n\n```text\nbest greeting\n```\n".to_owned();
    let search = plan("Look it up", &[], &[], &[search]);
    let project = project(&["Which greeting do you want?", &search, "Hello is best.", &more]);
    let named = format!("rehearsal --scenario {}", project.path("scenario.yaml").display());
    let project = project.set("RAPPORT_AGENT_COMMAND", "no-such-agent");
    project.rapport(&["new", "other"]).check(0, "other");
    let asked = project.rapport(&["plan", "--session", "other", "-m", "greet", "--agent", &named]);
    asked.check(3, "replied in words").check(3, "-other -m ANSWER");
    project.rapport(&["log", "other"]).check(0, &format!("changes the terms: the agent is {named}"));
    // The commands that it proposes, as they are printed.
    project.rapport(&["resume", "other", "-m", "a friendly one"]).check(0, "The plan of turn 02");
    // The same agent searches the web for an action.
    project.rapport(&["resume", "other", "-y"]).check(0, "Completed");
    project.rapport(&["plan", "--session", "other", "-m", "again"]).check(0, "The plan of turn 03");
    let log = project.rapport(&["log", "other"]).out();
    assert_eq!(log.matches("changes the terms").count(), 1, "{log}");
}

/// A person without an account tries it with the built-in scripted agent.
#[test]
fn the_scenario_that_comes_along_can_be_carried_out() {
    let project = project(&[]);
    let agent = "rehearsal --scenario files";
    project.rapport(&["plan", "-m", "greet", "--agent", agent]).check(0, "Add a greeting");
    project.rapport(&["resume", "-y"]).check(0, "3 of 3 actions done");
    assert_eq!(project.file("greeting.sh"), "echo \"Hello, world\"\n");
    assert_eq!(project.changes(), ["?? greeting.sh"]);
}
