//! Hot, cooled, parked, cut off: how an agent waits and how it gets its answer. Nobody is asked twice.

use jiff::SignedDuration;
use rapport_core::{Act, AgentDid, Ask, Beside, By, Leave, Terms, TermsChange, TurnId, World};

use super::{length, way};
use crate::support::{Story, call, person};

#[test]
fn hot_then_cooled_then_parked_then_answered_at_the_same_call() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .wants(&["turn 1 running to plan []"])
        .due("5m", "c1 cooled")
        .wants(&["turn 1 running to plan []", "parked at c1"])
        .world(World::Tick, "")
        .leaves(Leave::Deferred { call: call("c1") }, "parked at c1")
        .wants(&[])
        .open(&["q1"])
        .crash("")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys"])
        .connects()
        .asks("c1", &[way()], "c1 asked round 1 again")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys"])
        .takes("c1")
        .wants(&["turn 1 running to plan []"]);
}

/// A person may change the terms while the session goes on. They hold at once, also for the question that waits, and over a
/// kill; what holds already is no change, and nobody else changes them.
#[test]
fn the_hot_time_is_changed_for_the_rest_of_the_session() {
    let hot =
        |minutes| TermsChange { hot: Some(SignedDuration::from_mins(minutes)), ..TermsChange::default() };
    let change = |minutes| Act::ChangeTerms { change: hot(minutes) };
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .act(change(5), "")
        .act(change(1), "a waiting agent is kept for 1m, says ann (terminal)")
        .act(change(1), "")
        .due("1m", "c1 cooled")
        .leaves(Leave::Deferred { call: call("c1") }, "parked at c1")
        .crash("")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1 again")
        .takes("c1")
        .asks("c2", &[length()], "c2 asked round 2: q2")
        .due("1m", "c2 cooled");
    let lead = By::Lead { name: "claude-code".into() };
    let refused = "refused: going on over budget needs a person, the lead claude-code cannot decide it";
    story.check(&person(lead, change(3)), refused);
    let cancelled =
        "round 2 closed: it was withdrawn: the session was cancelled; cancelled by ann (terminal)";
    story.act(Act::Cancel { reason: None }, cancelled).act(change(3), "");
}

#[test]
fn an_answer_while_it_cools_keeps_the_process() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .due("5m", "c1 cooled")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys"])
        .takes("c1")
        // The next question has its own hot time.
        .asks("c2", &[length()], "c2 asked round 2: q2")
        .due("5m", "c2 cooled")
        .wants(&["turn 1 running to plan []", "parked at c2"]);
}

#[test]
fn a_call_withdrawn_while_it_cools_parks_nothing() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .due("5m", "c1 cooled")
        .did(
            AgentDid::Withdraw { call: call("c1") },
            "round 1 closed: it was withdrawn: the agent no longer asks",
        )
        .wants(&["turn 1 running to plan []"])
        .answer(
            "q1",
            "1",
            "refused: q1 can no longer be answered: it was withdrawn: the agent no longer asks",
        )
        .did(AgentDid::Take { call: call("c1") }, "")
        .asks("c1", &[way()], "c1 asked round 2: q2")
        .open(&["q2"]);
}

/// Of two calls put away an agent asks only the last again, so it is never put away with two.
#[test]
fn a_second_question_while_the_first_cools_keeps_the_process() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .due("5m", "c1 cooled")
        .asks("c2", &[length()], "c2 asked round 2: q2")
        .wants(&["turn 1 running to plan []"])
        .answer("q2", "1", "q2 answered a-day by ann (terminal)")
        .wants(&["turn 1 running to plan [c2]", "c2 replied: How long? A day"])
        .takes("c2")
        .wants(&["turn 1 running to plan []", "parked at c1"]);
}

#[test]
fn cut_off_with_a_question_open_waits_for_the_answer_and_brings_it() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .leaves(Leave::Failed { reason: "killed".into() }, "cut off: killed")
        .wants(&[])
        .open(&["q1"])
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys"])
        .told("c1", "Which way? Passkeys")
        .connects()
        .takes("c1")
        .wants(&["turn 1 running to plan []"]);
}

