//! An agent that is parked while it waits, and continues at the very same call.

use rapport_core::Event;
use serde_json::Value;

use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn messages(input: &[Value]) -> usize {
    input.iter().filter(|line| line["type"] == "user").count()
}

/// With no hot time every question parks its agent (CHAT-27); the answer brings it back without a message.
#[test]
fn a_parked_agent_goes_on_at_the_same_call() {
    let project = Project::with_scenario(ONE_QUESTION).recorded().set("RAPPORT_AGENT_HOT", "0s");
    let mut running = project.start(&["paint"], &[]);
    let Event::Cooled { call: cooled, .. } = running.until(|fact| matches!(fact, Event::Cooled { .. }))
    else {
        unreachable!("that is what was waited for")
    };
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    wait_for("no process of the agent", || project.agents_alive().is_empty().then_some(()));
    assert_eq!(project.view().questions.len(), 1, "the question stays");

    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    assert_eq!(project.agents_alive(), [], "a plan waits without an agent");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");

    let inputs = project.agent_inputs();
    assert_eq!(inputs.iter().map(|input| messages(input)).collect::<Vec<_>>(), [1, 0, 1]);
    let again = project.facts().into_iter().find_map(|fact| match fact {
        Event::AskedAgain { call, .. } => Some(call),
        _ => None,
    });
    assert_eq!(again, Some(cooled));
}

/// The host may be gone as well: the answer goes into the log, and the process that resumes the session later brings
/// it to the agent.
#[test]
fn a_night_without_any_process() {
    let project = Project::with_scenario(ONE_QUESTION).recorded().set("RAPPORT_AGENT_HOT", "0s");
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    running.kill();
    assert_eq!(project.processes(), []);
    project.rapport(&["answer", "paint", "--text", "the colour of the night"]).check(0, "Answered.");
    let mut running = project.start(&["--resume", "paint"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "the colour of the night\n");
    assert_eq!(project.agent_inputs().iter().map(|input| messages(input)).collect::<Vec<_>>(), [1, 0, 1]);
}

/// The CLI may have swept its own files, or this is another machine: the conversation was kept with the session.
#[test]
fn what_the_agent_swept_away_was_kept_with_the_session() {
    let project = Project::with_scenario(ONE_QUESTION).recorded().set("RAPPORT_AGENT_HOT", "0s");
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::Parked { .. }));
    running.kill();
    std::fs::remove_dir_all(project.path("home/.rapport/rehearsal")).unwrap();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    let mut running = project.start(&["--resume", "paint"], &[]);
    running.until(|fact| matches!(fact, Event::AskedAgain { .. }));
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
    assert_eq!(project.agent_inputs().iter().map(|input| messages(input)).collect::<Vec<_>>(), [1, 0, 1]);
}
