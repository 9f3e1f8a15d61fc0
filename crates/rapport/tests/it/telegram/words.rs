//! What people and models write: too long, too odd, not at all what was expected.

use rapport_core::Event;
use serde_json::Value;

use super::{ANNA, AUTH, Stage};
use crate::support::project::Project;
use crate::support::telegram::{ChatMessage, Fault, State};

/// CHAT-38, and tasks of every kind: the card is always a card, and the plan is always a file.
#[tokio::test]
async fn any_task_can_be_planned() {
    let long = "Rewrite the parser. ".repeat(250);
    let tasks = [long.trim(), "🎉🎉🎉", "*bold* _it_ [x](y) `code` <b>&amp; \\ ~ # + - = | { } . !"];
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    for task in tasks {
        anna.types(&format!("/plan {task}"));
        let card = anna.sees("Q1 of 3").await;
        assert!(card.text().chars().count() < 400, "{}", card.text());
        super::cases::answer_all(&anna).await;
        stage.filed(ANNA, "the whole task", |file| file["task"] == task);
        anna.taps("✖ Cancel").await;
        anna.taps("✖ Yes, cancel it").await;
        anna.sees("Planning cancelled").await;
    }
    assert_eq!(stage.server.violations(), []);
}

/// CHAT-15, CHAT-38 and CHAT-43: twelve options, questions twice, a very long one.
#[tokio::test]
async fn what_a_model_makes_is_brought_within_the_limits() {
    let options: Vec<_> = (1..=12).map(|n| format!("{{ label: Option {n}, value: o{n} }}")).collect();
    let question = "Why? ".repeat(100);
    let scenario = format!(
        "version: 1\nname: odd\nbatches:\n  - questions:\n      - {{ question: \"{question}\", options: [{options}] }}\n      \
         - {{ question: \"Same?\", options: [{{ label: A }}, {{ label: B }}] }}\n      - {{ question: \"Same?\", options: [{{ label: A }}, {{ label: B }}] }}\n\
         invocations: [{{ result: \"Done.\" }}]\n",
        options = options.join(", ")
    );
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("/plan something odd");
    let card = anna.sees("Q1 of 2").await;
    assert_eq!(card.buttons().iter().flatten().filter(|label| label.starts_with("Option")).count(), 4);
    let shown = card.text().split("\n\n").last().unwrap().to_owned();
    assert_eq!(shown.chars().count(), 200, "{shown}");
    anna.taps("📄 Show all").await;
    let whole = anna.sees("Why? Why?").await;
    assert_eq!(whole.text().trim(), question.trim(), "all of it is one tap away");
    let file =
        stage.filed(ANNA, "the file", |file| file["questions"].as_array().is_some_and(|all| all.len() == 2));
    assert_eq!(
        file["questions"][0]["question"].as_str().unwrap().trim(),
        question.trim(),
        "whole in the file"
    );
}

/// The free try, without a scenario of one's own, asks before it plans.
#[tokio::test]
async fn the_built_in_rehearsal_asks_before_it_plans() {
    let mut stage = Stage::of(Project::with_agent("rehearsal")).await;
    stage.serve();
    let anna = stage.anna();
    anna.types("/plan add dark mode");
    anna.sees("Q1 of 2").await;
    anna.taps("⭐ All as recommended").await;
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Q2: What should it be called? → greeting.sh"), "{}", plan.text());
}

/// Nothing to ask: the plan is there at once.
#[tokio::test]
async fn an_empty_list_is_a_plan() {
    let stage = Stage::playing("version: 1\nname: clear\nbatches:\n  - { questions: [], done: true }\ninvocations: [{ result: \"Done.\" }]\n").await;
    let anna = stage.anna();
    anna.types("/plan fix the typo");
    let plan = anna.sees("Plan Ready").await;
    assert_eq!(plan.buttons()[0], ["✅ Confirm & Start"]);
}

