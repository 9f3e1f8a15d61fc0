//! Sessions that waited for an answer before `serve` began, and what agents ask that only a log can bring here.

use jiff::Timestamp;
use rapport::seals::Seals;
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{
    Asker, By, CallId, Choice, ConversationId, Created, Event, Field, FieldKind, Purpose, Question,
    QuestionId, RoundId, Session, SessionId, TurnId,
};

use super::{ANNA, Stage};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The sessions of a project, as its person's Rapport writes them.
fn store(project: &Project) -> BlockingStore {
    let root = project.root().canonicalize().unwrap();
    let store = Files::new(rapport::config::sessions(&root)).of(root.clone());
    BlockingStore::new(store.sealed_by(Seals::new(project.path("home/.rapport"), root)))
}

fn question(id: &str, text: &str, options: Vec<Choice>, purpose: Purpose) -> Question {
    let free_text = options.is_empty();
    Question {
        id: QuestionId::new(id),
        text: text.into(),
        header: None,
        options,
        multi: false,
        free_text,
        purpose,
    }
}

/// A session that began at a terminal, and waits for these answers since that minute; no process runs it.
fn waits(project: &Project, task: &str, minute: i64, questions: Vec<Question>) -> SessionId {
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    let root = project.root().canonicalize().unwrap().display().to_string();
    let conversation = ConversationId::new(format!("7141c84c-85b1-41eb-89d8-{minute:012}"));
    let mut facts = Session::begin(Created::new(task.into(), root, conversation, by)).unwrap();
    let (turn, call) = (TurnId(1), CallId::new("toolu_01"));
    let parkable = questions.iter().all(|question| question.purpose == Purpose::Clarify);
    let asker = Asker::Agent { turn, call: call.clone(), parkable };
    facts.push(Event::Asked { round: RoundId(1), asker, questions });
    if parkable {
        facts.extend([Event::Cooled { turn, call: call.clone() }, Event::Parked { turn, call }]);
    }
    let at = Timestamp::now() - jiff::SignedDuration::from_mins(20_000 - minute);
    store(project).create(task, at, facts, &Holder::this_process(None)).unwrap().0
}

/// So many sessions that each wait for a colour.
fn many(project: &Project, sessions: usize) {
    const WRITERS: usize = 8;
    let colour =
        || question("q1", "Which colour?", ["Red", "Blue"].map(Choice::plain).into(), Purpose::Clarify);
    std::thread::scope(|scope| {
        for first in 0..WRITERS {
            scope.spawn(move || {
                for n in (first..sessions).step_by(WRITERS) {
                    waits(project, &format!("task {n:04}"), n as i64, vec![colour()]);
                }
            });
        }
    });
}

/// The newest few are shown, and how many more there are; the next comes when one is answered. What is asked now does
/// not wait behind them.
#[tokio::test]
async fn what_waited_before_comes_bit_by_bit() {
    let mut stage = Stage::quiet(ONE_QUESTION).await;
    many(&stage.project, 40);
    stage.serve();
    let anna = stage.anna();
    anna.sees("35 more questions wait for you.").await;
    for n in 35..40 {
        anna.sees(&format!("task {n:04}")).await;
    }
    let run = stage.project.start(&["paint it"], &[]);
    anna.sees("paint it").await;
    assert!(!anna.shows("task 0034"), "{}", anna.screen());
    anna.types("/status");
    anna.sees("and 35 more; the next comes when one of these is answered").await;
    stage.project.rapport(&["cancel", "paint"]).check(0, "");
    run.finish();
    stage.project.rapport(&["answer", "task-0037", "Red"]).check(0, "Answered.");
    anna.sees("task 0034").await;
    assert!(!anna.shows("task 0033"), "{}", anna.screen());
    assert!(!anna.shows("Still waiting"), "nobody is reminded of what was shown just now: {}", anna.screen());
    // Started again, it shows what it showed, and no more.
    stage.stop();
    stage.serve();
    anna.types("/status");
    anna.sees("and 34 more; the next comes when one of these is answered").await;
    stage.project.rapport(&["answer", "task-0036", "Blue"]).check(0, "Answered.");
    anna.sees("task 0033").await;
    assert!(!anna.shows("task 0032"), "{}", anna.screen());
    let said =
        stage.server.messages(ANNA).iter().filter(|sent| sent.text().contains("more questions wait")).count();
    assert_eq!(said, 1, "that is said once: {}", anna.screen());
    assert_eq!(stage.server.violations(), []);
}

