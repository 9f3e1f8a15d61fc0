//! Everything that is refused, with Telegram's codes and words.

use serde_json::{Value, json};

use super::{Bot, keyboard};
use crate::support::telegram::{Rates, Standing, TelegramServer, Violation};

const ANN: i64 = 7001;
const UNKNOWN: i64 = 99;

#[tokio::test]
async fn what_telegram_refuses_is_refused_with_its_words() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    let ann = server.person(ANN, "Ann");
    server.person(7002, "Bob").blocks_the_bot();
    server.person(7003, "Cid");
    server.stand(7003, Standing::Unmet);
    let (group, thrown_out) = (server.group("Group"), server.supergroup("Elsewhere"));
    server.stand(thrown_out, Standing::Kicked);
    let forum = server.forum("Forum");
    let closed = server.topic(forum, "closed");
    server.close_topic(forum, closed);
    let hers = ann.types("hello");
    let bot = Bot::of(&server);
    let card = json!({ "chat_id": ANN, "text": "card", "reply_markup": keyboard(&[("Yes", "y")]) });
    let card = bot.done("sendMessage", card).await["message_id"].clone();

    let text = |text: &str| json!({ "chat_id": ANN, "text": text });
    let to = |chat: i64| json!({ "chat_id": chat, "text": "hi" });
    let with = |field: &str, value: Value| {
        let mut parameters = json!({ "chat_id": ANN, "text": "a😀b" });
        parameters[field] = value;
        parameters
    };
    let button = |button: Value| with("reply_markup", json!({ "inline_keyboard": [[button]] }));
    let entity = |from: i64, length: i64| {
        with("entities", json!([{ "type": "bold", "offset": from, "length": length }]))
    };
    let edit = |id: Value, text: &str| json!({ "chat_id": ANN, "message_id": id, "text": text });
    let command = |name: &str, description: &str| json!({ "commands": [{ "command": name, "description": description }] });
    let send = "sendMessage";
    let same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the \
                same as a current content and reply markup of the message";

    #[rustfmt::skip]
    let table: Vec<(&str, Value, u64, &str)> = vec![
        // Where it is sent.
        (send, json!({ "text": "hi" }), 400, "Bad Request: chat_id is empty"),
        (send, to(UNKNOWN), 400, "Bad Request: chat not found"),
        (send, json!({ "chat_id": "@nobody", "text": "hi" }), 400, "Bad Request: chat not found"),
        (send, to(7002), 403, "Forbidden: bot was blocked by the user"),
        (send, to(7003), 403, "Forbidden: bot can't initiate conversation with a user"),
        (send, to(thrown_out), 403, "Forbidden: bot was kicked from the supergroup chat"),
        (send, json!({ "chat_id": forum, "message_thread_id": 555, "text": "hi" }), 400, "Bad Request: message thread not found"),
        (send, json!({ "chat_id": forum, "message_thread_id": 1, "text": "hi" }), 400, "Bad Request: message thread not found"),
        (send, json!({ "chat_id": forum, "message_thread_id": closed, "text": "hi" }), 400, "Bad Request: TOPIC_CLOSED"),
        (send, with("reply_parameters", json!({ "message_id": 9999 })), 400, "Bad Request: message to be replied not found"),
        ("getChat", json!({ "chat_id": UNKNOWN }), 400, "Bad Request: chat not found"),
        // What it says.
        (send, json!({ "chat_id": ANN }), 400, "Bad Request: message text is empty"),
        (send, text(""), 400, "Bad Request: message text is empty"),
        (send, text(" \n "), 400, "Bad Request: text must be non-empty"),
        (send, text(&"x".repeat(4097)), 400, "Bad Request: message is too long"),
        (send, text(&"😀".repeat(2049)), 400, "Bad Request: message is too long"),
        (send, text(&"x".repeat(32_769)), 400, "Bad Request: text is too long"),
        // How it is marked; the text is "a😀b", four units.
        (send, entity(5, 1), 400, "Bad Request: entity begins after the end of the text at UTF-16 offset 5"),
        (send, entity(0, 5), 400, "Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 5"),
        (send, entity(2, 1), 400, "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 5"),
        (send, entity(0, 2), 400, "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5"),
        (send, entity(-1, 2), 400, "Bad Request: receive an entity with incorrect offset -1"),
        (send, with("entities", json!([{ "type": "glitter", "offset": 0, "length": 1 }])), 400, "Bad Request: can't parse MessageEntity: Unsupported type specified"),
        (send, with("entities", json!([{ "type": "bold", "offset": 0 }])), 400, "Bad Request: can't parse MessageEntity: Can't find field \"length\""),
        (send, with("parse_mode", json!("RTF")), 400, "Bad Request: unsupported parse_mode"),
        (send, json!({ "chat_id": ANN, "text": "1.", "parse_mode": "MarkdownV2" }), 400, "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'"),
        (send, json!({ "chat_id": ANN, "text": "ab *c", "parse_mode": "MarkdownV2" }), 400, "Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 3"),
        (send, json!({ "chat_id": ANN, "text": "<x>", "parse_mode": "HTML" }), 400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0"),
        (send, json!({ "chat_id": ANN, "text": "<b>a", "parse_mode": "HTML" }), 400, "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""),
        // Its buttons.
        (send, button(json!({ "text": "a", "callback_data": "d".repeat(65) })), 400, "Bad Request: BUTTON_DATA_INVALID"),
        (send, button(json!({ "text": "a", "callback_data": "ä".repeat(33) })), 400, "Bad Request: BUTTON_DATA_INVALID"),
        (send, button(json!({ "text": "a" })), 400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"),
        (send, button(json!({ "text": "a", "callback_data": "" })), 400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"),
        (send, button(json!({ "callback_data": "d" })), 400, "Bad Request: can't parse inline keyboard button: Can't find field \"text\""),
        (send, button(json!({ "text": "a", "url": "http://localhost/x" })), 400, "Bad Request: inline keyboard button URL 'http://localhost/x' is invalid: Wrong HTTP URL"),
        (send, with("reply_markup", json!("nothing")), 400, "Bad Request: object expected as reply markup"),
        // Changed afterwards.
        ("editMessageText", edit(json!(9999), "x"), 400, "Bad Request: message to edit not found"),
        ("editMessageText", edit(json!(hers), "x"), 400, "Bad Request: message can't be edited"),
        ("editMessageText", edit(card.clone(), ""), 400, "Bad Request: message text is empty"),
        ("editMessageText", json!({ "text": "x" }), 400, "Bad Request: message identifier is not specified"),
        ("editMessageText", json!({ "chat_id": ANN, "message_id": card, "text": "card", "reply_markup": keyboard(&[("Yes", "y")]) }), 400, same),
        ("editMessageText", json!({ "chat_id": ANN, "message_id": card, "text": "card", "reply_markup": { "force_reply": true } }), 400, "Bad Request: inline keyboard expected"),
        ("editMessageReplyMarkup", json!({ "chat_id": ANN, "message_id": card, "reply_markup": keyboard(&[("Yes", "y")]) }), 400, same),
        ("deleteMessage", json!({ "chat_id": ANN, "message_id": 9999 }), 400, "Bad Request: message to delete not found"),
        ("deleteMessage", json!({ "chat_id": ANN }), 400, "Bad Request: message identifier is not specified"),
        // The rest.
        ("answerCallbackQuery", json!({ "callback_query_id": "1" }), 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"),
        ("answerCallbackQuery", json!({ "callback_query_id": "1", "text": "x".repeat(201) }), 400, "Bad Request: MESSAGE_TOO_LONG"),
        ("sendChatAction", json!({ "chat_id": ANN, "action": "dancing" }), 400, "Bad Request: wrong parameter action in request"),
        ("sendChatAction", json!({ "chat_id": 7002, "action": "typing" }), 403, "Forbidden: bot was blocked by the user"),
        ("sendDocument", json!({ "chat_id": ANN }), 400, "Bad Request: there is no document in the request"),
        ("sendDocument", json!({ "chat_id": ANN, "document": "id", "caption": "x".repeat(1025) }), 400, "Bad Request: message caption is too long"),
        ("setMyCommands", command("", "d"), 400, "Bad Request: command must be non-empty"),
        ("setMyCommands", command(&"c".repeat(33), "d"), 400, "Bad Request: command length must not exceed 32"),
        ("setMyCommands", command("plan", ""), 400, "Bad Request: command description must be non-empty"),
        ("setMyCommands", command("Plan-It", "d"), 400, "Bad Request: BOT_COMMAND_INVALID"),
        ("setWebhook", json!({ "url": "ftp://x" }), 400, "Bad Request: invalid webhook URL specified"),
        ("setWebhook", json!({ "url": "http://127.0.0.1:9/", "secret_token": "no blanks" }), 400, "Bad Request: secret token contains unallowed characters"),
        ("launchRocket", json!({}), 404, "Not Found: method not found"),
    ];
    for (method, parameters, code, description) in table {
        let refused = bot.refused(method, parameters.clone()).await;
        assert_eq!(refused, (code, description.to_owned()), "{method} {parameters}");
    }
    assert_eq!(bot.says(group, "still there").await, 103, "what was refused was not said");
    assert_eq!(server.messages(ANN).len(), 2);
}

#[tokio::test]
async fn a_wrong_token_is_unauthorized_and_status_and_body_agree() {
    let server = TelegramServer::start().await;
    let bot = Bot { base: format!("{}/bot1:wrong", server.url()), ..Bot::of(&server) };
    let response = bot.post("getMe").send().await.unwrap();
    assert_eq!(response.status(), 401);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body, json!({ "ok": false, "error_code": 401, "description": "Unauthorized" }));
}

#[tokio::test]
async fn a_group_that_was_upgraded_says_what_it_has_become() {
    let server = TelegramServer::start().await;
    let group = server.group("Old");
    let to = server.upgrade(group);
    let answer =
        Bot::of(&server).answer("sendMessage", json!({ "chat_id": group, "text": "hi" })).await.unwrap();
    assert_eq!(answer["error_code"], 400);
    assert_eq!(answer["description"], "Bad Request: group chat was upgraded to a supergroup chat");
    assert_eq!(answer["parameters"], json!({ "migrate_to_chat_id": to }));
}

#[tokio::test]
async fn what_telegram_passes_over_in_silence_is_noted() {
    let server = TelegramServer::start().await;
    server.rates(Rates::Off);
    server.person(ANN, "Ann");
    let bot = Bot::of(&server);
    let button = |text: String| json!({ "text": text, "callback_data": "d" });
    let row: Vec<_> = (0..9).map(|n| button(n.to_string())).collect();
    let rows: Vec<_> = (0..102).map(|n| [button(n.to_string())]).collect();
    let bold: Vec<_> = (0..101).map(|n| json!({ "type": "bold", "offset": n, "length": 1 })).collect();
    bot.done(
        "sendMessage",
        json!({ "chat_id": ANN, "text": "a", "reply_markup": { "inline_keyboard": [row] } }),
    )
    .await;
    bot.done(
        "sendMessage",
        json!({ "chat_id": ANN, "text": "b", "reply_markup": { "inline_keyboard": rows } }),
    )
    .await;
    let nameless = json!({ "inline_keyboard": [[button(String::new())]] });
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "c", "reply_markup": nameless })).await;
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "x".repeat(101), "entities": bold })).await;
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "d", "colour": "red" })).await;
    let misspelled =
        json!({ "inline_keyboard": [[{ "text": "e", "callback_data": "d", "callbackdata": "d" }]] });
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "e", "reply_markup": misspelled })).await;
    bot.done("sendMessage", json!({ "chat_id": ANN, "text": "f", "disable_notification": "maybe" })).await;
    let violations = server.violations();
    let unknown = |parameter: &str| Violation::UnknownParameter {
        method: "sendMessage".to_owned(),
        parameter: parameter.to_owned(),
    };
    assert_eq!(
        violations[..6],
        [
            Violation::ButtonsDropped(vec!["8".to_owned()]),
            Violation::ButtonsDropped(vec!["100".to_owned(), "101".to_owned()]),
            Violation::ButtonsDropped(vec![String::new()]),
            Violation::EntitiesDropped(1),
            unknown("colour"),
            unknown("reply_markup.inline_keyboard.0.0.callbackdata"),
        ]
    );
    assert!(matches!(&violations[6..], [Violation::WrongType { .. }]), "{violations:?}");
    let shown: Vec<usize> =
        server.messages(ANN).iter().map(|message| message.buttons().concat().len()).collect();
    assert_eq!(shown, [8, 100, 0, 0, 0, 1, 0]);
}
