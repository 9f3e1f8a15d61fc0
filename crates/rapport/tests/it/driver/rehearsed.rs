//! Whole stories with the rehearsal agent: calls that are parked, cut off or denied reach their end.

use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, Ask, CallId, CallReply, Leave, Order, TurnId};

use super::fake::{World, answers, failure, order};

const SCENARIO: &str = r#"
version: 1
name: one question, one permission
counter: conversation
invocations:
  - steps:
      - text: "I need to know one thing."
      - ask:
          questions:
            - question: "Which database?"
              options: [{ label: "Postgres" }, { label: "SQLite" }]
      - write: { path: db.txt, content: "{{answer:Which database?}}\n", permission: true }
    result: "Done, with {{answer:1}}."
  - steps:
      - text: "The second turn."
    result: "Twice done."
"#;

#[tokio::test]
async fn parked_resumed_and_allowed() {
    let mut run = World::rehearsing(SCENARIO).start();
    let (call, ask, parkable) = run.asked().await;
    assert!(parkable && matches!(ask, Ask::Questions(_)));
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    assert_eq!(run.leave().await, Leave::Deferred { call: call.clone() });

    let mut run = run.abandon().start_with(answered(&call, "SQLite"));
    assert_eq!(run.asked().await.0, call);
    let (write, ask, _) = run.asked().await;
    assert!(
        matches!(&ask, Ask::Permission(asked) if asked.tool == "Write" && asked.what.ends_with("db.txt")),
        "{ask:?}"
    );
    run.reply(write.as_str(), CallReply::Allow { asked: "?".into() });
    assert_eq!(run.leave().await, Leave::Finished { result: "Done, with SQLite.".into() });
    assert_eq!(std::fs::read_to_string(run.path("db.txt")).unwrap(), "SQLite\n");

    // Another turn in the same conversation.
    let next = Order { turn: TurnId(2), prompt: "And now the second".into(), ..order() };
    let mut run = run.abandon().start_with(next);
    assert_eq!(run.leave().await, Leave::Finished { result: "Twice done.".into() });
}

#[tokio::test]
async fn stopped_with_an_open_question_and_told_the_answer_later() {
    let mut run = World::rehearsing(SCENARIO).start();
    let (call, ..) = run.asked().await;
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);

    let mut run = run.abandon().start_with(answered(&call, "Postgres"));
    let (write, ask, _) = run.asked().await;
    assert!(matches!(ask, Ask::Permission { .. }), "{ask:?}");
    run.reply(write.as_str(), CallReply::Deny { asked: "?".into(), message: "Not there.".into() });
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: write }));
    assert_eq!(leave, Leave::Finished { result: "Done, with Postgres.".into() });
    assert!(!run.path("db.txt").exists());
}

#[tokio::test]
async fn a_crash_of_its_own_is_told() {
    let crashing = SCENARIO.replacen("  - steps:", "  - crash_after_events: 2\n    steps:", 1);
    let mut run = World::rehearsing(&crashing).start();
    let reason = failure(run.leave().await);
    assert!(reason.contains("signal 9"), "{reason}");
}

fn answered(call: &CallId, answer: &str) -> Order {
    Order { replies: vec![(call.clone(), answers(&[("Which database?", answer)]))], ..order() }
}