/// Sessions that only wait are held in no memory: thousands take hardly more than hundreds. (A few would be no measure:
/// the threads that read the first ones need memory of their own.)
#[tokio::test]
async fn what_waits_takes_no_memory() {
    const SOME: usize = 500;
    const MANY: usize = 3_000;
    let mut taken = Vec::new();
    for sessions in [SOME, MANY] {
        let mut stage = Stage::quiet(ONE_QUESTION).await;
        many(&stage.project, sessions);
        stage.serve();
        let anna = stage.anna();
        anna.sees(&format!("{} more questions wait for you.", sessions - 5)).await;
        for n in sessions - 5..sessions {
            anna.sees(&format!("task {n:04}")).await;
        }
        taken.push(stage.private_memory());
    }
    let each = taken[1].saturating_sub(taken[0]) * 1024 / (MANY - SOME) as u64;
    println!("{taken:?} kB, {each} bytes for each session more");
    assert!(each < 2_048, "{taken:?} kB: {each} bytes for each session that waits");
}

fn field(key: &str, kind: FieldKind) -> Purpose {
    Purpose::Elicit(Field { server: "desk".into(), key: Some(key.into()), kind })
}

/// What a server wants filled in, one field after the other.
fn form() -> Vec<Question> {
    let with_ways_out = |options: Vec<Choice>| [options, Field::ways_out(true)].concat();
    let option = |label: &str, value: &str| Choice { value: value.into(), ..Choice::plain(label) };
    vec![
        question(
            "q1",
            "desk asks: Which colour?",
            with_ways_out(vec![option("Red", "red"), option("Green", "green")]),
            field("colour", FieldKind::One),
        ),
        question(
            "q2",
            "desk asks: Is that all?",
            with_ways_out(vec![option("Yes", "true"), option("No", "false")]),
            field("all", FieldKind::Flag),
        ),
    ]
}

fn answers(project: &Project, id: &SessionId) -> Vec<(String, Vec<String>)> {
    let entries = store(project).read(id, 0).unwrap();
    let facts = entries.into_iter().flat_map(|entry| entry.facts);
    facts
        .filter_map(|fact| match fact {
            Event::Answered { question, answer, .. } => Some((question.to_string(), answer.values)),
            _ => None,
        })
        .collect()
}

/// What an MCP server asks is answered by buttons, each field by its own.
#[tokio::test]
async fn a_form_of_a_server_is_filled_in_by_buttons() {
    let mut stage = Stage::quiet(ONE_QUESTION).await;
    let id = waits(&stage.project, "book a desk", 1, form());
    stage.serve();
    let anna = stage.anna();
    let card = anna.sees("desk asks: Which colour?").await;
    let labels: Vec<_> = card.buttons().into_iter().flatten().collect();
    assert_eq!(labels[..4], ["Red", "Green", "Decline", "Cancel"], "{labels:?}");
    anna.taps("Green").await;
    anna.sees("desk asks: Is that all?").await;
    anna.taps("No").await;
    let given =
        wait_for("both answers", || Some(answers(&stage.project, &id)).filter(|given| given.len() == 2));
    assert_eq!(given, [("q1".into(), vec!["green".to_owned()]), ("q2".into(), vec!["false".to_owned()])]);
    assert_eq!(stage.server.violations(), []);
}

/// The same with `rapport answer`; words that are no option are refused, and declining is a choice.
#[test]
fn a_form_of_a_server_is_filled_in_by_answer() {
    let project = Project::with_scenario(ONE_QUESTION);
    let id = waits(&project, "book a desk", 1, form());
    project.rapport(&["answer", "desk", "--question", "q1", "Purple"]).check(3, "");
    project.rapport(&["answer", "desk", "--question", "q1", "green"]).check(0, "q1");
    project.rapport(&["answer", "desk", "--question", "q2", "Decline"]).check(0, "Decline");
    let given = answers(&project, &id);
    assert_eq!(
        given,
        [("q1".into(), vec!["green".to_owned()]), ("q2".into(), vec!["mcp:decline".to_owned()])]
    );
}
