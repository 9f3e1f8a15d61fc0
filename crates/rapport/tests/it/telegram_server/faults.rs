//! Troubles on request: lost answers, proxies, a server that is away.

use serde_json::{Value, json};

use super::Bot;
use crate::support::telegram::{Door, Fault, Outcome, Rates, TelegramServer};

const ANN: i64 = 7001;

fn hi() -> Value {
    json!({ "chat_id": ANN, "text": "hi" })
}

#[tokio::test]
async fn a_connection_is_lost_before_or_after_it_was_done() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    server.fault("sendMessage", Fault::DropBefore);
    assert!(bot.answer("sendMessage", hi()).await.is_err());
    assert_eq!(server.messages(ANN).len(), 0);
    server.fault("sendMessage", Fault::DropAfter);
    assert!(bot.answer("sendMessage", hi()).await.is_err());
    assert_eq!(server.messages(ANN).len(), 1, "it was sent, only nobody said so");
    bot.done("sendMessage", hi()).await;
    assert_eq!(server.messages(ANN).len(), 2, "who sends again sends twice");
    let outcomes: Vec<_> = server.calls("sendMessage").into_iter().map(|call| call.outcome).collect();
    assert!(
        matches!(&outcomes[..], [Outcome::Lost, Outcome::DoneUnheard(_), Outcome::Done(_)]),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn a_proxy_answers_in_html() {
    let server = TelegramServer::start().await;
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    server.fault_times("*", 2, Fault::Status(502));
    for method in ["getMe", "sendMessage"] {
        let response = bot.post(method).json(&hi()).send().await.unwrap();
        assert_eq!(response.status(), 502);
        assert!(response.text().await.unwrap().starts_with("<html>"));
    }
    let words = "Internal Server Error: restart";
    server.fault("getMe", Fault::Refuse { code: 500, description: words.to_owned() });
    assert_eq!(bot.refused("getMe", json!({})).await, (500, words.to_owned()));
    assert_eq!(server.messages(ANN).len(), 0);
    bot.done("sendMessage", hi()).await;
}

#[tokio::test]
async fn a_server_that_is_away_refuses_and_comes_back_at_the_same_place() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let poll = bot.answer("getUpdates", json!({ "timeout": 50 }));
    let leave = async {
        server.called("getUpdates", 1).await;
        server.goes_down(Door::Refusing).await;
    };
    let (lost, ()) = tokio::join!(poll, leave);
    assert!(lost.is_err(), "the poll was cut");
    ann.types("while away");
    assert!(bot.answer("getMe", json!({})).await.unwrap_err().is_connect());
    server.comes_back().await;
    assert_eq!(super::texts(&bot.updates(0).await), ["while away"]);
}

#[tokio::test]
async fn a_server_that_hangs_answers_nobody() {
    let server = TelegramServer::start().await;
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    server.goes_down(Door::Hanging).await;
    let sent = bot.answer("sendMessage", hi());
    let come_back = async {
        server.wait_for("a request", |state| (state.hung == 1).then_some(())).await;
        server.comes_back().await;
    };
    let (sent, ()) = tokio::join!(sent, come_back);
    assert!(sent.is_err());
    assert_eq!(server.messages(ANN).len(), 0);
    bot.done("getMe", json!({})).await;
    server.fault("getMe", Fault::Hang);
    let hung = bot.answer("getMe", json!({}));
    let cut = async {
        server.called("getMe", 2).await;
        server
            .wait_for("the call to hang", |state| {
                (state.calls.last()?.outcome == Outcome::Lost).then_some(())
            })
            .await;
        server.cut_connections();
    };
    let (hung, ()) = tokio::join!(hung, cut);
    assert!(hung.is_err());
}
