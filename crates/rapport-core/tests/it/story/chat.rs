//! Conversations: turn by turn, with rests in between.

use rapport_core::{Act, AgentDid, Aim, Created, Event, Leave, Status, Terms, TurnId, UndoneFiles, World};

use crate::support::{Story, created};

fn chat(first: &str) -> Story {
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created(first, Terms::default()) });
    story.wants(&["baseline of turn 1"]).baseline();
    story
}

fn say(text: &str) -> Act {
    Act::Say { text: text.into(), id: None }
}

fn finish(result: &str) -> AgentDid {
    AgentDid::Finish { result: result.into() }
}

/// What is said while the agent is at work reaches it there; what it did not read is one turn, and the same words
/// twice are two messages.
#[test]
fn a_conversation_goes_on_message_by_message() {
    let mut story = chat("hello");
    story
        .wants(&["turn 1 running to chat []"])
        .connects()
        .act(say("are you there?"), "heard are you there? from ann (terminal) in turn 1")
        .act(say("hello"), "heard hello from ann (terminal) in turn 1")
        .did(finish("Hi!"), "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "are you there?\n\nhello");
    story.did(finish("Yes."), "turn 2 ended").wants(&["the state that was left noted"]);
    assert_eq!(story.play.view().status, Status::Idle);
    assert_eq!(story.play.view().result.as_deref(), Some("Yes."));
    story.act(say("hello"), "heard hello from ann (terminal); turn 3 started to chat");
    assert_eq!((story.order().prompt.as_str(), story.order().sent_before), ("hello", 1));
    assert!(story.order().linger.is_some(), "its process stays for the next message");
}

/// The agent may change files in any turn: what it changed is known, and is undone while it rests.
#[test]
fn what_a_conversation_changes_is_recorded_and_undone() {
    let left = |state: &str| World::WorkLeft { state: Some(state.into()) };
    let mut story = chat("hello");
    story
        .connects()
        .act(Act::UndoWork, "refused: undoing is not possible now: the agent is working")
        .did(finish("Hi!"), "turn 1 ended")
        .wants(&["the state that was left noted"])
        .act(Act::UndoWork, "refused: undoing is not possible now: the state in which its agent left the files is still being recorded")
        .world(left("l1"), "left at l1")
        .wants(&[]);
    let stretches = story.play.session.stretches();
    assert_eq!(stretches.len(), 1);
    assert_eq!((stretches[0].from.as_deref(), stretches[0].to.as_deref()), (Some("b1"), Some("l1")));
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .act(say("more"), "refused: saying something is not possible now: its work is being undone")
        .wants(&["the work undone from l1 to b1"])
        .world(World::WorkUndone { outcome: Ok(UndoneFiles::default()) }, "the work undone")
        .wants(&[])
        .act(say("more"), "heard more from ann (terminal); turn 2 started to chat")
        .wants(&["baseline of turn 2"]);
    assert_eq!(story.play.session.stretches(), [], "the next work begins anew");
    // A turn that changes nothing is not remembered.
    let baseline = World::Baseline { turn: TurnId(2), baseline: Some("b2".into()) };
    story.world(baseline, "turn 2 baselined at b2").connects();
    story.did(finish("Yes."), "turn 2 ended").world(left("b2"), "left at b2");
    assert_eq!(story.play.session.stretches(), []);
    assert!(!story.play.session.is_record_incomplete());
    // Conversations of older programs have no record, and that is not the same as no changes.
    for entry in &mut story.play.log {
        entry.facts.retain(|fact| !matches!(fact, Event::Baselined { .. } | Event::WorkLeft { .. }));
    }
    story.play.replay();
    assert!(story.play.session.is_record_incomplete());
}

/// What a chat brings twice is heard once; the same words said twice are heard twice.
#[test]
fn the_same_message_is_not_heard_twice() {
    let said = |id: &str| Act::Say { text: "hello".into(), id: Some(id.into()) };
    let first = Created { aim: Aim::Chat, request: Some("m1".into()), ..created("hello", Terms::default()) };
    let mut story = Story::begun(first);
    story
        .connects()
        .act(said("m1"), "")
        .act(said("m2"), "heard hello from ann (terminal) in turn 1")
        .act(said("m2"), "")
        .crash("cut off: Rapport was stopped")
        .act(said("m2"), "")
        .act(said("m3"), "heard hello from ann (terminal)");
}

/// Killed in the middle of a message, the agent is told to go on; a message that came meanwhile is not lost.
#[test]
fn a_conversation_survives_a_crash() {
    let mut story = chat("hello");
    story
        .connects()
        .act(say("more"), "heard more from ann (terminal) in turn 1")
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 1 running to chat []"])
        .connects()
        .did(finish("Hi!"), "turn 1 ended; turn 2 started to chat")
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 2 running to chat []"])
        .leaves(Leave::Failed { reason: "no login".into() }, "cut off: no login; failed: no login")
        .act(say("again"), "restarted by ann (terminal); heard again from ann (terminal)")
        .wants(&["turn 2 running to chat []"])
        .act(say(" "), "refused: the task is empty")
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .act(say("late"), "refused: saying something is not possible now: the session is cancelled");
}
