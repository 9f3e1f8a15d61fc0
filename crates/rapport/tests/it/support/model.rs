//! A model that plays a script: the Messages API on loopback, for agents that run without an account or the internet.
//! It records every request, so that a test can check what the model saw.
//!
//! The conversation in a request determines the response: the first one of the script that the conversation does not
//! contain yet. So a conversation that is resumed, forked or cut off continues where it was, and several can be
//! played at once. Requests without tools (for titles and the like) get a few words and do not count.
//!
//! HTTP is written by hand, in `model/http.rs`: an HTTP library would not let a response break off, stall or lie.

mod http;
mod messages;
mod script;

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use http::Request;
pub(crate) use script::{Fault, Response, Script};

/// A model that plays a script, until it is dropped.
pub(crate) struct Model {
    address: SocketAddr,
    state: Arc<State>,
}

struct State(Mutex<Inner>);

struct Inner {
    script: Script,
    seen: Vec<Seen>,
    keys: BTreeSet<String>,
    tokens: Vec<String>,
    over: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// What was asked.
    pub(crate) body: Value,
    /// Whether it is part of a conversation.
    pub(crate) counts: bool,
    /// When all of it was here.
    pub(crate) at: Instant,
}

impl Model {
    /// Plays this script on a free port.
    pub(crate) fn play(script: Script) -> Self {
        Self::play_at("127.0.0.1", |_| script)
    }

    /// The same at this address of this machine, with a script that may name it.
    pub(crate) fn play_at(host: &str, script: impl FnOnce(String) -> Script) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let script = script(address.to_string());
        let inner =
            Inner { script, seen: Vec::new(), keys: BTreeSet::new(), tokens: Vec::new(), over: false };
        let state = Arc::new(State(Mutex::new(inner)));
        let accepting = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.lock().over {
                    return;
                }
                let state = accepting.clone();
                // A client that goes away in the middle is no trouble of ours.
                thread::spawn(move || state.serve(stream));
            }
        });
        Self { address, state }
    }

    /// A port without a listener.
    pub(crate) fn nobody() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    /// Where it is.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests of conversations so far.
    pub(crate) fn seen(&self) -> Vec<Value> {
        let seen = self.state.lock().seen.clone();
        seen.into_iter().filter(|seen| seen.counts).map(|seen| seen.body).collect()
    }

    /// The keys in the requests.
    #[allow(dead_code, reason = "measurements share this file with the tests")]
    pub(crate) fn keys(&self) -> BTreeSet<String> {
        self.state.lock().keys.clone()
    }

    /// The login tokens in the requests, each once, in order.
    #[allow(dead_code, reason = "measurements share this file with the tests")]
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.state.lock().tokens.clone()
    }

    /// When each of them came.
    #[allow(dead_code, reason = "for measurements, which share this file with the tests")]
    pub(crate) fn arrivals(&self) -> Vec<Instant> {
        self.state.lock().seen.iter().filter(|seen| seen.counts).map(|seen| seen.at).collect()
    }

    /// What the model was last told a tool gave back: the words, and whether they are an error.
    pub(crate) fn tool_result(&self, call: &str) -> Option<(String, bool)> {
        self.seen().iter().rev().find_map(|body| messages::tool_result(body, call))
    }

    /// What a tool had given back when the model was first told these words.
    pub(crate) fn tool_result_beside(&self, words: &str, call: &str) -> Option<(String, bool)> {
        let is_told = |body: &&Value| messages::told(body).iter().any(|text| text.contains(words));
        self.seen().iter().find(is_told).and_then(|body| messages::tool_result(body, call))
    }

    /// Everything the model was told in words, in its last request.
    pub(crate) fn told(&self) -> Vec<String> {
        self.seen().last().map(messages::told).unwrap_or_default()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.state.lock().over = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let request = http::read(&stream)?;
        let at = Instant::now();
        self.note_who(&request);
        if request.method == "HEAD" {
            return http::respond(&mut stream, 200, &[], "");
        }
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        if !request.is_for("/v1/messages") {
            return self.aside(&mut stream, &request, &body, at);
        }
        let reply = self.lock().script.next_reply(&body);
        if let Some(reply) = reply {
            self.note(Seen { body: body.clone(), counts: true, at });
            return messages::respond(&mut stream, &body, &reply, None);
        }
        let counts = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        self.note(Seen { body: body.clone(), counts, at });
        if !counts {
            return messages::respond(&mut stream, &body, &Response::default().text("A title"), None);
        }
        let (response, fault) = self.lock().script.next(&body);
        match fault {
            None => messages::respond(&mut stream, &body, &response, None),
            Some(Fault::Refuse { status, headers, body }) => {
                http::respond(&mut stream, status, &headers, &body)
            }
            Some(Fault::CutAfter(events)) => messages::respond(&mut stream, &body, &response, Some(events)),
            Some(Fault::Stall) => http::wait_until_closed(&stream),
        }
    }

    /// What is asked beside messages.
    fn aside(
        &self,
        stream: &mut TcpStream,
        request: &Request,
        body: &Value,
        at: Instant,
    ) -> std::io::Result<()> {
        self.note(Seen { body: body.clone(), counts: false, at });
        if request.is_for("/v1/messages/count_tokens") {
            return http::respond(stream, 200, &[], r#"{"input_tokens":1000}"#);
        }
        http::respond(
            stream,
            404,
            &[],
            r#"{"type":"error","error":{"type":"not_found_error","message":"?"}}"#,
        )
    }

    fn note_who(&self, request: &Request) {
        let mut inner = self.lock();
        inner.keys.extend(request.key.clone());
        let token = request.token.clone().filter(|token| !inner.tokens.contains(token));
        inner.tokens.extend(token);
    }

    fn note(&self, seen: Seen) {
        self.lock().seen.push(seen);
    }
}

/// The variables with which the CLI needs no account and no internet.
pub(crate) fn offline(url: &str) -> [(&'static str, &str); 5] {
    [
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "any"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
    ]
}
