//! The addresses of the page, a file per group: each reads what it needs, and has it drawn.

pub(crate) mod devices;
pub(crate) mod inbox;
pub(crate) mod pairing;
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

/// What has no address.
pub(crate) async fn nothing(State(site): State<Arc<Site>>) -> Response {
    page::failure(&site, StatusCode::NOT_FOUND, "This address leads nowhere.")
}

/// What an address cannot do.
pub(crate) async fn wrong_method(State(site): State<Arc<Site>>) -> Response {
    page::failure(&site, StatusCode::METHOD_NOT_ALLOWED, "This address is not for that.")
}

/// The page after an act: what was sent is not sent again when the page is loaded again.
fn after(address: &str) -> Response {
    // Only an address of this server: what a form names comes from outside.
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
