//! Steering an agent: too many questions are refused, a wish leads to another plan, a denial reaches the agent, a
//! cancel ends it.

use rapport_core::Event;

use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::{BUSY, ONE_QUESTION, PERMISSION};

/// The cap on rounds (CLARIFY-12): more are not asked, the agent is told why, and the plan still comes.
#[test]
fn an_agent_that_asks_too_often_is_told_no_and_still_makes_its_plan() {
    const CURIOUS: &str = r##"
version: 1
name: curious
invocations:
  - steps:
      - ask: { questions: ["First?"] }
      - ask: { questions: ["Second?"] }
      - ask: { questions: ["Third?"] }
      - ask: { questions: ["Fourth?"] }
    result: "# Plan\n\n1. {{answer:First?}} {{answer:Second?}} {{answer:Third?}}"
  - result: "Done."
"##;
    let project = Project::with_scenario(CURIOUS).recorded();
    let mut running = project.start(&["--max-rounds", "2", "wonder"], &[]);
    for question in ["q1", "q2"] {
        running.until_asked();
        project.rapport(&["answer", "wonder", "--question", question, "--text", "yes"]).check(0, "Answered.");
    }
    for _ in 0..2 {
        let Event::Declined { reason, .. } = running.until(|fact| matches!(fact, Event::Declined { .. }))
        else {
            unreachable!("that is what was waited for")
        };
        assert!(reason.contains('2'), "{reason}");
        assert!(
            wait_for("the agent to be told", || {
                let told = project.agent_inputs().concat();
                told.iter().any(|line| line.to_string().contains(&reason)).then_some(true)
            }),
            "{reason}"
        );
    }
    running.until_asked();
    project.rapport(&["answer", "wonder", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert!(project.file(".claude/todos/plan/wonder.md").contains("1. yes yes (no answer)\n"));
}

#[test]
fn own_words_instead_of_a_confirmation_make_another_plan() {
    const TWICE: &str = r##"
version: 1
name: twice
invocations:
  - result: "# Shed\n\n1. Build it of wood."
  - result: "# Shed\n\n1. Build it of brick."
  - steps:
      - write: { path: shed.txt, content: "brick\n" }
    result: "Done."
"##;
    let project = Project::with_scenario(TWICE).recorded();
    let mut running = project.start(&["build a shed"], &[]);
    running.until_asked();
    project.rapport(&["answer", "shed", "rather", "of", "brick"]).check(3, "Words of your own: --text WORDS");
    project.rapport(&["answer", "shed", "--text", "rather of brick"]).check(0, "and plans again");
    let Event::Asked { questions, .. } = running.until_asked() else {
        unreachable!("that is what was waited for")
    };
    assert_eq!(questions[0].id.as_str(), "confirm-2");
    assert!(project.agent_inputs()[1].iter().any(|line| line.to_string().contains("rather of brick")));
    wait_for("the new plan", || {
        project.file(".claude/todos/shed/build-a-shed.md").contains("1. Build it of brick.\n").then_some(())
    });
    project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("shed.txt"), "brick\n");
}

#[test]
fn a_denial_in_own_words_reaches_the_agent() {
    let project = Project::with_scenario(PERMISSION).recorded();
    let mut running = project.start(&["build"], &[]);
    running.until_asked();
    project.rapport(&["answer", "build", "confirm"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "build", "use make, please"]).check(3, "is a decision");
    project
        .rapport(&["answer", "build", "--text", "use make, please"])
        .check(0, "is denied, with this message");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("built.txt"), "", "it did not run");
    let told = project.agent_inputs().concat();
    let denial = told.iter().find(|line| line.to_string().contains("use make, please")).unwrap();
    assert!(denial.to_string().contains("deny"), "{denial}");
}

#[test]
fn a_permission_given_once_lets_it_run() {
    let project = Project::with_scenario(PERMISSION);
    let mut running = project.start(&["build"], &[]);
    running.until_asked();
    project.rapport(&["answer", "build", "confirm"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "build", "yes"]).check(0, "Answered. q1 Permission: Allow once\n");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("built.txt"), "built\n");
}

/// Brings a session to a phase.
type Until = fn(&Project, &mut Running);

#[test]
fn cancelled_in_any_phase_it_ends_and_nothing_is_left() {
    let asked: Until = |_, running| drop(running.until_asked());
    let busy: Until = |_, running| drop(running.until(|fact| matches!(fact, Event::Said { .. })));
    let parked: Until = |_, running| drop(running.until(|fact| matches!(fact, Event::Parked { .. })));
    let working: Until = |project, running| {
        running.until_asked();
        project.rapport(&["answer", "do-it", "confirm"]).check(0, "Answered.");
        running.until_asked();
    };
    let phases: [(&str, &str, &str, Until); 5] = [
        ("with a question open", ONE_QUESTION, "5m", asked),
        ("while the agent is parked", ONE_QUESTION, "0s", parked),
        ("while the agent plans", BUSY, "5m", busy),
        ("while the plan waits", PERMISSION, "5m", asked),
        ("while the agent works", PERMISSION, "5m", working),
    ];
    for (phase, scenario, hot, until) in phases {
        let project = Project::with_scenario(scenario).set("RAPPORT_AGENT_HOT", hot);
        let mut running = project.start(&["do it"], &[]);
        until(&project, &mut running);
        project.rapport(&["cancel", "do-it", "--reason", "enough"]).check(0, "Cancelled 2");
        let (code, said) = running.finish_saying();
        assert_eq!(code, 8, "{phase}: {said}");
        assert_eq!(project.agents_alive(), [], "{phase}");
        let id = project.session();
        project.rapport(&["answer", "do-it", "x"]).check(3, "no question is open");
        project.rapport(&["cancel", "do-it"]).check(3, "the session is cancelled");
        project.rapport(&["run", "--resume", "do-it"]).check(8, &format!("{id} was cancelled"));
        project.rapport(&["log", "do-it"]).check(0, ": enough");
    }
}

#[test]
fn cancelling_instead_of_confirming_changes_nothing() {
    let project = Project::with_scenario(PERMISSION);
    let mut running = project.start(&["build"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "build", "cancel"]).check(0, "Answered.");
    assert_eq!(running.finish(), 8);
    assert!(project.file(".claude/todos/build/build.md").contains("1. Build it."), "the plan stays");
    assert_eq!(project.file("built.txt"), "");
}
