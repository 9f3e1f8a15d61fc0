//! `rapport run --detach`: `rapport serve` runs the session, whenever it is started, and again after a kill.

use rapport_core::Event;

use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

#[test]
fn a_detached_session_runs_under_serve_and_survives_its_kill() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_MCP_LISTEN", "127.0.0.1:0");
    project.rapport(&["run", "--detach", "paint"]).check(0, "A `rapport serve` of this project runs it");
    let has = |is: fn(&Event) -> bool| project.facts().iter().any(is).then_some(());
    assert_eq!(has(|fact| matches!(fact, Event::Connected { .. })), None, "nothing runs yet");
    let mut serving = project.spawn(&["serve"]);
    wait_for("the question", || has(|fact| matches!(fact, Event::Asked { .. })));
    serving.kill().unwrap();
    serving.wait().unwrap();
    project.rapport(&["answer", project.session().as_str(), "Blue"]).check(0, "Answered.");
    let mut serving = project.spawn(&["serve"]);
    wait_for("the plan", || has(|fact| matches!(fact, Event::PlanProposed { .. })));
    // One that begins while it serves.
    project.rapport(&["run", "--detach", "gild"]).check(0, "Begun as");
    let second =
        project.store().list().unwrap().into_iter().find(|id| id.as_str().ends_with("gild")).unwrap();
    wait_for("the other question", || {
        let entries = project.store().read(&second, 0).unwrap();
        let mut facts = entries.iter().flat_map(|entry| &entry.facts);
        facts.any(|fact| matches!(fact, Event::Asked { .. })).then_some(())
    });
    serving.kill().unwrap();
    serving.wait().unwrap();
}
