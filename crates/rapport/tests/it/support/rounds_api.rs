//! A model that makes rounds of questions, for any number of tasks at once: the Messages API on loopback. The task
//! and the answers in a request determine the round.
#![allow(dead_code, reason = "measurements share it with the tests; neither uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How many questions there are in a round: as many as are taken.
pub(crate) const QUESTIONS: usize = 4;
/// What every question can be answered with: the label, and the value.
pub(crate) const OPTIONS: [(&str, &str); 3] =
    [("To the left", "left"), ("To the right", "right"), ("Straight on", "on")];

/// Such a model, as long as the runtime it was started in.
pub(crate) struct RoundsApi {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct Shared {
    rounds: usize,
    asked: Arc<AtomicUsize>,
}

impl RoundsApi {
    /// One that asks this many rounds of questions about every task.
    pub(crate) async fn start(rounds: usize) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let shared = Shared { rounds, asked: asked.clone() };
        let router = Router::new().route("/v1/messages", post(answer)).with_state(shared);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, asked }
    }

    /// What stands before `/v1/messages`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(State(shared): State<Shared>, Json(request): Json<Value>) -> Json<Value> {
    shared.asked.fetch_add(1, Ordering::SeqCst);
    let prompt = request["messages"][0]["content"].as_str().unwrap_or_default();
    let round = prompt.lines().filter(|line| line.starts_with("Q: ")).count() / QUESTIONS;
    let task = prompt.lines().next().unwrap_or_default().trim_start_matches("Task: ");
    let questions: Vec<_> =
        (0..QUESTIONS).filter(|_| round < shared.rounds).map(|n| question(round, n)).collect();
    let batch = json!({
        "goal": "directions",
        "description": task,
        "done": questions.is_empty(),
        "questions": questions,
    });
    Json(json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"],
        "content": [{"type": "text", "text": batch.to_string()}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 800, "output_tokens": 200},
    }))
}

fn question(round: usize, n: usize) -> Value {
    let option = |(label, value): (&str, &str)| {
        json!({
            "label": label, "value": value, "recommended": false,
            "description": "What that would mean for the project",
        })
    };
    json!({
        "question": format!("Which way should step {} go?", round * QUESTIONS + n + 1),
        "options": OPTIONS.map(option),
        "allowFreeText": false,
        "multiSelect": false,
    })
}