/// Prose and broken JSON are asked for once more; what stays senseless is told, and the chat is free again.
#[tokio::test]
async fn a_model_that_makes_no_sense_is_told() {
    let batches = "batches:\n  - \"Well, it depends.\"\n  - \"{ \\\"questions\\\": [\"\n  - \"Still no.\"\n";
    let scenario = format!("version: 1\nname: senseless\n{batches}invocations: [{{ result: \"Hello.\" }}]\n");
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("/plan something");
    let failed = anna.sees("❌").await;
    assert!(
        failed.text().starts_with("❌ Failed to generate questions. Please try /plan again."),
        "{}",
        failed.text()
    );
    anna.types("hello?");
    anna.sees("Hello.").await;
    assert!(stage.file(ANNA).is_none());
}

/// CHAT-8 and the failure of a follow-up: the plan is made of what is known.
#[tokio::test]
async fn a_failed_follow_up_leads_to_the_plan() {
    let scenario = r##"
version: 1
name: half
batches:
  - questions: [{ question: "Which?", options: [{ label: One, value: one }, { label: Two, value: two }] }]
  - "No idea."
  - "Really none."
  - "None."
invocations: [{ result: "Done." }]
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("/plan something");
    anna.taps("One").await;
    anna.sees("Could not check for follow-up questions").await;
    let plan = anna.sees_last("Plan Ready").await;
    assert!(plan.text().contains("Q1: Which? → One"), "{}", plan.text());
}

/// A model that always has one more question.
const NEVER_DONE: &str = r##"
version: 1
name: never done
batches:
  - questions: [{ question: "First?", options: [{ label: One, value: one }, { label: Two, value: two }] }]
  - questions: [{ question: "Second?", options: [{ label: Three, value: three }, { label: Four, value: four }] }]
  - questions: [{ question: "Third?", options: [{ label: Five, value: five }, { label: Six, value: six }] }]
  - questions: [{ question: "Fourth?", options: [{ label: Seven, value: seven }, { label: Eight, value: eight }] }]
invocations: [{ result: "Done." }]
"##;

// CHAT-8: three rounds, then the plan, and the model is not called again.
#[tokio::test]
async fn chat_8_after_three_rounds_the_plan_is_made() {
    let stage = Stage::playing(NEVER_DONE).await;
    let anna = stage.anna();
    anna.types("/plan something");
    for (n, label) in ["One", "Three", "Five"].into_iter().enumerate() {
        anna.taps(label).await;
        let round = |file: &Value| file["answers"][n].is_string();
        assert_eq!(stage.filed(ANNA, label, round)["round"], n + 1);
    }
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Q3: Third? → Five") && !plan.text().contains("Fourth?"), "{}", plan.text());
    assert_eq!(stage.project.agent_inputs().len(), 3, "one call per round");
}

// CHAT-8: how many rounds is a setting.
#[tokio::test]
async fn chat_8_the_rounds_are_a_setting() {
    let mut stage = Stage::quiet(NEVER_DONE).await;
    stage.serve_with(&[("RAPPORT_ROUNDS_MAX", "1")]);
    let anna = stage.anna();
    anna.types("/plan something");
    anna.taps("One").await;
    let plan = anna.sees("Plan Ready").await;
    assert!(!plan.text().contains("Second?"), "{}", plan.text());
    assert_eq!(stage.project.agent_inputs().len(), 1);
}

/// During a question nothing but an answer counts: no photo, voice message or sticker.
#[tokio::test]
async fn what_is_no_text_is_no_answer() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    let before = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    anna.sends_photo("");
    anna.sees("I cannot accept a photo as an answer").await;
    anna.sends_voice();
    anna.sees("I cannot accept a voice message as an answer").await;
    anna.sends_sticker("👍");
    anna.sees("I cannot accept a sticker as an answer").await;
    assert_eq!(stage.file(ANNA), Some(before));
    anna.taps("✍️ Type your own").await;
    let prompt = anna.sees("Type your answer").await;
    anna.replies_to(prompt.id, "Hono");
    anna.sees("Q2 of 3").await;
    stage.filed(ANNA, "the answer", |file| file["answers"][0] == "Hono");
    let is_gone = |state: &State| state.message(ANNA, prompt.id).is_none().then_some(());
    stage.server.wait_for("nobody being asked to type any more", is_gone).await;
}

