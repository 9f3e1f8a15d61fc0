//! Planners, which make rounds of questions: over the API, through the CLI, and with replies that make no sense.

mod agent;
mod choosing;
mod faults;
mod messages;
mod server;
mod settings;

use std::time::Duration;

use rapport::planners::messages::{Credential, Messages, MessagesConfig};
use rapport_core::{Brief, QuestionRound};
use serde_json::{Value, json};

/// A key that must never appear in any output.
const KEY: &str = "sk-ant-very-secret";

/// A brief for this round, with these questions answered.
fn brief(round: u32, answered: &[(&str, &str)]) -> Brief {
    let answered = answered.iter().map(|(q, a)| ((*q).to_owned(), (*a).to_owned())).collect();
    Brief { task: "add JWT auth".into(), round, max_rounds: 3, answered }
}

/// A first round with one good question.
fn good() -> Value {
    json!({"goal": "jwt auth", "description": "add jwt auth", "done": false, "questions": [question("Which library?")]})
}

fn question(text: &str) -> Value {
    let option =
        |label: &str| json!({"label": label, "value": label, "description": "", "recommended": false});
    json!({"question": text, "options": [option("A"), option("B")], "allowFreeText": false, "multiSelect": false})
}

/// What is asked.
fn texts(batch: &QuestionRound) -> Vec<&str> {
    batch.questions.iter().map(|question| question.text.as_str()).collect()
}

/// The API at this address, asked without long pauses.
fn config(base_url: &str) -> MessagesConfig {
    MessagesConfig {
        base_url: base_url.into(),
        first_pause: Duration::from_millis(1),
        timeout: Duration::from_secs(30),
        ..MessagesConfig::new(Credential::Key(KEY.into()))
    }
}

fn api(base_url: &str) -> Messages {
    Messages::new(config(base_url)).unwrap()
}
