//! Who may do what: the bot is closed unless opened, and every tap is answered once.

use rapport_core::{Aim, Event};
use serde_json::Value;

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::scenarios::ONE_QUESTION;
use crate::support::telegram::{ChatMessage, Order, Rates, State};

/// A stranger is told so, and nothing else.
#[tokio::test]
async fn a_stranger_is_not_served() {
    let stage = Stage::playing(AUTH).await;
    let (anna, eve) = (stage.anna(), stage.server.person(66, "Eve"));
    eve.types("/plan take over");
    let told = eve.sees("private").await;
    assert_eq!(told.text(), "This bot is private.");
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let before = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    let here = eve.in_group(ANNA, None);
    let tap = here.taps_on(&card, "Express");
    assert_eq!(here.toast_of(&tap).await, "This bot is private.");
    assert_eq!(stage.file(ANNA), Some(before));
    assert_eq!(stage.sessions_for(&Aim::Work), 1);
}

/// A person who may only look sees the sessions; their taps, tasks and messages change nothing, also as a guest.
#[tokio::test]
async fn somebody_who_may_only_look_changes_nothing() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.serve_with(&[("RAPPORT_TELEGRAM_LOOKERS", "77")]);
    let (anna, bob) = (stage.anna(), stage.server.person(77, "Bob"));
    bob.types("/plan take over");
    bob.sees("You may only look here").await;
    bob.types("/help");
    bob.sees("I plan tasks with you").await;
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let before = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    let here = bob.in_group(ANNA, None);
    let tap = here.taps_on(&card, "Express");
    assert!(here.toast_of(&tap).await.starts_with("You may only look here"));
    assert_eq!(stage.file(ANNA), Some(before));
    assert_eq!(stage.sessions_for(&Aim::Work), 1);
}

/// A thousand strangers, with Telegram's limits as they are: they are told as there is room for it, and the owner's
/// card does not wait for that.
#[tokio::test]
async fn a_thousand_strangers_do_not_delay_the_owner() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.server.rates(Rates::Real);
    let anna = stage.anna();
    stage.server.hold_updates();
    for id in 100_000..101_000 {
        stage.server.person(id, "Eve").types("let me in");
    }
    stage.server.release_updates(Order::AsHappened);
    stage.serve_with(&[("RAPPORT_TELEGRAM_FASTER", "1")]);
    let told = |state: &State| {
        state.messages.iter().filter(|message| message.text() == "This bot is private.").count()
    };
    // While they are told, 30 a second, the owner is answered: within a second, in which no more than that many are.
    stage.server.wait_for("the first to be told", |state| (told(state) > 0).then_some(())).await;
    let before = stage.server.look(told);
    anna.types("/help");
    anna.sees("I plan tasks with you").await;
    let meanwhile = stage.server.look(told) - before;
    assert!(meanwhile <= 30, "{meanwhile} strangers came first");
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let came = |message: &ChatMessage| message.versions[0].moment;
    let still_waiting = stage.server.look(|state| {
        let later = state.messages.iter().filter(|message| came(message) < came(&card));
        1000 - later.filter(|message| message.text() == "This bot is private.").count()
    });
    assert!(still_waiting > 0, "the card came when all of them had been told");
    assert_eq!(stage.server.violations(), []);
}

/// Nobody is allowed: a code is shown, and whoever sends it is served from then on, also after a restart.
#[tokio::test]
async fn pairing_lets_the_first_person_in() {
    let mut stage = Stage::quiet(AUTH).await;
    let nobody = [("TELEGRAM_USER_ID", "")];
    stage.serve_with(&nobody);
    let code = code(&stage);
    let anna = stage.anna();
    anna.types("/plan something");
    anna.sees("This bot is private.").await;
    anna.types(&code);
    anna.sees("You are in").await;
    stage.kill();
    stage.serve_with(&nobody);
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
}

