//! Files that an older relay left behind are taken over (CHAT-13, CHAT-18, CHAT-20).

use serde_json::{Value, json};

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;

fn left(extra: &Value) -> Value {
    let option = |label: &str| json!({ "label": label, "value": label.to_lowercase() });
    let question = |id: &str, text: &str| json!({ "id": id, "question": text, "options": [option("Yes"), option("No")], "allowFreeText": false, "multiSelect": false });
    let mut file = json!({
        "sessionId": "3f0e8a52-6d0c-4a36-9f7c-0d3c1a7d5a11",
        "chatId": ANNA,
        "state": "COLLECTING",
        "task": "add JWT authentication",
        "goal": "jwt-auth",
        "description": "implement-jwt-auth-system",
        "questions": [question("q1", "Cookies?"), question("q2", "Refresh?"), question("q3", "Roles?")],
        "answers": ["yes", null, null],
        "currentQuestionIndex": 1,
        "createdAt": "2026-02-18T13:18:06Z",
        "updatedAt": "2026-02-18T13:18:06Z",
    });
    for (name, value) in extra.as_object().unwrap() {
        file[name] = value.clone();
    }
    file
}

async fn taken_over(extra: Value) -> Stage {
    let mut stage = Stage::quiet(AUTH).await;
    let folder = stage.project.path("home/.rapport/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{ANNA}-interactive.json")), left(&extra).to_string()).unwrap();
    for (name, content) in NOT_OURS {
        std::fs::write(folder.join(name), content).unwrap();
    }
    stage.serve();
    stage
}

/// What else a relay leaves there: a plan whose file was damaged, and the session of a chat.
const NOT_OURS: [(&str, &str); 2] =
    [("77-interactive.json", "{ broken"), ("42.json", "{\"sessionId\":null}")];

/// One that knows nothing of rounds goes on at the same question, with its answers.
#[tokio::test]
async fn an_old_file_goes_on_where_it_was() {
    let mut stage = taken_over(json!({})).await;
    let anna = stage.anna();
    anna.sees("Q2 of 3").await;
    stage.kill();
    stage.serve();
    anna.taps("No").await;
    anna.sees("Q3 of 3").await;
    let file = stage.filed(ANNA, "the answers", |file| file["answers"] == json!(["yes", "no", null]));
    assert_eq!(file["sessionId"], "3f0e8a52-6d0c-4a36-9f7c-0d3c1a7d5a11");
    assert_eq!(file["round"], 1);
    assert_eq!(stage.sessions().len(), 1, "taken over once");
    // CHAT-17, CHAT-18: what is not understood is neither lost nor in the way.
    for (name, content) in NOT_OURS {
        let path = stage.project.path("home/.rapport/sessions").join(name);
        assert_eq!(std::fs::read_to_string(path).unwrap(), content, "{name}");
    }
}

// CHAT-17: `RELAY_DIR` is where the files of chats are, whatever Rapport's own home is; folders are made where they
// are missing.
#[tokio::test]
async fn chat_17_the_folder_of_the_older_relay_is_used() {
    let mut stage = Stage::quiet(AUTH).await;
    let (relay, home) = (stage.project.path("relay/deep"), stage.project.path("rapport-home"));
    stage.serve_with(&[("RELAY_DIR", relay.to_str().unwrap()), ("RAPPORT_HOME", home.to_str().unwrap())]);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    let file = relay.join(format!("sessions/{ANNA}-interactive.json"));
    wait_for("the file", || file.exists().then_some(()));
    assert!(!home.join("sessions").exists());
}

// CHAT-17: what a relay left in the folder that older ones use by themselves goes on, once.
#[tokio::test]
async fn chat_17_what_is_in_the_old_default_folder_is_taken_over() {
    let mut stage = Stage::quiet(AUTH).await;
    let folder = stage.project.path("home/.claude-relay/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{ANNA}-interactive.json")), left(&json!({})).to_string()).unwrap();
    stage.serve();
    let anna = stage.anna();
    anna.sees("Q2 of 3").await;
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.taps("No").await;
    anna.sees("Q3 of 3").await;
    stage.filed(ANNA, "the answers", |file| file["answers"] == json!(["yes", "no", null]));
    assert_eq!(stage.sessions().len(), 1, "taken over once");
}

/// One in its second round keeps its rounds; one that was being carried out waits for confirmation again.
#[tokio::test]
async fn rounds_and_what_was_interrupted_are_kept() {
    let stage = taken_over(json!({
        "round": 2, "currentBatchStart": 2, "currentQuestionIndex": 2, "answers": ["yes", "no", null],
        "completedQA": [{ "question": "Cookies?", "answer": "yes" }, { "question": "Refresh?", "answer": "no" }],
    })).await;
    let anna = stage.anna();
    let card = anna.sees("Q3 of 3").await;
    assert_eq!(card.buttons().last().unwrap(), &["✖ Cancel"], "no way back into an earlier round");
    let file = stage.filed(ANNA, "the round", |file| file["round"] == 2);
    assert_eq!((&file["currentBatchStart"], file["completedQA"].as_array().unwrap().len()), (&json!(2), 2));

    let stage = taken_over(
        json!({ "state": "EXECUTING", "answers": ["yes", "no", "yes"], "currentQuestionIndex": 3 }),
    )
    .await;
    let anna = stage.anna();
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Q3: Roles? → Yes"), "{}", plan.text());
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Auth is in place.").await;
}

/// CHAT-20 with several projects: a plan of one is not taken over by another that the bot serves in between, and its
/// buttons are there when the first is served again.
#[tokio::test]
async fn a_plan_of_another_project_is_left_alone() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    let card = anna.sees("Q1 of 3").await;
    stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    assert_eq!(stage.stop(), 0);
    let other = stage.project.path("other");
    std::fs::create_dir_all(&other).unwrap();
    stage.serve_with(&[("PROJECT_DIR", other.to_str().unwrap())]);
    anna.types("/status");
    anna.sees("Nothing waits for you").await;
    anna.taps_on(&card, "Express");
    assert_eq!(anna.toast().await, "This task is not in the project I serve now.");
    assert_eq!(stage.stop(), 0);
    assert_eq!(
        std::fs::read_dir(other.join(".rapport/sessions")).unwrap().count(),
        0,
        "nothing was begun there"
    );
    let asked = stage.server.messages(ANNA).into_iter().filter(|message| message.text().contains("Q1 of 3"));
    assert_eq!(asked.map(|card| card.buttons().is_empty()).collect::<Vec<_>>(), [false]);
    stage.serve();
    anna.taps_on(&card, "Express");
    anna.sees("Q2 of 3").await;
}
