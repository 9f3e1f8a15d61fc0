//! Draws what waits for a person as a card: a question with its options, a permission with everything that it would
//! do, a plan to confirm, a form, a failure, work to apply. The core decides which question is shown ([`Presenter`]).

use maud::{Markup, html};
use rapport_core::routing::{Grounding, Recipient};
use rapport_core::{
    Answer, Asker, Choice, Focus, PhaseView, Presenter, Purpose, Question, QuestionId, QuestionView,
    RoundView, SessionId, TurnCard, View, WorkplaceState, display_text,
};
use rapport_durable::digest;

use super::{diff, markdown, text, times, turn};
use crate::access::Visitor;
use crate::acts::{find, is_all_recommended};
use crate::fields::encoded;
use crate::site::Site;
use crate::summary::{FAILED, WORK, shortened};

/// The maximum length of a word on a chip.
const ON_A_CHIP: usize = 24;
/// The maximum length of a task on a card.
const LONGEST_TASK: usize = 300;

/// What a card is drawn from.
pub(crate) struct CardSetup<'a> {
    pub(crate) site: &'a Site,
    pub(crate) visitor: &'a Visitor,
    pub(crate) id: &'a SessionId,
    pub(crate) presenter: &'a Presenter,
    /// Where the person goes after an act: this page.
    pub(crate) back_to: &'a str,
    /// The previews of a plan's items, and which of them are checked.
    pub(crate) review: Option<&'a turn::ReviewSetup>,
}

impl CardSetup<'_> {
    /// A form about the session. `key` identifies one showing of it: the script leaves it as it is while a person
    /// fills it in.
    pub(super) fn form(&self, key: &str, content: Markup) -> Markup {
        self.form_about(key, key, content)
    }

    /// The same for something that may be shown several times, such as a question that gets a draft: the script keeps
    /// what a person began to write.
    fn form_about(&self, about: &str, key: &str, content: Markup) -> Markup {
        html! {
            form id=(element("form", &format!("{}/{about}", self.id))) method="post" action=(format!("/s/{}/act", encoded(self.id.as_str()))) data-key=(key) {
                input type="hidden" name="form" value=(self.visitor.form_token);
                input type="hidden" name="back" value=(self.back_to);
                (content)
            }
        }
    }

    /// A form with a single button. With `sure`, the page asks for a confirmation first.
    pub(super) fn button(&self, act: &str, words: &str, class: &str, sure: Option<&str>) -> Markup {
        let button = html! { button class=(class) name="do" value=(act) { (words) } };
        let form = self.form(
            act,
            html! { input type="hidden" name="end" value=(self.presenter.session().ends()); (button) },
        );
        match sure.filter(|_| self.visitor.may_answer()) {
            None if self.visitor.may_answer() => form,
            None => html! {},
            Some(sure) => html! {
                details.sure {
                    summary class=(format!("button {class}")) { (words) "…" }
                    div { p { (sure) } (form) }
                }
            },
        }
    }
}

/// The id of an element, derived from what it shows. The script never turns one element into another with a different
/// id, so a button does not change its meaning while a person is about to press it.
fn element(kind: &str, key: &str) -> String {
    format!("{kind}-{}", &digest(key.as_bytes())[..16])
}

/// The frame of a card. The script asks for the card of the same question when it fetches the page again, so that no
/// other card takes its place.
pub(super) fn framed(setup: &CardSetup<'_>, question: &str, content: Markup) -> Markup {
    html! {
        article.card id=(element("card", &format!("{}/{question}", setup.id))) aria-labelledby="card-title" data-front=(setup.id) data-question=(question) { (content) }
    }
}

