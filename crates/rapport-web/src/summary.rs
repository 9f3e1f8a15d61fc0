//! What lists show of a session: small enough to keep it for ten thousand sessions.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use pulldown_cmark::{Event, Parser, TagEnd};
use rapport_core::routing::Recipient;
use rapport_core::{
    Aim, BranchPoint, By, Event as Fact, Focus, Presenter, Purpose, QuestionId, RoundId, SessionId, SpentAt,
    Status, TurnCard, TurnCardKind, View, WorkplaceState, display_text,
};

use crate::CHANNEL;

/// The maximum length of a text in a list, in characters.
const LONGEST: usize = 160;
/// The maximum length of the searched text that is kept, in bytes. The rest of a longer one is read when somebody
/// searches.
const LONGEST_WORDS: usize = 8 * 1024;

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
    /// When its work last ended, with any outcome.
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) seq: u64,
    /// Its cost so far, in millionths of a dollar.
    pub(crate) cost_micros: u64,
    /// Whether the page resumes it when no process runs it: it goes on, and was started here, or its plan of actions was
    /// decided here last.
    pub(crate) is_resumed_here: bool,
    /// Whether the last decision about its plans of actions was made here.
    pub(crate) is_decided_here: bool,
    /// Whether it is a session of turns in which nothing goes on by itself.
    pub(crate) is_at_rest: bool,
    /// Its cost so far by day, in millionths of a dollar.
    pub(crate) spent: Vec<(Date, u64)>,
    /// The session and question that it branched off, if any.
    pub(crate) branch_of: Option<BranchPoint>,
    /// The searched text: its task, questions and answers.
    pub(crate) words: String,
    /// Whether there is more to search in than `words`.
    pub(crate) has_more_words: bool,
    /// What waits for a person in it.
    pub(crate) waiting: Vec<Waiting>,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) kind: WaitingKind,
    /// The question or the card of a turn; an item without either is named by its kind.
    pub(crate) question: QuestionId,
    /// The round of a question.
    pub(crate) round: Option<RoundId>,
    /// What it is about, on one line.
    pub(crate) title: String,
    /// Since when it waits.
    pub(crate) at: Timestamp,
    /// Whether it is with a lead, which may answer it as well.
    pub(crate) is_for_leads: bool,
    /// Until when only another user is asked, who began the session in a channel of their own.
    pub(crate) withheld_until: Option<Timestamp>,
    /// The answer that a lead drafted, on one line.
    pub(crate) draft: Option<String>,
}

/// Why an item waits, the most urgent first: what keeps an agent from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitingKind {
    Permission,
    Money,
    Form,
    Question,
    Reply,
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
            Self::Reply => "reply",
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
    pub(crate) fn of(
        id: &SessionId,
        presenter: &Presenter,
        project: String,
        is_decided_here: bool,
        zone: &TimeZone,
    ) -> Self {
        let view = presenter.session().view(id);
        let (words, has_more_words) = searched(&view, LONGEST_WORDS);
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
            ended_at: presenter.session().history().ended_at(),
            seq: view.seq,
            cost_micros: view.usage.cost_micros,
            is_resumed_here: is_resumed_here(&view, is_decided_here),
            is_decided_here,
            is_at_rest: view.aim == Aim::Files && view.is_settled() && view.questions.is_empty(),
            spent: by_day(presenter.session().history().spending(), zone),
            branch_of: view.branched_from.clone(),
            words,
            has_more_words,
            waiting,
        }
    }
}

impl Summary {
    /// How many things wait in it for the people at the page.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.iter().filter(|waiting| waiting.withheld_until.is_none()).count()
    }
}

fn is_resumed_here(view: &View, is_decided_here: bool) -> bool {
    let is_ours = view.origin.as_ref().is_some_and(|origin| origin.channel == CHANNEL);
    let is_busy = matches!(view.status, Status::Started | Status::Running);
    let goes_on = is_ours && (is_busy || view.status == Status::NeedsInput) || is_decided_here && is_busy;
    goes_on && !view.has_failed()
}

