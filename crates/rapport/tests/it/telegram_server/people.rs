//! What people see: screens, topics, replies, files, and what is printed when a test waits in vain.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde_json::json;

use super::{Bot, keyboard};
use crate::support::telegram::{Content, Privacy, Rates, Sound, Standing, TelegramServer};

const ANN: i64 = 7001;

#[tokio::test]
async fn a_chat_can_be_read_as_plain_text() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let asked = ann.types("/plan dark mode");
    let card = json!({
        "chat_id": ANN,
        "text": "Q1 of 2\nWhich one?",
        "reply_parameters": { "message_id": asked },
        "reply_markup": { "inline_keyboard": [
            [{ "text": "Light", "callback_data": "0" }, { "text": "Dark", "callback_data": "1" }],
            [{ "text": "✖ Cancel", "callback_data": "c" }],
        ] },
    });
    bot.done("sendMessage", card).await;
    let typed = json!({ "chat_id": ANN, "text": "Type it", "reply_markup": { "force_reply": true } });
    let prompt = bot.done("sendMessage", typed).await["message_id"].clone();
    let edit =
        bot.refused("editMessageText", json!({ "chat_id": ANN, "message_id": prompt, "text": "now" })).await;
    assert_eq!(edit, (400, "Bad Request: message can't be edited".to_owned()), "it asks for a reply");
    ann.replies_when_asked("Dim").await;
    let said = bot.says(ANN, "Thinking").await;
    bot.done("editMessageText", json!({ "chat_id": ANN, "message_id": said, "text": "Thought" })).await;
    let gone = bot.says(ANN, "gone").await;
    bot.done("deleteMessage", json!({ "chat_id": ANN, "message_id": gone })).await;
    let expected = "\
[101] Ann: /plan dark mode
[102] bot (to 101): Q1 of 2
    Which one?
    [Light] [Dark]
    [✖ Cancel]
[103] bot: Type it
    (asks for a reply)
[104] Ann (to 103): Dim
[105] bot (edited 1x): Thought
";
    assert_eq!(ann.screen(), expected);
    assert_eq!(ann.card().await.id, 102);
    assert_eq!(ann.buttons(), [vec!["Light", "Dark"], vec!["✖ Cancel"]]);
    assert!(ann.shows("Which one?") && !ann.shows("gone"));
}

#[tokio::test]
async fn what_was_said_before_the_last_act_is_not_taken_for_the_answer() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    bot.says(ANN, "ok, old").await;
    ann.types("again");
    let (seen, _) = tokio::join!(ann.sees("ok"), bot.says(ANN, "ok, new"));
    assert_eq!(seen.text(), "ok, new");
}

#[tokio::test]
#[should_panic(
    expected = "waited in vain for \"Q1\", for Ann\n--- Ann (7001)\n[101] Ann: hello\n[102] bot: What?\n"
)]
async fn who_waits_in_vain_is_shown_the_chat() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    ann.types("hello");
    Bot::of(&server).says(ANN, "What?").await;
    server.patience(Duration::from_millis(1));
    ann.sees("Q1").await;
}

#[tokio::test(start_paused = true)]
async fn a_test_whose_clock_stands_still_can_wait_too() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let (seen, id) = tokio::join!(ann.sees("hi"), bot.says(ANN, "hi"));
    assert_eq!(i64::from(seen.id), id);
}

#[tokio::test]
async fn a_bot_may_write_once_it_was_written_to() {
    let server = TelegramServer::start().await;
    let ann = server.person(ANN, "Ann");
    server.stand(ANN, Standing::Unmet);
    let bot = Bot::of(&server);
    assert_eq!(bot.refused("sendMessage", json!({ "chat_id": ANN, "text": "hi" })).await.0, 403);
    ann.types("/start");
    bot.says(ANN, "hi").await;
}

