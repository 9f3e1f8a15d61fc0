//! A session: its story, plan, changes and log, and every act in it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use maud::{Markup, html};
use rapport_core::review::{Group, items};
use rapport_core::{
    Act, BranchPoint, FileTurn, Presenter, QuestionId, SessionId, Status, TurnCard, TurnCardKind,
};
use rapport_door::{Content, DoorError, Reached, StoreError};

use super::{after, content, content_within, unseen};
use crate::access::{Posted, Visitor};
use crate::acts::{acts, item_name, plan_of};
use crate::fields::{Fields, encoded};
use crate::page::card::{self, CardSetup};
use crate::page::session::{self, Part};
use crate::page::turn::{LONGEST_PREVIEW, ReviewSetup, is_elsewhere};
use crate::page::{self, Frame, Section, diff, framed, turn_tree};
use crate::site::{DeviceNotice, Site};
use crate::summary::{FAILED, WORK, shortened};

/// The number of entries on a page of the story.
const ON_A_PAGE: u64 = 60;
/// The maximum number of items whose previews are on the card itself.
const MOST_PREVIEWS: usize = 40;
/// The maximum number of cards on one page.
const MOST_CARDS: usize = 20;
/// What a form says to have a session run in this process.
pub(crate) const RESUME: &str = "resume";

/// A session as one request sees it: the handlers below get it from the request's address and device.
pub(crate) struct Look {
    site: Arc<Site>,
    visitor: Visitor,
    id: SessionId,
    query: Fields,
    presenter: Arc<Presenter>,
}

impl FromRequestParts<Arc<Site>> for Look {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let visitor = Extension::from_request_parts(parts, site).await;
        let Extension(visitor) = visitor.map_err(IntoResponse::into_response)?;
        let id = Path::<String>::from_request_parts(parts, site).await;
        let Path(id) = id.map_err(IntoResponse::into_response)?;
        let (id, site) = (SessionId::new(id), site.clone());
        let query = Fields::read(parts.uri.query().unwrap_or_default().as_bytes());
        let presenter = site.board.presenter(&id).await.map_err(|error| unseen(&site, &error))?;
        Ok(Self { site, visitor, id, query, presenter })
    }
}

impl Look {
    /// The page with this content, below the cards of what waits.
    async fn page(&self, part: Part, content: Markup) -> Response {
        let Self { site, visitor, id, query, presenter } = self;
        let view = presenter.session().view(id);
        let back_to = format!("/s/{}", encoded(id.as_str()));
        let named = Some(QuestionId::new(query.get("q"))).filter(|_| !query.get("q").is_empty());
        let review = review_of(site, id, presenter, query, named.as_ref()).await;
        let setup = CardSetup { site, visitor, id, presenter, back_to: &back_to, review: review.as_ref() };
        let waiting = presenter.focus().iter().map(|focus| focus.question.clone());
        let stuck = [FAILED, WORK].into_iter().map(QuestionId::new);
        // The card that a person has in front of them is not replaced by another one when the page is fetched again.
        let pinned = Some(QuestionId::new(query.get("pin"))).filter(|_| !query.get("pin").is_empty());
        let settled = pinned.filter(|pinned| card::open(&setup, pinned).is_none());
        let settled = settled.and_then(|settled| card::closed(&setup, &settled));
        let mut cards = match (settled, named.and_then(|named| card::open(&setup, &named))) {
            (Some(settled), _) => vec![settled],
            (None, Some(card)) => vec![card],
            (None, None) => {
                waiting.chain(stuck).filter_map(|one| card::open(&setup, &one)).take(MOST_CARDS).collect()
            }
        };
        let goes_on = matches!(view.status, Status::Started | Status::Running) && !view.has_failed();
        if goes_on && matches!(site.sessions.holder(id).await, Ok(None)) {
            cards.push(session::unattended(&setup));
        }
        let title = shortened(&view.task, 60);
        let frame =
            Frame { site, visitor, section: Section::Session, title: &title, session: Some(id.as_str()) };
        page::sent(site, framed(&frame, session::session(&setup, &view, part, &cards, content)))
    }
}

/// `GET /s/ID`: its story.
pub(crate) async fn story(look: Look) -> Response {
    let newest = look.presenter.session().seq();
    let before = look.query.number::<u64>("before").filter(|before| *before <= newest).unwrap_or(newest + 1);
    let first = before.saturating_sub(ON_A_PAGE + 1);
    let mut entries = match look.site.sessions.entries(&look.id, first).await {
        Ok(entries) => entries,
        Err(error) => return unseen(&look.site, &error),
    };
    // Entries after the state that is shown appear on the next page that is fetched.
    entries.retain(|entry| entry.seq < before && entry.seq <= newest);
    let earlier = (first > 0).then(|| page::session::before(look.id.as_str(), first + 1));
    let told = page::session::story(&look.site, (&look.id, &look.presenter), &entries, earlier);
    let is_latest = before > newest;
    let content = html! {
        section.paper aria-label="Story" {
            @if !is_latest { p { a.button href=(format!("/s/{}", encoded(look.id.as_str()))) { "To the newest" } } }
            (told)
        }
    };
    look.page(Part::Story, content).await
}

