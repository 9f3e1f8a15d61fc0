//! Shared parts of the tests' scenarios.

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Ask, Bash, Call, FullQuestion, Scenario};
use serde_json::{Value, json};

/// Asks which database, in the words of the recordings.
pub(crate) fn which_db() -> Ask {
    Ask::one(FullQuestion::new("Which db?", "DB", &[("PG", "x"), ("SQLite", "y")])).with_id("toolu_ask0")
}

/// Asks which storage, in the words of the recordings.
pub(crate) fn which_storage() -> Ask {
    let options = [("Cookie", "HttpOnly"), ("Local", "localStorage")];
    Ask::one(FullQuestion::new("Which storage?", "Storage", &options)).with_id("toolu_ask1")
}

/// Asks about auth, in the words of the recordings.
pub(crate) fn which_auth() -> Ask {
    let methods = [("JWT", "Stateless tokens"), ("Session", "Server sessions")];
    let providers = [("Google", "Google OAuth"), ("GitHub", "GitHub OAuth")];
    Ask::one(FullQuestion::new("Which auth method?", "Auth", &methods))
        .and(FullQuestion::new("Which providers?", "Providers", &providers).multi())
        .with_id("toolu_ask1")
}

/// Says a word, asks about auth, is done.
pub(crate) fn live_answer() -> ScenarioBuilder {
    Scenario::new("live answer")
        .respond_with_text("I need to know a few things first.")
        .asks(which_auth())
        .respond_with_text("Thanks. Done planning.")
}

/// Asks two things in one message.
pub(crate) fn two_questions() -> ScenarioBuilder {
    Scenario::new("two questions")
        .together(vec![Call::Ask(which_db()), Call::Ask(which_storage())])
        .respond_with_text("Done.")
}

/// A command with an id and a description.
pub(crate) fn bash(id: &str, command: &str, description: &str) -> Bash {
    Bash {
        command: command.to_owned(),
        description: Some(description.to_owned()),
        background: false,
        permission: false,
        id: Some(id.to_owned()),
    }
}

/// The kinds of events, in one line each, as people talk about them.
pub(crate) fn outline(events: &[Value]) -> Vec<String> {
    events.iter().map(kind).collect()
}

/// One event in a few words: type, subtype, what it is about.
pub(crate) fn kind(event: &Value) -> String {
    let block = &event["message"]["content"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap_or("not an event") {
        "system" => format!("system {}", text(&event["subtype"])),
        "assistant" if block["type"] == "text" => format!("says {}", text(&block["text"])),
        "assistant" => format!("calls {} {}", text(&block["name"]), text(&block["id"])),
        "user" if block["type"] == "tool_result" => {
            let how = if block["is_error"] == true { "error" } else { "result" };
            format!("{how} {}", text(&block["tool_use_id"]))
        }
        "user" => format!("notes {}", text(&block["text"])),
        "control_request" => {
            let request = &event["request"];
            format!("asks {} {}", text(&request["subtype"]), text(&request["tool_use_id"]))
        }
        "result" => format!("{} {} {}", text(&event["type"]), text(&event["subtype"]), event["stop_reason"]),
        other => other.to_owned(),
    }
}

/// The answers of the recordings.
pub(crate) fn auth_answers() -> Value {
    json!({"Which auth method?": "JWT", "Which providers?": "Google"})
}
