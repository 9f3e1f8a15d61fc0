//! What is made of what a model says: tables.

use rapport_core::QuestionRound;
use serde_json::{Value, json};

use super::{brief, outline};

#[track_caller]
fn check(round: u32, reply: &str, expected: &str) {
    let brief = brief(round, if round == 1 { &[] } else { &[("What type of auth?", "JWT")] });
    let found = match QuestionRound::parse(reply, &brief) {
        Ok(batch) => outline(&batch),
        Err(problem) => format!("error: {problem}"),
    };
    if let Some(beginning) = expected.strip_suffix("...") {
        assert!(found.starts_with(beginning), "{found}\n from {reply}");
    } else {
        assert_eq!(found, expected, "from {reply}");
    }
}

/// A first reply with these questions.
fn asking(questions: Value) -> String {
    json!({"goal": "JWT auth", "description": "Add JWT auth!", "questions": questions, "done": false})
        .to_string()
}

#[test]
fn chat_43_a_reply_is_found_in_three_tries() {
    let object = asking(json!([{"question": "Which?", "options": ["A", "B"]}]));
    for reply in [
        object.clone(),
        format!("\n  {object}  \n"),
        format!("```json\n{object}\n```"),
        format!("Here you are:\n```\n{object}\n```\nAnything else?"),
        format!("Sure! {object} Good luck."),
    ] {
        check(1, &reply, "Which? [A, B]");
    }
    let batch = QuestionRound::parse(&object, &brief(1, &[])).unwrap();
    assert_eq!(
        (batch.goal.as_deref(), batch.description.as_deref()),
        (Some("jwt-auth"), Some("add-jwt-auth"))
    );
}

#[test]
fn chat_43_what_is_no_round_is_told_why() {
    const NONE: &str = "error: there is no JSON object in it";
    for (reply, expected) in [
        ("", NONE),
        ("I would rather not.", NONE),
        ("[1, 2]", NONE),
        ("}{", NONE),
        ("{\"questions\": [", "error: it is not the JSON object that was asked for: EOF..."),
        ("{\"questions\": }", "error: it is not the JSON object that was asked for: ..."),
        (
            "{\"questions\": 5}",
            "error: it is not the JSON object that was asked for: invalid type: integer `5`...",
        ),
        (
            "{\"questions\": [{\"options\": []}]}",
            "error: it is not the JSON object that was asked for: missing field `question`...",
        ),
        ("{}", "error: the JSON object has neither `questions` nor `done`"),
        ("{\"goal\": \"x\"}", "error: the JSON object has neither `questions` nor `done`"),
    ] {
        check(1, reply, expected);
    }
}

#[test]
fn chat_7_done_is_exactly_where_nothing_is_left_to_ask() {
    const EMPTY: &str = "error: there is no question in it that could be asked";
    for (round, reply, expected) in [
        (1, r#"{"questions": [], "done": false}"#, EMPTY),
        (1, r#"{"questions": []}"#, EMPTY),
        (
            1,
            r#"{"questions": null, "done": null}"#,
            "error: the JSON object has neither `questions` nor `done`",
        ),
        (1, r#"{"questions": [{"question": " "}], "done": false}"#, EMPTY),
        (1, r#"{"questions": [], "done": true}"#, "done"),
        (2, r#"{"questions": [], "done": true}"#, "done"),
        (2, r#"{"done": true}"#, "done"),
        (2, r#"{"questions": [], "done": false}"#, "done"),
        // What was asked before is not asked again, however it is written.
        (2, r#"{"questions": [{"question": "what TYPE of auth"}], "done": false}"#, "done"),
        // Nobody is left unasked because of a flag.
        (2, r#"{"questions": [{"question": "Expiry?"}], "done": true}"#, "Expiry? [] or words"),
    ] {
        check(round, reply, expected);
    }
}

#[test]
fn chat_14_chat_15_options_are_cleaned_and_cut_to_four() {
    let twelve: Vec<_> = (1..=12).map(|n| json!({"label": format!("L{n}"), "value": n})).collect();
    for (question, expected) in [
        (json!({"question": " Which? ", "options": twelve}), "Which? [L1=1, L2=2, L3=3, L4=4]"),
        (
            json!({"question": "Which?", "options": [{"label": "A", "value": "a", "description": "first"}, {"label": "B"}]}),
            "Which? [A=a: first, B]",
        ),
        (
            json!({"question": "Which?", "options": [{"label": " ", "value": "a"}, {"label": "B", "value": ""}, {"label": "C", "description": " "}, ""]}),
            "Which? [B, C]",
        ),
        // The same label twice is one option; the same value twice is no value.
        (json!({"question": "Which?", "options": ["A", "a", "B"]}), "Which? [A, B]"),
        (
            json!({"question": "Which?", "options": [{"label": "A", "value": "x"}, {"label": "B", "value": "x"}]}),
            "Which? [A, B]",
        ),
        // Nothing to choose between: then it takes words.
        (json!({"question": "Which?"}), "Which? [] or words"),
        (json!({"question": "Which?", "options": null, "allowFreeText": false}), "Which? [] or words"),
        (json!({"question": "Which?", "options": ["A"], "multiSelect": true}), "Which? [A] or words"),
        (
            json!({"question": "Which?", "options": ["A", "B"], "allowFreeText": true}),
            "Which? [A, B] or words",
        ),
        (json!({"question": "Which?", "options": ["A", "B"], "multiSelect": true}), "Which? [A, B] several"),
        // One is recommended, by flag or by label.
        (
            json!({"question": "Which?", "options": [{"label": "A"}, {"label": "B", "recommended": true}, {"label": "C", "recommended": true}]}),
            "Which? [A, B*, C]",
        ),
        (json!({"question": "Which?", "options": ["A (Recommended)", "B"]}), "Which? [A (Recommended)*, B]"),
    ] {
        check(1, &asking(json!([question])), expected);
    }
}

#[test]
fn chat_7_questions_are_asked_once_and_at_most_four() {
    let many: Vec<_> = (1..=9).map(|n| json!({"question": format!("Q{n}?")})).collect();
    check(1, &asking(json!(many)), "Q1? [] or words; Q2? [] or words; Q3? [] or words; Q4? [] or words");
    let twice = json!([
        {"question": "Which DB?"}, {"question": "which db"}, {"question": "WHICH  DB ?!"},
        {"question": "Use C?"}, {"question": "Use C++?"}, {"question": "Use C#?"},
    ]);
    check(
        1,
        &asking(twice),
        "Which DB? [] or words; Use C? [] or words; Use C++? [] or words; Use C#? [] or words",
    );
}

#[test]
fn chat_40_names_come_with_the_first_round_and_are_safe() {
    let long = "very ".repeat(50);
    for (goal, expected) in [
        (json!("../../Etc"), Some("etc")),
        (json!("..."), None),
        (json!(null), None),
        (json!(long), Some("very")),
    ] {
        let reply = json!({"goal": goal, "questions": [{"question": "Q?"}]}).to_string();
        let found = QuestionRound::parse(&reply, &brief(1, &[])).unwrap().goal;
        assert_eq!(found.is_some(), expected.is_some(), "{goal}");
        assert!(found.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{goal}");
        assert_eq!(QuestionRound::parse(&reply, &brief(2, &[])).unwrap().goal, None, "only with the first");
    }
}

/// CHAT-38: what is too long for a message is cut there, and stays whole here.
#[test]
fn chat_38_a_long_question_stays_whole() {
    let question = "why ".repeat(300);
    check(1, &asking(json!([{"question": question}])), &format!("{} [] or words", question.trim()));
}
