//! Sessions that go on from turn to turn and rest in between: conversations, and turns in directories.

use std::collections::BTreeMap;

use rapport_core::{Act, AgentDid, Aim, Asking, ConversationId, Created, Leave, Status, Terms, Want, World};

use crate::support::{CONVERSATION, Story, created, draft, question};

fn chat(first: &str) -> Story {
    Story::begun(Created { aim: Aim::Chat, ..created(first, Terms::default()) })
}

fn files() -> Story {
    Story::begun(Created { aim: Aim::Files, ..created("add-user-auth", Terms::default()) })
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
        .act(say(" "), "refused: an empty task is no task")
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .act(say("late"), "refused: saying something is not possible now: the session is cancelled");
}

/// FILE-17, FILE-20: nothing runs until a plan is wanted; then the agent makes one, and it goes into its directory.
#[test]
fn file_20_a_turn_in_a_directory() {
    let mut story = files();
    let begin = |folder: &str, conversation: &str| Act::Draft {
        folder: folder.into(),
        conversation: ConversationId::new(conversation),
        asking: Asking::Assume,
    };
    story
        .wants(&[])
        .act(say("hello"), "refused: saying something is not possible now: nothing is going on")
        .act(begin("01", CONVERSATION), "turn 1 started to draft in 01")
        .act(
            begin("02", "other"),
            "refused: planning is not possible now: the agent is still clarifying the task",
        )
        .wants(&["turn 1 running to draft []"])
        .connects()
        .asks("c1", &[draft("Which?", &["A"])], "c1 declined: Do not ask: nobody answers questions here")
        .takes("c1")
        .did(AgentDid::Say { text: "# T\n\n## Action Plan\n".into() }, "said # T\n\n## Action Plan\n")
        .finishes("That is the plan.", "turn 1 ended")
        .wants(&["filed at 01/plan.md"]);
    let wants = story.play.session.wants();
    let [Want::Filed { content, turn, path }] = wants.as_slice() else { panic!("{wants:?}") };
    assert_eq!(content, "# T\n\n## Action Plan\n", "the plan, not the remark after it");
    let filed = World::Filed { turn: *turn, path: path.clone() };
    story.crash("").world(filed.clone(), "filed at 01/plan.md").world(filed, "").wants(&[]);
    // Another turn has another conversation.
    story.act(begin("02", "other"), "turn 2 started to draft in 02");
    assert_eq!(story.order().conversation, ConversationId::new("other"));
    assert_eq!(story.order().folder.as_deref(), Some("02"));
}

/// FILE-20: what is being planned can be left for something else; nobody is asked its questions any more.
#[test]
fn file_20_another_plan_instead() {
    let mut story = files();
    let begin = |conversation: &str| Act::Draft {
        folder: "01".into(),
        conversation: ConversationId::new(conversation),
        asking: Asking::Adaptive,
    };
    story
        .act(begin(CONVERSATION), "turn 1 started to draft in 01")
        .connects()
        .asks("c1", &[draft("Which?", &["A"])], "c1 asked round 1: q1")
        .crash("cut off: Rapport was stopped")
        .world(World::Failed { reason: "it was left".into() }, "failed: it was left")
        .wants(&[])
        .act(
            begin("other"),
            "round 1 closed: it was withdrawn: another plan is made instead; restarted by ann (terminal); \
             turn 2 started to draft in 01",
        )
        .open(&[])
        .wants(&["turn 2 running to draft []"])
        .crash("cut off: Rapport was stopped")
        .wants(&["turn 2 running to draft []"]);
    assert_eq!(story.order().conversation, ConversationId::new("other"));
}

/// A question of a plan's to a person is a question like any other; and a seal holds until somebody accepts another.
#[test]
fn file_40_a_message_to_a_person_and_a_seal() {
    let mut story = files();
    let ask = Act::Ask { question: draft("Ship it?", &[]) };
    story
        .act(ask.clone(), "Rapport asked round 1: q1")
        .crash("")
        .open(&["q1"])
        .answer("q1", "tomorrow", "q1 answered \"tomorrow\" by ann (terminal)")
        .act(ask, "Rapport asked round 2: q2")
        .act(
            Act::Withdraw { question: question("q2") },
            "round 2 closed: it was withdrawn: nobody waits for it any more",
        );
    let sums = |sum: &str| BTreeMap::from([("plan.md".to_owned(), sum.to_owned())]);
    let seal = |sum: &str| Act::Seal { folder: "01".into(), files: sums(sum) };
    story.act(seal("aa"), "01 sealed").act(seal("aa"), "").act(seal("bb"), "01 sealed").crash("");
    assert_eq!(story.play.session.sealed()["01"], sums("bb"));
}