/// Whether a fact is a decision about a plan of actions, and whether that was made here.
pub(crate) fn decided_here(fact: &Fact) -> Option<bool> {
    match fact {
        Fact::Approved { by, .. }
        | Fact::BatchResumed { by, .. }
        | Fact::UndoStarted { by, .. }
        | Fact::Skipped { by, .. }
        | Fact::ReplyAnswered { by, .. }
        | Fact::ReplySkipped { by, .. }
        | Fact::PlanAccepted { by, .. }
        | Fact::PlanRestored { by, .. } => {
            Some(matches!(by, By::Person { channel, .. } if channel == CHANNEL))
        }
        // A plan that is made again follows from what was decided before.
        Fact::PlanStarted { origin: Some(origin), .. } if origin.is_replan => None,
        // A person at a terminal.
        Fact::PlanStarted { .. } | Fact::ReviewStarted { .. } => Some(false),
        _ => None,
    }
}

/// The cost of each day, in order.
fn by_day(spending: &[SpentAt], zone: &TimeZone) -> Vec<(Date, u64)> {
    let mut days: Vec<(Date, u64)> = Vec::new();
    for SpentAt { at, usage } in spending.iter().filter(|spent| spent.usage.cost_micros > 0) {
        let day = at.to_zoned(zone.clone()).date();
        match days.last_mut().filter(|(last, _)| *last == day) {
            Some((_, micros)) => *micros = micros.saturating_add(usage.cost_micros),
            None => days.push((day, usage.cost_micros)),
        }
    }
    days
}

/// The searched text of a session with at most this many bytes, and whether there is more.
pub(crate) fn searched(view: &View, most: usize) -> (String, bool) {
    let asked = view.questions.iter().map(|question| question.text.as_str());
    let answered = view.answers.iter().flat_map(|answer| [answer.text.as_str(), answer.answer.as_str()]);
    let mut kept = String::new();
    for text in [view.task.as_str()].into_iter().chain(asked).chain(answered) {
        let left = most.saturating_sub(kept.len());
        if text.len() >= left {
            kept.push_str(&text[..text.floor_char_boundary(left)]);
            return (kept, true);
        }
        kept.push_str(text);
        kept.push('\n');
    }
    (kept, false)
}

/// Where a text has this word, whatever their case; the word is in lower case.
pub(crate) fn position(text: &str, word: &str) -> Option<usize> {
    if word.is_ascii() {
        let mut parts = text.as_bytes().windows(word.len().max(1));
        return parts.position(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    }
    let lower = |at: &usize| text[*at..].chars().flat_map(char::to_lowercase);
    let starts = |at: &usize| lower(at).take(word.chars().count()).eq(word.chars());
    text.char_indices().map(|(at, _)| at).find(starts)
}

/// What a text says around the first of these words, on one line.
pub(crate) fn excerpt(text: &str, words: &[String]) -> Option<String> {
    let at = words.iter().filter_map(|word| position(text, word)).min()?;
    let from = text.floor_char_boundary(at.saturating_sub(LONGEST / 4));
    let start = if from > 0 { "…" } else { "" };
    Some(format!("{start}{}", short(&text[from..])))
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
            TurnCardKind::Reply => {
                let words = session.file_turn(&card.folder)?.words.clone().unwrap_or_default();
                (WaitingKind::Reply, words)
            }
            // A result is only shown; nothing has to be decided.
            TurnCardKind::Result => return None,
        };
        let (question, at) = (focus.question.clone(), focus.at);
        let title = short(&plain(&title));
        let (is_for_leads, withheld_until, draft) = (false, None, None);
        return Some(Waiting { kind, question, round: None, title, at, is_for_leads, withheld_until, draft });
    }
    let item = session
        .rounds()
        .find(|round| round.id == focus.round)?
        .items
        .into_iter()
        .find(|item| item.question.id == focus.question)?;
    let question = item.question;
    let (kind, title) = match &question.purpose {
        Purpose::Clarify | Purpose::Idle => (WaitingKind::Question, short(&plain(&question.text))),
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
    let way = session.way(&question.id);
    let is_for_leads = way.as_ref().is_some_and(|way| way.to == Recipient::Lead);
    let withheld_until =
        way.and_then(|way| way.withheld_until).filter(|_| session.created().is_of_other_user);
    let draft = session.draft(&question.id).map(|draft| short(&draft.answer));
    let (question, round) = (question.id.clone(), Some(focus.round));
    Some(Waiting { kind, question, round, title, at: focus.at, is_for_leads, withheld_until, draft })
}

