//! The facts of a session as a story that people read, the newest first.

use maud::{Markup, html};
use rapport_core::{
    Answer, By, Entry, Event, FactTone, Presenter, Purpose, QuestionId, SessionId, display_text,
};

use super::card::ground;
use super::{markdown, times};
use crate::acts::find;
use crate::fields::encoded;
use crate::site::Site;
use crate::summary::shortened;

/// The maximum length of what an agent said, in characters; the log has all of it.
const LONGEST_WORDS: usize = 6000;

/// The maximum number of facts of one entry; the log has all of them.
const MOST_FACTS: usize = 100;

/// A fact as the story shows it.
struct StoryRow {
    class: &'static str,
    sign: &'static str,
    words: Markup,
}

/// Facts, with a link to those before them.
pub(crate) fn story(
    site: &Site,
    (id, presenter): (&SessionId, &Presenter),
    entries: &[Entry],
    earlier: Option<String>,
) -> Markup {
    html! {
        ol.story {
            @for entry in entries.iter().rev() {
                @let told: Vec<StoryRow> = entry.facts.iter().take(MOST_FACTS).filter_map(|fact| tell(presenter, id, (entry, fact))).collect();
                @let more = entry.facts.len().saturating_sub(MOST_FACTS);
                @if !told.is_empty() {
                    li id=(format!("fact-{}", entry.seq)) {
                        span.when { (times::at(site, entry.at)) }
                        div.facts {
                            @for one in &told {
                                div class=(format!("fact {}", one.class)) { span.sign aria-hidden="true" { (one.sign) } div { (one.words) } }
                            }
                            @if more > 0 { p.quiet { "and " (more) " more facts, in the raw log" } }
                        }
                    }
                }
            }
        }
        @if let Some(earlier) = earlier { p { a.button href=(earlier) { "Earlier" } } }
    }
}

/// The address of the facts before an entry.
pub(crate) fn before(id: &str, seq: u64) -> String {
    format!("/s/{}?before={seq}", encoded(id))
}

/// A fact in words; `None` if it says nothing to people. Facts without an arm of their own are drawn by their tone.
fn tell(presenter: &Presenter, id: &SessionId, (entry, fact): (&Entry, &Event)) -> Option<StoryRow> {
    let told = |class, sign, words: Markup| Some(StoryRow { class, sign, words });
    let plain = |words: &str| html! { (display_text::lines(words)) };
    let seen_from = presenter.session().seen_from(id);
    match fact {
        Event::Created(created) => told(
            "person",
            "●",
            html! { b { (who(&created.by)) " wants:" } " " (display_text::lines(&cut(&created.task))) },
        ),
        Event::Said { text, .. } => told("agent", "“", markdown(&cut(text))),
        Event::Used { tool, what, kind, .. } => told(
            "step",
            "▸",
            html! { (display_text::line(tool)) " " code { (shortened(seen_from.subject(*kind, what), 200)) } },
        ),
        Event::Heard { text, by, .. } => {
            told("person", "●", html! { b { (who(by)) " says:" } " " (display_text::lines(&cut(text))) })
        }
        Event::Asked { questions, .. } => told(
            "asked",
            "?",
            html! {
                @for question in questions {
                    @let words = match &question.purpose {
                        Purpose::Permission(asked) => format!("May it use {}? {}", asked.tool, asked.what),
                        _ => question.text.clone(),
                    };
                    p { (display_text::lines(&cut(&words))) }
                }
            },
        ),
        Event::Answered { question, answer, by } => {
            let words = in_words(presenter, question, answer);
            // The ground of a lead's answer is a fact of the same entry.
            let because = entry.facts.iter().find_map(|other| match other {
                Event::Grounded { question: grounded, because } if grounded == question => Some(because),
                _ => None,
            });
            told(
                "answered",
                "✓",
                html! {
                    (about(presenter, question)) b { (display_text::lines(&cut(&words))) } " " span.by { (who(by)) }
                    @if let Some(because) = because { (ground(because)) }
                },
            )
        }
        Event::PlanProposed { text, .. } => {
            told("plan", "¶", html! { details { summary { "A plan is proposed" } (markdown(text)) } })
        }
        Event::TurnEnded { result, .. } if result.trim().is_empty() => None,
        Event::TurnEnded { result, .. } => told("agent", "“", markdown(&cut(result))),
        Event::Failed { reason, .. } => told("failed", "✗", plain(reason)),
        Event::BatchEnded { report, .. } => told(
            "plan",
            "■",
            html! { (display_text::line(&fact.words())) details { summary { "The report" } (markdown(report)) } },
        ),
        Event::Drafted { question, answer, by, because } => {
            let words = in_words(presenter, question, answer);
            told(
                "agent",
                "✎",
                html! {
                    (about(presenter, question)) b { (display_text::lines(&cut(&words))) } " " span.by { "drafted by " (who(by)) }
                    @if let Some(because) = because { (ground(because)) }
                },
            )
        }
        Event::Checked { check, .. } => {
            told(if check.has_passed() { "answered" } else { "care" }, "■", plain(&check.words()))
        }
        _ => {
            let (class, sign) = match fact.tone() {
                FactTone::Person => ("person", "●"),
                FactTone::Agent => ("agent", "“"),
                FactTone::Step => ("step", "▸"),
                FactTone::Care => ("care", "!"),
                FactTone::Ended => ("ended", "■"),
                FactTone::Quiet => ("quiet", "·"),
                FactTone::Internal => return None,
            };
            told(class, sign, plain(&cut(&fact.words())))
        }
    }
}

/// An answer in words, as its question says them.
fn in_words(presenter: &Presenter, question: &QuestionId, answer: &Answer) -> String {
    let words = find(presenter, question).map(|(round, place)| round.items[place].question.words(answer));
    words.unwrap_or_else(|| answer.values.iter().chain(&answer.text).cloned().collect::<Vec<_>>().join(", "))
}

/// The beginning of a question, shown before its answer.
fn about(presenter: &Presenter, question: &QuestionId) -> Markup {
    let asked = find(presenter, question).map(|(round, place)| {
        let question = round.items[place].question;
        shortened(question.header.as_deref().unwrap_or(&question.text), 80)
    });
    html! { @if let Some(asked) = asked.filter(|asked| !asked.is_empty()) { span.quiet { (asked) " → " } } }
}

fn who(by: &By) -> String {
    display_text::line(&by.to_string())
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST_WORDS {
        return text.to_owned();
    }
    text.chars().take(LONGEST_WORDS).chain(['…']).collect()
}
