//! Projects: their costs per day, and what is known about each.

use jiff::ToSpan as _;
use jiff::civil::Date;
use maud::{Markup, html};
use rapport_core::{Learning, LearningKind, ProjectContext, display_text};
use rapport_door::{KnownProject, LoadedProject};

use super::{chart, text, times};
use crate::access::Visitor;
use crate::fields::encoded;
use crate::site::Site;
use crate::summary::shortened;

/// The number of days in a chart.
pub(crate) const DAYS: usize = 30;

/// A project in the list.
pub(crate) struct ProjectRow {
    pub(crate) name: String,
    pub(crate) path: String,
    /// What is known about it, if anything is.
    pub(crate) known: Option<KnownProject>,
    pub(crate) costs: Costs,
}

/// What a project costs, in millionths of a dollar.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// On each of the last days.
    pub(crate) days: Vec<u64>,
    /// Of all its sessions.
    pub(crate) all: u64,
    pub(crate) sessions: usize,
    pub(crate) waiting: usize,
}

/// What the page of a project shows.
pub(crate) struct ProjectPage<'a> {
    pub(crate) site: &'a Site,
    pub(crate) visitor: &'a Visitor,
    pub(crate) name: &'a str,
    pub(crate) path: &'a str,
    /// What is known about it, if anything is; or why that cannot be shown.
    pub(crate) loaded: Result<Option<&'a LoadedProject>, &'a str>,
    pub(crate) costs: &'a Costs,
    pub(crate) first_day: Date,
}

/// The projects, each with its costs.
pub(crate) fn list(site: &Site, rows: &[ProjectRow], first_day: Date) -> Markup {
    html! {
        section.paper.wide {
            h1 { "Projects" }
            @if let Some(unread) = site.board.unread().filter(|unread| *unread > 0) { p.quiet { "Still reading " (unread) " sessions." } }
            ul.projects {
                @for row in rows {
                    li {
                        div {
                            a.name href=(format!("/projects/{}", encoded(&row.name))) { (display_text::line(&row.name)) }
                            span.meta { code { (display_text::line(&row.path)) } }
                            span.meta { (about(row)) }
                        }
                        (costs(&row.name, &row.costs, first_day))
                    }
                }
            }
        }
    }
}

fn about(row: &ProjectRow) -> Markup {
    let sessions = row.costs.sessions;
    html! {
        @if sessions == 1 { "1 session" } @else { (sessions) " sessions" }
        @if row.costs.waiting > 0 { " · " (row.costs.waiting) " waiting" }
        @match &row.known {
            Some(KnownProject { problem: Some(problem), .. }) => { " · " (display_text::line(problem)) },
            Some(known) => {
                @if let Some(kind) = &known.kind { " · " (display_text::line(kind)) }
                @if known.is_missing { " · its directory is gone" }
                @else if let Some(stale) = &known.stale { " · " (display_text::line(&stale.to_string())) }
            },
            None => " · nothing is known about it yet",
        }
    }
}

/// The costs of the last days as a chart, with a table.
fn costs(name: &str, costs: &Costs, first_day: Date) -> Markup {
    let lately = costs.days.iter().copied().fold(0_u64, u64::saturating_add);
    let day = |at: usize| first_day.saturating_add((at as i64).days());
    let label =
        format!("{name}: {} in the last {DAYS} days, {} in all", times::cost(lately), times::cost(costs.all));
    html! {
        div.costs {
            (chart::bars(&label, &costs.days))
            p.quiet { b { (times::cost(lately)) } " in " (DAYS) " days, " (times::cost(costs.all)) " in all" }
            @if lately > 0 {
                details {
                    summary { "By day" }
                    div.table { table {
                        thead { tr { th { "Day" } th { "Cost" } } }
                        tbody { @for (at, micros) in costs.days.iter().enumerate().rev().filter(|(_, micros)| **micros > 0) {
                            tr { td { (day(at).to_string()) } td { (times::cost(*micros)) } }
                        } }
                    } }
                }
            }
        }
    }
}

/// What is known about a project, and what it costs.
pub(crate) fn project(shown: &ProjectPage<'_>) -> Markup {
    let may = shown.visitor.may_answer();
    html! {
        header.session-head {
            p.about { a href="/projects" { "Projects" } }
            h1 { (display_text::line(shown.name)) }
            p.quiet { code { (display_text::line(shown.path)) } }
        }
        div.session {
            div.story-side {
                @match shown.loaded {
                    Err(why) => section.paper { p.care { "What is known cannot be shown: " (text(why)) } },
                    Ok(None) => section.paper { p { "Nothing is known about it yet." } @if may { (exploring(shown, "Explore it")) } },
                    Ok(Some(loaded)) => (known(shown, loaded)),
                }
            }
            aside aria-label="Costs and sessions" {
                section.paper {
                    h2 { "Costs" }
                    (costs(shown.name, shown.costs, shown.first_day))
                    p { a.button href=(format!("/sessions?q={}", encoded(&shown.site.board.project(shown.path)))) { "Its sessions" } }
                }
                @if let Ok(Some(loaded)) = shown.loaded { (ended(shown, loaded)) }
            }
        }
    }
}

