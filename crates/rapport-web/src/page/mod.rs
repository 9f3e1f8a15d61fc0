//! Draws pages. Every function here only depends on its arguments; none reads or decides anything.
//!
//! `layout.rs` has what every page has; `inbox.rs`, `session.rs`, `sessions.rs`, `projects.rs`, `start.rs`,
//! `devices.rs` (with `notifications.rs`) and `pairing.rs` are the pages; `card.rs` draws what waits for a person,
//! `turn.rs` the cards of turns, `turn_tree.rs` turns and branches as a picture, `story.rs` facts, `diff.rs` diffs,
//! `chart.rs` costs, `markdown.rs` what agents write, `times.rs` times.

pub(crate) mod card;
mod chart;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod inbox;
mod layout;
mod markdown;
pub(crate) mod notifications;
pub(crate) mod pairing;
pub(crate) mod projects;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod start;
mod story;
pub(crate) mod times;
pub(crate) mod turn;
pub(crate) mod turn_tree;

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use maud::{Markup, html};
use rapport_core::display_text;

use crate::site::Site;

pub(crate) use layout::{Frame, Section, bare, framed};
pub(crate) use markdown::markdown;

/// A page as a response.
pub(crate) fn sent(site: &Site, page: Markup) -> Response {
    Html(site.secrets.hide(page.into_string())).into_response()
}

/// The page for a browser that is not paired. `had_token` if its token is no longer valid.
pub(crate) fn stranger(site: &Site, had_token: bool) -> Response {
    let why = if had_token { "This device is no longer paired." } else { "This device is not paired yet." };
    let page = layout::bare(site, "Pair this device", pairing::instructions(why));
    (StatusCode::UNAUTHORIZED, sent(site, page)).into_response()
}

/// A page about a failure.
pub(crate) fn failure(site: &Site, status: StatusCode, why: &str) -> Response {
    let title = match status {
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::FORBIDDEN => "Refused",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        _ => "That did not work",
    };
    let content = html! {
        section.paper.narrow {
            h1 { (title) }
            p { (display_text::lines(why)) }
            p { a.button href="/" { "To the inbox" } }
        }
    };
    let page = layout::bare(site, title, content);
    let mut response = sent(site, page);
    *response.status_mut() = status;
    response
}

/// A text of others over several lines, without markup.
pub(crate) fn text(words: &str) -> Markup {
    html! { (display_text::lines(words)) }
}
