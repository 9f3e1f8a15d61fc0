//! How cards look, drawn from facts alone (CHAT-37 to CHAT-39, CHAT-44: what is shown is made without sending
//! anything).

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rapport::channels::telegram::flow::card::{self, Card};
use rapport::channels::telegram::room::Room;
use rapport_core::Presenter;
use rapport_core::{
    Asker, By, Choice, Clarifier, ConversationId, Created, Entry, Event, Question, QuestionId, RoundId,
    SessionId, Terms, WorkCheck,
};

fn anna() -> By {
    By::Person { channel: "telegram".into(), id: "42".into() }
}

fn question(number: usize, labels: &[&str]) -> Question {
    Question {
        id: QuestionId::new(format!("q{number}")),
        text: format!("Question {number}?"),
        header: None,
        options: labels.iter().map(|label| Choice::plain(*label)).collect(),
        multi: false,
        free_text: false,
        purpose: Default::default(),
    }
}

/// A planned session in which these are asked, and so many answered.
fn presenter(questions: Vec<Question>, answered: usize) -> Presenter {
    let created = Created {
        terms: Terms { clarifier: Clarifier::Planner, max_rounds: 3, ..Terms::default() },
        origin: Some(Room { chat: 42, topic: None }.into()),
        ..Created::new("add dark mode".into(), "/app".into(), ConversationId::new("4f1c"), anna())
    };
    let answer = |question: &Question| Event::Answered {
        question: question.id.clone(),
        answer: rapport_core::Answer { values: vec![question.options[0].value.clone()], text: None },
        by: anna(),
    };
    let given: Vec<_> = questions.iter().take(answered).map(answer).collect();
    let asked = Event::Asked { round: RoundId(1), asker: Asker::Planner, questions };
    let facts = [vec![Event::Created(created), asked], given].concat();
    Presenter::open(&Entry { seq: 1, at: Timestamp::UNIX_EPOCH, facts }).unwrap()
}