fn known(shown: &ProjectPage<'_>, loaded: &LoadedProject) -> Markup {
    let context = &loaded.context;
    let may = shown.visitor.may_answer();
    html! {
        section.paper aria-labelledby="mind-title" {
            h2 #mind-title { "Kept in mind" }
            p.quiet { "Every agent that works here is told these." }
            (learnings(shown, "Preferences", &context.preferences, LearningKind::Preference))
            (learnings(shown, "Conventions", &context.conventions, LearningKind::Convention))
            @if may {
                (form(shown, "add", html! {
                    label.own { span { "Something else to keep in mind" } textarea name="text" rows="2" required {} }
                    label.own { span { "What it is" } (kinds(LearningKind::Preference)) }
                    div.row { button.main name="do" value="add" { "Add" } }
                }))
            }
        }
        @if !context.proposed.is_empty() {
            section.paper aria-labelledby="proposed-title" {
                h2 #proposed-title { "Proposed" }
                p.quiet { "From your answers in earlier sessions. Agents are told these only if you keep them." }
                ul.learnings { @for learning in &context.proposed {
                    li {
                        p { (text(&learning.text)) }
                        (origin(shown.site, learning))
                        @if may {
                            (form(shown, &format!("proposed-{}", learning.id), html! {
                                input type="hidden" name="id" value=(learning.id);
                                div.row { button.small name="do" value="learn" { "Keep in mind" } button.small name="do" value="decline" { "Decline" } }
                            }))
                        }
                    }
                } }
            }
        }
        section.paper.facts-about aria-labelledby="found-title" {
            h2 #found-title { "Found in the project" }
            @if let Some(stale) = &loaded.stale { p.care { (text(&stale.to_string())) } }
            @if loaded.is_missing { p.care { "Its directory no longer exists." } }
            (findings(context))
            @if may {
                div.row {
                    (exploring(shown, "Explore it again"))
                    details.sure {
                        summary.button.danger { "Forget it…" }
                        (form(shown, "unregister", html! {
                            p { "Everything that is known about it is forgotten, also what was kept in mind. Its files and sessions stay." }
                            button.danger name="do" value="unregister" { "Forget everything about " (display_text::line(shown.name)) }
                        }))
                    }
                }
            }
        }
    }
}

fn learnings(shown: &ProjectPage<'_>, title: &str, all: &[Learning], kind: LearningKind) -> Markup {
    let may = shown.visitor.may_answer();
    html! {
        @if !all.is_empty() {
            h3 { (title) }
            ul.learnings { @for learning in all {
                li {
                    p { (text(&learning.text)) }
                    (origin(shown.site, learning))
                    @if may {
                        div.row {
                            details.more {
                                summary.button.small { "Change" }
                                (form(shown, &format!("edit-{}", learning.id), html! {
                                    input type="hidden" name="id" value=(learning.id);
                                    label.own { span { "Its text" } textarea name="text" rows="2" required { (learning.text) } }
                                    label.own { span { "What it is" } (kinds(kind)) }
                                    button.small name="do" value="edit" { "Save" }
                                }))
                            }
                            (form(shown, &format!("forget-{}", learning.id), html! {
                                input type="hidden" name="id" value=(learning.id);
                                button.small name="do" value="forget" { "Forget" }
                            }))
                        }
                    }
                }
            } }
        }
    }
}

fn kinds(chosen: LearningKind) -> Markup {
    html! {
        select name="kind" {
            @for kind in [LearningKind::Preference, LearningKind::Convention] {
                option value=(kind.word()) selected[kind == chosen] { (kind.word()) }
            }
        }
    }
}

/// Who said it, when, and in which session.
fn origin(site: &Site, learning: &Learning) -> Markup {
    let session =
        learning.from.as_deref().map(|from| from.rsplit_once('/').map_or(from, |(session, _)| session));
    html! {
        p.quiet {
            @if let Some(by) = &learning.by { (display_text::line(by)) } @else { "found in the project" }
            @if let Some(since) = learning.since { ", " (times::at(site, since)) }
            @if let (Some(session), Some(from)) = (session, &learning.from) {
                ", from " a href=(format!("/s/{}", encoded(session))) { (display_text::line(from)) }
            }
        }
    }
}

fn findings(context: &ProjectContext) -> Markup {
    let found = &context.found;
    let row = |name: &str, value: Option<&String>| {
        html! { @if let Some(value) = value { dt { (name) } dd { (text(&shortened(value, 500))) } } }
    };
    html! {
        dl {
            (row("Type", found.kind.as_ref()))
            (row("Version", found.version.as_ref()))
            (row("About", found.description.as_ref()))
            (row("Packages", found.package_manager.as_ref()))
            (row("Build", found.build_tool.as_ref()))
            (row("Tests", found.test_framework.as_ref()))
        }
        @if !found.structure.is_empty() {
            details { summary { (found.structure.len()) " directories" }
                ul.files { @for (path, about) in found.structure.iter().take(200) { li { code { (display_text::line(path)) } " " (shortened(about, 200)) } } }
            }
        }
        @if let Some((name, told)) = context.instructions() {
            details { summary { (name) } pre.code tabindex="0" { (told) } }
        }
    }
}

/// How its latest sessions ended.
fn ended(shown: &ProjectPage<'_>, loaded: &LoadedProject) -> Markup {
    html! {
        @if !loaded.recent_sessions.is_empty() {
            section.paper {
                h2 { "Lately" }
                ul.files { @for past in loaded.recent_sessions.iter().take(10) {
                    li {
                        a href=(format!("/s/{}", encoded(past.session.as_str()))) { (shortened(&past.task, 80)) }
                        span.quiet { " " (past.outcome.word()) " · " (times::ago(shown.site, past.at)) @if past.cost_micros > 0 { " · " (times::cost(past.cost_micros)) } }
                    }
                } }
            }
        }
    }
}

fn exploring(shown: &ProjectPage<'_>, words: &str) -> Markup {
    form(shown, "explore", html! { button name="do" value="explore" { (words) } })
}

fn form(shown: &ProjectPage<'_>, key: &str, content: Markup) -> Markup {
    html! {
        form id=(format!("project-{key}")) method="post" action=(format!("/projects/{}", encoded(shown.name))) data-key=(key) {
            input type="hidden" name="form" value=(shown.visitor.form_token);
            (content)
        }
    }
}
