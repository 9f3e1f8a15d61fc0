//! LEAD-16: what a lead is told besides questions. Idle: a worker whose turn ended without a result and without a
//! question. Completion and error: the end of the work that it began.

use rapport_core::routing::Policy;
use rapport_core::{Act, Created, Reply, Status, World};

use super::{lead, led};
use crate::support::{Story, person, question};

/// A worker that works, and has a lead.
fn working(created: Created) -> Story {
    let mut story = Story::begun(created);
    story.connects();
    let planned = story.put(&crate::support::agent(
        1,
        rapport_core::AgentDid::Leave(rapport_core::Leave::Finished {
            result: "# Login\n\n1. Do it.".into(),
        }),
    ));
    assert!(planned.contains("asked round 1: confirm"), "{planned}");
    story
        .saved()
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .saved()
        .baseline()
        .connects();
    story
}

fn answers(word: &str) -> Act {
    Act::Respond {
        question: question("q1"),
        reply: Reply::Words(vec![word.into()]),
        ground: None,
        because: None,
    }
}

const IDLE: &str = "turn 2 ended; Rapport asked round 2: q1; q1 (clarification) to lead: it comes first";

/// LEAD-16: the lead decides whether an idle worker goes on, without a ground, counted in its limit.
#[test]
fn lead_16_the_lead_says_whether_an_idle_worker_goes_on() {
    let mut story = working(led(Policy::Auto));
    story.finishes(" \n", IDLE).wants(&["20260124-lead told of q1"]);
    assert_eq!(story.play.view().status, Status::NeedsInput);
    story.play.replay();
    story.check(
        &person(lead(), answers("go_on")),
        "q1 answered go_on by the lead 20260124-lead; turn 3 started to work",
    );
    assert_eq!(story.order().prompt, "Go on with the task where you left off.");
    story.connects();
    let idle = "turn 3 ended; Rapport asked round 3: q2; q2 (clarification) to lead: it comes first";
    story.finishes("", idle);
    let done = Act::Respond {
        question: question("q2"),
        reply: Reply::Words(vec!["It is done".into()]),
        ground: None,
        because: None,
    };
    story.check(&person(lead(), done), "q2 answered finish by the lead 20260124-lead");
    story.wants(&["report of turn 3 since b1"]).world(World::Report { changes: None }, "reported");
    assert_eq!(story.play.view().status, Status::Completed);
}

/// LEAD-16: five times in a row, then a person is asked; and silence decides nothing.
#[test]
fn lead_16_an_idle_worker_is_not_kept_going_for_ever() {
    let mut story = working(led(Policy::Trust));
    for turn in 2..7 {
        let facts = story.put(&crate::support::agent(
            turn,
            rapport_core::AgentDid::Leave(rapport_core::Leave::Finished { result: String::new() }),
        ));
        assert!(facts.contains("to lead: it comes first"), "{facts}");
        let id = story.play.view().questions[0].id.clone();
        let go_on = Act::Respond {
            question: id,
            reply: Reply::Words(vec!["go_on".into()]),
            ground: None,
            because: None,
        };
        story.put(&person(lead(), go_on));
        story.connects();
    }
    let facts = story.put(&crate::support::agent(
        7,
        rapport_core::AgentDid::Leave(rapport_core::Leave::Finished { result: String::new() }),
    ));
    assert!(facts.contains("to person: the lead answered five times in a row"), "{facts}");
    story.play.pass(jiff::SignedDuration::from_hours(240));
    story.world(World::Tick, "").open(&["q6"]);
}