/// Words below a picture are read: a command there is one, and an answer too.
#[tokio::test]
async fn captions_are_read() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.sends_photo("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    let answer = anna.sends_photo("Koa");
    anna.sees("Q2 of 3").await;
    let begins =
        |file: &Value, text: &str| file["answers"][0].as_str().is_some_and(|answer| answer.starts_with(text));
    stage.filed(ANNA, "the caption", |file| begins(file, "Koa\n"));
    // A changed caption is a changed answer, and its picture is still with it.
    anna.edits_message(answer, "Hono");
    anna.sees("✏️ Changed: Which framework? → Hono").await;
    let changed = stage.filed(ANNA, "the changed caption", |file| begins(file, "Hono\n"));
    assert!(changed["answers"][0].as_str().unwrap().contains("photo.jpg"), "{changed}");
}

/// A message that is passed on has its author's name, and is never a command.
#[tokio::test]
async fn forwards_are_read() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    anna.forwards("Bert", "/cancel");
    stage.filed(ANNA, "the words of Bert", |file| file["answers"][0] == "Forwarded from Bert:\n\n/cancel");
    anna.sees("Q2 of 3").await;
}

/// A message that was an answer and is edited changes the answer: in the round, after a kill, and at the plan. Once
/// the agent works with it, the bot says that it is too late, and nothing changes. What was no answer is not passed
/// over in silence.
#[tokio::test]
async fn an_edited_answer_counts_until_it_is_too_late() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    let task = anna.types("/plan add JWT authentication");
    let first = anna.sees("Q1 of 3").await;
    let answer = anna.types("Koa");
    anna.sees("Q2 of 3").await;
    anna.edits_message(answer, "Hono");
    anna.sees("✏️ Changed: Which framework? → Hono").await;
    stage.filed(ANNA, "the changed answer", |file| file["answers"][0] == "Hono");
    stage
        .server
        .wait_for("the new answer on its card", |state| {
            state.message(ANNA, first.id).filter(|card| card.text().ends_with("✅ Hono")).map(drop)
        })
        .await;
    assert!(anna.on_screen_button("Yes, 7 days"), "the second question is still open");
    anna.edits_message(task, "/plan something else");
    anna.sees("I have read that message as it was first").await;

    stage.kill();
    anna.edits_message(answer, "Polka");
    stage.serve();
    anna.sees("✏️ Changed: Which framework? → Polka").await;
    for label in ["No", "None", "Cookies"] {
        anna.taps(label).await;
    }
    let plan = anna.sees("Plan Ready").await;
    assert!(plan.text().contains("Q1: Which framework? → Polka"), "{}", plan.text());

    anna.edits_message(answer, "Elysia");
    // The plan is shown again, to be confirmed as it is now.
    let renewed = |state: &State| {
        let is_new = |card: &&ChatMessage| card.id > plan.id && card.text().starts_with("✅ Plan Ready");
        state.messages_in(ANNA, None).find(is_new).map(|card| card.text().contains("framework? → Elysia"))
    };
    assert!(stage.server.wait_for("the plan as it is now", renewed).await);
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Auth is in place.").await;
    anna.edits_message(answer, "Express");
    anna.sees("That came too late").await;
    let prompts = stage.prompts();
    assert!(prompts.iter().any(|prompt| prompt.contains("Elysia")), "{prompts:?}");
    assert!(prompts.iter().all(|prompt| !prompt.contains("Polka")), "{prompts:?}");
    let answers =
        stage.sessions().into_iter().flat_map(|(_, _, facts)| facts).filter_map(|fact| match fact {
            Event::Answered { question, answer, .. } if question.as_str() == "q1" => answer.text,
            _ => None,
        });
    assert_eq!(answers.collect::<Vec<_>>(), ["Koa", "Hono", "Polka", "Elysia"]);
}