/// A failure that a person has to look at, or work that a person has to apply or discard.
fn stuck(view: &View) -> Option<Waiting> {
    let waits = |kind, name: &str, title: &str| Waiting {
        kind,
        question: QuestionId::new(name),
        round: None,
        title: short(title),
        at: view.updated_at,
        is_for_leads: false,
        withheld_until: None,
        draft: None,
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
    let line = display_text::line(&line);
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use rapport_core::routing::{Class, Hop};
    use rapport_core::{Asker, CallId, ConversationId, Created, Entry, Question, TurnId};

    use super::*;

    #[test]
    fn a_long_text_is_shortened_and_nothing_in_it_hides() {
        assert_eq!(short("  a\n b\u{202e} "), "a b<U+202E>");
        assert_eq!(short(&"x".repeat(1_000_000)).chars().count(), LONGEST);
    }

    #[test]
    fn words_are_found_in_any_case_and_shown_with_what_is_around_them() {
        assert_eq!(position("Which Colour?", "colour"), Some(6));
        assert_eq!(position("GRÖSSE in Über", "über"), Some(11));
        assert_eq!(position("a", "ab"), None);
        let text = format!("{} The Answer is <b>\u{202e} 42", "x ".repeat(100));
        let found = excerpt(&text, &["answer".to_owned()]).unwrap();
        assert!(found.starts_with('…') && found.ends_with("The Answer is <b><U+202E> 42"), "{found}");
        assert_eq!(excerpt(&text, &["nowhere".to_owned()]), None);
    }

    /// The people at the page are asked after another user who began the session; what waits for them is counted.
    #[test]
    fn what_another_user_is_asked_first_waits_for_nobody_here() {
        let question = Question {
            id: QuestionId::new("q1"),
            text: "Which colour?".into(),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let asked = |is_of_other_user: bool, to: Recipient| {
            let by = By::Person { channel: "telegram".into(), id: "77".into() };
            let created = Created::new("paint".into(), "/app".into(), ConversationId::new("c"), by);
            let mut created = Created { is_of_other_user, ..created };
            created.terms.routing.person_time = Some(SignedDuration::from_mins(30));
            let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("call"), parkable: true };
            let facts = vec![
                Fact::Created(created),
                Fact::Asked { round: RoundId(1), asker, questions: vec![question.clone()] },
                Fact::Routed {
                    question: question.id.clone(),
                    to,
                    class: Class::Clarification,
                    why: Hop::First,
                },
            ];
            let entry = Entry { seq: 1, at: Timestamp::UNIX_EPOCH, facts };
            let presenter = Presenter::open(&entry).unwrap();
            Summary::of(&SessionId::new("s"), &presenter, "app".into(), false, &TimeZone::UTC)
        };
        let until = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(30);
        for (is_of_other_user, to, withheld_until, count) in [
            (true, Recipient::Person, Some(until), 0),
            (true, Recipient::Others, None, 1),
            (false, Recipient::Person, None, 1),
        ] {
            let summary = asked(is_of_other_user, to);
            let [waiting] = &summary.waiting[..] else { panic!("{summary:?}") };
            assert_eq!((waiting.withheld_until, summary.waiting_count()), (withheld_until, count), "{to:?}");
        }
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
