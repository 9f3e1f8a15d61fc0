//! Somebody stops the agent in the middle of its turn: the session rests, and the conversation is kept.

use jiff::SignedDuration;
use rapport_core::message_queue::{QueueMode, QueueTerms};
use rapport_core::{Act, AgentDid, Aim, Ask, Created, Leave, Permission, PhaseView, Status, Terms};

use super::{length, planned, way, working};
use crate::support::{Story, bob, call, created, person};

const STOPPED: &str = "turn 2 stopped by ann (terminal)";

fn say(text: &str) -> Act {
    Act::Say { text: text.into(), id: None }
}

/// Nothing goes on before somebody says what to do; then the same turn does, with their words.
#[test]
fn it_rests_until_somebody_says_what_to_do() {
    let mut story = working();
    story.act(Act::Stop, STOPPED).wants(&[]).act(Act::Stop, "");
    let view = story.play.view();
    assert_eq!((view.status, view.phase, view.is_at_rest()), (Status::Idle, PhaseView::Resting, true));
    story
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .crash("")
        .wants(&[])
        .act(say("rather so"), "restarted by ann (terminal); heard rather so from ann (terminal) in turn 2")
        .wants(&["turn 2 running to work []"]);
    let said: Vec<_> = story.order().messages.into_iter().map(|said| said.text).collect();
    assert_eq!(said, ["rather so"]);
    assert_eq!(story.play.view().status, Status::Running);
    story.connects_again().finishes("So.", "turn 2 ended; turn 3 started to work");
}

/// Killed before its agent was gone, it rests all the same.
#[test]
fn it_rests_after_a_kill() {
    let mut story = working();
    story.act(Act::Stop, STOPPED).crash("cut off: Rapport was stopped").wants(&[]);
    story.act(Act::Restart, "restarted by ann (terminal)").wants(&["turn 2 running to work []"]);
}

/// Nobody is asked anything by an agent that was stopped. What it asked is withdrawn, and it is told so when it goes on.
#[test]
fn nobody_is_asked_in_between() {
    let told = "your question denied: Nobody answered this: you were stopped here. Do not take it as an answer; ask again \
        if you still need to know.";
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .noted(3)
        .act(
            Act::Stop,
            "round 3 closed: it was withdrawn: the agent was stopped; c2 declined: Nobody answered this: you were stopped here; turn 2 stopped by ann (terminal)",
        )
        .open(&[])
        .wants(&[])
        .asks("c3", &[length()], "c3 declined: Nobody answered this: you were stopped here");
    let ask = Ask::Permission(Permission::new("Bash", "make"));
    story
        .did(
            AgentDid::Ask { call: call("c4"), ask, parkable: true },
            "c4 declined: Nobody answered this: you were stopped here",
        )
        .open(&[])
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .act(Act::Restart, "restarted by ann (terminal)")
        .told("c2", told)
        .told("c4", told);
}

/// An answer that was on its way is told when the agent goes on.
#[test]
fn an_answer_that_was_on_its_way_is_not_lost() {
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .noted(3)
        .answer("q3", "1", "q3 answered passkeys by ann (terminal)")
        .act(Act::Stop, STOPPED)
        .wants(&[])
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .act(
            say("and quickly"),
            "restarted by ann (terminal); heard and quickly from ann (terminal) in turn 2",
        )
        .told("c2", "Which way? Passkeys");
}

/// A parked agent that is stopped is not asked again what it asked.
#[test]
fn a_parked_agent_is_stopped_too() {
    let mut story = working();
    story
        .asks("c2", &[way()], "c2 asked round 3: q3")
        .noted(3)
        .due("5m", "c2 cooled")
        .leaves(Leave::Deferred { call: call("c2") }, "parked at c2");
    story.check(
        &person(bob(), Act::Stop),
        "round 3 closed: it was withdrawn: the agent was stopped; c2 declined: Nobody answered this: you were stopped here; turn 2 stopped by bob (telegram)",
    );
    story
        .wants(&[])
        .act(say("so"), "restarted by ann (terminal); heard so from ann (terminal) in turn 2")
        .wants(&[
            "turn 2 running to work [c2]",
            "c2 replied: your question denied: Nobody answered this: you were stopped here. Do not take it as an answer; ask again if you still need to know.",
        ]);
}

/// What was said before the agent was stopped waits with it, also where its turn came to its end meanwhile.
#[test]
fn words_from_before_wait_with_it() {
    working()
        .act(say("and the docs"), "heard and the docs from ann (terminal) in turn 2")
        .act(Act::Stop, STOPPED)
        .finishes("Done.", "turn 2 ended; turn 3 started to work; turn 3 stopped by ann (terminal)")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)")
        .wants(&["turn 3 running to work []"]);
}

#[test]
fn what_does_not_go_on_is_not_stopped() {
    planned().act(Act::Stop, "refused: stopping is not possible now: the plan waits for confirmation");
    let mut story = working();
    story
        .finishes("Done.", "turn 2 ended")
        .act(Act::Stop, "refused: stopping is not possible now: the work is being reported");
    let mut story = working();
    story
        .act(Act::Stop, STOPPED)
        .act(Act::Confirm, "refused: confirming is not possible now: the agent was stopped")
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .act(Act::Stop, "refused: stopping is not possible now: the session is cancelled");
}

/// A conversation that was stopped goes on with the next message; what was queued comes after it.
#[test]
fn a_conversation_is_stopped_too() {
    let queue =
        QueueTerms { mode: QueueMode::Followup, debounce: SignedDuration::ZERO, ..QueueTerms::default() };
    let terms = Terms { queue, ..Terms::default() };
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created("hello", terms) });
    story
        .baseline()
        .connects()
        .act(say("and more"), "heard and more from ann (terminal)")
        .act(Act::Stop, "turn 1 stopped by ann (terminal)")
        .wants(&[])
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .act(say("hey"), "restarted by ann (terminal); heard hey from ann (terminal) in turn 1")
        .connects_again()
        .did(AgentDid::Read { message: 1 }, "message 1 read")
        .did(AgentDid::Finish { result: "Hi!".into() }, "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "and more");
}
