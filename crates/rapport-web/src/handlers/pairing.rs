//! Pairing a device. Only these addresses are served without a token.

use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::{after, with_cookie};
use crate::access::too_many;
use crate::devices::DeviceError;
use crate::fields::Fields;
use crate::page::{self, bare};
use crate::rates::Sender;
use crate::site::Site;

/// How long a browser keeps its token, in seconds: a year after it was paired.
const KEPT: u64 = 365 * 24 * 60 * 60;

/// The maximum length of what is sent to pair a device, in bytes.
const LONGEST: usize = 4 * 1024;
/// The time within which the form has to arrive.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// `GET /pair?code=CODE`: shows the form, and does not use the code up.
pub(crate) async fn form(
    State(site): State<Arc<Site>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = Fields::read(query.unwrap_or_default().as_bytes());
    let form = page::pairing::form(query.get("code"), &usual_name(&headers), None);
    page::sent(&site, bare(&site, "Pair this device", form))
}

/// `POST /pair`: pairs the device, and uses the code up.
pub(crate) async fn pair(State(site): State<Arc<Site>>, request: Request) -> Response {
    if !site.rates.allow(Sender::Guessing) {
        return too_many(&site);
    }
    // The sender is unknown, so both the size and the time are limited.
    let read = tokio::time::timeout(READ_WITHIN, to_bytes(request.into_body(), LONGEST)).await;
    let Ok(Ok(body)) = read else {
        return page::failure(&site, StatusCode::BAD_REQUEST, "What was sent is too long, or was cut off.");
    };
    let fields = Fields::read(&body);
    let (code, name) = (fields.get("code").to_owned(), fields.get("name").to_owned());
    let (devices, now) = (site.devices.devices.clone(), (site.now)());
    let paired = site.devices.blocking(move || devices.pair(&code, &name, now)).await;
    let token = match paired {
        Ok(token) => token,
        Err(error) => {
            let status = match error {
                DeviceError::NoCode | DeviceError::TooMany | DeviceError::Unknown(_) => StatusCode::FORBIDDEN,
                DeviceError::Io { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            };
            let form = page::pairing::form("", fields.get("name"), Some(&error.to_string()));
            return (status, page::sent(&site, bare(&site, "Pair this device", form))).into_response();
        }
    };
    let Ok(known) = site.devices.current().await else { return after("/") };
    let secure = if site.address.is_secure() { "; Secure" } else { "" };
    let cookie = format!("{}={token}; Path=/; Max-Age={KEPT}; HttpOnly; SameSite=Lax{secure}", known.cookie);
    with_cookie(after("/"), &cookie)
}

/// A default name for the device, from the browser's `User-Agent`.
fn usual_name(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let first = |names: &[(&str, &'static str)]| {
        names.iter().find(|(word, _)| agent.contains(word)).map(|(_, name)| *name)
    };
    let browser = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Mac OS X", "Mac"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "My device".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_what_its_browser_says() {
        for (agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0 Safari/537.36",
                "Chrome on Linux",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8", "My device"),
        ] {
            let headers = [(header::USER_AGENT, agent.parse().unwrap())].into_iter().collect();
            assert_eq!(usual_name(&headers), name);
        }
    }
}
