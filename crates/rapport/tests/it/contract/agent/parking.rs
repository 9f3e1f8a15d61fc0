//! Questions that are parked and resumed: here, on another machine, or twice.

use std::fs;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Bash, Call, Scenario};
use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, CallId, ConversationId, Leave, Order};

use super::actor::{Actor, Stage};
use super::asking::{database, finished, spent};
use super::{on_every_agent, on_every_version};
use crate::support::driven::{CONVERSATION, answers, order};

mod moved {
    use super::{on_every_agent, on_every_version, resumed_after_the_project_moved};

    on_every_version! {
        resumed_after_the_project_moved [Parking Travelling]
    }
}

on_every_agent! {
    parked_and_resumed_at_the_same_call [Parking]
    parked_beside_another_tool [Parking]
    parked_twice [Parking]
    resumed_from_another_home [Parking Travelling]
    forked [Parking]
}

async fn parked_and_resumed_at_the_same_call(actor: Actor) {
    let stage = actor.with(one_question());
    let call = park(&stage).await;
    stage.assert_nothing_runs();

    let mut run = stage.start_with(answered(&call, "SQLite"));
    let (asked, _, parkable) = run.asked().await;
    assert_eq!((&asked, parkable), (&call, true));
    let (did, leave) = run.rest().await;
    // The answer is taken when the transcript holds it, which the CLI writes when it likes.
    let taken = AgentDid::Take { call: call.clone() };
    assert_eq!(did.iter().filter(|did| **did == taken).count(), 1, "{did:?}");
    let others = did.iter().filter(|did| **did != taken && !matches!(did, AgentDid::Connect { .. }));
    let done = [AgentDid::Say { text: "Done.".into() }, spent(1)];
    assert_eq!(others.cloned().collect::<Vec<_>>(), done);
    assert_eq!(leave, finished("Done."));
    let (told, is_error) = stage.tool_result(call.as_str()).unwrap();
    assert!(told.contains("\"Which database?\"=\"SQLite\"") && !is_error, "{told}");
    if let Some(model) = &stage.model {
        assert!(model.told().iter().all(|told| !told.contains("Here are my answers")), "no message was sent");
    }
}

async fn parked_beside_another_tool(actor: Actor) {
    let bash = Bash { command: "echo one".into(), ..Bash::default() };
    let calls = vec![Call::Bash(bash), Call::Ask(database())];
    let stage = actor.with(Scenario::new("beside").together(calls).respond_with_text("Done."));
    let call = park(&stage).await;
    assert_eq!(call.as_str(), "toolu_0101b");
    let mut run = stage.start_with(answered(&call, "SQLite"));
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.tool_result("toolu_0101a"), Some(("one".into(), false)));
    assert!(stage.tool_result("toolu_0101b").unwrap().0.contains("SQLite"));
}

/// Resumed without an answer, it asks again, and can be parked again.
async fn parked_twice(actor: Actor) {
    let stage = actor.with(one_question());
    let call = park(&stage).await;
    assert_eq!(park(&stage).await, call);
    let mut run = stage.start();
    assert_eq!(run.asked().await.0, call);
    run.reply(call.as_str(), answers(&[("Which database?", "Postgres")]));
    assert_eq!(run.leave().await, finished("Done."));
    assert!(stage.tool_result(call.as_str()).unwrap().0.contains("Postgres"));
}

async fn resumed_from_another_home(actor: Actor) {
    let mut stage = actor.with(one_question());
    let call = park(&stage).await;
    let kept = stage.transcript();
    let copy = stage.path("other-home").join(kept.strip_prefix(stage.path("home")).unwrap());
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(&kept, copy).unwrap();
    fs::remove_dir_all(stage.path("home")).unwrap();
    stage.set("HOME", stage.path("other-home"));
    let mut run = stage.start_with(answered(&call, "SQLite"));
    assert_eq!(run.asked().await.0, call);
    assert_eq!(run.leave().await, finished("Done."));
}

/// Older CLIs look for a conversation under the name of the directory alone.
async fn resumed_after_the_project_moved(actor: Actor) {
    let stage = actor.with(one_question());
    let call = park(&stage).await;
    fs::rename(stage.path("app"), stage.path("moved")).unwrap();
    let mut run = stage.start_in("moved", answered(&call, "SQLite"));
    assert_eq!(run.leave().await, finished("Done."));
    if let Some(model) = &stage.model {
        assert!(model.tool_result(call.as_str()).unwrap().0.contains("SQLite"));
    }
}

/// One question, answered in two ways: what was forked off leaves the original as it was.
async fn forked(actor: Actor) {
    let mut stage = actor.with(one_question());
    let call = park(&stage).await;
    let before = fs::read(stage.transcript()).unwrap();

    stage.cli_mut().extra_args = vec!["--fork-session".into()];
    let mut fork = stage.start_with(answered(&call, "Postgres"));
    let (did, leave) = fork.rest().await;
    let connected = did.iter().find_map(|did| match did {
        AgentDid::Connect { conversation, .. } => Some(conversation.clone()),
        _ => None,
    });
    assert_ne!(connected, Some(ConversationId::new(CONVERSATION)));
    assert!(connected.is_some() && leave == finished("Done."), "{did:?}");
    if let Some(model) = &stage.model {
        assert!(model.tool_result(call.as_str()).unwrap().0.contains("Postgres"));
    }
    assert!(fs::read(stage.transcript()).unwrap() == before, "the original has changed");

    stage.cli_mut().extra_args.clear();
    let mut run = stage.start_with(answered(&call, "SQLite"));
    assert_eq!(run.asked().await.0, call);
    assert_eq!(run.leave().await, finished("Done."));
    assert!(stage.tool_result(call.as_str()).unwrap().0.contains("SQLite"));
}

/// Starts the agent, waits for its question, puts it away.
pub(super) async fn park(stage: &Stage) -> CallId {
    let mut run = stage.start();
    let (call, _, parkable) = run.asked().await;
    assert!(parkable);
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    assert_eq!(run.leave().await, Leave::Deferred { call: call.clone() });
    call
}

pub(super) fn one_question() -> ScenarioBuilder {
    Scenario::new("one question").asks(database()).respond_with_text("Done.")
}

pub(super) fn answered(call: &CallId, answer: &str) -> Order {
    Order { replies: vec![(call.clone(), answers(&[("Which database?", answer)]))], ..order() }
}