/// What became of an item that no longer waits; `None` if the session never had it. Another card is shown when the
/// person continues.
pub(crate) fn closed(setup: &CardSetup<'_>, question: &QuestionId) -> Option<Markup> {
    let found = find(setup.presenter, question);
    let of_turn = |card: TurnCard| setup.presenter.session().file_turn(&card.folder).is_some();
    let is_stuck = [FAILED, WORK].contains(&question.as_str());
    if found.is_none() && !is_stuck && !TurnCard::read(question).is_some_and(of_turn) {
        return None;
    }
    let outcome = match &found {
        Some((round, place)) => outcome(round, &round.items[*place]),
        None => html! { p { "This no longer waits for you." } },
    };
    Some(framed(
        setup,
        question.as_str(),
        html! {
                header {
                    p.about { a href=(format!("/s/{}", encoded(setup.id.as_str()))) { (shortened(&setup.presenter.session().created().task, LONGEST_TASK)) } }
                    h1 #card-title tabindex="-1" { "Settled elsewhere" }
                }
                @if let Some((round, place)) = &found {
                    div.question { (markdown(&round.items[*place].question.text)) }
                }
                (outcome)
                div.row { a.button.main href=(setup.back_to) data-next { "Continue" } }
        },
    ))
}

/// How a question ended.
fn outcome(round: &RoundView<'_>, item: &QuestionView<'_>) -> Markup {
    html! {
        @match (item.given, round.closed) {
            (Some((answer, by)), _) => {
                p { "Answered: " b { (text(&item.question.words(answer))) } " " span.by { (display_text::line(&by.to_string())) } }
                @if let Some(because) = item.because { (ground(because)) }
            },
            (None, Some(ending)) => p { "It is closed: " (text(&ending.to_string())) "." },
            (None, None) => p { "This no longer waits for you." },
        }
    }
}

/// The ground of a lead's answer.
pub(super) fn ground(because: &Grounding) -> Markup {
    html! { p.quiet.ground { "Because of " (display_text::line(&because.ground.to_string())) ": " q { (text(&because.quote)) } } }
}

/// The card of an item; `None` if the item no longer waits.
pub(crate) fn open(setup: &CardSetup<'_>, question: &QuestionId) -> Option<Markup> {
    let view = || setup.presenter.session().view(setup.id);
    match question.as_str() {
        FAILED => failed(setup, &view()),
        WORK => work(setup, &view()),
        _ => match TurnCard::read(question) {
            Some(card) => turn::open(setup, &card, question),
            None => asked(setup, question),
        },
    }
}

/// The card of an open question.
fn asked(setup: &CardSetup<'_>, id: &QuestionId) -> Option<Markup> {
    let (round, place) = find(setup.presenter, id)?;
    let item = &round.items[place];
    if !round.is_open() || item.given.is_some() || setup.presenter.session().is_over() {
        return None;
    }
    let focus = setup.presenter.focus().iter().find(|focus| focus.question == *id);
    // A plan is confirmed only after it is saved.
    if focus.is_none() && item.question.purpose == Purpose::Confirm {
        return None;
    }
    Some(framed(
        setup,
        id.as_str(),
        html! {
                (head(setup, &title(&item.question.purpose), focus.map_or(round.asked_at, |focus| focus.at)))
                (chips(setup, &round, place))
                (body(setup, item.question))
                @if let Some(previous) = item.previous {
                    p.previous { "So far: " strong { (text(&item.question.words(previous))) } }
                }
                (offered(setup, item.question, focus))
                @if setup.visitor.may_answer() { (answering(setup, &round, place, focus)) }
                @else { p.quiet { "This device may only look." } }
                // Below the options: a draft that arrives moves none of them under a finger.
                (of_lead(setup, item.question))
        },
    ))
}

/// An answer that a person gave to the same question before. It is given again only if a person says so.
fn offered(setup: &CardSetup<'_>, question: &Question, focus: Option<&Focus>) -> Markup {
    let Some(offer) = setup.presenter.session().offer(&question.id) else { return html! {} };
    let project = setup.site.board.project(setup.presenter.session().project());
    html! {
        div.offer {
            p {
                "Answered before: " b { (text(&offer.answer)) } " "
                span.by { (display_text::line(&offer.by.to_string())) ", in " a href=(format!("/s/{}", encoded(offer.session.as_str()))) { (display_text::line(offer.session.as_str())) } }
            }
            @if setup.visitor.may_answer() {
                (setup.form(&format!("offer-{}-{}", question.id, offer.at), html! {
                    input type="hidden" name="question" value=(question.id);
                    @if let Some(focus) = focus { input type="hidden" name="seen" value=(focus.since); }
                    input type="hidden" name="offered" value=(offer.answer);
                    div.row {
                        button name="do" value="offer" data-again { "Answer as before" }
                        details.more {
                            summary.button { "Always answer so here…" }
                            p.quiet { "In " (project) ", this question is then always answered so, in every session, and nobody is asked. " code { "rapport revoke" } " lists such rules and takes them back." }
                            button name="do" value="offer_always" { "Answer so now, and always" }
                        }
                    }
                }))
            }
        }
    }
}

