//! Messages in the middle of a turn: the conversation contains each once, whatever happens to the process in between.

use rapport::agents::Command;
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::Scenario;
use rapport_core::prompt::GO_ON;
use rapport_core::{AgentDid, CallReply, Leave, Order, SentMessage};

use super::actor::{Actor, Stage};
use super::ending::WAIT;
use super::parking::{one_question, park};
use super::{on_every_agent, on_every_version};
use crate::support::driven::{Driven, failure, order, said};

on_every_version! {
    read_at_the_next_step [Listening]
    said_twice_in_the_same_words [Listening]
    killed_before_it_was_read [Listening]
    killed_after_it_was_read [Listening]
    stopped_and_told_what_to_do [Listening]
    stopped_before_it_was_read [Listening]
    stopped_at_a_question_that_was_put_away [Listening Parking]
}

const WORDS: &str = "Mind the tests.";
/// The same as [`WAIT`], for another file.
const WAIT_MORE: &str = "while [ ! -e go-on ]; do sleep 0.02; done";

async fn read_at_the_next_step(actor: Actor) {
    let stage = set(&actor, two_steps());
    let mut run = at_work(&stage).await;
    run.send(Command::Say(said(1, WORDS)));
    stage.until_heard(WORDS).await;
    let did = finish(&stage, &mut run).await;
    assert_eq!(read(&did), [1]);
    assert_eq!(stage.times_held(WORDS), 1);
}

/// The same words said twice are two messages.
async fn said_twice_in_the_same_words(actor: Actor) {
    let stage = set(&actor, two_steps());
    let mut run = at_work(&stage).await;
    run.send(Command::Say(said(1, WORDS)));
    run.send(Command::Say(said(2, WORDS)));
    stage.until_heard(WORDS).await;
    let did = finish(&stage, &mut run).await;
    assert_eq!(read(&did), [1, 2]);
    assert_eq!(stage.times_held(WORDS), 2);
}

/// The message was on its way, and the process is gone: the next process is told it, in place of "go on".
async fn killed_before_it_was_read(actor: Actor) {
    let stage = set(&actor, two_steps());
    let mut run = at_work(&stage).await;
    run.send(Command::Say(said(1, WORDS)));
    stage.until_heard(WORDS).await;
    stage.kill();
    failure(run.leave().await);
    let did = finish(&stage, &mut stage.start_with(telling(vec![said(1, WORDS)]))).await;
    assert_eq!(read(&did), [1]);
    assert_eq!((stage.times_held(WORDS), stage.times_held(GO_ON)), (1, 0));
}

/// The next process is told only what the conversation does not hold: some CLIs do not write down what was said.
async fn killed_after_it_was_read(actor: Actor) {
    let stage = set(&actor, two_steps());
    let mut run = at_work(&stage).await;
    run.send(Command::Say(said(1, WORDS)));
    stage.until_heard(WORDS).await;
    std::fs::write(stage.path("app/go"), "").unwrap();
    let mut did = Vec::new();
    while !matches!(did.last(), Some(AgentDid::Use { .. })) {
        did.push(run.did().await.unwrap());
    }
    assert_eq!(read(&did), [1]);
    stage.until_written("toolu_0102").await;
    stage.kill();
    failure(run.leave().await);
    let did = finish(&stage, &mut stage.start_with(telling(vec![said(1, WORDS)]))).await;
    assert_eq!(read(&did), [1]);
    assert_eq!(stage.times_held(WORDS), 1);
}

async fn stopped_and_told_what_to_do(actor: Actor) {
    let stage = set(&actor, two_steps().next_invocation().respond_with_text("Something else."));
    let mut run = at_work(&stage).await;
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    let did = finish(&stage, &mut stage.start_with(telling(vec![said(1, WORDS)]))).await;
    assert_eq!(read(&did), [1]);
    assert_eq!((stage.times_held(WORDS), stage.times_held(GO_ON)), (1, 0));
}

/// An agent that is interrupted with something left to read would begin another turn with it.
async fn stopped_before_it_was_read(actor: Actor) {
    let stage = set(&actor, two_steps());
    let mut run = at_work(&stage).await;
    run.send(Command::Say(said(1, WORDS)));
    stage.until_heard(WORDS).await;
    run.send(Command::Stop);
    let (did, leave) = run.rest().await;
    assert_eq!((read(&did), leave), (vec![], Leave::Stopped));
    stage.assert_nothing_runs();
    if let Some(model) = &stage.model {
        assert_eq!(model.seen().len(), 1, "it did not go on");
    }
    let both = vec![said(1, WORDS), said(2, "And the docs.")];
    let did = finish(&stage, &mut stage.start_with(telling(both))).await;
    assert_eq!(read(&did), [1, 2]);
    assert_eq!((stage.times_held(WORDS), stage.times_held("And the docs.")), (1, 1));
}

/// The call is asked again and refused; then the words are read.
async fn stopped_at_a_question_that_was_put_away(actor: Actor) {
    let stage = actor.with(one_question());
    let call = park(&stage).await;
    let refused =
        CallReply::Deny { asked: "your question".into(), message: "A person stopped you here.".into() };
    let order = Order { replies: vec![(call.clone(), refused)], ..telling(vec![said(1, WORDS)]) };
    let did = finish(&stage, &mut stage.start_with(order)).await;
    assert_eq!(read(&did), [1]);
    let (told, is_error) = stage.tool_result(call.as_str()).unwrap();
    assert!(told.contains("A person stopped you here.") && is_error, "{told}");
    assert_eq!(stage.times_held(WORDS), 1);
}

fn two_steps() -> ScenarioBuilder {
    Scenario::new("work").uses_bash(WAIT).uses_bash(WAIT_MORE).respond_with_text("Done.")
}

/// A stage on which commands need no permission.
fn set(actor: &Actor, scenario: ScenarioBuilder) -> Stage {
    let mut stage = actor.with(scenario);
    stage.allow("Bash");
    stage
}

/// Started, and at its first step.
async fn at_work(stage: &Stage) -> Driven {
    let mut run = stage.start();
    while !matches!(run.did().await, Some(AgentDid::Use { .. })) {}
    run
}

/// Lets it come to its end.
async fn finish(stage: &Stage, run: &mut Driven) -> Vec<AgentDid> {
    for file in ["go", "go-on"] {
        std::fs::write(stage.path("app").join(file), "").unwrap();
    }
    let (did, leave) = run.rest().await;
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    did
}

/// The messages that were read, by number.
fn read(did: &[AgentDid]) -> Vec<u32> {
    let read = did.iter().filter_map(|did| match did {
        AgentDid::Read { message } => Some(*message),
        _ => None,
    });
    read.collect()
}

fn telling(messages: Vec<SentMessage>) -> Order {
    Order { messages, ..order() }
}