/// After a cut-off the agent asks in a new call; the answer that was given to the old one is given to it.
#[test]
fn the_same_question_under_a_new_call_is_not_asked_again() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .connects()
        .asks("c7", &[way()], "c7 asked round 1 again")
        .open(&[])
        .wants(&["turn 1 running to plan [c7]", "c7 replied: Which way? Passkeys"])
        .takes("c7")
        .wants(&["turn 1 running to plan []"])
        // Once it has the answer, asking again is asking anew.
        .asks("c8", &[way()], "c8 asked round 2: q2");
}

#[test]
fn the_same_question_still_open_under_a_new_call_is_not_asked_again() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["turn 1 running to plan []"])
        .connects_again()
        .asks("c7", &[way()], "c7 asked round 1 again")
        .open(&["q1"])
        .answer("q1", "2", "q1 answered passwords by ann (terminal)")
        .wants(&["turn 1 running to plan [c7]", "c7 replied: Which way? Passwords"]);
}

#[test]
fn another_question_after_a_cut_off_supersedes_the_one_that_was_open() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .act(Act::Restart, "restarted by ann (terminal)")
        .asks("c7", &[length()], "round 1 closed: round 2 asks instead; c7 asked round 2: q2")
        .answer("q1", "1", "refused: q1 can no longer be answered: round 2 asks instead")
        .open(&["q2"])
        .asks("c1", &[way()], "c1 asked round 3: q3");
}

/// The transcript is written a moment after the answer arrived. Killed in between, the agent asks the very same call
/// again, though it said that it had the answer.
#[test]
fn an_answer_that_was_taken_and_lost_with_the_process_is_given_again() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .due("5m", "c1 cooled")
        .leaves(Leave::Deferred { call: call("c1") }, "parked at c1")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1 again")
        .takes("c1")
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 1 running to plan [c1]"])
        .connects()
        .asks("c1", &[way()], "c1 asked round 1 again")
        .wants(&["turn 1 running to plan [c1]", "c1 replied: Which way? Passkeys"])
        .takes("c1")
        .asks("c1", &[way()], "");
}

/// Or it does not ask again: then the answer goes along when the conversation is resumed, and the driver sees whether
/// it is in there.
#[test]
fn an_answer_that_may_be_lost_with_the_process_goes_along() {
    Story::of("Add login")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .takes("c1")
        .wants(&["turn 1 running to plan []"])
        .asks("c2", &[length()], "c2 asked round 2: q2")
        .crash("cut off: Rapport was stopped")
        .answer("q2", "short", "q2 answered \"short\" by ann (terminal)")
        .wants(&["turn 1 running to plan [c1, c2]", "c2 replied: How long? short"])
        .connects()
        .did(AgentDid::Take { call: call("c1") }, "")
        .takes("c2");
}

/// A process with anything else in flight is not parked, and says so. It goes when the question waits alone.
#[test]
fn a_question_beside_something_else_is_kept_hot() {
    let mut story = Story::of("Add login");
    let kept = |beside| AgentDid::StayHot { call: call("c1"), beside };
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1").did(kept(Beside::Agent), "");
    story.due("5m", "c1 cooled").did(kept(Beside::Agent), "c1 stayed hot: a sub-agent is in flight");
    story.did(kept(Beside::Agent), "").did(kept(Beside::Call), "c1 stayed hot: another call is in flight");
    assert_eq!(story.play.view().agent.kept_by, Some(Beside::Call));
    assert_eq!(story.play.session.parkable_call(), None, "its host would cut it off");
    story.leaves(Leave::Deferred { call: call("c1") }, "parked at c1");
    assert_eq!(story.play.view().agent.kept_by, None);
    story.answer("q1", "1", "q1 answered passkeys by ann (terminal)").did(kept(Beside::Call), "");
}

#[test]
fn a_question_beside_another_one_is_kept_hot() {
    let mut story = Story::of("Add login");
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    assert_eq!(story.play.view().agent.kept_by, None);
    story.asks("c2", &[length()], "c2 asked round 2: q2");
    assert_eq!(story.play.view().agent.kept_by, Some(Beside::Call));
}

