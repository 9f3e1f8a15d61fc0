//! The file of a planned task, in the format of older relays: written from the log, and read where one was left.

use rapport_core::{
    Act, Clarifier, Created, Draft, Entry, Input, InteractiveFile, InteractiveState, QuestionRound, Reply,
    Session, Terms, World,
};
use serde_json::{Value, json};

use crate::support::{Play, ann, created, draft, person};

fn planned() -> Created {
    let terms = Terms { max_rounds: 3, clarifier: Clarifier::Planner, ..Terms::default() };
    created("add dark mode", terms)
}

fn made(round: u32, texts: &[&str]) -> Input {
    let questions: Vec<Draft> = texts.iter().map(|text| draft(text, &["Yes", "No"])).collect();
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
    let question = Some(rapport_core::QuestionId::new(question));
    person(ann(), Act::Answer { question, reply: Reply::Choices(vec![option]) })
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
    play.put(&answered("q1", 1)).unwrap();
    assert_eq!(
        (&file(&play)["answers"], &file(&play)["currentQuestionIndex"]),
        (&json!(["no", null]), &json!(1))
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
