//! The cards of a turn: its plan to review item by item, a changed file, a paused batch, a reply in words, the result
//! with a way to undo it.

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};
use rapport_core::review::{
    Checks, Dependencies, Group, MAX_COMMENT, counts, items, needed, unified, warnings,
};
use rapport_core::{
    ActionPlan, ActionResult, FileBatch, FileTurn, QuestionId, Resource, SessionId, TurnCard, TurnCardKind,
    UndoState, display_text,
};
use rapport_durable::digest;

use super::card::{CardSetup, framed, head};
use super::{diff, markdown, text};
use crate::access::Visitor;
use crate::acts::{checks, comment_name, item_name, plan_of};
use crate::fields::encoded;
use crate::summary::shortened;

/// The maximum number of lines of a preview on the card.
const LINES_OF_PREVIEW: usize = 400;
/// The maximum length of a preview on the card, in bytes.
pub(crate) const LONGEST_PREVIEW: usize = 32 * 1024;

/// What the review of a plan needs besides the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReviewSetup {
    /// The previews of items, by their names; an item without one here has a page of its own.
    pub(crate) previews: HashMap<String, String>,
    /// The names of items that are not checked.
    pub(crate) left_out: BTreeSet<String>,
}

/// Whether the preview of an item needs something from another machine.
pub(crate) fn is_elsewhere(plan: &ActionPlan, group: Group, item: usize) -> bool {
    matches!(needed(plan, &Checks::all(plan), group, Some(item)), Some(Resource::Url(_)))
}

/// The address of the preview of an item.
fn preview_link(id: &SessionId, turn: &FileTurn, name: &str) -> String {
    format!("/s/{}/preview?turn={}&item={}", encoded(id.as_str()), encoded(&turn.folder), encoded(name))
}

/// A button that fetches an item for its preview from another machine, for a device that may answer.
pub(crate) fn fetching(visitor: &Visitor, id: &SessionId, turn: &FileTurn, name: &str) -> Markup {
    html! {
        p.quiet { "This item is on another machine. It is fetched only when you ask for it." }
        @if visitor.may_answer() {
            form method="post" action=(preview_link(id, turn, name)) {
                input type="hidden" name="form" value=(visitor.form_token);
                button { "Fetch the preview" }
            }
        } @else { p.quiet { "This device may only look." } }
    }
}

/// The card of a turn; `None` if another card is in front of the person.
pub(super) fn open(setup: &CardSetup<'_>, card: &TurnCard, question: &QuestionId) -> Option<Markup> {
    let focus = setup.presenter.focus().iter().find(|focus| focus.question == *question)?;
    let turn = setup.presenter.session().file_turn(&card.folder)?;
    let plan = plan_of(turn);
    let content = match card.kind {
        TurnCardKind::Review => review(setup, turn, &plan, question),
        TurnCardKind::Differs => differs(setup, turn),
        TurnCardKind::Paused => paused(setup, turn, &plan),
        TurnCardKind::Reply => reply(setup, turn, question),
        TurnCardKind::Result => result(setup, turn, &plan),
    };
    let title = match card.kind {
        TurnCardKind::Review => format!("Review: {}", shortened(&plan.title, 120)),
        TurnCardKind::Differs => format!("{}/plan.md was changed", card.folder),
        TurnCardKind::Paused => "The run was interrupted".to_owned(),
        TurnCardKind::Reply => "The agent replied in words instead of a plan".to_owned(),
        TurnCardKind::Result => format!("Turn {}", card.folder),
    };
    let content = html! { (head(setup, &title, focus.at)) (content) };
    Some(framed(setup, question.as_str(), content))
}

fn hidden(turn: &FileTurn) -> Markup {
    html! { input type="hidden" name="turn" value=(turn.folder); }
}

