//! Messages to an agent at work in a conversation: LEAD-5.

use jiff::SignedDuration;
use rapport_core::message_queue::{DropPolicy, QueueChange, QueueMode, QueueTerms};
use rapport_core::{Act, AgentDid, Aim, By, Created, Leave, Status, Terms, TermsChange, World};

use crate::support::{Story, bob, created, draft, person};

fn chat(queue: QueueTerms) -> Story {
    let terms = Terms { queue, ..Terms::default() };
    let mut story = Story::begun(Created { aim: Aim::Chat, ..created("hello", terms) });
    story.baseline().connects();
    story
}

fn mode(mode: QueueMode) -> QueueTerms {
    QueueTerms { mode, ..QueueTerms::default() }
}

fn say(text: &str) -> Act {
    Act::Say { text: text.into(), id: Some(text.into()) }
}

fn finish() -> AgentDid {
    AgentDid::Finish { result: "Done.".into() }
}

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// LEAD-5, steer: the agent reads a message at its next step; what it read is not told again.
#[test]
fn lead_5_a_message_steers_the_turn_and_is_told_once() {
    for steering in [QueueMode::Steer, QueueMode::SteerBacklog] {
        let mut story = chat(mode(steering));
        story
            .act(say("one"), "heard one from ann (terminal) in turn 1")
            .act(say("two"), "heard two from ann (terminal) in turn 1")
            .did(AgentDid::Read { message: 1 }, "message 1 read")
            .did(AgentDid::Read { message: 2 }, "message 2 read")
            .did(finish(), "turn 1 ended");
        assert_eq!(story.play.view().status, Status::Idle, "nothing is left to be told");
    }
}

/// LEAD-5: an agent that waits for an answer does not read messages, so that it can be parked; they wait instead.
#[test]
fn lead_5_beside_an_open_question_a_message_waits() {
    let mut story = chat(mode(QueueMode::Steer));
    story
        .asks("c1", &[draft("Which?", &["A", "B"])], "c1 asked round 1: q1")
        .act(say("one"), "heard one from ann (terminal)");
    assert_eq!(story.play.session.queued(), 1);
}

/// LEAD-5, followup: each message is a turn of its own, once it is quiet for the time of the debounce.
#[test]
fn lead_5_each_followup_is_a_turn_of_its_own() {
    let mut story = chat(mode(QueueMode::Followup));
    story.act(say("one"), "heard one from ann (terminal)").act(say("two"), "heard two from ann (terminal)");
    story.did(finish(), "turn 1 ended");
    assert_eq!(story.play.view().status, Status::Running, "messages wait, so it does not rest");
    assert_eq!(story.play.session.deadline(), Some(story.play.now.checked_add(SECOND).unwrap()));
    story.world(World::Tick, "");
    story.play.pass(SECOND);
    story.world(World::Tick, "turn 2 started to chat");
    assert_eq!(story.order().prompt, "one");
    story.did(finish(), "turn 2 ended; turn 3 started to chat");
    assert_eq!(story.order().prompt, "two");
    story.did(finish(), "turn 3 ended");
    assert_eq!(story.play.view().status, Status::Idle);
}

/// LEAD-5: a message that comes while others wait puts the turn off; after a kill nothing is lost and nothing is told
/// twice.
#[test]
fn lead_5_the_debounce_begins_again_with_each_message_and_survives_a_kill() {
    let mut story = chat(mode(QueueMode::Collect));
    story.act(say("one"), "heard one from ann (terminal)").did(finish(), "turn 1 ended");
    story.play.pass(SignedDuration::from_millis(900));
    story.act(say("two"), "heard two from ann (terminal)");
    story.play.replay();
    story.play.pass(SignedDuration::from_millis(900));
    story.world(World::Tick, "");
    story.play.pass(SignedDuration::from_millis(100));
    story.world(World::Tick, "turn 2 started to chat").world(World::Tick, "");
    story.act(say("two"), "");
}

/// LEAD-5, collect: all messages are one turn, with a title and numbers; those of another channel are another turn.
#[test]
fn lead_5_collected_messages_are_one_turn_for_each_channel() {
    let mut story = chat(mode(QueueMode::Collect));
    story.act(say("one"), "heard one from ann (terminal)").act(say("two"), "heard two from ann (terminal)");
    story.check(&person(bob(), say("three")), "heard three from bob (telegram)");
    story.play.pass(SECOND);
    story.did(finish(), "turn 1 ended; turn 2 started to chat");
    assert_eq!(
        story.order().prompt,
        "[Queued messages while agent was busy]\n\n---\nQueued #1\none\n\n---\nQueued #2\ntwo"
    );
    story.did(finish(), "turn 2 ended; turn 3 started to chat");
    assert_eq!(story.order().prompt, "[Queued messages while agent was busy]\n\n---\nQueued #1\nthree");
}

