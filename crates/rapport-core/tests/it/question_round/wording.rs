//! What a model is told, word for word.

use rapport_core::{Brief, INTERACTIVE};
use serde_json::{Value, json};

use super::brief;

#[test]
fn chat_6_the_first_round_asks_for_a_name_and_questions() {
    assert_eq!(
        brief(1, &[]).prompt(),
        "Task: add JWT auth\n\
         Generate 2–4 clarifying questions. Return JSON: {goal, description, questions, done: false}"
    );
}

#[test]
fn chat_5_chat_7_later_rounds_tell_every_answer_and_how_many_rounds_there_are() {
    let brief = brief(2, &[("What type of auth?", "JWT"), ("Which\nframework?", "React,\n  then\tmore")]);
    let prompt = "Task: add JWT auth\n\nAnswers gathered so far:\n\
         Q: What type of auth? → JWT\n\
         Q: Which framework? → React, then more\n\n\
         Do you need more clarifying questions?\n\
         - If yes: return {done: false, questions: [...]} (2–4 more, no repeats)\n\
         - If enough context: return {done: true, questions: []}\n\
         Max 3 rounds total.";
    assert_eq!(brief.prompt(), prompt);
    assert_eq!(
        brief.prompt_again("it is prose"),
        format!(
            "{prompt}\n\nYour last reply could not be used: it is prose\nReply with the JSON object and nothing else."
        )
    );
}

/// Structured output takes only schemas that are closed all the way down.
#[test]
fn chat_43_the_schema_is_closed_and_requires_everything() {
    fn check(schema: &Value) {
        if schema["type"] == "object" {
            let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
            let mut required: Vec<_> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            required.sort_unstable();
            assert_eq!(names, required);
            assert_eq!(schema["additionalProperties"], false);
            schema["properties"].as_object().unwrap().values().for_each(check);
        }
        if schema["type"] == "array" {
            check(&schema["items"]);
        }
    }
    let names = |round| brief(round, &[]).schema()["required"].clone();
    assert_eq!(names(1), json!(["goal", "description", "questions", "done"]));
    assert_eq!(names(2), json!(["done", "questions"]));
    for round in [1, 2, 3] {
        check(&brief(round, &[]).schema());
    }
}

#[test]
fn chat_36_an_agent_that_may_ask_is_told_how() {
    for part in [
        "ONLY this JSON",
        "\"interactive\": true",
        "\"goal\"",
        "\"description\"",
        "\"allowFreeText\": false",
        "3 to 7 focused questions",
        "2 to 4 options",
        "truly needs",
        "answer normally",
    ] {
        assert!(INTERACTIVE.contains(part), "no {part:?}");
    }
    let shape = &INTERACTIVE[INTERACTIVE.find('{').unwrap()..=INTERACTIVE.rfind('}').unwrap()];
    assert!(rapport_core::signal::detect(shape).is_some(), "what it is shown is what is detected");
    let shape = &Brief::INSTRUCTIONS
        [Brief::INSTRUCTIONS.find('{').unwrap()..=Brief::INSTRUCTIONS.rfind('}').unwrap()];
    assert!(rapport_core::QuestionRound::parse(shape, &brief(1, &[])).is_ok(), "and here as well");
}
