//! Agents that are killed, stopped, abandoned by their host, or sent a message while they work.

use rapport::agents::Command;
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::Scenario;
use rapport_core::{AgentDid, Leave, Order};

use super::actor::{Actor, until};
use super::asking::{database, finished, spent, storage};
use super::on_every_agent;
use super::parking::answered;
use crate::support::driven::{answers, failure, order, said};

on_every_agent! {
    killed_with_a_question_open [Parking]
    killed_as_soon_as_it_asks [Parking]
    killed_when_it_has_just_taken_an_answer [Parking]
    stopped_with_a_question_open
    stopped_at_work
    left_alone_with_a_question_open
    told_something_at_work [Listening]
    told_something_at_the_end [Listening]
}

/// CLARIFY-11: the call is gone with its process, so the answer comes by message.
async fn killed_with_a_question_open(actor: Actor) {
    let stage = actor.with(one_question());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    stage.until_written(call.as_str()).await;
    stage.kill();
    let reason = failure(run.leave().await);
    assert!(reason.contains("signal"), "{reason}");
    stage.assert_nothing_runs();

    let mut run = stage.start_with(answered(&call, "SQLite"));
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Ask { .. })), "{did:?}");
    assert_eq!(leave, finished("Done."));
    if let Some(model) = &stage.model {
        let message =
            "Here are my answers to your questions:\n\nQ1: Which database?\n\nMy answers:\n1. SQLite";
        assert!(model.told().iter().any(|told| told == message), "{:#?}", model.told());
    }
}

/// Its conversation may not be on disk yet. Whatever it asks again has its answer already.
async fn killed_as_soon_as_it_asks(actor: Actor) {
    let stage = actor.with(one_question());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    stage.kill();
    failure(run.leave().await);

    let mut run = stage.start_with(answered(&call, "SQLite"));
    assert_eq!(run.leave().await, finished("Done."));
}

/// The CLI writes its conversation a moment after it continues, so an answer that it has taken may be lost with it.
/// The answer is therefore passed along, and told if the conversation lacks it.
async fn killed_when_it_has_just_taken_an_answer(actor: Actor) {
    let scenario = Scenario::new("two rounds").asks(database()).asks(storage()).respond_with_text("Done.");
    let stage = actor.with(scenario);
    let mut run = stage.start();
    let (first, ..) = run.asked().await;
    run.reply(first.as_str(), answers(&[("Which database?", "SQLite")]));
    let (second, ..) = run.asked().await;
    stage.kill();
    failure(run.leave().await);

    let replies = vec![
        (first, answers(&[("Which database?", "SQLite")])),
        (second, answers(&[("Which storage?", "Cookie")])),
    ];
    let mut run = stage.start_with(Order { replies, ..order() });
    assert_eq!(run.leave().await, finished("Done."));
    if let Some(model) = &stage.model {
        let last = model.seen().pop().unwrap()["messages"].to_string();
        assert!(last.contains("SQLite") && last.contains("Cookie"), "{last}");
    }
}

async fn stopped_with_a_question_open(actor: Actor) {
    let stage = actor.with(one_question());
    let mut run = stage.start();
    run.asked().await;
    run.send(Command::Stop);
    let (did, leave) = run.rest().await;
    assert!(!did.iter().any(|did| matches!(did, AgentDid::Say { .. } | AgentDid::Take { .. })), "{did:?}");
    assert_eq!(leave, Leave::Stopped);
    stage.assert_nothing_runs();
    if let Some(model) = &stage.model {
        assert_eq!(model.seen().len(), 1, "it did not go on without an answer");
    }
}

async fn stopped_at_work(actor: Actor) {
    let stage = actor.with(Scenario::new("work").uses_bash(WAIT).respond_with_text("Done."));
    let mut run = stage.start();
    while !matches!(run.did().await, Some(AgentDid::Use { .. })) {}
    run.send(Command::Stop);
    let (did, leave) = run.rest().await;
    assert_eq!((did, leave), (vec![spent(1)], Leave::Stopped));
    stage.assert_nothing_runs();
    if let Some(model) = &stage.model {
        assert_eq!(model.seen().len(), 1, "it did not go on");
    }
}

async fn left_alone_with_a_question_open(actor: Actor) {
    let stage = actor.with(one_question());
    let mut run = stage.start();
    run.asked().await;
    drop(run);
    until("no process is left", || stage.processes().is_empty()).await;
    if let Some(model) = &stage.model {
        assert_eq!(model.seen().len(), 1, "it did not go on without an answer");
    }
}

async fn told_something_at_work(actor: Actor) {
    let stage = actor.with(Scenario::new("work").uses_bash(WAIT).respond_with_text("Done."));
    let mut run = stage.start();
    while !matches!(run.did().await, Some(AgentDid::Use { .. })) {}
    run.send(Command::Say(said(1, "Mind the tests.")));
    stage.until_heard("Mind the tests.").await;
    std::fs::write(stage.path("app/go"), "").unwrap();
    let (did, leave) = run.rest().await;
    let read = AgentDid::Read { message: 1 };
    assert_eq!(did, [read, AgentDid::Say { text: "Done.".into() }, spent(2)]);
    assert_eq!(leave, finished("Done."));
    if let Some(model) = &stage.model {
        assert_eq!(model.seen().len(), 2);
        assert!(model.seen()[1].to_string().contains("Mind the tests."));
    }
}

/// What came too late for this turn makes another.
async fn told_something_at_the_end(actor: Actor) {
    let scenario = Scenario::new("end").respond_with_text("Done.");
    let stage = actor.with(scenario.next_invocation().respond_with_text("That too."));
    let mut run = stage.start();
    run.send(Command::Say(said(1, "Mind the tests.")));
    let (did, leave) = run.rest().await;
    assert_eq!(
        did[1..],
        [
            AgentDid::Say { text: "Done.".into() },
            spent(1),
            AgentDid::Read { message: 1 },
            AgentDid::Say { text: "That too.".into() },
            spent(1),
        ]
    );
    assert_eq!(leave, finished("That too."));
}

/// Needs no permission, and ends when a file `go` exists.
pub(super) const WAIT: &str = "while [ ! -e go ]; do sleep 0.02; done";

fn one_question() -> ScenarioBuilder {
    Scenario::new("one question").asks(database()).respond_with_text("Done.")
}
