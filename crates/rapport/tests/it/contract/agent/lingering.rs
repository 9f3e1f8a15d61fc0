//! Agents whose process stays after a turn, so that the next message does not cost a start.

use jiff::SignedDuration;
use rapport::agents::Command;
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::Scenario;
use rapport_core::{AgentDid, Leave, Order, SentMessage, TurnId, TurnKind};

use super::actor::Actor;
use super::asking::{database, spent};
use super::{on_every_agent, on_every_version};
use crate::support::driven::{answers, order};

on_every_agent! {
    another_message_costs_no_start [Staying]
    what_is_said_after_the_turn_is_told_once [Staying]
    it_asks_in_a_later_turn [Staying]
    it_leaves_when_nobody_says_more [Staying]
    stopped_while_it_rests [Staying]
    killed_while_it_rests [Staying]
    the_same_words_again_after_a_restart [Staying]
}

mod costs {
    use super::{each_turn_costs_what_it_costs, on_every_agent, on_every_version};

    on_every_version! {
        each_turn_costs_what_it_costs [Staying]
    }
}

/// Every CLI reports the total cost of its process, and only newer ones also what was added.
async fn each_turn_costs_what_it_costs(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    let mut costs = Vec::new();
    for (said, next) in [("Hello.", Some("and now?")), ("Goodbye.", None)] {
        loop {
            match run.did().await.expect("the end of a turn") {
                AgentDid::Spend { usage } => costs.push(usage.cost_micros),
                AgentDid::Finish { result } if result == said => break,
                AgentDid::Leave(leave) => panic!("it left: {leave:?}"),
                _ => {}
            }
        }
        next.into_iter().for_each(|prompt| run.send(Command::Next { prompt: prompt.into() }));
    }
    assert!(matches!(costs[..], [first, second] if first == second && first > 0), "{costs:?}");
}

async fn another_message_costs_no_start(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    assert_eq!(run.until_finished().await, "Hello.");
    let process = stage.processes();
    run.send(Command::Next { prompt: "and now?".into() });
    assert_eq!(run.until_finished().await, "Goodbye.");
    assert_eq!(stage.processes(), process, "the very same process");
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    if let Some(model) = &stage.model {
        assert!(model.told().iter().any(|told| told == "and now?"), "{:#?}", model.told());
        assert!(model.seen()[0]["system"].to_string().contains("Be brief."), "told beside the system prompt");
    }
}

/// LEAD-5: the end of the turn and a message cross. The core puts the message into the next turn, so the agent is not
/// told it by itself as well.
async fn what_is_said_after_the_turn_is_told_once(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    assert_eq!(run.until_finished().await, "Hello.");
    run.send(Command::Say(SentMessage { turn: TurnId(1), number: 1, text: "too late".into() }));
    run.send(Command::Next { prompt: "too late".into() });
    assert_eq!(run.until_finished().await, "Goodbye.");
    run.send(Command::Stop);
    assert_eq!(run.leave().await, Leave::Stopped);
    stage.assert_nothing_runs();
    if let Some(model) = &stage.model {
        let told = model.told().iter().filter(|told| told.contains("too late")).count();
        assert_eq!(told, 1, "{:#?}", model.told());
    }
}

async fn it_asks_in_a_later_turn(actor: Actor) {
    let scenario = Scenario::new("asks").respond_with_text("Hello.").next_invocation();
    let stage = actor.with(scenario.asks(database()).respond_with_text("Good choice."));
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    assert_eq!(run.until_finished().await, "Hello.");
    run.send(Command::Next { prompt: "store it".into() });
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), answers(&[("Which database?", "SQLite")]));
    assert_eq!(run.until_finished().await, "Good choice.");
}

/// What it leaves with is no result of any turn: that was told already.
async fn it_leaves_when_nobody_says_more(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_millis(50)));
    let (did, leave) = run.rest().await;
    let told =
        [AgentDid::Say { text: "Hello.".into() }, spent(1), AgentDid::Finish { result: "Hello.".into() }];
    assert_eq!((&did[1..], leave), (told.as_slice(), Leave::Stopped));
    stage.assert_nothing_runs();
}

async fn stopped_while_it_rests(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    run.until_finished().await;
    run.send(Command::Stop);
    assert_eq!(run.rest().await, (vec![], Leave::Stopped));
    stage.assert_nothing_runs();
}

/// Nothing went wrong: nothing was going on.
async fn killed_while_it_rests(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_hours(1)));
    run.until_finished().await;
    stage.kill();
    assert_eq!(run.leave().await, Leave::Stopped);
}

/// A person may send the same message twice. It is told exactly as often as it was sent.
async fn the_same_words_again_after_a_restart(actor: Actor) {
    let stage = actor.with(two_replies());
    let mut run = stage.start_with(chat(SignedDuration::from_millis(1)));
    assert_eq!(run.leave().await, Leave::Stopped);
    let again = Order { sent_before: 1, ..chat(SignedDuration::from_millis(1)) };
    let (did, _) = stage.start_with(again).rest().await;
    assert!(did.contains(&AgentDid::Finish { result: "Goodbye.".into() }), "{did:?}");
    if let Some(model) = &stage.model {
        assert_eq!(model.told().iter().filter(|told| *told == "add auth").count(), 2, "{:#?}", model.told());
    }
}

fn two_replies() -> ScenarioBuilder {
    Scenario::new("two replies").respond_with_text("Hello.").next_invocation().respond_with_text("Goodbye.")
}

fn chat(linger: SignedDuration) -> Order {
    Order { kind: TurnKind::Chat, system: Some("Be brief.".into()), linger: Some(linger), ..order() }
}
