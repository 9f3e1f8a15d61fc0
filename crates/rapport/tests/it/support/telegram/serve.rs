//! Serves one request: which method it calls, which fault affects it, and its result.

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::{Router, http};
use serde_json::{Value, json};

use super::Shared;
use super::delivery;
use super::faults::Fault;
use super::methods::{self, Result};
use super::rates::{Scope, Sending};
use super::refusal::Refusal;
use super::request::Parameters;
use super::state::{Outcome, TOKEN};
use super::wire::{Door, Over, Wire};

/// More than Telegram takes.
const MOST_BYTES: usize = 60 << 20;

/// Serves until the runtime ends.
pub(super) async fn serve(wire: Wire, shared: Arc<Shared>) {
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::max(MOST_BYTES)).with_state(shared);
    // It never ends by itself.
    let _ = axum::serve(wire, router.into_make_service_with_connect_info::<Over>()).await;
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(over): ConnectInfo<Over>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if *shared.door.borrow() == Door::Hanging {
        let mut door = shared.door.subscribe();
        shared.change(|state| state.hung += 1);
        let _ = door.wait_for(|door| *door != Door::Hanging).await;
        over.0.now();
        return written(&Ok(Value::Null));
    }
    if let Some(id) = uri.path().strip_prefix(&format!("/file/bot{TOKEN}/files/")) {
        return download(&shared, &over, id).await;
    }
    let called =
        called(uri.path()).and_then(|method| Ok((method, Parameters::read(uri.query(), &headers, &body)?)));
    let (method, parameters) = match called {
        Ok(called) => called,
        Err(refusal) => return written(&Err(refusal)),
    };
    let call = shared.note(method, &parameters);
    let fault = shared.change(|state| state.faults.take(method));
    let heard = fault != Some(Fault::DropAfter);
    let result = match fault {
        None | Some(Fault::DropAfter) if method == "getUpdates" => {
            let result = delivery::get_updates(&shared, &parameters).await;
            shared.finish(call, |_| result)
        }
        None | Some(Fault::DropAfter) => {
            shared.finish(call, |state| methods::execute(state, method, &parameters))
        }
        Some(Fault::DropBefore) => {
            shared.change(|state| state.calls[call].outcome = Outcome::Lost);
            over.0.now();
            return written(&Ok(Value::Null));
        }
        Some(Fault::Hang) => {
            shared.change(|state| state.calls[call].outcome = Outcome::Lost);
            pending().await
        }
        Some(Fault::Status(status)) => {
            shared.change(|state| state.calls[call].outcome = Outcome::Lost);
            return from_proxy(status);
        }
        Some(Fault::Empty) => shared.finish(call, |_| Ok(Value::Array(Vec::new()))),
        Some(Fault::Refuse { code, description }) => {
            shared.finish(call, |_| Err(Refusal::new(code, description)))
        }
        Some(Fault::TooManyRequests { retry_after }) => shared.finish(call, |state| {
            let scope = parameters.number("chat_id").map_or(Scope::All, Scope::Chat);
            state.limiter.close(Sending::by(method), scope, Instant::now(), retry_after);
            Err(Refusal::too_many_requests(retry_after))
        }),
    };
    if !heard {
        shared.unheard(call);
        over.0.now();
    }
    written(&result)
}

/// A file, by its id. What goes wrong with it is planned for `download`.
async fn download(shared: &Shared, over: &Over, id: &str) -> Response {
    let fault = shared.change(|state| {
        state.downloads += 1;
        state.faults.take("download")
    });
    match fault {
        Some(Fault::Hang) => pending().await,
        Some(Fault::Status(status)) => return from_proxy(status),
        Some(_) => over.0.now(),
        None => {}
    }
    match shared.look(|state| state.file(id).map(<[u8]>::to_vec)) {
        Some(bytes) => http::Response::builder().body(Body::from(bytes)).unwrap(),
        None => from_proxy(404),
    }
}

/// The method a path names.
fn called(path: &str) -> Result<&'static str> {
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/')) else {
        return Err(Refusal::new(404, "Not Found"));
    };
    if token != TOKEN {
        return Err(Refusal::new(401, "Unauthorized"));
    }
    methods::named(method).ok_or_else(|| Refusal::new(404, "Not Found: method not found"))
}

fn written(result: &Result) -> Response {
    let mut response = http::Response::builder().header(CONTENT_TYPE, "application/json");
    let body = match result {
        Ok(result) => json!({ "ok": true, "result": result }),
        Err(refusal) => {
            response = response.status(refusal.code);
            if let Some(seconds) = refusal.retry_after() {
                response = response.header(RETRY_AFTER, seconds);
            }
            refusal.body()
        }
    };
    response.body(Body::from(body.to_string())).unwrap()
}

/// What stands before Telegram speaks HTML.
fn from_proxy(status: u16) -> Response {
    let page = format!("<html>\r\n<head><title>{status}</title></head>\r\n<body>nginx</body>\r\n</html>\r\n");
    let response = http::Response::builder().status(status).header(CONTENT_TYPE, "text/html");
    response.body(Body::from(page)).unwrap()
}