/// `GET /s/ID/plan`: the plan and the answers.
pub(crate) async fn plan(look: Look) -> Response {
    let content = session::plan(&look.presenter.session().view(&look.id));
    look.page(Part::Plan, content).await
}

/// `GET /s/ID/turns`: its turns and branches.
pub(crate) async fn turns(look: Look) -> Response {
    let is_branch = |of: &BranchPoint| of.session == look.id;
    let branches = look.site.board.summaries(|one| one.branch_of.as_ref().is_some_and(is_branch));
    let nodes = turn_tree::tree(&look.presenter, &branches);
    let content = html! { section.paper aria-label="Turns" { (turn_tree::drawn(&nodes)) } };
    look.page(Part::Turns, content).await
}

/// `GET /s/ID/changes`: what it changed so far.
pub(crate) async fn changes(look: Look) -> Response {
    let drawn = match content(&look.site, &look.id, Content::Diff).await {
        Ok(changes) if changes.trim().is_empty() => html! { p.quiet { "It has changed no files so far." } },
        Ok(changes) => html! { (diff::switch()) (diff::files(&changes)) },
        Err(error) => html! { p.quiet { "The changes cannot be shown: " (page::text(&error.to_string())) } },
    };
    look.page(Part::Changes, html! { section.paper.changes aria-label="Changes" { (drawn) } }).await
}

/// `GET /s/ID/preview?turn=01&item=2.0`: one item of a plan, in full. This fetches nothing from other machines,
/// because links and every reload of the page send it.
pub(crate) async fn preview(look: Look) -> Response {
    previewed(&look, false).await
}

/// `POST /s/ID/preview?turn=01&item=2.0`: the same, and fetches what the preview needs from other machines. Only a
/// device that may answer can send this.
pub(crate) async fn fetched_preview(look: Look, _: Posted) -> Response {
    previewed(&look, true).await
}

async fn previewed(look: &Look, may_fetch: bool) -> Response {
    let Look { site, visitor, id, query, presenter } = look;
    let place = query.get("item").split_once('.').and_then(|(group, item)| {
        Some((*Group::ALL.get(group.parse::<usize>().ok()?)?, item.parse::<usize>().ok()?))
    });
    let turn = presenter.session().file_turn(query.get("turn"));
    let (Some((group, item)), Some(turn)) = (place, turn) else {
        return page::failure(site, StatusCode::NOT_FOUND, "There is no such item.");
    };
    if !may_fetch && is_elsewhere(&plan_of(turn), group, item) {
        let ask = page::turn::fetching(visitor, id, turn, query.get("item"));
        let content = html! { section.paper #preview aria-label="Preview" { (ask) } };
        return look.page(Part::Plan, content).await;
    }
    match content(site, id, Content::Preview { turn: turn.folder.clone(), group, item }).await {
        Ok(preview) => {
            // The script keeps what was fetched, so that drawing the page again does not fetch it again.
            let content = html! {
                section.paper #preview aria-label="Preview" data-fetched[may_fetch] { (diff::switch()) (diff::block(&preview, usize::MAX)) }
            };
            look.page(Part::Plan, content).await
        }
        Err(error) => unseen(site, &error),
    }
}

/// `GET /s/ID/log`: the log as it is stored, without secrets.
pub(crate) async fn log(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    let id = SessionId::new(id);
    let pieces = match site.sessions.read(&id, Content::Log).await {
        Ok(pieces) => pieces,
        Err(error) => return unseen(&site, &error),
    };
    // A secret may be divided between two pieces, but not between two lines, so the pieces are joined to lines first.
    let lines = futures_util::stream::unfold((pieces, Vec::new()), |(mut pieces, mut rest)| async move {
        loop {
            if let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') {
                let after = rest.split_off(end + 1);
                return Some((Ok(rest), (pieces, after)));
            }
            match pieces.next().await {
                Some(Ok(piece)) => rest.extend(piece),
                Some(Err(error)) => {
                    return Some((Err(std::io::Error::other(error.to_string())), (pieces, rest)));
                }
                None if rest.is_empty() => return None,
                None => return Some((Ok(std::mem::take(&mut rest)), (pieces, rest))),
            }
        }
    });
    let secrets = site.secrets.clone();
    let hidden =
        lines.map(move |line| line.map(|bytes| secrets.hide(String::from_utf8_lossy(&bytes).into_owned())));
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], Body::from_stream(hidden)).into_response()
}

/// `POST /s/ID/act`: carries out the act that a form says.
pub(crate) async fn act(State(site): State<Arc<Site>>, Path(id): Path<String>, posted: Posted) -> Response {
    let Posted { visitor, fields } = posted;
    let id = SessionId::new(id);
    let outcome = perform(&site, &visitor, &id, &fields).await;
    let said = match outcome {
        Ok(words) => DeviceNotice::Done(words),
        // The card may be gone, and with it what was written in it.
        Err(words) => match fields.get("text").trim() {
            "" => DeviceNotice::Refused(words),
            text => DeviceNotice::Unsent(words, text.to_owned()),
        },
    };
    site.told.tell(&visitor.name, said);
    after(fields.get("back"))
}

