//! Delivered updates: only from who knows the secret, and taken only when they are durable.

use std::time::Duration;

use rapport::channels::telegram::webhook::{
    HEADERS_WITHIN, MOST_BYTES, SECRET_HEADER, Webhook, WebhookConfig,
};
use secrecy::SecretString;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::fake::{Fake, client, nobody};
use super::intake::{World, now, raw};
use crate::support::web;

/// A webhook that runs, and what stops it.
struct Running {
    url: String,
    stop: watch::Sender<bool>,
    ends: tokio::task::JoinHandle<()>,
}

async fn start(world: &World) -> (Running, Fake) {
    start_within(world, HEADERS_WITHIN).await
}

async fn start_within(world: &World, headers_within: Duration) -> (Running, Fake) {
    let (fake, api) = Fake::start().await;
    let config = WebhookConfig {
        url: "https://bot.example/hook".into(),
        listen: "127.0.0.1:0".parse().unwrap(),
        secret: Some(SecretString::from("s3cret")),
        headers_within,
    };
    let webhook = Webhook::bind(&config).await.unwrap();
    let url = format!("http://{}/hook", webhook.address().unwrap());
    let (stop, stopped) = watch::channel(false);
    let (intake, tell) = (world.begin(), world.tell.clone());
    let ends = tokio::spawn(async move { webhook.run(&api, intake, tell, now(), stopped).await.unwrap() });
    (Running { url, stop, ends }, fake)
}

async fn post(url: &str, secret: Option<&str>, body: Vec<u8>) -> u16 {
    let mut request = web::client().post(url).body(body);
    if let Some(secret) = secret {
        request = request.header(SECRET_HEADER, secret);
    }
    request.send().await.unwrap().status().as_u16()
}

fn body(id: u32, text: &str) -> Vec<u8> {
    raw(id, 1, text).get().as_bytes().to_vec()
}

#[tokio::test]
async fn only_who_knows_the_secret_is_heard() {
    // reqwest needs a provider, which the client chooses.
    client("http://127.0.0.1:1");
    let world = World::new();
    let (running, fake) = start(&world).await;
    for wrong in [None, Some(""), Some("s3cre"), Some("s3cret!"), Some("S3CRET")] {
        assert_eq!(post(&running.url, wrong, body(1, "x")).await, 401, "{wrong:?}");
    }
    assert!(world.notes.ids().is_empty());
    assert_eq!(post(&running.url, Some("s3cret"), vec![b' '; MOST_BYTES + 1]).await, 413);
    assert_eq!(post(&running.url, Some("s3cret"), b"no json".to_vec()).await, 400);
    assert_eq!(post(&running.url, Some("s3cret"), body(1, "x")).await, 200);
    // Delivered again, it is not handled again.
    assert_eq!(post(&running.url, Some("s3cret"), body(1, "x")).await, 200);
    assert_eq!(world.notes.ids(), [1]);
    assert_eq!(world.on_disk().offset(super::intake::now()()), Some(2));
    running.stop.send_replace(true);
    running.ends.await.unwrap();
    let calls = fake.calls();
    assert_eq!(calls.len(), 1, "the webhook stays set");
    let set: serde_json::Value = serde_json::from_slice(&calls[0].1).unwrap();
    assert_eq!((calls[0].0.as_str(), &set["secret_token"]), ("setWebhook", &json!("s3cret")));
    assert_eq!(set["url"], "https://bot.example/hook");
}

#[tokio::test]
async fn it_is_taken_only_when_it_is_durable() {
    client("http://127.0.0.1:1");
    let world = World::new();
    let (running, _fake) = start(&world).await;
    let url = running.url.clone();
    let waiting = tokio::spawn(async move { post(&url, Some("s3cret"), body(1, "slow")).await });
    world.notes.begun().await;
    // Another chat's update is through while the first one is still being made durable.
    let other = raw(2, 2, "x").get().as_bytes().to_vec();
    assert_eq!(post(&running.url, Some("s3cret"), other).await, 200);
    assert!(!waiting.is_finished());
    world.notes.go_on.send_replace(true);
    assert_eq!(waiting.await.unwrap(), 200);
}

#[tokio::test]
async fn what_is_not_durable_when_it_stops_is_left_to_be_brought_again() {
    client("http://127.0.0.1:1");
    let world = World::new();
    let (running, _fake) = start(&world).await;
    let url = running.url.clone();
    let waiting = tokio::spawn(async move { post(&url, Some("s3cret"), body(1, "slow")).await });
    world.notes.begun().await;
    let other = raw(2, 2, "x").get().as_bytes().to_vec();
    assert_eq!(post(&running.url, Some("s3cret"), other).await, 200);
    running.stop.send_replace(true);
    assert_eq!(waiting.await.unwrap(), 503);
    running.ends.await.unwrap();
    assert_eq!(world.notes.ids(), [2]);
}

/// A client that never finishes the head of a request does not keep its connection, and others are answered
/// meanwhile.
#[tokio::test]
async fn a_request_whose_headers_never_end_is_dropped() {
    client("http://127.0.0.1:1");
    let world = World::new();
    let (running, _fake) = start_within(&world, Duration::from_millis(200)).await;
    let address = running.url.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
    let mut silent = Vec::new();
    for said in ["", "POST /hook HTTP/1.1\r\n", "POST /hook HTTP/1.1\r\nHost: bot.example\r\nX: "] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(post(&running.url, Some("s3cret"), body(1, "x")).await, 200);
    for mut stream in silent {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "it is still held");
    }
    running.stop.send_replace(true);
    running.ends.await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = taken.local_addr().unwrap();
    let config =
        WebhookConfig { url: "https://x".into(), listen, secret: None, headers_within: HEADERS_WITHIN };
    let error = Webhook::bind(&config).await.err().unwrap();
    assert!(error.to_string().contains(&format!("cannot listen on {listen}")), "{error}");
    let free = WebhookConfig { listen: nobody().await, ..config };
    assert!(Webhook::bind(&free).await.is_ok());
}
