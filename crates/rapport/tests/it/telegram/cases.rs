//! TC01 to TC12, under their names.

use rapport_core::{Aim, Event, INTERACTIVE};
use serde_json::{Value, json};

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{Person, Rates, State};

const TASK: &str = "add JWT authentication";

/// Answers all four questions, and waits for the plan.
pub(super) async fn answer_all(anna: &Person) {
    for label in ["Express", "No", "None", "Cookies"] {
        anna.taps(label).await;
    }
    anna.sees("Plan Ready").await;
}

/// CHAT-2, CHAT-6, CHAT-12, CHAT-17, CHAT-23, CHAT-37.
#[tokio::test]
async fn tc01_plan_starts_the_questions() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    let card = anna.sees("Q1 of 3").await;
    assert_eq!(
        card.text(),
        "📋 Planning: add JWT authentication\n━━━━━━━━━━━━━━━━━━━━━━\nQ1 of 3 ▓▓▓░░░░░░░ 33%\n\nWhich framework?"
    );
    assert_eq!(card.marked("bold"), ["Planning: add JWT authentication"]);
    let buttons = [vec!["Express", "Fastify"], vec!["✍️ Type your own"], vec!["✖ Cancel"]];
    assert_eq!(card.buttons(), buttons);
    let file = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    let names: Vec<_> = file.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "answers",
        "chatId",
        "completedQA",
        "createdAt",
        "currentBatchStart",
        "currentQuestionIndex",
        "description",
        "goal",
        "project",
        "questions",
        "round",
        "sessionId",
        "state",
        "task",
        "updatedAt",
    ];
    assert_eq!(names, expected, "CHAT-13, and `project`, as docs/telegram.md says");
    let id = uuid::Uuid::parse_str(file["sessionId"].as_str().unwrap()).unwrap();
    assert_eq!(id.get_version_num(), 4, "CHAT-13");
    assert_eq!(file["currentQuestionIndex"], 0);
    assert_eq!(file["chatId"], ANNA);
    assert_eq!(file["task"], TASK);
    assert_eq!(
        (&file["goal"], &file["description"]),
        (&json!("jwt-auth"), &json!("implement-jwt-auth-system"))
    );
    assert_eq!(file["answers"], json!([null, null, null]));
    // CHAT-1, CHAT-42: who makes the questions is asked once, and no agent is started for a conversation.
    let agents = stage.project.agent_inputs();
    assert_eq!(agents.len(), 1, "{agents:?}");
    assert!(stage.prompts().is_empty(), "{agents:?}");
    assert_eq!(stage.server.violations(), []);
}

/// CHAT-16, CHAT-18, CHAT-24.
#[tokio::test]
async fn tc02_a_button_advances() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    let first = anna.sees("Q1 of 3").await;
    let before = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    let path = stage.project.path(&format!("home/.rapport/sessions/{ANNA}-interactive.json"));
    let opened_before = std::fs::File::open(&path).unwrap();
    anna.taps_data("iq:a:0:1");
    let second = anna.sees("Q2 of 3").await;
    assert_ne!(first.id, second.id, "a new message makes a sound");
    let file = stage.filed(ANNA, "the answer", |file| file["answers"][0] == "fastify");
    assert_eq!(file["currentQuestionIndex"], 1);
    // CHAT-18: another file took its place; whoever was reading the one before has it whole, and nothing else is left.
    let read: Value = serde_json::from_reader(opened_before).unwrap();
    assert_eq!(read, before);
    wait_for("nothing else to be left there", || {
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        (names.collect::<Vec<_>>() == [path.clone()]).then_some(())
    });
    let old = stage.server.wait_for("the buttons to be gone", |state| {
        let card = state.message(ANNA, first.id)?;
        card.buttons().is_empty().then(|| card.clone())
    });
    assert!(old.await.text().ends_with("Which framework?\n\n✅ Fastify"));
    // What throws everything away is not beside what is tapped often.
    assert_eq!(second.buttons()[second.buttons().len() - 2..], [["← Back"], ["✖ Cancel"]]);
}

/// CHAT-25.
#[tokio::test]
async fn tc03_free_text_is_taken_where_it_is_allowed() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    anna.sees("Q1 of 3").await;
    anna.types("custom answer");
    anna.sees("Q2 of 3").await;
    let file = stage.filed(ANNA, "the answer", |file| file["answers"][0] == "custom answer");
    assert_eq!(file["currentQuestionIndex"], 1);
}