/// Carries out the acts of a form. They are durable when this returns; an error says that they did not happen.
async fn perform(site: &Site, visitor: &Visitor, id: &SessionId, fields: &Fields) -> Result<String, String> {
    // The form is checked against the newest stored state.
    let presenter = site.board.refresh(id).await.map_err(|error| error.to_string())?;
    let (by, sessions) = (visitor.by(), site.sessions_of(visitor));
    if fields.get("do") == RESUME {
        return match sessions.resume(id).await {
            Ok(()) => {
                site.board.resumed_here(id).await;
                Ok("It goes on here.".to_owned())
            }
            Err(DoorError::Store(StoreError::Busy { .. })) => Ok("Another process runs it now.".to_owned()),
            Err(error) => Err(refused(&error)),
        };
    }
    let acts = acts(&presenter, fields)?;
    let mut reached = Reached::Process;
    for act in &acts {
        let done = sessions.act(id, &by, act).await;
        if done.is_err() {
            // The next page shows why the act was refused.
            let _ = site.board.refresh(id).await;
            site.board.resumed_here(id).await;
        }
        reached = done.map_err(|error| refused(&error))?;
    }
    // The next page shows the effect of the act.
    let _ = site.board.refresh(id).await;
    // To submit an act to a session that no process ran, this process has resumed it.
    site.board.resumed_here(id).await;
    if reached == Reached::Log {
        // No process runs the session, so it continues here.
        match sessions.resume(id).await {
            Ok(()) | Err(DoorError::Store(StoreError::Busy { .. })) => {}
            Err(error) => return Ok(format!("Stored, but the session could not be resumed: {error}")),
        }
    }
    Ok(acts.last().map(words).unwrap_or_default().to_owned())
}

/// Why an act did not happen, in words for its person.
fn refused(error: &DoorError) -> String {
    match error {
        DoorError::Refused(refusal) => format!("Not done: {refusal}"),
        DoorError::Store(error) => format!("Not stored, so it did not happen: {error}"),
        DoorError::Broken(error) => format!("Not stored, so it did not happen: {error}"),
        DoorError::Failed(_) | DoorError::Forbidden(_) | DoorError::Closed => format!("Not done: {error}"),
        // The other process may still carry it out.
        DoorError::Silent { .. } => {
            format!("It is not known whether this was done: {error}. Look again before you repeat it.")
        }
    }
}

/// What an act did.
fn words(act: &Act) -> &'static str {
    match act {
        Act::Answer { .. } | Act::Change { .. } | Act::Confirm | Act::TakeOffer { .. } => "Answered.",
        Act::AlwaysAnswer { .. } => "Answered. The same question is answered so from now on.",
        Act::AnswerReply { .. } => "Answered. The agent plans again.",
        Act::Back | Act::Reopen { .. } => "Open again.",
        Act::Keep { .. } => "Kept as it was.",
        Act::Say { .. } => "Sent.",
        Act::Stop => "Stopped. Nothing is lost.",
        Act::Cancel { .. } => "Cancelled.",
        Act::Apply { .. } => "It is being applied.",
        Act::Discard { .. } => "Discarded.",
        Act::UndoWork | Act::Undo { .. } => "It is being undone.",
        Act::Approve { .. } => "Approved. It runs.",
        Act::Skip { .. } => "Skipped.",
        _ => "Done.",
    }
}

/// What the review of a plan needs, if its card is shown: that of the `named` item, or of the first that waits.
pub(super) async fn review_of(
    site: &Site,
    id: &SessionId,
    presenter: &Presenter,
    query: &Fields,
    named: Option<&QuestionId>,
) -> Option<ReviewSetup> {
    let shown = presenter
        .focus()
        .iter()
        .map(|focus| &focus.question)
        .filter(|question| named.is_none_or(|named| named == *question));
    let card = shown.filter_map(TurnCard::read).find(|card| card.kind == TurnCardKind::Review)?;
    let turn = presenter.session().file_turn(&card.folder)?;
    let mut previews = HashMap::new();
    for (name, group, item) in here(turn).into_iter().take(MOST_PREVIEWS) {
        let what = Content::Preview { turn: card.folder.clone(), group, item };
        if let Ok(preview) = content_within(site, id, what, LONGEST_PREVIEW).await {
            previews.insert(name, preview);
        }
    }
    let left_out = query.all("left").map(str::to_owned).collect();
    Some(ReviewSetup { previews, left_out })
}

/// The items of a plan whose previews need only this machine. The plan is not approved yet, so it must not cause
/// requests to other machines.
fn here(turn: &FileTurn) -> Vec<(String, Group, usize)> {
    let plan = plan_of(turn);
    let all = Group::ALL.into_iter().enumerate().flat_map(|(at, group)| {
        (0..items(&plan, group).len()).map(move |item| (item_name(at, item), group, item))
    });
    all.filter(|(_, group, item)| !is_elsewhere(&plan, *group, *item)).collect()
}