/// What an agent asked before anybody was let in reaches the first who is.
#[tokio::test]
async fn who_is_let_in_sees_what_waits() {
    let mut stage = Stage::quiet(ONE_QUESTION).await;
    let run = stage.project.start(&["paint it"], &[]);
    let asked = |fact: &Event| matches!(fact, Event::Asked { .. });
    wait_for("the question", || {
        stage.sessions().iter().any(|(_, _, facts)| facts.iter().any(asked)).then_some(())
    });
    run.kill();
    stage.serve_with(&[("TELEGRAM_USER_ID", "")]);
    let code = code(&stage);
    let before = stage.reads();
    for stranger in 100..105 {
        let stranger = stage.server.person(stranger, "Eve");
        stranger.types("hello?");
        stranger.sees("This bot is private.").await;
    }
    let reads = stage.reads() - before;
    assert!(reads < 500, "with nobody to show it to, the log was read again and again: {reads} reads");
    let anna = stage.anna();
    anna.types(&code);
    anna.sees("You are in").await;
    anna.sees("Which colour?").await;
    anna.taps("Blue").await;
    anna.sees("Plan Ready").await;
}

/// The code that the host is shown.
fn code(stage: &Stage) -> String {
    wait_for("the code", || {
        let printed = stage.printed();
        let line = printed.lines().find(|line| line.contains("nobody may use this bot yet"))?;
        let line: Value = serde_json::from_str(line).ok()?;
        line["message"].as_str()?.rsplit(' ').next().map(str::to_owned)
    })
}

/// CHAT-22 and taps on old cards: answered politely, and nothing changes.
#[tokio::test]
async fn taps_on_what_is_over_change_nothing() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    let first = anna.sees("Q1 of 3").await;
    anna.taps_on(&first, "Fastify");
    anna.sees("Q2 of 3").await;
    anna.taps_on(&first, "Express");
    assert_eq!(anna.toast().await, "Already answered: Fastify");
    anna.taps_data("iq:a:0:0");
    assert_eq!(anna.toast().await, "Already answered: Fastify");
    for data in
        ["code_answer:option:1", "code_plan:approve:1", "code_dash:status:1", "routine_target:1", "what?"]
    {
        anna.taps_data(data);
        assert!(anna.toast().await.starts_with("This button belongs to something else"), "{data}");
    }
    anna.types("/plan add a search");
    anna.sees("Planning: add a search").await;
    anna.taps_on(&first, "Express");
    assert_eq!(anna.toast().await, "Already answered: Fastify", "a card of another session");
    every_tap_was_answered_once(&stage).await;
    stage.kill();
    stage.serve();
    anna.taps_on(&first, "Express");
    assert_eq!(anna.toast().await, "Already answered: Fastify", "a card from yesterday");
    stage.filed(ANNA, "the new plan untouched", |file| file["currentQuestionIndex"] == 0);
}

/// Twenty taps in a second, and the same update three times: one answer.
#[tokio::test]
async fn many_taps_are_one_answer() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    stage.server.repeat_next_update(3);
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    let taps: Vec<_> =
        (0..20).map(|n| anna.taps_on(&card, if n % 2 == 0 { "Express" } else { "Fastify" })).collect();
    for tap in &taps {
        anna.toast_of(tap).await;
    }
    anna.sees_last("Q2 of 3").await;
    let file = stage.filed(ANNA, "one answer", |file| file["answers"][0] == "express");
    assert_eq!(file["currentQuestionIndex"], 1);
    assert_eq!(stage.sessions_for(&Aim::Work), 1);
    every_tap_was_answered_once(&stage).await;
}

/// Every tap is answered, and none twice.
async fn every_tap_was_answered_once(stage: &Stage) {
    let all_answered = |state: &State| {
        state.callbacks.iter().all(|tap| tap.answer.is_some()).then_some(state.callbacks.len())
    };
    let taps = stage.server.wait_for("every tap to be answered", all_answered).await;
    assert_eq!(stage.server.calls("answerCallbackQuery").len(), taps);
}
