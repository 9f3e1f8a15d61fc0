//! The signal in a reply, and everything that only looks like it.

use rapport_core::signal::detect;
use serde_json::{Value, json};

use super::outline;

fn signal() -> Value {
    json!({
        "interactive": true, "goal": "Dark Mode", "description": "add dark mode",
        "questions": [
            {"id": "q1", "question": "Which theme?", "options": [{"label": "Dark", "value": "dark"}, {"label": "Both", "value": "both"}], "allowFreeText": false},
            {"id": "q2", "question": "Where is the toggle?", "options": [], "allowFreeText": true},
        ],
    })
}

#[test]
fn chat_32_chat_33_chat_35_the_signal_is_found_however_it_is_spaced() {
    let compact = signal().to_string();
    let spaced = serde_json::to_string_pretty(&signal()).unwrap();
    assert!(compact.contains("\"interactive\":true") && spaced.contains("\"interactive\": true"));
    for reply in [
        compact.clone(),
        spaced.clone(),
        format!("  \n{spaced}\n"),
        format!("```json\n{spaced}\n```"),
        format!("```\n{compact}\n```\n"),
    ] {
        let batch = detect(&reply).unwrap();
        assert_eq!(outline(&batch), "Which theme? [Dark=dark, Both=both]; Where is the toggle? [] or words");
        assert_eq!(
            (batch.goal.as_deref(), batch.description.as_deref()),
            (Some("dark-mode"), Some("add-dark-mode"))
        );
    }
}

#[test]
fn chat_34_anything_else_is_an_ordinary_reply() {
    let with = |key: &str, value: Value| {
        let mut signal = signal();
        signal[key] = value;
        signal.to_string()
    };
    let whole = signal().to_string();
    for reply in [
        String::new(),
        "Done.".into(),
        "{".into(),
        "{\"interactive\":true".into(),
        whole[..whole.len() - 1].to_owned(),
        format!("I would ask: {whole}"),
        format!("{whole} What do you think?"),
        format!("As an example:\n```json\n{whole}\n```"),
        format!("[{whole}]"),
        with("interactive", json!(false)),
        with("interactive", json!("true")),
        with("interactive", json!(null)),
        with("questions", json!([])),
        with("questions", json!(null)),
        with("questions", json!("none")),
        with("questions", json!([{"question": " "}])),
        with("questions", json!([7])),
        json!({"questions": [{"question": "Which?"}]}).to_string(),
    ] {
        assert_eq!(detect(&reply), None, "{reply}");
    }
}

#[test]
fn chat_36_one_to_seven_questions_are_taken() {
    for (given, taken) in [(1, 1), (3, 3), (7, 7), (12, 7)] {
        let questions: Vec<_> = (0..given).map(|n| json!({"question": format!("Q{n}?")})).collect();
        let reply = json!({"interactive": true, "questions": questions}).to_string();
        assert_eq!(detect(&reply).unwrap().questions.len(), taken);
    }
}