/// LEAD-5, steer-backlog: what the agent did not read in its turn is followed up, and only that.
#[test]
fn lead_5_a_steer_that_was_taken_is_not_followed_up() {
    let mut story = chat(mode(QueueMode::SteerBacklog));
    for text in ["one", "two", "three"] {
        story.act(say(text), &format!("heard {text} from ann (terminal) in turn 1"));
    }
    story.did(AgentDid::Read { message: 1 }, "message 1 read");
    story.play.pass(SECOND);
    story.did(finish(), "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "two");
    story.did(finish(), "turn 2 ended; turn 3 started to chat");
    assert_eq!(story.order().prompt, "three");
}

/// LEAD-5, interrupt: the turn is interrupted, and continues with the message when its process has ended.
#[test]
fn lead_5_an_interrupted_turn_continues_with_the_message() {
    let mut story = chat(mode(QueueMode::Interrupt));
    story
        .act(
            say("stop that"),
            "turn 1 interrupted by ann (terminal); heard stop that from ann (terminal) in turn 1",
        )
        .wants(&[])
        .act(say("and this"), "heard and this from ann (terminal) in turn 1")
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .wants(&["turn 1 running to chat []"]);
    let told: Vec<_> = story.order().messages.iter().map(|message| message.text.clone()).collect();
    assert_eq!(told, ["stop that", "and this"]);
    // A kill of the host in the middle leads to the same.
    let mut story = chat(mode(QueueMode::Interrupt));
    story
        .act(
            say("stop that"),
            "turn 1 interrupted by ann (terminal); heard stop that from ann (terminal) in turn 1",
        )
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 1 running to chat []"]);
    // What Rapport tells a lead interrupts nothing.
    let mut story = chat(mode(QueueMode::Interrupt));
    story.check(
        &person(By::routing(), say("q")),
        "heard q from the rule questions go to the lead first in turn 1",
    );
}

/// LEAD-5: an interrupted turn that ends by itself leaves the message to the next one; and a person may still stop it.
#[test]
fn lead_5_an_interrupted_turn_may_end_or_be_stopped() {
    let mut story = chat(mode(QueueMode::Interrupt));
    let interrupted = "turn 1 interrupted by ann (terminal); heard new from ann (terminal) in turn 1";
    story.act(say("new"), interrupted).did(finish(), "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "new");
    let mut story = chat(mode(QueueMode::Interrupt));
    story
        .act(say("new"), interrupted)
        .act(Act::Stop, "turn 1 stopped by ann (terminal)")
        .leaves(Leave::Stopped, "cut off: it was stopped")
        .wants(&[]);
}

/// LEAD-5: at most so many messages wait. The oldest is dropped, with or without its beginning; or the new one is
/// refused. What Rapport tells a lead is never dropped.
#[test]
fn lead_5_an_overflow_is_dropped_summarized_or_refused() {
    let terms = |drop| QueueTerms { cap: 2, drop, ..mode(QueueMode::Collect) };
    let long = format!("first {}", "x".repeat(300));
    let full = |drop| {
        let mut story = chat(terms(drop));
        story.check(&person(By::routing(), say("q")), "heard q from the rule questions go to the lead first");
        story.act(say(&long), &format!("heard {long} from ann (terminal)"));
        story.act(say("two"), "heard two from ann (terminal)");
        story
    };
    let mut story = full(DropPolicy::New);
    story.act(
        say("three"),
        "refused: saying something is not possible now: 3 messages wait for the agent already",
    );
    let mut story = full(DropPolicy::Old);
    story.act(say("three"), "the oldest dropped; heard three from ann (terminal)");
    story.play.pass(SECOND);
    story.did(finish(), "turn 1 ended; turn 2 started to chat");
    assert_eq!(story.order().prompt, "q", "a question to the lead comes first, alone");
    story.did(finish(), "turn 2 ended; turn 3 started to chat");
    assert!(!story.order().prompt.contains("first"), "{}", story.order().prompt);
    let mut story = full(DropPolicy::Summarize);
    story.act(say("three"), "the oldest dropped and summarized; heard three from ann (terminal)");
    story.play.pass(SECOND);
    story.did(finish(), "turn 1 ended; turn 2 started to chat");
    let told = story.order().prompt;
    let bullet = told.lines().find_map(|line| line.strip_prefix("- ")).unwrap();
    assert!(told.starts_with("[Queue overflow] 1 message was dropped"), "{told}");
    assert_eq!((bullet.chars().count(), bullet.starts_with("first x")), (160, true));
}

/// LEAD-5: a person sets the queue of a conversation, and sets it back to what it began with. A lead may not.
#[test]
fn lead_5_a_person_sets_the_queue_of_a_conversation() {
    let began = QueueTerms { cap: 3, ..mode(QueueMode::Collect) };
    let mut story = chat(began);
    let change = |typed: &str, story: &Story| {
        let (_, at_start) = story.play.session.queue_terms();
        let queue = Some(QueueChange::parse(typed, at_start).unwrap());
        Act::ChangeTerms { change: TermsChange { queue, ..TermsChange::default() } }
    };
    let act = change("followup cap:9", &story);
    story.act(act, "messages to the working agent: followup cap:9, says ann (terminal)");
    story.play.replay();
    assert_eq!(story.play.session.queue_terms().0.to_string(), "followup debounce:1s cap:9 drop:summarize");
    let act = change("default", &story);
    story.act(
        act.clone(),
        "messages to the working agent: collect debounce:1s cap:3 drop:summarize, says ann (terminal)",
    );
    assert_eq!(story.play.session.queue_terms(), (began, began));
    story.act(act, "");
    let act = change("steer", &story);
    let refused = "refused: going on over budget needs a person, the lead x cannot decide it";
    story.check(&person(By::Lead { name: "x".into() }, act), refused);
}