fn review(setup: &CardSetup<'_>, turn: &FileTurn, plan: &ActionPlan, question: &QuestionId) -> Markup {
    let usual = ReviewSetup::default();
    let given = setup.review.unwrap_or(&usual);
    let marks = checks(plan, |name| !given.left_out.contains(name));
    let dependencies = Dependencies::of(plan);
    let revision = turn.plan.as_ref().map_or(0, |plan| plan.revision);
    let may = setup.visitor.may_answer();
    let list = html! {
        (hidden(turn))
        input type="hidden" name="revision" value=(revision);
        @for (at, group) in Group::ALL.into_iter().enumerate() {
            @let all = items(plan, group);
            @let notes = dependencies.notes(group, &marks);
            @if !all.is_empty() {
                fieldset.review-group {
                    legend { (group.title()) " " button.small type="button" data-toggle-group hidden { "all or none" } }
                    ul.review-list {
                        @for (item, shown) in all.iter().enumerate() {
                            @let name = item_name(at, item);
                            @let is_checked = marks.of(group).get(item).copied().unwrap_or(false);
                            li {
                                label {
                                    input type="checkbox" name="i" value=(name) checked[is_checked] disabled[!may] data-item-check;
                                    span.kind { (shown.label.trim_end_matches([':', ' '])) }
                                    code.what { (display_text::line(&shown.what)) }
                                }
                                @if let Some(about) = &shown.about { p.about { (text(about)) } }
                                @if let Some(remark) = &shown.remark { p.care { (text(remark)) } }
                                p.care.depends id=(format!("note-{name}")) { @if let Some(note) = notes.get(item).and_then(Option::as_ref) { (text(note)) } }
                                (preview(setup, given, turn, &name))
                                @if may { (comment(&name)) }
                            }
                        }
                    }
                }
            }
        }
        @if may {
            div.row {
                button.main name="do" value="approve" { "Run what is checked" }
                details.more {
                    summary.button { "Skip…" }
                    label.own {
                        span { "What to tell the agent instead (optional)" }
                        textarea name="text" rows="2" data-own {}
                    }
                    button name="do" value="skip" { "Skip this plan" }
                }
            }
        } @else { p.quiet { "This device may only look." } }
    };
    html! {
        p.counts { @for counted in counts(&plan.actions) { span { (counted.split_whitespace().collect::<Vec<_>>().join(" ")) } } }
        @for warning in warnings(&plan.actions) { p.care { "⚠ " (text(&warning)) } }
        @for problem in &turn.problems { p.care { "It cannot be carried out: " (text(problem)) } }
        @if !given.previews.is_empty() { (diff::switch()) }
        @if may { (setup.form(&format!("{}/{question}/{revision}", setup.id), list)) } @else { (list) }
        details { summary { "The whole plan" } div.plan tabindex="0" role="region" aria-label="Plan" { (markdown(turn.plan.as_ref().map_or("", |plan| plan.text.as_str()))) } }
    }
}

/// The field for a comment on an item.
fn comment(name: &str) -> Markup {
    html! {
        details.comment {
            summary { "Comment" }
            label.own {
                span { "Leave it out, and tell the agent why" }
                input type="text" name=(comment_name(name)) maxlength=(MAX_COMMENT) data-comment=(name) autocomplete="off";
            }
        }
    }
}

fn preview(setup: &CardSetup<'_>, given: &ReviewSetup, turn: &FileTurn, name: &str) -> Markup {
    let link = preview_link(setup.id, turn, name);
    let is_cut =
        |preview: &str| preview.len() >= LONGEST_PREVIEW || preview.lines().count() > LINES_OF_PREVIEW;
    html! {
        @match given.previews.get(name) {
            Some(preview) => details.preview-item {
                summary { "Preview" }
                (diff::block(preview, LINES_OF_PREVIEW))
                @if is_cut(preview) { p { a href=(link) { "All of it" } } }
            },
            None => p { a href=(link) { "Preview" } },
        }
    }
}

fn differs(setup: &CardSetup<'_>, turn: &FileTurn) -> Markup {
    let planned = turn.plan.as_ref().map_or("", |plan| plan.text.as_str());
    let now = turn.differs.as_deref().unwrap_or_default();
    let seen = digest(now.as_bytes());
    html! {
        p { "The file differs from the plan. The difference takes effect once you accept it." }
        (diff::switch())
        (diff::block(&unified(&format!("{}/plan.md", turn.folder), planned, now), LINES_OF_PREVIEW))
        @if setup.visitor.may_answer() {
            (setup.form(&seen, html! {
                (hidden(turn))
                input type="hidden" name="digest" value=(seen);
                div.row {
                    button.main name="do" value="accept" { "Use it as it is" }
                    button name="do" value="restore" { "Restore the plan" }
                }
            }))
        }
    }
}

fn paused(setup: &CardSetup<'_>, turn: &FileTurn, plan: &ActionPlan) -> Markup {
    let batch = turn.batch();
    let unsure = batch.and_then(|batch| batch.unsure).and_then(|place| plan.actions.get(place));
    html! {
        @if let Some(why) = batch.and_then(|batch| batch.paused.as_deref()) { p.care { (text(why)) } }
        @if let Some(action) = unsure { p.care { (text(&action.kind.in_brief())) " was interrupted: it may have run." } }
        (actions(plan, batch))
        (undo_refused(batch))
        @if setup.visitor.may_answer() {
            (setup.form("paused", html! {
                (hidden(turn))
                div.row {
                    @if unsure.is_some() {
                        button.main name="do" value="redo" { "Run it again, and go on" }
                        button name="do" value="go_on" { "Go on after it" }
                    } @else { button.main name="do" value="go_on" { "Go on" } }
                    (undo_button(batch))
                }
            }))
        }
    }
}

