//! Updates that are sent: the secret, the order, trying again, and a method called by answering.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::Bot;
use crate::support::telegram::TelegramServer;

const ANN: i64 = 7001;

/// What came in, and the statuses to answer with until they run out.
#[derive(Clone, Default)]
struct Hook {
    seen: Arc<Mutex<Vec<(String, Value)>>>,
    statuses: Arc<Mutex<Vec<u16>>>,
}

async fn taken(State(hook): State<Hook>, headers: HeaderMap, body: Bytes) -> (StatusCode, Json<Value>) {
    let secret =
        headers.get("X-Telegram-Bot-Api-Secret-Token").map(|value| value.to_str().unwrap().to_owned());
    let update: Value = serde_json::from_slice(&body).unwrap();
    let text = update["message"]["text"].clone();
    hook.seen.lock().unwrap().push((secret.unwrap_or_default(), text.clone()));
    let status = hook.statuses.lock().unwrap().pop().unwrap_or(200);
    (
        StatusCode::from_u16(status).unwrap(),
        Json(json!({ "method": "sendMessage", "chat_id": ANN, "text": text })),
    )
}

async fn hook(statuses: &[u16]) -> (Hook, String) {
    let hook = Hook { statuses: Arc::new(Mutex::new(statuses.to_vec())), ..Hook::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(taken)).with_state(hook.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (hook, url)
}

#[tokio::test]
async fn updates_are_sent_with_the_secret_until_they_are_taken() {
    let server = TelegramServer::start().await;
    server.webhook_retry(Duration::from_millis(1));
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let (hook, url) = hook(&[503, 500]).await;
    ann.types("one");
    assert_eq!(bot.done("setWebhook", json!({ "url": url, "secret_token": "s3cret_-" })).await, true);
    ann.sees("one").await;
    ann.types("two");
    ann.sees("two").await;
    let sent = |text: &str| ("s3cret_-".to_owned(), json!(text));
    assert_eq!(*hook.seen.lock().unwrap(), [sent("one"), sent("one"), sent("one"), sent("two")]);
    let info = bot.done("getWebhookInfo", json!({})).await;
    assert_eq!(info["url"], url);
    assert_eq!(info["pending_update_count"], 0);
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 503 Service Unavailable");
}

#[tokio::test]
async fn who_has_a_webhook_cannot_poll() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let poll = bot.refused("getUpdates", json!({ "timeout": 50 }));
    let set = async {
        server.called("getUpdates", 1).await;
        // Nobody listens there.
        bot.done("setWebhook", json!({ "url": "http://127.0.0.1:1/" })).await;
    };
    let (refused, ()) = tokio::join!(poll, set);
    assert_eq!(refused, (409, "Conflict: terminated by setWebhook request".to_owned()));
    let words = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
    assert_eq!(bot.refused("getUpdates", json!({})).await, (409, words.to_owned()));
    ann.types("kept");
    server.wait_for("the webhook to fail", |state| state.webhook.as_ref()?.last_error.clone()).await;
    bot.done("deleteWebhook", json!({})).await;
    assert_eq!(super::texts(&bot.updates(0).await), ["kept"]);
    bot.done("deleteWebhook", json!({ "drop_pending_updates": true })).await;
    assert!(bot.updates(0).await.is_empty());
}