/// The agent of a task took the answer at once: an edit of it is too late.
#[tokio::test]
async fn an_answer_that_the_agent_has_cannot_be_edited() {
    let scenario = r##"
version: 1
name: port
invocations:
  - steps:
      - ask: { questions: [{ question: "Which port?", header: Port, options: [{ label: "8080" }, { label: "9090" }] }] }
      - wait_message: true
    result: "Done."
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("begin");
    anna.sees("Which port?").await;
    let answer = anna.types("7000");
    anna.sees("✅ 7000").await;
    // The card shows the answer as soon as it is stored; until the agent has it, another reason is told.
    crate::support::patience::wait_for("the agent to have the answer", || {
        let facts = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts);
        facts.into_iter().find(|fact| matches!(fact, Event::Taken { .. }))
    });
    anna.edits_message(answer, "7001");
    anna.sees("That came too late: the agent already works with it. The answer stays as it was.").await;
}

/// A text of more than a message's length comes as several messages, and is one answer. A kill loses no part of it.
#[tokio::test]
async fn a_long_paste_is_one_answer() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    let parts = ["a".repeat(4096), "b".repeat(4000), "end".to_owned()];
    for part in &parts {
        anna.types(part);
    }
    let whole = format!("{}{}\nend", parts[0], parts[1]);
    stage.filed(ANNA, "the whole answer", |file| file["answers"][0] == whole.as_str());
    anna.sees("Q2 of 3").await;
    stage.kill();
    anna.types(&format!("/plan {}", "a".repeat(4090)));
    anna.types("the rest of it");
    stage.serve();
    stage.filed(ANNA, "the whole task", |file| {
        file["task"].as_str().is_some_and(|task| task.ends_with("the rest of it") && task.starts_with("aaa"))
    });
}

/// CHAT-25: a path is an answer like any other; only what can be a command is one.
#[tokio::test]
async fn a_path_is_an_answer_and_no_command() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    anna.types("/etc/nginx/nginx.conf");
    anna.sees("Q2 of 3").await;
    stage.filed(ANNA, "the answer", |file| file["answers"][0] == "/etc/nginx/nginx.conf");
    anna.taps("← Back").await;
    anna.sees_last("Q1 of 3").await;
    anna.types("/data");
    anna.sees("I do not know /data.").await;
    anna.taps("✍️ Type your own").await;
    let prompt = anna.sees("Type your answer").await;
    anna.replies_to(prompt.id, "/data");
    stage.filed(ANNA, "the reply", |file| file["answers"][0] == "/data");
    anna.replies_to(prompt.id, "/status");
    anna.sees("Waiting for you").await;
}

/// CHAT-25: words count for a question that was there when they were written, not for one that is still on its way.
#[tokio::test]
async fn nobody_answers_what_they_have_not_seen() {
    let scenario = r##"
version: 1
name: words
batches:
  - questions:
      - { question: "Which framework?", options: [{ label: Express, value: express }], allowFreeText: true }
      - { question: "Which database?", options: [{ label: SQLite, value: sqlite }], allowFreeText: true }
invocations: [{ result: "Done." }]
"##;
    let stage = Stage::playing(scenario).await;
    let anna = stage.anna();
    anna.types("/plan a service");
    anna.sees("Q1 of 2").await;
    stage.server.fault("sendMessage", Fault::TooManyRequests { retry_after: 2 });
    anna.types("Koa");
    stage.filed(ANNA, "the first answer", |file| file["answers"][0] == "Koa");
    anna.types("with Hono, if you can");
    anna.sees("You wrote that before you could see this question").await;
    let file = stage.file(ANNA).unwrap();
    assert_eq!((&file["answers"][1], &file["currentQuestionIndex"]), (&Value::Null, &Value::from(1)));
    anna.sees("Q2 of 2").await;
    anna.types("Postgres");
    stage.filed(ANNA, "the second answer", |file| file["answers"][1] == "Postgres");
}
