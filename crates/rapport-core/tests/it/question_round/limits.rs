//! Whatever a model says, nothing panics and what comes of it is within the limits.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rapport_core::{QuestionRound, signal};
use serde_json::{Value, json};

use super::brief;

#[track_caller]
fn check(batch: &QuestionRound, most: usize) {
    assert_eq!(batch.done, batch.questions.is_empty());
    assert!(batch.questions.len() <= most);
    for name in batch.goal.iter().chain(&batch.description) {
        assert!(!name.is_empty() && name.len() <= 60 && rapport_core::slug::part(name) == *name, "{name:?}");
    }
    let texts: BTreeSet<_> = batch.questions.iter().map(|question| question.text.to_lowercase()).collect();
    assert_eq!(texts.len(), batch.questions.len(), "each is asked once");
    for question in &batch.questions {
        assert!(!question.text.trim().is_empty());
        assert!(question.options.len() <= 4);
        assert!(question.options.len() > 1 || question.free_text, "it can be answered");
        assert!(question.multi || question.options.iter().filter(|option| option.recommended).count() <= 1);
        let values: BTreeSet<_> = question.options.iter().map(|option| &option.value).collect();
        assert_eq!(values.len(), question.options.len(), "values tell options apart");
        for option in &question.options {
            assert!(!option.label.trim().is_empty() && !option.value.trim().is_empty());
        }
    }
}

/// Read in every way there is.
fn read(text: &str) {
    for round in [0, 1, 2] {
        if let Ok(batch) = QuestionRound::parse(text, &brief(round, &[("Which?", "x")])) {
            check(&batch, 4);
            assert!(batch.questions.iter().all(|question| question.text != "Which?"));
        }
    }
    if let Some(batch) = signal::detect(text) {
        check(&batch, 7);
        assert!(!batch.done);
    }
}

fn words() -> impl Strategy<Value = Value> {
    let usual = prop::sample::select(vec!["Which?", "which", "A", "B", "a", "C (Recommended)", " ", ""]);
    prop_oneof![2 => usual.prop_map(Value::from), 1 => any::<String>().prop_map(Value::from)]
}

/// What may be left out.
fn text() -> impl Strategy<Value = Value> {
    prop_oneof![4 => words(), 1 => Just(Value::Null)]
}

/// What may be told as a number as well.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![4 => text(), 1 => any::<i8>().prop_map(Value::from)]
}

fn flag() -> impl Strategy<Value = Value> {
    prop_oneof![4 => any::<bool>().prop_map(Value::from), 1 => Just(Value::Null)]
}

fn option() -> impl Strategy<Value = Value> {
    let full = (words(), value(), text(), flag()).prop_map(|(label, value, description, recommended)| {
        json!({"label": label, "value": value, "description": description, "recommended": recommended})
    });
    prop_oneof![4 => full, 1 => words()]
}

fn question() -> impl Strategy<Value = Value> {
    (words(), prop::collection::vec(option(), 0..8), flag(), flag()).prop_map(|(question, options, free, multi)| {
        json!({"question": question, "options": options, "allowFreeText": free, "multiSelect": multi})
    })
}

fn reply() -> impl Strategy<Value = String> {
    let object = (flag(), text(), text(), prop::collection::vec(question(), 0..10), flag()).prop_map(
        |(interactive, goal, description, questions, done)| {
            json!({"interactive": interactive, "goal": goal, "description": description, "questions": questions, "done": done})
                .to_string()
        },
    );
    let around = prop::sample::select(vec![
        ("", ""),
        ("```json\n", "\n```"),
        ("Well: ", "!"),
        ("{", "}"),
        ("```", "```"),
    ]);
    (object, around, any::<prop::sample::Index>(), prop::bool::weighted(0.2)).prop_map(
        |(object, (before, after), at, is_cut)| {
            let cut = if is_cut { at.index(object.len() + 1) } else { object.len() };
            let cut = (0..=cut).rev().find(|&at| object.is_char_boundary(at)).unwrap_or(0);
            format!("{before}{}{after}", &object[..cut])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn chat_15_chat_43_any_round_is_brought_within_the_limits(reply in reply()) {
        read(&reply);
    }

    #[test]
    fn chat_34_chat_43_no_text_at_all_is_too_much(text in prop_oneof![any::<String>(), "[\\[{}\\]\"`:,a ]{0,60}"]) {
        read(&text);
    }
}

#[test]
fn chat_43_a_reply_that_goes_very_deep_is_refused() {
    read(&"{\"questions\":[".repeat(100_000));
    read(&format!("{{\"questions\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000)));
}
