//! The file of a planned task, in the format of older relays: written from the log, and read where one was left.

use jiff::SignedDuration;
use rapport_core::{
    Act, Clarifier, Created, Entry, Input, InteractiveFile, InteractiveState, NewQuestion, QuestionRound,
    Reply, Session, Terms, World,
};
use serde_json::{Value, json};

use crate::support::{Play, ann, created, draft, person};

fn planned() -> Created {
    let terms = Terms { max_rounds: 3, clarifier: Clarifier::Planner, ..Terms::default() };
    created("add dark mode", terms)
}

fn made(round: u32, texts: &[&str]) -> Input {
    asking(round, texts.iter().map(|text| draft(text, &["Yes", "No"])).collect())
}

fn asking(round: u32, questions: Vec<NewQuestion>) -> Input {
    let (goal, description) = (Some("Dark mode".into()), Some("Add dark mode".into()));
    let batch = QuestionRound {
        goal,
        description,
        done: questions.is_empty(),
        questions,
        ..QuestionRound::default()
    };
    Input::World(World::QuestionRound { round, outcome: Ok(batch) })
}

fn answered(question: &str, option: usize) -> Input {
    replied(question, Reply::Choices(vec![option]))
}

fn replied(question: &str, reply: Reply) -> Input {
    person(ann(), Act::Answer { question: Some(rapport_core::QuestionId::new(question)), reply })
}

fn file(play: &Play) -> Value {
    serde_json::to_value(InteractiveFile::of(&play.session, 42).unwrap()).unwrap()
}

/// CHAT-11 to CHAT-14, CHAT-16: every field, in every state.
#[test]
fn chat_12_chat_13_the_file_follows_the_log() {
    let mut play = Play::begin_as(planned());
    play.put(&made(1, &["Everywhere?", "Now?"])).unwrap();
    assert_eq!(
        file(&play),
        json!({
            "sessionId": "4f1c",
            "chatId": 42,
            "state": "COLLECTING",
            "task": "add dark mode",
            "goal": "dark-mode",
            "description": "add-dark-mode",
            "questions": [question("q1", "Everywhere?"), question("q2", "Now?")],
            "answers": [null, null],
            "currentQuestionIndex": 0,
            "completedQA": [],
            "currentBatchStart": 0,
            "round": 1,
            "createdAt": "2026-01-24T09:00:00Z",
            "updatedAt": "2026-01-24T09:00:00Z",
        })
    );
    play.pass(SignedDuration::from_mins(5));
    play.put(&answered("q1", 1)).unwrap();
    let first = file(&play);
    assert_eq!((&first["answers"], &first["currentQuestionIndex"]), (&json!(["no", null]), &json!(1)));
    assert_eq!(
        (&first["createdAt"], &first["updatedAt"]),
        (&json!("2026-01-24T09:00:00Z"), &json!("2026-01-24T09:05:00Z"))
    );
    play.put(&answered("q2", 0)).unwrap();
    play.put(&made(2, &["When?"])).unwrap();
    let second = file(&play);
    assert_eq!((&second["round"], &second["currentBatchStart"]), (&json!(2), &json!(2)));
    let pairs =
        json!([{ "question": "Everywhere?", "answer": "no" }, { "question": "Now?", "answer": "yes" }]);
    assert_eq!(second["completedQA"], pairs);
    play.put(&answered("q3", 0)).unwrap();
    play.put(&made(3, &[])).unwrap();
    play.put(&Input::World(World::PlanSaved { revision: 1, path: "a/b.md".into() })).unwrap();
    let third = file(&play);
    assert_eq!((&third["state"], &third["planPath"]), (&json!("CONFIRMING"), &json!("a/b.md")));
    play.put(&person(ann(), Act::Confirm)).unwrap();
    assert_eq!(file(&play)["state"], "EXECUTING");
    play.put(&person(ann(), Act::Cancel { reason: None })).unwrap();
    assert_eq!(file(&play)["state"], "DONE");
}

