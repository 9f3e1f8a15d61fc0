//! Questions in the middle of work, permissions, and leaving plan mode.

use rapport_core::{Act, AgentDid, AgentState, Ask, Leave, Permission, Reply, RoundId, Status, World};

use super::{length, way, working};
use crate::support::{Story, bob, call, person, question};

#[test]
fn two_questions_at_once_and_only_the_last_is_parked() {
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .noted(3)
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .wants(&["snapshot at round 4", "turn 2 running to work []"])
        .noted(4)
        .open(&["q3", "q4"]);
    assert_eq!(story.play.session.deadline(), None, "with two open nothing is put away");
    story
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .wants(&["turn 2 running to work [c2]", "c2 replied: Which way? Passkeys"]);
    assert_eq!(story.play.session.deadline(), None, "nor while a reply has not arrived");
    story
        .takes("c2")
        .due("5m", "c3 cooled")
        .wants(&["turn 2 running to work []", "parked at c3"])
        .leaves(Leave::Deferred { call: call("c3") }, "parked at c3")
        .wants(&[]);
    assert_eq!(story.play.view().agent.state, AgentState::Parked);
    assert_eq!(story.play.view().status, Status::NeedsInput);
    story
        .answer("q4", "2", "q4 answered a-week by ann (terminal)")
        .wants(&["turn 2 running to work [c3]", "c3 replied: How long? A week"]);
}

/// Between the answer and the note the agent may have changed something.
#[test]
fn the_state_at_a_question_is_noted_once_and_only_while_it_waits() {
    let state = |round: u32, name: &str| World::Snapshot { round: RoundId(round), state: Some(name.into()) };
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .world(state(2, "s0"), "")
        .world(state(3, "s1"), "round 3 snapshotted at s1")
        .world(state(3, "s2"), "")
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .takes("c2")
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .answer("q4", "1", "q4 answered a-day by ann (terminal)")
        .world(state(4, "s3"), "");
}

#[test]
fn before_the_work_no_state_is_noted() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .wants(&["turn 1 running to plan []"])
        .world(World::Snapshot { round: RoundId(1), state: None }, "");
}

#[test]
fn a_question_the_agent_went_on_without_is_withdrawn_and_says_so() {
    working()
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .did(
            AgentDid::Take { call: call("c2") },
            "round 3 closed: it was withdrawn: the agent went on without an answer",
        )
        .asks("c3", &[length()], "c3 asked round 4: q4")
        .finishes("Done.", "round 4 closed: it was withdrawn: the agent finished without it; turn 2 ended")
        .open(&[])
        .world(World::Report { changes: None }, "reported");
}

#[test]
fn who_answered_is_told_unless_it_is_a_person_at_the_terminal() {
    let answer = |id: &str| Act::Answer { question: Some(question(id)), reply: Reply::Choices(vec![0]) };
    let mut story = working();
    story.asks("c2", &[way(), length()], "c2 asked round 3: q3, q4");
    story.check(&person(bob(), answer("q3")), "q3 answered passkeys by bob (telegram)");
    let lead = rapport_core::By::Lead { name: "main".into() };
    story.check(&person(lead, answer("q4")), "q4 answered a-day by the lead main");
    story.told(
        "c2",
        "Which way? Passkeys (answered by a person in telegram), How long? A day (answered by the lead main)",
    );
}

#[test]
fn permission_is_given_once_always_or_not() {
    let what = "May the agent use Bash: rm -r target?";
    let cases = [
        (vec!["allow"], "allow", "allowed"),
        (vec!["Allow"], "allow", "allowed"),
        (vec!["allow", "once"], "allow", "allowed"),
        (vec!["1"], "allow", "allowed"),
        (vec!["always"], "always", "allowed always"),
        (vec!["Allow", "always"], "always", "allowed always"),
        (vec!["deny"], "deny", "denied: No. Do not do this; find another way, or ask."),
        (vec!["DENY"], "deny", "denied: No. Do not do this; find another way, or ask."),
        (vec!["use", "cargo", "clean"], "\"use cargo clean\"", "denied: use cargo clean"),
        (vec!["ok"], "\"ok\"", "denied: ok"),
    ];
    for (typed, answered, told) in cases {
        let mut story = asked_for_permission();
        let reply = Reply::Words(typed.into_iter().map(str::to_owned).collect());
        story
            .act(Act::Answer { question: None, reply }, &format!("q3 answered {answered} by ann (terminal)"))
            .told("c2", &format!("{what} {told}"));
    }
    let by_bob = Act::Answer { question: None, reply: Reply::Choices(vec![2]) };
    let mut story = asked_for_permission();
    story.check(&person(bob(), by_bob), "q3 answered deny by bob (telegram)");
    story.told(
        "c2",
        "May the agent use Bash: rm -r target? denied: No. Do not do this; find another way, or ask. (answered by a \
         person in telegram)",
    );
}

fn asked_for_permission() -> Story {
    let ask = Ask::Permission(Permission::new("Bash", "rm -r target"));
    let mut story = working();
    story.did(AgentDid::Ask { call: call("c2"), ask, parkable: false }, "c2 asked round 3: q3");
    story
}

/// A permission is no answer a plan is made of, and nobody can change it afterwards.
#[test]
fn a_permission_is_decided_once() {
    let mut story = asked_for_permission();
    story.answer("q3", "allow", "q3 answered allow by ann (terminal)").act(
        Act::Reopen { question: question("q3") },
        "refused: the answer to q3 can no longer be changed: it is decided",
    );
    assert_eq!(story.play.view().answers.len(), 2);
}

/// Allowed once is once: a process that had the answer and is gone asks anew in a new call.
#[test]
fn a_permission_that_was_used_is_asked_for_again() {
    let ask = || Ask::Permission(Permission::new("Bash", "rm -r target"));
    asked_for_permission()
        .answer("q3", "allow", "q3 answered allow by ann (terminal)")
        .takes("c2")
        .crash("cut off: Rapport was stopped")
        .connects()
        .did(AgentDid::Ask { call: call("c9"), ask: ask(), parkable: false }, "c9 asked round 4: q4");
}

#[test]
fn leaving_plan_mode_in_the_middle_of_work_is_a_question() {
    let leave = |plan: &str| Ask::LeavePlanMode { plan: plan.into() };
    working()
        .did(AgentDid::Ask { call: call("c2"), ask: leave("1. Go"), parkable: false }, "c2 asked round 3: q3")
        .answer("q3", "go ahead", "q3 answered allow by ann (terminal)")
        .told("c2", "The agent has made a plan of its own. May it go ahead? allowed")
        .takes("c2")
        .did(AgentDid::Ask { call: call("c3"), ask: leave("2. Go"), parkable: false }, "c3 asked round 4: q4")
        .answer("q4", "not without tests", "q4 answered \"not without tests\" by ann (terminal)")
        .told("c3", "The agent has made a plan of its own. May it go ahead? denied: not without tests");
}
