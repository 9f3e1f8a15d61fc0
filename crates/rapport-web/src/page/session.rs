//! A session: what waits in it, its story, its plan and changes, and the ways to steer it.

use maud::{Markup, html};
use rapport_core::{
    AgentState, Aim, BranchPoint, PhaseView, SpentAt, Status, View, WorkplaceState, display_text,
};
use uuid::Uuid;

use super::card::{CardSetup, files};
pub(crate) use super::story::{before, story};
use super::{chart, markdown, text, times};
use crate::fields::encoded;
use crate::handlers::session::RESUME;
use crate::site::Site;
use crate::summary::shortened;

/// The maximum number of rows of a table of costs: the latest ones.
const MOST_ROWS: usize = 50;

/// The parts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Story,
    Plan,
    Turns,
    Changes,
}

/// A page of a session.
pub(crate) fn session(
    setup: &CardSetup<'_>,
    view: &View,
    part: Part,
    cards: &[Markup],
    content: Markup,
) -> Markup {
    let root = format!("/s/{}", encoded(view.id.as_str()));
    let tab = |of: Part, to: &str, name: &str| {
        html! { a href=(format!("{root}{to}")) aria-current=[(part == of).then_some("page")] { (name) } }
    };
    html! {
        header.session-head {
            p.about { (setup.site.board.project(&view.project)) " · " span class=(format!("status {}", view.status.as_str())) { (status(view)) } }
            h1 { (shortened(&view.task, 300)) }
            @if view.task.chars().count() > 300 { details { summary { "The whole task" } p.wrapped { (text(&view.task)) } } }
            p.doing-now #doing data-session=(view.id) role="status" { (doing(view)) }
        }
        div.session {
            div.story-side {
                @for card in cards { (card) }
                nav.tabs aria-label="Parts of the session" {
                    (tab(Part::Story, "", "Story"))
                    @if view.plan.is_some() || !view.answers.is_empty() { (tab(Part::Plan, "/plan", "Plan and answers")) }
                    (tab(Part::Changes, "/changes", "Changes"))
                    (tab(Part::Turns, "/turns", "Turns"))
                    a href=(format!("{root}/log")) { "Raw log" }
                }
                (content)
            }
            aside aria-label="Steering" { (steering(setup, view)) (about(setup, view)) }
        }
    }
}

/// The plan, and what was answered.
pub(crate) fn plan(view: &View) -> Markup {
    html! {
        section.paper {
            @if let Some(plan) = &view.plan {
                @if let Some(path) = &plan.path { p.quiet { "Saved as " code { (display_text::line(path)) } } }
                (markdown(&plan.text))
            } @else { p.quiet { "There is no plan yet." } }
        }
        @if !view.answers.is_empty() {
            section.paper {
                h2 { "Answers" }
                dl.answers {
                    @for answer in view.answers.iter().rev().take(200) {
                        dt { (text(&answer.text)) }
                        dd { (text(&answer.answer)) " " span.by { (display_text::line(&answer.by.to_string())) } }
                    }
                }
            }
        }
    }
}

/// What is shown while the session should go on, and no process runs it: the one that did has ended.
pub(crate) fn unattended(setup: &CardSetup<'_>) -> Markup {
    html! {
        section.paper.unattended aria-labelledby="unattended-title" {
            h2 #unattended-title { "No process runs this session" }
            p { "The one that ran it has ended. Nothing is lost." }
            (setup.button(RESUME, "Go on here", "main", None))
        }
    }
}

fn status(view: &View) -> &'static str {
    match view.status {
        Status::Started => "starting",
        Status::Running if view.phase == PhaseView::Clarifying => "planning",
        Status::Running => "working",
        Status::NeedsInput => "waits for you",
        Status::Idle => "at rest",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}

fn doing(view: &View) -> String {
    let is_busy = matches!(view.status, Status::Started | Status::Running);
    match &view.agent.doing {
        Some(doing) if is_busy => shortened(doing, 200),
        None if is_busy => "…".to_owned(),
        _ => String::new(),
    }
}

/// A box for messages to the agent, and the buttons that end or undo the work.
fn steering(setup: &CardSetup<'_>, view: &View) -> Markup {
    if !setup.visitor.may_answer() {
        return html! { p.quiet { "This device may only look." } };
    }
    let is_busy =
        matches!(view.status, Status::Started | Status::Running | Status::NeedsInput) && !view.has_failed();
    let is_over = view.status == Status::Cancelled;
    // A failed session has its own card.
    let is_ended = is_over || view.status == Status::Completed || view.has_failed();
    let session = setup.presenter.session();
    let can_undo = session.rests() && !session.undoable_work().is_empty();
    html! {
        section.paper.steer aria-labelledby="steer-title" {
            h2 #steer-title { "Steer" }
            // A session of turns is told something with the card of its plan or of its agent's reply.
            @if !is_over && view.aim != Aim::Files {
                (setup.form(&format!("say-{}", view.id), html! {
                    input type="hidden" name="message" value=(Uuid::new_v4().simple());
                    label.own { span { @if is_busy { "Tell the agent something" } @else { "Go on with this" } } textarea name="text" rows="3" {} }
                    div.row { button.main name="do" value="say" { "Send" } }
                }))
            }
            div.row {
                @if view.agent.state == AgentState::Working && !session.is_stopped() { (setup.button("stop", "Stop", "", None)) }
                @if session.is_stopped() { (setup.button("restart", "Go on", "", None)) }
                @if session.is_running() { (setup.button("pause", "Pause", "", None)) }
                @if can_undo { (setup.button("undo_work", "Undo the work", "danger", Some("Its changes to files are undone, except where they were changed since."))) }
                @if !is_ended { (setup.button("cancel", "Cancel", "danger", Some("The task ends, and cannot be resumed. What was changed stays."))) }
            }
        }
    }
}

