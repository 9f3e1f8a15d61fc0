//! Calls that request JSON: which reply they get, in which form, and that nothing else is played or stored.

use serde_json::{Value, json};

use crate::support::rehearsal::{Rehearsal, json_lines};

const ROUNDS: &str = r#"
version: 1
name: rounds
invocations:
  - result: "Hi."
batches:
  - goal: dark mode
    questions:
      - question: "Which theme first?"
        options: [{ label: Dark, value: dark }, { label: Both, value: both, recommended: true }]
      - { question: "What is it called?", allowFreeText: true }
  - "Hm, let me think."
  - questions: [{ question: "Where is the switch?" }]
"#;

const SCHEMA: [&str; 3] = ["-p", "--json-schema", "{}"];

/// The reply to a message, as the result's JSON and as its text.
fn reply(rehearsal: &Rehearsal, message: &str) -> (Value, String) {
    let output = rehearsal.run(&[&SCHEMA[..], &["--output-format", "json", message]].concat());
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&event["type"], &event["subtype"]), (&json!("result"), &json!("success")));
    (event["structured_output"].clone(), event["result"].as_str().unwrap().to_owned())
}

#[test]
fn chat_5_the_answers_in_a_message_choose_the_reply() {
    let rehearsal = Rehearsal::of_text(ROUNDS);
    let (first, text) = reply(&rehearsal, "Task: x");
    assert_eq!(
        first["questions"][0]["options"][1],
        json!({"label": "Both", "value": "both", "recommended": true})
    );
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), first);
    let told = "Task: x\n\nAnswers gathered so far:\nQ: a → 1\nQ: b → 2\n";
    assert_eq!(reply(&rehearsal, told), (Value::Null, "Hm, let me think.".into()));
    let again = format!("{told}\nMore?\n\nYour last reply could not be used: it is prose");
    assert_eq!(reply(&rehearsal, &again).0, json!({"questions": [{"question": "Where is the switch?"}]}));
    let all = format!("{told}Q: c → 3\n");
    assert_eq!(reply(&rehearsal, &all).0, json!({"done": true, "questions": []}));
    let kept = std::fs::read_dir(rehearsal.home()).unwrap().count();
    assert_eq!(kept, 0, "no conversation is kept");
    assert_eq!(rehearsal.run(&["-p", "go"]).stdout, b"Hi.\n", "and the script was not played on");
}

#[test]
fn only_what_was_asked_for_is_printed() {
    let rehearsal = Rehearsal::of_text(ROUNDS);
    let text = rehearsal.run(&[&SCHEMA[..], &["go"]].concat()).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap()["goal"], "dark mode");
    let stream = rehearsal.run(&[&SCHEMA[..], &["--output-format", "stream-json", "go"]].concat()).stdout;
    let kinds: Vec<_> = json_lines(&String::from_utf8(stream).unwrap())
        .iter()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["system", "result"]);
}