/// CHAT-26.
#[tokio::test]
async fn tc04_free_text_is_not_taken_where_it_is_not_allowed() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    anna.taps("Express").await;
    anna.sees("Q2 of 3").await;
    let before = stage.filed(ANNA, "the answer", |file| file["answers"][0] == "express");
    anna.types("something");
    let hint = anna.sees("Please use the buttons").await;
    assert_eq!(hint.text(), "Please use the buttons to answer ☝️");
    assert_eq!(stage.file(ANNA), Some(before));
    assert_eq!(stage.sessions_for(&Aim::Chat), 0, "it is not passed on");
}

/// CHAT-27.
#[tokio::test]
async fn tc05_back_returns_to_the_question_before() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    anna.taps("Express").await;
    anna.taps("No").await;
    anna.sees("Q3 of 3").await;
    let file = stage.filed(ANNA, "two answers", |file| file["currentQuestionIndex"] == 2);
    assert_eq!(file["answers"], json!(["express", "no", null]));
    let seen = stage.server.messages(ANNA).last().unwrap().id;
    anna.taps_data("iq:back");
    let card = anna.sees_last("Q2 of 3").await;
    assert!(card.id > seen, "it is shown again, as a new card");
    assert!(card.button("No").is_some() && card.text().contains("Refresh tokens?"), "{}", card.text());
    let file = stage.filed(ANNA, "the step back", |file| file["currentQuestionIndex"] == 1);
    assert_eq!(
        file["answers"],
        json!(["express", "no", null]),
        "the answer before stands until there is another"
    );
    anna.taps("Yes, 7 days").await;
    anna.sees("Q3 of 3").await;
    stage.filed(ANNA, "the other answer", |file| file["answers"][1] == "yes");
    // Twice, to the first question, which has no way back.
    anna.taps_data("iq:back");
    anna.sees_last("Q2 of 3").await;
    anna.taps_data("iq:back");
    let first = anna.sees_last("Q1 of 3").await;
    assert_eq!(first.buttons().last().unwrap(), &["✖ Cancel"]);
    assert!(first.button("← Back").is_none());
    let file = stage.filed(ANNA, "the first question", |file| file["currentQuestionIndex"] == 0);
    assert_eq!(file["answers"], json!(["express", "yes", null]), "docs/telegram.md says so");
    anna.taps_data("iq:back");
    anna.sees("there is no earlier question to go back to in this round").await;
    assert_eq!(stage.file(ANNA), Some(file), "and there it stays");
}

/// CHAT-10, CHAT-28, CHAT-29, CHAT-39.
#[tokio::test]
async fn tc06_the_edit_menu_lists_all_questions() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    answer_all(&anna).await;
    let summary = anna.sees_last("Plan Ready").await;
    let path = ".claude/todos/jwt-auth/implement-jwt-auth-system.md";
    assert_eq!(
        summary.text(),
        format!(
            "✅ Plan Ready\n━━━━━━━━━━━━━━━━━━━━━━\nTask: {TASK}\n\nQ1: Which framework? → Express\n\
             Q2: Refresh tokens? → No\nQ3: Existing auth? → None\nQ4: Where are tokens kept? → Cookies\n\n\
             📁 Saved to: {path}"
        )
    );
    assert_eq!(summary.marked("bold"), ["Plan Ready", "Task:", "Q1:", "Q2:", "Q3:", "Q4:"], "CHAT-39");
    assert_eq!(summary.buttons()[0], ["✅ Confirm & Start", "✏️ Edit Answers"]);
    let file = stage.filed(ANNA, "the plan", |file| file["planPath"] == path);
    assert_eq!(file["state"], "CONFIRMING");
    assert_eq!(file["completedQA"].as_array().unwrap().len(), 4);
    anna.taps_data("iq:edit");
    let menu = anna.sees("Edit Answers").await;
    // CHAT-28: every question has a button of its own, which leads to it.
    let texts = ["Which framework?", "Refresh tokens?", "Existing auth?", "Where are tokens kept?"];
    for (n, text) in texts.into_iter().enumerate() {
        let [label] = &menu.buttons()[n][..] else { panic!("{:?}", menu.buttons()) };
        assert!(label.contains(text), "{label}");
        let data = menu.button(label).unwrap().data.clone().unwrap();
        assert!(data.starts_with(&format!("iq:eq:{n}")), "{data}");
    }
    assert_eq!(menu.buttons().len(), 5, "four questions and the way back");
    anna.taps_data("iq:eq:1");
    let question = anna.sees("So far: No").await;
    assert!(question.text().contains("Refresh tokens?"), "{}", question.text());
    anna.taps("Yes, 7 days").await;
    anna.sees("Q2: Refresh tokens? → Yes, 7 days").await;
    let plan = wait_for("the plan to be written anew", || {
        let plan = stage.project.file(path);
        plan.contains("Yes, 7 days").then_some(plan)
    });
    assert!(!plan.contains("A: No\n"), "{plan}");
    stage.filed(ANNA, "the changed pair", |file| file["completedQA"][1]["answer"] == "yes");
}

