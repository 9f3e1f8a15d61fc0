//! A session with a budget: its agent is stopped after the message that uses it up, and a person is asked.

use rapport_core::{Event, Purpose};
use serde_json::json;

use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};

/// The first message of the work is estimated at a cent and a half. What the turn really cost is known when it ends.
fn scenario(cost: &str) -> String {
    format!(
        r##"
version: 1
name: costly
invocations:
  - result: "# Shed\n\n1. Build it."
  - steps:
      - write: {{ path: begun.txt, content: "begun\n" }}
      - delay: 600000
    cost_usd: {cost}
    result: "Built."
"##
    )
}

fn asks_about_the_budget(fact: &Event) -> bool {
    matches!(fact, Event::Asked { questions, .. } if matches!(questions[0].purpose, Purpose::Budget { .. }))
}

/// A run whose budget is used up by the first message of its work.
fn used_up(project: &Project) -> Running {
    let mut running = project.start(&["build a shed", "--budget", "0.01"], &[]);
    running.until_asked();
    project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
    running.until(asks_about_the_budget);
    running
}

#[test]
fn it_goes_on_with_consent() {
    let project = Project::with_scenario(&scenario("0.005"));
    let running = used_up(&project);
    project.rapport(&["status", "shed"]).check(0, "its budget is $0.01. Go on?");
    project.rapport(&["answer", "shed", "perhaps"]).check(3, "q1");
    project.rapport(&["answer", "shed", "yes"]).check(0, "Go on");
    assert_eq!(running.finish(), 0);
    let ended = |fact: &Event| matches!(fact, Event::TurnEnded { result, .. } if result == "Built.");
    assert!(project.facts().iter().any(ended), "{:#?}", project.facts());
}

/// The question waits like any other: at no cost, and across a kill. Nothing continues without consent.
#[test]
fn it_waits_for_consent_across_a_kill() {
    let project = Project::with_scenario(&scenario("0.02"));
    let running = used_up(&project);
    wait_for("the agent is gone", || {
        project.facts().iter().any(|fact| matches!(fact, Event::CutOff { .. })).then_some(())
    });
    running.kill();
    project.rapport(&["answer", "shed", "no"]).check(0, "Leave it stopped");
    let mut running = project.launch(&["resume", "shed", "--json"], &[]);
    // The question from before, which is printed again, and the new one.
    running.until(asks_about_the_budget);
    running.until(asks_about_the_budget);
    let restarted = |fact: &Event| matches!(fact, Event::Restarted { .. });
    assert!(!project.facts().iter().any(restarted));
    project.rapport(&["answer", "shed", "yes"]).check(0, "Go on");
    running.until(restarted);
    running.kill();
}

#[test]
fn an_amount_that_is_none_is_refused() {
    let project = Project::with_scenario(&scenario("0.005"));
    project.rapport(&["run", "build a shed", "--budget", "much"]).check(2, "not an amount in dollars");
}

/// The real CLI reports the usage of each message while it works: in the project and in a container it is stopped
/// after the message that uses up the budget, and makes at most one more.
#[test]
fn the_real_cli_makes_at_most_one_message_too_many() {
    const EACH_MICROS: u64 = 1000 * 3 + 50 * 15;
    let Some(program) = needs::claude() else { return };
    for worker in ["local", "container"] {
        if worker == "container" && needs::engine().is_none() {
            return;
        }
        let plan = Script::default().say(Response::default().text("# Shed\n\n1. Build it."));
        let script = (0..10).fold(plan, |script, n| {
            let step = json!({ "command": format!("echo {n} >> steps.txt"), "description": "Builds" });
            script.say(Response::default().tool(&format!("toolu_{n}"), "Bash", step))
        });
        let model = Model::play(script.say(Response::default().text("Built.")));
        let url = format!("http://{}", model.address());
        let agent = format!("'{}' --allowedTools Bash", program.display());
        let project = Project::with_agent(&agent).working_in(worker);
        let project =
            offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
        let project = project.set("ANTHROPIC_MODEL", "claude-sonnet-4-5-20250929");
        // The plan and the first two messages of the work are more than that.
        let mut running = project.start(&["build a shed", "--budget", "0.01"], &[]);
        running.until_asked();
        project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
        running.until(asks_about_the_budget);
        wait_for("the agent is gone", || {
            project.facts().iter().any(|fact| matches!(fact, Event::CutOff { .. })).then_some(())
        });
        let requests = model.seen().len();
        assert!((3..=4).contains(&requests), "{worker}: {requests} messages");
        let spent = project.view().usage.cost_micros;
        assert!((2 * EACH_MICROS..=4 * EACH_MICROS).contains(&spent), "{worker}: {spent}");
        running.kill();
        assert_eq!(model.seen().len(), requests, "nothing goes on without consent");
    }
}
