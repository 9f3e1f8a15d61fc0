//! CLIs that are too old for the live channel: the built-in stories, message by message.

use std::os::unix::fs::PermissionsExt as _;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::prebuilt;
use rapport::agents::rehearsal::scenario::{Counter, Scenario};
use rapport_core::{Event, Status};

use super::{file, project, rounds};
use crate::support::project::Project;

fn printed(scenario: ScenarioBuilder) -> Project {
    let project = project(scenario);
    let records = project.path("records");
    project.set("RAPPORT_AGENT_CHANNEL", "print").set("RAPPORT_REHEARSAL_RECORD", records.to_str().unwrap())
}

// CLARIFY-4, CLARIFY-10, CLARIFY-11, CLARIFY-26, CLARIFY-28: id captured, questions detected, resumed, valid output.
#[test]
fn clarify_10_answers_go_in_the_next_message_of_the_same_session() {
    let project = printed(prebuilt::interactive_planning());
    let mut running = project.plan_adaptively(&[]);
    let Event::Asked { questions, .. } = running.until_asked() else { unreachable!() };
    let texts: Vec<_> = questions.iter().map(|question| question.text.as_str()).collect();
    assert_eq!(texts, ["What programming language?", "What database?"]);
    project.answer("q1", "I want to use Rust.");
    project.answer("q2", "PostgreSQL for the database.");
    assert_eq!(running.finish(), 0);
    assert!(project.progress().starts_with("# Progress: Interactive Test\n"));
    let agents = project.agents();
    assert_eq!(agents.len(), 2, "one process per message");
    let begin = ["-p", "--verbose", "--output-format", "stream-json", "--permission-mode", "plan"];
    let flags = |n: usize| agents[n].iter().position(|word| word == "-p").unwrap();
    assert_eq!(agents[0][flags(0)..flags(0) + 6], begin);
    assert!(agents[0].last().unwrap().contains("## User Request\n\na todo app"), "the message is last");
    let answers = "Here are my answers to your questions:\n\nQ1: What programming language?\nQ2: What database?\n\n\
        My answers:\n1. I want to use Rust.\n2. PostgreSQL for the database.";
    let resumed = [&begin[..], &["--resume", "test-session-123", answers]].concat();
    assert_eq!(agents[1][flags(1)..], resumed, "as it began, resumed, and the message last");
    let connected = project.facts().into_iter().find_map(|fact| match fact {
        Event::Connected { conversation, .. } => Some(conversation.to_string()),
        _ => None,
    });
    assert_eq!(connected.as_deref(), Some("test-session-123"), "the id is the one of the first init");
}

// CLARIFY-12, CLARIFY-13, CLARIFY-15, CLARIFY-16.
#[test]
fn clarify_13_the_last_response_is_the_file_after_several_rounds() {
    let project = printed(prebuilt::multi_round_qa());
    let mut running = project.plan_adaptively(&[]);
    for (question, answer) in [("q1", "first"), ("q2", "second")] {
        running.until_asked();
        project.answer(question, answer);
    }
    assert_eq!(running.finish(), 0);
    assert!(project.progress().contains("RALPH_DONE"));
    let view = project.view();
    assert_eq!((view.status, view.rounds.asked), (Status::Completed, 2));
    assert_eq!(view.result.as_deref(), Some("1 task in 1 phase, 1 done; nothing is left to do"));
    assert_eq!(view.usage.input, 3_000, "what all three responses took");
    project
        .rapport(&["run", "--resume", view.id.as_str()])
        .check(0, "In: 3.0k | Out: 150 | CacheW: 0 | CacheR: 0\n(Accumulated across 2 round(s) of Q&A)");
}

#[test]
fn clarify_18_who_may_not_ask_is_told_so_in_the_next_message() {
    let scenario = Scenario::new("stubborn")
        .asks_questions(&["Which language?"])
        .next_invocation()
        .respond_with_text(&file("Assumed", "Rust, I assume."));
    let project = printed(scenario);
    project.plan(&[]).check(0, "--adaptive lets it ask");
    assert!(project.progress().contains("Rust, I assume."));
    assert_eq!(rounds(&project), 0);
    let agents = project.agents();
    assert!(agents[1].last().unwrap().contains("Assume what is most likely"), "{:?}", agents[1]);
}

#[test]
fn an_agent_that_never_stops_asking_is_stopped() {
    let mut scenario = Scenario::new("never ends").counted_by(Counter::Conversation);
    for n in 0..20 {
        scenario = scenario.asks_questions(&[&*format!("What is {n}?")]).next_invocation();
    }
    let project = printed(scenario.respond_with_text("never"));
    project.plan(&[]).check(7, "the agent keeps asking, however often it is told to go on without");
    assert!(project.agents().len() <= 12);
}

#[test]
fn killed_between_two_messages_it_goes_on_with_the_next() {
    let project = printed(prebuilt::interactive_planning());
    let mut running = project.plan_adaptively(&[]);
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    running.kill();
    project.answer("q1", "Rust");
    project.answer("q2", "SQLite");
    project.rapport(&["run", "--resume", project.session().as_str()]).check(0, "1 task in 1 phase");
    project.progress();
    assert_eq!(project.agents().len(), 2);
}

#[test]
fn the_version_of_the_cli_decides_and_doctor_says_which_way() {
    let scenario = prebuilt::interactive_planning().build();
    for (version, code, says, live) in [
        (
            "1.0.51 (Claude Code)",
            0,
            "print mode, answers go in the next message (1.0.51 is older than 2.0.0)",
            false,
        ),
        // It asks, but does not keep a call that is parked.
        (
            "2.1.87 (Claude Code)",
            0,
            "over the live channel (2.0.0 or newer); before 2.1.90, the answer to a parked question goes in a message\n",
            true,
        ),
        // It does not even offer the tool.
        (
            "2.0.22 (Claude Code)",
            1,
            "bad      agent      2.0.22 (Claude Code); versions 2.0.0 to 2.0.47 cannot ask: their agents guess in silence",
            true,
        ),
    ] {
        let project = Project::with_agent("");
        std::fs::write(project.path("s.yaml"), serde_json::to_string(&scenario).unwrap()).unwrap();
        let (script, rapport) = (project.path("claude"), env!("CARGO_BIN_EXE_rapport"));
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{version}'; exit; fi\n\
             echo \"$@\" >> {folder}/calls\nexec {rapport} rehearse --scenario {folder}/s.yaml \"$@\"\n",
            folder = project.path("").display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let project = project.set("RAPPORT_AGENT_COMMAND", script.to_str().unwrap());
        project.rapport(&["doctor"]).check(code, says);
        let mut running = project.plan_adaptively(&[]);
        running.until_asked();
        running.kill();
        let calls = std::fs::read_to_string(project.path("calls")).unwrap();
        assert_eq!(calls.contains("--input-format stream-json"), live, "{calls}");
    }
}

#[test]
fn a_message_too_long_for_a_command_line_goes_in_over_the_input() {
    let project = printed(Scenario::new("long").respond_with_text(&file("Long", "x")));
    std::fs::write(project.root().join("idea.md"), "word ".repeat(40_000)).unwrap();
    project.rapport(&["plan", "idea.md", "--as", "progress"]).check(0, "2 tasks");
    assert_eq!(project.agents()[0].last().unwrap(), "plan", "no message on the command line");
}
