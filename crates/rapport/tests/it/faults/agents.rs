//! Agents that print nonsense, die, hang, or do not exist.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use rapport_core::{Event, Status};

use super::finish;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// [`ONE_QUESTION`] with something that goes wrong before its first step.
fn after(trouble: &str) -> String {
    ONE_QUESTION.replacen("  - steps:\n", &format!("  - steps:\n      - {trouble}\n"), 1)
}

/// It fails, and says why and how to continue.
fn fails(project: &Project, says: &str) {
    let ran = project.rapport(&["run", "paint"]);
    ran.check(7, says).check(7, "Nothing is lost. Continue with:\n  rapport resume 2");
    project.rapport(&["status"]).check(0, "failed").check(0, "go on with: rapport resume 2");
    assert_eq!(project.agents_alive(), [], "{says}");
}

#[test]
fn an_agent_that_dies_is_resumed() {
    for (trouble, says) in [
        ("exit: 3", "ended without a result (exit code 3)"),
        ("crash: true", "(exit code 137, signal 9)"),
        ("close_stdout: true", "closed its output"),
    ] {
        let project = Project::with_scenario(&after(trouble));
        fails(&project, says);
        finish(&project);
        assert_eq!(project.file("paint.txt"), "Blue\n", "{trouble}");
    }
}

#[test]
fn an_agent_that_hangs_is_ended_and_resumed() {
    let project = Project::with_scenario(&after("hang: true")).set("RAPPORT_AGENT_SILENCE", "1s");
    fails(&project, "1s");
    let project = project.set("RAPPORT_AGENT_SILENCE", "1h").playing(ONE_QUESTION);
    finish(&project);
}

#[test]
fn what_an_agent_says_on_stderr_is_told() {
    let project = Project::with_scenario(&after("exit: 4").replacen(
        "  - steps:",
        "  - stderr_lines: [no credit left]\n    steps:",
        1,
    ));
    fails(&project, "(exit code 4)\n  no credit left");
    finish(&project);
}

#[test]
fn garbage_is_kept_and_passed_over() {
    let project = Project::with_scenario(&after("garbage: \"not {json \\e[2J\""));
    let run = project.spawn(&["run", "paint"]);
    project.wait_asked_for("q1");
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    let ran = crate::support::project::Ran(run.wait_with_output().unwrap());
    let text = ran.check(0, "· not understood: not {json ").out();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

/// With a question open there is something to wait for: the answer resumes the agent.
#[test]
fn an_agent_that_dies_with_a_question_open_is_resumed_by_the_answer() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let agent = project.agents_alive().into_iter().find(|(_, words)| !words.contains(" keep -- ")).unwrap();
    kill(agent.0, Signal::SIGKILL).unwrap();
    running.until(|fact| matches!(fact, Event::CutOff { .. }));
    assert_eq!(project.view().status, Status::NeedsInput, "the question stays open");
    project.wait_alone(Duration::from_secs(5));
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// The agent is dead, and its host cannot know it yet, because the keeper that would report it is suspended: the
/// answer that comes in between is stored and acknowledged, and another process takes it. No person is asked again,
/// and no person has to resume it.
#[test]
fn an_answer_that_came_when_the_agent_had_died_is_delivered() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let (keepers, agents): (Vec<_>, Vec<_>) =
        project.agents_alive().into_iter().partition(|(_, words)| words.contains(" keep -- "));
    kill(keepers[0].0, Signal::SIGSTOP).unwrap();
    kill(agents[0].0, Signal::SIGKILL).unwrap();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered. q1: Blue");
    let cut_off = |fact: &Event| matches!(fact, Event::CutOff { .. });
    assert!(!project.facts().iter().any(cut_off), "its host does not know");
    kill(keepers[0].0, Signal::SIGCONT).unwrap();
    running.until(cut_off);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let facts = project.facts();
    assert!(!facts.iter().any(|fact| matches!(fact, Event::Failed { .. })), "{facts:#?}");
    let asked = facts.iter().filter(|fact| matches!(fact, Event::Asked { .. })).count();
    assert_eq!(asked, 2, "the question and the confirmation: {facts:#?}");
}

#[test]
fn an_agent_that_cannot_be_started_is_named_and_how_to_get_one() {
    let project = Project::with_scenario(ONE_QUESTION);
    let script = project.path("agent.sh");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let not_executable = script.display().to_string();
    for (command, why) in
        [("no-such-agent", "No such file or directory"), (not_executable.as_str(), "Permission denied")]
    {
        let project =
            Project::with_agent(command).playing(ONE_QUESTION).set("RAPPORT_AGENT_COMMAND", command);
        let ran = project.rapport(&["run", "paint"]);
        ran.check(7, &format!("cannot start {command}: {why}"));
        ran.check(7, "Install Claude Code with: npm install -g @anthropic-ai/claude-code");
        let json = project.rapport(&["run", "--json", "--resume", "paint"]);
        let error: serde_json::Value = serde_json::from_str(&json.err()).unwrap();
        assert_eq!(error["error"]["code"], 7);
        assert!(error["error"]["hints"][1].as_str().unwrap().contains("npm install"), "{error}");
        let project = project.playing(ONE_QUESTION);
        finish(&project);
    }
}

#[test]
fn a_program_that_is_no_agent_is_told_apart() {
    let project = Project::with_agent("/bin/true");
    project.rapport(&["run", "paint"]).check(7, "/bin/true ended without a result (exit code 0)");
    let project = project.playing(ONE_QUESTION);
    finish(&project);
}

#[test]
fn a_mistake_in_a_scenario_is_told_with_file_line_and_what_was_expected() {
    let project = Project::with_scenario("version: 1\nname: x\ninvocations:\n  - stepz: []\n");
    let file = project.path("scenario.yaml").display().to_string();
    let ran = project.rapport(&["run", "paint"]);
    ran.check(7, &format!("(exit code 2)\n  {file}:4:5: not a valid scenario"));
    ran.check(7, "unknown field `stepz`, expected one of steps, result,");
    std::fs::write(project.path("scenario.yaml"), ONE_QUESTION).unwrap();
    finish(&project);
    project.rapport(&["run", "--agent", "rehearsal --scenario none", "x"]).check(7, "no scenario \"none\"");
}

/// The session continues without the copy, and says that there is none.
#[test]
fn a_conversation_that_cannot_be_kept_is_told() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    let folder = project.root().join(".rapport/sessions").join(project.session().as_str());
    std::fs::write(folder.join("kept"), "in the way").unwrap();
    project.rapport(&["answer", "paint", "--question", "q1", "Red"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Delayed { is_unkept: true, .. }));
    let told = "no copy of the agent's conversation and work could be kept with the session";
    project.rapport(&["status", "paint"]).check(0, told);
    std::fs::remove_file(folder.join("kept")).unwrap();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    project.rapport(&["log", "paint"]).check(0, told);
    let status = project.rapport(&["status", "paint"]).out();
    assert!(!status.contains(told), "there is one now: {status}");
}