/// What the lead does with a question: it considers it, or it drafted an answer, which a person may send.
fn of_lead(setup: &CardSetup<'_>, question: &Question) -> Markup {
    let session = setup.presenter.session();
    if let Some(draft) = session.draft(&question.id) {
        return html! {
            div.draft {
                p { "The lead drafts: " b { (text(&draft.answer)) } }
                @if let Some(because) = &draft.because { (ground(because)) }
                @if setup.visitor.may_answer() {
                    (setup.form(&format!("draft-{}-{}", question.id, draft.at), html! {
                        input type="hidden" name="drafted" value=(draft.answer);
                        button.main name="do" value=(format!("draft:{}", question.id)) { "Send the draft" }
                    }))
                }
            }
        };
    }
    let is_with_lead = session.way(&question.id).is_some_and(|way| way.to == Recipient::Lead);
    html! { @if is_with_lead { p.quiet { "The lead is looking at it. Answer it yourself at any time." } } }
}

/// The title of a card, its session, and since when it waits.
pub(super) fn head(setup: &CardSetup<'_>, title: &str, at: jiff::Timestamp) -> Markup {
    let session = setup.presenter.session();
    let created = session.created();
    let doing = session.last_doing().map(|doing| session.seen_from(setup.id).activity(doing));
    let doing = doing.filter(|doing| !doing.trim().is_empty());
    html! {
        header {
            p.about {
                a href=(format!("/s/{}", encoded(setup.id.as_str()))) { (shortened(&created.task, LONGEST_TASK)) }
                span.where { (setup.site.board.project(&created.project)) " · " (times::ago(setup.site, at)) }
            }
            h1 #card-title tabindex="-1" { (title) }
            @if let Some(doing) = doing { p.doing { "After " code { (shortened(&doing, 160)) } } }
        }
    }
}

fn title(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Clarify => "The agent asks".to_owned(),
        Purpose::Permission(asked) => format!("May the agent use {}?", shortened(&asked.tool, 60)),
        Purpose::LeavePlanMode { .. } => "The agent has made a plan".to_owned(),
        Purpose::Elicit(field) => format!("{} wants to know", shortened(&field.server, 60)),
        Purpose::Confirm => "Start the work with this plan?".to_owned(),
        Purpose::Budget { .. } => "The budget is used up".to_owned(),
        Purpose::Idle => "The agent stopped without a result".to_owned(),
    }
}

/// The questions of a round, with their answers so far: answered ones can be changed, open ones can be answered first.
fn chips(setup: &CardSetup<'_>, round: &RoundView<'_>, place: usize) -> Markup {
    if round.items.len() < 2 {
        return html! {};
    }
    let label = |at: usize, item: &QuestionView<'_>| {
        let header = item.question.header.as_deref().filter(|header| !header.trim().is_empty());
        header.map_or_else(|| format!("Question {}", at + 1), |header| shortened(header, ON_A_CHIP))
    };
    html! {
        nav.chips aria-label=(format!("Question {} of {}", place + 1, round.items.len())) {
            @for (at, item) in round.items.iter().enumerate() {
                @match item.given {
                    _ if at == place => span.chip.now aria-current="step" { (at + 1) ". " (label(at, item)) },
                    Some((answer, _)) => {
                        @let words = shortened(&item.question.words(answer), ON_A_CHIP);
                        @if setup.visitor.may_answer() {
                            (setup.form(&format!("chip-{}", item.question.id), html! {
                                button.chip.given name="do" value=(format!("reopen:{}", item.question.id))
                                    title="Change this answer" { (label(at, item)) ": " b { (words) } }
                            }))
                        } @else { span.chip.given { (label(at, item)) ": " b { (words) } } }
                    },
                    None => a.chip href=(link(setup, &item.question.id)) { (at + 1) ". " (label(at, item)) },
                }
            }
        }
    }
}