/// CHAT-1, CHAT-9, CHAT-30, CHAT-40, CHAT-41. With Telegram's limits as they are.
#[tokio::test]
async fn tc07_confirm_saves_the_plan_and_starts_the_agent_once() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.server.rates(Rates::Real);
    stage.serve_with(&[("RAPPORT_TELEGRAM_FASTER", "1")]);
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    for label in ["Express", "No", "None"] {
        anna.taps(label).await;
    }
    // CHAT-9: said, and taken away when the next question is there.
    let checking = |state: &State| {
        let says = |text: &str| text == "Checking for follow-up questions...";
        state.messages.iter().find(|message| says(message.text())).map(|message| message.deleted)
    };
    stage.server.wait_for("the sign that more is asked for", checking).await;
    anna.taps("Cookies").await;
    anna.sees("Plan Ready").await;
    stage.server.wait_for("that sign to be gone", |state| checking(state).filter(|gone| *gone)).await;
    anna.taps_data("iq:confirm");
    let starting = anna.sees("🚀 Starting...").await;
    assert_eq!(starting.text(), "🚀 Starting...");
    let confirmed = anna.sees("✅ Confirmed").await;
    assert!(confirmed.text().contains("📁 Saved to: .claude/todos/jwt-auth/"), "{}", confirmed.text());
    let ended = anna.sees("Done").await;
    assert!(ended.text().contains("auth.txt"), "{}", ended.text());
    anna.sees("Auth is in place.").await;
    let plan = stage.project.file(".claude/todos/jwt-auth/implement-jwt-auth-system.md");
    for part in [
        "# Plan: add JWT authentication",
        "**Branch:** main",
        "**Q: Which framework?**\nA: Express\n",
        "**Q: Refresh tokens?**\nA: No\n",
        "**Q: Existing auth?**\nA: None\n",
        "**Q: Where are tokens kept?**\nA: Cookies\n",
        // It was written once more when it was confirmed.
        "Claude CLI was spawned with this full context",
    ] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
    let prompts = stage.prompts();
    let told: Vec<_> = prompts.iter().filter(|prompt| prompt.contains(TASK)).collect();
    assert_eq!(told.len(), 1, "one agent for the task: {prompts:?}");
    for answer in [
        r"Q: Which framework?\nA: Express\n",
        r"Q: Refresh tokens?\nA: No\n",
        r"Q: Existing auth?\nA: None\n",
        r"Q: Where are tokens kept?\nA: Cookies\n",
    ] {
        assert!(told[0].contains(answer), "{answer} in {}", told[0]);
    }
    stage.unfiled(ANNA);
    assert_eq!(stage.project.file("auth.txt"), "done\n");
    assert_eq!(stage.server.violations(), []);
}

/// CHAT-20, CHAT-46: killed at the second question, and started again.
#[tokio::test]
async fn tc08_a_session_outlives_a_restart() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    anna.taps("Express").await;
    let second = anna.sees("Q2 of 3").await;
    stage.filed(ANNA, "the answer", |file| file["currentQuestionIndex"] == 1);
    stage.kill();
    stage.serve();
    anna.taps_on(&second, "No");
    anna.sees("Q3 of 3").await;
    let file = stage.filed(ANNA, "the answer", |file| file["answers"][1] == "no");
    assert_eq!(file["answers"][0], "express");
    anna.taps("None").await;
    anna.taps("Cookies").await;
    anna.sees("Plan Ready").await;
}

/// CHAT-19.
#[tokio::test]
async fn tc09_two_people_are_independent() {
    let mut stage = Stage::quiet(AUTH).await;
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    let (anna, bert) = (stage.anna(), stage.server.person(43, "Bert"));
    anna.types(&format!("/plan {TASK}"));
    anna.taps("Express").await;
    anna.sees("Q2 of 3").await;
    bert.types("/plan add a search");
    bert.sees("Q1 of 3").await;
    let before = stage.filed(43, "Bert's file", |file| file["task"] == "add a search");
    anna.taps("No").await;
    anna.sees("Q3 of 3").await;
    stage.filed(ANNA, "Anna's answer", |file| file["currentQuestionIndex"] == 2);
    assert_eq!(stage.file(43).as_ref(), Some(&before));
    // And one chat has one plan: another takes its place, and whoever began it is told.
    anna.types("/plan add a menu");
    anna.sees("another task replaces it").await;
    anna.sees("Planning: add a menu").await;
    stage.filed(ANNA, "Anna's other file", |file| file["task"] == "add a menu");
    let mut open: Vec<_> = stage.sessions().into_iter().map(|(_, session, _)| session).collect();
    open.retain(|session| !session.is_over());
    let mut tasks: Vec<_> = open.iter().map(|session| session.created().task.as_str()).collect();
    tasks.sort_unstable();
    assert_eq!(tasks, ["add a menu", "add a search"]);
    assert_eq!(stage.file(43), Some(before));
}