fn drawn(presenter: &Presenter) -> Card {
    card::open(
        &SessionId::new("s"),
        presenter,
        &presenter.focus()[0],
        &BTreeSet::new(),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap()
}

fn labels(card: &Card) -> Vec<Vec<&str>> {
    card.rows.iter().map(|row| row.iter().map(|(label, _)| label.as_str()).collect()).collect()
}

/// `Q1 of 4 ▓▓░░░░░░░░ 25%`, and so on.
#[test]
fn chat_37_the_bar_counts_the_question_in_hand() {
    let cases = [
        (1, 0, "Q1 of 1 ▓▓▓▓▓▓▓▓▓▓ 100%"),
        (4, 0, "Q1 of 4 ▓▓░░░░░░░░ 25%"),
        (4, 1, "Q2 of 4 ▓▓▓▓▓░░░░░ 50%"),
        (3, 1, "Q2 of 3 ▓▓▓▓▓▓░░░░ 66%"),
        (7, 6, "Q7 of 7 ▓▓▓▓▓▓▓▓▓▓ 100%"),
    ];
    for (of, answered, line) in cases {
        let questions = (1..=of).map(|number| question(number, &["Yes", "No"])).collect();
        let card = drawn(&presenter(questions, answered));
        assert_eq!(card.text.words().lines().nth(2), Some(line));
    }
}

/// Short labels share a row of three, long ones have one each; Back is not on the first question.
#[test]
fn chat_37_rows_fit_their_labels() {
    let short = drawn(&presenter(vec![question(1, &["A", "B", "C", "D"])], 0));
    assert_eq!(labels(&short), [vec!["A", "B", "C"], vec!["D"], vec!["✖ Cancel"]]);
    let long = drawn(&presenter(vec![question(1, &["Something rather long", "B"])], 0));
    assert_eq!(labels(&long), [vec!["Something rather long"], vec!["B"], vec!["✖ Cancel"]]);
    let second = drawn(&presenter(vec![question(1, &["A"]), question(2, &["A"])], 1));
    assert_eq!(labels(&second), [vec!["A"], vec!["← Back"], vec!["✖ Cancel"]]);
    let free = drawn(&presenter(vec![Question { free_text: true, ..question(1, &["A"]) }], 0));
    assert_eq!(labels(&free), [vec!["A"], vec!["✍️ Type your own"], vec!["✖ Cancel"]]);
}

/// CHAT-21: whatever is asked, every button is within 64 bytes.
#[test]
fn chat_21_buttons_are_short() {
    let long = "x".repeat(300);
    let questions: Vec<_> = (1..=120).map(|number| question(number, &[&long, "B", "C", "D"])).collect();
    let presenter = presenter(questions, 110);
    let id = SessionId::new("20260124-a-session-with-a-very-long-name-that-goes-on-and-on-and-on-and-on");
    let card =
        card::open(&id, &presenter, &presenter.focus()[0], &BTreeSet::new(), Timestamp::UNIX_EPOCH).unwrap();
    let buttons: Vec<_> = card.rows.iter().flatten().collect();
    assert!(buttons.iter().all(|(label, data)| data.len() <= 64 && !label.is_empty()), "{buttons:?}");
}

/// CHAT-24: an answered card shows the choice, and who made it elsewhere.
#[test]
fn chat_24_an_answered_card_shows_the_answer() {
    let presenter = presenter(vec![question(1, &["Dark", "Light"]), question(2, &["A"])], 1);
    let text = card::closed(&presenter, &QuestionId::new("q1")).unwrap();
    assert!(text.words().ends_with("Question 1?\n\n✅ Dark"), "{}", text.words());
    let text = card::closed(&presenter, &QuestionId::new("q2")).unwrap();
    assert!(text.words().ends_with("Asked again below."), "{}", text.words());
}

/// A question is in front of the person since the one before it was answered, however long ago its round was asked:
/// from then on they are reminded.
#[test]
fn a_question_waits_since_it_came_to_the_front() {
    let mut presenter = presenter(vec![question(1, &["Dark", "Light"]), question(2, &["A"])], 0);
    let later: Timestamp = "2026-01-24T12:00:00Z".parse().unwrap();
    let answer = rapport_core::Answer { values: vec!["Dark".into()], text: None };
    let answered = Event::Answered { question: QuestionId::new("q1"), answer, by: anna() };
    presenter.apply(&Entry { seq: 2, at: later, facts: vec![answered] });
    let unrelated = Event::Outlined { goal: "look".into(), description: "dark".into() };
    presenter.apply(&Entry {
        seq: 3,
        at: later + jiff::SignedDuration::from_mins(5),
        facts: vec![unrelated],
    });
    let focus = &presenter.focus()[0];
    assert_eq!((focus.question.as_str(), focus.since, focus.at), ("q2", 2, later));
}

/// The last message has the outcome of the check, and the end of its output if it did not pass.
#[test]
fn the_outcome_of_a_check_is_in_the_last_message() {
    let created = Created::new("add dark mode".into(), "/app".into(), ConversationId::new("4f1c"), anna());
    let facts = vec![Event::Created(created)];
    let presenter = Presenter::open(&Entry { seq: 1, at: Timestamp::UNIX_EPOCH, facts }).unwrap();
    let mut view = presenter.session().view(&SessionId::new("s"));
    let text =
        |view: &rapport_core::View| card::ended(view, SignedDuration::ZERO, None).text.words().to_owned();
    assert!(!text(&view).contains("Check:"));
    let check = WorkCheck {
        command: "make test".into(),
        exit: Some(0),
        output: "2 passed".into(),
        millis: 4_000,
        ..WorkCheck::default()
    };
    view.check = Some(check.clone());
    assert!(text(&view).ends_with("Check: ✅ the check make test passed in 4 s"), "{}", text(&view));
    view.check = Some(WorkCheck {
        exit: Some(2),
        output: "1\n2\n3\n4\n5\n6\n7\n8\n9\nfailed\u{202e}".into(),
        ..check
    });
    let shown = text(&view);
    assert!(shown.contains("Check: ⚠️ the check make test failed with exit code 2 in 4 s\n3\n4"), "{shown}");
    assert!(!shown.contains('\u{202e}') && !shown.contains("\n2\n"), "{shown}");
}
