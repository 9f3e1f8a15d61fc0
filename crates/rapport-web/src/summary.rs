//! What lists show of a session: small enough to keep it for ten thousand sessions.

use jiff::Timestamp;
use pulldown_cmark::{Event, Parser, TagEnd};
use rapport_core::routing::Recipient;
use rapport_core::{
    Focus, Presenter, Purpose, QuestionId, SessionId, Status, TurnCard, TurnCardKind, View, WorkplaceState,
    visible,
};

use crate::CHANNEL;

/// The maximum length of a text in a list, in characters.
const LONGEST: usize = 160;
/// The maximum length of the searched text, in characters.
const LONGEST_WORDS: usize = 2000;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) id: SessionId,
    /// The name of its project.
    pub(crate) project: String,
    pub(crate) task: String,
    pub(crate) status: Status,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) seq: u64,
    /// Its cost so far, in millionths of a dollar.
    pub(crate) cost_micros: u64,
    /// Whether the page resumes it when no process runs it: it was started here and goes on.
    pub(crate) is_resumed_here: bool,
    /// The session that it branched off, if any.
    pub(crate) branch_of: Option<SessionId>,
    /// The searched text, in lower case: its task, questions and answers, up to a limit.
    pub(crate) words: String,
    /// What waits for a person in it.
    pub(crate) waiting: Vec<Waiting>,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) kind: WaitingKind,
    /// The question or the card of a turn; an item without either is named by its kind.
    pub(crate) question: QuestionId,
    /// What it is about, on one line.
    pub(crate) title: String,
    /// Since when it waits.
    pub(crate) at: Timestamp,
    /// Whether it is with a lead, which may answer it as well.
    pub(crate) is_for_leads: bool,
}

/// Why an item waits, the most urgent first: what keeps an agent from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitingKind {
    Permission,
    Money,
    Form,
    Question,
    Plan,
    Review,
    Paused,
    Failed,
    Work,
}

impl WaitingKind {
    /// The kind in one word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Money => "budget",
            Self::Form => "form",
            Self::Question => "question",
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Work => "changes",
        }
    }
}

/// The names of items that are not questions: a failure, and work to be applied.
pub(crate) const FAILED: &str = "failed";
pub(crate) const WORK: &str = "work";

impl Summary {
    pub(crate) fn of(id: &SessionId, presenter: &Presenter, project: String) -> Self {
        let view = presenter.session().view(id);
        let mut waiting: Vec<_> =
            presenter.focus().iter().filter_map(|focus| asked(presenter, focus)).collect();
        waiting.extend(stuck(&view));
        Self {
            id: id.clone(),
            project,
            task: short(&view.task),
            status: view.status,
            created_at: view.created_at,
            updated_at: view.updated_at,
            seq: view.seq,
            cost_micros: view.usage.cost_micros,
            is_resumed_here: is_resumed_here(&view),
            branch_of: view.branched_from.as_ref().map(|origin| origin.session.clone()),
            words: searched(&view),
            waiting,
        }
    }
}

fn is_resumed_here(view: &View) -> bool {
    let is_ours = view.origin.as_ref().is_some_and(|origin| origin.channel == CHANNEL);
    let goes_on = matches!(view.status, Status::Started | Status::Running | Status::NeedsInput);
    is_ours && goes_on && !view.has_failed()
}

/// The searched text: the beginning of every text, so that a long one does not hide the others.
fn searched(view: &View) -> String {
    let asked = view.questions.iter().map(|question| question.text.as_str());
    let answered =
        view.answers.iter().rev().flat_map(|answer| [answer.text.as_str(), answer.answer.as_str()]);
    let all = [view.task.as_str()].into_iter().chain(asked).chain(answered);
    let words = all.map(|text| text.chars().take(LONGEST_WORDS / 5).chain([' ']).collect::<String>());
    let mut kept = String::new();
    let mut left = LONGEST_WORDS;
    for text in words {
        let count = text.chars().count();
        if count > left {
            break;
        }
        left -= count;
        kept.push_str(&text.to_lowercase());
    }
    kept
}

