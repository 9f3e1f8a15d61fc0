//! Taps and their answers: once, in time, and on old cards too.

use std::time::Duration;

use serde_json::json;

use super::{Bot, keyboard};
use crate::support::telegram::{Came, Rates, TelegramServer};

const ANN: i64 = 7001;
const LATE: &str = "Bad Request: query is too old and response timeout expired or query ID is invalid";

#[tokio::test]
async fn a_tap_is_answered_once_and_in_time() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let answer = |id: &str, text: &str| json!({ "callback_query_id": id, "text": text });
    let card = json!({ "chat_id": ANN, "text": "?", "reply_markup": keyboard(&[("Yes", "y"), ("No", "n")]) });
    bot.done("sendMessage", card).await;
    let tap = ann.taps("Yes").await;
    let query = bot.updates(0).await[0]["callback_query"].clone();
    assert_eq!((&query["id"], &query["data"]), (&json!(tap.id), &json!("y")));
    assert_eq!(query["message"]["reply_markup"], keyboard(&[("Yes", "y"), ("No", "n")]));
    bot.done("answerCallbackQuery", answer(&tap.id, &"x".repeat(200))).await;
    assert_eq!(ann.toast().await, "x".repeat(200));
    assert_eq!(bot.refused("answerCallbackQuery", answer(&tap.id, "twice")).await, (400, LATE.to_owned()));
    let tap = ann.taps("No").await;
    server.expire_callbacks();
    assert_eq!(bot.refused("answerCallbackQuery", answer(&tap.id, "late")).await, (400, LATE.to_owned()));
    let tap = ann.taps("No").await;
    server.callback_lifetime(Duration::ZERO);
    assert_eq!(bot.refused("answerCallbackQuery", answer(&tap.id, "late")).await, (400, LATE.to_owned()));
}

#[tokio::test]
async fn a_card_that_lost_its_buttons_can_still_be_tapped_by_who_saw_them() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let card = json!({ "chat_id": ANN, "text": "Q1", "reply_markup": keyboard(&[("Yes", "iq:a:0:0")]) });
    let id = bot.done("sendMessage", card).await["message_id"].clone();
    let seen = ann.sees("Q1").await;
    bot.done("editMessageText", json!({ "chat_id": ANN, "message_id": id, "text": "Q1 → Yes" })).await;
    let now = ann.sees("→ Yes").await;
    assert_eq!(now.buttons(), Vec::<Vec<String>>::new());
    assert_eq!(now.versions.iter().map(|version| version.came).collect::<Vec<_>>(), [Came::New, Came::Edit]);
    for card in [seen, now] {
        ann.taps_on(&card, "Yes");
        let updates = bot.updates(-1).await;
        assert_eq!(updates[0]["callback_query"]["data"], "iq:a:0:0");
        assert_eq!(updates[0]["callback_query"]["message"]["text"], "Q1 → Yes");
    }
}

#[tokio::test]
async fn somebody_quick_taps_twenty_times_in_no_time() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    bot.done(
        "sendMessage",
        json!({ "chat_id": ANN, "text": "?", "reply_markup": keyboard(&[("Yes", "y")]) }),
    )
    .await;
    for _ in 0..19 {
        ann.taps("Yes").await;
    }
    let last = ann.taps_data("iq:back");
    let updates = bot.updates(0).await;
    assert_eq!(updates.len(), 20);
    assert_eq!(updates[19]["callback_query"]["id"], last.id);
    for update in &updates {
        bot.done("answerCallbackQuery", json!({ "callback_query_id": update["callback_query"]["id"] })).await;
    }
    assert_eq!(ann.toast_of(&last).await, "");
}