/// LEAD-16: a lead that has its worker go on after every end is told of five ends; then only people are, until one of
/// them acts.
#[test]
fn lead_16_a_lead_does_not_loop_with_its_worker() {
    let mut story = working(Created { by: lead(), ..led(Policy::Auto) });
    let is_told = |story: &Story| {
        story.play.session.wants().iter().any(|want| matches!(want, rapport_core::Want::LeadInformed { .. }))
    };
    let says = |by, text: &str| person(by, Act::Say { text: text.into(), id: None });
    let end = |story: &mut Story, turn| {
        let finished = rapport_core::Leave::Finished { result: "Done.".into() };
        let ended = story.put(&crate::support::agent(turn, rapport_core::AgentDid::Leave(finished)));
        assert!(ended.contains("ended"), "{ended}");
        story.world(World::Report { changes: None }, "reported");
    };
    for number in 1..=6 {
        end(&mut story, number + 1);
        assert_eq!(is_told(&story), number <= 5, "end {number}");
        if number <= 5 {
            let outcome = Ok(());
            story.put(&rapport_core::Input::World(World::LeadInformed { end: number, outcome }));
        }
        let by = if number == 6 { crate::support::ann() } else { lead() };
        let begun = story.put(&says(by, "once more"));
        assert!(begun.contains("started"), "{begun}");
        story.baseline().connects();
    }
    end(&mut story, 8);
    assert!(is_told(&story), "a person has acted");
}

/// LEAD-16: under `assist` the lead drafts; a person may also say what to do, in own words.
#[test]
fn lead_16_a_person_says_what_an_idle_worker_does() {
    let mut story = working(led(Policy::Assist));
    story.finishes("", IDLE).check(
        &person(lead(), answers("go_on")),
        "q1 drafted go_on by the lead 20260124-lead on nothing; q1 (clarification) to person: the lead drafted an answer",
    );
    let own = Act::Answer { question: Some(question("q1")), reply: Reply::Text("Write the tests".into()) };
    story.act(own, "q1 answered \"Write the tests\" by ann (terminal); turn 3 started to work");
    assert_eq!(story.order().prompt, "Write the tests");
}

/// Without a lead, and with a result, nothing is asked.
#[test]
fn lead_16_a_result_is_no_idleness() {
    working(led(Policy::Auto)).finishes("Done.", "turn 2 ended");
    working(Created { lead: None, ..led(Policy::Auto) }).finishes("", "turn 2 ended");
}

/// LEAD-16: the lead that began a session is told once how its work ended, so that it can announce it; one that only
/// leads it, or ended it itself, is not.
#[test]
fn lead_16_the_lead_that_began_the_work_is_told_how_it_ended() {
    let own = || Created { by: lead(), ..led(Policy::Auto) };
    let mut story = working(own());
    story.finishes("Done: 3 pages.", "turn 2 ended").world(World::Report { changes: None }, "reported");
    story.wants(&["20260124-lead informed of end 1"]);
    let told = story.play.session.announcement(&rapport_core::SessionId::new("20260124-add-login"));
    assert!(
        told.starts_with("[Claude Code Completed - Session 20260124-add-login]\nProject: shop\n"),
        "{told}"
    );
    assert!(told.contains("Its last words: Done: 3 pages.") && told.chars().count() <= 1_200, "{told}");
    let informed = |end| World::LeadInformed { end, outcome: Ok(()) };
    story.play.replay();
    story.world(informed(1), "lead informed of end 1").world(informed(1), "").wants(&[]);
    let mut story = working(own());
    let failed = rapport_core::Leave::Failed { reason: "no login".into() };
    story.leaves(failed, "cut off: no login; failed: no login").wants(&["20260124-lead informed of end 1"]);
    let told = story.play.session.announcement(&rapport_core::SessionId::new("20260124-add-login"));
    assert!(told.contains("[Claude Code Failed") && told.contains("Why: no login"), "{told}");
    let mut story = working(own());
    story.check(&person(lead(), Act::Cancel { reason: None }), "cancelled by the lead 20260124-lead");
    story.wants(&["the state that was left noted"]);
    let mut story = working(led(Policy::Auto));
    story.finishes("Done.", "turn 2 ended").world(World::Report { changes: None }, "reported").wants(&[]);
}
