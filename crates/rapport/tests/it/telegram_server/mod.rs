//! The Telegram of the tests, held to what the Bot API documents: a bot that is right with it is right with the real
//! one.

mod example;
mod faults;
mod formatting;
mod people;
mod polling;
mod rates;
mod refusals;
mod taps;
mod webhook;

use serde_json::{Value, json};

use crate::support::telegram::TelegramServer;
use crate::support::web;

/// A client that calls methods one by one.
struct Bot {
    client: reqwest::Client,
    base: String,
}

impl Bot {
    fn of(server: &TelegramServer) -> Self {
        Self { client: web::client(), base: format!("{}/bot{}", server.url(), server.token()) }
    }

    fn post(&self, method: &str) -> reqwest::RequestBuilder {
        self.client.post(format!("{}/{method}", self.base))
    }

    /// The whole answer.
    async fn answer(&self, method: &str, parameters: Value) -> Result<Value, reqwest::Error> {
        self.post(method).json(&parameters).send().await?.json().await
    }

    /// The result; the call must be done.
    async fn done(&self, method: &str, parameters: Value) -> Value {
        let answer = self.answer(method, parameters).await.unwrap();
        assert_eq!(answer["ok"], true, "{method}: {answer}");
        answer["result"].clone()
    }

    /// Code and description; the call must be refused.
    async fn refused(&self, method: &str, parameters: Value) -> (u64, String) {
        let answer = self.answer(method, parameters).await.unwrap();
        assert_eq!(answer["ok"], false, "{method}: {answer}");
        (answer["error_code"].as_u64().unwrap(), answer["description"].as_str().unwrap().to_owned())
    }

    async fn says(&self, chat: i64, text: &str) -> i64 {
        let message = self.done("sendMessage", json!({ "chat_id": chat, "text": text })).await;
        message["message_id"].as_i64().unwrap()
    }

    /// The updates from an offset on, without waiting.
    async fn updates(&self, offset: i64) -> Vec<Value> {
        let updates = self.done("getUpdates", json!({ "offset": offset })).await;
        updates.as_array().unwrap().clone()
    }
}

fn texts(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["message"]["text"].as_str().unwrap_or_default()).collect()
}

fn id(update: &Value) -> i64 {
    update["update_id"].as_i64().unwrap()
}

fn keyboard(buttons: &[(&str, &str)]) -> Value {
    let row = |(text, data): &(&str, &str)| json!([{ "text": text, "callback_data": data }]);
    json!({ "inline_keyboard": buttons.iter().map(row).collect::<Vec<_>>() })
}
