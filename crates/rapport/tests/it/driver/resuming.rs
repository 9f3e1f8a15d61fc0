//! Resuming a conversation: what the agent is still told depends on what its conversation contains.

use std::time::Duration;

use rapport::agents::claude::answers_message;
use rapport_core::{AgentDid, AnsweredQuestion, By, CallId, CallReply, Leave, Order};

use super::fake::{Script, World, answers, order};
use super::recorded::printed;
use crate::support::driven::CONVERSATION;

const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"add auth"}}"#;
const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_ask1","name":"AskUserQuestion","input":{}}]}}"#;
const DEFERRED: &str = r#"{"type":"deferred_tool_use","tool_use_id":"toolu_ask1"}"#;
const ANSWER: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_ask1","content":"JWT"}]}}"#;
const MESSAGE: &str =
    "Here are my answers to your questions:\n\nQ1: Which auth method?\n\nMy answers:\n1. JWT";

/// CLARIFY-11
#[test]
fn answers_in_a_message() {
    let by = By::Person { channel: "telegram".into(), id: "ada".into() };
    let told = |question: &str, answer: &str| AnsweredQuestion {
        question: question.into(),
        answer: answer.into(),
        by: by.clone(),
        because: None,
    };
    let call = |n: u32| CallId::new(format!("toolu_{n}"));
    let replies = [
        (call(1), CallReply::Answers(vec![told("Which db?", "PG"), told("Which auth?", "JWT, OAuth")])),
        (call(2), CallReply::Allow { asked: "May the agent use Bash: ls?".into() }),
        (call(3), CallReply::Allow { asked: "May the agent use Write: a?".into() }),
        (call(4), CallReply::Deny { asked: "May the agent use Bash: rm?".into(), message: "No.".into() }),
    ];
    insta::assert_snapshot!(answers_message(&replies).unwrap(), @r"
    Here are my answers to your questions:

    Q1: Which db?
    Q2: Which auth?
    Q3: May the agent use Bash: ls?
    Q4: May the agent use Write: a?
    Q5: May the agent use Bash: rm?

    My answers:
    1. PG (answered by a person in telegram)
    2. JWT, OAuth (answered by a person in telegram)
    3. Allow once
    4. Allow once
    5. No.
    ");
    assert_eq!(answers_message(&[]), None);
}

#[tokio::test]
async fn what_is_put_away_is_asked_again_and_answered_at_once() {
    let lines = printed("deferred-resumed");
    let file = format!(".claude/projects/*/{CONVERSATION}.jsonl");
    let written = format!("for file in {file}; do printf '%s\\n' '{ANSWER}' >> \"$file\"; done");
    let script =
        Script::new().say_all(&lines[..3]).hear("JWT").sh(&written).say_all(&lines[3..]).until_closed();
    let world = World::new(script).with_transcript(&[PROMPT, CALL, DEFERRED]);
    let mut run = world.start_with(answered());
    let (did, leave) = run.rest().await;
    let call = CallId::new("toolu_ask1");
    assert!(matches!(&did[0], AgentDid::Ask { call: asked, .. } if *asked == call), "{did:#?}");
    assert_eq!(did[1], AgentDid::Take { call: call.clone() });
    assert!(matches!(did[2], AgentDid::Connect { .. }));
    assert_eq!(did.iter().filter(|did| matches!(did, AgentDid::Take { .. })).count(), 1);
    // Half of what the conversation cost is this process.
    assert!(matches!(did.last(), Some(AgentDid::Spend { usage }) if usage.cost_micros == 5_000));
    assert!(matches!(leave, Leave::Finished { .. }));
    assert_eq!(run.messages(), [""; 0]);
    assert!(run.args().contains("--resume 11111111-2222-4333-8444-555555555555"));
}

/// The CLI printed the result, and left it behind: nothing that it reads again holds it.
#[tokio::test]
async fn an_answer_that_was_taken_and_left_behind_is_told_by_message() {
    let lines = printed("deferred-resumed");
    let again = r#"printf '%s\n' "$line" | sed 's/^{/{"isReplay":true,/'"#;
    let done = r#"{"type":"result","stop_reason":"end_turn","result":"Now I know."}"#;
    let script = Script::new().say_all(&lines[..3]).hear("updatedInput").say_all(&lines[3..]);
    let script = script.hear("Here are my answers").sh(again).say(done).until_closed();
    let mut world = World::new(script).with_transcript(&[PROMPT, CALL, DEFERRED]);
    world.config.grace = Duration::from_millis(100);
    let mut run = world.start_with(answered());
    let (did, leave) = run.rest().await;
    let taken = did.iter().filter(|did| matches!(did, AgentDid::Take { .. })).count();
    assert_eq!((taken, leave), (1, Leave::Finished { result: "Now I know.".into() }));
    assert_eq!(run.messages(), [MESSAGE]);
}

/// What was parked beside another call by an earlier version: the CLI would ask again, and not read the answer.
#[tokio::test]
async fn what_was_put_away_before_something_else_is_told_by_message() {
    let other = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_w","content":"x"}]}}"#;
    let done = r#"{"type":"result","stop_reason":"end_turn","result":"Done."}"#;
    let script = Script::new().hear("Here are my answers").say(done).until_closed();
    let mut run = World::new(script).with_transcript(&[PROMPT, CALL, DEFERRED, other]).start_with(answered());
    assert_eq!(run.leave().await, Leave::Finished { result: "Done.".into() });
    assert_eq!(run.messages(), [MESSAGE]);
}

/// CLARIFY-10, CLARIFY-11
#[tokio::test]
async fn what_was_cut_off_is_answered_in_a_message() {
    let script = Script::new().hear("My answers").say_all(&printed("resume-after-kill")).until_closed();
    let mut run = World::new(script).with_transcript(&[PROMPT, CALL]).start_with(answered());
    let (did, leave) = run.rest().await;
    let call = CallId::new("toolu_ask1");
    assert!(matches!(did[0], AgentDid::Connect { .. }));
    assert_eq!(did[1..3], [AgentDid::Take { call }, AgentDid::Say { text: "Thanks. Done planning.".into() }]);
    assert!(matches!(leave, Leave::Finished { .. }));
    assert_eq!(run.messages(), [MESSAGE]);
}

#[tokio::test]
async fn what_a_conversation_is_told_when_it_is_resumed() {
    let told = format!(r#"{{"type":"user","message":{{"content":{}}}}}"#, serde_json::json!(MESSAGE));
    let joined = format!("add auth\n\n{MESSAGE}");
    let go_on = "Go on with the task where you left off.";
    type Case<'a> = (Option<&'a [&'a str]>, Order, &'a [&'a str]);
    let cases: [Case<'_>; 9] = [
        (None, order(), &["add auth"]),
        (None, answered(), &[&joined]),
        (Some(&[]), answered(), &[&joined]),
        (Some(&[PROMPT]), order(), &[go_on]),
        (Some(&[PROMPT, CALL]), answered(), &[MESSAGE]),
        (Some(&[PROMPT, CALL, ANSWER]), answered(), &[go_on]),
        (Some(&[PROMPT, CALL, &told]), answered(), &[go_on]),
        (Some(&[PROMPT, &told, CALL]), answered(), &[MESSAGE]),
        (Some(&[CALL]), order(), &["add auth"]),
    ];
    for (transcript, order, expected) in cases {
        let mut world =
            World::new(Script::new().hear("user").say_all(&printed("resume-after-kill")).until_closed());
        if let Some(lines) = transcript {
            world = world.with_transcript(lines);
        }
        let replies = order.replies.len();
        let mut run = world.start_with(order);
        let (did, _) = run.rest().await;
        assert_eq!(run.messages(), expected, "{transcript:#?}");
        // Whether just told or told before: what was answered is known to have arrived.
        assert_eq!(
            did.iter().filter(|did| matches!(did, AgentDid::Take { .. })).count(),
            replies,
            "{transcript:#?}"
        );
        assert_eq!(run.args().contains("--resume"), transcript.is_some());
    }
}

fn answered() -> Order {
    let reply = answers(&[("Which auth method?", "JWT")]);
    Order { replies: vec![(CallId::new("toolu_ask1"), reply)], ..order() }
}
