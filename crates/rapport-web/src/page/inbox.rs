//! The inbox: everything that waits, and the card of the chosen item.

use maud::{Markup, html};
use rapport_core::{QuestionId, SessionId};

use super::times;
use crate::board::{InboxOrder, WaitingItem};
use crate::fields::encoded;
use crate::site::Site;

/// The number of items on a page.
pub(crate) const ON_A_PAGE: usize = 50;

/// What the inbox shows.
pub(crate) struct InboxPage<'a> {
    pub(crate) site: &'a Site,
    /// The items of this page.
    pub(crate) items: &'a [WaitingItem],
    /// How many there are on all pages.
    pub(crate) total: usize,
    /// Which page this is, from 0.
    pub(crate) page: usize,
    pub(crate) order: InboxOrder,
    /// The item whose card is shown.
    pub(crate) chosen: Option<(&'a SessionId, &'a QuestionId)>,
    pub(crate) card: Option<Markup>,
    pub(crate) may_start: bool,
}

pub(crate) fn inbox(shown: &InboxPage<'_>) -> Markup {
    let InboxPage { site, items, total, order, .. } = shown;
    let unread = site.board.unread();
    html! {
        div.inbox.empty[shown.card.is_none()] {
            section.front aria-label="In front of you" {
                @match &shown.card {
                    Some(card) => (card),
                    None => (nothing(shown)),
                }
            }
            section.list aria-labelledby="list-title" {
                header {
                    h2 #list-title { @if *total == 1 { "1 waits" } @else { (total) " wait" } }
                    p.order {
                        (ordered(*order == InboxOrder::Oldest, "oldest", "Oldest first"))
                        (ordered(*order == InboxOrder::Urgent, "urgent", "Most urgent first"))
                    }
                }
                @if let Some(unread) = unread.filter(|unread| *unread > 0) {
                    p.quiet { "Still reading " (unread) " sessions." }
                }
                ul.items {
                    @for item in items.iter() { (entry(shown, item)) }
                }
                (pages(shown))
            }
        }
    }
}

fn nothing(shown: &InboxPage<'_>) -> Markup {
    html! {
        div.calm {
            h1 {
                @if shown.total > 0 { "That no longer waits for you." }
                @else if shown.site.board.unread() == Some(0) { "Nothing waits for you." }
                @else { "Still reading your sessions." }
            }
            @if shown.total > 0 { p { a.button href="/" { "To what waits" } } }
            @else if shown.may_start { p { a.button.main href="/new" { "Start a task" } } }
            p.quiet { "What your agents ask appears here by itself." }
        }
    }
}

fn ordered(is_now: bool, order: &str, words: &str) -> Markup {
    html! { a href=(format!("/?order={order}")) aria-current=[is_now.then_some("true")] { (words) } " " }
}

fn entry(shown: &InboxPage<'_>, item: &WaitingItem) -> Markup {
    let waiting = &item.waiting;
    let is_now = shown.chosen == Some((&item.session, &waiting.question));
    let query = format!(
        "/?order={}&page={}&s={}&q={}",
        word(shown.order),
        shown.page,
        encoded(item.session.as_str()),
        encoded(waiting.question.as_str())
    );
    let who = if waiting.is_for_leads { "a person or the lead" } else { "a person" };
    html! {
        li {
            a.item href=(query) data-item aria-current=[is_now.then_some("true")] {
                span class=(format!("badge is-{}", waiting.kind.word())) { (waiting.kind.word()) }
                span.title { (waiting.title) }
                span.meta { (item.task) }
                span.meta { (item.project) " · " (times::ago(shown.site, waiting.at)) " · for " (who) }
                @if let Some(draft) = &waiting.draft { span.meta.drafted { "✎ The lead drafts: " (draft) } }
            }
        }
    }
}

/// The name of an order in addresses.
pub(crate) fn word(order: InboxOrder) -> &'static str {
    match order {
        InboxOrder::Oldest => "oldest",
        InboxOrder::Urgent => "urgent",
    }
}

fn pages(shown: &InboxPage<'_>) -> Markup {
    let last = shown.total.saturating_sub(1) / ON_A_PAGE;
    let link = |page: usize| format!("/?order={}&page={page}", word(shown.order));
    html! {
        @if last > 0 {
            nav.pages aria-label="Pages of the list" {
                @if shown.page > 0 { a.button rel="prev" href=(link(shown.page - 1)) { "Before" } }
                span { (shown.page + 1) " of " (last + 1) }
                @if shown.page < last { a.button rel="next" href=(link(shown.page + 1)) { "After" } }
            }
        }
    }
}
