//! All sessions.

use std::sync::Arc;

use axum::extract::{Extension, RawQuery, State};
use axum::response::Response;

use crate::access::Visitor;
use crate::fields::Fields;
use crate::page::sessions::{self, ON_A_PAGE, SessionsPage};
use crate::page::{self, Frame, Section, framed};
use crate::site::Site;

/// `GET /sessions?q=words&page=0`: the matching sessions.
pub(crate) async fn sessions(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = Fields::read(query.unwrap_or_default().as_bytes());
    let wanted: String = query.get("q").trim().chars().take(200).collect();
    let words: Vec<String> = wanted.split_whitespace().map(str::to_lowercase).collect();
    site.board.soon_read().await;
    let all = site.board.search(&words).await;
    let last = all.len().saturating_sub(1) / ON_A_PAGE;
    let page = query.number::<usize>("page").unwrap_or(0).min(last);
    let unreadable = site.board.unreadable();
    let shown = SessionsPage {
        site: &site,
        sessions: all
            .get(page * ON_A_PAGE..(page * ON_A_PAGE + ON_A_PAGE).min(all.len()))
            .unwrap_or_default(),
        total: all.len(),
        page,
        wanted: &wanted,
        words: &words,
        unreadable: &unreadable,
    };
    let frame = Frame {
        site: &site,
        visitor: &visitor,
        section: Section::Sessions,
        title: "Sessions",
        session: None,
    };
    page::sent(&site, framed(&frame, sessions::sessions(&shown)))
}
