//! How much may be sent. The clock is passed in, so nothing waits.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Bot;
use crate::support::telegram::{Fault, Limited, Limiter, Rates, Sending, TelegramServer, Violation};

const ANN: i64 = 7001;
const GROUP: i64 = -900_100;

fn limited(retry_after: u64) -> Result<(), Limited> {
    Err(Limited { retry_after, early: false })
}

fn early(retry_after: u64) -> Result<(), Limited> {
    Err(Limited { retry_after, early: true })
}

#[test]
fn a_chat_takes_a_small_burst_and_then_one_a_second() {
    let mut limiter = Limiter::new(Rates::Real);
    let start = Instant::now();
    let at = |ms: u64| start + Duration::from_millis(ms);
    for ms in [0, 5, 10, 15, 20, 25] {
        assert_eq!(limiter.ask(ANN, at(ms)), Ok(()));
    }
    assert_eq!(limiter.ask_to(Sending::Edits, ANN, at(30)), Ok(()), "edits count apart");
    assert_eq!(limiter.ask(ANN, at(30)), limited(1));
    assert_eq!(limiter.ask(ANN, at(40)), early(1), "it was told to wait");
    assert_eq!(limiter.ask(ANN + 1, at(40)), Ok(()), "another chat has nothing to do with it");
    assert_eq!(limiter.ask(ANN, at(1_040)), Ok(()));
    for second in 2..40 {
        assert_eq!(limiter.ask(ANN, at(second * 1_000 + 100)), Ok(()), "{second}");
    }
}

#[test]
fn a_group_takes_twenty_a_minute() {
    let mut limiter = Limiter::new(Rates::Real);
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    for second in 0..20 {
        assert_eq!(limiter.ask(GROUP, at(second)), Ok(()), "{second}");
    }
    assert_eq!(limiter.ask(GROUP, at(20)), limited(40));
    assert_eq!(limiter.ask(GROUP, at(50)), early(10));
    assert_eq!(limiter.ask(GROUP, at(60)), Ok(()));
}

#[test]
fn thirty_a_second_in_all() {
    let mut limiter = Limiter::new(Rates::Real);
    let start = Instant::now();
    for chat in 1..=30 {
        assert_eq!(limiter.ask(chat, start), Ok(()));
    }
    assert_eq!(limiter.ask(31, start), limited(1));
    assert_eq!(limiter.ask(32, start), early(1), "the whole bot has to wait");
    assert_eq!(limiter.ask(31, start + Duration::from_secs(1)), Ok(()));
}

#[test]
fn limits_can_run_faster_or_not_at_all() {
    let start = Instant::now();
    let mut faster = Limiter::new(Rates::Faster(100));
    for tenth in 0..200 {
        assert_eq!(faster.ask(GROUP, start + Duration::from_millis(tenth * 31)), Ok(()), "{tenth}");
    }
    let mut off = Limiter::new(Rates::Off);
    assert!((0..1_000).all(|_| off.ask(ANN, start).is_ok()));
}

#[tokio::test]
async fn too_many_messages_and_edits_are_told_how_long_to_wait() {
    let server = TelegramServer::start().await;
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let message = bot.says(ANN, "1").await;
    for text in ["2", "3"] {
        bot.done("editMessageText", json!({ "chat_id": ANN, "message_id": message, "text": text })).await;
    }
    // Three fit into the burst; the machine may be slow, so it is gone when one is refused, not when the fourth comes.
    let mut more = 0;
    let answer = loop {
        let answer = bot.answer("sendMessage", json!({ "chat_id": ANN, "text": "more" })).await.unwrap();
        if answer["ok"] == false {
            break answer;
        }
        more += 1;
        assert!(more < 100, "never refused");
    };
    assert_eq!(answer["error_code"], 429);
    assert_eq!(answer["description"], "Too Many Requests: retry after 1");
    assert_eq!(answer["parameters"], json!({ "retry_after": 1 }));
}

#[tokio::test]
async fn who_does_not_wait_is_noted() {
    let server = TelegramServer::start().await;
    server.person(ANN, "Ann");
    server.rates(Rates::Off);
    let bot = Bot::of(&server);
    let message = bot.says(ANN, "1").await;
    server.fault("sendMessage", Fault::TooManyRequests { retry_after: 600 });
    let hi = json!({ "chat_id": ANN, "text": "hi" });
    let response = bot.post("sendMessage").json(&hi).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["Retry-After"], "600");
    assert_eq!(server.violations(), [], "being refused once is no shame");
    let edit = json!({ "chat_id": ANN, "message_id": message, "text": "2" });
    assert_eq!(bot.refused("editMessageText", edit.clone()).await.0, 429);
    assert_eq!(server.violations(), [], "the edit may have been on its way");
    assert_eq!(bot.refused("editMessageText", edit).await.0, 429);
    let noted = Violation::Early { method: "editMessageText".to_owned(), chat: ANN };
    assert_eq!(server.violations(), [noted]);
    bot.done("sendChatAction", json!({ "chat_id": ANN, "action": "typing" })).await;
}