/// CHAT-14, CHAT-16: the values of several options, beside one another, and words as they were typed; nothing that was not
/// answered. What is written comes back as the same answers.
#[test]
fn chat_14_chat_16_answers_are_the_values_of_options_or_the_words() {
    let mut play = Play::begin_as(planned());
    let several = NewQuestion { multi: true, ..draft("Which platforms?", &["Web", "Old phones", "Desktop"]) };
    let questions = vec![several, draft("Which name?", &["Yes", "No"]), draft("Now?", &["Yes", "No"])];
    play.put(&asking(1, questions)).unwrap();
    assert_eq!(
        (&file(&play)["questions"][0]["multiSelect"], &file(&play)["questions"][1]["multiSelect"]),
        (&json!(true), &json!(false))
    );
    play.put(&replied("q1", Reply::Choices(vec![0, 1]))).unwrap();
    play.put(&replied("q2", Reply::Text("Night, or so".into()))).unwrap();
    assert_eq!(file(&play)["answers"], json!(["web, old-phones", "Night, or so", null]));
    let left: InteractiveFile = serde_json::from_value(file(&play)).unwrap();
    let facts = left.revive(planned()).unwrap();
    let revived = Session::open(&Entry { seq: 1, at: left.created_at, facts }).unwrap();
    let given = |session: &Session| -> Vec<_> {
        let rounds: Vec<_> = session.rounds().collect();
        let items = rounds.iter().flat_map(|round| round.items.iter());
        items.map(|item| item.given.map(|(answer, _)| answer.clone())).collect()
    };
    assert_eq!(given(&revived), given(&play.session));
}

/// CHAT-27: whoever goes back twice has passed by an answer that was given. It stands until there is another, so that a step
/// too far costs nothing.
#[test]
fn chat_27_answers_that_are_passed_by_going_back_stand() {
    let mut play = Play::begin_as(planned());
    play.put(&made(1, &["One?", "Two?", "Three?"])).unwrap();
    play.put(&answered("q1", 0)).unwrap();
    play.put(&answered("q2", 1)).unwrap();
    for index in [1, 0] {
        play.put(&person(ann(), Act::Back)).unwrap();
        let file = file(&play);
        assert_eq!(file["currentQuestionIndex"], index);
        assert_eq!(file["answers"], json!(["yes", "no", null]));
    }
    play.put(&answered("q1", 1)).unwrap();
    let again = file(&play);
    assert_eq!(again["currentQuestionIndex"], 1, "it is asked again all the same");
    assert_eq!(again["answers"], json!(["no", "no", null]));
}

fn question(id: &str, text: &str) -> Value {
    let option = |label: &str| json!({ "label": label, "value": label.to_lowercase() });
    json!({ "id": id, "question": text, "options": [option("Yes"), option("No")], "allowFreeText": true, "multiSelect": false })
}

/// What is written can be read again, and goes on at the same question with the same answers.
#[test]
fn chat_20_a_file_comes_back_as_the_session_it_was() {
    let mut play = Play::begin_as(planned());
    let steps = [
        made(1, &["Everywhere?", "Now?"]),
        answered("q1", 1),
        answered("q2", 0),
        made(2, &["When?", "Who?"]),
        answered("q3", 1),
    ];
    for step in steps {
        play.put(&step).unwrap();
        let written = serde_json::to_string(&InteractiveFile::of(&play.session, 42).unwrap()).unwrap();
        let left: InteractiveFile = serde_json::from_str(&written).unwrap();
        let facts = left.revive(planned()).unwrap();
        let revived = Session::open(&Entry { seq: 1, at: left.created_at, facts }).unwrap();
        let again = InteractiveFile::of(&revived, 42).unwrap();
        assert_eq!(InteractiveFile { updated_at: left.updated_at, ..again }, left);
    }
}

/// One that was answered to its end at the last round is a plan; one that was being carried out is confirmed again.
#[test]
fn chat_8_chat_12_nothing_is_asked_beyond_the_end() {
    let mut play = Play::begin_as(planned());
    play.put(&made(1, &["Everywhere?"])).unwrap();
    play.put(&answered("q1", 0)).unwrap();
    let left = InteractiveFile::of(&play.session, 42).unwrap();
    let cases = [
        (InteractiveFile { round: 3, ..left.clone() }, InteractiveState::Confirming),
        (
            InteractiveFile { state: InteractiveState::Executing, ..left.clone() },
            InteractiveState::Confirming,
        ),
        (left, InteractiveState::Collecting),
    ];
    for (left, state) in cases {
        let facts = left.revive(planned()).unwrap();
        let revived = Session::open(&Entry { seq: 1, at: left.created_at, facts }).unwrap();
        assert_eq!(InteractiveFile::of(&revived, 42).unwrap().state, state, "{left:?}");
    }
}
