//! The inbox.

use std::sync::Arc;

use axum::extract::{Extension, RawQuery, State};
use axum::response::Response;
use maud::Markup;
use rapport_core::{QuestionId, SessionId};

use super::session::review_of;
use crate::access::Visitor;
use crate::board::InboxOrder;
use crate::fields::Fields;
use crate::page::card::{self, CardSetup};
use crate::page::inbox::{self, InboxPage, ON_A_PAGE};
use crate::page::{self, Frame, Section, framed};
use crate::site::Site;

/// `GET /`: everything that waits for a person.
pub(crate) async fn inbox(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = Fields::read(query.unwrap_or_default().as_bytes());
    let order = match query.get("order") {
        "urgent" => InboxOrder::Urgent,
        _ => InboxOrder::Oldest,
    };
    site.board.soon_read().await;
    let (mut all, now) = (site.board.waiting(order), (site.now)());
    all.retain(|item| item.waiting.withheld_until.is_none_or(|until| until <= now));
    let last = all.len().saturating_sub(1) / ON_A_PAGE;
    let page = query.number::<usize>("page").unwrap_or(0).min(last);
    let named = (!query.get("s").is_empty())
        .then(|| (SessionId::new(query.get("s")), QuestionId::new(query.get("q"))));
    let first =
        || all.get(page * ON_A_PAGE).map(|item| (item.session.clone(), item.waiting.question.clone()));
    let chosen = named.or_else(first);
    let back_to = format!("/?order={}&page={page}", inbox::word(order));
    let mut card = None;
    if let Some((session, question)) = &chosen {
        card = card_of(&site, &visitor, session, question, &back_to, &query).await;
    }
    let items: Vec<_> = all.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE).cloned().collect();
    let shown = InboxPage {
        site: &site,
        items: &items,
        total: all.len(),
        page,
        order,
        chosen: chosen.as_ref().map(|(session, question)| (session, question)),
        card,
        may_start: visitor.may_answer(),
    };
    let frame =
        Frame { site: &site, visitor: &visitor, section: Section::Inbox, title: "Inbox", session: None };
    page::sent(&site, framed(&frame, inbox::inbox(&shown)))
}

/// The card of an item, also if it no longer waits; `None` if no session has or had it.
async fn card_of(
    site: &Site,
    visitor: &Visitor,
    id: &SessionId,
    question: &QuestionId,
    back_to: &str,
    query: &Fields,
) -> Option<Markup> {
    let presenter = site.board.presenter(id).await.ok()?;
    let review = review_of(site, id, &presenter, query, Some(question)).await;
    let setup = CardSetup { site, visitor, id, presenter: &presenter, back_to, review: review.as_ref() };
    card::open(&setup, question).or_else(|| card::closed(&setup, question))
}
