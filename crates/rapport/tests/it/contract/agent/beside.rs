//! A question with something else in flight beside it: it is parked only when it waits alone. A CLI that is parked sooner
//! goes on with the rest, and the model reads that the answer is missing.

use std::fs;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Bash, Call, OtherTool, Scenario, Step, SubAgent, WriteFile};
use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, Beside, CallId, Leave};
use serde_json::json;

use super::actor::{Actor, Stage};
use super::asking::{database, finished, storage};
use super::parking::answered;
use super::{on_every_agent, on_every_version};
use crate::support::driven::{Driven, answers, said};

on_every_version! {
    a_question_before_a_write [Parking]
    a_question_before_a_command [Parking]
    a_question_after_a_write [Parking]
    a_question_before_a_read [Parking]
    a_question_between_reads [Parking]
    two_questions [Parking]
    a_question_beside_a_background_agent [Parking]
    a_question_beside_a_background_command [Parking]
    a_question_beside_a_message_that_was_not_read [Parking]
}

/// What the background waits for before it ends.
const WORKS: &str = "until [ -f go ]; do sleep 0.05; done";
const WRITTEN: &str = "written.txt";

async fn a_question_before_a_write(actor: Actor) {
    stays(&actor, || together(vec![Call::Ask(database()), write()]), Beside::Call).await;
}

async fn a_question_before_a_command(actor: Actor) {
    let command = Bash { command: format!("echo x > {WRITTEN}"), ..Bash::default() };
    stays(&actor, || together(vec![Call::Ask(database()), Call::Bash(command.clone())]), Beside::Call).await;
}

async fn a_question_after_a_write(actor: Actor) {
    goes(&actor, || together(vec![write(), Call::Ask(database())])).await;
}

async fn a_question_before_a_read(actor: Actor) {
    goes(&actor, || together(vec![Call::Ask(database()), read()])).await;
}

async fn a_question_between_reads(actor: Actor) {
    goes(&actor, || together(vec![read(), Call::Ask(database()), read()])).await;
}

/// When one of them has its answer, the other waits alone.
async fn two_questions(actor: Actor) {
    let calls = vec![Call::Ask(database()), Call::Ask(storage())];
    let stage = set(&actor, together(calls));
    let mut run = stage.start();
    let (first, ..) = run.asked().await;
    run.asked().await;
    park(&run, &first, Patience::Wait);
    until_kept(&mut run, Beside::Call).await;
    run.reply("toolu_0101b", answers(&[("Which storage?", "Cookie")]));
    assert_eq!(run.leave().await, Leave::Deferred { call: first.clone() });
    let mut run = stage.start_with(answered(&first, "SQLite"));
    assert_eq!(run.leave().await, finished("Done."));
    assert_told(&stage, &first, "SQLite");
    assert_told(&stage, &CallId::new("toolu_0101b"), "Cookie");
}

async fn a_question_beside_a_background_agent(actor: Actor) {
    let agent = SubAgent { prompt: "Look into the corner".into(), command: WORKS.into(), id: None };
    let scenario = || beside(Scenario::new("agent").step(Step::Agent(agent.clone())));
    stays(&actor, scenario, Beside::Agent).await;
}

async fn a_question_beside_a_background_command(actor: Actor) {
    let command = Bash { command: WORKS.into(), background: true, ..Bash::default() };
    let scenario = || beside(Scenario::new("command").step(Step::Bash(command.clone())));
    stays(&actor, scenario, Beside::Command).await;
}

/// It would begin another turn.
async fn a_question_beside_a_message_that_was_not_read(actor: Actor) {
    let stage = set(&actor, beside(Scenario::new("message")));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    run.send(Command::Say(said(1, "and make it fast")));
    park(&run, &call, Patience::Wait);
    until_kept(&mut run, Beside::Message).await;
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert_told(&stage, &call, "SQLite");
}