/// CHAT-31: and the next message is ordinary chat.
#[tokio::test]
async fn tc10_cancel_clears_the_session() {
    let scenario = AUTH.replace("invocations:\n", "invocations:\n  - result: \"Hello, Anna.\"\n");
    let stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {TASK}"));
    let card = anna.sees("Q1 of 3").await;
    stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    anna.taps_data("iq:cancel");
    let cancelled = anna.sees("❌").await;
    assert_eq!(cancelled.text(), "❌ Planning cancelled.");
    stage.unfiled(ANNA);
    anna.types("hello");
    anna.sees("Hello, Anna.").await;
    anna.taps_on(&card, "Express");
    assert_eq!(anna.toast().await, "This question is no longer open.");
}

/// CHAT-3, CHAT-32, CHAT-33, CHAT-35, CHAT-36: the agent of a chat is told how to ask.
#[tokio::test]
async fn tc11_the_json_signal_becomes_questions() {
    let signal = r##"{"interactive": true, "goal": "fix-auth", "description": "fix-the-auth-bug", "questions": [{"id": "q1", "question": "Which bug?", "options": [{"label": "Login", "value": "login"}, {"label": "Logout", "value": "logout"}], "allowFreeText": false}]}"##;
    let scenario = format!("version: 1\nname: signal\ninvocations:\n  - result: '{signal}'\n");
    let mut stage = Stage::quiet(&scenario).await;
    // What nobody has trusted yet, so that the project's instructions are told as text.
    let brings =
        [("CLAUDE.md", "Greetings here are in Welsh.\n"), (".claude/settings.json", "{\"model\":\"x\"}")];
    for (name, content) in brings {
        let path = stage.project.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    // A lead asks with the tool of its agent instead.
    stage.serve_with(&[("RAPPORT_TELEGRAM_LEAD", "false")]);
    let anna = stage.anna();
    anna.types("I need to fix the auth bug");
    let card = anna.sees("Q1 of 1").await;
    assert!(card.text().contains("Planning: I need to fix the auth bug"), "{}", card.text());
    let file = stage.filed(ANNA, "the file", |file| file["state"] == "COLLECTING");
    assert_eq!(file["questions"][0]["options"][1], json!({ "label": "Logout", "value": "logout" }));
    anna.taps("Login").await;
    anna.sees("Plan Ready").await;
    let planned = stage.sessions().into_iter().filter(|(_, _, facts)| {
        facts.iter().any(|fact| matches!(fact, Event::Created(created) if created.grown_from.is_some()))
    });
    assert_eq!(planned.count(), 1);
    // CHAT-32: at no time, not even in a message about its work that was taken away again.
    let ever_shown = stage.server.look(|state| {
        let versions =
            state.messages.iter().filter(|message| message.is_by_bot()).flat_map(|it| &it.versions);
        versions.map(|version| version.text.clone()).collect::<Vec<_>>()
    });
    assert!(ever_shown.iter().all(|text| !text.contains("interactive")), "{ever_shown:#?}");
    // CHAT-36: behind everything else that it is told before the message, the project's own words included.
    let prompts: Vec<_> = stage.project.agent_arguments().iter().filter_map(|it| system_prompt(it)).collect();
    let [prompt] = &prompts[..] else { panic!("one agent of a chat: {prompts:#?}") };
    assert!(prompt.contains("Greetings here are in Welsh.") && prompt.ends_with(INTERACTIVE), "{prompt}");
}

/// What a process of the agent was told beside its own system prompt, by the record of its arguments.
fn system_prompt(record: &str) -> Option<String> {
    let record: Value = serde_json::from_str(record).unwrap();
    let mut words = record["argv"].as_array().unwrap().iter();
    words.find(|word| **word == "--append-system-prompt")?;
    words.next()?.as_str().map(str::to_owned)
}

/// CHAT-4.
#[tokio::test]
async fn tc12_plan_without_a_task_shows_usage() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan");
    let usage = anna.sees("Usage").await;
    assert_eq!(usage.text(), "Usage: /plan <task description>");
    anna.types("/plan   ");
    anna.sees("Usage: /plan <task description>").await;
    assert!(stage.sessions().is_empty());
}