/// A question, or a card of a turn that a person has to decide about.
fn asked(presenter: &Presenter, focus: &Focus) -> Option<Waiting> {
    let session = presenter.session();
    if let Some(card) = TurnCard::read(&focus.question) {
        let title = session.file_turn(&card.folder)?.plan.as_ref().map(|plan| plan.shown().title);
        let title = title.unwrap_or_else(|| format!("Turn {}", card.folder));
        let (kind, title) = match card.kind {
            TurnCardKind::Review => (WaitingKind::Review, title),
            TurnCardKind::Differs => (WaitingKind::Review, format!("{title}: its file was changed")),
            TurnCardKind::Paused => (WaitingKind::Paused, title),
            // A result is only shown; nothing has to be decided.
            TurnCardKind::Result => return None,
        };
        let (question, at) = (focus.question.clone(), focus.at);
        return Some(Waiting { kind, question, title: short(&plain(&title)), at, is_for_leads: false });
    }
    let item = session
        .rounds()
        .find(|round| round.id == focus.round)?
        .items
        .into_iter()
        .find(|item| item.question.id == focus.question)?;
    let question = item.question;
    let (kind, title) = match &question.purpose {
        Purpose::Clarify => (WaitingKind::Question, short(&plain(&question.text))),
        Purpose::Permission(asked) => {
            let asked = asked.seen_from(session.project());
            (WaitingKind::Permission, short(&format!("{}: {}", asked.tool, asked.what)))
        }
        Purpose::LeavePlanMode { .. } => (WaitingKind::Plan, "The agent has made a plan".to_owned()),
        Purpose::Confirm => (WaitingKind::Plan, "Start the work with this plan?".to_owned()),
        Purpose::Elicit(field) => {
            (WaitingKind::Form, short(&format!("{}: {}", field.server, plain(&question.text))))
        }
        Purpose::Budget { .. } => (WaitingKind::Money, short(&question.text)),
    };
    let is_for_leads = session.way(&question.id).is_some_and(|way| way.to == Recipient::Lead);
    Some(Waiting { kind, question: question.id.clone(), title, at: focus.at, is_for_leads })
}

/// A failure that a person has to look at, or work that a person has to apply or discard.
fn stuck(view: &View) -> Option<Waiting> {
    let waits = |kind, name: &str, title: &str| Waiting {
        kind,
        question: QuestionId::new(name),
        title: short(title),
        at: view.updated_at,
        is_for_leads: false,
    };
    if let Some(why) = &view.failure {
        return Some(waits(WaitingKind::Failed, FAILED, why));
    }
    let waits_apart = view.workplace.as_ref().is_some_and(|place| place.state == WorkplaceState::Waiting);
    // Cancelled work can be applied as well, but does not wait for that.
    let is_done = view.status == Status::Completed;
    (waits_apart && is_done).then(|| waits(WaitingKind::Work, WORK, "Changes to apply or discard"))
}

/// Text without Markdown's marks, because a list has no bold words.
fn plain(text: &str) -> String {
    let start: String = text.chars().take(8 * LONGEST).collect();
    let mut words = String::new();
    for event in Parser::new(&start) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                words.push_str(&text);
            }
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => {
                words.push(' ');
            }
            _ => {}
        }
    }
    // A text that consists of marks only is shown as it is.
    if words.trim().is_empty() { start } else { words }
}

/// A text on one line, as long as a list shows it.
pub(crate) fn short(text: &str) -> String {
    shortened(text, LONGEST)
}

/// The same with at most this many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let words = text.chars().take(8 * most).collect::<String>();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible::line(&line);
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shortened_and_nothing_in_it_hides() {
        assert_eq!(short("  a\n b\u{202e} "), "a b<U+202E>");
        assert_eq!(short(&"x".repeat(1_000_000)).chars().count(), LONGEST);
    }

    #[test]
    fn a_list_has_no_marks() {
        assert_eq!(
            short(&plain("Which **rate limit** for `api`?\n\n- a <b>")),
            "Which rate limit for api? a <b>"
        );
        assert_eq!(short(&plain("***")), "***");
    }

    #[test]
    fn what_keeps_an_agent_from_its_work_is_most_urgent() {
        assert!(
            WaitingKind::Permission < WaitingKind::Question && WaitingKind::Question < WaitingKind::Review
        );
    }
}