/// The address of the card of another question.
fn link(setup: &CardSetup<'_>, question: &QuestionId) -> String {
    let kept = setup.back_to.split('?').next().unwrap_or_default();
    format!("{kept}?s={}&q={}", encoded(setup.id.as_str()), encoded(question.as_str()))
}

fn body(setup: &CardSetup<'_>, question: &Question) -> Markup {
    let session = setup.presenter.session();
    match &question.purpose {
        Purpose::Permission(asked) => diff::permission(&asked.seen_from(session.project())),
        Purpose::LeavePlanMode { plan } => {
            html! { div.plan tabindex="0" role="region" aria-label="Plan" { (markdown(plan)) } }
        }
        Purpose::Confirm => html! {
            div.plan tabindex="0" role="region" aria-label="Plan" { (markdown(session.plan_text().unwrap_or_default())) }
            @if session.is_plan_behind() { p.care { (rapport_core::PLAN_IS_BEHIND) } }
            @if let Some(path) = session.plan_path() { p.quiet { "Saved as " code { (display_text::line(path)) } } }
            (given(setup))
        },
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Budget { .. } | Purpose::Idle => {
            html! { div.question { (markdown(&question.text)) } }
        }
    }
}

/// The answers so far, each of which can be changed before the work begins.
fn given(setup: &CardSetup<'_>) -> Markup {
    let rounds: Vec<_> = setup.presenter.session().rounds().collect();
    let items =
        rounds.iter().filter(|round| !matches!(round.asker, Asker::Rapport)).flat_map(|round| &round.items);
    let items: Vec<_> = items
        .filter(|item| item.question.purpose == Purpose::Clarify)
        .filter_map(|item| Some((item, item.given?)))
        .collect();
    html! {
        @if !items.is_empty() {
            details.answers {
                summary { "Your answers (" (items.len()) ")" }
                dl {
                    @for (item, (answer, by)) in items {
                        dt { (text(&item.question.text)) }
                        dd {
                            (text(&item.question.words(answer))) " " span.by { (display_text::line(&by.to_string())) }
                            @if setup.visitor.may_answer() {
                                (setup.form(&format!("edit-{}", item.question.id), html! {
                                    button.small name="do" value=(format!("reopen:{}", item.question.id)) { "Change" }
                                }))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The form of a question: its options, own words, and the ways back.
fn answering(setup: &CardSetup<'_>, round: &RoundView<'_>, place: usize, focus: Option<&Focus>) -> Markup {
    let question = round.items[place].question;
    let seen = focus.map(|focus| focus.since);
    let key = format!("{}/{}/{}", setup.id, question.id, seen.unwrap_or(0));
    let changing =
        round.items[place].previous.is_some() && setup.presenter.session().phase() == PhaseView::Confirming;
    let writes = match &question.purpose {
        Purpose::Confirm => "Or say what should be different",
        Purpose::Permission(_) | Purpose::LeavePlanMode { .. } => "Or say no, and what to do instead",
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Budget { .. } if question.options.is_empty() => {
            "Your answer"
        }
        Purpose::Idle => "Or say what to do",
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Budget { .. } => "Or in your own words",
    };
    setup.form_about(question.id.as_str(), &key, html! {
        input type="hidden" name="question" value=(question.id);
        @if let Some(seen) = seen { input type="hidden" name="seen" value=(seen); }
        @if question.multi {
            fieldset.options {
                legend.unseen { "Choose any number" }
                @for (at, option) in question.options.iter().enumerate() { (several(at, option)) }
            }
        } @else if !question.options.is_empty() {
            div.options role="group" aria-label="Options" {
                @for (at, option) in question.options.iter().enumerate() { (single(question, at, option)) }
            }
        }
        @if question.free_text {
            label.own {
                span { (writes) }
                textarea name="text" rows="2" maxlength=(rapport_core::MAX_TEXT) data-own {}
            }
        }
        div.row {
            @if question.multi { button.main name="do" value="done" { "Answer" } }
            @else if question.free_text { button name="do" value="text" { "Send" } }
            @if is_all_recommended(round) && round.items.iter().filter(|item| item.given.is_none()).count() > 1 {
                button name="do" value="recommended" { "★ All as recommended" }
            }
            @if place > 0 && !changing { button name="do" value="back" data-back { "← Back" } }
            @if changing { button name="do" value="keep" { "Keep the answer" } }
        }
    })
}

/// An option that answers at once.
fn single(question: &Question, at: usize, option: &Choice) -> Markup {
    let denies = question.is_denied_by(&Answer { values: vec![option.value.clone()], text: None });
    html! {
        div.option {
            button.choice.denies[denies] name="do" value=(format!("option:{at}")) data-option=(at + 1) { (labelled(at, option)) }
            (preview(option))
        }
    }
}

/// An option among several.
fn several(at: usize, option: &Choice) -> Markup {
    html! {
        div.option {
            label.choice {
                input type="checkbox" name="o" value=(at) data-option=(at + 1);
                (labelled(at, option))
            }
            (preview(option))
        }
    }
}

fn labelled(at: usize, option: &Choice) -> Markup {
    let is_marked = option.recommended && !option.label.to_lowercase().contains("recommended");
    html! {
        @if at < 9 { kbd aria-hidden="true" { (at + 1) } }
        span.words {
            b { (text(&option.label)) }
            @if is_marked { span.star { "★ recommended" } }
            @if let Some(about) = option.description.as_deref().filter(|about| !about.trim().is_empty()) {
                small { (text(about)) }
            }
        }
    }
}

fn preview(option: &Choice) -> Markup {
    html! { @if let Some(preview) = &option.preview { div.preview { (markdown(preview)) } } }
}

/// A session that stopped on a failure.
fn failed(setup: &CardSetup<'_>, view: &View) -> Option<Markup> {
    let why = view.failure.as_deref()?;
    Some(framed(
        setup,
        FAILED,
        html! {
                (head(setup, "It cannot go on", view.updated_at))
                pre.code tabindex="0" { (display_text::lines(why)) }
                @for answer in &view.undelivered {
                    p { (text(&answer.text)) br; "➡ " b { (text(&answer.answer)) } " is stored. The agent could not take it." }
                }
                div.row {
                    (setup.button("restart", "Try again", "main", None))
                    (setup.button("cancel", "Cancel the task", "danger", Some("It cannot be resumed after that.")))
                }
        },
    ))
}

/// Work that was done apart from the project, and waits to be applied or discarded.
fn work(setup: &CardSetup<'_>, view: &View) -> Option<Markup> {
    let place = view.workplace.as_ref().filter(|place| place.state == WorkplaceState::Waiting)?;
    let changed = view.changes.as_ref().map_or(0, |changes| changes.files.len());
    Some(framed(
        setup,
        WORK,
        html! {
                (head(setup, "What becomes of these changes?", view.updated_at))
                p { "They are not in the project yet. " @if let Some(by) = &place.requested_by { (display_text::line(&by.to_string())) " asks you to apply them." } }
                (files(view))
                @if !place.conflicts.is_empty() {
                    p.care { "They conflict with the project in " (display_text::line(&place.conflicts.join(", "))) "." }
                }
                @if let Some(why) = &place.failure { p.care { (text(why)) } }
                p { a.button href=(format!("/s/{}/changes", encoded(setup.id.as_str()))) { "See the changes" } }
                div.row {
                    @if place.conflicts.is_empty() { (setup.button("apply", &format!("Apply {}", counted(changed)), "main", None)) }
                    @else { (setup.button("apply_conflicts", "Apply with conflict markers", "main", Some("The files will contain both versions where they conflict."))) }
                    (setup.button("discard", "Discard", "danger", Some("The work is discarded. This cannot be undone.")))
                }
        },
    ))
}

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// The changed files of a session, if they are known.
pub(crate) fn files(view: &View) -> Markup {
    let files = view.changes.iter().flat_map(|changes| &changes.files);
    html! {
        ul.files {
            @for file in files.take(200) {
                li {
                    span.what { (display_text::line(file.status.as_str())) } " " code { (display_text::line(&file.path)) }
                    @if let (Some(added), Some(removed)) = (file.added, file.removed) {
                        " " span.plus { "+" (added) } " " span.minus { "−" (removed) }
                    }
                }
            }
        }
        @if let Some(why) = view.changes.as_ref().and_then(|changes| changes.unknown.as_deref()) {
            p.quiet { "Not all changed files are known: " (text(why)) }
        }
    }
}