#[test]
fn a_question_that_cannot_be_parked_stays_hot() {
    let mut story = Story::of("Add login");
    let ask = Ask::Questions(vec![way()]);
    story.connects().did(AgentDid::Ask { call: call("c1"), ask, parkable: false }, "c1 asked round 1: q1");
    assert_eq!(story.play.session.deadline(), None);
    assert_eq!(story.play.session.parkable_call(), None);
}

#[test]
fn expiry_tells_the_agent_honestly() {
    let terms = Terms { expire: Some(SignedDuration::from_hours(1)), ..Terms::default() };
    Story::with("Add login", terms)
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .due("5m", "c1 cooled")
        .leaves(Leave::Deferred { call: call("c1") }, "parked at c1")
        .due("55m", "round 1 closed: its time ran out")
        .open(&[])
        .told(
            "c1",
            "Which way? denied: Nobody answered in time. This is not an answer: do not take it as consent or as a \
             choice. Do what can be done without it and say what is left open.",
        )
        .answer("q1", "1", "refused: q1 can no longer be answered: its time ran out")
        .connects()
        .asks("c1", &[way()], "c1 asked round 1 again")
        .takes("c1")
        .wants(&["turn 1 running to plan []"]);
}

/// What somebody answered in time reaches the agent, also where the rest of the round did not.
#[test]
fn expiry_keeps_no_answer_back() {
    let terms = Terms { expire: Some(SignedDuration::from_hours(1)), ..Terms::default() };
    Story::with("Add login", terms)
        .connects()
        .asks("c1", &[way(), length()], "c1 asked round 1: q1, q2")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .due("5m", "c1 cooled")
        .due("55m", "round 1 closed: its time ran out")
        .told(
            "c1",
            "How long? denied: Nobody answered in time. This is not an answer: do not take it as consent or as a \
             choice. Do what can be done without it and say what is left open. These were answered:\n\n\
             Q: Which way?\nA: Passkeys",
        );
}

/// The time that questions waited, in which a person may have slept: two that wait at once count once, and one that waits for
/// nobody any more not at all.
#[test]
fn the_time_that_questions_waited_is_told_apart() {
    let mut story = Story::of("Add login");
    story.connects().asks("c1", &[way()], "c1 asked round 1: q1");
    story.play.pass(SignedDuration::from_hours(1));
    story.asks("c2", &[length()], "c2 asked round 2: q2");
    story.play.pass(SignedDuration::from_hours(6));
    story.answer("q1", "1", "q1 answered passkeys by ann (terminal)");
    assert_eq!(story.play.session.history().waited(), SignedDuration::from_hours(7));
    story.play.pass(SignedDuration::from_hours(1));
    story.answer("q2", "2", "q2 answered a-week by ann (terminal)");
    assert_eq!(story.play.session.history().waited(), SignedDuration::from_hours(8));
    story.play.pass(SignedDuration::from_hours(10));
    assert_eq!(story.play.session.history().waited(), SignedDuration::from_hours(8));
}

/// WORK-16: an agent that may not start yet waits, and says so until it runs.
#[test]
fn an_agent_that_waits_for_a_free_place_says_so() {
    let mut story = Story::of("Add login");
    story
        .world(World::Queued { turn: TurnId(2) }, "")
        .world(
            World::Queued { turn: TurnId(1) },
            "the agent waits for a free place, as many run as may run at once",
        )
        .world(World::Queued { turn: TurnId(1) }, "")
        .wants(&["turn 1 running to plan []"]);
    let agent = story.play.view().agent;
    assert_eq!((agent.is_queued, agent.doing.as_deref()), (true, Some("waits for a free place")));
    story.crash("cut off: Rapport was stopped");
    assert!(!story.play.view().agent.is_queued);
    story
        .world(
            World::Queued { turn: TurnId(1) },
            "the agent waits for a free place, as many run as may run at once",
        )
        .connects();
    assert!(!story.play.view().agent.is_queued);
}