/// A question that does not wait alone: answered at once, kept and answered then, and cut off with its host.
async fn stays(actor: &Actor, scenario: impl Fn() -> ScenarioBuilder, beside: Beside) {
    let stage = set(actor, scenario());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set(actor, scenario());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    park(&run, &call, Patience::Wait);
    until_kept(&mut run, beside).await;
    assert_eq!(stage.file(WRITTEN), None, "nothing goes on before the answer");
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set(actor, scenario());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    stage.until_written(call.as_str()).await;
    park(&run, &call, Patience::None);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    assert_eq!(stage.file(WRITTEN), None, "nothing goes on without the answer");
    let mut run = stage.start_with(answered(&call, "SQLite"));
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert_eq!(leave, finished("Done."));
    if let Some(model) = &stage.model {
        assert!(model.told().iter().any(|told| told.contains("1. SQLite")), "{:#?}", model.told());
    }
}

/// A question that waits alone as soon as the rest is done: answered at once, and parked.
async fn goes(actor: &Actor, scenario: impl Fn() -> ScenarioBuilder) {
    let stage = set(actor, scenario());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    answer_and_finish(&stage, &mut run, &call).await;

    let stage = set(actor, scenario());
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    park(&run, &call, Patience::Wait);
    assert_eq!(run.leave().await, Leave::Deferred { call: call.clone() });
    stage.assert_nothing_runs();
    let mut run = stage.start_with(answered(&call, "SQLite"));
    assert_eq!(run.asked().await.0, call);
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert_eq!(leave, finished("Done."));
    assert_told(&stage, &call, "SQLite");
}

async fn answer_and_finish(stage: &Stage, run: &mut Driven, call: &CallId) {
    fs::write(stage.path("app").join("go"), "").unwrap();
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    let (did, leave) = run.rest().await;
    assert!(did.contains(&AgentDid::Take { call: call.clone() }), "{did:?}");
    assert!(matches!(leave, Leave::Finished { .. }), "{leave:?}");
    assert_told(stage, call, "SQLite");
}

/// Waits until it says that this keeps it. While the model speaks, it is another call.
async fn until_kept(run: &mut Driven, beside: Beside) {
    loop {
        match run.did().await {
            Some(AgentDid::StayHot { beside: told, .. }) if told == beside => return,
            Some(AgentDid::Leave(leave)) => panic!("it left: {leave:?}"),
            Some(_) => {}
            None => panic!("it says nothing"),
        }
    }
}

#[track_caller]
fn assert_told(stage: &Stage, call: &CallId, answer: &str) {
    let (told, is_error) = stage.tool_result(call.as_str()).unwrap();
    assert!(told.contains(answer) && !is_error, "{told}");
    let requests = stage.model.iter().flat_map(|model| model.seen());
    for request in requests {
        let request = request["messages"].to_string();
        assert!(!request.contains("Tool result missing"), "the model went on without the answer: {request}");
    }
}

fn set(actor: &Actor, scenario: ScenarioBuilder) -> Stage {
    let mut stage = actor.with(scenario);
    fs::write(stage.path("app").join("read.txt"), "Hello.\n").unwrap();
    stage.cli_mut().work_mode = "acceptEdits".into();
    stage.allow("Bash,Task,Agent,Write");
    stage
}

fn park(run: &Driven, call: &CallId, patience: Patience) {
    run.send(Command::Park { call: call.clone(), patience });
}

fn together(calls: Vec<Call>) -> ScenarioBuilder {
    Scenario::new("together").together(calls).respond_with_text("Done.")
}

fn beside(scenario: ScenarioBuilder) -> ScenarioBuilder {
    scenario.asks(database()).respond_with_text("Done.")
}

fn write() -> Call {
    Call::Write(WriteFile { path: WRITTEN.into(), content: "x\n".into(), ..WriteFile::default() })
}

fn read() -> Call {
    let input = json!({"file_path": "read.txt"});
    Call::Tool(OtherTool { name: "Read".into(), input, result: "1\tHello.".into(), ..OtherTool::default() })
}
