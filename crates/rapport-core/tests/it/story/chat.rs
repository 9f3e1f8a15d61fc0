//! Conversations: turn by turn, with rests in between.

use rapport_core::{Act, AgentDid, Aim, Created, Leave, Status, Terms};

use crate::support::{Story, created};

fn chat(first: &str) -> Story {
    Story::begun(Created { aim: Aim::Chat, ..created(first, Terms::default()) })
}

fn say(text: &str) -> Act {
    Act::Say { text: text.into(), id: None }
}

fn finish(result: &str) -> AgentDid {
    AgentDid::Finish { result: result.into() }
}

/// What is said while the agent is at work waits, and then is one turn; the same words twice are two messages.
#[test]
fn a_conversation_goes_on_message_by_message() {
    let mut story = chat("hello");
    story
        .wants(&["turn 1 running to chat []"])
        .connects()
        .act(say("are you there?"), "heard are you there? from ann (terminal)")
        .act(say("hello"), "heard hello from ann (terminal)")
        .did(finish("Hi!"), "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "are you there?\n\nhello");
    story.did(finish("Yes."), "turn 2 ended").wants(&[]);
    assert_eq!(story.play.view().status, Status::Idle);
    assert_eq!(story.play.view().result.as_deref(), Some("Yes."));
    story.act(say("hello"), "heard hello from ann (terminal); turn 3 started to chat");
    assert_eq!((story.order().prompt.as_str(), story.order().told_before), ("hello", 1));
    assert!(story.order().linger.is_some(), "its process stays for the next message");
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
        .act(said("m2"), "heard hello from ann (terminal)")
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
        .act(say("more"), "heard more from ann (terminal)")
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
