//! A permission request, or a request to leave plan mode, without a decision for long. The CLI cannot defer such a
//! call, so its process is ended; the resumed agent is told the decision by message, and makes the call again.

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Bash, ExitPlan, Scenario, Step};
use rapport::agents::{Command, Patience};
use rapport_core::{AgentDid, Ask, Beside, CallId, CallReply, Leave, Order, TurnKind};

use super::actor::{Actor, Stage};
use super::asking::finished;
use super::{on_every_agent, on_every_version};
use crate::support::driven::order;

on_every_version! {
    allowed_while_parked [Parking Permissions]
    denied_while_parked [Parking Permissions]
    leaving_plan_mode_is_parked [Parking Permissions]
    leaving_plan_mode_in_the_middle_of_work_is_parked [Parking Permissions]
    a_permission_beside_a_background_command_stays [Parking Permissions]
}

const ASKED: &str = "May the agent use Write: one.txt?";
const PLAN: &str = "# Auth\n\n1. Add JWT";

async fn allowed_while_parked(actor: Actor) {
    let stage = actor.with(one_file());
    let (call, ask) = park(&stage, order()).await;
    let allow = CallReply::Allow { asked: ASKED.into() };
    let mut run = stage.start_with(decided(&call, allow.clone()));
    let (again, asked, _) = run.asked().await;
    assert_eq!(asked, ask, "the very same input");
    assert_eq!(stage.file("one.txt"), None, "not before it is asked for again");
    run.reply(again.as_str(), allow);
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.file("one.txt").as_deref(), Some("1\n"));
    assert_told(&stage, &call, "1. Allow once").await;
}

async fn denied_while_parked(actor: Actor) {
    let stage = actor.with(one_file());
    let (call, _) = park(&stage, order()).await;
    let deny = CallReply::Deny { asked: ASKED.into(), message: "Not there; use docs.".into() };
    let mut run = stage.start_with(decided(&call, deny.clone()));
    let (again, ..) = run.asked().await;
    run.reply(again.as_str(), deny);
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.file("one.txt"), None);
    assert_told(&stage, &call, "1. Not there; use docs.").await;
}

async fn leaving_plan_mode_is_parked(actor: Actor) {
    leaving_is_parked(&actor, TurnKind::Plan).await;
}

async fn leaving_plan_mode_in_the_middle_of_work_is_parked(actor: Actor) {
    leaving_is_parked(&actor, TurnKind::Work).await;
}

async fn leaving_is_parked(actor: &Actor, kind: TurnKind) {
    let plan = Step::ExitPlan(ExitPlan { plan: PLAN.into(), id: None });
    let mut stage = actor.with(Scenario::new("plan").step(plan).respond_with_text("Done."));
    stage.cli_mut().work_mode = "plan".into();
    let (call, ask) = park(&stage, Order { kind, ..order() }).await;
    assert_eq!(ask, Ask::LeavePlanMode { plan: PLAN.into() });
    let allow = CallReply::Allow { asked: "May it go ahead?".into() };
    let mut run = stage.start_with(Order { kind, ..decided(&call, allow.clone()) });
    loop {
        match run.did().await {
            Some(AgentDid::Ask { call, ask: again, .. }) => {
                assert_eq!(again, ask);
                run.reply(call.as_str(), allow.clone());
            }
            Some(AgentDid::Leave(leave)) => break assert_eq!(leave, finished("Done.")),
            Some(_) => {}
            None => panic!("it did not leave"),
        }
    }
    assert_told(&stage, &call, "1. Yes, go ahead: you may leave plan mode").await;
}

/// Parking would end the command, so the agent is not parked.
async fn a_permission_beside_a_background_command_stays(actor: Actor) {
    let works = "until [ -f go ]; do sleep 0.05; done; echo x > written.txt";
    let command = Bash { command: works.into(), background: true, ..Bash::default() };
    let scenario = Scenario::new("beside").step(Step::Bash(command)).uses_write("one.txt", "1\n");
    let mut stage = actor.with(scenario.with_permission().respond_with_text("Done."));
    stage.allow("Bash");
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    loop {
        match run.did().await {
            Some(AgentDid::StayHot { beside: Beside::Command, .. }) => break,
            Some(AgentDid::Leave(leave)) => panic!("it left: {leave:?}"),
            Some(_) => {}
            None => panic!("it says nothing"),
        }
    }
    std::fs::write(stage.path("app").join("go"), "").unwrap();
    super::actor::until("the command is done", || stage.file("written.txt").is_some()).await;
    run.reply(call.as_str(), CallReply::Allow { asked: ASKED.into() });
    assert_eq!(run.leave().await, finished("Done."));
    assert_eq!(stage.file("one.txt").as_deref(), Some("1\n"));
}

/// Starts the agent, waits until it asks for something, and has that parked.
async fn park(stage: &Stage, order: Order) -> (CallId, Ask) {
    let mut run = stage.start_with(order);
    let (call, ask, parkable) = run.asked().await;
    assert!(parkable);
    run.send(Command::Park { call: call.clone(), patience: Patience::Wait });
    assert_eq!(run.leave().await, Leave::Deferred { call: call.clone() });
    stage.assert_nothing_runs();
    (call, ask)
}

/// The model is told the decision. Of the call itself it reads that the session ended before (2.1.325), or the CLI
/// leaves the call out of the conversation (2.1.197, 2.1.90); it never reads that a person refused it.
async fn assert_told(stage: &Stage, call: &CallId, decision: &str) {
    stage.until_heard(decision).await;
    let Some(model) = &stage.model else { return };
    if let Some((result, is_error)) = model.tool_result_beside(decision, call.as_str()) {
        assert!(is_error && result.contains("the session ended before"), "{result}");
    }
}

fn decided(call: &CallId, reply: CallReply) -> Order {
    Order { replies: vec![(call.clone(), reply)], ..order() }
}

fn one_file() -> ScenarioBuilder {
    Scenario::new("one file").uses_write("one.txt", "1\n").with_permission().respond_with_text("Done.")
}
