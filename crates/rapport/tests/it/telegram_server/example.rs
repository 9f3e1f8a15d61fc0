//! How it is used: a small bot, and somebody who talks to it over a bad line.

use serde_json::{Value, json};

use super::{Bot, id, keyboard};
use crate::support::telegram::{Fault, TelegramServer};

#[tokio::test]
async fn a_person_talks_to_a_bot() {
    let server = TelegramServer::start().await;
    let ann = server.person(7001, "Ann");
    let bot = tokio::spawn(asks_back(Bot::of(&server)));
    server.fault("getUpdates", Fault::DropAfter);
    ann.types("/plan dark mode");
    let card = ann.sees("Which one?").await;
    assert_eq!(card.buttons(), [["Light"], ["Dark"]]);
    ann.taps("Dark").await;
    assert_eq!(ann.toast().await, "You chose dark");
    assert_eq!(ann.sees("dark").await.id, card.id, "the card was edited");
    assert_eq!(server.violations(), []);
    bot.abort();
}

/// Asks one question about everything, and shows the answer on its card.
async fn asks_back(bot: Bot) {
    let mut offset = 0;
    loop {
        let Ok(answer) = bot.answer("getUpdates", json!({ "offset": offset, "timeout": 50 })).await else {
            continue;
        };
        for update in answer["result"].as_array().unwrap() {
            offset = id(update) + 1;
            react(&bot, update).await;
        }
    }
}

async fn react(bot: &Bot, update: &Value) {
    let query = &update["callback_query"];
    if query.is_null() {
        let choices = keyboard(&[("Light", "light"), ("Dark", "dark")]);
        let chat = &update["message"]["chat"]["id"];
        bot.done("sendMessage", json!({ "chat_id": chat, "text": "Which one?", "reply_markup": choices }))
            .await;
    } else {
        let text = format!("You chose {}", query["data"].as_str().unwrap());
        bot.done("answerCallbackQuery", json!({ "callback_query_id": query["id"], "text": text })).await;
        let (chat, card) = (&query["message"]["chat"]["id"], &query["message"]["message_id"]);
        bot.done("editMessageText", json!({ "chat_id": chat, "message_id": card, "text": text })).await;
    }
}
