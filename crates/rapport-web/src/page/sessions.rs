//! All sessions, with a search in their tasks, questions and answers.

use std::sync::Arc;

use maud::{Markup, html};
use rapport_core::{SessionId, Status, display_text};

use super::times;
use crate::fields::encoded;
use crate::site::Site;
use crate::summary::{Summary, excerpt};

/// The number of sessions on a page.
pub(crate) const ON_A_PAGE: usize = 50;

/// A page of the list.
pub(crate) struct SessionsPage<'a> {
    pub(crate) site: &'a Site,
    pub(crate) sessions: &'a [Arc<Summary>],
    /// How many sessions match, on all pages.
    pub(crate) total: usize,
    pub(crate) page: usize,
    /// What was searched for, as it was written and word by word.
    pub(crate) wanted: &'a str,
    pub(crate) words: &'a [String],
    /// Sessions that cannot be shown, and why.
    pub(crate) unreadable: &'a [(SessionId, String)],
}

pub(crate) fn sessions(shown: &SessionsPage<'_>) -> Markup {
    let last = shown.total.saturating_sub(1) / ON_A_PAGE;
    let link = |page: usize| format!("/sessions?q={}&page={page}", encoded(shown.wanted));
    html! {
        section.paper.wide {
            header.with-search {
                h1 { "Sessions" }
                form.search method="get" action="/sessions" role="search" {
                    label.unseen for="q" { "Search in tasks, questions and answers" }
                    input #q type="search" name="q" value=(shown.wanted) placeholder="Tasks, questions, answers";
                    button { "Search" }
                }
            }
            @if let Some(unread) = shown.site.board.unread().filter(|unread| *unread > 0) { p.quiet { "Still reading " (unread) " sessions." } }
            @if shown.sessions.is_empty() { p.quiet { "No session fits." } }
            ul.items {
                @for one in shown.sessions {
                    li {
                        a.item href=(format!("/s/{}", encoded(one.id.as_str()))) data-item {
                            span class=(format!("badge status {}", one.status.as_str())) { (word(one.status)) }
                            span.title { (one.task) }
                            span.meta {
                                (one.project) " · begun " (times::at(shown.site, one.created_at)) " · changed " (times::ago(shown.site, one.updated_at))
                                @if one.cost_micros > 0 { " · " (times::cost(one.cost_micros)) }
                                @if !one.waiting.is_empty() { " · " (one.waiting.len()) " waiting" }
                            }
                            @if let Some(found) = excerpt(&one.words, shown.words).filter(|found| *found != one.task) { span.meta.found { (found) } }
                        }
                    }
                }
            }
            @if last > 0 {
                nav.pages aria-label="Pages of the list" {
                    @if shown.page > 0 { a.button rel="prev" href=(link(shown.page - 1)) { "Before" } }
                    span { (shown.page + 1) " of " (last + 1) }
                    @if shown.page < last { a.button rel="next" href=(link(shown.page + 1)) { "After" } }
                }
            }
            @if !shown.unreadable.is_empty() {
                details { summary { (shown.unreadable.len()) " cannot be shown" }
                    ul { @for (id, why) in shown.unreadable { li { code { (display_text::line(id.as_str())) } ": " (display_text::line(why)) } } }
                }
            }
        }
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Started => "starting",
        Status::Running => "working",
        Status::NeedsInput => "waits",
        Status::Idle => "at rest",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}
