//! Updates that are delivered instead of fetched: the same conversation, over a restart as well.

use std::time::Duration;

use super::{ANNA, AUTH, Stage};
use crate::support::telegram::Fault;
use crate::support::web;

const SECRET: &str = "only-Telegram_knows-this";

/// Killed at the second question: what is done meanwhile is brought again, and the plan goes on.
#[tokio::test]
async fn a_plan_goes_on_over_a_restart_with_a_webhook() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.server.webhook_retry(Duration::from_millis(50));
    let listen = free_address();
    let url = format!("http://{listen}/telegram");
    let webhook = [
        ("RAPPORT_TELEGRAM_WEBHOOK_URL", url.as_str()),
        ("RAPPORT_TELEGRAM_WEBHOOK_LISTEN", listen.as_str()),
        ("RAPPORT_TELEGRAM_WEBHOOK_SECRET", SECRET),
    ];
    stage.serve_with(&webhook);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    anna.taps("Express").await;
    let second = anna.sees("Q2 of 3").await;
    stage.filed(ANNA, "the answer", |file| file["currentQuestionIndex"] == 1);

    stage.kill();
    anna.taps_on(&second, "No");
    let refused = |state: &crate::support::telegram::State| state.webhook.as_ref()?.last_error.clone();
    stage.server.wait_for("the webhook to be away", refused).await;
    stage.serve_with(&webhook);
    anna.sees("Q3 of 3").await;
    let file = stage.filed(ANNA, "both answers", |file| file["answers"][1] == "no");
    assert_eq!(file["answers"][0], "express");
    anna.taps("None").await;
    anna.taps("Cookies").await;
    anna.sees("Plan Ready").await;

    let set = stage.server.calls("setWebhook");
    assert_eq!(set.len(), 2, "told at every start");
    assert!(set.iter().all(|call| call.parameters["secret_token"] == SECRET));
    assert!(stage.server.calls("getUpdates").is_empty(), "nothing is fetched");
    assert_eq!(stage.stop(), 0);
    assert!(!stage.printed().contains(SECRET), "{}", stage.printed());
    assert_eq!(stage.server.violations(), []);
}

/// A request without the secret is refused.
#[tokio::test]
async fn somebody_else_cannot_deliver() {
    let mut stage = Stage::quiet(AUTH).await;
    let listen = free_address();
    let url = format!("http://{listen}/telegram");
    stage.serve_with(&[
        ("RAPPORT_TELEGRAM_WEBHOOK_URL", &url),
        ("RAPPORT_TELEGRAM_WEBHOOK_LISTEN", &listen),
        ("RAPPORT_TELEGRAM_WEBHOOK_SECRET", SECRET),
    ]);
    let set = |state: &crate::support::telegram::State| state.webhook.clone();
    stage.server.wait_for("the webhook to be set", set).await;
    let chat = serde_json::json!({ "id": ANNA, "type": "private", "first_name": "Anna" });
    let from = serde_json::json!({ "id": ANNA, "is_bot": false, "first_name": "Anna" });
    let message = serde_json::json!({
        "message_id": 9000, "date": 1_780_000_000, "chat": chat, "from": from, "text": "/plan a back door",
    });
    let update = serde_json::json!({ "update_id": 999_999, "message": message });
    for secret in ["", "guessed"] {
        let request = web::client().post(&url).json(&update);
        let request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    assert_eq!(stage.sessions().len(), 1);
}

/// Switched back to fetching while Telegram stumbles: the webhook is removed all the same, or nothing would ever come.
#[tokio::test]
async fn a_webhook_is_removed_though_telegram_stumbles() {
    let mut stage = Stage::quiet(AUTH).await;
    let url = format!("http://{}/telegram", free_address());
    let set = web::client().post(stage.server.method_url("setWebhook"));
    assert_eq!(set.json(&serde_json::json!({ "url": url })).send().await.unwrap().status(), 200);
    stage.server.fault_times("getWebhookInfo", 2, Fault::Status(502));
    stage.serve();
    let anna = stage.anna();
    anna.types("/help");
    anna.sees("/plan").await;
}

/// An address at which nobody listens.
fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