#[tokio::test]
async fn topics_carry_their_thread_and_answer_its_first_message() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let forum = server.forum("Forum");
    let (one, two) = (server.topic(forum, "one"), server.topic(forum, "two"));
    let ann = server.person(ANN, "Ann");
    let (in_one, in_two) = (ann.in_group(forum, Some(one)), ann.in_group(forum, Some(two)));
    let bot = Bot::of(&server);
    let asked = in_one.types("hello");
    let update = bot.updates(0).await[0]["message"].clone();
    assert_eq!((&update["message_thread_id"], &update["is_topic_message"]), (&json!(one), &json!(true)));
    assert_eq!(update["reply_to_message"]["forum_topic_created"]["name"], "one");
    assert_eq!(update["chat"]["is_forum"], true);
    bot.done("sendMessage", json!({ "chat_id": forum, "message_thread_id": two, "text": "to two" })).await;
    let reply = json!({ "chat_id": forum, "text": "to one", "reply_parameters": { "message_id": asked } });
    assert_eq!(bot.done("sendMessage", reply).await["message_thread_id"], one);
    in_two.sees("to two").await;
    in_one.sees("to one").await;
    assert!(!in_one.shows("to two") && !in_two.shows("to one"));
    let group = server.group("Plain");
    let sent = bot
        .done("sendMessage", json!({ "chat_id": group, "message_thread_id": 5, "text": "no topics" }))
        .await;
    assert_eq!(sent["message_thread_id"], json!(null));
}

#[tokio::test]
async fn with_privacy_a_group_tells_the_bot_only_what_is_for_it() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.privacy(Privacy::On);
    let group = server.group("Group");
    let ann = server.person(ANN, "Ann").in_group(group, None);
    let bot = Bot::of(&server);
    let said = bot.says(group, "question").await;
    ann.types("among us");
    ann.types("/status");
    ann.types("hey @rapport_test_bot");
    ann.replies_to(i32::try_from(said).unwrap(), "answer");
    let updates = bot.updates(0).await;
    assert_eq!(super::texts(&updates), ["/status", "hey @rapport_test_bot", "answer"]);
    let command = json!([{ "type": "bot_command", "offset": 0, "length": 7 }]);
    assert_eq!(updates[0]["message"]["entities"], command);
    assert_eq!(updates[2]["message"]["reply_to_message"]["message_id"], said);
    assert_eq!(bot.done("getMe", json!({})).await["can_read_all_group_messages"], false);
}

#[tokio::test]
async fn calls_come_as_json_form_multipart_or_query() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let url = server.method_url("sendmessage");
    let query = format!("{url}?chat_id={ANN}&text=42&disable_notification=true");
    bot.client.get(query).send().await.unwrap().error_for_status().unwrap();
    let markup = keyboard(&[("Yes", "y")]).to_string().replace('"', "%22");
    let form = format!("chat_id={ANN}&text=a+b%26c&reply_markup={markup}");
    let form = bot.post("sendMessage").header("Content-Type", "application/x-www-form-urlencoded").body(form);
    form.send().await.unwrap().error_for_status().unwrap();
    let file = Part::bytes(b"line\r\n--line\r\n".to_vec()).file_name("plan.md");
    let form =
        Form::new().text("chat_id", ANN.to_string()).text("caption", "the plan").part("document", file);
    bot.post("sendDocument").multipart(form).send().await.unwrap().error_for_status().unwrap();
    let messages = server.messages(ANN);
    let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["42", "a b&c", "the plan"]);
    assert_eq!((messages[0].sound, messages[1].sound), (Sound::Silent, Sound::Heard));
    assert_eq!(messages[1].buttons(), [["Yes"]]);
    let document = Content::Document { name: "plan.md".to_owned(), bytes: b"line\r\n--line\r\n".to_vec() };
    assert_eq!(messages[2].content, document);
    assert_eq!(server.violations(), []);
}

#[tokio::test]
async fn commands_are_kept_by_scope() {
    let server = TelegramServer::start().await;
    let bot = Bot::of(&server);
    let commands = json!([{ "command": "plan", "description": "Plan a task" }]);
    bot.done("setMyCommands", json!({ "commands": commands })).await;
    assert_eq!(bot.done("getMyCommands", json!({ "scope": { "type": "default" } })).await, commands);
    assert_eq!(bot.done("getMyCommands", json!({ "scope": { "type": "all_group_chats" } })).await, json!([]));
}