/// What there is to know about the session.
fn about(setup: &CardSetup<'_>, view: &View) -> Markup {
    let usage = &view.usage;
    let created = setup.presenter.session().created();
    let is_branch = |of: &BranchPoint| of.session == view.id;
    let branches = setup.site.board.summaries(|one| one.branch_of.as_ref().is_some_and(is_branch));
    html! {
        section.paper.facts-about aria-labelledby="about-title" {
            h2 #about-title { "About" }
            dl {
                dt { "Begun" } dd { (times::at(setup.site, view.created_at)) " by " (display_text::line(&view.by.to_string())) }
                @if let Some(agent) = &view.agent.name {
                    dt { "Agent" } dd { (display_text::line(agent)) @if let Some(model) = &view.agent.model { ", " (display_text::line(model)) } }
                }
                dt { "Worker" } dd { (display_text::line(&created.worker)) }
                @if let Some(origin) = &view.branched_from { dt { "Branch of" } dd { a href=(format!("/s/{}", encoded(origin.session.as_str()))) { (display_text::line(&origin.to_string())) } } }
                @for branch in &branches { dt { "Branch" } dd { a href=(format!("/s/{}", encoded(branch.id.as_str()))) { (branch.id.as_str()) } } }
                @if let Some(place) = view.workplace.as_ref().filter(|place| place.state != WorkplaceState::Open) { dt { "Changes" } dd { (place.state.word()) } }
                @if usage.cost_micros > 0 || usage.output > 0 { dt { "Cost" } dd { (times::cost(usage.cost_micros)) ", " (usage.input + usage.cache_read + usage.cache_write) " tokens in, " (usage.output) " out" } }
                dt { "Facts" } dd { (view.seq) }
            }
            (spending(setup.site, setup.presenter.session().history().spending()))
            @if let Some(check) = &view.check { p.care[!check.has_passed()] { (text(&check.words())) } }
            @if view.changes.is_some() { h3 { "Changed files" } (files(view)) }
            @if !view.rules.is_empty() && setup.visitor.may_answer() {
                h3 { "Allowed without asking" }
                @for (place, rule) in view.rules.iter().enumerate() {
                    (setup.form(&format!("rule-{place}"), html! {
                        input type="hidden" name="rule" value=(rule.to_string());
                        code { (rule.to_string()) } " " button.small name="do" value=(format!("revoke:{place}")) { "Revoke" }
                    }))
                }
            }
            @if let Some(place) = view.workplace.as_ref().filter(|place| !place.refused_hosts.is_empty() && setup.visitor.may_answer()) {
                h3 { "Hosts that it could not reach" }
                @for host in place.refused_hosts.iter().filter(|host| !place.allowed_hosts.contains(host)) {
                    (setup.form(&format!("host-{host}"), html! {
                        code { (display_text::line(host)) } " " button.small name="do" value=(format!("allow_host:{host}")) { "Allow" }
                    }))
                }
            }
        }
    }
}

/// Cost and tokens over time, as small charts with a table.
fn spending(site: &Site, reports: &[SpentAt]) -> Markup {
    let (mut cost, mut tokens) = (0_u64, 0_u64);
    let sums = reports.iter().map(|SpentAt { at, usage }| {
        cost = cost.saturating_add(usage.cost_micros);
        let all = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        tokens = all.into_iter().fold(tokens, u64::saturating_add);
        (*at, cost, tokens)
    });
    let sums: Vec<_> = sums.collect();
    let (Some(first), Some(last)) = (sums.first(), sums.last()) else { return html! {} };
    // A single report has no course.
    let has_course = sums.len() > 1;
    let (from, to) = (times::exact(site, first.0), times::exact(site, last.0));
    let points = |sum: fn(&(jiff::Timestamp, u64, u64)) -> u64| -> Vec<(f64, u64)> {
        sums.iter().map(|one| (one.0.as_millisecond() as f64, sum(one))).collect()
    };
    html! {
        div.spending {
            @if last.1 > 0 && has_course {
                h3 { "Cost over time" }
                (chart::growth(&format!("The cost grows to {} between {from} and {to}", times::cost(last.1)), &points(|one| one.1)))
            }
            @if has_course {
                h3 { "Tokens over time" }
                (chart::growth(&format!("The number of tokens grows to {} between {from} and {to}", last.2), &points(|one| one.2)))
            }
            details {
                summary { "As a table" }
                div.table { table {
                    thead { tr { th { "Until" } th { "Cost" } th { "Tokens" } } }
                    tbody { @for (at, cost, tokens) in sums.iter().rev().take(MOST_ROWS) {
                        tr { td { (times::at(site, *at)) } td { (times::cost(*cost)) } td { (tokens) } }
                    } }
                } }
            }
        }
    }
}
