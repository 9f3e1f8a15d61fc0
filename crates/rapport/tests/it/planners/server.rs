//! A server that gives prepared answers in order, whatever the request is, and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the server answers.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A message of the model that ended for this reason.
    Says(&'static str, String),
    /// An error with this status, this header and this body.
    Refuses(u16, &'static str, &'static str),
    /// Something that is no message.
    Babbles,
    /// The connection breaks in the middle.
    Breaks,
    /// Nothing comes.
    Stalls,
}

impl Answer {
    /// A message that is this JSON.
    pub(super) fn json(value: &Value) -> Self {
        Self::Says("end_turn", value.to_string())
    }

    /// A message that is just words.
    pub(super) fn words(words: &str) -> Self {
        Self::Says("end_turn", words.into())
    }

    async fn into_response(self) -> Response {
        let response = Response::builder().header("content-type", "application/json");
        match self {
            Answer::Says(stop_reason, text) => {
                let message = json!({
                    "type": "message", "role": "assistant", "stop_reason": stop_reason,
                    "content": [{"type": "text", "text": text}],
                    "usage": {"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 3, "service_tier": "standard"},
                });
                response.body(message.to_string().into())
            }
            Answer::Refuses(status, header, message) => {
                let response = match header.split_once(": ") {
                    Some((name, value)) => response.header(name, value),
                    None => response,
                };
                let body = json!({"type": "error", "error": {"type": "some_error", "message": message}});
                response.status(status).body(body.to_string().into())
            }
            Answer::Babbles => response.body("<html>Welcome!</html>".into()),
            Answer::Breaks => {
                let parts = [Ok(Bytes::from_static(b"{\"con")), Err(std::io::Error::other("gone"))];
                response.body(Body::from_stream(stream::iter(parts)))
            }
            Answer::Stalls => std::future::pending().await,
        }
        .unwrap()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// What the model is told.
    pub(super) fn prompt(&self) -> &str {
        self.body["messages"][0]["content"].as_str().unwrap()
    }
}

/// A server, until it is dropped.
pub(super) struct Server {
    pub(super) url: String,
    state: Arc<Mutex<Play>>,
    serving: JoinHandle<()>,
}

struct Play {
    answers: VecDeque<Answer>,
    asked: Vec<Asked>,
}

impl Server {
    /// Gives these answers.
    pub(super) async fn giving(answers: &[Answer]) -> Self {
        let play = Play { answers: answers.iter().cloned().collect(), asked: Vec::new() };
        let state = Arc::new(Mutex::new(play));
        let app = Router::new().fallback(answer).with_state(state.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, state, serving }
    }

    /// What was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State(state): State<Arc<Mutex<Play>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let next = {
        let mut play = state.lock().unwrap();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        play.asked.push(Asked { line: format!("{method} {uri}"), headers, body });
        play.answers.pop_front()
    };
    next.unwrap_or(Answer::Refuses(418, "", "nothing more was expected")).into_response().await
}

/// How long nothing takes.
pub(super) const AT_ONCE: Duration = Duration::from_millis(200);
