//! A small server in Telegram's place, that gives the answers it was told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use rapport::channels::telegram::api::Api;
use secrecy::SecretString;
use serde_json::{Value, json};

/// A token that looks like one.
pub(super) const TOKEN: &str = "7001:AAsecret-Part_of-the-Token";
/// What of it must not be seen anywhere.
pub(super) const SECRET: &str = "AAsecret-Part_of-the-Token";

/// A method, and what it was called with.
pub(super) type Call = (String, Vec<u8>);

#[derive(Clone, Default)]
pub(super) struct Fake {
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    calls: Arc<Mutex<Vec<Call>>>,
    called: Arc<tokio::sync::Notify>,
}

impl Fake {
    /// Starts it; the client talks to it.
    pub(super) async fn start() -> (Self, Api) {
        let fake = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (fake, client(&format!("http://{address}")))
    }

    /// The next answer.
    pub(super) fn will_answer(&self, status: u16, body: &str) {
        self.answers.lock().unwrap().push_back((status, body.to_owned()));
    }

    /// The next answer is an error.
    pub(super) fn will_refuse(&self, code: u16, description: &str, parameters: Value) {
        let body =
            json!({ "ok": false, "error_code": code, "description": description, "parameters": parameters });
        self.will_answer(code, &body.to_string());
    }

    /// Until so many calls were made since they were asked for last.
    pub(super) async fn called(&self, times: usize) {
        while self.calls.lock().unwrap().len() < times {
            self.called.notified().await;
        }
    }

    /// Which method was called with what, since this was asked last.
    pub(super) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    /// The one call there was, as JSON.
    pub(super) fn call(&self) -> (String, Value) {
        let calls = self.calls();
        let [(method, body)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        (method.clone(), serde_json::from_slice(body).unwrap())
    }
}

pub(super) fn client(base: &str) -> Api {
    Api::new(base, SecretString::from(TOKEN)).unwrap()
}

/// A port where nobody listens.
pub(super) async fn nobody() -> SocketAddr {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

async fn answer(State(fake): State<Fake>, uri: Uri, body: Bytes) -> (StatusCode, String) {
    let method = uri.path().strip_prefix(&format!("/bot{TOKEN}/")).unwrap_or(uri.path()).to_owned();
    fake.calls.lock().unwrap().push((method, body.to_vec()));
    fake.called.notify_one();
    let (status, body) =
        fake.answers.lock().unwrap().pop_front().unwrap_or((200, r#"{"ok":true,"result":true}"#.into()));
    (StatusCode::from_u16(status).unwrap(), body)
}