/// A reply in words, and the box for the answer to it.
fn reply(setup: &CardSetup<'_>, turn: &FileTurn, question: &QuestionId) -> Markup {
    html! {
        div.reply { (markdown(turn.words.as_deref().unwrap_or_default())) }
        @if setup.visitor.may_answer() {
            (setup.form(&format!("{}/{question}", setup.id), html! {
                (hidden(turn))
                label.own {
                    span { "Your answer; the agent then makes the plan" }
                    textarea name="text" rows="3" maxlength=(rapport_core::MAX_TEXT) data-own {}
                }
                div.row {
                    button.main name="do" value="reply" { "Send" }
                    button name="do" value="skip" { "Leave it unanswered" }
                }
            }))
        } @else { p.quiet { "This device may only look." } }
    }
}

fn result(setup: &CardSetup<'_>, turn: &FileTurn, plan: &ActionPlan) -> Markup {
    let batch = turn.batch();
    let can_undo = batch
        .is_some_and(|batch| batch.has_changes && matches!(batch.undo, UndoState::Not | UndoState::Stuck(_)));
    html! {
        @if let Some(status) = turn.status { p.result { b { (status.to_string()) } } }
        (actions(plan, batch))
        (undo_refused(batch))
        @if let Some(UndoState::Done(files)) = batch.map(|batch| &batch.undo) {
            p { "Undone: " (files.restored.len()) " restored, " (files.removed.len()) " removed, " (files.kept.len()) " left as they are." }
        }
        @if can_undo && setup.visitor.may_answer() {
            (setup.form("result", html! { (hidden(turn)) div.row { (undo_button(batch)) } }))
        }
    }
}

fn undo_refused(batch: Option<&FileBatch>) -> Markup {
    let problem = batch.and_then(|batch| batch.undo_refused.as_ref());
    html! {
        @if let Some(problem) = problem {
            p.care { "It was not undone: " (text(&problem.reason)) }
            @if !problem.changed.is_empty() { ul.files { @for file in &problem.changed { li { code { (display_text::line(file)) } } } } }
        }
    }
}

fn undo_button(batch: Option<&FileBatch>) -> Markup {
    let refused = batch
        .and_then(|batch| batch.undo_refused.as_ref())
        .is_some_and(|problem| !problem.changed.is_empty());
    html! {
        @if refused { button.danger name="do" value="undo_rest" { "Undo all but these files" } }
        @else { button.danger name="do" value="undo" { "Undo" } }
    }
}

/// The actions of a plan, and the state of each.
pub(crate) fn actions(plan: &ActionPlan, batch: Option<&FileBatch>) -> Markup {
    let state = |place: usize| {
        let left_out = batch.and_then(|batch| batch.chosen.actions.get(place)).is_some_and(Option::is_some);
        match batch.and_then(|batch| batch.ended.get(&place)).map(|end| end.result) {
            Some(ActionResult::Done) => ("done", "✓"),
            Some(ActionResult::Failed) => ("failed", "✗"),
            Some(ActionResult::Skipped) => ("left", "–"),
            None if left_out => ("left", "–"),
            None => ("open", "·"),
        }
    };
    html! {
        @if !plan.actions.is_empty() {
            ol.actions {
                @for (place, action) in plan.actions.iter().enumerate() {
                    @let (class, sign) = state(place);
                    li class=(class) {
                        span.sign aria-label=(class) role="img" { (sign) } " " (text(&action.kind.in_brief()))
                        @if let Some(why) = batch.and_then(|batch| batch.ended.get(&place)).and_then(|end| end.why.as_deref()) { span.quiet { ": " (shortened(why, 300)) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{Action, ActionKind};

    use super::*;

    #[test]
    fn only_what_is_on_this_machine_is_previewed_unasked() {
        let plan = |what: Resource| ActionPlan {
            actions: vec![Action {
                kind: ActionKind::Read { resource: what },
                description: None,
                line: 1,
                remark: None,
            }],
            ..ActionPlan::unread("")
        };
        let (page, file) = (Resource::Url("http://10.0.0.1/".into()), Resource::File("notes.txt".into()));
        assert!(is_elsewhere(&plan(page), Group::Actions, 0));
        assert!(!is_elsewhere(&plan(file), Group::Actions, 0));
    }
}
