//! A lead that does not answer: a person is asked, nothing is decided, and the lead was told exactly once.

use std::time::Duration;

use rapport_core::routing::{Hop, Recipient};
use rapport_core::{By, Event, SessionId};

use super::{begin_lead, facts, worker};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A lead that talks, and never uses a tool.
const TALKS: &str = r##"
version: 1
name: talks
invocations:
  - result: "Hello."
  - result: "I do not know."
  - result: "I do not know."
  - result: "I do not know."
"##;

fn project() -> (Project, SessionId) {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_LEAD_TIME", "1s");
    let scenario = project.path("lead.yaml");
    std::fs::write(&scenario, TALKS).unwrap();
    let lead = begin_lead(&project, &format!("rehearsal --scenario {}", scenario.display()));
    (project, lead)
}

/// How often the lead was told of the question.
fn told(project: &Project, lead: &SessionId) -> usize {
    let is_trigger = |fact: &Event| match fact {
        Event::Heard { text, by: By::Rule { .. }, .. } => {
            text.starts_with("[Claude Code Question - Session ")
        }
        _ => false,
    };
    facts(project, lead).iter().filter(|fact| is_trigger(fact)).count()
}

/// LEAD-8, LEAD-13, LEAD-18: the lead is woken by the process that runs the worker; it says nothing that counts, so
/// after its time the person is asked.
#[test]
fn lead_8_a_lead_that_does_not_answer_is_passed_over_after_its_time() {
    let (project, lead) = project();
    let mut run = project.start(&["paint"], &[]);
    let is_over =
        |fact: &Event| matches!(fact, Event::Routed { why: Hop::TimeOver, to: Recipient::Person, .. });
    run.until(is_over);
    let id = worker(&project, &lead);
    let ways: Vec<_> = facts(&project, &id)
        .into_iter()
        .filter_map(|fact| match fact {
            Event::Routed { to, why, .. } => Some((to, why)),
            _ => None,
        })
        .collect();
    assert_eq!(ways, [(Recipient::Lead, Hop::First), (Recipient::Person, Hop::TimeOver)]);
    assert_eq!(told(&project, &lead), 1);
    let shown: serde_json::Value = project.json(&["status", "--json", id.as_str()]);
    assert_eq!(shown["questions"][0]["way"]["to"], "person", "{shown}");
    assert_eq!(shown["lead"], lead.as_str());
    project.rapport(&["answer", id.as_str(), "Blue"]).check(0, "Answered.");
    run.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    run.kill();
    project.rapport(&["digest"]).check(0, "passed on, because the time for an answer is over");
    project.wait_alone(Duration::from_secs(20));
}

/// The person who is faster than the lead is not asked again, and the lead hears nothing twice.
#[test]
fn lead_13_a_person_who_answers_first_wins() {
    let (project, lead) = project();
    let mut run = project.start(&["paint"], &[("RAPPORT_LEAD_TIME", "10m")]);
    run.until(|fact| matches!(fact, Event::LeadTold { .. }));
    let id = worker(&project, &lead);
    let status = project.rapport(&["status", id.as_str()]);
    assert!(status.out().contains("Which colour?"), "{}", status.out());
    project.rapport(&["answer", id.as_str(), "Red"]).check(0, "Answered.");
    run.until(|fact| matches!(fact, Event::LeadReleased { .. }));
    run.kill();
    assert_eq!(told(&project, &lead), 1);
    project.wait_alone(Duration::from_secs(20));
}

/// kill -9 around the writes of the worker's log: the lead is told once, and the question is neither lost nor decided.
#[test]
fn a_lead_is_told_once_wherever_the_host_is_killed() {
    for point in 5..=14 {
        let (project, lead) = project();
        let trial = format!("log.jsonl:{point}");
        let run = project.start(&["paint"], &[("RAPPORT_TRIAL_WRITES", &trial)]);
        run.finish();
        let id = worker(&project, &lead);
        let mut run = project.launch(&["resume", "--json", id.as_str()], &[]);
        let is_persons = |fact: &Event| matches!(fact, Event::Routed { to: Recipient::Person, .. });
        if !facts(&project, &id).iter().any(is_persons) {
            run.until(is_persons);
        }
        run.kill();
        assert!(told(&project, &lead) <= 1, "point {point}");
        let all = facts(&project, &id);
        assert!(!all.iter().any(|fact| matches!(fact, Event::Answered { .. })), "point {point}: {all:?}");
        project.rapport(&["answer", id.as_str(), "Blue"]).check(0, "Answered.");
        project.wait_alone(Duration::from_secs(20));
    }
}
