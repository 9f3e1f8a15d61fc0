//! Earlier answers, from the command line: offered, given again, made a rule, revoked.

use rapport_core::{By, Event, RuleSource, SessionId};
use serde_json::Value;

use super::facts;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// Runs the task up to its question, or beyond it if a rule answers.
fn asked(project: &Project, task: &str) -> (crate::support::project::Running, SessionId) {
    let before = project.store().list().unwrap();
    let mut run = project.start(&[task], &[]);
    run.until(|fact| matches!(fact, Event::Asked { .. }));
    let id = project.store().list().unwrap().into_iter().find(|id| !before.contains(id)).unwrap();
    (run, id)
}

/// What was answered once is offered for the same question in a later session, and is never used in silence; a rule
/// that a person makes answers, says so, and is revoked.
#[test]
fn what_was_answered_before_is_offered_and_answers_only_by_a_rule() {
    let project = Project::with_scenario(ONE_QUESTION);
    let (run, first) = asked(&project, "paint the door");
    project.rapport(&["answer", first.as_str(), "Blue"]).check(0, "Answered.");
    run.kill();
    project.rapport(&["cancel", first.as_str()]).check(0, "");
    // Ends that no process recorded are recorded when the project is loaded.
    project.rapport(&["project", "explore"]).check(0, "");
    project.rapport(&["project", "show"]).check(0, "");
    let (run, second) = asked(&project, "paint the gate");
    let shown: Value = project.json(&["status", "--json", second.as_str()]);
    let offer = &shown["questions"][0]["offer"];
    assert_eq!(
        (offer["answer"].as_str(), offer["session"].as_str()),
        (Some("Blue"), Some(first.as_str())),
        "{shown}"
    );
    project.rapport(&["answer", second.as_str(), "--same", "--always"]).check(0, "Answered. q1: Blue");
    run.kill();
    let by = facts(&project, &second).into_iter().find_map(|fact| match fact {
        Event::Answered { by, .. } => Some(by),
        _ => None,
    });
    assert!(matches!(by, Some(By::Person { .. })), "a person gave it again: {by:?}");
    // The rule is stored by the process that runs the session; after its end, by the next one.
    let mut again = project.launch(&["resume", "--json", second.as_str()], &[]);
    again.until(|fact| matches!(fact, Event::AnswerRuleKept { .. }));
    again.kill();
    let mut run = project.start(&["paint the fence"], &[]);
    run.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    run.kill();
    let third =
        project.store().list().unwrap().into_iter().find(|id| id.as_str().ends_with("fence")).unwrap();
    let by = facts(&project, &third).into_iter().find_map(|fact| match fact {
        Event::Answered { question, by, .. } if question.as_str() == "q1" => Some(by),
        _ => None,
    });
    assert!(matches!(by, Some(By::Rule { source: RuleSource::Answer, .. })), "{by:?}");
    project.rapport(&["revoke"]).check(0, "\"Which colour?\" is answered Blue");
    project.rapport(&["revoke", "1"]).check(0, "is asked again from now on");
    let (run, fourth) = asked(&project, "paint the roof");
    let shown: Value = project.json(&["status", "--json", fourth.as_str()]);
    assert_eq!(shown["questions"][0]["id"], "q1", "{shown}");
    run.kill();
}
