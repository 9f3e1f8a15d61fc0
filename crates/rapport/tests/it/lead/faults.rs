//! Leads that fail: the question goes on to the person after the lead's time, and nothing is decided meanwhile.

use std::time::Duration;

use rapport_core::routing::{Hop, Recipient};
use rapport_core::{By, Event, Status};

use super::{begin_lead, facts, worker};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A lead that says hello, and then this.
fn lead_that(then: &str) -> String {
    format!("version: 1\nname: fails\ninvocations:\n  - result: \"Hello.\"\n{then}")
}

/// LEAD-15: a lead that dies, ends with an error, says nothing, or is stuck. The worker waits, the person is asked.
#[test]
fn lead_15_a_lead_that_fails_is_passed_over() {
    for (what, then) in [
        ("dies", "  - steps: [{ crash: true }]\n  - steps: [{ crash: true }]\n"),
        ("ends with an error", "  - steps: [{ exit: 3 }]\n  - steps: [{ exit: 3 }]\n"),
        ("is stuck", "  - steps: [{ delay: 600000 }]\n    result: \"Late.\"\n"),
        ("knows nothing", "  - result: \"Hm.\"\n"),
        ("is not logged in", "  - result: \"Not logged in · Please run /login\"\n    is_error: true\n"),
    ] {
        let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_LEAD_TIME", "1s");
        let scenario = project.path("lead.yaml");
        std::fs::write(&scenario, lead_that(then)).unwrap();
        let lead = begin_lead(&project, &format!("rehearsal --scenario {}", scenario.display()));
        let mut run = project.start(&["paint"], &[]);
        let passed = run.until(|fact| matches!(fact, Event::Routed { to: Recipient::Person, .. }));
        let is_expected = matches!(passed, Event::Routed { why: Hop::TimeOver | Hop::LeadGone { .. }, .. });
        assert!(is_expected, "{what}: {passed:?}");
        let id = worker(&project, &lead);
        let all = facts(&project, &id);
        assert!(!all.iter().any(|fact| matches!(fact, Event::Answered { .. })), "{what}: {all:?}");
        let shown: serde_json::Value = project.json(&["status", "--json", id.as_str()]);
        assert_eq!(shown["status"], Status::NeedsInput.as_str(), "{what}");
        project.rapport(&["answer", id.as_str(), "Blue"]).check(0, "Answered.");
        let answered = run.until(|fact| matches!(fact, Event::Answered { .. }));
        assert!(matches!(answered, Event::Answered { by: By::Person { .. }, .. }), "{what}: {answered:?}");
        run.until(|fact| matches!(fact, Event::PlanProposed { .. }));
        run.kill();
        project.wait_alone(Duration::from_secs(20));
    }
}

/// LEAD-15: a lead that has used up its budget gets no more messages from Rapport, so that it spends nothing more; the
/// questions of its workers go on to the person at once.
#[test]
fn lead_15_a_lead_over_its_budget_is_passed_over() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_LEAD_TIME", "1s");
    let scenario = project.path("lead.yaml");
    let costly: String = "  - steps: [{ text: \"Hm.\" }]\n    result: \"Hm.\"\n    cost_usd: 2.5\n".repeat(4);
    let costly = format!("version: 1\nname: costly\ninvocations:\n{costly}");
    std::fs::write(&scenario, costly).unwrap();
    let agent = format!("rehearsal --scenario {}", scenario.display());
    let mut chat =
        project.launch(&["chat", "--json", "--agent", &agent, "hello"], &[("RAPPORT_AGENT_BUDGET", "3")]);
    chat.until(|fact| matches!(fact, Event::TurnEnded { .. }));
    chat.kill();
    let lead = project.session();
    let spent = |project: &Project| {
        let costs = facts(project, &lead).into_iter().filter_map(|fact| match fact {
            Event::Spent { usage, .. } => Some(usage.cost_micros),
            _ => None,
        });
        costs.sum::<u64>()
    };
    // The first question is within the budget, and uses it up.
    for (task, is_told) in [("paint", true), ("gild", false), ("varnish", false)] {
        let mut run = project.start(&[task], &[]);
        let passed = run.until(|fact| matches!(fact, Event::Routed { to: Recipient::Person, .. }));
        let is_expected = match &passed {
            Event::Routed { why: Hop::TimeOver, .. } => is_told,
            Event::Routed { why: Hop::LeadGone { reason }, .. } => !is_told && reason.contains("budget"),
            _ => false,
        };
        assert!(is_expected, "{task}: {passed:?}");
        run.kill();
        project.wait_alone(Duration::from_secs(20));
    }
    assert!(spent(&project) <= 5_100_000, "it has spent {} of $3", spent(&project));
}

/// LEAD-17: the lead of a terminal is found in the store, by the place in which it was begun; one that was begun
/// elsewhere, has ended, or comes from another person leads nothing here.
#[test]
fn lead_17_the_lead_is_found_by_its_place() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_LEAD_TIME", "1s");
    let scenario = project.path("lead.yaml");
    std::fs::write(&scenario, lead_that("  - result: \"Hm.\"\n")).unwrap();
    let agent = format!("rehearsal --scenario {}", scenario.display());
    let lead = begin_lead(&project, &agent);
    let run = |project: &Project, task: &str| {
        let mut run = project.start(&[task], &[]);
        run.until(|fact| matches!(fact, Event::Asked { .. }));
        run.kill();
        let ids = project.store().list().unwrap().into_iter();
        let id = ids.rev().find(|id| id.as_str().ends_with(task)).unwrap();
        match facts(project, &id).swap_remove(0) {
            Event::Created(created) => created.lead,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(run(&project, "paint"), Some(lead.clone()));
    project.rapport(&["cancel", lead.as_str()]).check(0, "");
    assert_eq!(run(&project, "gild"), None, "a lead that has ended");
    let newer = {
        let mut chat = project.launch(&["chat", "--json", "--agent", &agent, "good morning"], &[]);
        chat.until(|fact| matches!(fact, Event::TurnEnded { .. }));
        chat.kill();
        project.store().list().unwrap().into_iter().find(|id| id.as_str().ends_with("good-morning")).unwrap()
    };
    assert_eq!(run(&project, "varnish"), Some(newer));
    let set = project.set("RAPPORT_LEAD_POLICY", "ask");
    assert_eq!(run(&set, "polish"), None, "only people are asked");
}
