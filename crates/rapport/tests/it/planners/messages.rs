//! Requests to the API, and how its replies are read.

use rapport::planners::Planner;
use rapport::planners::messages::{Credential, Messages, MessagesConfig};
use rapport_core::Usage;
use serde_json::json;

use super::server::{Answer, Server};
use super::{KEY, api, brief, config, good, question, texts};
use crate::support::model::{Model, Script};

#[tokio::test]
async fn chat_42_a_round_is_one_request_with_the_schema_of_the_reply() {
    let server = Server::giving(&[Answer::json(&good())]).await;
    let brief = brief(1, &[]);
    let batch = api(&format!("{}/", server.url)).next(brief.clone()).await.unwrap();
    assert_eq!(texts(&batch), ["Which library?"]);
    assert_eq!(
        (batch.goal.as_deref(), batch.description.as_deref()),
        (Some("jwt-auth"), Some("add-jwt-auth"))
    );
    assert_eq!(batch.usage, Usage { input: 100, output: 7, cache_read: 3, ..Usage::default() });
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "one call makes a whole round");
    let asked = &asked[0];
    assert_eq!(asked.line, "POST /v1/messages");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.body["model"], "claude-haiku-4-5");
    assert_eq!(asked.body["max_tokens"], 4096);
    assert_eq!(asked.body["messages"], json!([{"role": "user", "content": brief.prompt()}]));
    assert_eq!(
        asked.body["output_config"],
        json!({"format": {"type": "json_schema", "schema": brief.schema()}})
    );
    assert!(asked.body["system"].as_str().unwrap().contains("coding agent"));
}

#[tokio::test]
async fn chat_42_a_token_is_shown_as_a_bearer() {
    let server = Server::giving(&[Answer::json(&good())]).await;
    let config = MessagesConfig { credential: Credential::Token("tok\n".into()), ..config(&server.url) };
    Messages::new(config).unwrap().next(brief(1, &[])).await.unwrap();
    let asked = server.asked();
    assert_eq!((asked[0].header("authorization"), asked[0].header("x-api-key")), (Some("Bearer tok"), None));
}

/// CHAT-1: three rounds are three calls, however many questions they have.
#[tokio::test]
async fn chat_5_chat_7_every_round_is_told_all_answers() {
    let second = json!({"done": false, "questions": [question("Which library?"), question("Expiry?")]});
    let done = json!({"done": true, "questions": []});
    let model = Model::play(Script::default().reply(&good()).reply(&second).reply(&done));
    let planner = api(&format!("http://{}", model.address()));
    let first = planner.next(brief(1, &[])).await.unwrap();
    assert_eq!(texts(&first), ["Which library?"]);
    let answered = [("Which library?", "B"), ("Expiry?", "one hour")];
    let second = planner.next(brief(2, &answered[..1])).await.unwrap();
    assert_eq!(texts(&second), ["Expiry?"], "what is answered is not asked again");
    assert_eq!(second.goal, None);
    let third = planner.next(brief(3, &answered)).await.unwrap();
    assert!(third.done && third.questions.is_empty());
    let seen = model.seen();
    assert_eq!(seen.len(), 3);
    let told = model.told().join("");
    assert!(told.contains("Q: Which library? → B\nQ: Expiry? → one hour\n"), "{told}");
    assert!(told.ends_with("Max 3 rounds total."), "{told}");
}

#[tokio::test]
async fn chat_8_beyond_the_last_round_nothing_is_asked() {
    let server = Server::giving(&[]).await;
    assert!(api(&server.url).next(brief(4, &[("Which?", "A")])).await.unwrap().done);
    assert_eq!(server.asked().len(), 0);
}
