//! The handlers, a file per group of addresses. Each loads what its page shows, and has `page/` draw it.

pub(crate) mod devices;
pub(crate) mod inbox;
pub(crate) mod pairing;
pub(crate) mod projects;
pub(crate) mod push;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod start;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use futures_util::StreamExt as _;
use rapport_core::SessionId;
use rapport_door::{Content, DoorError, StoreError};

use crate::page;
use crate::site::Site;

/// The maximum length of content that a page shows, in bytes.
const LONGEST_CONTENT: usize = 2 * 1024 * 1024;

/// The response for an unknown address.
pub(crate) async fn nothing(State(site): State<Arc<Site>>) -> Response {
    page::failure(&site, StatusCode::NOT_FOUND, "This address leads nowhere.")
}

/// The response for a method that an address does not have.
pub(crate) async fn wrong_method(State(site): State<Arc<Site>>) -> Response {
    page::failure(&site, StatusCode::METHOD_NOT_ALLOWED, "This address does not accept that method.")
}

/// Redirects to a page after an act, so that reloading that page does not send the form again.
fn after(address: &str) -> Response {
    // Redirects only within this server, because the address comes from the form.
    let is_own = address.starts_with('/') && !address.starts_with("//") && !address.contains('\\');
    let address = if is_own && HeaderValue::try_from(address).is_ok() { address } else { "/" };
    Redirect::to(address).into_response()
}

/// The page about a session that cannot be shown.
fn unseen(site: &Site, error: &DoorError) -> Response {
    let status = match error {
        DoorError::Store(StoreError::NotFound(_)) => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    page::failure(site, status, &error.to_string())
}

/// Content of a session, as far as a page shows it.
async fn content(site: &Site, id: &SessionId, what: Content) -> Result<String, DoorError> {
    content_within(site, id, what, LONGEST_CONTENT).await
}

/// The first bytes of content of a session.
async fn content_within(
    site: &Site,
    id: &SessionId,
    what: Content,
    most: usize,
) -> Result<String, DoorError> {
    let mut pieces = site.sessions.read(id, what).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend(piece?);
        if bytes.len() > most {
            bytes.truncate(most);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A cookie for the response.
fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
